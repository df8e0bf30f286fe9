"""pytest's reports of failed tests get the explanation as a section of their own.

Notes on the exception itself would be seen by ``pytest.raises(match="...$")``, so none is added.
"""

from __future__ import annotations

import pytest

from . import hook
from .interrupts import is_interrupt


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Adds a section "Rushlight" where a rule knows the error that failed a test."""
    outcome = yield
    error = call.excinfo.value if call.excinfo is not None else None
    report = outcome.get_result()
    if not hook.is_wanted() or not isinstance(error, Exception) or report.outcome != "failed":
        return
    try:
        from .notes import explained, finding_of, note_text

        findings = [finding for _, finding in explained(error, finding_of)]
    except Exception as failure:  # an explanation that fails must not fail a test's report
        if is_interrupt(failure):
            raise
        return
    for finding in findings:
        report.sections.append(("Rushlight", note_text(finding).strip("\n")))
