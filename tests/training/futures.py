"""Programs about torch.futures; what they show is recorded from PyTorch."""

from __future__ import annotations

import importlib


def _module(torch):
    return importlib.import_module(f"{torch.__name__}.futures")


def results(torch, show):
    futures = _module(torch)
    f = futures.Future()
    show(f.done(), isinstance(f, futures.Future))
    seen = []
    f.add_done_callback(lambda done: seen.append(done.value()))
    g = f.then(lambda done: done.value() + 1)
    h = g.then(lambda done: done.wait() * 2)
    f.set_result(3)
    show(f.done(), f.wait(), f.value(), g.wait(), h.wait(), seen)
    f.add_done_callback(lambda done: seen.append("late"))
    show(seen, f.then(lambda done: "after").wait())
    show.failure(lambda: f.set_result(4))
    show(futures.wait_all([f, g]), [x.wait() for x in futures.collect_all([f, g]).wait()])


def failures(torch, show):
    futures = _module(torch)
    f = futures.Future()
    f.set_exception(ValueError("no luck"))
    show(f.done())
    show.failure(f.wait)
    show.failure(f.value)
    f.then(lambda done: done.value())
    show.failure(lambda: f.set_exception(3))
    h = futures.Future()
    i = h.then(lambda done: 1 // 0)
    h.set_result(1)
    show(i.done())
    show.failure(lambda: futures.wait_all([h, f]))
    both = futures.collect_all([h, f])
    show(both.done())
