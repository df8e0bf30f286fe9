"""Traps of programs that run to their end without what was meant; like ``traps``."""

TRAPS = {
    "softmax_batch_dim": (
        "softmax-over-batch",
        """
import torch
import torch.nn as nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, s):
        return torch.softmax(self.fc(s), dim=0) #!

torch.manual_seed(0)
probs = Policy()(torch.randn(6, 4))
print("rows sum to one:", torch.allclose(probs.sum(1), torch.ones(6)))
""",
    ),
    "accum_no_division": (
        "accumulation-not-divided",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
ACCUM = 8
opt.zero_grad()
for i in range(32):
    x = torch.randn(4, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward() #!
    if (i + 1) % ACCUM == 0:
        opt.step()
        opt.zero_grad()
print("converged:", loss.item() < 0.05)
""",
    ),
    "opt_step_before_backward": (
        "step-before-backward",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
w = net.weight.detach().clone()
for i in range(10):
    x = torch.randn(8, 2)
    opt.zero_grad()
    loss = (net(x) - x[:, :1]).square().mean()
    opt.step() #!
    loss.backward()
print("moved:", not torch.equal(w, net.weight))
""",
    ),
    "iterator_exhausted": (
        "iterator-exhausted",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(12.0)), batch_size=4)
batches = iter(loader) #!
seen = 0
for epoch in range(2):
    for (x,) in batches:
        seen += len(x)
print(seen)
""",
    ),
    "not_shuffled_sorted_labels": (
        "batches-of-one-class",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.cat([torch.randn(100, 2) - 1, torch.randn(100, 2) + 1])
y = torch.cat([torch.zeros(100, dtype=torch.long), torch.ones(100, dtype=torch.long)])
loader = DataLoader(TensorDataset(x, y), batch_size=20) #!
mixed = 0
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for xb, yb in loader:
    mixed += int(yb.unique().numel() == 2)
    opt.zero_grad()
    nn.functional.cross_entropy(net(xb), yb).backward()
    opt.step()
print("batches with both classes:", mixed == len(loader))
""",
    ),
    "hook_never_removed": (
        "hooks-pile-up",
        """
import torch
from torch import nn

net = nn.Linear(3, 3)
calls = []

def features(x):
    net.register_forward_hook(lambda m, i, o: calls.append(1)) #!
    return net(x)

for i in range(10):
    features(torch.ones(1, 3))
print("calls:", len(calls))
""",
    ),
    "inplace_expand_write": (
        "expanded-written",
        """
import torch

base = torch.zeros(3, 1)
table = base.expand(3, 4) #!
table[0, 0] = 1.0
print(table.sum().item())
""",
    ),
    "numpy_alias_inplace": (
        "array-shared",
        """
import numpy as np
import torch

frame = np.zeros(4, dtype=np.float32)
frames = []
for t in range(3):
    frame[:] = t
    frames.append(torch.from_numpy(frame)) #!
print("frames differ:", not torch.equal(frames[0], frames[2]))
""",
    ),
    "list_alias_inplace": (
        "tensor-repeated",
        """
import torch

state = torch.zeros(3)
trajectory = []
for t in range(4):
    state += 1
    trajectory.append(state) #!
print("starts at one:", trajectory[0][0].item() == 1.0)
""",
    ),
    "weights_zero_init": (
        "weights-all-zero",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
for p in net.parameters():
    nn.init.zeros_(p) #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(20):
    x = torch.randn(32, 4)
    opt.zero_grad()
    (net(x) - x[:, :1]).square().mean().backward()
    opt.step()
print("first layer moved:", bool(net[0].weight.abs().sum() > 0))
""",
    ),
    "requires_grad_typo": (
        "freeze-without-effect",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
net[0].requires_grad = False #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
w = net[0].weight.detach().clone()
opt.zero_grad()
net(torch.randn(5, 3)).square().mean().backward()
opt.step()
print("frozen:", torch.equal(w, net[0].weight))
""",
    ),
    "shared_encoder_layer": (
        "layer-repeated",
        """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = nn.ModuleList([layer for _ in range(n)]) #!
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x

enc = Encoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 3)
print("same weights:", enc.layers[0].linear1.weight is enc.layers[1].linear1.weight)
""",
    ),
    "causal_fill": (
        "causal-mask-inverted",
        """
import torch

torch.manual_seed(0)
steps = 5
x = torch.randn(2, steps, 8)
mask = torch.triu(torch.ones(steps, steps), 1)
scores = (x @ x.mT).masked_fill(mask == 0, float("-inf")) #!
print(scores.softmax(-1)[:, :-1].sum().item() > 0)
""",
    ),
    "parameter_converted": (
        "tensor-not-a-parameter",
        """
import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3)).mul(2.0) #!

    def forward(self, x):
        return self.fc(x) * self.scale

torch.manual_seed(0)
m = Scaled()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
opt.zero_grad()
m(torch.randn(4, 3)).square().mean().backward()
opt.step()
print("scale is a parameter:", "scale" in dict(m.named_parameters()))
""",
    ),
    "chained_index_write": (
        "write-to-copy",
        """
import torch

scores = torch.zeros(4, 3)
rows = torch.tensor([0, 2])
scores[rows][:, 1] = 5.0 #!
print("written:", scores.sum().item() > 0)
""",
    ),
    "mask_chained_write": (
        "write-to-copy",
        """
import torch

x = torch.tensor([1.0, -2.0, 3.0, -4.0])
x[x < 0].fill_(0.0) #!
print(x.min().item() >= 0)
""",
    ),
    "acos_at_one": (
        "nan-gradient",
        """
import torch

a = torch.tensor([1.0, 0.0], requires_grad=True)
b = torch.tensor([1.0, 0.0])
cos = torch.dot(a, b) / (a.norm() * b.norm())
angle = torch.acos(cos) #!
angle.backward()
print("finite:", torch.isfinite(a.grad).all().item())
""",
    ),
    "nonleaf_cuda_grad": (
        "grad-of-result",
        """
import torch

w = torch.randn(3, requires_grad=True).double() #!
loss = (w * torch.ones(3, dtype=torch.double)).sum()
loss.backward()
print("has gradient:", w.grad is not None)
""",
    ),
    "lambda_lr_absolute": (
        "lambda-gives-rate",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.1 * 0.9 ** epoch) #!
