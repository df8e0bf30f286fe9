"""Activation checkpointing: recompute in backward what forward would have kept.

Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost".
"""

from __future__ import annotations

import contextlib
import enum
import uuid
import warnings
import weakref
from collections import defaultdict

import rushlight as torch

from .. import _C
from ._checkpoint_messages import (
    FEWER_OUTPUTS,
    MISMATCH,
    NUMBER,
    PARTIAL_BACKWARD,
    SUPPRESSED,
    TIP,
    TOO_MANY,
    TWICE,
    TWICE_IN_GROUP,
    UNEXPECTED,
    implicit_variant,
)  # fmt: skip

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint",
    "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable",
    "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

_early_stop: bool | None = None
_debug_enabled: bool | None = None


class CheckpointError(RuntimeError):
    """Forward and its recomputation differ."""


class CheckpointPolicy(enum.Enum):
    """What a selective policy may say of an op."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a selective policy hears: whether this is the recomputation, and the op's result."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Raises: ops cannot be picked one by one here."""
    if not isinstance(policy_fn_or_list, list) and not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    raise NotImplementedError(
        "selective activation checkpointing needs torch dispatch modes, which are not available; "
        "checkpoint smaller parts of the model instead"
    )


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """A block whose checkpoints take ``enabled`` for their ``debug`` (None: their own)."""
    global _debug_enabled
    before, _debug_enabled = _debug_enabled, enabled
    try:
        yield
    finally:
        _debug_enabled = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool):
    """A block whose checkpoints stop recomputing, or not, once all that is needed is there."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


class DefaultDeviceType:
    """The kind of device whose random state is kept when no tensor says otherwise."""

    _default_device_type = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind that was set; "cpu" at first."""
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args) -> tuple[list, list]:
    """Numbers and random states of the devices of ``args``: none, for all are on the CPU."""
    return [], []


def set_device_states(devices, states, *, device_type=None) -> None:
    """Puts random states of devices back."""
    module = getattr(torch, device_type or DefaultDeviceType.get_device_type())
    for device, state in zip(devices, states, strict=False):
        with module.device(device):
            module.set_rng_state(state)


def detach_variable(inputs: tuple) -> tuple:
    """``inputs`` with each tensor cut from its graph; what needed a gradient still does."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        each.detach().requires_grad_(each.requires_grad)
        if isinstance(each, torch.Tensor)
        else each
        for each in inputs
    )


def check_backward_validity(inputs) -> None:
    """Warns when no tensor of ``inputs`` needs a gradient."""
    if not any(each.requires_grad for each in inputs if isinstance(each, torch.Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


def noop_context_fn():
    """Two contexts that change nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class _State:
    """The generator's state and autocast's settings during forward, to be put back."""

    def __init__(self, preserve_rng_state: bool):
        self.generator = torch.get_rng_state() if preserve_rng_state else None
        self.autocast = {
            "enabled": torch.is_autocast_enabled("cpu"),
            "dtype": torch.get_autocast_dtype("cpu"),
            "cache_enabled": torch.is_autocast_cache_enabled(),
        }

    @contextlib.contextmanager
    def again(self):
        """A block under the same state; the generator continues afterwards as if untouched."""
        with torch.random.fork_rng(enabled=self.generator is not None):
            if self.generator is not None:
                torch.set_rng_state(self.generator)
            with torch.amp.autocast("cpu", **self.autocast):
                yield


