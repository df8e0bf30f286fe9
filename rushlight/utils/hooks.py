"""Handles that remove a hook, and the machinery behind a module's full backward hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict

import rushlight as torch

_BACKWARD_HOOK_NODE = "BackwardHookFunctionBackward"


class RemovableHandle:
    """Removes a hook from the dictionary that holds it; also a context manager.

    ``extra_dict`` (one dictionary or a list of them) loses the same id.
    """

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if isinstance(extra_dict, list):
            self.extra_dict_ref = tuple(weakref.ref(d) for d in extra_dict)
        elif extra_dict is not None:
            self.extra_dict_ref = (weakref.ref(extra_dict),)
        else:
            self.extra_dict_ref = ()

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state) -> None:
        hooks, self.id = state[0], state[1]
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        extra = state[2] if len(state) > 2 and state[2] else ()
        self.extra_dict_ref = tuple(
            weakref.ref(OrderedDict() if d is None else d) for d in extra
        )
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, exc_type, value, tb) -> None:
        self.remove()


class _InCore:
    """The place of a hook in the core, as far as a RemovableHandle looks: something to pop from."""

    __slots__ = ("__weakref__", "_registered", "_remove")

    def __init__(self, registered, remove):
        self._registered, self._remove = registered, remove

    def pop(self, key, default=None):
        """Removes the hook; a second call does nothing."""
        registered, self._registered = self._registered, None
        if registered is not None:
            self._remove(registered)


def handle_in_core(registered, remove) -> RemovableHandle:
    """The handle of a hook that the core holds as ``registered`` and that ``remove`` removes."""
    place = _InCore(registered, remove)
    handle = RemovableHandle(place)
    handle._place = place  # which the handle itself refers to weakly
    return handle


def unserializable_hook(f):
    """Mark ``f`` so that saving a tensor that carries it warns."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor) -> None:
    """Warn about the backward hooks of ``tensor`` that will not be saved with it."""
    hooks = getattr(tensor, "_backward_hooks", None)
    if not hooks:
        return
    import warnings

    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is "
                "expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


_identity = None


def _identity_function():
    # The Function subclass is made on first use: most programs install no backward hook.
    global _identity
    if _identity is None:

        class BackwardHookFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
                return args

            @staticmethod
            def backward(ctx, *args):
                return args

        _identity = BackwardHookFunction
    return _identity


def _spread(indices, values, size):
    """``values`` at their positions in a tuple of ``size``, None elsewhere."""
    spread = [None] * size
    for index, value in zip(indices, values, strict=False):
        spread[index] = value
    return tuple(spread)


def _in_place_of(grads, out, kind, what):
    """What a hook returned, as many gradients as ``grads``; RuntimeError where they are not."""
    if len(out) != len(grads):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {what}, "
            f"got {len(out)}, but expected {len(grads)}"
        )
    return out


class BackwardHook:
    """Runs a module's full backward hooks once all gradients of its inputs are known.

    Identity nodes around the module mark its border in the graph: the one behind the outputs
    hears ``grad_output``, the one before the inputs ``grad_input``.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs = None
        self.n_outputs = -1
        self.output_tensors_index = None
        self.n_inputs = -1
        self.input_tensors_index = None

    def setup_input_hook(self, args):
        """Return ``args`` with their tensors behind the identity node."""
        args, self.input_tensors_index = self._guard(self._hear_inputs, args)
        return args

    def setup_output_hook(self, args):
        """Return ``args``, a tensor or a tuple, with their tensors behind the identity node."""
        is_tuple = isinstance(args, tuple)
        if not is_tuple:
            args = (args,)
        args, self.output_tensors_index = self._guard(self._hear_outputs, args)
        return args if is_tuple else args[0]

    def _guard(self, listen, args):
        where = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        if listen == self._hear_inputs:
            self.n_inputs = len(args)
        else:
            self.n_outputs = len(args)
        needed = torch.is_grad_enabled() and any(args[i].requires_grad for i in where)
        if not needed:
            return args, None
        tensors = _identity_function().apply(*[args[i] for i in where])
        nodes = [
            t.grad_fn
            for t in tensors
            if t.grad_fn is not None and t.grad_fn.name() == _BACKWARD_HOOK_NODE
        ]
        if not nodes:
            raise RuntimeError(
                "Error while setting up backward hooks. Please open an issue with a code "
                "sample to reproduce this."
            )
        listen(nodes[0])
        values = list(args)
        for index, tensor in zip(where, tensors, strict=True):
            values[index] = tensor
        if type(args) is tuple:
            return tuple(values), where
        return type(args)(*values), where

    def _hear_inputs(self, node):
        def hook(grad_input, _):
            # A gradient can reach the inputs without passing the outputs: no hook then.
            if self.grad_outputs is None:
                return None
            grads = _spread(self.input_tensors_index, grad_input, self.n_inputs)
            for user_hook in self.user_hooks:
                out = user_hook(self.module, grads, self.grad_outputs)
                if out is not None:
                    grads = _in_place_of(grads, out, "hook", "grad_input")
            self.grad_outputs = None
            return tuple(grads[i] for i in self.input_tensors_index)

        node.register_hook(hook)

    def _hear_outputs(self, node):
        def hook(_, grad_output):
            grads = _spread(self.output_tensors_index, grad_output, self.n_outputs)
            for user_hook in self.user_pre_hooks:
                out = user_hook(self.module, grads)
                if out is not None:
                    grads = _in_place_of(grads, out, "pre hook", "grad_output")
            self.grad_outputs = grads
            if self.input_tensors_index is None:
                self._run_without_inputs(grads)
            return tuple(grads[i] for i in self.output_tensors_index)

        node.register_hook(hook)

    def _run_without_inputs(self, grads):
        import warnings

        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=5,
        )
        grad_inputs = (None,) * self.n_inputs
        for user_hook in self.user_hooks:
            out = user_hook(self.module, grad_inputs, grads)
            if out is not None and not (
                isinstance(out, tuple) and all(grad is None for grad in out)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should "
                    "always return None or None for all gradients."
                )
        self.grad_outputs = None