for epoch in range(5):
    opt.zero_grad()
    net(torch.randn(4, 2)).square().mean().backward()
    opt.step()
    sched.step()
print("rate above 0.03:", opt.param_groups[0]["lr"] > 0.03)
""",
    ),
    "save_nonpersistent": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
before = net.weight.detach().clone()
for i in range(5):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).square().mean()
    loss.data.requires_grad_().backward() #!
    opt.step()
print("moved:", not torch.equal(before, net.weight))
""",
    ),
}

CLEAN = {
    "accumulate_divided": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(40):
    x = torch.randn(8, 3)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        opt.step(); opt.zero_grad()
""",
    "mil_attention_pool": """
import torch
from torch import nn
torch.manual_seed(0)
class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 3); self.out = nn.Linear(24, 1)
    def forward(self, bag):
        a = torch.softmax(self.score(bag), dim=0)
        return self.out((a.T @ bag).flatten())
net = Pool(); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(30):
    bag = torch.randn(10, 8)
    loss = (net(bag) - bag.mean()).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "causal_masks": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
T = 6
q = nn.Linear(8, 8); opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(5):
    x = torch.randn(2, T, 8)
    h = q(x)
    blocked = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    w = (h @ h.mT).masked_fill(blocked, float("-inf")).softmax(-1)
    tril = torch.tril(torch.ones(T, T))
    w2 = (h @ h.mT).masked_fill(tril == 0, float("-inf")).softmax(-1)
    y = F.scaled_dot_product_attention(h, h, h, attn_mask=~blocked)
    loss = (w @ h + w2 @ h + y - x).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "sorted_validation": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(120, 4); y = torch.arange(120) // 40
train = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
test = DataLoader(TensorDataset(torch.randn(60, 4), torch.arange(60) // 20), batch_size=10)
net = nn.Linear(4, 3); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    net.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for xb, yb in test:
            right += (net(xb).argmax(1) == yb).sum().item()
print(right > 0)
""",
    "infinite_iterator": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 3)), batch_size=8, shuffle=True)
net = nn.Linear(3, 3); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
it = iter(loader)
for step in range(17):
    try:
        (x,) = next(it)
    except StopIteration:
        it = iter(loader)
        (x,) = next(it)
    loss = (net(x) - x).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "hooks_with_handles": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
def features(x):
    kept = []
    handle = net[0].register_forward_hook(lambda m, a, o: kept.append(o.detach()))
    with torch.no_grad():
        net(x)
    handle.remove()
    return kept[0]
net.eval()
print(sum(features(torch.randn(2, 3)).shape[0] for _ in range(8)))
""",
    "hooks_on_every_layer": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(8)])
