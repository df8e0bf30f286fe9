"""Records what PyTorch 2.13 names in the packages that Rushlight refuses.

    python tools/record_absent.py

Needs PyTorch. Writes rushlight/_absent_names.xz: a line per module, with its classes, functions and
type aliases; an enumeration is followed by "=" and its members.
"""

from __future__ import annotations

import importlib
import lzma
import pkgutil
import sys
import types
import typing
import warnings
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "rushlight" / "_absent_names.xz"
ROOTS = (
    "_decomp", "_dynamo", "_export", "_functorch", "_guards", "_higher_order_ops", "_logging",
    "_prims", "_prims_common", "_refs", "_subclasses", "_utils_internal", "accelerator", "ao",
    "backends", "contrib", "cuda", "distributed", "export", "fx", "jit", "monitor", "mps", "mtia",
    "nativert", "nested", "nn.attention.experimental", "nn.attention.varlen", "nn.backends",
    "nn.cpp", "nn.intrinsic", "nn.parallel", "nn.qat", "nn.quantizable", "nn.quantized",
    "nn.utils._per_sample_grad", "numa", "onnx", "package", "quantization", "sparse",
    "utils._sympy", "utils.backcompat", "utils.backend_registration", "utils.benchmark",
    "utils.bundled_inputs", "utils.cpp_backtrace", "utils.data.datapipes", "utils.data.graph",
    "utils.data.graph_settings", "utils.hipify", "utils.jit", "utils.mkldnn", "utils.model_dump",
    "utils.throughput_benchmark", "utils.viz", "xpu",
)  # fmt: skip
LEFT_OUT = {"__main__", "_tools", "examples", "gen_pyi", "test", "testing", "tests", "variables",
            "graph_break_registry", "polyfills", "op_fuzzers"}  # fmt: skip


def modules_below(name: str):
    """``name`` and all modules in it that can be imported."""
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # a module may even leave the process
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[:1]}", file=sys.stderr)
        return
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if found.name not in LEFT_OUT or f"{name}.{found.name}" == "torch._dynamo.testing":
            yield from modules_below(f"{name}.{found.name}")


def is_own(module: types.ModuleType, name: str, value: object) -> bool:
    """Whether programs would take ``name`` from this module."""
    if isinstance(value, types.ModuleType) or name.startswith("__") or hasattr(typing, name):
        return False
    if name in getattr(module, "__all__", ()):
        return callable(value) or name[:1].isupper()  # type aliases, too
    home = getattr(value, "__module__", None)
    if not isinstance(home, str) or not callable(value):
        return False
    if "._" in module.__name__:  # of what is private, what is defined there and named publicly
        shown = hasattr(module, "__path__") and home.startswith("torch.")  # or shown by a package
        return (shown or home == module.__name__) and not name.startswith("_")
    if name.startswith("_"):
        return home == module.__name__
    return home.startswith(("torch.", "typing"))


def line(module: types.ModuleType) -> str:
    """The module's line of the table."""
    words = [module.__name__.removeprefix("torch.")]
    for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
        value = getattr(module, name, None)
        if value is not None and is_own(module, name, value):
            members = getattr(value, "__members__", None) if isinstance(value, type) else None
            words.append(f"{name}={','.join(members)}" if members else name)
    return " ".join(words)


def main() -> None:
    """Writes the table."""
    warnings.simplefilter("ignore")
    lines = [line(m) for root in ROOTS for m in modules_below(f"torch.{root}")]
    text = "\n".join(sorted(lines)).encode()
    TABLE.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(lines)} modules, {len(text)} bytes, {TABLE.stat().st_size} compressed")


if __name__ == "__main__":
    main()
