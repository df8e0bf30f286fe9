"""What export raises, under PyTorch's names."""

from __future__ import annotations

import enum

_NOTE = (
    "The error above occurred when calling torch.export.export. If you would like to view some "
    "more information about this error, and get a list of all other errors that may occur in your "
    "export call, you can replace your `export()` call with `draft_export()`."
)


class UserErrorType(enum.Enum):
    """What a UserError is about."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = enum.auto()


class UserError(RuntimeError):
    """A program, its sample inputs or dynamic_shapes do not allow what is asked."""

    def __init__(self, error_type, msg: str, case_name=None):
        self.error_type = error_type
        super().__init__(msg)
        self.add_note(_NOTE)


class ConstraintViolationError(RuntimeError):
    """A size is not what dynamic_shapes says of it."""


class GuardOnDataDependentSymNode(RuntimeError):
    """The program decides by a number that is only known when it runs."""

    def __init__(self, cond, text: str):
        super().__init__(text)
        self.cond = cond