seen = []
for m in net:
    m.register_forward_hook(lambda m, a, o: seen.append(o.shape))
with torch.no_grad():
    net(torch.ones(1, 4))
print(len(seen))
""",
    "lora_zero_b": """
import torch
from torch import nn
torch.manual_seed(0)
class LoRA(nn.Module):
    def __init__(self, base, r):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.b = nn.Parameter(torch.zeros(base.out_features, r))
    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T
net = nn.Sequential(LoRA(nn.Linear(6, 6), 2), nn.ReLU(), LoRA(nn.Linear(6, 2), 2))
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for i in range(20):
    x = torch.randn(16, 6)
    loss = (net(x) - x[:, :2]).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "retained_gradient": """
import torch
x = torch.ones(3, requires_grad=True)
h = x * 2
h.retain_grad()
h.square().sum().backward()
print(h.grad, x.grad)
""",
    "arrays_copied": """
import numpy as np
import torch
frame = np.zeros((4, 4), dtype=np.float32)
stack = []
for t in range(6):
    frame[:] = t
    stack.append(torch.from_numpy(frame.copy()))
print(torch.stack(stack).mean().item())
total = 0.0
for t in range(6):
    frame[:] = t
    x = torch.from_numpy(frame)
    total += x.mean().item()
print(total)
""",
    "masked_updates": """
import torch
x = torch.randn(10)
x[x < 0] = 0
x[2:5].fill_(1.0)
x[torch.tensor([0, 1])] += 1
rows = x.view(2, 5)
rows[0][1] = 3.0
y = x[x > 1].clamp_(max=2.0)
print(y.max().item() <= 2)
""",
    "custom_function": """
import torch
class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward(x); ctx.lo, ctx.hi = lo, hi
        return x.clamp(lo, hi)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ((x >= ctx.lo) & (x <= ctx.hi)), None, None
x = torch.linspace(-2, 2, 9, requires_grad=True)
Clip.apply(x, -1.0, 1.0).sum().backward()
print(x.grad.sum().item())
""",
    "annotated_trainer": """
import torch
from torch import nn, Tensor
from dataclasses import dataclass
@dataclass
class Config:
    lr: float = 1e-2
    epochs: int = 3
class Trainer:
    def __init__(self, cfg: Config) -> None:
        self.cfg: Config = cfg
        self.net: nn.Module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
        self.opt: torch.optim.Optimizer = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)
        self.history: list[float] = []
    def training_step(self, x: Tensor, y: Tensor) -> float:
        self.opt.zero_grad()
        loss: Tensor = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()
    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        self.net.eval()
        out: Tensor = self.net(x)
        self.net.train()
        return nn.functional.mse_loss(out, y).item()
    def fit(self) -> None:
        for epoch in range(self.cfg.epochs):
            for _ in range(5):
                x: Tensor = torch.randn(16, 4)
                self.history.append(self.training_step(x, x.sum(1, keepdim=True)))
            x = torch.randn(16, 4)
            self.evaluate(x, x.sum(1, keepdim=True))
torch.manual_seed(0)
Trainer(Config()).fit()
""",
    "distance_matrix": """
import torch
torch.manual_seed(0)
a = torch.randn(6, 3, requires_grad=True)
d = (a[:, None] - a[None]).square().sum(-1)
k = torch.exp(-d)
n = a.norm(dim=1, keepdim=True)
cos = (a @ a.T) / (n * n.T)
w = torch.rand(6)
pair = w[:, None] * w
loss = (k * pair).sum() + cos.mean()
loss.backward()
print(a.grad.shape)
""",
    "expand_read": """
import torch
b = torch.zeros(3, 1)
t = b.expand(3, 4)
u = t.clone(); u[0, 0] = 1.0
v = torch.zeros(3, 4); v[0, :] = t[0]
print(u.sum().item(), v.sum().item())
""",
}
