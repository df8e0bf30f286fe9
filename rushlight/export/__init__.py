"""Export of programs as graphs: refused."""

from __future__ import annotations

from rushlight import _absent

_REASON = (
    "rushlight runs programs as they are and keeps no graph of them. Save the weights with "
    "torch.save(model.state_dict(), file) and export in PyTorch."
)


def register_dataclass(cls, *, serialized_type_name=None) -> None:
    """Does nothing: what it tells an exporter, nobody asks."""


__getattr__ = _absent.names("export", _REASON)
