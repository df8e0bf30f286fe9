"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

import rushlight as torch

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ---- What goes in and what comes out


def _as_tuple(value, argument: str, function: str) -> tuple:
    """``value`` as a tuple of tensors."""
    values = value if isinstance(value, tuple) else (value,)
    start = (
        f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors but the "
    )
    for position, each in enumerate(values):
        if not isinstance(each, torch.Tensor):
            if isinstance(value, tuple):
                raise TypeError(f"{start}value at index {position} has type {type(each)}.")
            raise TypeError(f"{start}given {argument} has type {type(each)}.")
    return values


def _outputs(value, function: str) -> tuple:
    return _as_tuple(value, "outputs of the user-provided function", function)


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


def _vector(v, values: tuple, several: bool, function: str, owner: str) -> tuple:
    """The vector, shaped like ``values``; left out (None) it is one, for a single number."""
    if v is None:
        if len(values) != 1 or values[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {owner} a single Tensor with a single "
                "element."
            )
        return (torch.ones_like(values[0]),)
    vectors = tuple(x.detach() for x in _as_tuple(v, "v", function))
    if len(vectors) != len(values):
        if several:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(values)} but got {len(vectors)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for position, (each, value) in enumerate(zip(vectors, values, strict=True)):
        if each.shape != value.shape:
            where = f"Entry {position} in v" if several else "v"
            raise RuntimeError(
                f"{where} has invalid size: should be {value.shape} but got {each.shape}."
            )
    return vectors


# ---- strict: nothing may be zero because nothing depends on it


def _check_differentiable(outputs: tuple, of_jacobian: bool = False) -> None:
    for position, each in enumerate(outputs):
        if each.requires_grad:
            continue
        if of_jacobian:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided "
                f"function with respect to input {position} is independent of the input. This is "
                "not allowed in strict mode. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be "
                "violated by a linear function for example)."
            )
        raise RuntimeError(
            f"Output {position} of the user-provided function does not require gradients. The "
            "outputs must be computed in a differentiable manner from the input when running in "
            "strict mode."
        )


def _check_dependent(grads, stage: str) -> None:
    words = {
        "back": "The output of the user-provided function is",
        "back_trick": "The gradient with respect to the input is",
        "double_back": "The hessian of the user-provided function is",
        "double_back_trick": "The hessian of the user-provided function is",
    }[stage]
    for position, each in enumerate(grads):
        if each is not None:
            continue
        if stage == "back_trick":
            raise RuntimeError(
                f"The gradient with respect to the input is independent of entry {position} in the "
                "grad_outputs when using the double backward trick to compute forward mode "
                "gradients. This is not allowed in strict mode."
            )
        raise RuntimeError(
            f"{words} independent of input {position}. This is not allowed in strict mode."
        )


def _filled(grads, inputs: tuple, strict: bool, create_graph: bool, stage: str) -> tuple:
    """Gradients, zeros where an output does not depend on an input."""
    if strict:
        _check_dependent(grads, stage)
    filled = tuple(
        torch.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True)
    )
    if strict and create_graph:
        words = {
            "back": "The jacobian of",
            "back_trick": "The jacobian of",
            "double_back": "The hessian of",
            "double_back_trick": "The hessian of",
        }[stage]
        for position, each in enumerate(filled):
            if not each.requires_grad:
                raise RuntimeError(
                    f"{words} the user-provided function is independent of input {position}. This "
                    "is not allowed in strict mode when create_graph=True."
                )
    return filled


