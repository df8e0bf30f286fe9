"""A loader that nobody reads, beside an evaluation on the training data."""

from __future__ import annotations

import ast
from typing import ClassVar

import rushlight
from rushlight import _C
from rushlight.utils.data import DataLoader

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "loader-never-read",
    "A DataLoader is made and never read, and the evaluation runs on the training data",
    """
A loader of held-out data was made, and the loop that evaluates goes over the training loader: the
numbers say how well the model knows what it was trained on. Go over the other loader.
""",
)


@check
class Unread(Check):
    kinds = ("loader-never-read",)
    needs: ClassVar = {"*": ("loader_made", 2, "fewer than 2 DataLoaders were made")}

    def start(self, doctor):
        self.made, self.passes, self.last = {}, {}, None
        self.names = {}  # by the place of an evaluation: what loaders are called there
        watch = doctor.watch
        watch.on("loader_made", self.loader_made)
        watch.on("loader", self.loader, always=True)
        watch.on("step", self.step)

    def loader_made(self, loader):
        if len(self.made) < 3:  # of more there is nothing to be said
            self.made[id(loader)] = (loader, places.here())

    def loader(self, loader):
        """A pass begins: with gradients or without, and where."""
        entry = self.passes.setdefault(id(loader), {"trained": 0, "evaluated": {}})
        if rushlight.is_grad_enabled():
            self.last = entry
        else:
            site = places.here()
            if site not in self.names:
                self.names[site] = _loaders_in(places.user_frames(2)[0])
            entry["evaluated"][site] = entry["evaluated"].get(site, 0) + 1

    def step(self, optimizer):
        if self.last is not None:
            self.last["trained"] += 1

    def findings(self, doctor):
        unread = [
            (loader, site)
            for key, (loader, site) in self.made.items()
            if key not in self.passes and site is not None and _name(site)
        ]
        read = [e for e in self.passes.values() if e["trained"] and e["evaluated"]]
        if len(unread) != 1 or len(read) != 1 or len(self.passes) != 1:
            return []
        (loader, made), (site, count) = unread[0], next(iter(read[0]["evaluated"].items()))
        return [self.finding(loader, made, site, count)] if site is not None else []

    def finding(self, loader, made, site, count):
        loops = [n for n in ast.walk(site.source.tree) if isinstance(n, ast.For)]
        loop = next((n for n in loops if n.lineno == site.line), None)
        name, fixes = _name(made), []
        here = self.names[site].get(id(loader))
        walked = loop.iter if loop is not None else None
        if here is not None and isinstance(walked, (ast.Name, ast.Attribute)):
            fixes.append(site.source.fix(walked, here))
        over = "without gradients went over the loader that is trained with"
        return found(
            "loader-never-read", "wrong number", site,
            f"the evaluation goes over the training data, nothing goes over {name}",
            [f"{name} ({len(loader.dataset)} samples) was read 0 times; {count} passes {over}"],
            [(made, "the loader that nobody reads")], fixes,
        )  # fmt: skip


def _loaders_in(frame) -> dict[int, str]:
    """The loaders that names of a frame stand for, and attributes of its self."""
    found = {}
    held = _C._locals(frame)
    rooms = [("", frame.f_globals), ("", held)]
    if "self" in held:
        rooms.append(("self.", getattr(held["self"], "__dict__", {})))
    for before, room in rooms:
        for name, value in list(room.items()):
            if isinstance(value, DataLoader):
                found[id(value)] = f"{before}{name}"
    return found


def _name(site) -> str:
    """The plain name that a loader was bound to, or nothing."""
    statement = site.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    alone = isinstance(target, ast.Name) and statement.value is places.call_at(site)
    return target.id if alone else ""
