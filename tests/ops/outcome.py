"""What a call did, as plain data, and the comparison of two such records."""

from __future__ import annotations

import math
import re
import struct

from .build import dense_strides

# The rounding of one operation or two, in units of the last place; absolute parts cover sums that
# cancel: samples are of size 4 and have a few dozen elements.
RTOL = {"float64": 1e-10, "float32": 1.3e-6, "float16": 1e-3, "bfloat16": 8e-3}
ATOL = {"float64": 1e-12, "float32": 2e-6, "float16": 1e-4, "bfloat16": 1e-3}
REAL_OF = {"complex64": "float32", "complex128": "float64"}
PACK = {"float32": "f", "bfloat16": "f", "float16": "e"}
STORED = re.compile(r"^torch\.|^rushlight\.")


def flat_values(tensor) -> list:
    """All elements in row-major order; a complex element gives two numbers."""
    found = tensor.detach().resolve_conj().resolve_neg() if tensor.is_complex() else tensor.detach()
    if getattr(found, "_is_zerotensor", bool)():  # PyTorch's zeros without memory
        found = found.clone()
    found = [found.tolist()]
    for _ in range(tensor.dim()):
        found = [x for part in found for x in part]
    if tensor.is_complex():
        return [part for x in found for part in (x.real, x.imag)]
    return found


def dtype_name(dtype) -> str:
    return str(dtype).rpartition(".")[2]


def encode(torch, value, with_values=True):
    """A result as JSON-ready data: tensors as ["T", dtype, shape, strides or null, values]."""
    if isinstance(value, torch.Tensor):
        shape, strides = list(value.shape), list(value.stride())
        numbers = flat_values(value) if with_values and str(value.device) == "cpu" else None
        contiguous = strides == dense_strides(shape)
        return ["T", dtype_name(value.dtype), shape, None if contiguous else strides, numbers]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[encode(torch, v, with_values) for v in value]]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return STORED.sub("", str(value))


def raised(error: BaseException) -> dict:
    """A caught exception as data; PyTorch's C++ stack is cut off."""
    text = str(error).partition("\nException raised from")[0]
    return {"raises": [type(error).__name__, text]}


def plain_message(text: str) -> str:
    """A message without what differs for good reason: kernel names, lists of signatures,
    addresses, pointers to internals."""
    text = re.sub(r'^"[^"]*" not implemented for', "<kernel> not implemented for", text)
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = text.partition(", but expected one of:")[0]
    for tail in ("Could not run 'aten::", "Expected one of cpu,"):
        if text.startswith(tail):
            return tail
    return text.strip()


def differs(got, want, row, dtype="") -> str | None:
    """None when two encoded outcomes agree, else the first difference in words."""
    if isinstance(want, dict) and "raises" in want:
        return _differs_raised(got, want["raises"])
    if isinstance(got, dict) and "raises" in got:
        return f"raised {': '.join(got['raises'])}"
    if isinstance(want, list) and want[:1] == ["T"]:
        return _differs_tensor(got, want, row)
    if isinstance(want, dict):
        if not isinstance(got, dict) or sorted(got) != sorted(want):
            return f"got {got!r}, expected {want!r}"
        pairs = [(f"{k}: ", got[k], want[k]) for k in want]
    elif isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"got {got!r}, expected {want!r}"
        pairs = [(f"item {k}: ", g, w) for k, (g, w) in enumerate(zip(got, want, strict=True))]
    else:
        same = got == want and type(got) is type(want)
        if isinstance(want, float) and isinstance(got, float):
            same = close(got, want, "float64" if row.exact else "float32", row)
        return None if same else f"got {got!r}, expected {want!r}"
    for label, g, w in pairs:
        if found := differs(g, w, row):
            return label + found
    return None


def _differs_raised(got, want) -> str | None:
    if not isinstance(got, dict) or "raises" not in got:
        return f"did not raise; expected {want[0]}: {want[1]}"
    kind, text = got["raises"]
    if kind != want[0]:
        return f"raised {kind}: {text}\n      expected {want[0]}: {want[1]}"
    if plain_message(text) != plain_message(want[1]):
        return f"raised {kind} with another message\n      got {text}\n      expected {want[1]}"
    return None


def _differs_tensor(got, want, row) -> str | None:
    if not isinstance(got, list) or got[:1] != ["T"]:
        return f"got {got!r}, expected a tensor"
    for label, g, w in zip(("dtype", "shape"), got[1:3], want[1:3], strict=True):
        if g != w:
            return f"{label}: got {g}, expected {w}"
    shape, dtype = want[2], want[1]
    if got[3] != want[3] and not row.uninitialised:
        dense = dense_strides(shape)
        return f"strides: got {got[3] or dense}, expected {want[3] or dense}"
    if want[4] is None or row.uninitialised:
        return None
    return differs_values(got[4], want[4], dtype, shape, row)


def differs_values(got, want, dtype, shape, row) -> str | None:
    """The first element that is off, with its index."""
    real = REAL_OF.get(dtype, dtype)
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if not close(g, w, real, row):
            n = k // 2 if dtype in REAL_OF else k
            index = [n // s % max(z, 1) for s, z in zip(dense_strides(shape), shape, strict=True)]
            part = (" (real part)", " (imaginary part)")[k % 2] if dtype in REAL_OF else ""
            return f"at {index}{part}: got {g!r}, expected {stored(w, real)!r}"
    return None


def stored(number, dtype: str):
    """A number from a golden file, which writes the shortest text, as the element type has it."""
    code = PACK.get(dtype)
    if code is None or not math.isfinite(number):
        return number
    return struct.unpack(code, struct.pack(code, number))[0]


def close(got, want, dtype: str, row) -> bool:
    """Equality for whole numbers and moved data; otherwise agreement within rtol and atol."""
    if dtype.startswith("float8") and want != want:
        return got != got
    if dtype not in RTOL:
        return got == want and isinstance(got, bool) == isinstance(want, bool)
    want = stored(want, dtype)
    if got == want:
        return True
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if row.exact or math.isinf(want) or math.isinf(got):
        return False
    rtol = row.rtol.get(dtype, RTOL[dtype])
    return abs(got - want) <= row.atol.get(dtype, ATOL[dtype]) + rtol * abs(want)


def agrees(torch, got, want, row) -> bool:
    """Whether two live results hold the same values, whatever their strides."""
    a, b = encode(torch, got), encode(torch, want)
    return differs(_without_strides(a), _without_strides(b), row) is None


def _without_strides(data):
    if isinstance(data, list):
        if data[:1] == ["T"]:
            return [*data[:3], None, data[4]]
        return [_without_strides(d) for d in data]
    return data
