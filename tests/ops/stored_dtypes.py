"""What PyTorch does with element types in which few ops compute, for every sample row and more.

Shared by tools/record_dtypes.py, which runs it on PyTorch, and test_stored_dtypes.py.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import random
import struct

from .build import Builder, exists
from .experiments import attempt, inplace_function, perform
from .outcome import encode
from .spec import ALL, Call, T, numbers

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu")
STORED = (*UNSIGNED, *FLOAT8)
CALLS = 2  # of each row


def stand_in(dtype: str) -> str:
    """The type whose samples an element type takes."""
    return "uint8" if dtype in UNSIGNED else "float32" if dtype in FLOAT8 else dtype


class StoredBuilder(Builder):
    """Builds tensors of these types, too."""

    def tensor(self, spec: T):
        dtype = spec.dtype or self.dtype
        layout = spec.layout or self.layout
        flat = numbers(spec, stand_in(dtype), len(self.tensors))
        made = self._place(spec, dtype, layout, flat)
        self.tensors.append(made)
        self.specs.append(spec)
        return made


def run(torch, row, call: Call, dtype: str, function=None):
    """The encoded result of one call."""
    return encode(torch, perform(torch, row, call, StoredBuilder(torch, dtype), function))


def rows(torch, row):
    """The first calls of a row in each type, and its in-place form."""
    if not exists(torch, row.name) or row.uninitialised:
        return
    calls = [(n, c) for n, c in enumerate(row.calls) if c.serves("uint8") or c.serves("float32")]
    changes = inplace_function(torch, row)
    for dtype in STORED:
        served = [(n, c) for n, c in calls if c.serves(stand_in(dtype))][:CALLS]
        for n, call in served:
            yield f"{dtype}/{n}", call, attempt(run, torch, row, call, dtype)
            if changes and call.args and isinstance(call.args[0], T):
                outcome = attempt(run, torch, row, call, dtype, changes)
                yield f"{dtype}/{n}/inplace", call, outcome


def plain(torch, function, *args):
    """What a call gives, or raises, as data."""
    found = attempt(function, *args)
    return found if isinstance(found, dict) else encode(torch, found)


def promotions(torch):
    """What each pair of types meets in, as dimensioned tensors, with numbers, and by name."""
    types = [*ALL, "complex32", *STORED]
    for a, b in itertools.product(types, types):
        x, y = getattr(torch, a), getattr(torch, b)
        row, number = (torch.ones(n, dtype=torch.uint8) for n in ((2,), ()))
        yield f"{a} {b}", [
            plain(torch, torch.promote_types, x, y),
            plain(torch, torch.can_cast, x, y),
            plain(torch, torch.result_type, row.to(x), number.to(y)),
        ]
    for a in STORED:
        one = torch.ones(2).to(getattr(torch, a))
        yield f"{a} numbers", [plain(torch, torch.result_type, one, n) for n in (True, 2, 2.5, 1j)]


def digest(tensor, torch) -> str:
    """A hash of a tensor's bytes; every NaN counts as one."""
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize > 1:
        tensor = torch.where(tensor.isnan(), torch.full((), float("nan"), dtype=tensor.dtype),
                             tensor)  # fmt: skip
    data = bytes(tensor.reshape(-1).contiguous().view(torch.uint8).tolist())
    return hashlib.sha256(data).hexdigest()[:16]


def conversions(torch):
    """All halves, and floats of all sizes, to each type; all codes of a byte to each other type."""
    codes = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    draw = random.Random(5)
    bits = [draw.getrandbits(32) for _ in range(20000)]
    floats = [struct.unpack("f", struct.pack("I", b))[0] for b in bits]
    middling = [draw.uniform(-500, 500) for _ in range(5000)]
    sources = {
        "halves": codes.view(torch.float16),
        "bfloat16": codes.view(torch.bfloat16),
        "float32": torch.tensor(floats, dtype=torch.float32),
        "float64": torch.tensor(middling, dtype=torch.float64),
        "int64": torch.arange(-70000, 70000, 7),
        "uint8": torch.arange(256).to(torch.uint8),
        "bool": torch.tensor([True, False]),
        "complex64": torch.tensor([1 + 2j, -3.5j, 200 - 1j]),
    }
    for name, dtype in itertools.product(sources, FLOAT8):
        yield f"{name} to {dtype}", digest(sources[name].to(getattr(torch, dtype)), torch)
    small = {"float64": torch.tensor([0, 1.5, 1000.75, 40000.0, 65535.0], dtype=torch.float64)}
    whole = {name: sources[name] for name in ("int64", "uint8", "bool")} | small
    for name, dtype in itertools.product(whole, UNSIGNED):
        yield f"{name} to {dtype}", digest(whole[name].to(getattr(torch, dtype)), torch)
    every = torch.arange(256).to(torch.uint8)
    small_int = ("int64", "int32", "uint8", "int16", "int8")
    for dtype, other in itertools.product(FLOAT8, (*ALL, *FLOAT8)):
        source = every.view(getattr(torch, dtype))
        if other in small_int:  # what C++ makes of NaN and of what is too large is nobody's
            wide = source.to(torch.float32)
            source = source[(wide >= (0 if other == "uint8" else -100)) & (wide <= 100)]
        yield f"{dtype} to {other}", digest(source.to(getattr(torch, other)), torch)
    for dtype, other in itertools.product(UNSIGNED, (*ALL, *STORED)):
        source = torch.arange(0, 30000, 11).to(getattr(torch, dtype))
        yield f"{dtype} to {other}", digest(source.to(getattr(torch, other)), torch)


