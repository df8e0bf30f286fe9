"""Timing a statement: as timeit does, with warm-up, blocks of runs and a number of threads."""

from __future__ import annotations

import contextlib
import enum
import textwrap
import timeit
from time import perf_counter as timer

import rushlight as torch

from .measurement import Measurement, TaskSpec


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


@contextlib.contextmanager
def set_torch_threads(count: int):
    """Runs a block with a number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Timer:
    """Times a statement.

    Args:
        stmt: the code to time.
        setup: code that runs once before each time.
        global_setup: for C++ only; must be empty.
        timer: a clock in seconds.
        globals: names that the code sees; ``torch`` is there.
        label, sub_label, description, env: how `Compare` names table, row and column.
        num_threads: threads that each op may use; 1 by default.
        language: Python only.
    """

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language=Language.PYTHON,
    ):
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("Timer times Python statements only")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can "
                "simply be moved to `setup`."
            )
        names = dict(globals or {})
        names.setdefault("torch", torch)
        stmt, setup = textwrap.dedent(stmt).strip("\n"), textwrap.dedent(setup).strip("\n")
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt=stmt,
            setup=setup,
            global_setup=global_setup,
            label=label,
            sub_label=sub_label,
            description=description,
            env=env,
            num_threads=num_threads,
        )

    def _time(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _threads(self):
        return set_torch_threads(self._task_spec.num_threads)

    def timeit(self, number=1000000) -> Measurement:
        """Runs the statement ``number`` times, after a hundredth of that to warm up."""
        with self._threads():
            self._time(max(number // 100, 2))
            return Measurement(number, [self._time(number)], self._task_spec)

    def autorange(self, callback=None):
        """Not to be had; `blocked_autorange` does better."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def repeat(self, repeat=-1, number=-1):
        """Not to be had; `blocked_autorange` does better."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time: float) -> int:
        # Blocks long enough that reading the clock is below a thousandth of them.
        with self._threads():
            cost = min(timeit.Timer(timer=self._timer.timer).timeit(0) for _ in range(100))
            number = 1
            while True:
                taken = self._time(number)
                if cost / taken <= 1e-4 and taken >= min_run_time / 1000:
                    return number
                if taken > min_run_time:
                    return number
                number *= 10

    def _blocks(self, number, enough, min_run_time, max_run_time, callback) -> list[float]:
        total, times = 0.0, []
        with self._threads():
            while total < min_run_time or not enough(times):
                taken = self._time(number)
                times.append(taken)
                total += taken
                if callback:
                    callback(number, taken)
                if total > max_run_time:
                    break
        return times

    def blocked_autorange(self, callback=None, min_run_time=0.2) -> Measurement:
        """Blocks of runs, each long enough to be timed well, for ``min_run_time`` seconds."""
        number = self._block(min_run_time)
        times = self._blocks(number, lambda _: True, min_run_time, float("inf"), callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None
    ) -> Measurement:
        """Blocks of runs until the spread is below ``threshold`` of the median."""
        number = self._block(0.05)

        def enough(times) -> bool:
            measured = Measurement(number, times, self._task_spec)
            return len(times) > 3 and measured.meets_confidence(threshold)

        times = self._blocks(number, enough, min_run_time, max_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *_, **__):
        """Not to be had: it would count instructions of an interpreter run under Valgrind."""
        raise NotImplementedError("collect_callgrind is not supported; use blocked_autorange")
