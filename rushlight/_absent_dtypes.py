"""Dtypes and layouts that no tensor here has: programs compare with them and list them."""

from __future__ import annotations


class _Mentioned:
    """Stands for a dtype or layout: it equals itself only, and no function takes it."""

    def __init__(self, name: str, itemsize: int = 0):
        self._name, self.itemsize = name, itemsize
        self.is_floating_point = self.is_complex = self.is_signed = False

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


for _name in ("bsc", "bsr", "csc", "csr"):
    globals()[f"sparse_{_name}"] = _Mentioned(f"sparse_{_name}")
for _name in "qint8 qint32 quint8 quint2x4 quint4x2".split():
    globals()[_name] = _Mentioned(_name, 4 if _name == "qint32" else 1)
for _bits in range(1, 8):
    globals()[f"int{_bits}"] = _Mentioned(f"int{_bits}", 1)
    globals()[f"uint{_bits}"] = _Mentioned(f"uint{_bits}", 1)
for _name in "bit bits1x8 bits2x4 bits4x2 bits8 bits16".split():
    globals()[_name] = _Mentioned(_name, 2 if _name == "bits16" else 1)
jagged = _Mentioned("jagged")


class qscheme(_Mentioned):
    """How a tensor would be quantised."""


for _name in (
    "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric",
    "per_tensor_affine", "per_tensor_symmetric",
):  # fmt: skip
    globals()[_name] = qscheme(_name)
