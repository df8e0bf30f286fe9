"""Programs about Sobol sequences; what they show is recorded from PyTorch."""

from __future__ import annotations

import hashlib
import importlib


def _engine(torch, *args, **kwargs):
    return importlib.import_module(f"{torch.__name__}.quasirandom").SobolEngine(*args, **kwargs)


def _digest(tensor):
    return hashlib.md5(repr(tensor.tolist()).encode()).hexdigest()


def draws(torch, show):
    for dimension, options in ((1, {}), (3, {}), (7, {"scramble": True, "seed": 5})):
        engine = _engine(torch, dimension, **options)
        show(engine, engine.draw().tolist(), engine.draw(3).tolist(), engine.num_generated)
        show(engine.draw(2, dtype=torch.float64).tolist(), engine.quasi.tolist())
        show(engine.fast_forward(37).quasi.tolist(), _digest(engine.draw(100)))
        show(engine.reset().draw_base2(3).tolist(), _digest(engine.draw_base2(3)))
        out = torch.empty(0)
        show(engine.draw(2, out=out) is out, out.tolist())
        show(_digest(engine.reset().fast_forward(9).draw(5)))


def many_dimensions(torch, show):
    torch.manual_seed(2)
    engine = _engine(torch, 500, scramble=True)
    show(_digest(engine.sobolstate), _digest(engine.shift), _digest(engine.draw(20)))
    show(_digest(_engine(torch, 21201).sobolstate), torch.rand(2).tolist())


def refusals(torch, show):
    show.failure(lambda: _engine(torch, 0))
    show.failure(lambda: _engine(torch, 21202))
    show.failure(lambda: _engine(torch, 2).fast_forward(3).draw_base2(2))


def counts_out_of_range(torch, show):
    for scramble in (False, True):
        for before in (0, 3):
            for n in (0, -1, -3, 1.5):
                engine = torch.quasirandom.SobolEngine(3, scramble, 5)
                if before:
                    engine.draw(before)
                show.failure(lambda e=engine, n=n: e.draw(n).shape)
                show(engine.num_generated)
