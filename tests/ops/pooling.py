"""Pooling."""

from .spec import FLOATS, Family, call, fail, t

row = Family(__name__, dtypes=(*FLOATS, "int64", "complex64"))
D1, D2, D3 = (
    t(1, 2, 6, distinct=True),
    t(1, 2, 4, 5, distinct=True),
    t(1, 1, 3, 3, 3, distinct=True),
)


def F(name, *calls, fails=(), **options):
    row(f"nn.functional.{name}", list(calls), list(fails), **options)


F(
    "max_pool1d",
    call(D1, 2),
    call(D1, 3, 1, 1),
    call(D1, 2, ceil_mode=True),
    call(D1, 2, dilation=2),
    call(t(2, 6, distinct=True), 2),
    call(D1, 2, return_indices=True),
    fails=[fail(D1, 2, 1, 2), fail(t(3), 2), fail(D1, 0), fail(D1, 7)],
    alias=["max_pool1d"],
)
F(
    "max_pool2d",
    call(D2, 2),
    call(D2, (2, 3), 1, (1, 1)),
    call(D2, 2, ceil_mode=True),
    call(D2, 2, stride=1, dilation=2),
    call(t(2, 4, 4, distinct=True), 2),
    call(D2, 2, return_indices=True),
    call(t(1, 2, 4, 4, distinct=True, layout="channels_last"), 2),
    fails=[fail(D2, 2, 1, 2), fail(t(3, 3), 2), fail(D2, 6), fail(D2, (2, 2, 2))],
    alias=["max_pool2d"],
)
F(
    "max_pool3d",
    call(D3, 2),
    call(D3, 2, 1, 1),
    call(D3, 2, return_indices=True),
    fails=[fail(t(3, 3), 2)],
    alias=["max_pool3d"],
)
F(
    "avg_pool1d",
    call(D1, 2),
    call(D1, 3, 1, 1),
    call(D1, 3, 2, 1, True, False),
    fails=[fail(D1, 2, 1, 2), fail(t(3), 2)],
    alias=["avg_pool1d"],
)
F(
    "avg_pool2d",
    call(D2, 2),
    call(D2, (2, 3), 1, (1, 1)),
    call(D2, 3, 2, 1, True, False),
    call(D2, 2, divisor_override=3),
    call(t(2, 4, 4), 2),
    call(t(1, 2, 4, 4, layout="channels_last"), 2),
    fails=[fail(D2, 2, 1, 2), fail(t(3, 3), 2), fail(D2, 2, divisor_override=0)],
)
F(
    "avg_pool3d",
    call(D3, 2),
    call(D3, 2, 1, 1),
    call(D3, 2, 2, 1, True, False),
    fails=[fail(t(3, 3), 2)],
    outs=False,
)
F(
    "adaptive_avg_pool1d",
    call(D1, 2),
    call(D1, 4),
    call(D1, 1),
    fails=[fail(t(3), 2), fail(D1, -1)],
    alias=["adaptive_avg_pool1d"],
)
F(
    "adaptive_avg_pool2d",
    call(D2, 2),
    call(D2, (3, 2)),
    call(D2, (None, 2)),
    call(D2, 1),
    fails=[fail(t(3), 2), fail(D2, -1)],
)
F("adaptive_avg_pool3d", call(D3, 2), call(D3, (2, 1, 3)), fails=[fail(t(3), 2)])
F("adaptive_max_pool1d", call(D1, 2), call(D1, 4, return_indices=True), fails=[fail(t(3), 2)])
F("adaptive_max_pool2d", call(D2, 2), call(D2, (3, 2), return_indices=True), fails=[fail(t(3), 2)])
F("adaptive_max_pool3d", call(D3, 2), fails=[fail(t(3), 2)])
F("lp_pool1d", call(D1, 2, 2), call(D1, 1.5, 2, 1), fails=[fail(t(3), 2, 5)])
F("lp_pool2d", call(D2, 2, 2), call(D2, 3, (2, 1)), gradcheck=False)
INDICES = t(1, 2, 3, values=[0, 3, 5, 1, 2, 4], dtype="int64")
F(
    "max_unpool1d",
    call(t(1, 2, 3), INDICES, 2),
    fails=[fail(t(1, 2, 3), INDICES, 2, output_size=(1,))],
)
F(
    "max_unpool2d",
    call(t(1, 1, 2, 2), t(1, 1, 2, 2, values=[0, 3, 9, 14], dtype="int64"), 2),
    fails=[fail(t(1, 1, 2, 2), t(1, 1, 2, 2, dtype="float32"), 2)],
)
