"""Two ways to do one thing, measured side by side: ``compare(f, g, *inputs)``.

An extension of Rushlight's: PyTorch has no such module.
"""

from __future__ import annotations

import copy
import statistics
import time
from dataclasses import dataclass

import rushlight as torch
from rushlight.utils import _pytree as pytree

__all__ = ["Comparison", "alternate", "compare"]

_NOISY = 0.3  # of the median: the middle half of the runs is spread over more than that
_LEAST = 1e-3  # seconds that one run should take: shorter calls are made several times


@dataclass
class Comparison:
    """Alternating runs of two things: seconds of each run, in pairs.

    ``difference`` is the largest between outputs, ``largest`` the largest value among them, both
    None where nothing was compared; ``tolerance`` is what the outputs may differ by.
    """

    first: list[float]
    second: list[float]
    names: tuple[str, str] = ("f", "g")
    difference: float | None = None
    largest: float | None = None
    tolerance: float | None = None

    @property
    def runs(self) -> int:
        return len(self.first)

    @property
    def ratio(self) -> float:
        """How many times as fast the second is: the median over the pairs of runs."""
        return statistics.median(self._ratios())

    @property
    def interval(self) -> tuple[float, float]:
        """Where the ratio lies in 95 of 100 cases: order statistics of the pairs' ratios
        (Conover, Practical Nonparametric Statistics, 3rd edition, 3.2)."""
        ratios = sorted(self._ratios())
        skip = max(0, int((len(ratios) - 1.96 * len(ratios) ** 0.5) / 2))
        return ratios[skip], ratios[-1 - skip]

    @property
    def differ(self) -> bool:
        """Whether one is faster: the interval does not hold 1."""
        low, high = self.interval
        return not low <= 1.0 <= high

    @property
    def agree(self) -> bool | None:
        """Whether outputs agree within the tolerance; None where nothing was compared."""
        if self.difference is None or self.tolerance is None:
            return None
        return self.difference <= self.tolerance

    @property
    def noisy(self) -> bool:
        """Whether the runs of either scatter so much that little can be told."""
        return any(_spread(times) > _NOISY for times in (self.first, self.second))

    def _ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.first, self.second, strict=True)]

    def speed_text(self) -> str:
        """``1.85x (1.79 to 1.91)``, with what it means."""
        low, high = self.interval
        text = f"{self.ratio:.2f}x ({low:.2f} to {high:.2f})"
        if not self.differ:
            return f"no difference seen: {text}"
        return text if self.ratio > 1 else f"{text}, slower"

    def output_text(self) -> str:
        """How far outputs agree, in words."""
        if self.difference is None:
            return "outputs not compared"
        said = f"{self.difference:.2g} (largest: {self.largest:.3g})"
        if self.agree is False:
            return f"outputs differ by {said}, more than {self.tolerance:.2g}: not the same"
        return f"outputs agree within {said}" if self.difference else "outputs are equal"

    def __str__(self) -> str:
        f, g = self.names
        before, after = (statistics.median(t) for t in (self.first, self.second))
        lines = [
            f"{f} {_seconds(before)}, {g} {_seconds(after)}: {self.speed_text()}",
            f"{self.runs} runs each, alternating; {self.output_text()}",
        ]
        if self.noisy:
            lines.append("The machine is too noisy to tell small differences: " + self._spreads())
        return "\n".join(lines)

    def _spreads(self) -> str:
        parts = [f"{100 * _spread(t):.0f} %" for t in (self.first, self.second)]
        return f"the middle half of the runs spreads over {parts[0]} and {parts[1]}"

    def as_dict(self) -> dict:
        """As JSON knows it; seconds."""
        low, high = self.interval
        return {
            "before": statistics.median(self.first),
            "after": statistics.median(self.second),
            "ratio": self.ratio,
            "low": low,
            "high": high,
            "runs": self.runs,
            "noisy": self.noisy,
            "difference": self.difference,
            "largest": self.largest,
            "tolerance": self.tolerance,
        }


def alternate(first, second, runs: int = 20, seconds: float = 10.0, warm: int = 2) -> tuple:
    """Calls two functions that return seconds in turn; (seconds of each) of what is counted.

    Each goes first in every other pair. Ends after ``runs`` pairs, or with ``seconds`` spent but
    not before five pairs.
    """
    for _ in range(warm):
        first(), second()
    times: tuple[list, list] = ([], [])
    end = time.perf_counter() + seconds
    while len(times[0]) < runs and (len(times[0]) < 5 or time.perf_counter() < end):
        if len(times[0]) % 2:
            b, a = second(), first()
        else:
            a, b = first(), second()
        times[0].append(a)
        times[1].append(b)
    return times


