"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

import rushlight as torch

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(value, argument: str, function: str) -> tuple:
    """``value`` as a tuple of tensors."""
    values = value if isinstance(value, tuple) else (value,)
    for position, each in enumerate(values):
        if not isinstance(each, torch.Tensor):
            if isinstance(value, tuple):
                raise TypeError(
                    f"The {argument} given to {function} must be either a Tensor or a tuple of "
                    f"Tensors but the value at index {position} has type {type(each)}."
                )
            raise TypeError(
                f"The {argument} given to {function} must be either a Tensor or a tuple of "
                f"Tensors but the given {argument} has type {type(each)}."
            )
    return values


def _prepared(inputs: tuple, create_graph: bool) -> tuple:
    """Inputs that gradients can be taken for: of this graph, or cut off from it."""
    if create_graph:
        return tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs
        )
    return tuple(x.detach().requires_grad_() for x in inputs)


def _like(values: tuple, single: bool):
    return values[0] if single else values


def _finished(values: tuple, create_graph: bool) -> tuple:
    return values if create_graph else tuple(v.detach() for v in values)


def _gradients(outputs, inputs, grads, strict: bool, function: str, **options) -> tuple:
    """Gradients, zeros where an output does not depend on an input."""
    pairs = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad]
    if not pairs:
        if strict:
            raise RuntimeError(
                f"Output 0 of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                f"mode ({function})."
            )
        return tuple(torch.zeros_like(x) for x in inputs)
    found = torch.autograd.grad(
        [o for o, _ in pairs], inputs, [g for _, g in pairs], allow_unused=True, **options
    )
    if strict and any(g is None for g in found):
        position = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"The output of the user-provided function is independent of input {position}. This is "
            "not allowed in strict mode."
        )
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs))


def _vector(v, values: tuple, name: str) -> tuple:
    """The vector, or ones for a single number."""
    if v is None:
        if len(values) != 1 or values[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {name} is a single Tensor with a single "
                "element."
            )
        return (torch.ones_like(values[0]),)
    vectors = v if isinstance(v, tuple) else (v,)
    if len(vectors) != len(values):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(values)} but got {len(vectors)}."
        )
    for position, (each, value) in enumerate(zip(vectors, values)):
        if each.shape != value.shape:
            where = f"Entry {position} in v" if len(values) > 1 else "v"
            raise RuntimeError(
                f"{where} has invalid size: should be {value.shape} but got {each.shape}."
            )
    return vectors


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)`` and the product of ``v`` (shaped like it) with its Jacobian."""
    with torch.enable_grad():
        single = not isinstance(inputs, tuple)
        inputs = _prepared(_as_tuple(inputs, "inputs", "vjp"), create_graph)
        outputs = func(*inputs)
        one = not isinstance(outputs, tuple)
        outputs = _as_tuple(outputs, "outputs of the user-provided function", "vjp")
        grads = _gradients(
            outputs,
            inputs,
            _vector(v, outputs, "user-provided function returns"),
            strict,
            "vjp",
            create_graph=create_graph,
        )
    return (
        _like(_finished(outputs, create_graph), one),
        _like(_finished(grads, create_graph), single),
    )


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)`` and the product of its Jacobian with ``v`` (shaped like the inputs).

    Two reverse passes: the product is the derivative of the first by its own vector.
    """
    with torch.enable_grad():
        inputs = _prepared(_as_tuple(inputs, "inputs", "jvp"), create_graph)
        vectors = _vector(v, inputs, "input to the user-provided function")
        outputs = func(*inputs)
        one = not isinstance(outputs, tuple)
        outputs = _as_tuple(outputs, "outputs of the user-provided function", "jvp")
        weights = tuple(torch.zeros_like(o).requires_grad_() for o in outputs)
        first = _gradients(outputs, inputs, weights, strict, "jvp", create_graph=True)
        products = _gradients(first, weights, vectors, False, "jvp", create_graph=create_graph)
    return (
        _like(_finished(outputs, create_graph), one),
        _like(_finished(products, create_graph), one),
    )


def _rows(output, inputs: tuple, strict: bool, create_graph: bool) -> tuple:
    """The Jacobian of one output, as one tensor per input."""
    rows: list = [[] for _ in inputs]
    flat = output.reshape(-1)
    for position in range(flat.numel()):
        one = flat[position]
        grads = _gradients(
            (one,),
            inputs,
            (torch.ones_like(one),),
            strict,
            "jacobian",
            retain_graph=True,
            create_graph=create_graph,
        )
        for row, grad in zip(rows, grads):
            row.append(grad)
    return tuple(
        torch.stack(row).reshape(output.shape + x.shape)
        if row
        else x.new_zeros(output.shape + x.shape)
        for row, x in zip(rows, inputs)
    )


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The Jacobian of ``func`` at ``inputs``: shape of the output, then of the input.

    Several inputs give a tuple, several outputs a tuple of those. ``vectorize`` and ``strategy``
    change nothing here.
    """
    with torch.enable_grad():
        single = not isinstance(inputs, tuple)
        inputs = _prepared(_as_tuple(inputs, "inputs", "jacobian"), create_graph)
        outputs = func(*inputs)
        one = not isinstance(outputs, tuple)
        outputs = _as_tuple(outputs, "outputs of the user-provided function", "jacobian")
        result = tuple(
            _like(_finished(_rows(o, inputs, strict, create_graph), create_graph), single)
            for o in outputs
        )
    return _like(result, one)


def _checked_scalar(output, function: str):
    if not isinstance(output, torch.Tensor):
        raise RuntimeError(
            f"The function given to {function} should return a single Tensor"
        )
    if output.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return output.reshape(())


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """The second derivatives of ``func``, which returns one number, at ``inputs``."""
    single = not isinstance(inputs, tuple)
    inputs = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*points):
        output = _checked_scalar(func(*points), "hessian")
        return _gradients(
            (output,), points, (torch.ones_like(output),), strict, "hessian", create_graph=True
        )

    result = jacobian(gradient, inputs, create_graph=create_graph, strict=strict)
    return result[0][0] if single else result


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)``, one number, and the product of ``v`` with its Hessian."""
    with torch.enable_grad():
        single = not isinstance(inputs, tuple)
        inputs = _prepared(_as_tuple(inputs, "inputs", "vhp"), create_graph)
        vectors = _vector(v, inputs, "input to the user-provided function")
        output = func(*inputs)
        scalar = _checked_scalar(output, "vhp")
        first = _gradients(
            (scalar,), inputs, (torch.ones_like(scalar),), strict, "vhp", create_graph=True
        )
        second = _gradients(first, inputs, vectors, strict, "vhp", create_graph=create_graph)
    return (
        _finished((output,), create_graph)[0],
        _like(_finished(second, create_graph), single),
    )


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)``, one number, and the product of its Hessian with ``v``."""
    return vhp(func, inputs, v, create_graph, strict)
