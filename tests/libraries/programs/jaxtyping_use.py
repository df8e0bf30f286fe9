"""jaxtyping: shapes and dtypes in annotations, checked."""

import torch
from jaxtyping import Bool, Complex, Float, Float32, Int, Shaped, UInt8, jaxtyped
from report import report

checks = [
    isinstance(torch.zeros(3, 4), Float[torch.Tensor, "3 4"]),
    isinstance(torch.zeros(3, 4), Float[torch.Tensor, "3 5"]),
    isinstance(torch.zeros(3, dtype=torch.float16), Float32[torch.Tensor, "_"]),
    isinstance(torch.zeros(3, dtype=torch.bfloat16), Float[torch.Tensor, "..."]),
    isinstance(torch.arange(3), Int[torch.Tensor, "n"]),
    isinstance(torch.arange(3), Float[torch.Tensor, "n"]),
    isinstance(torch.zeros(2, dtype=torch.uint8), UInt8[torch.Tensor, "2"]),
    isinstance(torch.zeros(2, dtype=torch.bool), Bool[torch.Tensor, "2"]),
    isinstance(torch.zeros(2, dtype=torch.complex64), Complex[torch.Tensor, "2"]),
    isinstance(torch.nn.Parameter(torch.zeros(2, 2)), Float[torch.nn.Parameter, "a a"]),
    isinstance(3.0, Float[torch.Tensor, ""]),
]


Left = Float[torch.Tensor, "*batch rows inner"]
Right = Float[torch.Tensor, "*batch inner columns"]
Product = Shaped[torch.Tensor, "*batch rows columns"]


def fits(a, b):
    with jaxtyped("context"):
        return [isinstance(a, Left), isinstance(b, Right), isinstance(a @ b, Product)]


@jaxtyped(typechecker=None)
def annotated(a: Left, b: Right) -> Product:
    return a @ b


checks.append(fits(torch.ones(2, 3, 4), torch.ones(2, 4, 5)))
with jaxtyped("context"):
    checks.append([isinstance(torch.ones(2, 3, 4), Left), isinstance(torch.ones(2, 5, 4), Right)])
good = annotated(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
report(checks=checks, good=good.shape, name=str(Float[torch.Tensor, "b c"]))