def compare(
    f, g, *inputs, runs: int = 20, seconds: float = 10.0, tolerance: float | None = None, **keywords
) -> Comparison:
    """Measures two callables on the same inputs: outputs first, then time, in alternating runs.

    Each call gets copies of the inputs, made outside of what is timed, and begins with the same
    random state, which is put back at the end. Short calls are made several times per run.

    Args:
        f, g: what to compare; called as ``f(*inputs, **keywords)``.
        runs: pairs of runs to count at most; two more of each warm up.
        seconds: time to spend at most, but for at least five pairs.
        tolerance: by how much outputs may differ; default: 1e-5 of the largest value, 1e-2 where
            an output is float16 or bfloat16.

    >>> x = torch.ones(8)
    >>> rushlight.bench.compare(torch.sigmoid, lambda x: 1 / (1 + (-x).exp()), x).agree
    True
    """
    state = torch.get_rng_state()
    try:
        times = _timed(f, inputs, keywords, state), _timed(g, inputs, keywords, state)
        results = [call.once() for call in times]
        difference, largest, usual = output_difference(*results)
        repeats = max(call.repeats() for call in times)
        for call in times:
            call.count = repeats
        first, second = alternate(*times, runs=runs, seconds=seconds)
    finally:
        torch.set_rng_state(state)
    names = tuple(getattr(call, "__name__", "") for call in (f, g))
    if len(set(names)) < 2 or "<lambda>" in names or "" in names:
        names = ("f", "g")
    allowed = usual if tolerance is None else tolerance
    return Comparison(first, second, names, difference, largest, allowed)


class _timed:
    """One callable with its inputs: calling it gives the seconds of one call."""

    def __init__(self, call, inputs, keywords, state):
        self._call, self._inputs, self._state = call, (inputs, keywords), state
        self.count = 1

    def _copies(self):
        torch.set_rng_state(self._state)
        return pytree.tree_map(_copied, self._inputs)

    def once(self):
        """Its output."""
        inputs, keywords = self._copies()
        return self._call(*inputs, **keywords)

    def repeats(self) -> int:
        """How many calls a run needs in order to be measured well."""
        spent = min(self() for _ in range(3))
        return max(1, min(100_000, int(_LEAST / max(spent, 1e-7))))

    def __call__(self) -> float:
        (inputs, keywords), call = self._copies(), self._call
        begin = time.perf_counter()
        for _ in range(self.count):
            call(*inputs, **keywords)
        return (time.perf_counter() - begin) / self.count


def _copied(value):
    if isinstance(value, torch.Tensor):
        if isinstance(value, torch.nn.Parameter) or not value.is_leaf:
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)
    return copy.copy(value) if isinstance(value, (list, dict, set)) else value


def output_difference(first, second) -> tuple:
    """(largest difference, largest value, usual tolerance) of two outputs' tensors and numbers.

    The difference is infinite where they have not the same structure, shapes or NaNs; all are
    None where there is nothing to compare.
    """
    a, b = (pytree.tree_leaves(x) for x in (first, second))
    pairs = [(x, y) for x, y in zip(a, b, strict=False) if _is_numeric(x) or _is_numeric(y)]
    if not pairs:
        return None, None, None
    if len(a) != len(b) or not all(_same_form(x, y) for x, y in pairs):
        return float("inf"), 0.0, 0.0
    difference = largest = 0.0
    part = 1e-5
    for x, y in pairs:
        x, y = (torch.as_tensor(v).detach() for v in (x, y))
        if {x.dtype, y.dtype} & {torch.float16, torch.bfloat16}:
            part = 1e-2
        if x.numel() == 0:
            continue
        wide = torch.complex128 if x.is_complex() or y.is_complex() else torch.float64
        x, y = x.to(wide), y.to(wide)
        apart = torch.where((x == y) | (x.isnan() & y.isnan()), 0.0, (x - y).abs())
        worst = apart.max().item()
        difference = max(difference, float("inf") if worst != worst else worst)
        finite = x.abs()[x.abs().isfinite()]
        largest = max(largest, finite.max().item() if finite.numel() else 0.0)
    return difference, largest, part * largest


def _is_numeric(value) -> bool:
    return isinstance(value, (torch.Tensor, int, float, complex))


def _same_form(x, y) -> bool:
    shapes = [torch.as_tensor(v).shape for v in (x, y) if _is_numeric(v)]
    return len(shapes) == 2 and shapes[0] == shapes[1]


def _spread(times: list[float]) -> float:
    if len(times) < 4:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4)
    return (high - low) / middle


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.0f} ns"
