"""Averaged stochastic gradient descent."""

from __future__ import annotations

import rushlight as torch

from ._stepping import (
    CHOICES,
    SteppingOptimizer,
    add_scaled,
    check_lr,
    check_options,
    number,
    plus_scaled,
    step_tensor,
    zeros_like,
)


class ASGD(SteppingOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992); ``ax`` is the average."""

    _captured = ("params, mus, etas, and state_steps",) * 2
    _group_defaults = CHOICES

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_options(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        state["eta"] = step_tensor(number(group["lr"]))
        state["mu"] = step_tensor(1.0)
        state["ax"] = zeros_like(p)

    def _update(self, group, p, grad, state):
        lr, lambd = group["lr"], group["lambd"]
        if isinstance(lr, torch.Tensor):
            lr = lr.detach().squeeze()
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            grad = plus_scaled(grad, p, group["weight_decay"])
        eta = state["eta"].item()
        mu = state["mu"].item()
        p.mul_(1 - lambd * eta)
        add_scaled(p, grad, -eta)
        average = state["ax"]
        if mu == 1:
            average.copy_(p)
        else:
            average.add_(p.sub(average).mul_(mu))
        # In the dtype of what is kept, by way of that of the rate: a loaded state may be float64.
        state["eta"].copy_(torch.as_tensor(lr / ((1 + lambd * lr * step) ** group["alpha"])))
        state["mu"].copy_(torch.as_tensor(1 / max(1, step - group["t0"])))