def _gradients(outputs, inputs, vectors, create_graph=False, retain_graph=None) -> tuple:
    """Gradients of the outputs that have any, None where nothing depends on an input."""
    vectors = vectors or (None,) * len(outputs)
    pairs = [(o, g) for o, g in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return torch.autograd.grad(
        [o for o, _ in pairs],
        inputs,
        [g for _, g in pairs],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


# ---- Products


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)`` and the product of ``v`` (shaped like it) with its Jacobian.

    With ``strict`` an output that does not depend on an input is an error instead of zeros.
    """
    with torch.enable_grad():
        single = not isinstance(inputs, tuple)
        inputs = _prepared(_as_tuple(inputs, "inputs", "vjp"), create_graph)
        outputs = func(*inputs)
        one = not isinstance(outputs, tuple)
        outputs = _outputs(outputs, "vjp")
        if strict:
            _check_differentiable(outputs)
        vectors = _vector(v, outputs, not one, "vjp", "user-provided function returns")
    with torch.set_grad_enabled(True if create_graph else torch.is_grad_enabled()):
        grads = _gradients(outputs, inputs, vectors, create_graph)
        grads = _filled(grads, inputs, strict, create_graph, "back")
    return (
        _like(_finished(outputs, create_graph), one),
        _like(_finished(grads, create_graph), single),
    )


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)`` and the product of its Jacobian with ``v`` (shaped like the inputs).

    Two reverse passes: the product is the derivative of the first by its own vector.
    """
    with torch.enable_grad():
        single = not isinstance(inputs, tuple)
        inputs = _prepared(_as_tuple(inputs, "inputs", "jvp"), create_graph)
        owner = "input to the user-provided function is"
        vectors = _vector(v, inputs, not single, "jvp", owner)
        outputs = func(*inputs)
        one = not isinstance(outputs, tuple)
        outputs = _outputs(outputs, "jvp")
        if strict:
            _check_differentiable(outputs)
        weights = tuple(torch.zeros_like(o).requires_grad_() for o in outputs)
        first = _gradients(outputs, inputs, weights, create_graph=True)
        if strict:
            _check_dependent(first, "back")
    with torch.set_grad_enabled(True if create_graph else torch.is_grad_enabled()):
        pairs = [
            (g, t) for g, t in zip(first, vectors, strict=True) if g is not None and g.requires_grad
        ]
        grads = (None,) * len(outputs)
        if pairs:
            grads = _gradients(
                [g for g, _ in pairs], weights, [t for _, t in pairs], create_graph
            )
        products = _filled(grads, outputs, strict, create_graph, "back_trick")
    return (
        _like(_finished(outputs, create_graph), one),
        _like(_finished(products, create_graph), one),
    )


def _checked_scalar(output, function: str):
    outputs = _outputs(output, function)
    if isinstance(output, tuple):
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if output.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return outputs[0]


def _second(func, inputs, v, create_graph: bool, strict: bool, function: str):
    """Inputs, vectors, output and first gradients of a function that returns one number."""
    single = not isinstance(inputs, tuple)
    inputs = _prepared(_as_tuple(inputs, "inputs", function), create_graph)
    owner = "input to the user-provided function is"
    vectors = _vector(v, inputs, not single, function, owner)
    output = _checked_scalar(func(*inputs), function)
    if strict:
        _check_differentiable((output,))
    first = _gradients((output,), inputs, (torch.ones_like(output),), create_graph=True)
    if strict:
        found = [torch.zeros_like(x) if g is None else g for g, x in zip(first, inputs)]
        dependent = [g for g in first if g is not None]
        if len(dependent) < len(found) and all(g.requires_grad for g in dependent):
            _check_dependent(first, "back")
        _check_differentiable(found, of_jacobian=True)
    return single, inputs, vectors, output, first


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)``, one number, and the product of ``v`` with its Hessian."""
    with torch.enable_grad():
        single, inputs, vectors, output, first = _second(
            func, inputs, v, create_graph, strict, "vhp"
        )
    with torch.set_grad_enabled(True if create_graph else torch.is_grad_enabled()):
        pairs = [(g, t) for g, t in zip(first, vectors, strict=True) if g is not None]
        second = _gradients([g for g, _ in pairs], inputs, [t for _, t in pairs], create_graph)
        second = _filled(second, inputs, strict, create_graph, "double_back")
    return (
        _finished((output,), create_graph)[0],
        _like(_finished(second, create_graph), single),
    )


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)``, one number, and the product of its Hessian with ``v``.

    The Hessian is symmetric: the numbers are those of :func:`vhp`, by two more passes.
    """
    with torch.enable_grad():
        single, inputs, vectors, output, first = _second(
            func, inputs, v, create_graph, strict, "hvp"
        )
        weights = tuple(torch.zeros_like(x).requires_grad_() for x in inputs)
        pairs = [(g, w) for g, w in zip(first, weights, strict=True) if g is not None]
        second = _gradients(
            [g for g, _ in pairs], inputs, [w for _, w in pairs], create_graph=True
        )
        if strict:
            _check_dependent(second, "double_back")
    with torch.set_grad_enabled(True if create_graph else torch.is_grad_enabled()):
        pairs = [
            (g, t)
            for g, t in zip(second, vectors, strict=True)
            if g is not None and g.requires_grad
        ]
        found = (None,) * len(weights)
        if pairs:
            found = _gradients(
                [g for g, _ in pairs], weights, [t for _, t in pairs], create_graph
            )
        products = _filled(found, inputs, strict, create_graph, "double_back_trick")
    return (
        _finished((output,), create_graph)[0],
        _like(_finished(products, create_graph), single),
    )


# ---- Jacobian and Hessian


def _strict_row(row: list, position: int, inputs: tuple, create_graph: bool) -> None:
    for k, each in enumerate(row):
        if each is None:
            raise RuntimeError(
                f"Output {position} of the user-provided function is independent of input {k}. "
                "This is not allowed in strict mode."
            )
        if create_graph and not each.requires_grad:
            raise RuntimeError(
                "The jacobian of the user-provided function is independent of input "
                f"{k}. This is not allowed in strict mode when create_graph=True."
            )