class CheckpointFunction(torch.autograd.Function):
    """The reentrant variant: forward without a graph, backward runs a graph of its own."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.preserve_rng_state = preserve_rng_state
        ctx.state = _State(preserve_rng_state)
        ctx.tensor_indices = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.inputs = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *args):
        if not _C._is_checkpoint_valid():
            raise RuntimeError(PARTIAL_BACKWARD)
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[index] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.state.again(), torch.enable_grad():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        wanted = [
            (output, grad)
            for output, grad in zip(outputs, args, strict=False)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not wanted:
            raise RuntimeError(FEWER_OUTPUTS)
        torch.autograd.backward([output for output, _ in wanted], [grad for _, grad in wanted])
        grads = [each.grad if isinstance(each, torch.Tensor) else None for each in detached]
        return (None, None, *grads)


def checkpoint(
    function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default",
    debug=False, early_stop=True, **kwargs,
):  # fmt: skip
    """``function(*args, **kwargs)``, whose intermediate values are computed again in backward.

    Args:
        use_reentrant: True runs backward inside backward, and needs an input with a gradient;
            False (recommended) recomputes when a saved value is asked for.
        preserve_rng_state: recompute with the random numbers of forward (default True).
        context_fn: returns two contexts, for forward and for the recomputation.
        determinism_check: "default" compares shape, dtype and device of what is saved; "none".
        debug: adds advice to the error of a recomputation that differs.
        early_stop: stop recomputing once the last saved value is there.
    """
    if use_reentrant is None:
        text = implicit_variant("torch.utils.checkpoint", "calling checkpoint")
        warnings.warn(text, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _run(
            function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop
        )
    _refuse_unknown(kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    return CheckpointFunction.apply(function, preserve, *args)


def _refuse_unknown(kwargs: dict) -> None:
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Runs ``functions`` in order, as ``segments`` parts that are checkpointed but for the last."""
    if use_reentrant is None:
        warnings.warn(
            implicit_variant("torch.utils.checkpoint.checkpoint_sequential", None), stacklevel=2
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    _refuse_unknown(kwargs)
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())
    size = len(functions) // segments
    last = size * (segments - 1)

    def part(chosen):
        def forward(input):
            for function in chosen:
                input = function(input)
            return input

        return forward

    for start in range(0, last, size):
        input = checkpoint(
            part(functions[start : start + size]), input, use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )  # fmt: skip
    return part(functions[last:])(input)


# ---- The variant that is not reentrant


def _described(tensor) -> dict:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DETERMINISM = {"default": _described, "none": lambda tensor: None}


class _Inputs(torch.autograd.Function):
    # Keeps tensors as a node does: hooks of an outer checkpoint see them.
    @staticmethod
    def forward(ctx, dummy, *tensors):
        ctx.save_for_backward(*tensors)
        return torch.empty((0,))

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("the inputs of a checkpoint have no backward")


class _Token:
    """Stands for one recomputed value; the value lives as long as the token."""


class _Holder:
    """Stands in the graph for a value that was not saved."""

    def __init__(self):
        self.tokens: dict = {}


