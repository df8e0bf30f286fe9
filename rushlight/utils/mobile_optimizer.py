"""Models for phones: refused."""

from __future__ import annotations

from rushlight import _absent

__getattr__ = _absent.names(
    "utils.mobile_optimizer", "rushlight has no mobile runtime.",
    "LintCode MobileOptimizerType generate_mobile_module_lints optimize_for_mobile",
)  # fmt: skip
