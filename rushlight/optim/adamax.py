"""Adam by the infinity norm."""

from __future__ import annotations

import rushlight as torch

from ._stepping import (
    CHOICES,
    SteppingOptimizer,
    check_lr,
    check_options,
    core_step,
    factor,
    kept,
    number,
    plus_scaled,
    step_tensor,
    zeros_like,
)


class Adamax(SteppingOptimizer):
    """Adam by the infinity norm (Kingma and Ba, 2015, section 7.1)."""

    _core_step = core_step("_adamax_step")
    _group_defaults = CHOICES

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_lr(lr)
        check_options(eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        state["exp_avg"] = zeros_like(p)
        state["exp_inf"] = zeros_like(p)

    def _states(self, group):
        return "exp_avg", "exp_inf", "step"

    def _numbers(self, group):
        return (
            number(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _update(self, group, p, grad, state):
        beta1, beta2 = group["betas"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = plus_scaled(grad, p, group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        exp_inf = state["exp_inf"].mul_(beta2)
        exp_inf.copy_(torch.maximum(kept(exp_inf), grad.abs() + group["eps"]))
        step_size = factor(group["lr"], p) / (1 - beta1 ** state["step"].item())
        p.addcdiv_(kept(state["exp_avg"]), kept(exp_inf), value=-step_size)
