"""Functions of tensors that are written in Python."""

from __future__ import annotations

import functools

from . import _C
from ._ranges import record_function

__all__ = [
    "broadcast_shapes", "is_nonzero", "is_tensor", "nonzero", "numel", "split", "stft", "typename",
]  # fmt: skip


def is_tensor(obj, /) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, _C.Tensor)


def is_storage(obj, /) -> bool:
    """Whether ``obj`` is a storage, typed or untyped."""
    from . import storage

    return isinstance(obj, (_C.UntypedStorage, storage.TypedStorage))


def typename(obj, /) -> str:
    """The name of the type of ``obj``; of a tensor, with its dtype: "torch.FloatTensor".

    Types of this package say "torch.", for messages name them so, and programs match messages.
    """
    if isinstance(obj, _C.Tensor):
        return obj.type()
    module = getattr(obj, "__module__", None) or ""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if name is None:
        module, name = type(obj).__module__, type(obj).__qualname__
    if module == "rushlight" or module.startswith("rushlight."):
        module = "torch" + module.removeprefix("rushlight")
    return name if module in ("", "builtins") else f"{module}.{name}"


def _check_tensor(name: str, input) -> None:
    if not isinstance(input, _C.TensorBase):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )


def is_nonzero(input) -> bool:
    """Whether the one element of ``input`` is not zero."""
    _check_tensor("is_nonzero", input)
    return bool(input)


def numel(input) -> int:
    """The number of elements."""
    _check_tensor("numel", input)
    return input.numel()


def is_floating_point(input) -> bool:
    """Whether the dtype is a floating-point one."""
    _check_tensor("is_floating_point", input)
    return input.is_floating_point()


def is_complex(input) -> bool:
    """Whether the dtype is a complex one."""
    _check_tensor("is_complex", input)
    return input.is_complex()


def is_conj(input) -> bool:
    """Whether the conjugate bit is set."""
    _check_tensor("is_conj", input)
    return input.is_conj()


def is_neg(input) -> bool:
    """Whether the negative bit is set."""
    _check_tensor("is_neg", input)
    return input.is_neg()


def is_inference(input) -> bool:
    """Whether ``input`` was made in inference mode."""
    _check_tensor("is_inference", input)
    return input.is_inference()


def is_signed(input) -> bool:
    """Whether the dtype has negative numbers."""
    _check_tensor("is_signed", input)
    return input.is_signed()


def is_same_size(input, other) -> bool:
    """Whether both tensors have the same sizes."""
    _check_tensor("is_same_size", input)
    if not isinstance(other, _C.TensorBase):
        raise TypeError(
            "is_same_size(): argument 'other' (position 2) must be Tensor, not "
            f"{type(other).__name__}"
        )
    return input.shape == other.shape


def get_device(input) -> int:
    """The index of the device; -1 for the CPU."""
    _check_tensor("get_device", input)
    return input.get_device()


def split(tensor, split_size_or_sections, dim=0):
    """Parts of ``tensor`` along ``dim``, as views.

    An int gives the size of each part (the last may be smaller), a list all their sizes.
    """
    return tensor.split(split_size_or_sections, dim)


_nonzero = _C._functions_table["nonzero"]
_nonzero_numpy = _C._ops_table["nonzero_numpy"]


def nonzero(*args, as_tuple=False, **kwargs):
    """The coordinates of the elements that are not zero, one row each.

    With ``as_tuple`` one tensor for each dimension instead, fit to index with.
    """
    out = kwargs.get("out")
    if as_tuple and isinstance(out, _C.TensorBase):
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if as_tuple and out is None:
        return _nonzero_numpy(*args, **kwargs)
    return _nonzero(*args, **kwargs)


def _as_shape(shape):
    if isinstance(shape, int):
        return (shape,)
    if shape is None or isinstance(shape, (tuple, list)):
        return shape
    raise RuntimeError(
        f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}"
    )


def broadcast_shapes(*shapes):
    """The shape that tensors of ``shapes`` (ints or tuples) broadcast to.

    Raises RuntimeError where the shapes do not fit.
    """
    shapes = [shape for shape in map(_as_shape, shapes) if shape is not None]
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for position, shape in enumerate(shapes):
        for back in range(-1, -1 - len(shape), -1):
            length = shape[back]
            if length < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if length in (1, result[back]):
                continue
            if result[back] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {length} at {back}! "
                    f"Mismatching argument at index {position} had {shape}; but expected shape "
                    f"should be broadcastable to {result}"
                )
            result[back] = length
    return _C.Size(result)


