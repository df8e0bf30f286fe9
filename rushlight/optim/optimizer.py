"""What every optimizer shares: parameter groups, state, hooks and checkpoints."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable

import rushlight as torch
from rushlight._ranges import record_function, recordings

ParamsT = Iterable  # of tensors, of dicts with "params", or of (name, tensor) pairs


class _RequiredParameter:
    """Marks an option that every parameter group has to state."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()

_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()


def _register(hooks, hook, prepend=False):
    from rushlight.utils.hooks import RemovableHandle

    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimizer."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return _register(_global_optimizer_post_hooks, hook)


def _run_with_hooks(func, args, kwargs):
    self = args[0]
    for hooks in (_global_optimizer_pre_hooks, self._optimizer_step_pre_hooks):
        for hook in list(hooks.values()):
            result = hook(self, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"{func} must return None or a tuple of (new_args, new_kwargs), "
                    f"but got {result}."
                )
            args, kwargs = result
    out = func(*args, **kwargs)
    for hooks in (self._optimizer_step_post_hooks, _global_optimizer_post_hooks):
        for hook in list(hooks.values()):
            hook(self, args, kwargs)
    return out


def _use_grad_for_differentiable(func):
    """Run a step with gradients recorded only if the optimizer is differentiable."""

    def step(self, *args, **kwargs):
        # Of the core, so that no signal's handler raises between a switch and its way back.
        with torch.enable_grad() if self.defaults["differentiable"] else torch.no_grad():
            return func(self, *args, **kwargs)

    step.__name__ = func.__name__
    step.__doc__ = func.__doc__
    return step


def _get_capturable_supported_devices(supports_xla=True) -> list:
    """Kinds of devices on which a step can be captured in a graph: not the CPU."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(params, differentiable: bool, use_fused: bool = False) -> tuple:
    """(fused, foreach) where the program chose neither: fused if asked, never foreach on a CPU."""
    fused = use_fused and not differentiable and all(
        p is None or (type(p) in (torch.Tensor, torch.nn.Parameter) and p.device.type == "cpu"
                      and torch.is_floating_point(p))
        for p in params
    )  # fmt: skip
    return fused, False


def _as_list(params):
    if isinstance(params, torch.Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering "
            "of tensors in sets will change between runs. Please use a list instead."
        )
    return list(params)


def _split_names(param_group):
    """Move the names of (name, tensor) pairs to the group's ``param_names``."""
    params, names = [], []
    for param in param_group["params"]:
        if isinstance(param, tuple):
            names.append(param[0])
            params.append(param[1])
        else:
            params.append(param)
    param_group["params"] = params
    if names:
        if len(names) != len(params):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        param_group["param_names"] = names


class Optimizer:
    """Base of all optimizers.

    Args:
        params: tensors, (name, tensor) pairs, or dicts that define parameter groups.
        defaults: the options of groups that do not state their own.
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._make_hooks()
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                "dicts, but got " + torch.typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        param_groups = list(params)
        if len(param_groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(param_groups[0], dict):
            param_groups = [{"params": param_groups}]
        for param_group in param_groups:
            self.add_param_group(param_group)

    def _make_hooks(self):
        for kind in ("step", "state_dict", "load_state_dict"):
            for when in ("pre", "post"):
                self.__dict__.setdefault(f"_optimizer_{kind}_{when}_hooks", OrderedDict())

    @staticmethod
    def profile_hook_step(func):
        """Wrap a step so that it runs the registered hooks."""

        def wrapper(*args, **kwargs):
            self = args[0]
            if recordings:
                kind = type(self).__name__
                with record_function(f"Optimizer.step#{kind}.step"):
                    return _run_with_hooks(func, args, kwargs)
            if (
                self._optimizer_step_pre_hooks
                or self._optimizer_step_post_hooks
                or _global_optimizer_pre_hooks
                or _global_optimizer_post_hooks
            ):
                return _run_with_hooks(func, args, kwargs)
            return func(*args, **kwargs)

        wrapper.__name__ = func.__name__
        wrapper.__qualname__ = func.__qualname__
        wrapper.__doc__ = func.__doc__
        wrapper.__module__ = func.__module__
        wrapper.__wrapped__ = func
        wrapper.hooked = True
        return wrapper

    def _patch_step_function(self):
        kind = type(self)
        if not getattr(kind.step, "hooked", None):
            kind.step = self.profile_hook_step(kind.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make_hooks()
        self._patch_step_function()
        self.__dict__.setdefault("defaults", {}).setdefault("differentiable", False)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            options = sorted(key for key in group if key != "params")
            text += "".join(f"    {key}: {group[key]}\n" for key in options)
        return text + ")"

    def step(self, closure=None):
        """Update the parameters once.

        Args:
            closure: re-evaluates the model and returns the loss.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or fill them with zero."""
        if recordings:
            kind = type(self).__name__
            with record_function(f"Optimizer.zero_grad#{kind}.zero_grad"):
                self._clear_gradients(set_to_none)
        else:
            self._clear_gradients(set_to_none)

    def _clear_gradients(self, set_to_none):
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def add_param_group(self, param_group):
        """Add a parameter group, a dict with ``params`` and any options of its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        param_group["params"] = _as_list(param_group["params"])
        _split_names(param_group)
        for param in param_group["params"]:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    + torch.typename(param)
                )
            if not self.defaults.get("differentiable") and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    + name
                )
            param_group.setdefault(name, default)
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def _check_group(self, param_group):
        ids = {id(p) for p in param_group["params"]}
        if len(ids) != len(param_group["params"]):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=4,
            )
        named = "param_names" in param_group
        for group in self.param_groups:
            if any(id(p) in ids for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
            if ("param_names" in group) != named:
                text = "with names" if named else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {text} to the optimizer"
                )

    # Hooks

    def register_step_pre_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ones."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call ``hook(optimizer)`` before `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; it may return another."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call ``hook(optimizer)`` after `load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Checkpoints

    def state_dict(self):
        """Return ``{"state": ..., "param_groups": ...}`` with parameters named by their index."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                index.setdefault(id(p), len(index))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [index[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            (index[id(key)] if isinstance(key, torch.Tensor) else key): value
            for key, value in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        """Give a loaded tensor the dtype and device of its parameter; steps stay on the CPU."""
        if key == "step":
            for group in param_groups:
                if param_id in group["params"] and (group.get("capturable") or group.get("fused")):
                    return value.to(dtype=torch.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def _cast_loaded(self, param, value, param_id, groups, key=None):
        if isinstance(value, torch.Tensor):
            return self._process_value_according_to_param_policy(
                param, value, param_id, groups, key
            )
        if isinstance(value, dict):
            return {k: self._cast_loaded(param, v, param_id, groups, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._cast_loaded(param, v, param_id, groups) for v in value)
        return value

    def load_state_dict(self, state_dict):
        """Take over the options and state that `state_dict` returned, here or in PyTorch."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        from copy import deepcopy

        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        params = {}
        for group, saved in zip(groups, saved_groups):
            params.update(zip(saved["params"], group["params"]))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                param = params[key]
                state[param] = self._cast_loaded(param, value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, saved in zip(groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)
