"""Exceptions that programs catch around ``torch.compile``; only an unknown backend is raised."""

from __future__ import annotations

from rushlight import _absent


class TorchDynamoException(RuntimeError):
    """The base of them."""


class InvalidBackend(TorchDynamoException):
    """A backend that is not known."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


class BackendCompilerFailed(TorchDynamoException):
    """A backend failed."""


class InternalTorchDynamoError(TorchDynamoException):
    """The compiler failed."""


class RecompileError(TorchDynamoException):
    """A function was compiled again where that was forbidden."""


class TorchRuntimeError(TorchDynamoException):
    """An op failed while the compiler ran it on shapes."""


class Unsupported(TorchDynamoException):
    """Python that the compiler does not take."""


__getattr__ = _absent.names("_dynamo.exc")
