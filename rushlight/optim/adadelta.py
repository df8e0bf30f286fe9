"""Adadelta."""

from __future__ import annotations

from ._stepping import (
    ACCELERATORS,
    CHOICES,
    SteppingOptimizer,
    check_lr,
    check_options,
    core_step,
    factor,
    number,
    plus_scaled,
    rounded,
    step_tensor,
    zeros_like,
)


class Adadelta(SteppingOptimizer):
    """Adadelta (Zeiler, 2012): steps scaled by the size of earlier steps."""

    _core_step = core_step("_adadelta_step")
    _captures_on = (ACCELERATORS, ACCELERATORS)
    _group_defaults = CHOICES

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        state["square_avg"] = zeros_like(p)
        state["acc_delta"] = zeros_like(p)

    def _states(self, group):
        return "square_avg", "acc_delta", "step"

    def _numbers(self, group):
        return (
            number(group["lr"]),
            group["rho"],
            group["eps"],
            group["weight_decay"],
            group["maximize"],
        )

    def _update(self, group, p, grad, state):
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = plus_scaled(grad, p, group["weight_decay"])
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        past = state["acc_delta"]
        delta = past.add(eps).sqrt() / square.add(eps).sqrt() * grad
        past.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=rounded(-factor(group["lr"], p), p))
