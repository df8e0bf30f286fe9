"""Traps of sizes and numbers: learning rates, gradients, activations, NaN."""

TRAPS = {
    "nan_mask": (
        "nan-made",
        """
import torch
import torch.nn.functional as F
from torch import nn
class Attn(nn.Module):
    def forward(self, q, k, mask):
        s = q @ k.transpose(-2, -1)
        s = s.masked_fill(mask == 0, float("-inf")) #!
        return F.softmax(s, dim=-1)
mask = torch.ones(2, 3, 3); mask[1] = 0
w = Attn()(torch.randn(2, 3, 4), torch.randn(2, 3, 4), mask)
print(w.isnan().any().item())
""",
    ),
    "nan_std": (
        "nan-made",
        """
import torch
def normalise(group):
    return (group - group.mean()) / group.std() #!
for g in (torch.randn(4), torch.randn(1)):
    print(normalise(g).sum())
""",
    ),
    "nan_log_where": (
        "nan-gradient",
        """
import torch
def f(p):
    return torch.where(p > 0, p * torch.log(p), 0.0) #!
p = torch.tensor([0.0, 0.5, 1.0], requires_grad=True)
f(p).sum().backward()
print(p.grad)
""",
    ),
    "nan_norm": (
        "nan-gradient",
        """
import torch
x = torch.zeros(3, requires_grad=True)
d = (x ** 2).sum().sqrt() #!
d.backward()
print(x.grad)
""",
    ),
    "tiny_rate": (
        "updates-lost",
        """
import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-12)  #!
for _ in range(5):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
""",
    ),
    "lr_large": (
        "learning-rate-too-large",
        """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(64, 5); y = x @ torch.ones(5, 1)
net = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=5.0) #!
for _ in range(40):
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
""",
    ),
    "lr_large_to_nan": (
        "learning-rate-too-large",
        """
import torch
from torch import nn
from torch.optim import SGD
class Config:
    lr = 10.0 #!
def main(c):
    torch.manual_seed(0)
    x = torch.randn(64, 5); y = x.sum(1, keepdim=True)
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = SGD(net.parameters(), lr=c.lr)
    for _ in range(30):
        loss = nn.MSELoss()(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item())
main(Config)
""",
    ),
    "lr_small": (
        "learning-rate-too-small",
        """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(64, 5); y = x.sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), 1e-7, momentum=0.9) #!
for _ in range(60):
    loss = nn.MSELoss()(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "explode": (
        "gradients-explode",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Deep(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(n))
        for l in self.layers: nn.init.normal_(l.weight, std=0.5)
        self.out = nn.Linear(32, 1)
    def forward(self, x):
        for l in self.layers: x = l(x).relu()
        return self.out(x)
net = Deep(12); opt = torch.optim.SGD(net.parameters(), lr=1e-3)
x, y = torch.randn(64, 32), torch.randn(64, 1)
for _ in range(8):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step() #!
""",
    ),
    "vanish": (
        "gradients-vanish",
        """
import torch
from torch import nn
torch.manual_seed(0)
parts = []
for _ in range(14):
    parts += [nn.Linear(16, 16), nn.Sigmoid()] #!
net = nn.Sequential(*parts, nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 16), torch.randn(64, 1)
for _ in range(10):
    opt.zero_grad(); nn.functional.mse_loss(net(x), y).backward(); opt.step()
""",
    ),
    "dead_from_bias": (
        "relu-dead",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.act = nn.Linear(8, 32), nn.ReLU()
        nn.init.constant_(self.fc.bias, -20.0) #!
    def forward(self, x): return self.act(self.fc(x))
net = nn.Sequential(Block(), nn.Linear(32, 1)); opt = torch.optim.Adam(net.parameters())
for _ in range(20):
    x = torch.randn(32, 8)
    opt.zero_grad(); (net(x) - x.sum(1, keepdim=True)).square().mean().backward(); opt.step()
""",
    ),
    "nan_in_batch": (
        "nan-in-data",
        """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(32, 4)
x[3, 1] = float("nan") #!
net = nn.Linear(4, 3); opt = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(4):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), torch.randint(0, 3, (32,))).backward()
    opt.step()
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
    "normal_of_one": (
        "weights-too-large",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class MLP(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.a = nn.Linear(d, 64)
        self.b = nn.Linear(64, 64)
        self.c = nn.Linear(64, 4)
        self.apply(self.reset)
    def reset(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=1.0) #!
            nn.init.zeros_(m.bias)
    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))

torch.manual_seed(0)
x = torch.randn(128, 16)
y = x[:, :4].argmax(1)
model = MLP()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    total = 0.0
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / 4)
""",
    ),
    "log_zero": (
        "nan-made",
        """
import torch
from torch import nn

