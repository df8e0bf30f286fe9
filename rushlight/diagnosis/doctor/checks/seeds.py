"""Random streams: shifted by a validation pass, or copied into every worker."""

from __future__ import annotations

import ast
import random
from typing import ClassVar

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import first_of
from .. import places
from ..places import found

kind(
    "loader-shifts-random-stream",
    "Iterating a loader changed the random numbers of what follows",
    """
Each pass over a DataLoader draws a seed for its workers from the global generator, shuffled or not,
with workers or without. A validation pass in between therefore shifts all random numbers that come
after it: two runs with one seed, one of them with more validation, train differently. Give such a
loader a generator of its own: DataLoader(..., generator=torch.Generator().manual_seed(0)).
""",
)
kind(
    "generator-copied-to-workers",
    "A random generator kept by the dataset is copied into every worker",
    """
Workers are copies of the process. torch seeds its own, Python's and numpy's global state anew in
each of them, but not a generator that the dataset holds: every worker draws the same numbers from
its copy, and the next epoch, with new copies, draws them again. Make the generator in the worker,
seeded with torch.initial_seed(), which differs there.
""",
)

DRAWS = frozenset(
    "rand randn randint randperm normal uniform_ normal_ bernoulli multinomial rand_like "
    "randn_like dropout bernoulli_ randint_like random_ exponential_".split()
)


@check
class Streams(Check):
    kinds = ("loader-shifts-random-stream",)
    needs: ClassVar = {
        "*": ("loader", 2, "fewer than 2 passes over a DataLoader"),
    }

    def start(self, doctor):
        self.runs, self.made_at, self.passing = [], doctor.loaders.made_at, None
        watch = doctor.watch
        watch.on("seeded", self.seeded)
        watch.on("loader", self.loader)
        watch.on("op", self.op, DRAWS)

    def seeded(self, seed):
        if seed is not None and len(self.runs) < 100:
            self.runs.append((int(seed), places.here(), []))

    def loader(self, loader):
        site = places.here()
        self.passing = (site.code, site.line) if site is not None else None
        if self.runs and len(self.runs[-1][2]) < 5000 and loader.generator is None:
            self.runs[-1][2].append(("loader", self.made_at(loader), site))

    def op(self, op):
        if op.name in DRAWS and self.runs and len(self.runs[-1][2]) < 5000:
            if op.name == "dropout" and not op.argument(2, "train"):
                return
            if self.passing is not None and self.passing == (op.site.code, op.site.line):
                return  # the loader's own draw
            if op.kwargs.get("generator") is None:
                self.runs[-1][2].append(("draw", op.site, None))

    def findings(self, doctor):
        by_seed = {}
        for seed, site, events in self.runs:
            for other in by_seed.get(seed, ()):
                finding = self.compare(seed, other, (site, events))
                if finding is not None:
                    return [finding]
            by_seed.setdefault(seed, []).append((site, events))
        return []

    def compare(self, seed, a, b):
        """Two stretches after one seed that draw at the same places, but for loaders between."""
        draws = [[e[1] for e in events if e[0] == "draw"] for _, events in (a, b)]
        loaders = [[e[1:] for e in events if e[0] == "loader"] for _, events in (a, b)]
        if not draws[0] or draws[0] != draws[1] or len(loaders[0]) == len(loaders[1]):
            return None
        more = max(loaders, key=len)
        fewer = {made for made, _ in min(loaders, key=len)}
        made, used = next(((m, u) for m, u in more if m not in fewer), more[0])
        if made is None or not self.follows(max((a, b), key=lambda r: len(r[1]))[1]):
            return None
        evidence = [
            (
                f"seed {seed} was set {sum(r[0] == seed for r in self.runs)} times and drawn from "
                f"at the same places; {len(loaders[0])} and {len(loaders[1])} passes over loaders "
                "lay between, each of which drew a seed as well"
            )
        ]
        fixes, call = [], places.call_at(made)
        if call is not None and changes.keyword(call, "generator") is None:
            torch = changes.torch_name(made.source)
            text = made.source.segment(call)[:-1].rstrip().rstrip(",")
            new = f"{text}, generator={torch}.Generator().manual_seed(0))"
            fixes.append(made.source.fix(call, new, "a generator of its own"))
        return found(
            "loader-shifts-random-stream",
            "wrong number",
            made,
            "passes over this loader shift the random numbers of the rest",
            evidence,
            [(used, "the pass that draws"), (draws[0][-1], "a draw that is shifted")],
            fixes,
        )

    def follows(self, events) -> bool:
        """Whether a draw comes after a pass over a loader."""
        kinds = [e[0] for e in events]
        return "loader" in kinds and "draw" in kinds[kinds.index("loader") :]


@check
class Copies(Check):
    kinds = ("generator-copied-to-workers",)

    def start(self, doctor):
        self.seen, self.workers = {}, 0
        doctor.watch.on("loader", self.loader)

    def not_checked(self, doctor):
        return [] if self.workers else [(self.kinds[0], "no loader workers ran")]

    def loader(self, loader):
        self.workers = max(self.workers, loader.num_workers)
        if loader.num_workers < 2 or getattr(loader, "worker_init_fn", None) is not None:
            return
        dataset = loader.dataset
        for _ in range(4):
            for name, value in list(getattr(dataset, "__dict__", {}).items()):
                if _is_generator(value):
                    key = (type(dataset), name)
                    self.seen.setdefault(
                        key, (dataset, name, value, loader.num_workers, places.here())
                    )
            dataset = getattr(dataset, "dataset", None)
            if dataset is None:
                break

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values()]

    def finding(self, dataset, name, generator, workers, site):
        from .hidden import _attribute

        statement, source = _attribute(dataset, name)
        if statement is None:
            return None
        fixes = []
        owner = source.class_of(statement)
        reads = [
            n
            for n in ast.walk(owner if owner is not None else source.tree)
            if isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Load)
        ]
        if owner is not None and not reads:
            return None  # it is there, and nothing draws from it
        value, getitem = statement.value, self.getitem(source, statement)
        if isinstance(value, ast.Call) and getitem is not None:
            torch = changes.torch_name(source)
            again = self.seeded(source, value, generator, torch)
            known = torch in changes.imported(source)
            lines = f"if self.{name} is None:\n" + ("" if known else "    import torch\n")
            lines += f"    self.{name} = {again}"
            first = source.insert_before(first_of(getitem), lines)
            edits = [source.replace((value, "None")), first]
            fixes.append(Fix("made in each worker, from its own seed", edits))
        evidence = [f"{workers} workers each began with a copy of one {type(generator).__name__}"]
        return found(
            "generator-copied-to-workers",
            "wrong result",
            (source.file, statement.lineno),
            f"{type(dataset).__name__}.{name} gives all workers the same random numbers",
            evidence,
            [(site, "the loader that starts the workers")],
            fixes,
        )

    def seeded(self, source, call, generator, torch):
        func = source.segment(call.func)
        seed = f"{torch}.initial_seed()"
        if type(generator).__name__ == "RandomState":
            seed += " % 2**32"
        if type(generator).__module__.startswith("rushlight"):
            return f"{torch}.Generator().manual_seed({seed})"
        return f"{func}({seed})"

    def getitem(self, source, statement):
        owner = source.class_of(statement)
        for node in ast.walk(owner):
            if isinstance(node, ast.FunctionDef) and node.name in ("__getitem__", "__iter__"):
                return node
        return None


def _is_generator(value) -> bool:
    import rushlight as torch

    if isinstance(value, (random.Random, torch.Generator)):
        return True
    return type(value).__module__.startswith("numpy.random") and hasattr(value, "random")
