"""The names that 21 libraries use of PyTorch 2.13: nearly all are there, the others are known.

``names.tsv`` holds a module or class, a name in it and how often it is used. A name that only
raises that it is refused counts as missing.
"""

import importlib
from pathlib import Path
from types import ModuleType

import rushlight

NAMES = [
    (home, name, int(uses))
    for home, name, uses in (
        line.split("\t")
        for line in Path(__file__).with_name("names.tsv").read_text(encoding="utf-8").splitlines()
    )
]
# What rushlight refuses (docs/why.md): whole modules, and what belongs to sparse layouts.
REFUSED = (
    "torch.distributed", "torch.onnx", "torch.utils.cpp_extension",
)  # fmt: skip
SPARSE = frozenset(
    "sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_mask sparse_resize_ to_sparse "
    "to_sparse_coo to_sparse_csc to_sparse_csr to_padded_tensor".split()
)
# Dtypes of less than a byte, which store nothing, and layouts that can only be mentioned.
DTYPES = frozenset([f"uint{bits}" for bits in range(1, 8)] + ["sparse_csc", "sparse_csr"])
TORCHSCRIPT = {("torch.jit", "load"), ("torch.jit", "save")}


def found(home: str, name: str):
    """What ``home.name`` is, or None."""
    value, path = rushlight, "rushlight"
    for part in [*home.split(".")[1:], name]:
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(path)
            except ImportError:
                return None
    return value


def is_there(home: str, name: str) -> bool:
    value = found(home, name)
    if isinstance(value, type):
        return not any("_refusal" in vars(base) for base in value.__mro__)
    if type(value).__name__ == "_Mentioned":
        return False
    if value is None:
        return name in ("newaxis", "grad", "cuda", "hip")
    return isinstance(value, ModuleType) or getattr(value, "_refusal", None) is None


MISSING = [(home, name, uses) for home, name, uses in NAMES if not is_there(home, name)]


def test_what_is_missing_is_refused():
    unknown = [
        (home, name)
        for home, name, _ in MISSING
        if not home.startswith(REFUSED)
        and name not in SPARSE | DTYPES
        and (home, name) not in TORCHSCRIPT
    ]
    assert not unknown


def test_nearly_all_are_there():
    wanted = [n for n in NAMES if not n[0].startswith(REFUSED) and n[1] not in SPARSE]
    there = [n for n in wanted if n not in MISSING]
    assert len(there) >= 0.97 * len(wanted)
    assert all(n[2] < 10 or n[1] in DTYPES for n in wanted if n in MISSING)
