"""Normalisation layers."""

from .spec import FRACTIONAL, Family, call, fail, t

row = Family(
    __name__,
    dtypes=(*FRACTIONAL, "int64"),
    rtol={"float32": 4e-6, "float16": 2e-3, "bfloat16": 1.6e-2},
    atol={"float32": 4e-6, "float16": 4e-3, "bfloat16": 3.2e-2},
)


def F(name, *calls, fails=(), **options):
    row(f"nn.functional.{name}", list(calls), list(fails), **options)


A, B = t(2, 3, 4), t(3, 4)
RUNNING = (t(3, grad=False), t(3, low=0, grad=False))
F(
    "layer_norm",
    call(B, (4,)),
    call(B, (4,), t(4)),
    call(B, (4,), t(4), t(4)),
    call(A, (3, 4), t(3, 4), t(3, 4)),
    call(B, (4,), None, t(4)),
    call(A, (4,), eps=0.1),
    call(t(0, 4), (4,), t(4), t(4)),
    call(t(2, 40), (40,), t(40), t(40)),
    fails=[
        fail(B, (3,)),
        fail(B, (4,), t(3)),
        fail(B, ()),
        fail(B, (4,), t(4), t(3)),
        fail(t(4), (2, 4)),
    ],
)
row("layer_norm", [call(B, (4,), t(4), t(4)), call(A, (3, 4))], [fail(B, (3,))])
F(
    "rms_norm",
    call(B, (4,)),
    call(B, (4,), t(4)),
    call(A, (3, 4), t(3, 4)),
    call(B, (4,), eps=0.1),
    fails=[fail(B, (3,)), fail(B, (4,), t(3))],
    alias=["rms_norm"],
)
F(
    "group_norm",
    call(t(2, 4, 3), 2),
    call(t(2, 4, 3), 2, t(4), t(4)),
    call(t(2, 4, 2, 2), 4, t(4)),
    call(t(2, 4), 2),
    fails=[fail(t(2, 4, 3), 3), fail(t(2, 4, 3), 2, t(3)), fail(t(4), 2)],
)
row("group_norm", [call(t(2, 4, 3), 2, t(4), t(4))], [])
F(
    "instance_norm",
    call(A),
    call(A, None, None, t(3), t(3)),
    call(A, *RUNNING, use_input_stats=False),
    call(t(1, 2, 3, 3)),
    fails=[fail(t(2, 3, 1))],
    gradcheck=False,
)
F(
    "batch_norm",
    call(t(4, 3), *RUNNING),
    call(t(4, 3), *RUNNING, t(3), t(3)),
    call(t(4, 3), *RUNNING, t(3), t(3), training=True),
    call(A, *RUNNING, t(3), t(3), True, 0.3, 1e-3),
    call(t(4, 3), None, None, t(3), t(3), True),
    call(t(2, 3, 2, 2), *RUNNING),
    call(t(2, 3, 2, 2), *RUNNING, training=True),
    call(t(2, 3, 2, 2, layout="channels_last"), None, None, t(3), training=True),
    fails=[
        fail(t(1, 3), *RUNNING, training=True),
        fail(t(4, 3), t(2), t(2)),
        fail(t(4, 3), None, None),
        fail(t(4, 3), *RUNNING, t(2)),
        fail(t(3), *RUNNING, training=True),
    ],
)
row("batch_norm", [call(t(4, 3), t(3), t(3), *RUNNING, True, 0.1, 1e-5, False)], [])
row("native_layer_norm", [call(B, (4,), t(4), t(4), 1e-5), call(A, (3, 4), None, None, 1e-5)], [])
row("native_group_norm", [call(t(2, 4, 3), t(4), t(4), 2, 4, 3, 2, 1e-5)], [])
row("native_batch_norm", [call(t(4, 3), t(3), t(3), *RUNNING, True, 0.1, 1e-5)], [])
F(
    "local_response_norm",
    call(t(1, 4, 3), 2),
    call(t(1, 4, 2, 2), 3, 0.01, 0.5, 2.0),
    fails=[fail(t(3, 3), 2)],
)
