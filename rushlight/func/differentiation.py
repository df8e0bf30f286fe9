"""Derivatives of functions as functions: grad, vjp, jvp, Jacobians, Hessians."""

from __future__ import annotations

import functools

import rushlight as torch
from rushlight.utils import _pytree as pytree

from .. import _C
from .mapping import level, running, vmap

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]


def _tensors_only(leaves) -> None:
    for x in leaves:
        if not isinstance(x, torch.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")


def _differentiable_inputs(tree) -> tuple:
    """The tree with tensors that gradients are taken for in place of its own; those in order."""
    leaves, spec = pytree.tree_flatten(tree)
    _tensors_only(leaves)
    own = [_C._grad_input(x) for x in leaves]
    return pytree.tree_unflatten(own, spec), own, spec


# ---- argnums


def _check_argnum(argnum, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def _argnums(argnums, count: int):
    """The same as one int from 0 on, or a tuple of them."""
    if isinstance(argnums, int):
        return _check_argnum(argnums, count)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    found = tuple(_check_argnum(n, count) for n in argnums)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def _chosen(args: tuple, argnums):
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)


def _replaced(args: tuple, argnums, values) -> tuple:
    found = list(args)
    if isinstance(argnums, int):
        found[argnums] = values
    else:
        for n, value in zip(argnums, values, strict=True):
            found[n] = value
    return tuple(found)


# ---- Reverse mode


class inference_mode_off:
    """Derivatives are taken within inference mode, too: what it made is a constant of theirs."""

    __slots__ = ("_before",)

    def __enter__(self):
        self._before = torch.is_inference_mode_enabled()
        if self._before:
            _C._set_inference_mode(False)
            _C._count_in_inference(1)

    def __exit__(self, kind, value, trace):
        if self._before:
            _C._count_in_inference(-1)
            _C._set_inference_mode(True)


class recording(running, inference_mode_off):
    """A transform runs, and gradients are recorded."""

    __slots__ = ("_grad",)

    def __enter__(self):
        running.__enter__(self)
        inference_mode_off.__enter__(self)
        self._grad = torch.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, kind, value, trace):
        _C._set_grad_enabled(self._grad)
        inference_mode_off.__exit__(self, kind, value, trace)
        running.__exit__(self, kind, value, trace)


def _outside(enabled: bool, leaves: list):
    """What becomes of results at the end: their graph of this transform is left behind."""

    def leave(x):
        if not isinstance(x, torch.Tensor):
            return x
        return _C._leave_graph(x, tuple(leaves) if enabled else None)

    return leave


def _gradients(outputs, leaves, grads, retain=False, larger=None) -> list:
    """Gradients, zeros where nothing depends on a leaf."""
    if larger is None:
        larger = _C._depends_outside(tuple(outputs), tuple(leaves))
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if o.requires_grad]
    if not pairs:
        return [torch.zeros_like(x) for x in leaves]
    found = torch.autograd.grad(
        [o for o, _ in pairs],
        leaves,
        [g for _, g in pairs],
        retain_graph=retain or larger,
        create_graph=larger,
        allow_unused=True,
    )
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


