"""Sample rows of every op, by family, and the sweeps over them."""

import importlib

FAMILIES = (
    "arithmetic",
    "comparison",
    "unary",
    "shape",
)

ROWS = [r for f in FAMILIES for r in importlib.import_module(f".{f}", __name__).row.rows]
