"""torch.export: programs as graphs of aten operators, with dynamic sizes."""

from __future__ import annotations

from rushlight import _absent

from ._export import export
from ._stored import load, save
from .dynamic_shapes import AdditionalInputs, Constraint, Dim, ShapesCollection, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import ExportBackwardSignature, ExportGraphSignature

_REASON = (
    "rushlight exports programs with torch.export.export, saves and loads them; "
    "ExportedProgram.module() gives the module."
)


def register_dataclass(cls, *, serialized_type_name=None) -> None:
    """Lets objects of a dataclass be arguments and results: their fields are."""
    import dataclasses

    from rushlight.utils import _pytree as pytree

    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    pytree.register_pytree_node(
        cls,
        lambda value: ([getattr(value, name) for name in names], None),
        lambda values, context: cls(**dict(zip(names, values, strict=True))),
        serialized_type_name=serialized_type_name,
    )


__all__ = [
    "AdditionalInputs", "Constraint", "Dim", "ExportBackwardSignature", "ExportGraphSignature",
    "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "ShapesCollection", "dims",
    "export", "load", "register_dataclass", "save",
]  # fmt: skip

__getattr__ = _absent.names("export", _REASON)
