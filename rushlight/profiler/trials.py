"""Changes of a region that were measured: each in a copy of the process, in turn with no change.

A copy is made by fork where the region begins, and waits there until the program has ended. So it
has the parameters, the optimizer's and the random state of that moment, the program is not held
up, and nothing has to be put back. In a copy nothing is printed, and files are not written, nothing
is sent and no other program started outside of temporary folders.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
import textwrap
import time
import warnings
from dataclasses import dataclass
from multiprocessing import Pipe

import rushlight as torch
from rushlight import _C
from rushlight._ranges import recordings
from rushlight.bench import Comparison, alternate, output_difference
from rushlight.diagnosis.trial import restrict

from . import regions
from .changes import Change, changes, lines_text

_RUNS, _SECONDS = 20, 8.0
_BATCHES = 16  # that a run with a loader takes
_LONGEST = 60.0  # seconds to wait for one answer of a copy
_MOST_VALUES = 1 << 22  # of outputs, to be compared


@dataclass
class Trial:
    """One change, measured or not."""

    name: str
    lines: tuple
    comparison: Comparison | None = None
    why_not: str = ""
    keep: str = ""

    def as_dict(self) -> dict:
        """As JSON knows it."""
        measured = self.comparison.as_dict() if self.comparison is not None else None
        return {
            "change": self.name,
            "lines": list(self.lines),
            "measured": measured,
            "said": self.text() if measured else "",
            "outputs": self.comparison.output_text() if measured else "",
            "not_tried": self.why_not or None,
        }

    def text(self) -> str:
        """``bfloat16 autocast, lines 24-25: 76.0 -> 41.1 ms, 1.85x (1.79 to 1.91)``."""
        c = self.comparison
        told = c.as_dict()
        where = lines_text(self.lines)
        head = f"{self.name}, {where}" if where else self.name
        times = " -> ".join(_milliseconds(told[k]) for k in ("before", "after")) + " ms"
        keep = f". {self.keep}" if self.keep and c.differ and c.ratio < 1 else ""
        return f"{head}: {times}, {c.speed_text()}{keep}"


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


class _Copy:
    """A copy of the process, in which one change is made and the region is run when asked to."""

    def __init__(self, region, change: Change):
        self.change = change
        self._pipe, theirs = Pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about forks of processes with threads
            sys.stdout.flush()
            sys.stderr.flush()
            self.process = os.fork()
        if self.process == 0:
            self._pipe.close()
            _serve(theirs, parent, region, change)  # does not return
        theirs.close()

    def ask(self, question: str):
        """Its answer; RuntimeError with what went wrong there."""
        try:
            self._pipe.send(question)
            if not self._pipe.poll(_LONGEST):
                raise RuntimeError(f"took longer than {_LONGEST:g} s")
            good, answer = self._pipe.recv()
        except (EOFError, OSError):
            raise RuntimeError("the copy of the process ended") from None
        if not good:
            raise RuntimeError(answer)
        return answer

    def close(self) -> None:
        """Ends the process."""
        import signal

        self._pipe.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


def _serve(pipe, parent: int, region, change: Change) -> None:
    """The life of a copy; does not return."""
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        for recorder in list(recordings):
            recorder.stop()
        recordings.clear()
        regions.listeners.clear()
        tempfile.tempdir = "/dev/shm"  # what is written to /tmp may be the program's own
        sys.dont_write_bytecode = True  # of a module that is first imported here
        restrict()
        runner = _Runner(region, change)
        while True:
            while not pipe.poll(2.0):  # other copies hold the pipe's far end, too
                if os.getppid() != parent:
                    return
            question = pipe.recv()
            try:
                pipe.send((True, getattr(runner, question)()))
            except BaseException as error:
                text = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
                pipe.send((False, text[:300]))
    finally:
        os._exit(0)


class _Runner:
    """Answers within a copy."""

    def __init__(self, region, change: Change):
        self.region, self.change = region, change
        self._wrapper = contextlib.nullcontext

    def prepare(self) -> None:
        self._wrapper = self.change.apply(self.region)

    def outputs(self) -> bytes:
        """What the region makes, as far as it is compared."""
        made = self._run()
        room, kept = _MOST_VALUES, {}
        for name, value in made.items():
            flat = []
            for leaf in torch.utils._pytree.tree_leaves(value):
                if isinstance(leaf, float):
                    flat.append(leaf)
                elif isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and room > 0:
                    part = leaf.detach().flatten()[:room].float().clone()
                    room -= part.numel()
                    flat.append(part)
            if flat:
                kept[name] = flat
        return pickle.dumps(kept)

    def seconds(self) -> float:
        if self.change.loads:
            return self._seconds_a_batch()
        begin = time.perf_counter()
        self._run()
        return time.perf_counter() - begin

    def _run(self) -> dict:
        return self.region.run(self._wrapper)

    def _seconds_a_batch(self) -> float:
        """Of a stretch in the middle: what workers make ahead of it is taken out first, and none
        of them works while the other copy has its turn."""
        ahead, done, began = 2 * self.change.count + 1, 0, time.perf_counter()
        for number, batch in enumerate(self.region.loader):
            self.region.run(self._wrapper, batch)
            if number + 1 == ahead:
                began, done = time.perf_counter(), 0
            else:
                done += 1
            if done == _BATCHES:
                break
        if not done:
            raise RuntimeError("the DataLoader has too few batches")
        return (time.perf_counter() - began) / done


class Trials:
    """Watches a program for a region, then measures changes of it.

    The region is the first that ``rushlight.profiler.region()`` marks; without one, a turn of the
    loop around the first optimizer step; without that, the outermost module's first call.
    """

    def __init__(self):
        self.region = None
        self.what = ""
        self._marked = False
        self._copies: dict[str, _Copy] = {}
        self._refused: list[Trial] = []
        self._call = None
        self._outputs: dict | None = None
        self._loaders: dict[tuple, object] = {}  # by the place that goes through them
        self._hooks: list = []

    # ---- While the program runs

    def install(self) -> None:
        """Begins to watch."""
        from rushlight.nn.modules.module import register_module_forward_pre_hook
        from rushlight.optim.optimizer import register_optimizer_step_post_hook
        from rushlight.utils.data import DataLoader

        regions.listeners.append(self._on_region)
        self._iterate = DataLoader.__iter__
        DataLoader.__iter__ = self._noting_loaders(self._iterate)
        self._hooks = [
            register_optimizer_step_post_hook(self._stepped),
            register_module_forward_pre_hook(self._called),
        ]

    def remove(self) -> None:
        """Ends watching."""
        from rushlight.utils.data import DataLoader

        DataLoader.__iter__ = self._iterate
        if self._on_region in regions.listeners:
            regions.listeners.remove(self._on_region)
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _noting_loaders(self, iterate):
        def __iter__(loader):
            place = _C._here()
            if place is not None:
                self._loaders[place[0], place[2]] = loader
            return iterate(loader)

        return __iter__

    def _on_region(self, region) -> None:
        if not self._marked:
            self._marked = True
            self._begin(region, "the marked region")

    def _stepped(self, *_) -> None:
        self._hooks[0].remove()
        found = regions.turn_around(sys._getframe(1))
        if found is not None and not self._marked:
            regions.at_next_turn(*found, self._on_turn)

    def _on_turn(self, block) -> None:
        if not self._marked:
            block.steps = True
            if block.loop is not None:
                block.loader = self._loaders.get((block.file, block.loop.iter.lineno))
            self._begin(block, "one optimizer step")

    def _called(self, module, args) -> None:
        from rushlight.nn.modules.module import register_module_forward_hook

        self._hooks[1].remove()
        self._call = regions.Call(module, args, {})
        # Only a hook behind the call is told of its arguments by name.
        self._hooks.append(register_module_forward_hook(self._returned, with_kwargs=True))

    def _returned(self, module, args, kwargs, output) -> None:
        if module is self._call.function:
            self._hooks[2].remove()
            self._call.kwargs = kwargs

    def _begin(self, region, what: str) -> None:
        self.close()
        self.region, self.what = region, what
        self._refused = []
        if region.problem:
            return
        self._copy(region, Change())
        for change in changes():
            why = change.refused(region)
            if why:
                self._refused.append(Trial(change.name, region.lines, why_not=why))
                continue
            if change.loads:
                loading = type(change)(0)
                self._copies["loading"] = _Copy(region, loading)
            self._copy(region, change)

    def _copy(self, region, change: Change) -> None:
        self._copies[change.name] = _Copy(region, change)

    # ---- When it has ended

    def measure(self) -> list[Trial]:
        """Measures all changes; those that do not apply say why."""
        if self.region is None and self._call is not None:
            self._begin(self._call, "the outermost module's call")
        if self.region is None or self.region.problem:
            return []
        try:
            return [self._measure(c) for c in self._candidates()] + self._refused
        finally:
            self.close()

    def _candidates(self) -> list[_Copy]:
        return [c for name, c in self._copies.items() if name not in (Change.name, "loading")]

    def _measure(self, copy: _Copy) -> Trial:
        change = copy.change
        trial = Trial(change.name, change.lines(self.region), keep=change.keep())
        before = self._copies["loading" if change.loads else Change.name]
        try:
            for each in (before, copy):
                each.ask("prepare")
            difference = largest = None
            if not change.loads:
                if self._outputs is None:  # of its first run: all copies begin with the same state
                    self._outputs = pickle.loads(before.ask("outputs"))
                made = pickle.loads(copy.ask("outputs"))
                difference, largest, _ = output_difference(self._outputs, made)
            ask = [lambda c=c: c.ask("seconds") for c in (before, copy)]
            first, second = alternate(*ask, runs=_RUNS, seconds=_SECONDS)
        except RuntimeError as error:
            trial.why_not = f"it could not be run again: {error}"
            return trial
        allowed = None if largest is None else change.part * largest
        names = ("as it is", change.name)
        trial.comparison = Comparison(first, second, names, difference, largest, allowed)
        return trial

    def close(self) -> None:
        """Ends all copies."""
        for copy in self._copies.values():
            copy.close()
        self._copies = {}


def as_text(trials: Trials, found: list[Trial]) -> list[str]:
    """The lines of a report."""
    if trials.region is None:
        return ["Nothing was tried: no optimizer step, no module's call, no marked region."]
    if trials.region.problem:
        return [f"Nothing was tried: {trials.what} {trials.region.problem}."]
    measured = [t for t in found if t.comparison is not None]
    helped = [t for t in measured if _helps(t.comparison)]
    out = [] if helped or not measured else ["None of what was tried helps."]
    for number, trial in enumerate(helped, 1):
        out.append(("Try: " if number == 1 else "     ") + f"{number}. {trial.text()}")
        out += _how(trial.comparison)
    for trial in measured:
        if trial not in helped:
            out += [f"Tried in vain: {trial.text()}", *_how(trial.comparison)]
    refused = [f"{t.name} ({t.why_not})" for t in found if t.comparison is None]
    if refused:
        out.append("Not tried: " + ", ".join(refused))
    where = lines_text(trials.region.lines)
    out = [part for line in out for part in _wrapped(line)]
    return [f"Tried on {trials.what}{', ' + where if where else ''}.", *out]


def _helps(c: Comparison) -> bool:
    """Whether a change is quicker beyond doubt, with the same outputs."""
    return c.differ and c.ratio > 1 and c.agree is not False


def _how(c: Comparison) -> list[str]:
    lines = [f"        {c.runs} runs each, alternating; {c.output_text()}"]
    if c.noisy:
        lines.append("        The machine is too noisy to tell small differences.")
    return lines


def _wrapped(line: str) -> list[str]:
    more = " " * (8 if line.startswith(("Try:", "Tried in", "     ")) else 0)
    return textwrap.wrap(line, 80, subsequent_indent=more, break_on_hyphens=False)
