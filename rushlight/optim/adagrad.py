"""Adagrad."""

from __future__ import annotations

import rushlight as torch

from ._stepping import (
    SteppingOptimizer,
    check_fused,
    check_lr,
    check_options,
    core_step,
    factor,
    number,
    plus_scaled,
    step_tensor,
)


class Adagrad(SteppingOptimizer):
    """Adaptive subgradients (Duchi et al., 2011): steps shrink as squared gradients add up."""

    _core_step = core_step("_adagrad_step")
    _group_defaults = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_lr(lr)
        if not 0.0 <= lr_decay:
            raise ValueError(f"Invalid lr_decay value: {lr_decay}")
        check_options(weight_decay=weight_decay)
        if not 0.0 <= initial_accumulator_value:
            raise ValueError(
                f"Invalid initial_accumulator_value value: {initial_accumulator_value}"
            )
        check_options(eps=eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        # The sums exist from the start, so that share_memory() can place them.
        for group in self.param_groups:
            for p in group["params"]:
                self._start(group, p, self.state[p])

    def share_memory(self):
        """Move the sums of squares to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _start(self, group, p, state):
        initial = group["initial_accumulator_value"]
        if p.is_complex():
            initial = complex(initial, initial)
        state["step"] = step_tensor(fused=group["fused"])
        state["sum"] = torch.full_like(p, initial, memory_format=torch.preserve_format)

    def _states(self, group):
        return "sum", "step"

    def _numbers(self, group):
        return (
            number(group["lr"]),
            group["lr_decay"],
            group["weight_decay"],
            group["eps"],
            group["maximize"],
        )

    def _update(self, group, p, grad, state):
        state["step"] += 1
        step = state["step"].item()
        if group["weight_decay"] != 0:
            grad = plus_scaled(grad, p, group["weight_decay"])
        lr = factor(group["lr"], p) / (1 + (step - 1) * group["lr_decay"])
        total = state["sum"].addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, total.sqrt() + group["eps"], value=-lr)
