"""Optimizers that update one parameter at a time, or all of a group by one call of the core."""

from __future__ import annotations

import rushlight as torch
from rushlight import _C
from rushlight.utils._foreach_utils import _get_fused_kernels_supported_devices

from .optimizer import Optimizer, _get_capturable_supported_devices

HALVES = (torch.float16, torch.bfloat16)

# How to step, as nearly every optimizer may be told; older checkpoints lack these options.
CHOICES = {
    "foreach": None,
    "maximize": False,
    "differentiable": False,
    "capturable": False,
}

ACCELERATORS = _get_capturable_supported_devices(supports_xla=False)
ACCELERATORS_AND_XLA = _get_capturable_supported_devices()


def core_step(name):
    """The core's step over lists of tensors: the arrays first, then the numbers."""
    step = _C._ops_table[name]

    def call(*args):
        with _C._NoGrad():  # parameters are leaves: recorded, a change in place would be refused
            step(*args)

    return staticmethod(call)


def check_lr(lr):
    """Raise unless ``lr`` is a number >= 0 or a tensor of one element."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_options(eps=None, betas=None, weight_decay=None):
    """Raise PyTorch's ValueError for an option out of its range."""
    if eps is not None and not 0.0 <= eps:
        raise ValueError(f"Invalid epsilon value: {eps}")
    if betas is not None:
        for i in (0, 1):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
    if weight_decay is not None and not 0.0 <= weight_decay:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")


def check_fused(fused, foreach, differentiable):
    """Raise for choices of implementation that exclude each other."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def number(value):
    """A Python number from a number or a tensor of one element."""
    return value.item() if isinstance(value, torch.Tensor) else value


def factor(value, p):
    """A number; where its gradient is recorded, a tensor () of the parameter's dtype."""
    if isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
        return value.squeeze().to(p.dtype)
    return number(value)


def add_scaled(tensor, other, by):
    """Add ``other * by`` to the tensor in place; ``by`` is a number or a tensor."""
    if isinstance(by, torch.Tensor):
        return tensor.add_(other * by)
    return tensor.add_(other, alpha=rounded(by, tensor))


def plus_scaled(tensor, other, by):
    """``tensor + other * by``; ``by`` is a number or a tensor."""
    if isinstance(by, torch.Tensor):
        return tensor + other * by
    return tensor.add(other, alpha=rounded(by, tensor))


def rounded(factor, tensor):
    """The number as PyTorch's sums of halves take it: in the tensor's own dtype."""
    if tensor.dtype in HALVES and not isinstance(factor, torch.Tensor):
        return torch.tensor(factor, dtype=tensor.dtype).item()
    return factor


def check_fused_dtypes(group):
    """Raise for a parameter to update that PyTorch's fused steps do not take."""
    for p in group["params"]:
        if p.grad is not None and not p.is_floating_point():
            kinds = _get_fused_kernels_supported_devices()
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported "
                f"devices: {kinds} but {p.dtype} and {p.device.type}"
            )


def has_halves(group):
    """Whether a group steps as tensor ops do, each of which rounds its result to the dtype."""
    return not group.get("fused") and any(p.dtype in HALVES for p in group["params"])


def kept(state):
    """A state as it is now: where gradients are recorded, later steps must not change it."""
    return state.clone() if torch.is_grad_enabled() else state


def step_tensor(value=0.0, fused=None):
    """A counter of steps as PyTorch keeps it: a tensor (), float64 where that is the default."""
    wide = torch.get_default_dtype() == torch.float64 and not fused
    return torch.tensor(float(value), dtype=torch.float64 if wide else torch.float32)


def zeros_like(p):
    """A state of zeros in the parameter's own memory order."""
    return torch.zeros_like(p, memory_format=torch.preserve_format)


class SteppingOptimizer(Optimizer):
    """An optimizer whose step treats each parameter that has a gradient by itself.

    Subclasses give `_start` (fill an empty state) and `_update` (one parameter, by tensor ops,
    without recording gradients unless the group is differentiable). Where the core has a step for a
    whole list, they name it, the states that it takes and its numbers.
    """

    _core_step = None
    _group_defaults = {}  # options that older checkpoints lack
    # What capturable=True wants on an accelerator, and on which: one by one, and over lists.
    _captured = ("params and state_steps", "params and state_steps")
    _captures_on = (ACCELERATORS_AND_XLA, ACCELERATORS)
    _keeps_step = True

    def step(self, closure=None):
        """Update the parameters once.

        Args:
            closure: re-evaluates the model and returns the loss.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._update_group(group)
        return loss

    step = Optimizer.profile_hook_step(step)

    def _update_group(self, group):
        if group.get("capturable"):
            self._refuse_capture(group)
        if group.get("fused"):
            check_fused_dtypes(group)
        if self._core_step is None or group["differentiable"] or has_halves(group):
            with torch.enable_grad() if group.get("differentiable") else torch.no_grad():
                return self._update_each(group)
        params, grads, states = self._lists(group, self._states(group))
        if params:
            self._core_step(params, grads, *states, *self._numbers(group))

    def _refuse_capture(self, group):
        if group.get("fused") or all(p.grad is None for p in group["params"]):
            return
        lists = bool(group["foreach"])
        raise AssertionError(
            f"If capturable=True, {self._captured[lists]} must be on supported devices: "
            f"{self._captures_on[lists]}."
        )

    def _states(self, group):
        """Names of the states in the order of the core's step; None for one that is not kept."""
        raise NotImplementedError

    def _numbers(self, group):
        """What the core's step takes after its lists."""
        raise NotImplementedError

    def _update_each(self, group):
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            self._check_grad(p, grad)
            state = self.state[p]
            if not state:
                self._start(group, p, state)
            if group.get("maximize"):
                grad = -grad
            if p.is_complex():
                self._update_complex(group, p, grad, state)
            else:
                self._update(group, p, grad, state)

    def _update_complex(self, group, p, grad, state):
        """Update real and imaginary parts as numbers of their own."""
        real = {
            key: torch.view_as_real(value)
            if isinstance(value, torch.Tensor) and value.is_complex()
            else value
            for key, value in state.items()
        }
        before = dict(real)
        self._update(group, torch.view_as_real(p), torch.view_as_real(grad), real)
        for key, value in real.items():
            if value is not before.get(key):
                has_parts = isinstance(value, torch.Tensor) and value.dim() == p.dim() + 1
                state[key] = torch.view_as_complex(value) if has_parts else value

    def _check_grad(self, p, grad):
        if grad.is_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _lists(self, group, names):
        """Parameters that have gradients, these, and the states by name, as lists."""
        params, grads, states = [], [], []
        all_states = self.state
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            state = all_states[p]
            if not state:
                self._check_grad(p, grad)
                self._start(group, p, state)
            params.append(p)
            grads.append(grad)
            states.append(state)
        return params, grads, [[s[name] for s in states] if name else [] for name in names]

    def _start(self, group, p, state):
        raise NotImplementedError

    def _update(self, group, p, grad, state):
        raise NotImplementedError

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for key, value in self._group_defaults.items():
                group.setdefault(key, value)
            if not self._keeps_step:
                continue
            for p in group["params"]:
                # Checkpoints of old keep the step as a number.
                p_state = self.state.get(p) or {}
                if "step" in p_state and not isinstance(p_state["step"], torch.Tensor):
                    p_state["step"] = step_tensor(p_state["step"])
