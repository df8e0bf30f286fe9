"""Stochastic gradient descent."""

from __future__ import annotations

from ._stepping import (
    SteppingOptimizer,
    add_scaled,
    check_fused,
    check_fused_dtypes,
    check_lr,
    check_options,
    core_step,
    factor,
    has_halves,
    kept,
    number,
    plus_scaled,
    zeros_like,
)


class SGD(SteppingOptimizer):
    """Stochastic gradient descent with momentum, dampening and Nesterov's correction.

    The first momentum buffer is the first gradient itself (Sutskever et al., 2013, up to the
    place of the learning rate). ``foreach`` and ``fused`` are accepted and make no difference.
    """

    _core_step = core_step("_sgd_step")
    _group_defaults = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }
    _keeps_step = False

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        if not isinstance(lr, float) or lr == lr:  # NaN passes, here and nowhere else
            check_lr(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        check_options(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _update_group(self, group):
        if group["fused"]:
            check_fused_dtypes(group)
        if group["differentiable"] or has_halves(group):
            return super()._update_group(group)
        params, grads, buffers = [], [], []
        state = self.state if group["momentum"] != 0 else None
        fresh = None
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            params.append(p)
            grads.append(grad)
            if state is not None:
                buffer = state[p].get("momentum_buffer")
                if buffer is None:
                    fresh = True
                buffers.append(buffer)
        if not params:
            return None
        if fresh:
            return self._first_step(group, params, grads, buffers)
        self._call(group, params, grads, buffers, False)

    def _call(self, group, params, grads, buffers, first):
        self._core_step(
            params,
            grads,
            buffers,
            number(group["lr"]),
            group["momentum"],
            group["dampening"],
            number(group["weight_decay"]),
            group["nesterov"],
            group["maximize"],
            first,
        )

    def _first_step(self, group, params, grads, buffers):
        """Parameters that have no buffer yet, apart from those that have."""
        missing = [i for i, buffer in enumerate(buffers) if buffer is None]
        for i in missing:
            buffers[i] = self.state[params[i]]["momentum_buffer"] = zeros_like(params[i])
        absent = set(missing)
        present = [i for i in range(len(params)) if i not in absent]
        for rows, first in ((missing, True), (present, False)):
            if rows:
                self._call(
                    group,
                    [params[i] for i in rows],
                    [grads[i] for i in rows],
                    [buffers[i] for i in rows],
                    first,
                )

    def _update_each(self, group):
        momentum = group["momentum"]
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            weight_decay, lr = factor(group["weight_decay"], p), factor(group["lr"], p)
            if group["maximize"]:
                grad = -grad
            if weight_decay != 0:
                grad = plus_scaled(grad, kept(p), weight_decay)
            if momentum != 0:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = grad.detach().clone()
                else:
                    add_scaled(buffer.mul_(momentum), grad, 1 - group["dampening"])
                nesterov = group["nesterov"]
                grad = plus_scaled(grad, buffer, momentum) if nesterov else buffer
            add_scaled(p, kept(grad), -lr)
