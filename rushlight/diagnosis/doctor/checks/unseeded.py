"""A seed is set, and another random stream goes on without one."""

from __future__ import annotations

import ast
import contextlib
import os
import random
import sys
from typing import ClassVar

from ... import changes, upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..calls import frame_here, site_of
from ..places import found
from .seeds import DRAWS

kind(
    "seed-incomplete",
    "One random stream is seeded, and the program draws from another one",
    """
torch, numpy and Python's random each have a stream of their own: seeding one leaves the others as
they are, and two runs with the same seed differ. Seed all that the program draws from, or draw
from one only. numpy.random.default_rng() without a number takes a seed from the system each time.
""",
)

DRAWING = {
    "numpy": frozenset(
        "rand randn randint random random_sample choice shuffle permutation normal uniform "
        "standard_normal binomial poisson beta exponential multivariate_normal".split()
    ),
    "random": frozenset(
        "random randint randrange choice choices shuffle sample uniform gauss normalvariate "
        "betavariate expovariate".split()
    ),
}


@check
class Unseeded(Check):
    kinds = ("seed-incomplete",)
    needs: ClassVar = {
        "*": ("seeded", 1, "no seed was set"),
    }

    def start(self, doctor):
        self.seeded: dict[str, object] = {}
        self.draw, self.undo = None, []
        self.states = {"random": random.getstate()}
        self.generators = {}
        doctor.watch.on("seeded", lambda seed: self.seed("torch"))
        doctor.watch.on("op", self.op, DRAWS - {"dropout"})
        self.wrap(random, "seed", "random")
        if "numpy" in sys.modules or _mentions_numpy(doctor.command):
            with contextlib.suppress(ImportError):
                import numpy

                self.numpy(numpy)

    def numpy(self, numpy):
        self.states["numpy"] = numpy.random.get_state()[1].copy(), numpy.random.get_state()[2]
        self.wrap(numpy.random, "seed", "numpy")
        make = numpy.random.default_rng

        def default_rng(seed=None, *args):
            if seed is None and not args:
                site = site_of(frame_here(2))
                if site is not None:
                    self.generators[site] = self.generators.get(site, 0) + 1
            return make(seed, *args)

        numpy.random.default_rng = default_rng
        self.undo.append(lambda: setattr(numpy.random, "default_rng", make))

    def wrap(self, room, name, stream):
        original = getattr(room, name)

        def seed(*args, **kwargs):
            if (args and args[0] is not None) or kwargs:
                self.seed(stream)
            return original(*args, **kwargs)

        setattr(room, name, seed)
        self.undo.append(lambda: setattr(room, name, original))

    def seed(self, stream):
        site = site_of(frame_here(2))
        if site is not None:
            self.seeded.setdefault(stream, site)

    def op(self, op):
        own = op.kwargs.get("generator") is not None
        if self.draw is None and not own and "torch" not in self.seeded:
            self.draw = op.site

    def stop(self, doctor):
        self.moved = set()
        if random.getstate() != self.states["random"]:
            self.moved.add("random")
        numpy = sys.modules.get("numpy")
        before = self.states.get("numpy")
        if before is not None:
            now = numpy.random.get_state()
            if now[2] != before[1] or not (now[1] == before[0]).all():
                self.moved.add("numpy")
        for undo in self.undo:
            undo()

    def findings(self, doctor):
        if not self.seeded:
            return []
        out = []
        for stream in ("numpy", "random"):
            if stream in self.moved and stream not in self.seeded:
                out.append(self.finding(stream, self.drawn(stream)))
        for site in self.generators:
            out.append(self.generator(site))
        if self.draw is not None and "torch" not in self.seeded:
            out.append(self.finding("torch", self.draw))
        return out

    def drawn(self, stream: str):
        """Where the user's source draws from a stream: (file, line), or None."""
        for source in upstream.program_sources():
            names = _names_of(source, stream)
            for node in ast.walk(source.tree):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                if node.func.attr in DRAWING[stream] and ast.unparse(node.func.value) in names:
                    return source.file, node.lineno
        return None

    def finding(self, stream: str, drawn):
        if drawn is None and stream != "torch":
            return None  # a library drew; whose seed that would be is not known
        other = "torch" if "torch" in self.seeded else next(iter(self.seeded))
        site = self.seeded[other]
        fixes = []
        if site.statement is not None:
            call = places.call_at(site)
            number = site.source.segment(call.args[0]) if call is not None and call.args else "0"
            text, imports = _seeding(site.source, stream, number)
            edit = site.source.insert_after(site.statement, "\n".join([*imports, text]))
            fixes.append(Fix(text, [edit]))
        place = places.place(drawn)
        evidence = [
            (
                f"{other} is seeded here; line {place[1]} draws from {_called(stream)}, which "
                "nothing seeded: each of two runs draws other numbers"
            )
        ]
        return found(
            "seed-incomplete", "note", site, f"{_called(stream)} is not seeded", evidence,
            [(drawn, "a draw without a seed")], fixes,
        )  # fmt: skip

    def generator(self, site):
        call, fixes = places.call_at(site), []
        if call is not None and not call.args:
            text = f"{site.source.segment(call.func)}(0)"
            fixes.append(site.source.fix(call, text))
        seeded = next(iter(self.seeded.values()))
        count = self.generators[site]
        evidence = [f"default_rng() was given no number, {count} of {count} times"]
        return found(
            "seed-incomplete", "note", site, "this generator is not seeded", evidence,
            [(seeded, "a seed is set here")], fixes,
        )  # fmt: skip


def _mentions_numpy(command: list[str]) -> bool:
    """Whether a script, or a file beside it, says numpy: it must be known before they seed it."""
    folder = os.path.dirname(os.path.abspath(command[0])) if command else ""
    try:
        files = [f for f in os.listdir(folder) if f.endswith(".py")][:50]
    except OSError:
        return False
    for file in files:
        with contextlib.suppress(OSError), open(os.path.join(folder, file), "rb") as opened:
            if b"numpy" in opened.read(1 << 20):
                return True
    return False


def _called(stream: str) -> str:
    return {"random": "Python's random"}.get(stream, stream)


def _names_of(source: Source, stream: str) -> set[str]:
    """How a file calls a stream's module: ``np.random``, ``random``."""
    found_ = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name
                if stream == "random" and alias.name == "random":
                    found_.add(name)
                if stream == "numpy" and alias.name == "numpy":
                    found_.add(f"{name}.random")
                if stream == "numpy" and alias.name == "numpy.random":
                    found_.add(name)
        if isinstance(node, ast.ImportFrom) and node.module == "numpy" and stream == "numpy":
            found_ |= {a.asname or a.name for a in node.names if a.name == "random"}
    return found_


def _seeding(source: Source, stream: str, number: str) -> tuple[str, list[str]]:
    """The call that seeds a stream in a file, and the import it needs."""
    if stream == "torch":
        torch = changes.torch_name(source)
        return f"{torch}.manual_seed({number})", []
    names = sorted(_names_of(source, stream))
    if names:
        return f"{names[0]}.seed({number})", []
    module = {"numpy": "numpy.random", "random": "random"}[stream]
    return f"{module}.seed({number})", [f"import {module}"]
