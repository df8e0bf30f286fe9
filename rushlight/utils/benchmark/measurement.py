"""A measured statement: its times, their spread, and how far to trust them."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable
from contextlib import suppress

# An interquartile range above this part of the median means that the machine was busy.
_IQR_WARN, _IQR_GROSS_WARN = 0.1, 0.25
_UNITS = (("s", "s", 1.0), ("ms", "ms", 1e-3), ("us", "us", 1e-6), ("ns", "ns", 1e-9))


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement if it is short."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        text = "\n".join(f"  {line}" for line in self.stmt.splitlines())
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{text}"

    def setup_str(self) -> str:
        """The setup as the report shows it."""
        if self.setup == "pass" or not self.setup:
            return ""
        if "\n" in self.setup:
            return "setup:\n" + "\n".join(f"  {line}" for line in self.setup.splitlines())
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(p for p in parts if p)


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit that suits a time, and how many seconds it has."""
    for name, _, size in reversed(_UNITS):
        if seconds < size * 1000 or name == "s":
            return name, size
    return "s", 1.0


def unit_to_english(unit: str) -> str:
    """``microseconds`` for ``us``."""
    names = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
    return names[unit]


def trim_sigfig(x: float, n: int) -> float:
    """x, rounded to n significant figures."""
    if x == 0 or n is None:
        return x
    magnitude = 10 ** (math.floor(math.log10(abs(x))) + 1 - n)
    return float(round(x / magnitude) * magnitude)


def _quantile(values: list[float], q: float) -> float:
    at = (len(values) - 1) * q
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


class Measurement:
    """Times of a statement.

    Args:
        number_per_run: how often the statement ran per time.
        raw_times: seconds per run.
        task_spec: what was measured.
        metadata: the caller's own.
    """

    def __init__(self, number_per_run, raw_times, task_spec, metadata=None):
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.task_spec = task_spec
        self.metadata = metadata

    def __getattr__(self, name):
        if name != "task_spec":
            with suppress(AttributeError):
                return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds per execution of the statement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The range of the middle half of the times."""
        times = sorted(self.times)
        return _quantile(times, 0.75) - _quantile(times, 0.25)

    @property
    def significant_figures(self) -> int:
        """Digits that the interquartile range leaves certain, at least one."""
        n = len(self.times)
        spread = max(self.iqr / 1.349, 1e-15)
        interval = 2 * 1.645 * spread / math.sqrt(n) if n > 1 else self.median
        relative = interval / max(self.median, 1e-15)
        return max(1, min(4, math.floor(-math.log10(max(relative, 1e-4))) + 1))

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary too much to be trusted."""
        return bool(self._warning())

    def meets_confidence(self, threshold=_IQR_WARN) -> bool:
        """Whether the spread is below a part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str:
        return "Unspecified env" if self.task_spec.env is None else str(self.task_spec.env)

    @property
    def as_row_name(self) -> str:
        return self.sub_label or self.stmt or "[Unknown]"

    def _warning(self) -> str:
        relative = self.iqr / self.median if len(self.raw_times) > 1 else 0
        if relative <= _IQR_WARN:
            return ""
        gross = relative > _IQR_GROSS_WARN
        verdict = (
            "suggests significant environmental influence."
            if gross
            else "could indicate system fluctuation."
        )
        return (
            f"  WARNING: Interquartile range is {relative * 100:.1f}% of the median measurement.\n"
            f"           This {verdict}"
        )

    def __repr__(self):
        count = len(self.raw_times)
        unit, size = select_unit(self.median)
        out = [super().__repr__(), self.task_spec.summarize()]
        if count > 1:
            times = sorted(self.times)
            low, high = _quantile(times, 0.25) / size, _quantile(times, 0.75) / size
            out.append(f"  Median: {self.median / size:.2f} {unit}")
            out.append(f"  IQR:    {self.iqr / size:.2f} {unit} ({low:.2f} to {high:.2f})")
        else:
            out.append(f"  {self.median / size:.2f} {unit}")
        runs = "measurement" if count == 1 else "measurements"
        per = "runs " if count == 1 else "runs per measurement"
        threads = "thread" if self.num_threads == 1 else "threads"
        out.append(f"  {count} {runs}, {self.number_per_run} {per}, {self.num_threads} {threads}")
        if self.has_warnings:
            out.append(self._warning())
        return "\n".join(out)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of one task joined; runs of unlike lengths count per execution."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        out = []
        for task, group in groups.items():
            per_run = group[0].number_per_run
            if any(m.number_per_run != per_run for m in group):
                out.append(Measurement(1, [t for m in group for t in m.times], task))
            else:
                out.append(Measurement(per_run, [t for m in group for t in m.raw_times], task))
        return out
