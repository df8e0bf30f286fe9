"""Sample rows of every op, by family, and the sweeps over them."""

import importlib

FAMILIES = (
    "arithmetic",
    "comparison",
    "unary",
    "reduction",
    "scan",
    "sorting",
    "shape",
    "indexing",
    "linalg",
    "activation",
    "softmax",
    "loss",
    "conv",
    "pooling",
    "norm",
    "embedding",
    "creation",
    "casting",
    "complex",
    "fft",
    "random",
    "native",
)

ROWS = [r for f in FAMILIES for r in importlib.import_module(f".{f}", __name__).row.rows]