torch.manual_seed(0)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, s):
        return torch.softmax(200 * self.fc(s), dim=-1)

def entropy(p):
    return -(p * torch.log(p)).sum(-1) #!

policy = Policy()
p = policy(torch.randn(32, 4))
print("finite:", torch.isfinite(entropy(p).mean()).item())
""",
    ),
    "mean_empty": (
        "nan-made",
        """
import torch

def positive_mean(x):
    return x[x > 0].mean() #!

print("finite:", torch.isfinite(positive_mean(torch.tensor([-1.0, -2.0]))).item())
""",
    ),
    "all_ignored": (
        "nan-made",
        """
import torch
from torch import nn

torch.manual_seed(0)
logits = torch.randn(2, 4, 6, requires_grad=True)
labels = torch.tensor([[-100, -100, -100, -100], [-100, -100, -100, -100]])
loss = nn.functional.cross_entropy(logits.view(-1, 6), labels.view(-1), ignore_index=-100) #!
print("finite:", torch.isfinite(loss).item())
""",
    ),
    "acos": (
        "nan-made",
        """
import torch
import torch.nn.functional as F

torch.manual_seed(0)
a = torch.randn(64, 3)
a = a / a.norm(dim=1, keepdim=True)
cos = (a * a).sum(1) * 1.0000002
angle = torch.acos(cos) #!
print("finite:", torch.isfinite(angle).all().item())
""",
    ),
    "lr_tiny": (
        "learning-rate-too-small",
        """
import argparse
import torch
from torch import nn

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-9) #!
    args = parser.parse_args([])
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)
    x = torch.randn(64, 4)
    for step in range(30):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        opt.step()
    print("finished")

main()
""",
    ),
    "dead_relu": (
        "relu-dead",
        """
import torch
from torch import nn

torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 32)
        self.out = nn.Linear(32, 1)
        nn.init.constant_(self.hidden.bias, -50) #!

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(10):
    opt.zero_grad()
    x = torch.randn(32, 8)
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
print("done")
""",
    ),
    "zero_init": (
        "relu-dead",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
for p in net.parameters():
    nn.init.zeros_(p) #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 8)
for step in range(30):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
print("first layer moved:", bool(net[0].weight.abs().sum() > 0))
""",
    ),
    "autocast_param_cast": (
        "updates-lost",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(16, 4).bfloat16() #!
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
start = model.weight.detach().clone()
for step in range(10):
    x = torch.randn(8, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("moved:", (model.weight != start).float().mean().item() > 0.9)
""",
    ),
    "never_changing_frozen": (
        "updates-lost",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.0) #!
x = torch.randn(32, 4)
for _ in range(40):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
print("done")
""",
    ),
    "nan_norm_in_class": (
        "nan-made",
        """
import torch
from torch import nn
def standardize(x): return (x - x.mean(0)) / x.std(0) #!
torch.manual_seed(0)
m = nn.Linear(3, 1); o = torch.optim.SGD(m.parameters(), .05)
x = torch.randn(16, 3); x[:, 1] = 2.0
for _ in range(3):
    o.zero_grad(); m(standardize(x)).square().mean().backward(); o.step()
""",
    ),
    "lr_dataclass": (
        "learning-rate-too-large",
        """
import torch
from dataclasses import dataclass, field
from torch import nn
@dataclass
class Hyper:
    lr: float = 30.0 #!
    steps: int = 25
class Fit:
    def __init__(self, h):
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=h.lr)
    def go(self, n):
        for _ in range(n):
            x = torch.randn(32, 4)
            loss = (self.net(x) - x[:, :1]).square().mean()
            self.opt.zero_grad(); loss.backward(); self.opt.step()
torch.manual_seed(0)
h = Hyper(); Fit(h).go(h.steps)
""",
    ),
    "vanish_forward": (
        "gradients-vanish",
        """
import torch
from torch import nn
class Deep(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(12, 12) for _ in range(depth)])
        self.head = nn.Linear(12, 3)
    def forward(self, x):
        for b in self.blocks:
            x = torch.sigmoid(b(x)) #!
        return self.head(x)
torch.manual_seed(0)
d = Deep(16); o = torch.optim.SGD(d.parameters(), .05)
for _ in range(8):
    o.zero_grad()
    nn.functional.cross_entropy(d(torch.randn(16, 12)), torch.randint(0, 3, (16,))).backward()
    o.step()
""",
    ),
    "nan_in_all_that_follows": (
        "nan-made",
        """
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
x[:, 0] = 0
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
first = nn.Linear(6, 6)
opt = torch.optim.Adam([*first.parameters(), *net.parameters()], lr=1e-3)
for step in range(40):
    scaled = first(x) * (x / x.abs().amax(0)) #!
    loss = nn.functional.cross_entropy(net(scaled), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    ),
}