def _by_rows(output, position: int, inputs: tuple, strict: bool, create_graph: bool) -> tuple:
    """The Jacobian of one output, as one tensor per input, one row after the other."""
    rows: list = [[] for _ in inputs]
    flat = output.reshape(-1)
    for place in range(flat.numel()):
        one = flat[place]
        grads = _gradients((one,), inputs, (torch.ones_like(one),), create_graph, True)
        if strict:
            _strict_row(grads, position, inputs, create_graph)
        for row, grad, x in zip(rows, grads, inputs, strict=True):
            row.append(torch.zeros_like(x) if grad is None else grad)
    return tuple(
        torch.stack(row).view(output.shape + x.shape)
        if row
        else x.new_zeros(output.shape + x.shape)
        for row, x in zip(rows, inputs, strict=True)
    )


def _at_once(outputs: tuple, inputs: tuple, create_graph: bool) -> tuple:
    """The rows of all outputs by one backward pass with a mapped dimension."""
    from ..func.differentiation import _jacobian_by_output, _unit_rows

    basis = _unit_rows(list(outputs))
    pairs = [(o, g) for o, g in zip(outputs, basis, strict=True) if o.requires_grad]
    grads: tuple = (None,) * len(inputs)
    if pairs:
        grads = torch.autograd.grad(
            [o for o, _ in pairs],
            inputs,
            [g for _, g in pairs],
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=True,
        )
    total = sum(o.numel() for o in outputs)
    rows = [
        x.new_zeros(total, *x.shape) if g is None else g
        for g, x in zip(grads, inputs, strict=True)
    ]
    return tuple(tuple(row) for row in _jacobian_by_output(rows, list(outputs), list(inputs)))


def _forward(func, inputs: tuple, single: bool):
    """The Jacobian column by column: all unit vectors pushed forward at once."""
    from ..func import jacfwd

    inputs = tuple(x.detach() for x in inputs)
    one = []

    def checked(*values):
        outputs = func(*values)
        one.append(not isinstance(outputs, tuple))
        return _outputs(outputs, "jacobian")

    table = jacfwd(checked, argnums=tuple(range(len(inputs))))(*inputs)
    found = tuple(_like(row, single) for row in table)
    return _like(found, one[-1])


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The Jacobian of ``func`` at ``inputs``: shape of the output, then of the input.

    Several inputs give a tuple, several outputs a tuple of those.

    Args:
        create_graph: record the computation, for higher derivatives.
        strict: an output that does not depend on an input is an error instead of zeros.
        vectorize: all rows at once (by vmap) instead of one after the other.
        strategy: "reverse-mode", row by row, or, with ``vectorize``, "forward-mode".
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    start = "torch.autograd.functional.jacobian: "
    if strategy == "forward-mode":
        ends = (
            "are not supported together (yet). Please either set `{}=False` or "
            '`strategy="reverse-mode"`.'
        )
        if create_graph:
            raise NotImplementedError(
                f'{start}`create_graph=True` and `strategy="forward-mode"` '
                + ends.format("create_graph")
            )
        if strict:
            raise RuntimeError(
                f'{start}`strict=True` and `strategy="forward-mode"` ' + ends.format("strict")
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
                "implemented for `vectorize=True`."
            )
        single = not isinstance(inputs, tuple)
        return _forward(func, _as_tuple(inputs, "inputs", "jacobian"), single)
    with torch.enable_grad():
        single = not isinstance(inputs, tuple)
        inputs = _prepared(_as_tuple(inputs, "inputs", "jacobian"), create_graph)
        outputs = func(*inputs)
        one = not isinstance(outputs, tuple)
        outputs = _outputs(outputs, "jacobian")
        if strict:
            _check_differentiable(outputs)
        if vectorize:
            if strict:
                raise RuntimeError(
                    f"{start}`strict=True` and `vectorized=True` are not supported together. "
                    "Please either set `strict=False` or `vectorize=False`."
                )
            rows = _at_once(outputs, inputs, create_graph)
        else:
            rows = tuple(
                _by_rows(o, position, inputs, strict, create_graph)
                for position, o in enumerate(outputs)
            )
    return _like(tuple(_like(_finished(r, create_graph), single) for r in rows), one)


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """The second derivatives of ``func``, which returns one number, at ``inputs``.

    ``vectorize`` and ``outer_jacobian_strategy`` are those of :func:`jacobian`, for the outer
    derivative.
    """
    single = not isinstance(inputs, tuple)
    inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode".'
        )
    forward = outer_jacobian_strategy == "forward-mode"

    def value(*points):
        output = _checked_scalar(func(*points), "hessian")
        if strict:
            _check_differentiable((output,))
        return output.reshape(())

    def gradient(*points):
        if forward:
            from ..func import grad

            return grad(value, argnums=tuple(range(len(points))))(*points)
        output = value(*points)
        found = _gradients((output,), points, (torch.ones_like(output),), create_graph=True)
        found = tuple(
            torch.zeros_like(x) if g is None else g for g, x in zip(found, points, strict=True)
        )
        if strict:
            _check_differentiable(found, of_jacobian=True)
        return found

    result = jacobian(
        gradient,
        inputs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result[0][0] if single else result
