"""What the batches of a loader are made of: one class at a time."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _C

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "batches-of-one-class",
    "Sorted data are read in order: each batch holds one class",
    """
Data that are stored class by class and read without shuffling give batches of a single class. Each
step then pulls the model towards that class, the next ones away from it, and batch norm sees
statistics that no mixed batch has. Pass shuffle=True to the DataLoader of the training data.
""",
)
LEAST_BATCHES = 4


@check
class OneClass(Check):
    kinds = ("batches-of-one-class",)
    needs: ClassVar = {"*": ("batch", LEAST_BATCHES, "fewer than 4 batches of a DataLoader")}

    def start(self, doctor):
        self.loaders, self.made, self.steps = {}, {}, 0
        doctor.watch.on("batch", self.batch)
        doctor.watch.on("stepped", self.stepped)
        doctor.watch.on("loader_made", self.loader_made)

    def loader_made(self, loader):
        self.made[id(loader)] = places.here()

    def stepped(self, optimizer):
        self.steps += 1

    def batch(self, loader, batch):
        parts = batch if isinstance(batch, (list, tuple)) else ()
        labels = [p for p in parts[1:] if isinstance(p, _C.TensorBase) and p.dim() == 1]
        if not labels or labels[-1].is_floating_point() or len(labels[-1]) < 4:
            return
        seen = self.loaders.setdefault(id(loader), [loader, 0, 0, set(), self.steps])
        seen[1] += 1
        first = labels[-1][0].item()
        seen[2] += bool((labels[-1] == first).all())
        seen[3].add(first)

    def findings(self, doctor):
        from rushlight.utils.data import SequentialSampler

        out = []
        for loader, count, alone, classes, before in self.loaders.values():
            ordered = isinstance(getattr(loader, "sampler", None), SequentialSampler)
            trains = self.steps - before >= count - 1
            sorted_ = alone >= 0.75 * count and count > len(classes) > 1
            if ordered and trains and sorted_ and count >= LEAST_BATCHES:
                out.append(self.finding(loader, count, alone, len(classes)))
        return [f for f in out if f is not None]

    def finding(self, loader, count, alone, classes):
        site = self.made.get(id(loader))
        call = places.call_at(site) if site is not None else None
        if call is None:
            return None
        text = changes.with_keyword(site.source, call, "shuffle", "True")
        return found(
            "batches-of-one-class", "wrong result", site,
            "the data are sorted by class and read in order",
            [f"{alone} of {count} training batches hold a single one of {classes} classes"], [],
            [Fix("shuffle=True", [site.source.replace((call, text))])],
        )  # fmt: skip