def _check_scalar(output) -> None:
    start = "grad_and_value(f)(*args): Expected f(*args) to return "
    if not isinstance(output, torch.Tensor):
        raise RuntimeError(f"{start}a Tensor, got {type(output)}")
    if output.dim() != 0:
        raise RuntimeError(
            f"{start}a scalar Tensor, got tensor with {output.dim()} dims. Maybe you wanted to use "
            "the vjp or jacrev APIs instead?"
        )
    if output.is_complex():
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"{output.dtype}"
        )


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of ``func`` and its value, which is one number.

    Args:
        argnums: of which positional argument (an int, or a tuple of them) the gradient is taken.
        has_aux: ``func`` returns ``(value, aux)``; the result is then ``(gradient, (value, aux))``.
    """

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        enabled = torch.is_grad_enabled()
        with recording():
            places = _argnums(argnums, len(args))
            inputs, leaves, spec = _differentiable_inputs(_chosen(args, places))
            output = func(*_replaced(args, places, inputs), **kwargs)
            aux = None
            if has_aux:
                if not (isinstance(output, tuple) and len(output) == 2):
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: "
                        "(output, aux) if has_aux is True"
                    )
                output, aux = output
            _check_scalar(output)
            if has_aux:
                _check_aux(aux)
            grads = _gradients([output], leaves, [torch.ones_like(output)])
        leave = _outside(enabled, leaves)
        gradient = pytree.tree_unflatten([leave(g) for g in grads], spec)
        if has_aux:
            return gradient, (leave(output), pytree.tree_map(leave, aux))
        return gradient, leave(output)

    return wrapped


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of ``func``, which returns one number.

    Args:
        argnums: of which positional argument (an int, or a tuple of them) the gradient is taken.
        has_aux: ``func`` returns ``(value, aux)``; the result is then ``(gradient, aux)``.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _tensor_outputs(outputs, start: str) -> tuple:
    leaves, spec = pytree.tree_flatten(outputs)
    if not leaves or leaves == [None]:
        raise RuntimeError(
            f"{start}: Expected f to be a function that has non-empty output (got output = "
            f"{leaves})"
        )
    for x in leaves:
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(
                f"{start}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(x)}"
            )
    return leaves, spec


def _split_aux(output, start: str) -> tuple:
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{start}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return output


def _check_aux(aux) -> None:
    for x in pytree.tree_leaves(aux):
        if not isinstance(x, torch.Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")


def _check_cotangents(given: list) -> None:
    for g in given:
        if g is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if not isinstance(g, torch.Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(g).__name__}"
            )


def _vjp(func, primals: tuple, has_aux: bool, places=None) -> tuple:
    """The outputs, vjp_fn(cotangents), aux; with ``places``, for those arguments only."""
    enabled = torch.is_grad_enabled()
    start = "vjp(f, *primals)"
    with recording():
        chosen = primals if places is None else _chosen(primals, places)
        inputs, leaves, spec = _differentiable_inputs(chosen)
        output = func(*(inputs if places is None else _replaced(primals, places, inputs)))
        aux = None
        if has_aux:
            output, aux = _split_aux(output, start)
        flat, structure = _tensor_outputs(output, start)
        for x in flat:
            if not (x.is_floating_point() or x.is_complex()):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                    f"Tensor with dtype {x.dtype}"
                )
    leave = _outside(enabled, leaves)
    larger = _C._depends_outside(tuple(flat), tuple(leaves))

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        given, given_structure = pytree.tree_flatten(cotangents)
        if given_structure != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                "outputs to the function. cotangents: "
                f"{pytree.treespec_pprint(given_structure)}, primal output: "
                f"{pytree.treespec_pprint(structure)}"
            )
        _check_cotangents(given)
        record = larger and torch.is_grad_enabled()
        for g in given:
            record = record or (torch.is_grad_enabled() and g.requires_grad)
        with running():
            grads = _gradients(flat, leaves, given, retain_graph, record)
        return pytree.tree_unflatten([leave(g) for g in grads], spec)

    results = pytree.tree_unflatten([leave(x) for x in flat], structure)
    if has_aux:
        _check_aux(aux)
    return results, vjp_fn, pytree.tree_map(leave, aux) if has_aux else None


def vjp(func, *primals, has_aux=False):
    """``func(*primals)``, and a function that takes a vector through its Jacobian backwards.

    That function takes a tree like the outputs and returns a tuple with one gradient for each of
    ``primals``. With ``has_aux`` ``func`` returns ``(output, aux)``, and ``aux`` comes third.
    """
    output, back, aux = _vjp(func, primals, has_aux)
    return (output, back, aux) if has_aux else (output, back)


# ---- Forward mode


def _check_primals(primals, tangents, start: str) -> None:
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{start}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat, spec = pytree.tree_flatten(primals)
    flat_tangents, tangents_spec = pytree.tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"{start}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {tangents_spec}"
        )
    for leaves, name in ((flat, "primals"), (flat_tangents, "tangents")):
        for x in leaves:
            if not isinstance(x, torch.Tensor):
                raise RuntimeError(
                    f"{start}: Expected {name} to only contain Tensors, got {type(x)}"
                )
        if not leaves:
            raise RuntimeError(f"{start}: Expected {name} to contain at least one Tensor.")


def check_tangent(primal, tangent) -> None:
    """PyTorch's errors for what cannot be a tangent."""
    if not (primal.is_floating_point() or primal.is_complex()):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {primal.dtype}"
        )
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    if primal.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(primal.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )


