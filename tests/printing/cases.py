"""Tensors to print and the options to print them with; shared by the recorder and the test."""

import math
import random

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTS = ("int64", "int32", "int16", "int8", "uint8")
_SHAPES = ((), (1,), (7,), (3, 4), (2, 3, 4), (1, 1, 1), (2, 1, 3, 2), (40,), (5, 23))
_LARGE = ((1001,), (40, 40), (7, 150), (1001, 1), (1, 1001), (12, 10, 11), (2, 3, 200), (3, 400))
_OPTIONS = (
    {"precision": 2}, {"precision": 8}, {"precision": 0}, {"sci_mode": True}, {"sci_mode": False},
    {"linewidth": 40}, {"linewidth": 200}, {"threshold": 5}, {"threshold": 5, "edgeitems": 1},
    {"threshold": 0, "edgeitems": 0}, {"profile": "short"}, {"profile": "full"},
    {"profile": "full", "precision": 3}, {"edgeitems": 5, "threshold": 20, "linewidth": 60},
)  # fmt: skip
_SPECIAL = {
    "nan": [math.nan], "inf": [math.inf, -math.inf], "nan_and_numbers": [math.nan, 1.5, -2.25],
    "inf_and_whole": [math.inf, 1.0, -3.0], "zeros": [0.0, -0.0], "minus_zero": [-0.0, 1.5],
    "tiny": [1e-10, 1.0], "huge": [1e10, 1.0], "ratio": [1.0, 1001.5], "ratio_whole": [1.0, 1001.0],
    "ratio_edge": [1.0, 1000.0], "small": [1e-4, 2e-4], "smaller": [9.9e-5, 2e-4],
    "whole": [1.0, 2.0, 3.0], "large_whole": [1e8, 1.0], "over_large_whole": [1.0e8 + 64, 2e8],
    "negative": [-1.25, -100.5], "long": [123456.789, 1.0], "denormal": [1e-40, 1e-39],
    "half_way": [0.00005, 0.12345, 0.99995], "empty_of_finite": [math.nan, math.inf, 0.0],
}  # fmt: skip


def _numbers(seed, count, kind):
    source = random.Random(seed)
    if kind in _INTS:
        low = 0 if kind == "uint8" else -100
        return [source.randint(low, 120) for _ in range(count)]
    if kind == "bool":
        return [source.random() < 0.5 for _ in range(count)]
    scale = source.choice([1.0, 1.0, 10.0, 1000.0, 1e-3, 1e6])
    if kind in ("float16", "bfloat16"):
        scale = min(scale, 1000.0)
    numbers = [source.gauss(0, scale) for _ in range(count)]
    if source.random() < 0.2:
        numbers = [float(round(number)) for number in numbers]
    if kind.startswith("complex"):
        return [complex(number, source.gauss(0, 1)) for number in numbers]
    return numbers


def _filled(torch, kind, shape, seed):
    numbers = _numbers(seed, math.prod(shape), kind)
    return torch.tensor(numbers, dtype=getattr(torch, kind)).reshape(shape)


def _filled_cases():
    kinds = (*_FLOATS, *_INTS, "bool", "complex64", "complex128")
    seed = 0
    for kind in kinds:
        for shape in _SHAPES:
            seed += 1
            yield (
                f"{kind}{list(shape)}",
                lambda torch, k=kind, s=shape, n=seed: _filled(torch, k, s, n), {},
            )  # fmt: skip
    for kind in ("float32", "int64", "complex64", "bool", "float16"):
        for shape in _LARGE:
            seed += 1
            yield (
                f"{kind}{list(shape)}",
                lambda torch, k=kind, s=shape, n=seed: _filled(torch, k, s, n), {},
            )  # fmt: skip
    for number, options in enumerate(_OPTIONS):
        for kind, shape in (("float32", (3, 9)), ("float64", (30,)), ("complex64", (3, 3)),
                            ("int64", (4, 8)), ("float32", (40, 40))):  # fmt: skip
            yield (
                f"{kind}{list(shape)} {options}",
                lambda torch, k=kind, s=shape, n=number: _filled(torch, k, s, n), options,
            )  # fmt: skip


