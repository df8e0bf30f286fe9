"""Contractions of tensors: einsum and tensordot."""

from __future__ import annotations

import functools
import math

import rushlight as torch
from rushlight._ranges import record_function

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@record_function("aten::einsum")
def einsum(*args):
    """Sums of products named by subscripts: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    Operands are contracted from left to right. The form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``
    names dimensions by numbers below 52. ``...`` stands for dimensions that broadcast.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    if isinstance(args[0], torch.Tensor):
        equation, operands = _from_lists(args)
    else:
        equation, operands = args[0], args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    for i, x in enumerate(operands):
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 1, but got {torch.typename(type(x))}"
            )
    return _contract(equation, list(operands))


def _from_lists(args):
    def text(subscripts):
        said = ""
        for s in subscripts:
            if s is Ellipsis:
                said += "..."
            elif 0 <= s < len(_LETTERS):
                said += _LETTERS[s]
            else:
                raise ValueError(
                    "einsum(): subscripts in sublist format must be in the range [0, 52)"
                )
        return said

    paired = len(args) - len(args) % 2
    operands, terms = args[0:paired:2], [text(s) for s in args[1:paired:2]]
    equation = ",".join(terms)
    if len(args) % 2:
        equation += "->" + text(args[-1])
    return equation, operands


@functools.lru_cache(maxsize=512)
def _read_term(term, number):
    """The labels of one operand, a tuple; None stands for the ellipsis."""
    labels, i = [], 0
    while i < len(term):
        c = term[i]
        if c == ".":
            if term[i : i + 3] != "..." or None in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {number} that is not part of any ellipsis"
                    if None not in labels
                    else f"einsum(): found '.' for operand {number} for which an ellipsis "
                    "was already found"
                )
            labels.append(None)
            i += 3
            continue
        if not (c.isascii() and c.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        labels.append(c)
        i += 1
    return tuple(labels)


def _contract(equation, operands):
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    labels = [_read_term(term, i) for i, term in enumerate(terms)]
    extra = 0  # dimensions that the ellipsis stands for
    for i, (names, x) in enumerate(zip(labels, operands, strict=True)):
        named = sum(n is not None for n in names)
        if None in names:
            extra = max(extra, x.dim() - named)
        if named > x.dim() or (None not in names and named != x.dim()):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) "
                + ("is more than" if None in names else "does not match")
                + f" the number of dimensions ({x.dim()}) for operand {i}"
                + ("" if None in names else " and no ellipsis was given")
            )
    output = _output_labels(labels, arrow, right, extra)
    summed = sorted({n for names in labels for n in names if n is not None} - set(output))
    order = output + [d for d in range(extra) if d not in output] + summed
    prepared = [_lay_out(x, names, order, extra, i)
                for i, (x, names) in enumerate(zip(operands, labels, strict=True))]
    return _multiply(prepared, len(output), order)


def _output_labels(labels, arrow, right, extra):
    """The result's labels in order; the ellipsis becomes the numbers of its dimensions."""
    dots = list(range(extra))
    if not arrow:
        seen = [n for names in labels for n in names if n is not None]
        return dots + sorted(n for n in set(seen) if seen.count(n) == 1)
    known = {n for names in labels for n in names}
    output = []
    for n in _read_term(right, "the output"):
        if n is None:
            output += dots
        elif n in output:
            raise RuntimeError(
                f"einsum(): output subscript {n} appears more than once in the output"
            )
        elif n not in known:
            raise RuntimeError(
                f"einsum(): output subscript {n} does not appear in the equation for any input "
                "operand"
            )
        else:
            output.append(n)
    return output


def _lay_out(x, names, order, extra, number):
    """The operand with one dimension per label of ``order``, of size one where it has none."""
    own = []
    for n in names:
        if n is None:
            count = x.dim() - sum(k is not None for k in names)
            own += range(extra - count, extra)
        else:
            own.append(n)
    i = 0
    while i < len(own):  # a label that repeats takes the diagonal
        first = own.index(own[i])
        if first != i:
            if x.size(first) != x.size(i):
                raise RuntimeError(
                    f"einsum(): subscript {own[i]} is repeated for operand {number} but the sizes "
                    f"don't match, {x.size(i)} != {x.size(first)}"
                )
            x = x.diagonal(0, first, i).movedim(-1, first)
            del own[i]
        else:
            i += 1
    present = [n for n in order if n in own]
    x = x.permute([own.index(n) for n in present])
    for at, n in enumerate(order):
        if n not in own:
            x = x.unsqueeze(at)
    return x