def _jvp(func, primals, tangents, strict: bool, has_aux: bool) -> tuple:
    start = "jvp(f, primals, tangents)"
    _check_primals(primals, tangents, start)
    flat, spec = pytree.tree_flatten(primals)
    moves = pytree.tree_leaves(tangents)
    for x, t in zip(flat, moves, strict=True):
        check_tangent(x, t)
    # Inference mode would cut the reverse passes that many derivatives are made of.
    with inference_mode_off(), level(_C._enter_forward, False) as number:
        duals = [_C._wrap_dual(x, t, number) for x, t in zip(flat, moves, strict=True)]
        output = func(*pytree.tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            output, aux = _split_aux(output, start)
            _check_aux(aux)
        leaves, structure = _tensor_outputs(output, start)
        values, moved = [], []
        for x in leaves:
            below = _C._unwrap(x, number)
            if strict and (below is None or below[2] is None):
                raise RuntimeError(
                    f"{start[:-1]}, strict=True): The output of f is independent of the inputs. "
                    "This is not allowed with strict=True."
                )
            value = x if below is None else below[0]
            values.append(value)
            tangent = None if below is None else below[2]
            moved.append(torch.zeros_like(value) if tangent is None else tangent)

        def outside(x):
            below = _C._unwrap(x, number)
            return x if below is None else below[0]

        aux = pytree.tree_map(outside, aux) if has_aux else None
    return pytree.tree_unflatten(values, structure), pytree.tree_unflatten(moved, structure), aux


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``func(*primals)`` and its derivative along ``tangents``, a tuple like ``primals``.

    With ``strict`` an output that does not depend on the inputs is an error instead of zeros.
    With ``has_aux`` ``func`` returns ``(output, aux)``, and ``aux`` comes third.
    """
    output, moved, aux = _jvp(func, primals, tangents, strict, has_aux)
    return (output, moved, aux) if has_aux else (output, moved)


# ---- Jacobians


def _real_only(name: str, inputs: list) -> None:
    for k, x in enumerate(inputs):
        if isinstance(x, torch.Tensor) and x.is_complex():
            raise RuntimeError(
                f"{name}: Expected all inputs to be real but received complex tensor at flattened "
                f"input idx: {k}"
            )


def _unit_rows(tensors: list, start: int = 0, count: int | None = None) -> list:
    """For each tensor, its part of the rows ``start`` on of the identity, shaped like it."""
    sizes = [x.numel() for x in tensors]
    total = sum(sizes)
    count = total - start if count is None else count
    rows, before = [], 0
    for x, n in zip(tensors, sizes, strict=True):
        block = torch.zeros(count, n, dtype=x.dtype, device=x.device)
        low, high = max(start, before), min(start + count, before + n)
        if low < high:
            block[low - start : high - start, low - before : high - before].fill_diagonal_(1)
        rows.append(block.reshape(count, *x.shape))
        before += n
    return rows


def _jacobian_by_output(rows: list, outputs: list, inputs: list) -> list:
    """Splits stacked gradients (all outputs' elements, then the input's shape) by output."""
    sizes = [o.numel() for o in outputs]
    split = [g.split(sizes, 0) for g in rows]
    return [
        [
            split[k][j].reshape((*o.shape, *x.shape))
            for k, x in enumerate(inputs)
        ]
        for j, o in enumerate(outputs)
    ]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of ``func``, row by row in reverse mode.

    Each entry has the output's shape followed by the input's; several outputs or arguments give
    trees like the outputs, of trees like the arguments. ``chunk_size`` rows are computed at once.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapped(*args):
        places = _argnums(argnums, len(args))
        output, back, aux = _vjp(func, args, has_aux, places)
        flat, structure = pytree.tree_flatten(output)
        inputs, input_spec = pytree.tree_flatten(_chosen(args, places))
        _real_only("jacrev", inputs)
        total = sum(o.numel() for o in flat)
        step = total if chunk_size is None else chunk_size
        parts = []
        for start in range(0, total, max(step, 1)):
            basis = _unit_rows(flat, start, min(step, total - start))
            tree = pytree.tree_unflatten(basis, structure)
            if chunk_size == 1:
                one = pytree.tree_map(lambda x: x.squeeze(0), tree)
                found = pytree.tree_map(lambda x: x.unsqueeze(0), back(one))
            else:
                found = vmap(back)(tree)
            parts.append(pytree.tree_leaves(found))
        rows = [torch.cat(c) if len(c) > 1 else c[0] for c in zip(*parts, strict=True)]
        if not parts:
            rows = [x.new_zeros(0, *x.shape) for x in inputs]
        table = _jacobian_by_output(rows, flat, inputs)
        result = pytree.tree_unflatten(
            [pytree.tree_unflatten(row, input_spec) for row in table], structure
        )
        return (result, aux) if has_aux else result

    return wrapped


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that gives the Jacobian of ``func``, column by column in forward mode.

    The result is that of :func:`jacrev`.
    """

    @functools.wraps(func)
    def wrapped(*args):
        places = _argnums(argnums, len(args))
        chosen = _chosen(args, places)
        inputs, input_spec = pytree.tree_flatten(chosen)
        for x in inputs:
            if isinstance(x, torch.Tensor):
                check_tangent(x, x)
        _real_only("jacfwd", inputs)

        def of_chosen(*values):
            tree = pytree.tree_unflatten(list(values), input_spec)
            return func(*_replaced(args, places, tree))

        def push(basis):
            output, moved, aux = _jvp(of_chosen, tuple(inputs), tuple(basis), False, has_aux)
            return (moved, output, aux) if has_aux else (moved, output)

        out_dims = (0, None, None) if has_aux else (0, None)
        found = vmap(push, out_dims=out_dims, randomness=randomness)(_unit_rows(inputs))
        moved, structure = pytree.tree_flatten(found[0])
        sizes = [x.numel() for x in inputs]
        table = []
        for rows in moved:
            shape = rows.shape[1:]
            columns = rows.movedim(0, -1).split(sizes, -1)
            table.append(
                pytree.tree_unflatten(
                    [c.reshape((*shape, *x.shape)) for c, x in zip(columns, inputs, strict=True)],
                    input_spec,
                )
            )
        result = pytree.tree_unflatten(table, structure)
        return (result, found[2]) if has_aux else result

    return wrapped


def hessian(func, argnums=0):
    """A function that gives the second derivatives of ``func``: forward over reverse."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func, *primals):
    """``func(*primals)``, and a function that takes tangents through its derivative there."""
    flat, spec = pytree.tree_flatten(primals)
    for x in flat:
        x.new_empty(0)
    output = func(*primals)

    def jvp_fn(*tangents):
        moves, moves_spec = pytree.tree_flatten(tangents)
        if moves_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {moves_spec} to have the same argspec as the primals {spec}"
            )
        for k, (t, x) in enumerate(zip(moves, flat, strict=True)):
            if t.shape != x.shape:
                raise RuntimeError(
                    f"tangent:{k} with shape {t.shape} in flattened pytree doesn't match the shape "
                    f"{x.shape} of the corresponding primal."
                )
            if t.dtype != x.dtype:
                raise RuntimeError(
                    f"tangent:{k} with dtype {t.dtype} in flattened pytree doesn't match the dtype "
                    f"{x.dtype} of the corresponding primal."
                )
        return _jvp(func, primals, tangents, False, False)[1]

    return output, jvp_fn
