"""Complex numbers: parts, conjugates, views."""

from .spec import Family, call, fail, t

row = Family(__name__)
B = t(3, 4)
row("real", [call(B), call(t())], [])
row("imag", [call(B)], [fail(t(3))])
row("angle", [call(B), call(t(values=[0, -1, 1, -0.0]))], [])
row("conj", [call(B), call(t())], [], exact=True)
row("conj_physical", [call(B)], [], exact=True, covers=("aten._conj_physical",))
row("resolve_conj", [call(B)], [], exact=True)
row("resolve_neg", [call(B)], [], exact=True)
row("is_conj", [call(B)], [])
row("is_neg", [call(B)], [])
row("view_as_real", [call(B), call(t())], [fail(t(3))], exact=True)
row(
    "view_as_complex",
    [call(t(3, 2)), call(t(2, 3, 2)), call(t(2))],
    [fail(t(3)), fail(t()), fail(t(3, 2, dtype="int64")), fail(t(3, 2, layout="transposed"))],
    exact=True,
)
row("Tensor.real", [call(B)], [], exact=True)
row("Tensor.imag", [call(B)], [], exact=True)
