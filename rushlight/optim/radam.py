"""Adam with a rectified step."""

from __future__ import annotations

from ._stepping import (
    CHOICES,
    SteppingOptimizer,
    check_lr,
    check_options,
    core_step,
    factor,
    number,
    plus_scaled,
    step_tensor,
    zeros_like,
)


class RAdam(SteppingOptimizer):
    """Rectified Adam (Liu et al., 2020): plain momentum until the variance can be trusted."""

    _core_step = core_step("_radam_step")
    _group_defaults = {**CHOICES, "decoupled_weight_decay": False}

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check_options(eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _states(self, group):
        return "exp_avg", "exp_avg_sq", "step"

    def _numbers(self, group):
        return (
            number(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
            group["decoupled_weight_decay"],
        )

    def _update(self, group, p, grad, state):
        lr = factor(group["lr"], p)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
            else:
                grad = plus_scaled(grad, p, group["weight_decay"])
        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        variance = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        update = exp_avg / (1 - beta1**step) * lr
        correction2 = 1 - beta2**step
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * (beta2**step) / correction2
        if rho > 5.0:
            rectification = (
                (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)
            ) ** 0.5
            adaptive = (correction2**0.5) / (variance.sqrt() + group["eps"])
            update = update * adaptive * rectification
        p.add_(update, alpha=-1.0)
