"""Convolutions, transposed convolutions, unfold and fold, interpolation."""

from .spec import FRACTIONAL, WIDE, Family, call, fail, t

row = Family(
    __name__,
    dtypes=(*FRACTIONAL, "int64"),
    rtol={"float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2},
    atol={"float32": 1e-5, "float16": 2e-2, "bfloat16": 1.3e-1},
)


def F(name, *calls, fails=(), **options):
    row(f"nn.functional.{name}", list(calls), list(fails), **options)


F(
    "conv1d",
    call(t(1, 1, 4), t(2, 1, 2), t(2)),
    call(t(2, 3, 5), t(4, 3, 2)),
    call(t(2, 3, 5), t(4, 3, 2), t(4)),
    call(t(1, 2, 6), t(2, 2, 3), None, 2, 1),
    call(t(1, 4, 5), t(4, 2, 2), t(4), groups=2),
    call(t(1, 2, 7), t(2, 2, 3), padding="same"),
    call(t(1, 2, 7), t(2, 2, 3), padding="valid"),
    call(t(1, 2, 7), t(2, 2, 3), dilation=2),
    call(t(2, 5), t(3, 2, 2)),
    call(t(0, 2, 5), t(3, 2, 2)),
    call(t(1, 2, 4), t(2, 1, 3), groups=2, padding=1),
    fails=[
        fail(t(2, 3, 5), t(4, 2, 2)),
        fail(t(2, 3, 5), t(4, 3, 6)),
        fail(t(3), t(4, 3, 2)),
        fail(t(2, 3, 5), t(4, 3, 2), t(3)),
        fail(t(2, 3, 5), t(4, 3, 2), stride=0),
        fail(t(1, 2, 7), t(2, 2, 3), None, 2, "same"),
        fail(t(1, 2, 7), t(2, 2, 3), padding=-1),
        fail(t(1, 3, 5), t(4, 1, 2), groups=2),
    ],
    alias=["conv1d"],
)
F(
    "conv2d",
    call(t(1, 1, 3, 3), t(1, 1, 2, 2), t(1)),
    call(t(1, 2, 4, 4), t(3, 2, 2, 2)),
    call(t(1, 2, 4, 4), t(3, 2, 2, 2), t(3)),
    call(t(2, 2, 5, 4), t(2, 2, 3, 3), t(2), (2, 1), (1, 1)),
    call(t(1, 4, 3, 3), t(4, 1, 2, 2), groups=4),
    call(t(1, 1, 5, 5), t(1, 1, 2, 2), dilation=2),
    call(t(1, 2, 3, 3), t(2, 2, 3, 3), padding="same"),
    call(t(2, 3, 3), t(2, 2, 2, 2)),
    call(t(1, 2, 3, 3, layout="channels_last"), t(3, 2, 1, 1)),
    call(t(0, 2, 4, 4), t(3, 2, 2, 2)),
    call(t(1, 2, 3, 3), t(4, 1, 2, 2), groups=2),
    fails=[
        fail(t(1, 2, 4, 4), t(3, 3, 2, 2)),
        fail(t(1, 2, 4, 4), t(3, 2, 5, 5)),
        fail(t(4, 4), t(3, 2, 2, 2)),
        fail(t(1, 2, 4, 4), t(3, 2, 2, 2, dtype="float64"), only=("float32",)),
    ],
    alias=["conv2d"],
)
F(
    "conv3d",
    call(t(1, 1, 2, 2, 2), t(1, 1, 1, 2, 2), t(1)),
    call(t(1, 2, 3, 3, 3), t(2, 2, 2, 2, 2)),
    call(t(1, 1, 3, 3, 3), t(2, 1, 2, 2, 2), t(2), 2, 1),
    fails=[fail(t(1, 2, 3, 3), t(2, 2, 2, 2, 2))],
    alias=["conv3d"],
)
F(
    "conv_transpose1d",
    call(t(1, 1, 3), t(1, 2, 2), t(2)),
    call(t(2, 3, 4), t(3, 2, 3)),
    call(t(1, 2, 4), t(2, 3, 3), t(3), 2, 1, 1),
    call(t(1, 4, 3), t(4, 1, 2), groups=2),
    fails=[fail(t(2, 3, 4), t(2, 2, 3)), fail(t(1, 2, 4), t(2, 3, 3), None, 1, 0, 1),
           fail(t(1, 2, 1), t(2, 3, 2), None, 1, 1)],
    alias=["conv_transpose1d"],
)
F(
    "conv_transpose2d",
    call(t(1, 1, 2, 2), t(1, 1, 2, 2), t(1)),
    call(t(1, 2, 3, 3), t(2, 3, 2, 2)),
    call(t(1, 2, 3, 2), t(2, 2, 3, 3), t(2), 2, 1, 1),
    call(t(1, 2, 2, 2), t(2, 1, 2, 2), groups=2, dilation=2),
    fails=[fail(t(1, 2, 3, 3), t(3, 3, 2, 2))],
    alias=["conv_transpose2d"],
)
F(
    "conv_transpose3d",
    call(t(1, 1, 2, 1, 2), t(1, 1, 1, 2, 2)),
    call(t(1, 2, 2, 2, 2), t(2, 1, 2, 2, 2)),
    alias=["conv_transpose3d"],
)
row(
    "convolution",
    [call(t(1, 2, 4, 4), t(3, 2, 2, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)],
    [],
)
row("conv_tbc", [call(t(4, 2, 3), t(2, 3, 5), t(5))], [])
F(
    "unfold",
    call(t(1, 2, 4, 4), 2),
    call(t(2, 1, 4, 3), (2, 3), 1, 1, 2),
    call(t(2, 4, 4), 2, stride=2),
    fails=[fail(t(3), 2), fail(t(1, 2, 4, 4), 5)],
    exact=True,
)
F(
    "fold",
    call(t(1, 8, 9), (4, 4), 2),
    call(t(1, 8, 4), (4, 4), 2, stride=2),
    call(t(8, 9), (4, 4), 2),
    fails=[fail(t(1, 7, 9), (4, 4), 2), fail(t(1, 8, 8), (4, 4), 2)],
)
MODES = [
    ("nearest", 2),
    ("nearest-exact", 2),
    ("linear", 1),
    ("bilinear", 2),
    ("bicubic", 2),
    ("area", 2),
    ("trilinear", 3),
]
F(
    "interpolate",
    *[call(t(1, 2, *(3,) * n), scale_factor=2, mode=mode) for mode, n in MODES],
    *[call(t(1, 2, *(4,) * n), size=(3,) * n, mode=mode) for mode, n in MODES],
    call(t(1, 1, 3, 3), size=(5, 4), mode="bilinear", align_corners=True),
    call(t(1, 1, 3, 3), size=5, mode="bicubic", align_corners=True),
    call(t(1, 2, 5), size=3),
    call(t(1, 1, 4, 4), scale_factor=0.5, mode="bilinear", antialias=True),
    call(t(1, 1, 4, 4), scale_factor=0.5, mode="lanczos", antialias=True),
    call(t(1, 2, 4), scale_factor=1.6, mode="linear", align_corners=True),
    call(t(1, 1, 3, 3), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    fails=[
        fail(t(1, 2, 3)),
        fail(t(1, 2, 3), size=2, scale_factor=2),
        fail(t(1, 2, 3), size=2, mode="bilinear"),
        fail(t(1, 2, 3), size=2, mode="x"),
        fail(t(1, 2, 3), size=2, mode="nearest", align_corners=True),
        fail(t(1, 2, 3, 3), size=(2,), mode="bilinear"),
    ],
    atol={"float32": 4e-6, "float16": 4e-3, "bfloat16": 3.2e-2},
)
F(
    "grid_sample",
    call(t(1, 2, 3, 3), t(1, 2, 2, 2, low=-1, high=1), align_corners=False),
    call(t(1, 1, 3, 3), t(1, 2, 2, 2), align_corners=True),
    call(t(1, 1, 3, 3), t(1, 2, 2, 2), mode="nearest", align_corners=False),
    call(t(1, 1, 3, 3), t(1, 2, 2, 2), padding_mode="border", align_corners=False),
    call(t(1, 1, 3, 3), t(1, 2, 2, 2), padding_mode="reflection", align_corners=False),
    call(t(1, 1, 3, 3), t(1, 2, 2, 2, low=-1, high=1), mode="bicubic", align_corners=False),
    fails=[fail(t(3, 3), t(1, 2, 2, 2), align_corners=False)],
    dtypes=WIDE,
)
F(
    "affine_grid",
    call(t(1, 2, 3), [1, 1, 2, 2], align_corners=False),
    call(t(1, 2, 3), [1, 1, 3, 2], align_corners=True),
    call(t(1, 3, 4), [1, 1, 2, 2, 2], align_corners=False),
    fails=[fail(t(1, 3, 3), [1, 1, 2, 2], align_corners=False)],
    dtypes=WIDE,
)
