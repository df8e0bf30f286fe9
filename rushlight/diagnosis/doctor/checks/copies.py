"""Copies into row order that nothing after them needs."""

from __future__ import annotations

import weakref

from rushlight import _C

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "contiguous-for-nothing",
    "contiguous() copies what is only turned or read once afterwards",
    """
contiguous() of a transposed or permuted tensor copies all of its values into row order. view needs
that, and so does code that reads memory as it lies. Turning axes again, adding, multiplying,
activations and reductions read any strides: in front of one of them the copy is work for nothing.
Leave it out; or use reshape, which copies only where it must.
""",
)

LEAST_BYTES = 1 << 20
HEARD = 4000
# What reads any strides as well: it makes a view, or reads each value once.
READS_ANY = frozenset(
    "transpose permute t mT movedim swapaxes unsqueeze squeeze select narrow chunk split unbind "
    "add sub mul div __add__ __sub__ __mul__ rsub relu gelu tanh sigmoid softmax log_softmax exp "
    "sum mean amax amin max min square pow abs neg clone contiguous detach __getitem__ size "
    "float double to mse_loss l1_loss dropout".split()
)
LOOKING = frozenset("size dim is_contiguous numel stride __len__ shape requires_grad_".split())


@check
class Contiguous(Check):
    kinds = ("contiguous-for-nothing",)

    def start(self, doctor):
        self.sites, self.live, self.watch, self.heard = {}, {}, doctor.watch, 0
        doctor.watch.on("op", self.op, ("contiguous",))

    def op(self, op):
        given, result = op.args[0] if op.args else None, op.result
        if not isinstance(given, _C.TensorBase) or given.device.type != "cpu" or op.module:
            return
        if not given.numel() or given.data_ptr() == result.data_ptr():
            return
        entry = self.sites.setdefault(op.site, [0, 0, {}, tuple(given.shape), given.stride()])
        entry[0] += 1
        entry[1] += result.nbytes
        if self.heard < HEARD:
            if not self.live and not self.heard:
                self.watch.on("op", self.use)
            if len(self.live) > 100:
                self.live = {k: v for k, v in self.live.items() if v[0]() is not None}
            self.live[id(result)] = (weakref.ref(result), op.site, [0])

    def use(self, op):
        self.heard += 1
        if self.heard == HEARD:
            self.watch.off("op", self.use)
        if op.name in LOOKING:
            return
        for a in op.args:
            for t in a if isinstance(a, (list, tuple)) else (a,):
                known = self.live.get(id(t)) if isinstance(t, _C.TensorBase) else None
                if known is not None and known[0]() is t:
                    known[2][0] += 1
                    uses = self.sites[known[1]][2]
                    uses[op.name] = uses.get(op.name, 0) + (known[2][0] > 1) * 1000 + 1

    def findings(self, doctor):
        out = []
        for site, (count, total, uses, shape, strides) in self.sites.items():
            once = 0 < sum(uses.values()) <= count
            if total >= LEAST_BYTES and once and uses.keys() <= READS_ANY:
                out.append(self.finding(site, count, total, uses, shape, strides))
        return out

    def finding(self, site, count, total, uses, shape, strides):
        evidence = [
            (
                f"{count} copies of {shape}, strides {tuple(strides)}: {total / (1 << 20):,.1f} "
                f"MiB; read only by {', '.join(sorted(uses))}, which takes any strides"
            )
        ]
        inner, fixes = places.operand(site, 0), []
        if inner is not None and site.node is not None:
            text = site.source.segment(inner)
            fixes.append(site.source.fix(site.node, text, "without contiguous()"))
        return found(
            "contiguous-for-nothing", "time", site,
            "a copy into row order that nothing needs", evidence, [], fixes,
        )  # fmt: skip