_COMPILE_MODES = (
    "default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune",
)  # fmt: skip
_COMPILE_BACKENDS = frozenset(
    "aot_eager aot_eager_decomp_partition aot_eager_decomp_partition_crossref aot_ts cudagraphs "
    "aot_eager_decomp_partition_with_mode aot_eager_default_partitioner eager eager_debug "
    "eager_noexcept inductor invoke_subgraph openxla openxla_eval pre_dispatch_eager ts tvm".split()
)


def _check_compile(backend, mode) -> None:
    """Raises where PyTorch knows no such backend or, of its own compiler, no such mode."""
    if isinstance(backend, str) and backend not in _COMPILE_BACKENDS:
        from ._dynamo.exc import InvalidBackend

        raise InvalidBackend(name=backend)
    if backend == "inductor" and mode is not None and mode not in _COMPILE_MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(_COMPILE_MODES)}"
        )


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend="inductor",
    mode=None,
    options=None,
    disable=False,
):
    """Returns a function or module that runs ``model`` as it is: eager calls need no compiling.

    A module comes in an ``OptimizedModule``, as in PyTorch. Without ``model``, returns a decorator.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return lambda model: compile(
            model, backend=backend, mode=mode, options=options, disable=disable
        )
    _check_compile(backend, mode)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return model
    from .nn.modules.module import Module

    if isinstance(model, Module):
        from ._dynamo.eval_frame import OptimizedModule

        return OptimizedModule(model)
    if isinstance(model, type):
        return model

    @functools.wraps(model)
    def compiled(*args, **kwargs):
        return model(*args, **kwargs)

    compiled._torchdynamo_orig_callable = model
    return compiled


_CDIST_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@record_function("aten::cdist")
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of all rows of ``x1`` (..., P, M) to all of ``x2`` (..., R, M).

    ``compute_mode`` says whether the Euclidean distance goes by a product of matrices: quicker for
    many rows, but less exact for near ones. By default it does from 26 rows on.
    """
    if compute_mode not in _CDIST_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _C._ops_table["cdist"](x1, x2, p, _CDIST_MODES[compute_mode])


@record_function("aten::stft")
def stft(
    input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect",
    normalized=False, onesided=None, return_complex=None, align_to_window=None,
):  # fmt: skip
    """The Fourier transforms of overlapping parts of a signal: its spectrum as time goes on.

    ``input``: (time) or (batch, time). Part m begins at ``m * hop_length`` (``n_fft // 4`` unless
    given), is multiplied by ``window`` (of ``win_length``, ``n_fft`` unless given, with zeros on
    both sides up to ``n_fft``; ones unless given) and transformed. With ``center`` the signal is
    padded by ``n_fft // 2`` on both sides first, as ``pad_mode`` says, so that part m has its
    middle there; without, ``align_to_window`` takes parts as long as the window, not as ``n_fft``.

    Gives (batch, frequencies, parts): ``n_fft // 2 + 1`` frequencies if ``onesided``, the default
    for real numbers, else ``n_fft``; divided by the square root of ``n_fft`` if ``normalized``.
    ``return_complex=False``, which is deprecated, gives pairs of real numbers in a last dimension.
    """
    if _C._has_torch_function_variadic(input):
        from . import overrides

        return overrides.handle_torch_function(
            stft, (input,), input, n_fft, hop_length=hop_length, win_length=win_length,
            window=window, center=center, pad_mode=pad_mode, normalized=normalized,
            onesided=onesided, return_complex=return_complex, align_to_window=align_to_window,
        )  # fmt: skip
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        dims = input.dim()
        side = int(n_fft // 2)
        planes = input.view([1] * (3 - dims) + list(input.shape))
        input = _C._nn_table["pad"](planes, [side, side], pad_mode)
        input = input.view(input.shape[-dims:])
    return _C._ops_table["stft"](
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip


_ELSEWHERE = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod chain_matmul "
    "einsum istft lu meshgrid norm pca_lowrank stft svd_lowrank tensordot unique "
    "unique_consecutive unravel_index".split()
)


def __getattr__(name: str):
    if name in _ELSEWHERE:
        import rushlight

        return getattr(rushlight, name)
    raise AttributeError(f"module 'torch.functional' has no attribute '{name}'")