class _Frame:
    """One checkpointed call: what to run again, and what it saved."""

    def __init__(self, recompute, early_stop, metadata_fn):
        self.recompute = recompute
        self.early_stop = early_stop
        self.metadata_fn = metadata_fn
        self.holders: list = []  # weak references, in the order of saving
        self.metadata: list = []
        self.values = defaultdict(weakref.WeakKeyDictionary)  # by backward run, then token
        self.saved_again = defaultdict(int)
        self.done: set = set()
        self.forward_completed = False
        self.ignore_mismatch = False

    def keep_inputs(self, args) -> None:
        self.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        self.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        if self.places:
            dummy = torch.empty((0,), requires_grad=True)
            self.node = _Inputs.apply(dummy, *[args[i] for i in self.places]).grad_fn

    def inputs(self) -> list:
        args = list(self.args)
        if self.places:
            for index, tensor in zip(self.places, self.node.saved_tensors, strict=True):
                args[index] = tensor
        return args

    def pack(self, tensor):
        """Forward: only a placeholder is saved."""
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        with torch.no_grad():
            self.metadata.append(self.metadata_fn(tensor))
        return holder

    def pack_again(self, run, tensor):
        """Recomputation: the value is kept for the placeholder in the same position."""
        tensor = tensor.detach() if tensor.requires_grad else tensor
        index = self.saved_again[run]
        self.saved_again[run] += 1
        if index >= len(self.holders):
            if self.early_stop:
                raise AssertionError("Unexpected state: target_frame.early_stop is set")
            if not self.forward_completed:
                # backward inside the checkpointed function, which has not saved all of it yet
                self.ignore_mismatch = True
                return tensor
            raise CheckpointError(TOO_MANY + TIP)
        holder = self.holders[index]()
        if holder is not None:
            _expect(holder.tokens.get(run) is None)
            token = holder.tokens[run] = _Token()
            self.values[run][token] = tensor
        if self.early_stop and self.saved_again[run] == len(self.holders):
            raise _AllRecomputed
        return tensor

    def unpack(self, holder):
        """Backward: recomputes on the first request of a run."""
        run = _current_run()
        if run not in self.done:
            self.run_again(run)
            self.done.add(run)
            self.check(run)
        _expect(run in holder.tokens)
        token = holder.tokens[run]
        if token is None:
            group = TWICE_IN_GROUP if GraphExecGroup._get_current_group() is not None else ""
            raise CheckpointError(TWICE.format(group))
        _expect(token in self.values[run])
        value = self.values[run][token]
        holder.tokens[run] = None
        return value

    def run_again(self, run) -> None:
        frame = weakref.ref(self)
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda tensor: frame().pack_again(run, tensor), lambda tensor: tensor
        )
        args = self.inputs()
        with contextlib.suppress(_AllRecomputed), hooks, torch.enable_grad():
            self.recompute(*args)

    def check(self, run) -> None:
        """Raises CheckpointError if the recomputation saved something else than forward."""
        if self.ignore_mismatch:
            return
        if len(self.holders) != self.saved_again[run]:
            raise CheckpointError(NUMBER.format(len(self.holders), self.saved_again[run]) + TIP)
        different = ""
        for index, weak in enumerate(self.holders):
            holder = weak()
            if holder is None:
                continue
            token = holder.tokens.get(run)
            _expect(token is not None and token in self.values[run])
            found = self.metadata_fn(self.values[run][token])
            if found != self.metadata[index]:
                different += (
                    f"tensor at position {index}:\nsaved metadata: {self.metadata[index]}\n"
                    f"recomputed metadata: {found}\n"
                )
        if different:
            raise CheckpointError(MISMATCH.format(different) + TIP)


class _AllRecomputed(Exception):
    """Ends a recomputation early."""


def _expect(condition) -> None:
    if not condition:
        raise AssertionError(UNEXPECTED)


def _current_run():
    group = GraphExecGroup._get_current_group()
    if group is not None:
        return group
    run = _C._current_graph_task_id()
    return run if run != -1 else uuid.uuid4().int  # unpacked outside of backward


def _device_mode():
    from ..overrides import _get_current_function_mode_stack
    from ._device import DeviceContext

    for mode in reversed(_get_current_function_mode_stack()):
        if isinstance(mode, DeviceContext):
            return mode
    return contextlib.nullcontext()


def _run(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop):
    if (_debug_enabled if _debug_enabled is not None else debug) and (
        context_fn is not noop_context_fn
    ):
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in _DETERMINISM:
        raise ValueError(
            f"determinism_check should be one of {list(_DETERMINISM)}, "
            f"but got {determinism_check}"
        )
    forward_context, recompute_context = context_fn()
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    state, device = _State(preserve), _device_mode()

    def recompute(*inputs):
        with state.again(), recompute_context, device:
            function(*inputs, **kwargs)

    frame = _Frame(
        recompute, early_stop if _early_stop is None else _early_stop,
        _DETERMINISM[determinism_check],
    )  # fmt: skip
    frame.keep_inputs(args)
    done = False
    with torch.autograd.graph.saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = function(*args, **kwargs)
        done = True
    if not done:
        raise RuntimeError(SUPPRESSED)
    frame.forward_completed = True
    return result


class GraphExecGroup:
    """A block in which several backwards share one recomputation of each checkpoint."""

    _current = None

    def __enter__(self):
        if GraphExecGroup._current is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. "
                f"Already inside group {GraphExecGroup._current}"
            )
        GraphExecGroup._current = self
        return self

    def __exit__(self, *error) -> None:
        GraphExecGroup._current = None

    @classmethod
    def _get_current_group(cls):
        return cls._current
