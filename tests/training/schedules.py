"""Schedules nested at random, resumed, and told in full; optimizers as texts."""

from __future__ import annotations

import random
import warnings

SIMPLE = """
S.LambdaLR(o, lambda e: {a}**e); S.LambdaLR(o, [lambda e: {a}**e, lambda e: 1 / (1 + e)])
S.MultiplicativeLR(o, lambda e: {a}); S.StepLR(o, {n}, {a}); S.MultiStepLR(o, [{n}, 5, 5], {a})
S.ConstantLR(o, {a}, {n}); S.LinearLR(o, {a}, {b}, {n}); S.ExponentialLR(o, {a})
S.PolynomialLR(o, {n}, 1.7); S.CosineAnnealingLR(o, {n}, 0.003)
S.CosineAnnealingWarmRestarts(o, {n}, 2, 0.003)
S.CyclicLR(o, 0.01, [0.1, 0.3], {n}, 3, "triangular2")
S.CyclicLR(o, 0.01, 0.2, {n}, mode="exp_range", gamma={a})
S.CyclicLR(o, 0.01, 0.2, {n}, scale_fn=lambda x: 1 / (1 + x), cycle_momentum=False)
S.OneCycleLR(o, [0.1, 0.2], 40, pct_start={b}, three_phase=True)
S.OneCycleLR(o, 0.1, 40, anneal_strategy="linear", div_factor=10.0)
"""


def _text(rnd, depth=0):
    """A schedule as an expression: simple, or made of up to three others."""
    if depth > 2 or rnd.random() < 0.4:
        text = rnd.choice(SIMPLE.strip().replace("\n", "; ").split("; "))
        return text.format(a=rnd.randint(5, 9) / 10, b=rnd.randint(2, 8) / 10, n=rnd.randint(1, 6))
    parts = [_text(rnd, depth + 1) for _ in range(rnd.randint(1, 3))]
    if rnd.random() < 0.4:
        return f"S.ChainedScheduler([{', '.join(parts)}])"
    milestones = sorted(rnd.sample(range(12), len(parts) - 1))
    return f"S.SequentialLR(o, [{', '.join(parts)}], {milestones})"


def _optimizer(torch, kind, as_tensor):
    def rate(value):
        return torch.tensor(value, dtype=torch.float64) if as_tensor else value

    parameters = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    groups = [{"params": p, "lr": rate(lr)} for p, lr in zip(parameters, (0.05, 0.2), strict=True)]
    more = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(torch.optim, kind)(groups, **more)


def _plain(value):
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return "function" if callable(value) else value


def _told(show, optimizer, schedule):
    show(*(_plain([g["lr"], g.get("momentum", g.get("betas"))]) for g in optimizer.param_groups),
         _plain(schedule.get_last_lr()))  # fmt: skip


def _run(torch, show, text, kind, as_tensor, optimizer, schedule, steps):
    for _ in range(steps):
        optimizer.step()
        schedule.step()
        _told(show, optimizer, schedule)
    state = schedule.state_dict()
    show(_plain(state))
    again = _optimizer(torch, kind, as_tensor)
    resumed = eval(text, {"S": torch.optim.lr_scheduler, "o": again})
    again.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(state)
    for _ in range(3):
        again.step()
        resumed.step()
        _told(show, again, resumed)


def nested(torch, show):
    rnd = random.Random(7)
    S = torch.optim.lr_scheduler
    for _ in range(60):
        text, kind, as_tensor = _text(rnd), rnd.choice(["SGD", "Adam"]), rnd.random() < 0.2
        show(text, kind, as_tensor)
        optimizer = _optimizer(torch, kind, as_tensor)
        schedule = eval(text, {"S": S, "o": optimizer})
        steps = rnd.randint(3, 14)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                _run(torch, show, text, kind, as_tensor, optimizer, schedule, steps)
            except NotImplementedError as error:  # a chain cannot come later in a sequence
                show(type(error).__name__, error)


def texts(torch, show):
    for kind in ("SGD", "Adam", "Rprop", "LBFGS"):
        if kind != "LBFGS":
            show(repr(_optimizer(torch, kind, kind == "Adam")))
        else:
            show(repr(torch.optim.LBFGS([torch.nn.Parameter(torch.ones(1))])))
    first, other = _optimizer(torch, "SGD", False), _optimizer(torch, "SGD", False)
    S = torch.optim.lr_scheduler
    one, two = S.StepLR(first, 1), S.StepLR(other, 1)
    show.failure(lambda: S.SequentialLR(first, [one, two], [3]))
    show.failure(lambda: S.ChainedScheduler([one, two]))
    kinds = [*(getattr(S, name) for name in sorted(S.__all__)), S._LRScheduler]
    show([f"{kind.__module__}.{kind.__qualname__}" for kind in kinds])
    optim = torch.optim
    show([f"{k.__module__}.{k.__qualname__}" for k in (optim.Adafactor, optim.Muon, optim.AdamW)])
