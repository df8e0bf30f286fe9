"""Adam and AdamW."""

from __future__ import annotations

import rushlight as torch

from ._stepping import (
    SteppingOptimizer,
    check_fused,
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


def _check_tensor_betas(betas, foreach, capturable):
    for i in (0, 1):
        if isinstance(betas[i], torch.Tensor):
            if not capturable and foreach:
                raise ValueError(
                    f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
                )
            if betas[i].numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
    kinds = {isinstance(beta, torch.Tensor) for beta in betas}
    if len(kinds) > 1:
        raise ValueError("betas must be either both floats or both Tensors")


class Adam(SteppingOptimizer):
    """Adam (Kingma and Ba, 2015), with AMSGrad (Reddi et al., 2018) on request.

    ``foreach``, ``fused`` and ``capturable`` are accepted and make no difference.
    """

    _core_step = core_step("_adam_step")
    _group_defaults = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_lr(lr)
        check_options(eps=eps, betas=betas, weight_decay=weight_decay)
        _check_tensor_betas(betas, foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _states(self, group):
        return (
            "exp_avg",
            "exp_avg_sq",
            "max_exp_avg_sq" if group["amsgrad"] else None,
            "step",
        )

    def _numbers(self, group):
        beta1, beta2 = group["betas"]
        return (
            number(group["lr"]),
            number(beta1),
            number(beta2),
            group["eps"],
            group["weight_decay"],
            group["amsgrad"],
            group["maximize"],
            group["decoupled_weight_decay"],
        )

    def _check_grad(self, p, grad):
        if grad.is_sparse:
            raise RuntimeError(
                "Adam does not support sparse gradients, please consider SparseAdam instead"
            )

    def _start(self, group, p, state):
        state["step"] = step_tensor(fused=group["fused"])
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)

    def _update(self, group, p, grad, state):
        lr, weight_decay = factor(group["lr"], p), factor(group["weight_decay"], p)
        beta1, beta2 = (factor(beta, p) for beta in group["betas"])
        state["step"] += 1
        step = state["step"].item()
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                p.mul_(1 - lr * weight_decay)
            else:
                grad = plus_scaled(grad, kept(p), weight_decay)
        state["exp_avg"].lerp_(grad, 1 - beta1)
        variance = state["exp_avg_sq"].mul_(beta2)
        if isinstance(beta2, torch.Tensor):
            variance.add_(grad * grad * (1 - beta2))
        else:
            variance.addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            variance = largest.copy_(torch.maximum(kept(largest), kept(variance)))
        correction = (1 - beta2**step) ** 0.5
        denominator = variance.sqrt() / correction + group["eps"]
        step_size = lr / (1 - beta1**step)
        if isinstance(step_size, torch.Tensor):
            p.add_(kept(state["exp_avg"]) / denominator * -step_size)
        else:
            p.addcdiv_(kept(state["exp_avg"]), denominator, value=-step_size)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
