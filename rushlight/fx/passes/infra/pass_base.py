"""What passes over graphs are and return."""

from __future__ import annotations

import abc
from typing import NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether that changed it."""

    graph_module: object
    modified: bool


class PassBase(abc.ABC):
    """A pass: subclasses define ``call(graph_module)``, which returns a PassResult or None."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Changes the module."""

    def requires(self, graph_module) -> None:  # noqa: B027
        """Called before: raises where the module is not as the pass needs it."""

    def ensures(self, graph_module) -> None:  # noqa: B027
        """Called after: raises where the module is not as it should be."""
