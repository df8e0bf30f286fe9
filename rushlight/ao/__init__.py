"""Quantisation, pruning and numeric suites: refused, but for what leaves a model as it is."""

from __future__ import annotations

from rushlight import _absent

__getattr__ = _absent.names("ao")
