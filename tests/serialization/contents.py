"""What the recorded checkpoints hold; shared by the recorder and the tests."""

from collections import Counter, OrderedDict
from fractions import Fraction

DTYPES = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
    "bool", "complex128", "complex64",
)  # fmt: skip


def every_dtype(torch):
    return {
        name: torch.tensor([0, 1, 3, 100]).to(getattr(torch, name)).reshape(2, 2)
        for name in DTYPES
    }


STORED = (
    "uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip


def stored_dtypes(torch):
    values = torch.tensor([0, 1, 3, 100])
    state = {name: values.to(getattr(torch, name)).reshape(2, 2) for name in STORED}
    return {**state, "dtypes": [getattr(torch, name) for name in STORED]}


def views(torch):
    base = torch.arange(12.0)
    return {
        "base": base,
        "transposed": base.view(3, 4).t(),
        "tail": base[5:],
        "strided": base[1::3],
        "expanded": base[2].expand(2, 3),
        "scalar": base[7],
        "conj": torch.tensor([1 + 2j, 3 - 4j]).conj(),
        "imag_of_conj": torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
    }


def state_dict(torch):
    state = OrderedDict()
    state["weight"] = torch.arange(6.0).reshape(2, 3)
    state["bias"] = torch.tensor([0.5, -0.5])
    state["num_batches_tracked"] = torch.tensor(7)
    state._metadata = OrderedDict({"": {"version": 2}})
    return state


def training_state(torch):
    return {
        "epoch": 3,
        "model": state_dict(torch),
        "parameter": torch.nn.Parameter(torch.ones(2, 2)),
        "frozen": torch.nn.Parameter(torch.zeros(3), requires_grad=False),
        "leaf": torch.ones(2, requires_grad=True),
        "optimizer": {
            "state": {0: {"step": torch.tensor(4.0), "exp_avg": torch.full((2,), 0.25)}},
            "param_groups": [
                {"lr": 1e-3, "betas": (0.9, 0.999), "foreach": None, "params": [0], "a": False}
            ],
        },
    }


def plain_values(torch):
    return {
        "size": torch.Size([2, 3]),
        "device": torch.device("cpu"),
        "meta_device": torch.device("meta"),
        "dtype": torch.bfloat16,
        "dtypes": [getattr(torch, name) for name in DTYPES],
        "complex": 1.5 - 2j,
        "bytes": b"\x00\xff raw",
        "bytearray": bytearray(b"ab"),
        "set": {1, 2},
        "counter": Counter("abca"),
        "numbers": [0, -1, 255, 256, 65536, -(2**31), 2**40, -(2**70), 1.5, float("inf")],
        "text": "grüße ✓",
        "nested": ((), (1,), [[]], {"k": {}}, (1, 2, 3, 4)),
        "none": None,
        "flags": (True, False),
        1: "int key",
        (1, "a"): "tuple key",
    }


def on_meta(torch):
    return {"meta": torch.empty(2, 3, device="meta"), "empty": torch.zeros(0, 4)}


def attributes(torch):
    tensor = torch.ones(2)
    tensor.note = "kept"
    parameter = torch.nn.Parameter(torch.ones(1))
    parameter.tag = [1, 2]
    return {"tensor": tensor, "parameter": parameter}


CONTENTS = {
    "every_dtype": every_dtype,
    "stored_dtypes": stored_dtypes,
    "views": views,
    "training_state": training_state,
    "plain_values": plain_values,
    "on_meta": on_meta,
    "attributes": attributes,
}
REFUSED = {
    "fraction": lambda torch: {"x": Fraction(1, 2)},
    "blocked": lambda torch: __import__("os").getcwd,
    "print": lambda torch: [print],
}


def described(torch, value):
    """``value`` as plain data that tells everything about the tensors in it."""
    if isinstance(value, torch.Tensor):
        exact = value.detach().resolve_conj().resolve_neg()
        numbers = None if value.is_meta else str(exact.tolist())
        return [
            type(value).__name__, str(value.dtype), list(value.shape), list(value.stride()),
            value.storage_offset(), value.requires_grad, value.is_conj(), value.is_neg(),
            str(value.device), str(sorted(getattr(value, "__dict__", {}).items())), numbers,
        ]  # fmt: skip
    if isinstance(value, dict):
        items = [[repr(key), described(torch, item)] for key, item in value.items()]
        # OrderedDict's own text depends on Python's version.
        extra = {
            name: repr(dict(item) if isinstance(item, dict) else item)
            for name, item in getattr(value, "__dict__", {}).items()
        }
        return [type(value).__name__, items, extra]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [type(value).__name__, [described(torch, item) for item in value]]
    return [type(value).__name__, repr(value)]
