"""Embedding tables and one-hot codes."""

from .spec import FRACTIONAL, Family, call, fail, i, t

row = Family(__name__, dtypes=(*FRACTIONAL, "int64"))
W = t(5, 3)
row(
    "nn.functional.embedding",
    [
        call(i(4, bound=5), W),
        call(i(2, 3, bound=5), W),
        call(i(bound=5), W),
        call(t(values=[1, 2, 1], dtype="int64"), W, padding_idx=1),
        call(i(3, bound=5, dtype="int32"), W),
        call(i(0, bound=5), W),
        call(t(values=[1, 1, 3], dtype="int64"), W, scale_grad_by_freq=True),
        call(t(values=[4, 0], dtype="int64"), W, padding_idx=-1),
    ],
    [
        fail(t(values=[5], dtype="int64"), W),
        fail(t(2, dtype="float32"), W),
        fail(i(2, bound=3), W, padding_idx=5),
        fail(i(2, bound=3), t(3)),
        fail(t(values=[-1], dtype="int64"), W),
    ],
)
row(
    "embedding",
    [call(W, i(4, bound=5)), call(W, i(4, bound=5), 2)],
    [fail(W, t(2, dtype="float32"))],
)
row(
    "nn.functional.embedding_bag",
    [call(i(2, 3, bound=5), W, mode=mode) for mode in ("sum", "mean", "max")]
    + [
        call(i(5, bound=5), W, t(values=[0, 2], dtype="int64")),
        call(
            i(5, bound=5), W, t(values=[0, 2], dtype="int64"), mode="sum", per_sample_weights=t(5)
        ),
    ],
    [
        fail(i(5, bound=5), W),
        fail(i(2, 3, bound=5), W, mode="x"),
        fail(i(5, bound=5), W, t(values=[1, 2], dtype="int64")),
    ],
    gradcheck=False,
)
row(
    "nn.functional.one_hot",
    [call(i(4, bound=3)), call(i(2, 3, bound=3), 5), call(i(bound=3), 3), call(i(0, bound=3), 3)],
    [
        fail(t(3, dtype="float32")),
        fail(t(values=[-1], dtype="int64")),
        fail(t(values=[4], dtype="int64"), 3),
        fail(i(0, bound=3)),
        fail(i(2, bound=3), 0),
    ],
    dtypes=("float32",),
)
row("embedding_renorm_", [call(t(5, 3, grad=False), i(3, bound=5), 1.5, 2.0)], [], gradcheck=False)
