"""DLPack: tensors shared with other libraries without a copy."""

import enum

import rushlight as torch
from rushlight import _C

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

to_dlpack = _C._to_dlpack


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by the numbers of the DLPack specification."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """Return a tensor over the memory of ``ext_tensor``.

    ``ext_tensor`` has a ``__dlpack__`` method or is a DLPack capsule; a capsule serves once.
    ``copy=True`` asks the other side for a copy, ``copy=False`` forbids one.
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _C._from_dlpack(ext_tensor)
    asked = {"max_version": (1, 0)}
    if copy is not None:
        asked["copy"] = copy
    if device is not None:
        if torch.device(device).type != "cpu":
            raise ValueError(f"from_dlpack: no memory of device '{device}' can be shared")
        asked["dl_device"] = (DLDeviceType.kDLCPU, 0)
    try:
        capsule = ext_tensor.__dlpack__(**asked)
    except TypeError:  # an exporter from before DLPack 1.0 knows none of these
        del asked["max_version"]
        capsule = ext_tensor.__dlpack__(**asked)
    return _C._from_dlpack(capsule)
