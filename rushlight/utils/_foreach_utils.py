"""How optimizers group their tensors for the ops that take lists."""

from __future__ import annotations

import rushlight as torch

TensorListList = list[list[torch.Tensor | None]]
Indices = list[int]
_foreach_supported_types = [torch.Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Kinds of devices for which an optimizer takes lists by itself; the CPU is none of them."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Kinds of devices on which an optimizer may take one step for all of its tensors."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[torch.device, torch.dtype], tuple[TensorListList, Indices]]:
    """The tensors by device and dtype of those in the first list, the last kind found first.

    Lists are as long as the first one or empty; only the first may hold no None. Others hold
    tensors of the same device and dtype, or steps and states of an optimizer: float32, float64 or
    bfloat16. The result has, per device and dtype, the lists of this group and, with
    ``with_indices``, their places.
    """
    first = tensorlistlist[0] if tensorlistlist else []
    if not first or any(len(other) not in (0, len(first)) for other in tensorlistlist):
        raise RuntimeError("Expected the lists of tensors to be as long as the first one or empty")
    groups: dict = {}
    for place, tensor in enumerate(first):
        if tensor is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined but "
                f"the {place}-th Tensor is not."
            )
        key = (tensor.device, tensor.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for part, given in zip(lists, tensorlistlist, strict=True):
            if given:
                _check_fits(given[place], key)
                part.append(given[place])
        if with_indices:
            places.append(place)
    return dict(reversed(groups.items()))


_STATES = (torch.float32, torch.float64, torch.bfloat16)


def _check_fits(tensor, key: tuple) -> None:
    device, dtype = key
    if tensor is None or (tensor.device == device and tensor.dtype in (dtype, *_STATES)):
        return
    raise RuntimeError(
        "Tensors of the same index must be on the same device and the same dtype except `step` "
        "tensors that can be CPU and float32/64, and optimizer states that can be bfloat16 for "
        "mixed-precision training"
    )


def _device_has_foreach_support(device: torch.device) -> bool:
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"]


def _has_foreach_support(tensors: list, device: torch.device) -> bool:
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors
    )
