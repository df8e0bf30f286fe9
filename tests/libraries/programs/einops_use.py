"""einops: every function, the layers in a model, gradients through them."""

import torch
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from report import report
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8, requires_grad=True)
patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
kinds = ("mean", "max", "min", "sum", "prod")
pooled = [reduce(x, "b c (h p) w -> b c h", kind, p=2) for kind in kinds]
tiled = repeat(x[0, 0], "h w -> (h two) c w", two=2, c=3)
packed, shapes = pack([x[:, 0], x[:, 1, 0]], "b *")
parts = unpack(packed, shapes, "b *")
product = einsum(x, x, "b c h w, b d h w -> b c d")
model = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1),
    Rearrange("b c h w -> b (h w) c"),
    EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=4, d=6),
    Reduce("b t d -> b d", "mean"),
    nn.Linear(6, 2),
)
out = model(x)
loss = out.square().mean() + patches.square().mean() + product.mean()
loss = loss + sum(p.mean() for p in pooled)
loss.backward()
try:
    rearrange(x, "b c h -> b h c")
except Exception as error:
    message = f"{type(error).__name__}: {str(error).splitlines()[0]}"
report(
    patches=patches, pooled=pooled, tiled=tiled, packed=packed, parts=parts, product=product,
    shape=parse_shape(x, "b c _ w"), numpy=asnumpy(x.detach()).sum(), out=out, loss=loss,
    grad=x.grad, weights=[p.grad for p in model.parameters()], error=message, model=repr(model),
    keys=list(model.state_dict()),
)  # fmt: skip