def properties(torch):
    """What a dtype says of itself."""
    for name in STORED:
        dtype = getattr(torch, name)
        found = [repr(dtype).rpartition(".")[2], dtype.itemsize, dtype.is_floating_point]
        found += [dtype.is_complex, dtype.is_signed]
        for ask in (torch.finfo, torch.iinfo, torch.set_default_dtype, lambda d: d.to_complex()):
            found.append(attempt(lambda d, ask=ask: str(ask(d)), dtype))
        yield name, found


EXPRESSIONS = (
    "repr(torch.arange(0, 256, 7).to(torch.uint8).view(D))",
    "repr(torch.ones(2, 3).to(D))", "repr(torch.zeros(0, dtype=D))", "repr(torch.ones(()).to(D))",
    "torch.ones(2).to(D).type()", "torch.ones(2).to(D).is_signed()",
    "torch.ones(1).to(D).item()", "float(torch.ones(1).to(D))", "int(torch.ones(1).to(D))",
    "bool(torch.ones(1).to(D))", "torch.tensor([1, 2], dtype=D).tolist()",
    "torch.tensor([1.5, 2], dtype=D).tolist()", "torch.tensor([], dtype=D).shape",
    "torch.full((2,), 3, dtype=D).tolist()", "torch.full((2,), 1e6, dtype=D).tolist()",
    "torch.full((2,), -1, dtype=D).tolist()", "torch.full((2,), 70000, dtype=D).tolist()",
    "torch.tensor([-1], dtype=D).tolist()", "torch.tensor([70000], dtype=D).tolist()",
    "torch.tensor([2**64 - 1], dtype=D).tolist()", "torch.tensor([2**64], dtype=D).tolist()",
    "torch.tensor(7, dtype=D).numpy()", "torch.ones(2).to(D).storage().tolist()",
    "torch.ones(2).to(D).storage().type()", "torch.ones(2).to(D).untyped_storage().nbytes()",
    "torch.ones(2).to(D).storage().pickle_storage_type()",
    "torch.ones(2).to(D).requires_grad_().float().sum().backward()",
    "torch.empty(2, dtype=D).fill_(2).tolist()", "torch.ones(2).to(D).clone().tolist()",
    "torch.ones(2).to(D)[0].item()", "torch.equal(torch.ones(2).to(D), torch.ones(2).to(D))",
    "torch.testing.assert_close(torch.ones(2).to(D), torch.ones(2).to(D))",
    "torch.testing.assert_close(torch.ones(2).to(D), torch.zeros(2).to(D))",
    "torch.ones(4).to(D).view(torch.uint8).tolist()", "torch.ones(2).to(D) + 1",
    "torch.ones(2).to(D) + torch.ones(2)", "torch.ones(2).to(D) * torch.ones(2, dtype=torch.int8)",
    "torch.frombuffer(bytearray(8), dtype=D).tolist()", "torch.ones(8).to(D).element_size()",
    "torch.Tensor.type(torch.ones(2), D).dtype", "torch.ones(2).type(D).dtype",
)  # fmt: skip


def expressions(torch):
    """Single expressions in each type."""
    for text, name in itertools.product(EXPRESSIONS, STORED):
        scope = {"torch": torch, "D": getattr(torch, name)}
        yield f"{name} {text}", plain(torch, eval, text, scope)


def sums(torch):
    """Sums and products in another type, of something and of nothing."""
    others = (None, "float32", "float64", "bfloat16", "int64")
    for name, op, other in itertools.product(STORED, ("sum", "prod", "cumsum", "cumprod"), others):
        x = torch.tensor([1, 2, 4]).to(getattr(torch, name))
        place = (0,) if op.startswith("cum") else ()
        kind = {"dtype": getattr(torch, other)} if other else {}
        for shape, taken in {"3": x, "0": x[:0], "number": x[0]}.items():
            call = functools.partial(getattr(torch, op), taken, *place, **kind)
            yield f"{name} {op} {other} of {shape}", plain(torch, call)
    for name, other in itertools.product(STORED, others[1:4]):
        x = torch.tensor([1, 2, 4]).to(getattr(torch, name))
        call = functools.partial(torch.mean, x, dtype=getattr(torch, other))
        yield f"{name} mean {other}", plain(torch, call)


PLAIN = (promotions, conversions, properties, expressions, sums)
