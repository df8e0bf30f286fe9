"""States of optimizers after three steps, and three more steps from a state that was loaded."""

from __future__ import annotations

import copy
from pathlib import Path

from . import programs

GOLDEN = Path(__file__).parents[1] / "golden" / "optim"
OURS, THEIRS = GOLDEN / "states_rushlight.pt", GOLDEN / "states_pytorch.pt"
CASES = programs.OPTIMIZERS | {
    "lbfgs": ("LBFGS", {"lr": 0.5, "max_iter": 3}),
    "lbfgs_wolfe": (
        "LBFGS",
        {"lr": 0.5, "max_iter": 3, "line_search_fn": "strong_wolfe", "history_size": 2},
    ),
    "asgd_tensor": ("ASGD", {"lr": "tensor", "lambd": 0.01, "t0": 1}),
    "adam_tensor": ("Adam", {"lr": "tensor", "weight_decay": 0.1}),
}


def _optimizer(torch, name, params):
    kind, options = CASES[name]
    if options.get("lr") == "tensor":
        options = options | {"lr": torch.tensor(0.05, dtype=torch.float64)}
    return getattr(torch.optim, kind)(params, **options)


def _step(torch, optimizer, params, step):
    def closure():
        optimizer.zero_grad()
        loss = sum((p * p).sum() + (p.sin() * (step + 1)).sum() for p in params)
        loss.backward()
        return loss

    if type(optimizer).__name__ == "LBFGS":
        optimizer.step(closure)
    else:
        programs.set_grads(torch, params, step, "float64")
        optimizer.step()


def made(torch) -> dict:
    """By name: the parameters after three steps, and the optimizer's state."""
    found = {}
    for name, (kind, _) in CASES.items():
        params = programs.parameters(torch, "float64", programs.shapes_for(kind))
        optimizer = _optimizer(torch, name, params)
        for step in range(3):
            _step(torch, optimizer, params, step)
        found[name] = {"params": [p.detach() for p in params], "state": optimizer.state_dict()}
    return found


def continued(torch, found: dict) -> dict:
    """By name: the parameters after three more steps of an optimizer that loaded the state."""
    after = {}
    for name, saved in found.items():
        params = [p.clone().requires_grad_() for p in saved["params"]]
        optimizer = _optimizer(torch, name, params)
        optimizer.load_state_dict(copy.deepcopy(saved["state"]))
        for step in range(3, 6):
            _step(torch, optimizer, params, step)
        after[name] = [p.detach() for p in params]
    return after
