"""torch.utils.benchmark: times, their text, and tables."""

import pytest

import rushlight as torch
from rushlight.utils import benchmark
from rushlight.utils.benchmark import Compare, Measurement, Timer
from rushlight.utils.benchmark.measurement import TaskSpec


def measured(times, number=100, **names):
    return Measurement(number, times, TaskSpec("x + 1", "pass", **names))


def test_timer_times():
    timer = Timer("x + 1", "x = torch.ones(3)", label="L", sub_label="S", description="D")
    m = timer.blocked_autorange(min_run_time=0.02)
    assert m.median > 0 and len(m.times) >= 1 and m.iqr >= 0
    one = timer.timeit(100)
    assert one.number_per_run == 100 and len(one.raw_times) == 1
    assert timer.adaptive_autorange(max_run_time=0.1).mean > 0
    threads = torch.get_num_threads()
    seen = []
    Timer("f()", globals={"f": lambda: seen.append(torch.get_num_threads())}).timeit(3)
    assert set(seen) == {1} and torch.get_num_threads() == threads
    with pytest.raises(NotImplementedError):
        timer.collect_callgrind()


def test_measurement_as_text():
    m = measured([1e-4, 2e-4, 3e-4], label="L", sub_label="S", description="D")
    assert repr(m).split("\n")[1:] == [
        "L: S",
        "D",
        "  Median: 2.00 us",
        "  IQR:    1.00 us (1.50 to 2.50)",
        "  3 measurements, 100 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 50.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]
    assert m.has_warnings and not m.meets_confidence() and m.as_row_name == "S"
    (both,) = Measurement.merge([m, m])
    assert len(both.times) == 6


def test_comparison_as_text():
    a = measured([5e-4], label="L", sub_label="S", description="D")
    b = measured([9e-4], label="L", sub_label="S2", description="D2", num_threads=2)
    table = Compare([a, b])
    lines = str(table).split("\n")
    assert lines[0].startswith("[-") and " L " in lines[0] and len(lines[0]) == len(lines[2])
    assert "D2" in lines[1] and lines[2].startswith("1 threads: ---")
    assert "5.0" in lines[3] and "9.0" in lines[5]
    assert lines[-2] == "Times are in microseconds (us)."
    table.trim_significant_figures()
    table.colorize()
    assert "\033[92m" in str(table)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([3])
    assert benchmark.select_unit(5e-6) == ("us", 1e-6)
