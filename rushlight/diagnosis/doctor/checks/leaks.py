"""Answers that stand among the inputs."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _C

from ... import upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ...values import address_of
from ..calls import site_of
from ..passes import LOSSES
from ..places import found

kind(
    "target-among-inputs",
    "The target of the loss is one of the input's columns",
    """
Where a column of the input holds the answer itself, the model learns to copy it: the loss falls at
once, the validation looks perfect, and on new data, whose answer is not known, nothing is left. A
label that was not taken out of the table is such a column, and a window that ends one step too
late.
""",
)

DRAWN = frozenset("randn rand normal randn_like rand_like randint normal_ uniform_".split())
LOOKS = 8  # at one loss
LEAST_LOOKS = 3
LEAST_ROWS = 8
MOST = 1 << 20  # values of a batch


@check
class Leaks(Check):
    kinds = ("target-among-inputs",)
    needs: ClassVar = {"*": ("step", 1, "no optimizer stepped")}

    def start(self, doctor):
        self.watch, self.passes = doctor.watch, doctor.passes
        self.given, self.seen, self.dataset = {}, {}, None
        doctor.watch.on("step", lambda optimizer: None)
        doctor.watch.on("call", self.call)
        doctor.watch.on("batch", self.batch)
        doctor.watch.on("op", self.loss, LOSSES | {"sub"})

    def batch(self, loader, batch):
        self.dataset = loader.dataset

    def call(self, module, output, frame):
        """Keeps what was given to a model whose result is to be compared."""
        x = next((a for a in self.passes.arguments if isinstance(a, _C.TensorBase)), None)
        if x is None or not isinstance(output, _C.TensorBase) or self.watch.calls is None:
            return
        made = self.watch.calls.made(output)
        if made is not None and x.dim() == 2 and x.is_floating_point() and not x.requires_grad:
            self.given = {id(made): (made, x, site_of(frame)), **dict([*self.given.items()][:3])}

    def loss(self, op):
        if not self.given or len(op.args) < 2 or op.source is None:
            return
        made, target = self.watch.calls.made(op.args[0]), op.args[1]
        known = self.given.get(id(made)) or self.given.get(id(made.root))
        if known is None or not isinstance(target, _C.TensorBase) or target.requires_grad:
            return
        _, x, call = known
        entry = self.seen.setdefault(op.site, [0, 0, 0, None, call, None])
        usable = target.numel() == len(x) >= LEAST_ROWS and x.numel() <= MOST
        if entry[0] >= LOOKS or not usable or x.device.type != "cpu":
            return
        answers = target.detach().reshape(-1, 1).to(x.dtype)
        if bool((answers == answers[0]).all()) or self.is_drawn(x):
            return
        same = (x == answers).all(0).nonzero().flatten().tolist()
        entry[3] = same if entry[3] is None else [c for c in entry[3] if c in same]
        entry[0] += 1
        entry[1] += len(x)
        entry[2] = x.shape[1]
        if entry[5] is None:
            entry[5] = self.place(x, target, call, op.site)

    def is_drawn(self, x) -> bool:
        """Whether the inputs are random numbers: one of them is the answer of an exercise."""
        tables = [x, x._base, *getattr(self.dataset, "tensors", ())[:1]]
        made = [self.watch.calls.made(t) for t in tables if t is not None]
        return any(m is not None and m.root.name in DRAWN for m in made)

    def place(self, x, target, call, loss):
        """The line to look at: the model's call where the target is a part of what it is given."""
        table = x._base if x._base is not None else x
        held = target._base if target._base is not None else target
        if address_of(table) == address_of(held):
            return call
        spot = upstream.of_tensor(held)
        if spot is not None and self.dataset is None:
            return spot.place
        known = upstream.class_source(type(self.dataset)) if self.dataset is not None else None
        item = next((f for f in known[1].body if getattr(f, "name", "") == "__getitem__"), None) \
            if known is not None else None  # fmt: skip
        return (known[0].file, item.body[-1].lineno) if item is not None else loss

    def findings(self, doctor):
        return [
            self.finding(site, *one)
            for site, one in self.seen.items()
            if one[3] and one[0] >= LEAST_LOOKS
        ]

    def finding(self, site, looks, rows, width, columns, call, place):
        column = columns[0]
        evidence = [
            (
                f"column {column} of the {width} that the model is given equals the target in "
                f"{rows:,} of {rows:,} rows ({looks} batches looked at)"
            )
        ]
        return found(
            "target-among-inputs", "wrong result", place or site,
            "the target stands among the inputs", evidence,
            [(call, "the model is given it"), (site, "the loss compares with it")],
            [Fix(f"leave column {column} out of the input")],
        )  # fmt: skip
