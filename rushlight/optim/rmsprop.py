"""RMSprop."""

from __future__ import annotations

from ._stepping import (
    ACCELERATORS_AND_XLA,
    CHOICES,
    SteppingOptimizer,
    add_scaled,
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


class RMSprop(SteppingOptimizer):
    """Gradients over a running root mean square (Hinton's lecture 6e, 2012)."""

    _core_step = core_step("_rmsprop_step")
    _captures_on = (ACCELERATORS_AND_XLA, ACCELERATORS_AND_XLA)
    _group_defaults = {"momentum": 0, "centered": False, **CHOICES}

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_lr(lr)
        check_options(eps=eps)
        if not 0.0 <= momentum:
            raise ValueError(f"Invalid momentum value: {momentum}")
        check_options(weight_decay=weight_decay)
        if not 0.0 <= alpha:
            raise ValueError(f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        state["square_avg"] = zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)

    def _states(self, group):
        return (
            "square_avg",
            "grad_avg" if group["centered"] else None,
            "momentum_buffer" if group["momentum"] > 0 else None,
            "step",
        )

    def _numbers(self, group):
        return (
            number(group["lr"]),
            group["alpha"],
            group["eps"],
            group["weight_decay"],
            group["momentum"],
            group["centered"],
            group["maximize"],
        )

    def _update(self, group, p, grad, state):
        alpha, lr = group["alpha"], factor(group["lr"], p)
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = plus_scaled(grad, p, group["weight_decay"])
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            spread = square.addcmul(kept(mean), kept(mean), value=-1).sqrt()
        else:
            spread = square.sqrt()
        spread = spread + group["eps"]
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, spread)
            add_scaled(p, buffer, -lr)
        else:
            p.addcdiv_(grad, spread, value=-lr)
