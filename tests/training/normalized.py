"""Weights under norms, parametrizations and masks, and averaged models: shown in full."""

from __future__ import annotations

import copy
import math
import random
import warnings
from importlib import import_module


def _wave(torch, *shape):
    values = [math.sin(1.7 * k) for k in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def _plain(value):
    if hasattr(value, "detach"):
        numbers = " ".join(f"{x:.9g}" for x in value.detach().flatten().tolist())
        return f"{type(value).__name__}{list(value.shape)}{value.requires_grad} {numbers}"
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _shown(show, label, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            show(label, _plain(call()))
        except Exception as error:
            show(label, type(error).__name__, str(error)[:200])


def _modules(torch):
    nn = torch.nn
    return {
        "Linear(4, 3)": (lambda: nn.Linear(4, 3), (2, 4)),
        "Linear(3, 4)": (lambda: nn.Linear(3, 4), (2, 3)),
        "Conv2d": (lambda: nn.Conv2d(2, 4, 3), (1, 2, 5, 5)),
        "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 4, 3), (1, 2, 5, 5)),
        "Conv1d": (lambda: nn.Conv1d(4, 4, 3, groups=2), (1, 4, 5)),
    }


def _used(torch, module, shape):
    result = module(_wave(torch, *shape))
    result.sum().backward()
    gradients = {name: p.grad for name, p in module.named_parameters()}
    module.zero_grad()
    return result, gradients


NORMS = """
U.weight_norm(m); U.weight_norm(m, dim=1); U.weight_norm(m, dim=None); U.spectral_norm(m)
U.spectral_norm(m, "weight", 3, 1e-6, 1); P.weight_norm(m); P.weight_norm(m, dim=1)
P.weight_norm(m, dim=None); P.spectral_norm(m); P.spectral_norm(m, "weight", 4, 1e-8, 1)
P.orthogonal(m); P.orthogonal(m, "weight", "cayley"); P.orthogonal(m, "weight", "householder")
P.orthogonal(m, orthogonal_map="matrix_exp", use_trivialization=False)
"""


def norms(torch, show):
    torch.set_default_dtype(torch.float64)
    try:
        _each_norm(show, torch)
    finally:
        torch.set_default_dtype(torch.float32)


def _each_norm(show, torch):
    names = {"P": import_module(f"{torch.__name__}.nn.utils.parametrizations")}
    names["U"] = torch.nn.utils
    for kind, (make, shape) in _modules(torch).items():
        for text in NORMS.strip().replace("\n", "; ").split("; "):
            show(kind, text)
            torch.manual_seed(3)
            module = make()
            _shown(show, "made", lambda m=module, t=text: eval(t, names, {"m": m}) is m)
            _shown(show, "state", module.state_dict)
            for _ in range(2):
                _shown(show, "used", lambda m=module, s=shape: _used(torch, m, s))
            _shown(show, "evaluated", lambda m=module, s=shape: _used(torch, m.eval(), s))
            twin = make()
            _shown(show, "twin", lambda m=twin, t=text: eval(t, names, {"m": m}) is m)
            _shown(show, "loaded", lambda a=twin, b=module: a.load_state_dict(b.state_dict()))
            _shown(show, "twin", twin.state_dict)


def prunings(torch, show):
    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    rnd = random.Random(5)
    methods = {
        "random": lambda m: prune.random_unstructured(m, "weight", rnd.choice([0.3, 3, 0, 1.0])),
        "l1": lambda m: prune.l1_unstructured(m, "weight", rnd.choice([0.5, 2])),
        "scored": lambda m: prune.l1_unstructured(
            m, "weight", 2, importance_scores=_wave(torch, *m.weight.shape).cos()
        ),
        "rows": lambda m: prune.random_structured(m, "weight", rnd.choice([0.4, 1]), dim=-1),
        "norms": lambda m: prune.ln_structured(
            m, "weight", 0.5, n=rnd.choice([1, 2, math.inf, "fro"]), dim=0
        ),
        "mask": lambda m: prune.custom_from_mask(m, "weight", _wave(torch, *m.weight.shape) > 0),
        "identity": lambda m: prune.identity(m, "weight"),
        "all": lambda m: prune.global_unstructured(
            [(m, "weight"), (m, "bias")], prune.L1Unstructured, amount=rnd.choice([3, 0.4])
        ),
        "remove": lambda m: prune.remove(m, "weight"),
    }
    for trial in range(40):
        kind, (make, shape) = rnd.choice(list(_modules(torch).items()))
        torch.manual_seed(trial)
        module = make().double()
        show(trial, kind)
        for _ in range(rnd.randint(1, 4)):
            name = rnd.choice(list(methods))
            _shown(show, name, lambda m=module, n=name: type(methods[n](m)).__name__)
            _shown(show, "state", module.state_dict)
            _shown(show, "used", lambda m=module, s=shape: _used(torch, m, s))
            hooks = [type(hook).__name__ for hook in module._forward_pre_hooks.values()]
            show(prune.is_pruned(module), hooks)


def averages(torch, show):
    swa = torch.optim.swa_utils
    kinds = {
        "mean": {}, "ema": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
        "own": {"avg_fn": lambda a, p, n: (a * n + 2 * p) / (n + 2)},
        "single": {"avg_fn": swa.get_ema_avg_fn(0.8)},
    }  # fmt: skip
    for name, options in kinds.items():
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
        averaged = swa.AveragedModel(model, use_buffers=name == "own", **options)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        schedule = swa.SWALR(optimizer, 0.02, 3, "linear" if name == "ema" else "cos")
        for step in range(5):
            optimizer.zero_grad()
            model(_wave(torch, 4, 3) * (step + 1)).pow(2).sum().backward()
            optimizer.step()
            schedule.step()
            _shown(show, name, lambda a=averaged, m=model: a.update_parameters(m))
            _shown(show, schedule.get_last_lr(), averaged.state_dict)
        batches = [_wave(torch, 4, 3) * k for k in (1, 2, 3)]
        _shown(show, "update", lambda b=batches, a=averaged: swa.update_bn(b, a))
        _shown(show, "after", averaged.state_dict)


def names_that_stay(torch, show):
    """Functions that a module of the same name must not hide."""
    utils = torch.nn.utils
    for name in ("weight_norm", "spectral_norm"):
        import_module(f"{torch.__name__}.nn.utils.{name}")
        show(name, callable(getattr(utils, name)))
    torch.manual_seed(0)
    module = utils.spectral_norm(torch.nn.Linear(2, 2))
    show(copy.deepcopy(utils.remove_spectral_norm(module)))


def recurrent(torch, show):
    """A computed weight is asked for several times per call: each is a power iteration."""
    parametrizations = import_module(f"{torch.__name__}.nn.utils.parametrizations")
    for kind in ("RNN", "GRU", "LSTM"):
        torch.manual_seed(0)
        module = getattr(torch.nn, kind)(3, 4, 2).double()
        for name in ("weight_hh_l0", "weight_ih_l1"):
            parametrizations.spectral_norm(module, name)
        for _ in range(2):
            result = module(_wave(torch, 5, 2, 3))[0]
        result.sum().backward()
        show(kind, _plain(result))
        show(_plain({name: p.grad for name, p in module.named_parameters()}))
        _shown(show, "state", module.state_dict)
