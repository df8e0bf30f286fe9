"""DistributedDataParallel: there are no process groups, so building one fails as without one."""

from __future__ import annotations

from ..modules.module import Module


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over processes.

    Programs name it to wrap a model in distributed runs and to ask whether a model is wrapped.
    Raises ValueError: PyTorch does the same before ``init_process_group`` was called.
    """

    def __init__(self, module, *args, **kwargs):
        super().__init__()
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
