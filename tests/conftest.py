"""Known gaps: the tests named in gaps.txt say where PyTorch's behaviour is not reached yet.

They run, and are reported as expected failures; one that passes shows as XPASS and its line can go.
"""

from pathlib import Path

import pytest

GAPS = frozenset(Path(__file__).with_name("gaps.txt").read_text(encoding="utf-8").splitlines())


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.replace("\n", "\\n") in GAPS:
            item.add_marker(pytest.mark.xfail(reason="named in tests/gaps.txt", strict=False))
