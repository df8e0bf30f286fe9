"""Short programs that draw random numbers, and what is kept of their results.

A program is a seed and a list of expressions over `torch`, run in order after `manual_seed`. The
folder is no package, lest it hide the standard library's `random`.
"""

from __future__ import annotations

import hashlib

SIZES = (0, 1, 2, 7, 15, 16, 17, 31, 33, 100)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
WAITING = slice(5024, 5032)  # the cached normal value in the state: checked by drawing it
KEPT = 64  # elements kept of a long result: its ends, and others evenly between


def _fills(call: str, dtypes, sizes=SIZES) -> list[str]:
    return [f"torch.zeros({n}, dtype=torch.{t}).{call}" for t in dtypes for n in sizes]


def _programs() -> dict[str, tuple[int, list[str]]]:
    """Programs by name."""
    p: dict[str, tuple[int, list[str]]] = {}
    for low, high in ((0, 1), (0.1, 0.9), (-3, 5.7)):
        p[f"uniform_({low}, {high})"] = 0, _fills(f"uniform_({low}, {high})", FLOATS)
    for mean, std in ((0, 1), (0.3, 1.7)):
        p[f"normal_({mean}, {std})"] = 1, _fills(f"normal_({mean}, {std})", FLOATS)
        p[f"log_normal_({mean}, {std})"] = 2, _fills(f"log_normal_({mean}, {std})", FLOATS)
        p[f"cauchy_({mean}, {std})"] = 3, _fills(f"cauchy_({mean}, {std})", FLOATS)
    p["exponential_"] = 4, _fills("exponential_()", FLOATS) + _fills("exponential_(0.37)", FLOATS)
    p["geometric_"] = 5, _fills("geometric_(0.13)", FLOATS + INTEGERS)
    p["bernoulli_"] = 6, _fills("bernoulli_(0.3)", (*FLOATS, *INTEGERS, "bool"))
    p["bernoulli_ tensor"] = 7, [
        f"torch.zeros(40, dtype=torch.{t}).bernoulli_(torch.arange(40, dtype=torch.{q}) / 40)"
        for t in ("float32", "int64", "bool") for q in FLOATS
    ] + ["torch.bernoulli(torch.arange(30.0) / 30)", "torch.bernoulli(torch.zeros(9), 0.5)"]
    p["random_"] = 8, _fills("random_()", (*FLOATS, *INTEGERS, "bool"), (0, 1, 16, 33))
    p["random_ to"] = 9, _fills("random_(100)", (*FLOATS, *INTEGERS), (1, 16, 33))
    p["random_ from to"] = 10, (
        _fills("random_(-100, 27)", (*FLOATS, *INTEGERS[1:]), (1, 16, 33))
        + _fills("random_(-2**30, 2**30)", ("int32", "int64", "float64"), (33,))
        + _fills("random_(-2**62, 2**62 + 12345)", ("int64",), (33,))
        + _fills("random_(-2**63, None)", ("int64", "float64", "float32"), (33,))
        + _fills("random_(5, None)", ("int64", "uint8", "float32"), (33,))
    )
    p["randint"] = 11, [
        "torch.randint(10, (3, 4))", "torch.randint(-5, 5, (7,))", "torch.randint(2**40, (5,))",
        "torch.randint(0, 2, (9,), dtype=torch.bool)", "torch.randint(3, 9, (9,)).float()",
        "torch.randint(0, 200, (9,), dtype=torch.uint8)", "torch.randint(10**6, (1000,))",
        "torch.randint_like(torch.zeros(6), 5)", "torch.randint(7, (4,), dtype=torch.float16)",
    ]
    p["randperm"] = 12, [
        *(f"torch.randperm({n})" for n in (0, 1, 2, 16, 17, 100, 1000, 40000)),
        *(f"torch.randperm(50, dtype=torch.{t})" for t in (*INTEGERS, *FLOATS)),
    ]
    p["rand and randn"] = 13, [
        *(f"torch.{f}(5, 7, dtype=torch.{t})" for f in ("rand", "randn")
          for t in (*FLOATS, "complex64", "complex128")),
        *(f"torch.{f}({n}, dtype=torch.{t})" for f in ("rand", "randn") for n in (1, 3, 1000)
          for t in ("float32", "float64", "bfloat16", "complex64")),
        "torch.rand_like(torch.zeros(3, 5))", "torch.randn_like(torch.zeros(3, 9))",
        "torch.randn(())", "torch.rand(0, 3)",
    ]
    p["the cached normal value"] = 14, [
        "torch.randn(3)", "torch.randn(1)", "torch.randn(5)", "torch.rand(1)", "torch.randn(4)",
        "torch.randn(16)", "torch.randn(2, dtype=torch.float64)", "torch.randn(1).double()",
        "torch.zeros(3).log_normal_()", "torch.zeros(3, dtype=torch.float16).normal_()",
        "torch.get_rng_state()[5032:]", "torch.randn(1)",
    ]
    p["normal of tensors"] = 15, [
        "torch.normal(torch.arange(5.0), 0.5)", "torch.normal(1.5, torch.arange(1.0, 21.0))",
        "torch.normal(torch.arange(18.0), torch.arange(1.0, 19.0))",
        "torch.normal(torch.zeros(4, 1), torch.ones(5))", "torch.normal(2.0, 3.0, (3, 7))",
    ]
    p["order of memory"] = 16, [
        "torch.empty(3, 4).t().uniform_()", "torch.zeros(3, 8)[:, ::2].uniform_()",
        "torch.empty(5, 4).t().normal_()", "torch.zeros(40)[::2].normal_()",
        "torch.empty(2, 3, 4).permute(1, 2, 0).exponential_()", "torch.empty(20)[2:18].normal_()",
        "torch.zeros(4, 5, 6)[::2].permute(2, 0, 1)[::2].random_(0, 100)",
        "torch.empty(2, 3, 4, 4, memory_format=torch.channels_last).normal_()",
        "torch.rand_like(torch.zeros(4, 5).t())", "torch.zeros(6, 4).t().bernoulli_(0.5)",
        "torch.empty(3, 4, dtype=torch.complex64).t().normal_()",
    ]
    p["multinomial"] = 17, [
        f"torch.multinomial(torch.arange(1.0, 11.0, dtype=torch.{t}), {n}, {r})"
        for t in FLOATS for n, r in ((1, False), (1, True), (5, False), (10, False), (30, True))
    ] + [
        "torch.multinomial(torch.arange(1.0, 61.0).reshape(3, 20), 4)",
        "torch.multinomial(torch.arange(1.0, 61.0).reshape(3, 20), 40, replacement=True)",
        "torch.multinomial(torch.arange(1.0, 1001.0), 10)",
        "torch.multinomial(torch.tensor([0.0, 3.0, 0.0, 1.0]), 2)",
        "torch.multinomial(torch.tensor([0.0, -3.0]), 2, True)",
        "torch.multinomial(torch.tensor([0.0, 0.0]), 1)",
    ]
    p["poisson, binomial, gamma"] = 18, [
        "torch.poisson(torch.arange(50.0))", "torch.poisson(torch.arange(50.0).double() / 7)",
        "torch.binomial(torch.arange(60.0), torch.arange(60.0) / 60)",
        "torch.binomial(torch.full((40,), 100.0).double(), torch.arange(40.0).double() / 40)",
        "torch._standard_gamma(torch.arange(40.0) / 5)",
        "torch._standard_gamma(torch.arange(40.0).double() / 9)",
        "torch._sample_dirichlet(torch.arange(1.0, 13.0).reshape(3, 4))",
    ]
    p["dropout"] = 19, [
        "torch.nn.functional.dropout(torch.ones(40), 0.3)",
        "torch.nn.functional.dropout(torch.ones(5, 8).t(), 0.5)",
        "torch.nn.functional.dropout(torch.ones(9).bfloat16(), 0.1)",
        "torch.nn.functional.dropout(torch.ones(9), 0.0)",
        "torch.nn.functional.dropout(torch.ones(9), 1.0)",
    ]
    p["layers and initialisers"] = 20, [
        "torch.nn.Linear(5, 3).weight.detach()", "torch.nn.Conv2d(2, 3, 3).bias.detach()",
        "torch.nn.Embedding(4, 6).weight.detach()", "torch.nn.LSTM(3, 4).weight_hh_l0.detach()",
        *(f"torch.nn.init.{f}(torch.empty(6, 5))" for f in (
            "uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
            "kaiming_normal_", "trunc_normal_")),
        "torch.nn.init.sparse_(torch.empty(6, 5), 0.4)",
    ]
    p["samplers"] = 21, [
        "list(torch.utils.data.RandomSampler(range(20)))",
        "list(torch.utils.data.RandomSampler(range(20), replacement=True, num_samples=40))",
        "list(torch.utils.data.WeightedRandomSampler([1.0, 2.0, 3.0], 10))",
        "[list(s.indices) for s in torch.utils.data.random_split(range(9), [4, 5])]",
        "[b.tolist() for b in torch.utils.data.DataLoader(range(10), 3, shuffle=True)]",
    ]
    p["generators"] = 22, [
        "torch.rand(3, generator=torch.Generator().manual_seed(5))",
        "torch.initial_seed()", "torch.Generator().initial_seed()",
        "torch.Generator().manual_seed(-1).initial_seed()", "torch.manual_seed(2**64)",
        "torch.randn(3, generator=torch.Generator().manual_seed(2**63 + 5))",
        "torch.manual_seed(7).initial_seed()", "torch.get_rng_state().shape",
        "torch.set_rng_state(torch.zeros(5056, dtype=torch.uint8))",
        "torch.set_rng_state(torch.zeros(10, dtype=torch.uint8))",
        "(torch.set_rng_state(torch.Generator().manual_seed(3).get_state()), torch.rand(2))[1]",
        "[torch.set_rng_state(s) or torch.rand(3).tolist() for s in [torch.get_rng_state()] * 2]",
    ]
    p["refusals"] = 23, [
        "torch.zeros(3).uniform_(2, 1)", "torch.zeros(3).normal_(0, -1)", "torch.randperm(-1)",
        "torch.zeros(3).exponential_(0)", "torch.zeros(3).geometric_(1.5)",
        "torch.zeros(3).bernoulli_(1.5)", "torch.zeros(3).cauchy_(0, 0)",
        "torch.zeros(3).log_normal_(0, 0)", "torch.zeros(3).random_(5, 5)",
        "torch.zeros(3, dtype=torch.uint8).random_(-1, 5)", "torch.randint(5, 5, (2,))",
        "torch.zeros(3, dtype=torch.int32).uniform_()", "torch.rand(2, dtype=torch.int64)",
        "torch.multinomial(torch.ones(3), 4)", "torch.multinomial(torch.ones(3), 0)",
        "torch.multinomial(torch.ones(3, dtype=torch.int64), 1)",
        "torch.randperm(300, dtype=torch.uint8)", "torch.normal(torch.zeros(2), -1.0)",
        "torch.poisson(torch.tensor([-1.0]))"
    ]
    return {name: (seed, [*e, "torch.rand(2)"]) for name, (seed, e) in p.items()}


