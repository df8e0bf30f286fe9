"""Weight averaging: models that follow others, and the schedule that goes with them."""

from __future__ import annotations

import math
from copy import deepcopy

import rushlight as torch
from rushlight.nn import Module

from ._lr_base import LRScheduler, format_param

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_multi_avg_fn(decay=0.999):
    """Return a function that moves a list of tensors towards another, exponentially."""
    _check_decay(decay)

    def ema_update(ema_param_list, current_param_list, _):
        with torch.no_grad():
            for ema, current in zip(ema_param_list, current_param_list):
                if ema.is_floating_point() or ema.is_complex():
                    ema.lerp_(current, 1 - decay)
                else:
                    ema.copy_(ema * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn():
    """Return a function that adds a list of tensors to a running mean."""

    def swa_update(averaged_param_list, current_param_list, num_averaged):
        average = get_swa_avg_fn()
        with torch.no_grad():
            for averaged, current in zip(averaged_param_list, current_param_list):
                averaged.copy_(average(averaged, current, num_averaged))

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """Return the exponential moving average of one tensor and another."""
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with torch.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """Return the running mean of one tensor and another."""

    def swa_update(averaged_param, current_param, num_averaged):
        with torch.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A model whose parameters follow the average of another's.

    Args:
        model: the model to follow; it is copied.
        device: where the average lives.
        avg_fn: ``avg_fn(averaged, current, num_averaged)`` for one tensor.
        multi_avg_fn: the same for lists of tensors, in place.
        use_buffers: average the buffers too, else copy them.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _followed(self, module):
        tensors = list(module.parameters())
        return tensors + list(module.buffers()) if self.use_buffers else tensors

    def update_parameters(self, model):
        """Take the present parameters of ``model`` into the average."""
        averaged = [p.detach() for p in self._followed(self.module)]
        current = [p.detach().to(a.device) for a, p in zip(averaged, self._followed(model))]
        if self.n_averaged == 0:
            for a, p in zip(averaged, current):
                a.copy_(p)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(averaged, current, self.n_averaged.to(averaged[0].device))
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for a, p in zip(averaged, current):
                a.copy_(average(a, p, self.n_averaged.to(a.device)))
        if not self.use_buffers:
            for a, p in zip(self.module.buffers(), model.buffers()):
                a.detach().copy_(p.detach().to(a.device))
        self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Set the running statistics of batch norms from one pass over ``loader``."""
    with torch.no_grad():
        momenta = {}
        for module in model.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                module.reset_running_stats()
                momenta[module] = module.momentum
        if not momenta:
            return
        was_training = model.training
        model.train()
        for module in momenta:
            module.momentum = None  # a cumulative average
        for item in loader:
            if isinstance(item, (list, tuple)):
                item = item[0]
            if device is not None:
                item = item.to(device)
            model(item)
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Anneal each group's learning rate to ``swa_lr`` over ``anneal_epochs``, then keep it."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for lr, group in zip(format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, t):
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._share(max(0, min(1, (step - 1) / max(1, self.anneal_epochs))))
        now = self._share(max(0, min(1, step / max(1, self.anneal_epochs))))
        values = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            # The learning rate that annealing began from, worked back from the present one.
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            values.append(target * now + start * (1 - now))
        return values
