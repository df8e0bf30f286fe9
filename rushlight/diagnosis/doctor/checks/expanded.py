"""Writing into a tensor whose values stand for several places."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _C

from ... import changes
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "expanded-written",
    "A value was written into an expanded tensor, and shows in several places",
    """
expand repeats values without copying: a dimension with stride 0 is one place in memory. Writing one
entry of such a tensor changes all entries that share it, and the tensor that was expanded. Some
in-place operations refuse, an assignment to a single entry does not. Take repeat, or expand with
clone().
""",
)


@check
class Expanded(Check):
    kinds = ("expanded-written",)
    needs: ClassVar = {"*": ("op expand expand_as broadcast_to", 1, "nothing was expanded")}

    def start(self, doctor):
        self.made, self.seen = {}, {}
        doctor.watch.on("op", self.op, ("expand", "expand_as", "broadcast_to", "__setitem__"))

    def op(self, op):
        if op.name != "__setitem__":
            return
        tensor, index = op.args[0], op.args[1]
        if not isinstance(tensor, _C.TensorBase) or not tensor.numel():
            return
        repeated = [d for d in range(tensor.dim()) if not tensor.stride(d) and tensor.shape[d] > 1]
        parts = index if isinstance(index, tuple) else (index,)
        single = [d for d in repeated if d < len(parts) and type(parts[d]) is int]
        if single and op.site not in self.seen:
            made = op.source
            known = made is not None and made.name in ("expand", "expand_as", "broadcast_to")
            times = tensor.shape[single[0]]
            self.seen[op.site] = (tuple(tensor.shape), times, made.site if known else None)

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()]

    def finding(self, site, shape, times, made):
        at, fixes = made or site, []
        call = places.call_at(at)
        if made is not None and called(call) in ("expand", "expand_as", "broadcast_to"):
            text = changes.method(at.source, call, "clone()")
            fixes.append(at.source.fix(call, text))
        return found(
            "expanded-written", "wrong result", at,
            f"one write into it shows in {times} places",
            [f"{shape}, of which {times} entries along one dimension are one place in memory"],
            [(site, "the write")] if made is not None else [], fixes,
        )  # fmt: skip
