"""Building a module without drawing its initial values."""

from __future__ import annotations


def skip_init(module_cls, *args, **kwargs):
    """Build ``module_cls(*args, **kwargs)`` with uninitialized parameters and buffers."""
    import inspect

    from ..modules.module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final_device = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=final_device)
