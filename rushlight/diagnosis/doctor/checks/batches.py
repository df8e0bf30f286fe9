"""What the batches of a loader are made of: one class at a time, now one dtype, now another."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from rushlight import _C

from ... import changes, trial, upstream
from ...registry import Check, check, kind
from .. import places
from ..loaders import Recent
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
        self.loaders, self.made_at, self.last = Recent(), doctor.loaders.made_at, None
        doctor.watch.on("batch", self.batch)
        doctor.watch.on("stepped", self.stepped)

    def stepped(self, optimizer):
        """A step right behind a batch: the loader's batches are trained with."""
        if self.last is not None:
            self.last[4] += 1
        self.last = None

    def batch(self, loader, batch):
        self.last = None
        parts = batch if isinstance(batch, (list, tuple)) else ()
        labels = [p for p in parts[1:] if isinstance(p, _C.TensorBase) and p.dim() == 1]
        if not labels or labels[-1].is_floating_point() or len(labels[-1]) < 4:
            return
        seen = self.last = self.loaders.entry(id(loader), lambda: [loader, 0, 0, set(), 0])
        seen[1] += 1
        first = labels[-1][0].item()
        seen[2] += bool((labels[-1] == first).all())
        seen[3].add(first)

    def findings(self, doctor):
        from rushlight.utils.data import SequentialSampler

        out = []
        for loader, count, alone, classes, steps in self.loaders.values():
            ordered = isinstance(getattr(loader, "sampler", None), SequentialSampler)
            trains = steps >= count - 1
            sorted_ = alone >= 0.75 * count and count > len(classes) > 1
            if ordered and trains and sorted_ and count >= LEAST_BATCHES:
                out.append(self.finding(loader, count, alone, len(classes)))
        return out

    def finding(self, loader, count, alone, classes):
        site = self.made_at(loader)
        call = places.call_at(site) if site is not None else None
        if call is None:
            return None
        text = changes.with_keyword(site.source, call, "shuffle", "True")
        return found(
            "batches-of-one-class", "wrong result", site,
            "the data are sorted by class and read in order",
            [f"{alone} of {count} training batches hold a single one of {classes} classes"], [],
            [site.source.fix(call, text, "shuffle=True")],
        )  # fmt: skip


kind(
    "batch-dtype-varies",
    "One field of the batches has now one dtype, now another",
    """
default_collate takes a batch's dtype from its samples: Python floats become float64, ints int64, a
mixture what comes first. Where a dataset returns 3 for one sample and 4.5 for another, or a numpy
array here and a tensor there, the dtype changes from batch to batch, and the model or the loss
fails, or rounds, only now and then. Return one type: float(value), or a tensor of a given dtype.
""",
)


@check
class Varying(Check):
    kinds = ("batch-dtype-varies",)
    needs: ClassVar = {"*": ("batch", 2, "fewer than 2 batches of a DataLoader")}

    def start(self, doctor):
        self.loaders = Recent()
        doctor.watch.on("batch", self.batch)

    def batch(self, loader, batch):
        entry = self.loaders.entry(id(loader), lambda: (loader, Counter()))
        for key, part in places.parts_of(batch).items():
            if isinstance(part, _C.TensorBase):
                entry[1][key, part.dtype] += 1

    def findings(self, doctor):
        out = []
        for loader, counts in self.loaders.values():
            for key in dict.fromkeys(k for k, _ in counts):
                dtypes = {d: n for (k, d), n in counts.items() if k == key}
                if len(dtypes) > 1 and loader.num_workers == 0:
                    out.append(self.finding(loader, key, dtypes))
        return [f for f in out if f is not None][:1]

    def finding(self, loader, key, dtypes):
        said = " and ".join(f"{n} of {str(d).removeprefix('torch.')}" for d, n in dtypes.items())
        where = "" if key is None else f" field {key!r}"
        place, fixes = _odd_sample(loader.dataset, key)
        if place is None:
            return None
        return found(
            "batch-dtype-varies", "wrong number", place,
            f"the batches'{where} dtype changes from batch to batch",
            [f"{said} among {sum(dtypes.values())} batches"], [], fixes,
        )  # fmt: skip


def _odd_sample(dataset, key):
    """(where the samples of the rarer type come from, fixes): a tensor's origin, or the return."""
    kind, origin, other = trial.apart(lambda: _rarer(dataset, key)) or (None, None, None)
    if kind == "tensor":
        spot = upstream.of_place(origin)
        if spot is None:
            return None, []
        word = {"torch.float32": "float()", "torch.int64": "long()"}.get(other)
        fixes = [spot.fix(changes.method(spot.source, spot.node, word))] if word else []
        return spot.place, fixes
    return _returned(dataset, key) if kind == "other" else (None, [])


def _rarer(dataset, key) -> tuple | None:
    """Of the samples' rarer type: whether it is a tensor's, its first's origin, the other dtype."""
    kept: dict = {}
    for i in range(min(len(dataset), 200)):
        value = dataset[i] if key is None else dataset[i][key]
        dtype = value.dtype if isinstance(value, _C.TensorBase) else type(value)
        kept.setdefault(dtype, []).append(value)
    if len(kept) < 2:
        return None
    rare = min(kept.values(), key=len)[0]
    if not isinstance(rare, _C.TensorBase):
        return ("other", None, None) if rare is not None else None
    return "tensor", _C._origin(rare), str(next(d for d in kept if d != rare.dtype))


def _returned(dataset, key):
    """What __getitem__ returns first, with its number as a float."""
    for spot in upstream.returned(type(dataset).__getitem__):
        part = spot.node
        if isinstance(part, ast.Tuple) and isinstance(key, int):
            part = part.elts[key]
        elif isinstance(part, ast.Dict):
            part = next((v for k, v in zip(part.keys, part.values, strict=True)
                         if getattr(k, "value", None) == key), None)  # fmt: skip
        elif key is not None:
            part = None
        if part is None:
            return spot.place, []
        text = f"float({spot.source.segment(part)})"
        return spot.place, [spot.source.fix(part, text)]
    return None, []
