"""The doctor: runs a program unchanged, watches it, and says what is wrong with it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import threading
from collections import Counter
from time import perf_counter

from .. import changes, notes, registry, trial
from ..finding import SEVERITIES, Edit, Finding, line_of, plain
from ..frames import message_of
from . import loaders, passes, watch


class Doctor:
    """One run of one program.

    ``command`` is the target and its arguments as given; ``error`` the exception that ended it.
    ``watch`` tells checks what the program does, ``passes`` which forward passes a backward used,
    ``loaders`` where those of the program were made; ``trials`` whether fixes may be tried by
    running the script again.
    """

    def __init__(self, command: list[str], trials: bool = True, ignored: frozenset = frozenset()):
        self.command = command
        self.trials = trials
        self.ignored = ignored
        self.error: BaseException | None = None
        self.of_threads: list[BaseException] = []  # those that ended threads
        self.status = 0
        self.stderr = sys.stderr  # the program may put another in its place
        self.failed: dict[int, object] = {}  # checks that are not to be relied on
        self.watch = watch.Watch()
        self.passes = passes.Passes(self.watch)
        self.loaders = loaders.Loaders(self.watch)
        self.seconds = 0.0
        self.silenced = 0
        load_checks()
        self.checks = [cls() for cls in registry.CHECKS]

    def run(self, program) -> int:
        """Runs ``program()``, which gives (exit status, error), under watch; returns the status."""
        self._each("start")
        self.watch.start()
        before = threading.excepthook

        def ended(args, /):
            self.of_threads.append(args.exc_value)
            getattr(before, "without_note", before)(args)  # the report explains it

        threading.excepthook = ended
        began = perf_counter()
        try:
            self.status, self.error = program()
        finally:
            self.seconds = perf_counter() - began
            if threading.excepthook is ended:  # the program may have put its own
                threading.excepthook = before
            self.watch.stop()
            self.failed.update(self.watch.unreliable)
            self._each("stop")
        return self.status

    def _each(self, what: str) -> list:
        """What a method of each check returns; one that fails hurts neither program nor others."""
        out: list = []
        for check in self.checks:
            if what == "findings" and id(check) in self.failed:
                continue
            out += self._guarded(check, what, getattr(check, what), self) or ()
        return out

    def _guarded(self, owner, what: str, work, *args):
        """``work(*args)``; where it fails None, and one line says so, the first time."""
        try:
            return work(*args)
        except Exception as error:
            if os.environ.get("RUSHLIGHT_DOCTOR_DEBUG"):
                raise
            if id(owner) not in self.failed and self.stderr is not None:
                said = plain(f"doctor: {type(owner).__name__}.{what} failed: {error!r}")
                with contextlib.suppress(OSError, ValueError):  # it closed it
                    print(said, file=self.stderr)
            self.failed[id(owner)] = owner
            return None

    def findings(self) -> list[Finding]:
        """All findings, worst first, with the fixes that work; silenced ones left out."""
        from ..errors import diagnose

        found: list[Finding] = []
        for error in (self.error, *self.of_threads):
            found += [finding for _, finding in notes.explained(error, diagnose)]
        found += [f for f in self._each("findings") if f is not None]
        kept = [f for f in _without_effects(_one_per_cause(found)) if not self._is_silenced(f)]
        kept.sort(key=lambda f: SEVERITIES.index(f.severity))
        counts = Counter(f.id for f in kept)
        for finding in kept:
            self._guarded(finding, "trial", self._try, finding, counts[finding.id])
        return kept

    def not_checked(self) -> list[dict]:
        """Kinds that this run gave no occasion to check."""
        absent = [{"id": id, "why": why} for id, why in self._each("not_checked")]
        known = {one["id"] for one in absent}
        failed = [i for check in self.checks if id(check) in self.failed for i in check.kinds]
        return absent + [{"id": i, "why": "its check failed"} for i in failed if i not in known]

    def _is_silenced(self, finding: Finding) -> bool:
        from ..source import Source

        source = Source.of(finding.file)
        at = source.lines[finding.line - 1 : finding.line] if source else []
        silent = finding.id in self.ignored or any(
            f"rushlight: ignore[{finding.id}]" in line for line in at
        )
        self.silenced += silent
        return silent

    @property
    def raised(self) -> str | None:
        """The exception that ended the program, as its last line says it."""
        if self.error is None:
            return None
        return f"{type(self.error).__name__}: {message_of(self.error)}"

    def _try(self, finding: Finding, count: int) -> None:
        """Keeps the fixes that work: the script is run again with each.

        ``count`` findings of this kind were made. Where an error ended the program, the fix of
        another finding works if the same error ends it again.
        """
        mechanical = [f for f in finding.fixes if f.edits]
        for fix in mechanical:
            changes.with_imports(fix)
        if not self.trials or not mechanical or isinstance(self.error, KeyboardInterrupt):
            return
        seconds, outcomes = max(20.0, 4 * self.seconds), {}

        def attempt(fix):
            outcome = outcomes[id(fix)] = trial.script(self.command, fix.edits, seconds=seconds)
            if outcome.refused:
                return outcome
            again = (outcome.status, outcome.raised) == (self.status, self.raised)
            well = outcome.good or (finding.severity != "error" and again)
            if well and sum(f["id"] == finding.id for f in outcome.findings) < count:
                return dataclasses.replace(outcome, good=True)
            return trial.Outcome(False, "still there")

        kept = trial.keep_working(mechanical, attempt, "script run again")
        if not kept and finding.severity == "error":
            kept = self._with_the_next(mechanical, outcomes, seconds)
        finding.fixes = kept + [f for f in finding.fixes if not f.edits]

    def _with_the_next(self, fixes: list, outcomes: dict, seconds: float) -> list:
        """The first fix behind which other errors come to light, with whose fixes the script ends.

        ``outcomes`` are those of the script with each fix alone, by the fix's id.
        """
        for fix in fixes[:3]:
            outcome, edits, places = outcomes[id(fix)], [fix.edits], []
            for _ in range(2):
                after = next((f for f in outcome.findings if f["severity"] == "error"), None)
                if outcome.raised in (None, self.raised) or after is None:
                    break
                more = next((f["edits"] for f in after["fixes"] if f["edits"]), None)
                if more is None:
                    break
                edits.append([Edit(**e) for e in more])
                places.append(line_of(after["file"], after["line"]))
                outcome = trial.script(self.command, *edits, seconds=seconds)
                if outcome.good:
                    also = " and ".join(places)
                    fix.tried = f"script run again, the errors that follow at {also} mended too"
                    return [fix]
        return []


def load_checks() -> None:
    import importlib
    import pkgutil

    from . import checks

    for module in pkgutil.iter_modules(checks.__path__):
        importlib.import_module(f"{checks.__name__}.{module.name}")


def _one_per_cause(found: list[Finding]) -> list[Finding]:
    """One finding per kind and line, the first."""
    seen, kept = set(), []
    for finding in found:
        key = (finding.id, finding.file, finding.line)
        if key not in seen:
            seen.add(key)
            kept.append(finding)
    return kept


# What follows from another kind where both are found: the cause alone is told.
_EFFECTS = {
    "gradients-explode": {"learning-rate-too-large", "relu-dead", "nan-made", "nan-gradient"},
    "learning-rate-too-large": {"relu-dead", "nan-made", "nan-gradient", "loss-scale-falls"},
    "gradients-never-zeroed": {"learning-rate-too-large", "gradients-explode", "relu-dead"},
    "optimizer-never-steps": {"gradients-never-zeroed"},
    "optimizer-made-in-loop": {"gradients-never-zeroed"},
    "clip-at-wrong-place": {"gradients-explode", "learning-rate-too-large"},
    "causal-mask-inverted": {"nan-made", "nan-gradient"},
    "padding-mask-inverted": {"nan-made", "nan-gradient", "gradients-vanish"},
    "relu-dead": {"weights-all-zero"},
    "hook-cuts-gradient": {"parameters-without-gradient"},
    "loss-made-a-leaf": {"parameters-without-gradient"},
    "nan-made": {"loss-scale-falls"},
    "nan-gradient": {"loss-scale-falls"},
    "dropout-while-evaluating": {"graph-never-used"},
    "scheduler-per-batch": {"learning-rate-too-small", "updates-lost"},
}


def _without_effects(found: list[Finding]) -> list[Finding]:
    ids = {f.id for f in found}
    effects = set().union(*(more for id, more in _EFFECTS.items() if id in ids))
    return [f for f in found if f.id not in effects]
