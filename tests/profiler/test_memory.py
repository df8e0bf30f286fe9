"""rushlight.memory: counters, live bytes by category, who holds the peak."""

import gc

import numpy as np
import pytest

import rushlight as torch
from rushlight import memory, nn


def train(steps=2):
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(torch.ones(32, 64)), torch.zeros(32).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model, opt


def test_counters():
    before = memory.allocated()
    kept = torch.ones(1000)
    assert memory.allocated() - before == 4000, "of its data, not of its block"
    memory.reset_peak()
    assert memory.peak() == memory.allocated() <= memory.reserved()
    torch.ones(5000)
    assert memory.peak() - memory.allocated() == 20000
    text = memory.summary()
    assert "in use" in text and "peak" in text and all(len(x) <= 80 for x in text.split("\n"))
    assert memory.stats()["allocations"] > memory.stats()["releases"] and kept is not None
    memory.empty_cache()


def test_what_is_kept_for_reuse_has_a_limit():
    before = memory.cache_limit()
    size = 12 << 20
    try:
        memory.empty_cache()
        base = memory.reserved()
        memory.set_cache_limit(20 << 20)
        kept = [torch.empty(size, dtype=torch.uint8) for _ in range(3)]
        assert memory.reserved() - base >= 3 * size
        del kept
        assert size <= memory.reserved() - base <= 20 << 20
        again = torch.empty(size, dtype=torch.uint8)
        assert memory.reserved() - base <= 20 << 20, "the block that was kept is used"
        memory.set_cache_limit(0)
        del again
        assert memory.reserved() <= base
        with pytest.raises(ValueError, match="must not be negative"):
            memory.set_cache_limit(-1)
        assert memory.cache_limit() == 0
    finally:
        memory.set_cache_limit(before)


def test_categories_sum_to_the_bytes_of_what_lives():
    with memory.record() as seen:
        model, opt = train()
    points = seen.timeline
    grown = sum(2 * p.nbytes for p in model.parameters())
    grown += sum(t.nbytes for s in opt.state.values() for t in s.values())
    assert sum(points[-1].live.values()) == grown
    assert all(min(p.live.values()) >= 0 for p in points)
    values = 64 * 128 + 128 + 128 * 10 + 10
    assert points[-1].live["parameters"] == 4 * values
    assert points[-1].live["gradients"] == 4 * values
    assert points[-1].live["optimizer state"] >= 8 * values
    assert points[-1].live["saved for backward"] == 0
    hidden = 4 * 32 * 128
    assert max(p.live["saved for backward"] for p in points) >= hidden
    assert seen.peak >= 16 * values


def test_categories_sum_to_the_allocators_figures():
    gc.collect()
    train()  # what is made once stays out of the comparison
    gc.collect()
    before = memory.allocated()
    memory.reset_peak()
    with memory.record() as seen:
        model, opt = train()
        torch.from_numpy(np.ones(1000))  # the memory is numpy's
        meta = torch.empty(500, device="meta")
        grown = torch.ones(10).resize_(1000)
        emptied = torch.ones(2000)
        emptied.untyped_storage().resize_(0)
        shared = torch.ones(300).share_memory_()
    assert memory.allocated() - before == sum(seen.timeline[-1].live.values()) > 0
    assert memory.peak() - before == seen.peak
    assert grown.untyped_storage().nbytes() == 4000 and meta.is_meta and shared.is_shared()
    assert model is not None and opt is not None


def test_the_peak_has_holders_with_line_and_module():
    model = nn.Sequential(nn.Linear(256, 256), nn.Tanh())
    with memory.record() as seen:
        h = model(torch.ones(1024, 256))
        h.sum().backward()
    (largest, *_) = seen.holders
    assert largest.bytes >= 4 * 1024 * 256
    assert largest.place[0] == __file__
    assert sum(x.bytes for x in seen.holders) == seen.peak
    big = 4 * 1024 * 256
    saved = [x for x in seen.holders if x.category == "saved for backward" and x.bytes >= big]
    assert {x.module for x in saved} == {model[1], None}, "what Tanh gave, and Linear's input"
    assert [x.bytes for x in saved] == [big, big]
    assert any(x.category == "gradients" or x.category == "temporaries" for x in seen.holders)


def test_snapshot_names_what_modules_hold():
    model = nn.Linear(1000, 7)
    model(torch.ones(1, 1000)).sum().backward()
    found = memory.snapshot()
    mine = [h for h in found["holders"] if h["shape"] == (7, 1000)]
    assert {h["kind"] for h in mine} >= {"parameter", "gradient"}
    assert all(h["bytes"] == 28000 for h in mine)
    assert found["stats"]["allocated"] > 0
