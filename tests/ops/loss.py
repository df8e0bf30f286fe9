"""Losses."""

from .spec import FLOATS, WIDE, Family, call, fail, i, t

row = Family(__name__, dtypes=(*FLOATS, "complex64", "complex128", "int64"))
B = t(3, 4)
UNIT = t(3, 4, low=0, high=1)
REDUCTIONS = ("mean", "sum", "none")


def F(name, *calls, fails=(), **options):
    row(f"nn.functional.{name}", list(calls), list(fails), **options)


def reduced(*args, **kwargs):
    return [call(*args, reduction=r, **kwargs) for r in REDUCTIONS]


BAD = [fail(B, t(3, 4), reduction="max")]
F(
    "mse_loss",
    *reduced(B, t(3, 4)),
    call(t(0), t(0)),
    call(B, t(3, 4), weight=t(3, 4, grad=False)),
    fails=[fail(B, t(3)), *BAD],
)
F("l1_loss", *reduced(B, t(3, 4)), fails=[fail(B, t(3)), *BAD])
F(
    "smooth_l1_loss",
    *reduced(B, t(3, 4)),
    call(B, t(3, 4), beta=0.5),
    call(B, t(3, 4), beta=0.0),
    fails=[fail(B, t(3)), fail(B, t(3, 4), beta=-1.0), *BAD],
)
F(
    "huber_loss",
    *reduced(B, t(3, 4)),
    call(B, t(3, 4), delta=0.5),
    fails=[fail(B, t(3)), fail(B, t(3, 4), delta=0.0)],
)
F("soft_margin_loss", *reduced(B, t(3, 4)), fails=BAD)
F(
    "binary_cross_entropy",
    *reduced(UNIT, t(3, 4, low=0, high=1, grad=False)),
    call(UNIT, t(3, 4, low=0, high=1, grad=False), t(4, low=0, grad=False)),
    fails=[fail(UNIT, t(3)), fail(t(2, values=[2, 3]), t(2, low=0, high=1)),
           fail(UNIT, t(3, 4, low=0, high=1, dtype="bfloat16")), *BAD],
)
F(
    "binary_cross_entropy_with_logits",
    *reduced(B, t(3, 4, low=0, high=1)),
    call(B, t(3, 4, low=0, high=1), t(4, low=0, grad=False)),
    call(B, t(3, 4, low=0, high=1, grad=False), pos_weight=t(4, low=0, grad=False)),
    fails=[fail(B, t(3)), *BAD],
)
F(
    "nll_loss",
    *reduced(B, i(3, bound=4)),
    call(B, i(3, bound=4), t(4, low=0, grad=False)),
    call(B, t(values=[1, 2, 1], dtype="int64"), ignore_index=1),
    call(t(2, 3, 4), i(2, 4, bound=3)),
    call(t(2, 3, 2, 2), i(2, 2, 2, bound=3)),
    call(t(4), i(bound=4)),
    call(t(2, 3, 2, 2), i(2, 2, 2, bound=3), reduction="none"),
    call(t(0, 3), i(0, bound=3)),
    fails=[
        fail(B, i(2, bound=4)),
        fail(B, t(values=[0, 1, 4], dtype="int64")),
        fail(B, t(3)),
        fail(B, i(3, bound=4), t(3)),
        fail(B, i(3, bound=4), reduction="max"),
    ],
)
F(
    "cross_entropy",
    *reduced(B, i(3, bound=4)),
    call(B, i(3, bound=4), t(4, low=0, grad=False)),
    call(B, t(values=[1, 2, 1], dtype="int64"), ignore_index=1),
    call(t(2, 3, 4), i(2, 4, bound=3)),
    call(B, i(3, bound=4), label_smoothing=0.1),
    call(B, t(3, 4, low=0, high=1, grad=False)),
    call(t(4), i(bound=4)),
    call(B, t(3, 4, low=0, high=1, grad=False), label_smoothing=0.2, reduction="sum"),
    call(B, i(3, bound=4), t(4, low=0, grad=False), label_smoothing=0.1),
    call(B, t(values=[-100, 2, -100], dtype="int64")),
    fails=[
        fail(B, i(2, bound=4)),
        fail(B, t(values=[0, 1, 4], dtype="int64")),
        fail(B, t(3)),
        fail(B, i(3, bound=4), label_smoothing=2.0),
    ],
)
F(
    "kl_div",
    *reduced(B, t(3, 4, low=0, high=1)),
    call(B, t(3, 4), log_target=True),
    call(B, t(3, 4, low=0, high=1), reduction="batchmean"),
    fails=BAD,
)
F(
    "poisson_nll_loss",
    *reduced(B, t(3, 4, low=0)),
    call(UNIT, t(3, 4, low=0), log_input=False),
    call(B, t(3, 4, low=1), full=True),
    fails=BAD,
)
F(
    "gaussian_nll_loss",
    *reduced(B, t(3, 4), t(3, 4, low=0)),
    call(B, t(3, 4), t(3, low=0), full=True),
    fails=[fail(B, t(3, 4), t(2, low=0))],
)
F("hinge_embedding_loss", *reduced(B, t(3, 4, values=[1, -1] * 6, grad=False)), fails=BAD)
F(
    "margin_ranking_loss",
    *reduced(t(3), t(3), t(values=[1, -1, 1], grad=False)),
    call(t(3), t(3), t(values=[1, -1, 1], grad=False), margin=0.5),
    fails=[fail(t(3), t(3, 4), t(3))],
)
F(
    "cosine_embedding_loss",
    *reduced(B, t(3, 4), t(values=[1, -1, 1], dtype="int64")),
    call(B, t(3, 4), t(values=[1, -1, 1], dtype="int64"), margin=0.3),
    fails=[fail(B, t(3, 4), t(2, 2))],
)
F(
    "triplet_margin_loss",
    *reduced(B, t(3, 4), t(3, 4)),
    call(B, t(3, 4), t(3, 4), swap=True),
    call(B, t(3, 4), t(3, 4), margin=2.0, p=1),
    fails=[fail(B, t(3), t(3, 4))],
)
F(
    "multi_margin_loss",
    *reduced(B, i(3, bound=4)),
    call(B, i(3, bound=4), p=2),
    call(B, i(3, bound=4), margin=0.5, weight=t(4, low=0, grad=False)),
    fails=[fail(B, i(2, bound=4)), fail(B, i(3, bound=4), p=3)],
)
F(
    "multilabel_margin_loss",
    *reduced(B, t(3, 4, values=[0, 2, -1, 1, 3, -1, 0, 0, -1, 0, 0, 0], dtype="int64")),
    fails=[fail(B, i(3, bound=4))],
)
F(
    "multilabel_soft_margin_loss",
    *reduced(B, t(3, 4, low=0, high=1, grad=False)),
    call(B, t(3, 4, low=0, high=1, grad=False), t(4, low=0, grad=False)),
    fails=[],
)
F(
    "ctc_loss",
    *reduced(
        t(5, 2, 3, low=-2, high=0),
        i(2, 2, bound=3, low=1),
        t(values=[5, 4], dtype="int64"),
        t(values=[2, 1], dtype="int64"),
    ),
    dtypes=WIDE,
    rtol={"float32": 1e-5},
    gradcheck=False,
)
row("cosine_embedding_loss", [call(B, t(3, 4), t(values=[1, -1, 1], dtype="int64"))], [])
for name in ("hinge_embedding_loss",):
    row(name, [call(B, t(3, 4, values=[1, -1] * 6, grad=False))], [])
row("binary_cross_entropy_with_logits", [call(B, t(3, 4, low=0, high=1))], [])
