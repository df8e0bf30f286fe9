"""rushlight.bench: outputs first, then alternating runs, a ratio with its interval."""

import pytest

import rushlight as torch
from rushlight import bench, nn


def test_a_slower_callable_is_seen_with_its_interval(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bench.time, "perf_counter", lambda: now[0])

    def quick(x):
        now[0] += 0.001
        return x * 2

    def slow(x):
        now[0] += 0.003
        return x + x

    found = bench.compare(slow, quick, torch.randn(4), runs=12)
    low, high = found.interval
    assert found.runs == 12 and low <= found.ratio <= high and found.ratio == pytest.approx(3)
    assert found.differ and found.agree and found.difference == 0 and not found.noisy
    text = str(found)
    assert text.startswith("slow 3 ms, quick 1 ms: 3.00x (3.00 to 3.00)")
    assert "12 runs each, alternating; outputs are equal" in text


def test_the_interval_is_that_of_the_median():
    found = bench.Comparison([float(n) for n in range(1, 21)], [1.0] * 20)
    assert found.ratio == 10.5 and found.interval == (6.0, 15.0)
    alike = bench.Comparison([1.0, 1.1, 0.9, 1.0, 1.05], [1.0] * 5)
    assert not alike.differ and "no difference seen" in alike.speed_text()
    assert bench.Comparison([1.0] * 8, [2.0] * 8).speed_text().endswith("slower")


def test_noise_is_said():
    wild = [1.0, 5.0, 1.0, 9.0, 2.0, 7.0]
    assert bench.Comparison(wild, [1.0] * 6).noisy
    assert "too noisy" in str(bench.Comparison(wild, [1.0] * 6))
    assert not bench.Comparison([1.0, 1.1, 1.0, 0.9], [1.0] * 4).noisy


def test_outputs_that_differ_are_not_the_same():
    x = torch.ones(3)
    found = bench.compare(lambda x: x, lambda x: x + 0.5, x, runs=5)
    assert found.agree is False and found.difference == 0.5
    assert "outputs differ by 0.5" in str(found)
    assert bench.compare(lambda x: x, lambda x: x + 0.5, x, runs=5, tolerance=1).agree
    assert bench.compare(lambda x: x, lambda x: x[:2], x, runs=5).agree is False
    assert bench.compare(lambda: None, lambda: None, runs=5).agree is None
    bad = torch.tensor([1.0, float("nan")])
    assert bench.compare(lambda x: x, lambda x: x * 1, bad, runs=5).agree
    assert bench.compare(lambda x: x, lambda x: x.nan_to_num(), bad, runs=5).agree is False


def test_each_call_has_its_own_inputs_and_the_same_random_state():
    x = torch.zeros(3)
    before = torch.get_rng_state()
    found = bench.compare(
        lambda x: x.add_(1) + torch.rand(3), lambda x: x.add_(1) + torch.rand(3), x, runs=5
    )
    assert found.difference == 0 and x.tolist() == [0, 0, 0]
    assert torch.equal(torch.get_rng_state(), before)
    layer = nn.Linear(3, 3)
    found = bench.compare(layer, lambda x: x @ layer.weight.t() + layer.bias, x, runs=5)
    assert found.agree and x.requires_grad is False


def test_what_raises_raises_and_restores():
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="no"):
        bench.compare(lambda: torch.rand(2), lambda: (_ for _ in ()).throw(ValueError("no")))
    assert torch.equal(torch.get_rng_state(), before)


def test_what_helps_is_told_apart_from_what_does_not():
    from types import SimpleNamespace

    from rushlight.profiler import trials

    quick = bench.Comparison([2.0] * 20, [1.0] * 20, ("f", "g"), 0.0, 1.0, 0.1)
    same = bench.Comparison([1.0] * 20, [1.0] * 20, ("f", "g"), 0.0, 1.0, 0.1)
    wrong = bench.Comparison([2.0] * 20, [1.0] * 20, ("f", "g"), 1.0, 1.0, 0.1)
    found = [trials.Trial(n, (), c) for n, c in (("a", same), ("b", quick), ("c", wrong))]
    region = SimpleNamespace(problem="", lines=())
    lines = trials.as_text(SimpleNamespace(region=region, what="a step"), found)
    heads = [line.split(":")[0] for line in lines if ":" in line and line[0] == "T"]
    assert heads == ["Try", "Tried in vain", "Tried in vain"]
    assert lines[1].startswith("Try: 1. b: 2,000 -> 1,000 ms, 2.00x")
    lines = trials.as_text(SimpleNamespace(region=region, what="a step"), found[:1])
    assert lines[1] == "None of what was tried helps."
