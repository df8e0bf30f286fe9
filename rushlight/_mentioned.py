"""Dtypes and layouts that no tensor here has: programs compare with them and list them."""

from __future__ import annotations


class _Mentioned:
    """Stands for a dtype or layout: it equals itself only, and no function takes it."""

    def __init__(self, name: str, itemsize: int = 0, is_floating_point: bool = False):
        self._name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_complex = is_floating_point, False
        self.is_signed = is_floating_point

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


for _name in "e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu".split():
    globals()[f"float8_{_name}"] = _Mentioned(f"float8_{_name}", 1, True)
for _bits in (16, 32, 64):
    globals()[f"uint{_bits}"] = _Mentioned(f"uint{_bits}", _bits // 8)
for _name in ("bsc", "bsr", "csc", "csr"):
    globals()[f"sparse_{_name}"] = _Mentioned(f"sparse_{_name}")
