"""The module under test, named by RUSHLIGHT_TEST_MODULE (rushlight unless told otherwise)."""

from __future__ import annotations

import importlib
import os

MODULE = os.environ.get("RUSHLIGHT_TEST_MODULE", "rushlight")

try:
    torch = importlib.import_module(MODULE)
except ImportError:
    torch = None


def check_gradients(function, inputs) -> bool:
    """First derivatives against finite differences; raises where they differ."""
    return torch.autograd.gradcheck(function, inputs)


def check_second_gradients(function, inputs) -> bool:
    """Second derivatives against finite differences; raises where they differ."""
    return torch.autograd.gradgradcheck(function, inputs)


NAMESPACES = {"nn": ("nn.functional.", "")}


def live_table() -> list[dict]:
    """The op records of the module under test; PyTorch shows none."""
    core = getattr(torch, "_C", None)
    return core.op_table() if hasattr(core, "op_table") else []


def row_names(entry: dict) -> list[str]:
    """The row names that serve an op record: function, method, in a namespace, forward of it."""
    python = [entry["python"], *entry.get("alias", [])]
    space = entry["namespace"]
    heads = NAMESPACES.get(space, (f"{space}.",)) if space else ("", "Tensor.")
    short = [name.removeprefix(f"{space}_") for name in python]
    names = [head + name for head in heads for name in (*python, *short)]
    names += [f"aten.{name}" for name in python]
    return names + [n.removesuffix("_backward") for n in names if n.endswith("_backward")]
