"""Switches of how a module's parameters are changed by ``to``, ``float`` and their like."""

_overwrite = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``Module.to`` puts new parameters in place of the old ones (default: False)."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What ``set_overwrite_module_params_on_conversion`` set."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether ``Module.to`` swaps what tensors hold: False is all there is, True raises."""
    if value:
        raise NotImplementedError(
            "rushlight has no torch.utils.swap_tensors. torch.__future__."
            "set_overwrite_module_params_on_conversion(True) makes new parameters instead."
        )


def get_swap_module_params_on_conversion() -> bool:
    """False."""
    return False
