"""A GraphModule as a Python package: code, weights, and modules that have no code as pickles."""

from __future__ import annotations

import rushlight as torch
from rushlight.nn.modules.module import _addindent

from ._source import _format_import_block

# Layers whose repr makes them again.
_PLAIN = (
    "Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
)  # fmt: skip


def write(module, folder, module_name: str) -> list:
    """Writes ``folder``; returns the names of the modules that were pickled."""
    folder.mkdir(exist_ok=True)
    torch.save(module.state_dict(), folder / "state_dict.pt")
    lines, blobs = [], []
    plain = tuple(getattr(torch.nn, name) for name in _PLAIN)
    for name, child in module.named_children():
        if type(child) in plain:
            lines.append(f"self.{name} = {child!r}")
            continue
        file = folder / f"{name}.pt"
        torch.save(child, file)
        blobs.append(name)
        lines.append(f"self.{name} = torch.load(r'{file}', weights_only=False)  # {child!r}"
                     .replace("\n", " "))  # fmt: skip
    for name, buffer in module._buffers.items():
        if buffer is not None:
            empty = f"torch.empty({list(buffer.shape)}, dtype={buffer.dtype})"
            lines.append(f"self.register_buffer('{name}', {empty})")
    for name, parameter in module._parameters.items():
        if parameter is not None:
            empty = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
            lines.append(f"self.{name} = torch.nn.Parameter({empty})")
    lines.append(f"self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
    code = module.graph.python_code(root_module="self")
    imports = _format_import_block(code.globals).split("\n")
    head = [_of_this_package(line) for line in [*imports, "import torch", "from torch.nn import *"]]
    body = "\n".join(f"        {line}" for line in lines)
    text = (
        "\n".join(dict.fromkeys(head))
        + f"\n\n\nclass {module_name}(torch.nn.Module):\n    def __init__(self):\n"
        + f"        super().__init__()\n{body}\n{_addindent(module.code, 4)}\n"
    )
    (folder / "module.py").write_text(text)
    (folder / "__init__.py").write_text("from .module import *")
    return blobs


def _of_this_package(line: str) -> str:
    if line == "import torch":
        return "import rushlight as torch"
    return line.replace("import torch.", "import rushlight.").replace(
        "from torch", "from rushlight"
    )
