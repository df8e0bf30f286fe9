"""Derivatives against finite differences, first and second, real and complex.

For a real output L and an input z = x + iy the gradient is dL/dx + i dL/dy, as everywhere in the
package; a complex output is checked as two real ones, its imaginary and its real part.
"""

from __future__ import annotations

import itertools
import warnings

import rushlight as torch

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative disagrees with finite differences, or a backward breaks its contract."""


def gradcheck(
    func,
    inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` at `inputs` agree with central differences.

    Args:
        func: takes the inputs, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple; those that require gradients are varied, so they should be
            float64 or complex128 and must not overlap in memory.
        eps: half the distance of the two points of a difference.
        atol, rtol: agreement is |a - n| <= atol + rtol |n|, for every entry of the Jacobian.
        nondet_tol: how far two runs of the same backward may differ.
        fast_mode: compares one random projection of each Jacobian instead of all its entries (of
            those of reverse mode).
        check_forward_ad: the Jacobian of forward mode is compared, too.
        check_batched_grad, check_batched_forward_grad: several gradients (tangents) at once, by
            vmap, are those taken one after the other.

    Raises GradcheckError with both Jacobians where they differ (unless `raise_exception` is
    False: then the answer is False).
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    tolerances = (eps, atol, rtol)
    try:
        _check_inputs(inputs)
        outputs = _differentiable(func(*inputs))
        if not outputs:
            _check_constant(func, inputs, eps)
            return True
        parts = ("imaginary", "real") if any(o.is_complex() for o in outputs) else ("",)
        for part in parts if check_forward_ad else ():
            _compare_forward(func, inputs, part, tolerances)
        if check_batched_forward_grad:
            _check_batched_forward(func, inputs)
        if not check_backward_ad:
            return True
        compare = _compare_projections if fast_mode else _compare_jacobians
        for part in parts:
            compare(func, inputs, part, tolerances, nondet_tol, check_grad_dtypes)
        if check_batched_grad:
            _check_batched(func, inputs)
        _check_zero_cotangent(func, inputs)
        if check_undefined_grad:
            _check_undefined(func, inputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the second derivatives of `func` agree with differences of its first ones.

    The gradients of `func`, as functions of its inputs and of the gradients of its outputs
    (`grad_outputs`, random when None), go through `gradcheck`, whose other arguments these are.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, asked in (("undefined", check_undefined_grad), ("batched", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(
                f"Setting check_{name}_grad=True requires check_rev_over_rev to be True"
            )
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        grad_outputs = tuple(_random_like(o, gen_non_contig_grad_outputs) for o in outputs)
    elif isinstance(grad_outputs, torch.Tensor):
        grad_outputs = (grad_outputs,)
    count = len(grad_outputs)

    def first_derivatives(*args):
        given, grads = args[: len(args) - count], args[len(args) - count :]
        outputs = _differentiable(func(*given))
        wanted = tuple(x for x in given if isinstance(x, torch.Tensor) and x.requires_grad)
        found = torch.autograd.grad(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivatives,
        (*inputs, *grad_outputs),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _random_like(output, non_contiguous: bool):
    from rushlight.testing import make_tensor

    dtype = output.dtype
    if not (output.is_floating_point() or output.is_complex()):
        dtype = torch.double
    return make_tensor(
        output.shape,
        dtype=dtype,
        device=output.device,
        low=-1,
        high=1,
        requires_grad=True,
        noncontiguous=non_contiguous,
    )


def _outputs(found) -> tuple:
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def _differentiable(found) -> tuple:
    return tuple(o for o in _outputs(found) if isinstance(o, torch.Tensor) and o.requires_grad)


def _varied(inputs) -> list:
    """(position, tensor) of the inputs that require gradients."""
    return [(k, x) for k, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]


def _check_inputs(inputs) -> None:
    for k, x in _varied(inputs):
        if x.dtype not in (torch.float64, torch.complex128):
            warnings.warn(
                f"Input #{k} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                stacklevel=3,
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
        x.retain_grad()
    if not _varied(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, "
            "but none of them have requires_grad=True."
        )


def _part(output, part: str):
    """The real function that stands for an output: itself, or a part of a complex one."""
    if not output.is_complex():
        return output
    return torch.imag(output) if part == "imaginary" else torch.real(output)


def _numbers(tensor) -> list:
    """All elements in row-major order, as Python numbers."""
    return tensor.detach().reshape([-1]).tolist()


def _evaluate(func, inputs, part: str, previous, eps: float) -> list:
    """The differentiable outputs as lists of numbers; their shapes must stay as they are."""
    found = _differentiable(func(*inputs))
    shapes = [tuple(o.shape) for o in found]
    if previous is not None and shapes != previous:
        raise AssertionError(
            "Expected `func` to return outputs with the same shape when inputs are perturbed "
            f"by {eps}, but got: shapes {previous} and {shapes}."
        )
    return [_numbers(_part(o, part)) for o in found]


def _numerical(func, inputs, x, part: str, eps: float, shapes) -> list:
    """Jacobian of each output with respect to x: a list of rows, one for each element of x."""
    data = x.detach()
    rows = []
    for index in itertools.product(*(range(n) for n in x.shape)):
        before = data[index].item()
        slopes = []
        for step in (eps, eps * 1j) if x.is_complex() else (eps,):
            ends = []
            for moved in (before + step, before - step):
                data[index] = moved
                ends.append(_evaluate(func, inputs, part, shapes, eps))
            slopes.append(
                [
                    [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]
                    for above, below in zip(*ends, strict=True)
                ]
            )
        data[index] = before
        if len(slopes) == 2:
            slopes = [
                [
                    [complex(a, b) for a, b in zip(real, imag, strict=True)]
                    for real, imag in zip(*slopes, strict=True)
                ]
            ]
        rows.append(slopes[0])
    return [[row[k] for row in rows] for k in range(len(shapes))]


def _analytical(output, part: str, wanted, check_dtypes: bool) -> list:
    """Jacobian of one output with respect to each input: a list of columns, by element of it."""
    real = _part(output, part)
    columns = []
    for j in range(real.numel()):
        seed = torch.zeros([real.numel()], dtype=real.dtype, device=real.device)
        seed[j] = 1
        seed = seed.reshape(list(real.shape))
        grads = torch.autograd.grad(real, wanted, seed, retain_graph=True, allow_unused=True)
        column = []
        for g, x in zip(grads, wanted, strict=True):
            if g is not None and check_dtypes and g.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            column.append([0.0] * x.numel() if g is None else _numbers(g))
        columns.append(column)
    return columns


def _as_matrix(rows, height: int, width: int, dtype):
    return torch.tensor([c for r in rows for c in r], dtype=dtype).reshape([height, width])


def _compare_jacobians(func, inputs, part, tolerances, nondet_tol, check_dtypes) -> None:
    """Every entry of every Jacobian; raises at the first pair that differs."""
    eps, atol, rtol = tolerances
    varied = _varied(inputs)
    wanted = [x for _, x in varied]
    shapes = [tuple(o.shape) for o in _differentiable(func(*inputs))]
    numerical = [_numerical(func, inputs, x, part, eps, shapes) for x in wanted]
    for o, output in enumerate(_differentiable(func(*inputs))):
        columns = _analytical(output, part, wanted, check_dtypes)
        again = _analytical(output, part, wanted, check_dtypes)
        for k, (position, x) in enumerate(varied):
            size = (x.numel(), output.numel())
            dtype = torch.complex128 if x.is_complex() else torch.float64
            given = _as_matrix(numerical[k][o], *size, dtype)
            own, repeated = (
                _as_matrix([c[k] for c in cs], *size[::-1], dtype).t() for cs in (columns, again)
            )
            if not torch.allclose(own, given, rtol=rtol, atol=atol):
                raise GradcheckError(_mismatch(o, position, given, own, part))
            if own.numel() and (own - repeated).abs().max().item() > nondet_tol:
                raise GradcheckError(_not_reentrant(nondet_tol))


def _mismatch(output: int, position: int, numerical, analytical, part: str, mode="") -> str:
    prefix = f"While considering the {part} part of complex outputs only, " if part else ""
    return (
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {position},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


# ---- Forward mode


def _tangents(func, inputs, x, direction) -> list:
    """Tangents of the differentiable outputs where x moves along a direction."""
    from .forward_ad import dual_level, make_dual, unpack_dual

    with dual_level():
        given = [make_dual(x, direction) if y is x else y for y in inputs]
        found = []
        for output in _differentiable(func(*given)):
            primal, tangent = unpack_dual(output)
            found.append(torch.zeros_like(primal) if tangent is None else tangent.detach())
        return found


def _forward_jacobian(func, inputs, x, part: str, outputs: int) -> list:
    """As _numerical, by forward mode."""
    rows = []
    for index in itertools.product(*(range(n) for n in x.shape)):
        slopes = []
        for step in (1, 1j) if x.is_complex() else (1,):
            direction = torch.zeros_like(x.detach())
            direction[index] = step
            slopes.append([_numbers(_part(t, part)) for t in _tangents(func, inputs, x, direction)])
        if len(slopes) == 2:
            slopes = [
                [
                    [complex(a, b) for a, b in zip(real, imag, strict=True)]
                    for real, imag in zip(*slopes, strict=True)
                ]
            ]
        rows.append(slopes[0])
    return [[row[k] for row in rows] for k in range(outputs)]


def _compare_forward(func, inputs, part, tolerances) -> None:
    eps, atol, rtol = tolerances
    outputs = _differentiable(func(*inputs))
    shapes = [tuple(o.shape) for o in outputs]
    for position, x in _varied(inputs):
        numerical = _numerical(func, inputs, x, part, eps, shapes)
        analytical = _forward_jacobian(func, inputs, x, part, len(outputs))
        dtype = torch.complex128 if x.is_complex() else torch.float64
        for o, output in enumerate(outputs):
            size = (x.numel(), output.numel())
            given, own = (_as_matrix(m[o], *size, dtype) for m in (numerical, analytical))
            if not torch.allclose(own, given, rtol=rtol, atol=atol):
                mode = "computed with forward mode "
                raise GradcheckError(_mismatch(o, position, given, own, part, mode))


# ---- Several at once


def _check_batched(func, inputs) -> None:
    """Gradients of two cotangents by one backward pass are those of two passes."""
    wanted = [x for _, x in _varied(inputs)]
    for place, output in enumerate(_differentiable(func(*inputs))):
        seeds = [torch.rand_like(output) for _ in range(2)]
        options = {"retain_graph": True, "allow_unused": True}
        single = [torch.autograd.grad(output, wanted, s, **options) for s in seeds]
        stacked = torch.stack(seeds)
        batched = torch.autograd.grad(output, wanted, stacked, is_grads_batched=True, **options)
        for k, (found, *rows) in enumerate(zip(batched, *single, strict=True)):
            _compare_batched(found, rows, f"output {place} and input {k}")


def _check_batched_forward(func, inputs) -> None:
    """Tangents along two directions at once are those of one after the other."""
    for k, x in _varied(inputs):
        directions = [torch.rand_like(x.detach()) for _ in range(2)]
        single = [_tangents(func, inputs, x, d) for d in directions]

        def both(direction, x=x):
            return tuple(_tangents(func, inputs, x, direction))

        batched = torch.vmap(both)(torch.stack(directions))
        for place, (found, *rows) in enumerate(zip(batched, *single, strict=True)):
            _compare_batched(found, rows, f"output {place} and input {k}")


def _compare_batched(found, rows: list, where: str) -> None:
    if found is None and rows[0] is None:
        return
    expected = torch.stack(rows)
    if not torch.allclose(found, expected):
        raise GradcheckError(
            f"For {where}, the results of one pass for several gradients differ from those of a "
            f"pass for each:\nbatched:{found}\none by one:{expected}\n"
        )


def _not_reentrant(tolerance: float) -> str:
    return (
        "Backward is not reentrant, i.e., running backward with same input and grad_output "
        "multiple times gives different values, although analytical gradient matches numerical "
        f"gradient.The tolerance for nondeterminism was {tolerance}."
    )


def _compare_projections(func, inputs, part, tolerances, nondet_tol, check_dtypes) -> None:
    """For random u and v, the number u.Jv of each input and output."""
    eps, atol, rtol = tolerances
    outputs = _differentiable(func(*inputs))
    shapes = [tuple(o.shape) for o in outputs]
    reals = [_part(o, part) for o in outputs]
    seeds = [torch.rand(list(r.shape), dtype=r.dtype) for r in reals]
    for position, x in _varied(inputs):
        direction = torch.rand(list(x.shape), dtype=x.dtype)
        data, kept = x.detach(), x.detach().clone()
        ends = []
        for sign in (1, -1):
            data.copy_(kept + sign * eps * direction)
            ends.append(_evaluate(func, inputs, part, shapes, eps))
        data.copy_(kept)
        for o, (real, seed) in enumerate(zip(_fresh(func, inputs, part), seeds, strict=True)):
            slope = [(a - b) / (2 * eps) for a, b in zip(ends[0][o], ends[1][o], strict=True)]
            weights = _numbers(seed)
            numerical = sum(s * w for s, w in zip(slope, weights, strict=True))
            (g,) = torch.autograd.grad(real, x, seed, retain_graph=True, allow_unused=True)
            if g is not None and check_dtypes and g.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            pairs = zip(_numbers(g), _numbers(direction), strict=True) if g is not None else ()
            analytical = sum((complex(a).conjugate() * d).real for a, d in pairs)
            scale = max(sum(map(abs, weights)), 1.0)
            if abs(numerical - analytical) > atol * scale + rtol * abs(numerical):
                values = (torch.tensor(v, dtype=torch.float64) for v in (numerical, analytical))
                raise GradcheckError(_mismatch(o, position, *values, part))


def _fresh(func, inputs, part: str) -> list:
    return [_part(o, part) for o in _differentiable(func(*inputs))]


def _check_constant(func, inputs, eps: float) -> None:
    """A function without differentiable outputs must not depend on its inputs."""
    for _, x in _varied(inputs):
        data = x.detach()
        for index in itertools.product(*(range(n) for n in x.shape)):
            before = data[index].item()
            ends = []
            for moved in (before + eps, before - eps):
                data[index] = moved
                found = [o for o in _outputs(func(*inputs)) if isinstance(o, torch.Tensor)]
                ends.append([_numbers(o) for o in found])
            data[index] = before
            if ends[0] != ends[1]:
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _check_zero_cotangent(func, inputs) -> None:
    """Gradients are linear: a zero gradient of the outputs gives zeros of the right kind."""
    outputs = _differentiable(func(*inputs))
    wanted = [x for _, x in _varied(inputs)]
    zeros = [torch.zeros_like(o) for o in outputs]
    for g, x in zip(
        torch.autograd.grad(outputs, wanted, zeros, allow_unused=True), wanted, strict=True
    ):
        if g is None:
            continue
        if not bool((g == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype != x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != x.device:
            raise GradcheckError("grad is incorrect device")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


def _undefined_gradient():
    """A function whose backward gives no gradient: made when asked, as imports stay light."""

    class UndefinedGrad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return None

    return UndefinedGrad.apply


def _check_undefined(func, inputs) -> None:
    """Outputs whose gradient is undefined count as zero, one by one and all together."""
    undefined = _undefined_gradient()
    wanted = [x for _, x in _varied(inputs)]
    count = len(_differentiable(func(*inputs)))
    choices = [range(count), *([k] for k in range(count))] if count > 1 else [range(count)]
    for chosen in choices:
        outputs = _differentiable(func(*inputs))
        given = [undefined(o) if k in chosen else o for k, o in enumerate(outputs)]
        seeds = [torch.zeros_like(o) for o in outputs]
        try:
            grads = torch.autograd.grad(given, wanted, seeds, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. "
                'Please look at "Notes about undefined output gradients" in '
                '"tools/autograd/derivatives.yaml"'
            ) from error
        if any(g is not None and not bool((g == 0).all()) for g in grads):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                'undefined or zero. Please look at "Notes about undefined output gradients" in '
                '"tools/autograd/derivatives.yaml"'
            )
