"""How the loss of a linear layer may be computed in pieces."""

from __future__ import annotations

import dataclasses

_METHODS = ("auto", "aspect_ratio", "batch_size", "none")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Accepted for programs that give it: here the logits are always made whole."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self):
        if self.chunking_method.partition(":")[0] not in _METHODS:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
