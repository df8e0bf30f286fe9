"""One line about a value: what it is, its shape and type, and where it came from."""

from __future__ import annotations

from rushlight import _C, nn

from .finding import line_of

LEVELS = 4  # of containers that are looked into: one may hold itself


def place_of(origin) -> str | None:
    """``file.py:12`` for what ``_C._origin`` and its like return."""
    return None if origin is None else line_of(origin[0], origin[2])


def is_tensor(value) -> bool:
    """Whether a value is a tensor of ours."""
    return isinstance(value, _C.TensorBase)


def is_ours(kind: type) -> bool:
    """Whether a class is one of the library's."""
    return str(getattr(kind, "__module__", "")).partition(".")[0] in ("rushlight", "torch")


def address_of(tensor) -> int | None:
    """Where a tensor's storage begins; None for one without (a batch within vmap, meta)."""
    try:
        return tensor.untyped_storage().data_ptr() if tensor.device.type == "cpu" else None
    except (NotImplementedError, RuntimeError):
        return None


def shape_of(tensor) -> str:
    """``(3, 4)``."""
    return str(tuple(tensor.shape))


def dtype_name(dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def describe(value) -> str:
    """A value in a few words: shape, dtype and device of a tensor, the repr of a small module."""
    if is_tensor(value):
        device = "" if value.device.type == "cpu" else f" {value.device}"
        return f"{shape_of(value)} {dtype_name(value.dtype)}{device}"
    if isinstance(value, nn.Module):
        return describe_module(value)
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "shape"):
        return f"numpy {value.dtype} array {tuple(value.shape)}"
    try:
        if isinstance(value, (list, tuple, dict, set)):
            return f"{kind.__name__} of {len(value)}"
        text = repr(value)
    except Exception:  # methods of the user's own
        text = ""
    return text if 0 < len(text) <= 40 and "\n" not in text else f"a {kind.__name__}"


def sentence(name: str, tensor, more: str = "") -> str:
    """``x is (2, 3) float32, made at file.py:7``."""
    origin = made_at(tensor)
    return f"{name} is {describe(tensor)}{more}" + (f", made at {origin}" if origin else "")


def describe_module(module) -> str:
    """``Linear(64 -> 64)``, or the class's name."""
    if isinstance(module, nn.Linear):
        return f"Linear({module.in_features} -> {module.out_features})"
    if isinstance(module, nn.Embedding):
        return f"Embedding({module.num_embeddings}, {module.embedding_dim})"
    name = type(module).__name__
    try:
        extra = module.extra_repr().replace(", inplace=False", "").replace("inplace=False", "")
    except Exception:  # it may read what __init__ has not set
        extra = ""
    return f"{name}({extra})" if extra and len(extra) <= 40 else name


def made_at(value) -> str | None:
    """Where a tensor was made, as ``file.py:12``."""
    origin = _C._origin(value) if is_tensor(value) else None
    if origin is None or origin[0] == "<trial>":
        return None
    return place_of(origin)


def module_path(root, module) -> str | None:
    """A module's name within another (``encoder.layers.2``), "" for itself, None if not inside."""
    for name, child in root.named_modules():
        if child is module:
            return name
    return None


def attributes(value) -> dict:
    """What an object keeps in its ``__dict__``, read without running code of its own."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as columns, two spaces apart; the last column keeps its own width."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]


def parameters_of(optimizer) -> list:
    """The parameters that an optimizer holds; none of what is no optimizer."""
    return [p for group in getattr(optimizer, "param_groups", ()) for p in group["params"]]
