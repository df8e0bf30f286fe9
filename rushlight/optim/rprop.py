"""Resilient backpropagation."""

from __future__ import annotations

import rushlight as torch

from ._stepping import (
    ACCELERATORS_AND_XLA,
    CHOICES,
    SteppingOptimizer,
    check_lr,
    factor,
    kept,
    step_tensor,
    zeros_like,
)


class Rprop(SteppingOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993): only gradients' signs count."""

    _captures_on = (ACCELERATORS_AND_XLA, ACCELERATORS_AND_XLA)
    _group_defaults = CHOICES

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        lr = factor(group["lr"], p)
        state["step"] = step_tensor()
        state["prev"] = zeros_like(p)
        state["step_size"] = torch.full_like(p, complex(lr, lr) if p.is_complex() else lr)

    def _update(self, group, p, grad, state):
        less, more = group["etas"]
        low, high = group["step_sizes"]
        state["step"] += 1
        agreement = grad.mul(kept(state["prev"])).sign()
        turned = agreement.lt(0)
        growth = agreement.masked_fill(agreement.gt(0), more)
        growth = growth.masked_fill(turned, less).masked_fill(agreement.eq(0), 1)
        size = state["step_size"].mul_(growth).clamp_(low, high)
        grad = grad.masked_fill(turned, 0)  # no step right after a change of sign
        p.addcmul_(grad.sign(), kept(size), value=-1)
        state["prev"].copy_(grad)
