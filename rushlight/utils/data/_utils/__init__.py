"""How a DataLoader fetches samples and makes batches of them."""

from . import collate, fetch

__all__ = ["collate", "fetch", "worker"]

# Seconds between two looks at whether the processes on the other side still live.
MP_STATUS_CHECK_INTERVAL = 5.0


def __getattr__(name: str):
    if name == "worker":
        import importlib

        return importlib.import_module(__name__ + ".worker")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