def _multiply(operands, kept, order):
    """Contract from left to right; a label is summed when the last operand that has it is done."""
    rank = len(order)
    sizes = []
    for d in range(rank):
        size = 1
        for number, x in enumerate(operands):
            if x.size(d) == 1 or x.size(d) == size:
                continue
            if size != 1:
                raise RuntimeError(
                    f"einsum(): subscript {order[d]} has size {x.size(d)} for operand {number} "
                    f"which does not broadcast with previously seen size {size}"
                )
            size = x.size(d)
        sizes.append(size)
    result = operands[0]
    for number in range(1, len(operands)):
        x = operands[number]
        rest = operands[number + 1 :]
        done = [d for d in range(kept, rank)
                if all(y.size(d) == 1 for y in rest) and (result.size(d) != 1 or x.size(d) != 1)]
        result = _sum_product(result, x, done)
    if rank == kept:
        return result
    if len(operands) == 1:
        return result.sum(list(range(kept, rank)))
    left = [d for d in range(kept, rank) if result.size(d) != 1]
    if left:
        result = result.sum(left, keepdim=True)
    return result.view(result.shape[:kept])


def _sum_product(a, b, done):
    """sum(a * b) over the dimensions ``done``, which keep size one, by one product of stacks."""
    inner = [d for d in done if a.size(d) != 1 and b.size(d) != 1]
    for d in done:
        if d not in inner:
            a, b = (a.sum(d, keepdim=True), b) if b.size(d) == 1 else (a, b.sum(d, keepdim=True))
    if not done:
        return a * b
    shared, rows, columns = [], [], []
    for d in range(a.dim()):
        if d not in done:
            kind = columns if a.size(d) == 1 else shared if b.size(d) != 1 else rows
            kind.append(d)
    if rows and columns and columns[-1] < rows[0]:  # so that the result is in the order asked for
        a, b, rows, columns = b, a, columns, rows
    left = a.permute(shared + rows + done + columns)
    left = left.reshape(_count(a, shared), _count(a, rows), _count(a, done))
    right = b.permute(shared + done + columns + rows)
    right = right.reshape(_count(b, shared), _count(b, done), _count(b, columns))
    order = shared + rows + done + columns
    sizes = [a.size(d) for d in shared + rows] + [1] * len(done) + [b.size(d) for d in columns]
    made = torch.bmm(left, right).view(sizes)
    return made.permute([order.index(d) for d in range(a.dim())])


def _count(x, dims):
    """How many elements ``x`` has over some of its dimensions."""
    return math.prod(x.size(d) for d in dims)


@record_function("aten::tensordot")
def tensordot(a, b, dims=2, out=None):
    """Sums of products over pairs of dimensions: the last ``dims`` of ``a`` with the first of
    ``b``, or those that two lists name."""
    if isinstance(dims, torch.Tensor):
        dims = dims.tolist() if dims.dim() else int(dims)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
            )
        of_a, of_b = list(range(-dims, 0)), list(range(dims))
    else:
        of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
        if len(of_a) != len(of_b):
            raise RuntimeError("both dimension lists should have same length")
    if a.dtype != b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(of_a, of_b, strict=True):
        if a.size(i) != b.size(j) and 1 not in (a.size(i), b.size(j)):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.size(i)} in dim {i} "
                f"and second has size {b.size(j)} in dim {j}"
            )
        if b.size(j) == 1 and a.size(i) != 1:
            a = a.sum(i, keepdim=True)
        elif a.size(i) == 1 and b.size(j) != 1:
            b = b.sum(j, keepdim=True)
    of_a, of_b = [d % a.dim() for d in of_a], [d % b.dim() for d in of_b]
    free_a = [d for d in range(a.dim()) if d not in of_a]
    free_b = [d for d in range(b.dim()) if d not in of_b]
    inner = rows = columns = 1
    for d in of_a:
        inner *= a.size(d)
    for d in free_a:
        rows *= a.size(d)
    for d in free_b:
        columns *= b.size(d)
    if of_a and not free_a and not free_b:
        made = (a.permute(of_a) * b.permute(of_b)).sum(dtype=a.dtype).view(())
        return made if out is None else _filled(out, made)
    left = a.permute(free_a + of_a).reshape(rows, inner)
    right = b.permute(of_b + free_b).reshape(inner, columns)
    made = torch.mm(left, right).reshape([a.size(d) for d in free_a] + [b.size(d) for d in free_b])
    return made if out is None else _filled(out, made)


def _filled(out, made):
    """``out`` of tensordot, resized where it must be, with the result."""
    if out.dtype != made.dtype:
        words = [t.type().removeprefix("torch.").removesuffix("Tensor") for t in (made, out)]
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {words[0]}, "
            f"but got an output tensor with dtype {words[1]}"
        )
    return torch.mul(made, 1, out=out)
