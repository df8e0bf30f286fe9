"""Adam with Nesterov momentum."""

from __future__ import annotations

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


class NAdam(SteppingOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016); the momentum itself follows a schedule."""

    _core_step = core_step("_nadam_step")
    _captured = (
        "params, mu_products and state_steps",
        "params, mu_products, and state_steps",
    )
    _group_defaults = {**CHOICES, "decoupled_weight_decay": False}

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_lr(lr)
        check_options(eps=eps, betas=betas, weight_decay=weight_decay)
        if not 0.0 <= momentum_decay:
            raise ValueError(f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        state["mu_product"] = step_tensor(1.0)
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _states(self, group):
        return "exp_avg", "exp_avg_sq", "mu_product", "step"

    def _numbers(self, group):
        return (
            number(group["lr"]),
            *group["betas"],
            group["eps"],
            group["weight_decay"],
            group["momentum_decay"],
            group["maximize"],
            group["decoupled_weight_decay"],
        )

    def _update(self, group, p, grad, state):
        lr, decay = factor(group["lr"], p), group["momentum_decay"]
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
            else:
                grad = plus_scaled(grad, p, group["weight_decay"])
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * decay)))
        state["mu_product"] *= mu
        product = state["mu_product"].item()
        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        variance = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = variance.div(1 - beta2**step).sqrt() + group["eps"]
        p.addcdiv_(grad, denominator, value=-lr * (1.0 - mu) / (1.0 - product))
        p.addcdiv_(kept(exp_avg), denominator, value=-lr * mu_next / (1.0 - product * mu_next))
