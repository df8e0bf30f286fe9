"""lovely-tensors: what it says of tensors, and its patch of repr."""

import lovely_tensors as lt
import torch
from report import report

torch.manual_seed(0)
x = torch.randn(3, 4)
bad = torch.tensor([1.0, float("nan"), float("inf"), -float("inf"), 2.0])
samples = [
    x, x.double(), x.half(), x.bfloat16(), torch.arange(20), torch.zeros(5), bad, torch.tensor(3.0),
    torch.ones(2, 2, dtype=torch.bool), torch.randn(2, 3, 16, 16), torch.zeros(0), x.t(),
    torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True) * 2,
    torch.complex(x, x), torch.arange(3, dtype=torch.uint8),
]  # fmt: skip
texts = [str(lt.lovely(t)) for t in samples]
texts += [str(lt.lovely(x, **{kind: 1})) for kind in ("verbose", "depth", "plain")]
lt.monkey_patch()
texts += [repr(x), str(x.v), str(x.p), str(x.deeper), str(torch.nn.Linear(2, 3).weight)]
report(texts=texts)
