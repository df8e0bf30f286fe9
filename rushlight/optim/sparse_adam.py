"""SparseAdam, which has no gradients to work on: sparse layouts are left out."""

from __future__ import annotations

from ._stepping import SteppingOptimizer, check_lr


class SparseAdam(SteppingOptimizer):
    """Adam over the rows of sparse gradients; any dense gradient is refused, as in PyTorch."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i in (0, 1):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        complex_params = [
            [i for i, p in enumerate(group["params"]) if p.is_complex()]
            for group in self.param_groups
        ]
        for indices in complex_params:
            if indices:
                raise ValueError(
                    f"Complex params at indices {indices}: SparseAdam does not support complex "
                    "parameters"
                )

    def _check_grad(self, p, grad):
        raise RuntimeError(
            "SparseAdam does not support dense gradients, please consider Adam instead"
        )
