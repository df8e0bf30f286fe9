"""The doctor: runs a program unchanged, watches it, and says what is wrong with it."""

from __future__ import annotations

import os
import sys
import time

from .. import changes, registry, trial
from ..finding import SEVERITIES, Finding
from . import passes, watch


class Doctor:
    """One run of one program.

    ``command`` is the target and its arguments as given; ``error`` the exception that ended it.
    ``watch`` tells checks what the program does, ``passes`` which forward passes a backward used;
    ``trials`` whether fixes may be tried by running the script again.
    """

    def __init__(self, command: list[str], trials: bool = True, ignored: frozenset = frozenset()):
        self.command = command
        self.trials = trials
        self.ignored = ignored
        self.error: BaseException | None = None
        self.watch = watch.Watch()
        self.passes = passes.Passes(self.watch)
        self.seconds = 0.0
        self.silenced = 0
        load_checks()
        self.checks = [cls() for cls in registry.CHECKS]

    def run(self, program) -> int:
        """Runs ``program()``, which gives (exit status, error), under watch; returns the status."""
        for check in self.checks:
            check.start(self)
        self.watch.start()
        began = time.perf_counter()
        try:
            status, self.error = program()
        finally:
            self.seconds = time.perf_counter() - began
            self.watch.stop()
            for check in self.checks:
                check.stop(self)
        return status

    def findings(self) -> list[Finding]:
        """All findings, worst first, with the fixes that work; silenced ones left out."""
        from ..errors import diagnose

        found: list[Finding] = []
        if isinstance(self.error, Exception):
            explained = diagnose(self.error)
            if explained is not None:
                found.append(explained)
        for check in self.checks:
            try:
                found += check.findings(self)
            except Exception as error:
                if os.environ.get("RUSHLIGHT_DOCTOR_DEBUG"):
                    raise
                if sys.stderr is not None:
                    print(f"doctor: {type(check).__name__} failed: {error!r}", file=sys.stderr)
        kept = [f for f in _without_effects(_one_per_cause(found)) if not self._is_silenced(f)]
        kept.sort(key=lambda f: SEVERITIES.index(f.severity))
        for finding in kept:
            self._try(finding)
        return kept

    def not_checked(self) -> list[dict]:
        """Kinds that this run gave no occasion to check."""
        return [
            {"id": id, "why": why} for check in self.checks for id, why in check.not_checked(self)
        ]

    def _is_silenced(self, finding: Finding) -> bool:
        from ..source import Source

        source = Source.of(finding.file)
        at = source.lines[finding.line - 1 : finding.line] if source else []
        silent = finding.id in self.ignored or any(
            f"rushlight: ignore[{finding.id}]" in line for line in at
        )
        self.silenced += silent
        return silent

    def _try(self, finding: Finding) -> None:
        """Keeps the fixes that work: the script is run again with each."""
        mechanical = [f for f in finding.fixes if f.edits]
        for fix in mechanical:
            changes.with_imports(fix)
        if not self.trials or not mechanical:
            return
        limit = max(20.0, 4 * self.seconds)

        def attempt(fix):
            outcome = trial.script(self.command, fix.edits, limit)
            still = {f["id"] for f in outcome.findings}
            return outcome if finding.id not in still else trial.Outcome(False, "still there")

        kept = trial.keep_working(mechanical, attempt, "script run again")
        finding.fixes = kept + [f for f in finding.fixes if not f.edits]


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
    "relu-dead": {"weights-all-zero"},
    "nan-made": {"loss-scale-falls"},
    "nan-gradient": {"loss-scale-falls"},
    "dropout-while-evaluating": {"graph-never-used"},
    "scheduler-per-batch": {"learning-rate-too-small", "updates-lost"},
}


def _without_effects(found: list[Finding]) -> list[Finding]:
    ids = {f.id for f in found}
    effects = set().union(*(more for id, more in _EFFECTS.items() if id in ids))
    return [f for f in found if f.id not in effects]
