"""PassManager: runs passes over a module, in an order that keeps to constraints."""

from __future__ import annotations

import inspect
import logging
from functools import wraps

from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]  # fmt: skip

logger = logging.getLogger(__name__)


def pass_result_wrapper(fn):
    """Lets a function that changes a module, or returns another, be a pass."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped_fn(gm):
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if not inspect.isfunction(fn):
        wrapped_fn.__name__ = type(fn).__name__
    return wrapped_fn


def this_before_that_pass_constraint(this, that):
    """A constraint: ``that`` does not come before ``this``."""

    def depends_on(a, b) -> bool:
        return not (a == that and b == this)

    return depends_on


def _validate_pass_schedule_constraint(constraint, passes) -> None:
    for i, a in enumerate(passes):
        for j, b in enumerate(passes[i + 1 :]):
            if not constraint(a, b):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {a} before {b} but found {a} at "
                    f"index {i} and {b} at index {j} in pass list."
                )


def _topological_sort_passes(passes, constraints) -> list:
    if not constraints:
        return passes
    after: dict = {each: [] for each in passes}
    waits = dict.fromkeys(passes, 0)
    for a in passes:
        for b in passes:
            if a != b and any(not constraint(a, b) for constraint in constraints):
                after[b].append(a)
                waits[a] += 1
    ready = [each for each in passes if not waits[each]]
    found: list = []
    while ready:
        each = ready.pop(0)
        found.append(each)
        for later in after[each]:
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    stuck = [each for each in passes if waits[each]]
    if stuck:
        raise RuntimeError(f"Circular dependency detected within the following passes: {stuck}")
    return found


class PassManager:
    """Runs passes: ``PassManager([first, second])(module)`` returns a PassResult.

    Args:
        passes: functions from a module to a PassResult.
        constraints: functions of two passes, whether the first may come before the second.
        steps: how often all are run at most; they stop when none changes the module.
        run_checks_after_each_pass: run the checks of :meth:`add_checks` after each.
        suppress_check_failures: log failed checks rather than raise.
    """

    passes: list
    constraints: list
    _validated: bool = False
    steps: int = 1

    def __init__(
        self, passes=None, constraints=None, steps=None,
        run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ):  # fmt: skip
        self.passes = passes or []
        self.constraints = constraints or []
        if steps:
            self.steps = steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass) -> None:
        """Adds a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint) -> None:
        """Adds a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raises where the order breaks a constraint."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def solve_constraints(self) -> None:
        """Orders the passes by the constraints."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check) -> None:
        """Makes ``check(module)`` run after the passes."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def check(self, module) -> None:
        """Raises where the module is not as it should be: here, never."""

    def __call__(self, module):
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        overall = False
        for _ in range(self.steps):
            changed = False
            for at, function in enumerate(self.passes):
                result = self._run(at, function, module)
                module = result.graph_module
                changed = changed or result.modified
                if hasattr(module, "recompile"):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            overall = overall or changed
            if not changed:
                break
        return PassResult(module, overall)

    def _run(self, at: int, function, module):
        name = function.__name__ if inspect.isfunction(function) else type(function).__name__
        try:
            result = function(module)
            if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                raise TypeError(
                    f"The result of the pass {name} should be type PassResult."
                    "Please wrap it with pass_result_wrapper()"
                )
        except Exception as error:
            before = [
                each.__name__ if inspect.isfunction(each) else type(each).__name__
                for each in self.passes[:at]
            ]
            raise Exception(
                f"An error occurred when running the '{name}' pass after the following passes: "
                f"{before}"
            ) from error
        return result