PROGRAMS = _programs()

# Fills whose values pass through the C library's logarithms and sines, which may differ by a last
# digit from one release to the next.
BY_C_LIBRARY = ("normal_", "log_normal_", "cauchy_", "exponential_", "rand and randn",
                "the cached", "normal of", "order of", "poisson", "layers")


def _kept(values: list) -> list:
    if len(values) <= KEPT:
        return values
    step = len(values) // (KEPT // 2)
    return values[: KEPT // 4] + values[:: step] + values[-KEPT // 4 :]


def _flat(values) -> list:
    if not isinstance(values, list):
        return [values]
    return [v for part in values for v in _flat(part)]


def _plain(value):
    return [value.real, value.imag] if isinstance(value, complex) else value


def outcome(torch, expression: str):
    """The expression's value as JSON can hold it: tensors as dtype, shape and elements."""
    try:
        result = eval(expression, {"torch": torch})
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        return {"raises": type(error).__name__, "text": str(error).splitlines()[0]}
    if hasattr(result, "dtype"):
        elements = [_plain(v) for v in _flat(result.tolist())]
        return {"dtype": str(result.dtype).removeprefix("torch."), "shape": list(result.shape),
                "elements": _kept(elements)}
    return list(result) if isinstance(result, tuple) else result


def run(torch, name: str) -> dict:
    """All outcomes of a program and a digest of the generator's state at its end."""
    seed, expressions = PROGRAMS[name]
    torch.manual_seed(seed)
    outcomes = [outcome(torch, e) for e in expressions]
    state = bytearray(torch.get_rng_state().tolist())
    state[WAITING] = bytes(8)
    return {"outcomes": outcomes, "state": hashlib.sha256(state).hexdigest()}