def _special_cases():
    for name, numbers in _SPECIAL.items():
        for kind in ("float32", "float64"):
            yield (
                f"{name} {kind}",
                lambda torch, v=numbers, k=kind: torch.tensor(v, dtype=getattr(torch, k)), {},
            )  # fmt: skip
        yield (
            f"{name} complex64",
            lambda torch, v=numbers: torch.tensor([complex(x, -x) for x in v]), {},
        )  # fmt: skip
        yield f"{name} 0-d", lambda torch, v=numbers: torch.tensor(v[0]), {}
        for sci in (True, False):
            yield f"{name} sci {sci}", lambda torch, v=numbers: torch.tensor(v), {"sci_mode": sci}


def _graph(torch):
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    return (leaf * 2) + 1


def _long_graph(torch):
    return torch.arange(14.0, requires_grad=True) * 1.5


def _subclass(torch):
    class Marked(torch.Tensor):
        pass

    return torch.tensor([1.0, 2.0]).as_subclass(Marked)


def _in_double(build):
    def make(torch):
        torch.set_default_dtype(torch.float64)
        return build(torch)

    return make


def _other_cases():
    for kind in ("float32", "float64", "int64", "int32", "bool", "complex64", "complex128"):
        for shape in ((0,), (0, 3), (2, 0, 4)):
            yield (
                f"empty {kind}{list(shape)}",
                lambda torch, k=kind, s=shape: torch.zeros(s, dtype=getattr(torch, k)), {},
            )  # fmt: skip
            yield (
                f"meta {kind}{list(shape)}",
                lambda torch, k=kind, s=shape: torch.empty(
                    s, dtype=getattr(torch, k), device="meta"
                ), {},
            )  # fmt: skip
    yield "empty half", lambda torch: torch.zeros(0, dtype=torch.float16), {}
    yield "meta", lambda torch: torch.empty(2, 3, device="meta"), {}
    yield "meta leaf", lambda torch: torch.empty(2, device="meta", requires_grad=True), {}
    yield "leaf", lambda torch: torch.tensor([1.0, 2.0], requires_grad=True), {}
    yield "leaf 0-d", lambda torch: torch.tensor(1.5, requires_grad=True), {}
    yield "graph", _graph, {}
    yield "graph sum", lambda torch: _graph(torch).sum(), {}
    yield "graph view", lambda torch: _graph(torch).view(2, 1), {}
    yield "graph long", _long_graph, {}
    yield "graph narrow", _long_graph, {"linewidth": 30}
    yield "parameter", lambda torch: torch.nn.Parameter(torch.tensor([[1.0, 2.5]])), {}
    yield "parameter frozen", lambda torch: torch.nn.Parameter(torch.ones(2), False), {}
    yield "buffer", lambda torch: torch.nn.Buffer(torch.ones(2)), {}
    yield "subclass", _subclass, {}
    yield "transposed", lambda torch: torch.arange(6.0).view(2, 3).t(), {}
    yield "expanded", lambda torch: torch.tensor([1.5]).expand(2, 4), {}
    yield "sliced", lambda torch: torch.arange(30).view(5, 6)[1::2, ::3], {}
    yield "conj", lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj(), {}
    yield "conj imag", lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj().imag, {}
    yield "float32 in double", _in_double(lambda torch: torch.ones(2, dtype=torch.float32)), {}
    yield "float64 in double", _in_double(lambda torch: torch.tensor([1.5])), {}
    yield "complex in double", _in_double(lambda torch: torch.tensor([1.5j])), {}
    yield "complex64 in double", _in_double(
        lambda torch: torch.ones(2, dtype=torch.complex64)
    ), {}  # fmt: skip
    yield "empty in double", _in_double(lambda torch: torch.zeros(0, dtype=torch.float32)), {}


def cases():
    """Yields (name, build, options): ``build(torch)`` makes the tensor."""
    yield from _filled_cases()
    yield from _special_cases()
    yield from _other_cases()


FORMATS = (
    ("{}", "1.5"), ("{:.3f}", "1.23456"), ("{:5d}", "7"), ("{:>8}", "2.5"), ("{:e}", "12345.678"),
    ("{}", "True"), ("{:.2f}", "1+2j"),
)  # fmt: skip


def text_of(torch, build, options) -> str:
    """``repr`` of the case, with the options in force and defaults restored after it."""
    try:
        torch.set_printoptions(profile="default")
        tensor = build(torch)
        torch.set_printoptions(**options)
        text = repr(tensor)
        assert str(tensor) == text
        return text
    finally:
        torch.set_printoptions(profile="default")
        torch.set_default_dtype(torch.float32)


def formatted(torch) -> list[str]:
    """What formatting 0-d tensors gives."""
    return [form.format(torch.tensor(eval(number))) for form, number in FORMATS]
