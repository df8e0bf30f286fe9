"""Automatic differentiation: backward passes, modes, custom functions."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

import rushlight as torch

from .. import _C
from . import grad_mode
from .grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

_HOME = {
    "Function": "function",
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "Variable": "variable",
}
_SUBMODULES = frozenset(
    "anomaly_mode forward_ad function functional graph profiler profiler_util variable".split()
)


def _as_tuple(value, count: int) -> tuple:
    if value is None:
        return (None,) * count
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _check_shape(out, grad, position: int, batched: bool) -> None:
    if isinstance(out, tuple):  # a GradientEdge
        return
    given = grad.shape[1:] if batched else grad.shape
    if out.shape != given:
        if batched:
            raise RuntimeError(
                f"If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                f"as the batch dimension. The sizes of the remaining dimensions are expected to "
                f"match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{position}] has a shape of {grad.shape} and output[{position}] has a "
                f"shape of {out.shape}. If you only want some tensors in `grad_output` to be "
                f"considered batched, consider using vmap."
            )
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of {grad.shape} and "
            f"output[{position}] has a shape of {out.shape}."
        )
    if out.dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{position}] has a dtype of {grad.dtype} and "
            f"output[{position}] has a dtype of {out.dtype}."
        )


def _make_grads(outputs: tuple, grads: tuple, batched: bool = False) -> tuple:
    if len(outputs) != len(grads):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    made = []
    for position, (out, grad) in enumerate(zip(outputs, grads)):
        if isinstance(grad, torch.Tensor):
            _check_shape(out, grad, position, batched)
            made.append(grad)
        elif grad is None:
            if isinstance(out, tuple):
                made.append(_ones_of_edge(out))
            elif out.requires_grad:
                if out.numel() != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if not out.dtype.is_floating_point:
                    raise RuntimeError(
                        "grad can be implicitly created only for real scalar outputs but got "
                        f"{out.dtype}"
                    )
                made.append(torch.ones_like(out, memory_format=torch.preserve_format))
            else:
                made.append(None)
        else:
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(grad).__name__}"
            )
    return tuple(made)


def _ones_of_edge(edge):
    sizes, dtype = edge[0]._input_metadata_of(edge[1])
    ones = torch.ones(sizes, dtype=dtype)
    if ones.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return ones


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
) -> None:
    """Adds the gradients of ``tensors`` to ``.grad`` of the leaves they come from.

    Args:
        tensors: a tensor, a GradientEdge, or several.
        grad_tensors: gradients with respect to each; may be left out (None) for scalars.
        retain_graph: keep what the graph saved for another backward (default: create_graph).
        create_graph: record the computation of the gradients, for higher derivatives.
        inputs: accumulate into these tensors only.
    """
    if _C._count_transforms(0):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
    if grad_tensors is grad_variables is inputs is None:
        keep = create_graph if retain_graph is None else retain_graph
        if _C._backward_of_scalar(tensors, keep, create_graph):
            return
    if grad_variables is not None:
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        # An edge is a tuple, too.
        one = isinstance(inputs, torch.Tensor) or _is_edge(inputs)
        inputs = (inputs,) if one else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    else:
        inputs = ()
    tensors = (
        (tensors,) if isinstance(tensors, torch.Tensor) or _is_edge(tensors) else tuple(tensors)
    )
    grads = _make_grads(tensors, _as_tuple(grad_tensors, len(tensors)))
    if retain_graph is None:
        retain_graph = create_graph
    _C._run_backward(
        tensors, grads, bool(retain_graph), bool(create_graph), inputs, True, True
    )


def _is_edge(value) -> bool:
    return isinstance(value, tuple) and hasattr(value, "output_nr")


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of ``outputs`` with respect to ``inputs``, as a tuple.

    Args:
        grad_outputs: gradients with respect to each output; None for scalars.
        retain_graph: keep what the graph saved for another backward (default: create_graph).
        create_graph: record the computation of the gradients, for higher derivatives.
        allow_unused: give None for inputs that the outputs do not depend on, instead of an error
            (default: materialize_grads).
        is_grads_batched: the first dimension of ``grad_outputs`` counts several gradients.
        materialize_grads: give zeros for unused inputs.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    outputs = (
        (outputs,) if isinstance(outputs, torch.Tensor) or _is_edge(outputs) else tuple(outputs)
    )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) or _is_edge(inputs) else tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if retain_graph is None:
        retain_graph = create_graph
    grads = _make_grads(outputs, _as_tuple(grad_outputs, len(outputs)), is_grads_batched)

    def run(grads, retain):
        return _C._run_backward(
            outputs, grads, bool(retain), bool(create_graph), inputs, bool(allow_unused), False
        )

    if is_grads_batched:
        result = _run_batched(run, grads, retain_graph)
    else:
        result = run(grads, retain_graph)
    if materialize_grads:
        if any(each is None and _is_edge(inputs[i]) for i, each in enumerate(result)):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        result = tuple(
            torch.zeros_like(inputs[i]) if each is None else each for i, each in enumerate(result)
        )
    return result


def _run_batched(run, grads: tuple, retain_graph) -> tuple:
    """One backward pass with a mapped dimension: the first of each gradient."""
    from ..func.mapping import level

    size = next(g.shape[0] for g in grads if g is not None)
    with level(_C._enter_vmap, size, "error") as number:
        found = run(
            tuple(None if g is None else _C._wrap_batched(g, number) for g in grads), retain_graph
        )
        below = [None if g is None else (_C._unwrap(g, number) or (g, False)) for g in found]
    return tuple(
        None if b is None else b[0] if b[1] else b[0].expand(size, *b[0].shape) for b in below
    )


def _register_hook(self, fn):
    """Calls ``fn(grad_inputs, grad_outputs)`` after this node ran; may return new grad_inputs."""
    from .graph import _handle

    return _handle(self._register_hook(fn))


def _register_prehook(self, fn):
    """Calls ``fn(grad_outputs)`` before this node runs; it may return new grad_outputs."""
    from .graph import _handle

    return _handle(self._register_prehook(fn))


_C._NodeBase.register_hook = _register_hook
_C._NodeBase.register_prehook = _register_prehook


def _profiler_enabled() -> bool:
    """Whether a profiler records."""
    from .._ranges import recordings

    return bool(recordings)


def __getattr__(name):
    from importlib import import_module

    if name in _HOME:
        home = import_module(f"{__name__}.{_HOME[name]}")
        value = getattr(home, name)
        globals()[name] = value
        if _HOME.get(_HOME[name]) == _HOME[name]:  # the import put the module at its own name
            globals()[_HOME[name]] = getattr(home, _HOME[name])
        return value
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
