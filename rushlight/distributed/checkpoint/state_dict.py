"""States of models and optimizers whose keys are parameter names, in the one process there is."""

from __future__ import annotations

from dataclasses import dataclass

import rushlight as torch
from rushlight import _absent

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

__getattr__ = _absent.names("distributed.checkpoint.state_dict")
_WRAPPED = ("module.", "_orig_mod.")  # what DataParallel and torch.compile put before a name


@dataclass
class StateDictOptions:
    """How states are taken and set; what concerns several processes changes nothing."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(name: str) -> str:
    for prefix in _WRAPPED:
        name = name.replace(f".{prefix}", ".").removeprefix(prefix)
    return name


def _named(model) -> dict:
    return {_plain(name): p for name, p in model.named_parameters()}


def _optimizers(optimizers) -> tuple:
    return (optimizers,) if isinstance(optimizers, torch.optim.Optimizer) else tuple(optimizers)


def _below(model, submodules) -> list[str] | None:
    """The prefixes of the names below ``submodules``; None where all are meant."""
    if not submodules:
        return None
    return [f"{_plain(n)}." for n, m in model.named_modules() if m in submodules]


def get_model_state_dict(model, *, submodules=None, options=None) -> dict:
    """The model's parameters and buffers by name, of ``submodules`` only where those are given."""
    options = options or StateDictOptions()
    state = model.state_dict()
    prefixes = _below(model, submodules)
    frozen = {n for n, p in _named(model).items() if not p.requires_grad}
    made = {} if prefixes is not None else type(state)()
    for key, value in state.items():
        name = _plain(key)
        if options.ignore_frozen_params and name in frozen:
            continue
        if prefixes is not None:
            prefix = next((p for p in prefixes if name.startswith(p)), None)
            if prefix is None:
                continue
            name = name if options.keep_submodule_prefixes else name.removeprefix(prefix)
        made[name] = value
    return made


def set_model_state_dict(model, model_state_dict: dict, *, options=None):
    """Load what ``get_model_state_dict`` gave; returns the missing and the unexpected keys."""
    options = options or StateDictOptions()
    actual = {_plain(key): key for key in model.state_dict()}
    state = {actual.get(name, name): value for name, value in model_state_dict.items()}
    return model.load_state_dict(state, strict=options.strict)


def _with_state(optimizer) -> None:
    """Give a fresh optimizer its state, by a step of no length with gradients of zero."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for p in params:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = torch.tensor(0.0) if isinstance(rate, torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None) -> dict:
    """The optimizers' states and groups with parameters' names in place of their numbers."""
    options = options or StateDictOptions()
    names = {p: name for name, p in _named(model).items()}
    prefixes = _below(model, submodules)
    made: dict = {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        _with_state(optimizer)
        for group in optimizer.param_groups:
            kept = [p for p in group["params"]
                    if prefixes is None or any(names[p].startswith(x) for x in prefixes)]
            made["state"].update({names[p]: dict(optimizer.state[p])
                                  for p in kept if p in optimizer.state})
            options_of = {key: value for key, value in group.items() if key != "params"}
            made["param_groups"].append({**options_of, "params": [names[p] for p in kept]})
    return _flat(made) if options.flatten_optimizer_state_dict else made


def _flat(state: dict) -> dict:
    made = {f"state.{name}.{key}": value
            for name, entries in state["state"].items() for key, value in entries.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    made[f"param_groups.{name}.{key}"] = value
    return made


def _unflat(optimizer, names: dict, flat: dict) -> dict:
    """The state of one optimizer out of a flat one."""
    made: dict = {"state": {}, "param_groups": []}
    for group in optimizer.param_groups:
        own = {"params": [names[p] for p in group["params"]]}
        for name in own["params"]:
            start = f"state.{name}."
            made["state"][name] = {k[len(start):]: v for k, v in flat.items()
                                   if k.startswith(start)}
            for key in group:
                if (value := flat.get(f"param_groups.{name}.{key}")) is not None:
                    own[key] = value
        made["param_groups"].append({**{k: v for k, v in group.items() if k not in own}, **own})
    return made


def set_optimizer_state_dict(model, optimizers, optim_state_dict: dict, *, options=None) -> None:
    """Load what ``get_optimizer_state_dict`` gave, flat or not.

    Raises:
        RuntimeError: the state lacks the group of a parameter.
    """
    names = {p: name for name, p in _named(model).items()}
    for optimizer in _optimizers(optimizers):
        _with_state(optimizer)
        given = optim_state_dict
        if "param_groups" not in given and given:
            given = _unflat(optimizer, names, given)
        numbered = optimizer.state_dict()
        for group, own in zip(optimizer.param_groups, numbered["param_groups"], strict=True):
            wanted = [names[p] for p in group["params"]]
            found = next((g for g in given.get("param_groups", ())
                          if set(wanted) <= set(g["params"])), None)
            if found is None:
                raise RuntimeError(f"No group of the optimizer state has the parameters {wanted}.")
            own.update({key: value for key, value in found.items() if key != "params"})
            for name, number in zip(wanted, own["params"], strict=True):
                if name in given["state"]:
                    numbered["state"][number] = given["state"][name]
        optimizer.load_state_dict(numbered)


def get_state_dict(model, optimizers, *, submodules=None, options=None) -> tuple[dict, dict]:
    """``get_model_state_dict`` and ``get_optimizer_state_dict`` of the same names."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Set both; returns the model's missing and unexpected keys."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
