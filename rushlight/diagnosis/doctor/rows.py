"""Which rows of the data a tensor holds, and in which order: followed through what draws them."""

from __future__ import annotations

import weakref

import rushlight
from rushlight import _C

DRAWN = frozenset("randperm randint randint_like multinomial argsort sort".split())
# Ops whose result has the rows of their first operand.
KEEPING = frozenset(
    "float double half bfloat16 long to unsqueeze squeeze flatten reshape view contiguous clone "
    "detach div true_divide".split()
)
PARTS = frozenset("split chunk tensor_split unbind".split())
MOST = 1 << 20  # rows of a tensor that is followed
KEPT = 500  # tensors that are followed, before those that are gone are dropped


class Rows:
    """``numbers`` in a table of ``total`` rows, as they were drawn by the index at ``site``.

    ``table`` is the id of what the rows were drawn from; ``number`` that of the op which made the
    index, or, where nobody drew, the table.
    """

    __slots__ = ("number", "numbers", "site", "table", "total")

    def __init__(self, numbers, total, table, site=None, number=0):
        self.numbers, self.total, self.table = numbers, total, table
        self.site, self.number = site, number

    def part(self, numbers) -> Rows:
        return Rows(numbers, self.total, self.table, self.site, self.number)


class Drawn:
    """Tensors whose rows were drawn at random, by their ids."""

    def __init__(self, watch):
        self._rows, self._most = {}, KEPT
        watch.on("op", self._draw, ("__getitem__", "index_select"))
        watch.on("op", self._keep, KEEPING)
        watch.on("op", self._part, PARTS)

    def __bool__(self):
        return bool(self._rows)

    def of(self, tensor) -> Rows | None:
        """The rows of a tensor that were drawn, or of a part of one."""
        found = self._rows.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def note(self, tensor, rows: Rows) -> None:
        self._rows[id(tensor)] = (weakref.ref(tensor), rows)
        if len(self._rows) > self._most:
            self._rows = {k: v for k, v in self._rows.items() if v[0]() is not None}
            self._most = max(KEPT, 2 * len(self._rows))

    def _draw(self, op):
        data, index = op.args[0], op.args[1] if len(op.args) == 2 else None
        if isinstance(index, (int, slice)) and not self._rows:
            return
        if op.name == "index_select":
            index = op.argument(2, "index") if op.argument(1, "dim") == 0 else None
        if isinstance(index, tuple) and index:
            index = index[0]
        before = self.of(data) if self._rows else None
        if not isinstance(index, _C.TensorBase) and hasattr(index, "__len__") and data.dim():
            index = _as_tensor(index) if len(index) == len(data) else index
        if isinstance(index, _C.TensorBase):
            if index.dim() != 1 or index.dtype != rushlight.int64 or not 1 < len(index) <= MOST:
                return
            if index.device.type != "cpu" or not isinstance(data, _C.TensorBase):
                return
            if before is not None:
                self.note(op.result, before.part(before.numbers[index]))
            elif _is_drawn(made := op.calls.made(index), index, len(data)):
                number = made.root.number if made is not None else op.calls.seen
                self.note(op.result, Rows(index.clone(), len(data), id(data), op.site, number))
        elif before is not None and isinstance(index, (int, slice)):
            at = index if isinstance(index, slice) else slice(index, index + 1 or None)
            self.note(op.result, before.part(before.numbers[at]))

    def _keep(self, op):
        rows = self.of(op.args[0]) if self._rows and op.args else None
        if rows is not None and op.result.dim() and len(op.result) == len(rows.numbers):
            self.note(op.result, rows)

    def _part(self, op):
        rows = self.of(op.args[0]) if self._rows and op.args else None
        start = 0
        for part in op.result if rows is not None else ():
            count = len(part) if op.name != "unbind" and part.dim() else 1
            self.note(part, rows.part(rows.numbers[start : start + count]))
            start += count


def _as_tensor(index):
    """An array or list of whole numbers as the tensor that it stands for."""
    whole = isinstance(index, list) and all(type(i) is int for i in index)
    if whole or getattr(index, "dtype", None) == "int64":
        return rushlight.as_tensor(index)
    return index


def _is_drawn(made, index, total: int) -> bool:
    """Whether an index is random: by the op behind it, or all rows in an order of its own."""
    if made is not None and made.root.name in DRAWN:
        return True
    if made is not None or len(index) != total:  # an array's order, as numpy shuffles it
        return False
    in_order = rushlight.arange(total)
    steps = (index[1:] - index[:-1]).abs()
    return bool((index.sort().values == in_order).all()) and int((steps != 1).sum()) > total // 2


def in_order(tensor, calls) -> Rows | None:
    """The rows of a tensor that nobody drew: a run of those of the table it is a view of."""
    if not isinstance(tensor, _C.TensorBase) or not tensor.dim() or tensor.device.type != "cpu":
        return None
    if len(tensor) < 2 or len(tensor) > MOST or tensor.layout != rushlight.strided:
        return None
    table = tensor._base if tensor._base is not None else tensor
    step = tensor.stride(0)
    if not table.dim() or step != table.stride(0) or step == 0:
        return None
    start = (tensor.storage_offset() - table.storage_offset()) // step
    made = calls.made(table)
    number = made.root.number if made is not None else 0
    return Rows(rushlight.arange(start, start + len(tensor)), len(table), id(table), None, number)
