"""Activation functions."""

from .spec import WIDE, Family, call, fail, t

row = Family(__name__)
B = t(3, 4)
EDGES = call(t(values=[float("nan"), float("inf"), -float("inf"), 0, -0.0, 30, -30]), only=WIDE)
PLAIN = [call(B), call(t()), call(t(0, 2)), call(t(2, 40)), EDGES]
FAILS = [fail(), fail(2.5)]


def F(name, *calls, fails=(), **options):
    row(f"nn.functional.{name}", [*PLAIN, *calls], [*FAILS, *fails], **options)


F("relu", inplace_flag=True)
row("relu", PLAIN, FAILS)
F("relu6", inplace_flag=True)
F("gelu", call(B, approximate="tanh"), fails=[fail(B, approximate="x")])
F("silu", inplace_flag=True)
F("mish", inplace_flag=True)
F("elu", call(B, 0.5), inplace_flag=True)
F("selu", inplace_flag=True)
F("celu", call(B, 0.5), fails=[fail(B, 0.0)], inplace_flag=True)
F("leaky_relu", call(B, 0.2), call(B, -0.1), inplace_flag=True)
F("hardtanh", call(B, -2.0, 1.5), fails=[fail(B, 2.0, -2.0)], inplace_flag=True)
F("hardsigmoid", inplace_flag=True)
F("hardswish", inplace_flag=True)
F("hardshrink", call(B, 1.0))
F("softshrink", call(B, 1.0), fails=[fail(B, -1.0)])
F("tanhshrink")
F("softsign")
F("softplus", call(B, 2.0, 1.0), call(B, beta=0.5))
F("logsigmoid")
F("sigmoid")
F("tanh")
row(
    "nn.functional.threshold",
    [call(B, 0.5, 2.0), call(B, -1, 1)],
    [fail(B)],
    alias=["threshold"],
    inplace_flag=True,
)
row(
    "nn.functional.glu",
    [call(B), call(t(4, 3), 0), call(t(2, 3, 6), -1)],
    [fail(t(3)), fail(t()), fail(B, 2)],
)
row(
    "nn.functional.prelu",
    [call(t(2, 3, 4), t(3)), call(B, t(1)), call(t(3), t(1))],
    [fail(B, t(3)), fail(B, t(2, 2))],
    alias=["prelu"],
)
row("nn.functional.rrelu", [call(B)], [fail(B, 0.5, 0.1)])
row("rrelu", [call(B)], [])
for name in ("selu", "celu", "hardshrink"):
    row(name, [call(B)], [])
