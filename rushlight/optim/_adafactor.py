"""Adafactor."""

from __future__ import annotations

import rushlight as torch

from ._stepping import SteppingOptimizer, add_scaled, number, step_tensor


class Adafactor(SteppingOptimizer):
    """Adafactor (Shazeer and Stern, 2018): second moments kept by rows and columns.

    ``eps`` holds the floor of squared gradients (None: the dtype's epsilon) and that of the
    parameter's scale; ``d`` clips the root mean square of an update.
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _check_grad(self, p, grad):
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        super()._check_grad(p, grad)

    def _start(self, group, p, state):
        state["step"] = step_tensor()
        if p.dim() > 1:
            rows, columns = list(p.shape), list(p.shape)
            rows[-1] = columns[-2] = 1
            state["row_var"] = p.new_zeros(rows)
            state["col_var"] = p.new_zeros(columns)
        else:
            state["variance"] = torch.zeros_like(p, memory_format=torch.preserve_format)

    def _update(self, group, p, grad, state):
        lr = number(group["lr"])
        floor, scale_floor = group["eps"]
        if floor is None:
            floor = torch.finfo(p.dtype).eps
        state["step"] += 1
        step = state["step"].item()
        rest = step ** group["beta2_decay"]
        rho = min(lr, 1 / (step**0.5))
        alpha = max(scale_floor, p.norm(2).item() / (p.numel() ** 0.5)) * rho
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        update = _scaled_gradient(grad, state, rest, floor)
        size = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * group["d"]))
        add_scaled(p, update, -alpha / size)


def _scaled_gradient(grad, state, rest, floor):
    """The gradient over the root of its second moment, which moves by ``rest``."""
    if grad.dim() > 1:
        rows, columns = state["row_var"], state["col_var"]
        rows.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), rest)
        columns.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), rest)
        estimate = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=floor))
    else:
        state["variance"].lerp_(grad.square(), rest)
        estimate = state["variance"].clone()
    return estimate.clamp_(min=floor * floor).rsqrt_().mul_(grad)
