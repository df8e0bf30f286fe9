"""What training programs need besides tensors: data loading, hooks, checkpointing."""

import importlib


def __getattr__(name: str):
    # Loaded when first asked for: most programs need one of them at most.
    if not name.startswith("__"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
