"""Where Python's files lie: what a profile of Python functions cuts off their names."""

from __future__ import annotations

import os
import site
import sys

import rushlight


def _prefix_regex() -> list[str]:
    package = os.path.dirname(os.path.dirname(rushlight.__file__))
    raw = [*sys.path, site.getuserbase(), site.getusersitepackages(), package]
    return [path + os.sep for path in sorted({os.path.abspath(p) for p in raw}, reverse=True)]
