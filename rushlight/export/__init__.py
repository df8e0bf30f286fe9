"""Export of programs as graphs: refused."""

from __future__ import annotations

from rushlight import _absent

_REASON = (
    "rushlight runs programs as they are and keeps no graph of them. Save the weights with "
    "torch.save(model.state_dict(), file) and export in PyTorch."
)

__getattr__ = _absent.names(
    "export", _REASON,
    "AdditionalInputs CustomDecompTable Dim ExportBackwardSignature ExportGraphSignature "
    "ExportedProgram FlatArgsAdapter ModuleCallEntry ModuleCallSignature ShapesCollection "
    "UnflattenedModule default_decompositions dims draft_export export load register_dataclass "
    "save unflatten",
)  # fmt: skip

for _name, _known in {
    "dynamic_shapes": "Dim ShapesCollection dims",
    "exported_program": "ExportedProgram",
    "graph_signature": "ExportGraphSignature InputKind OutputKind",
}.items():
    _absent.submodule(f"export.{_name}", _REASON, _known)
