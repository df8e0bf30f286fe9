"""Traps of values and settings: what wraps, what is written nowhere, what was swapped."""

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
"""

TRAPS = {
    "rebound_loop": (
        "parameter-name-rebound",
        HEAD
        + """
net = nn.Linear(4, 1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
lr = 0.1
for i in range(20):
    loss = (net(x) - y).pow(2).mean()
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p = p - lr * p.grad  #!
""",
    ),
    "rebound_in_function": (
        "parameter-name-rebound",
        HEAD
        + """
def sgd(model, lr):
    for name, weight in model.named_parameters():
        if weight.grad is not None:
            weight = weight.data - lr * weight.grad.data  #!
class Trainer:
    def __init__(self, net): self.net = net
    def fit(self, x, y):
        for i in range(20):
            loss = (self.net(x) - y).pow(2).mean()
            self.net.zero_grad()
            loss.backward()
            sgd(self.net, 0.1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
Trainer(nn.Linear(4, 1)).fit(x, y)
""",
    ),
    "rebound_clamp": (
        "parameter-name-rebound",
        HEAD
        + """
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.RMSprop(critic.parameters(), 5e-3)
for i in range(30):
    real, fake = torch.randn(32, 2) + 2, torch.randn(32, 2)
    loss = critic(fake).mean() - critic(real).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    for p in critic.parameters():
        p = torch.clamp(p, -0.01, 0.01)  #!
""",
    ),
    "rebound_average": (
        "parameter-name-rebound",
        HEAD
        + """
import copy
net = nn.Linear(4, 1)
target = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
for i in range(20):
    with torch.no_grad():
        t = target(x)
    loss = (net(x) - y).pow(2).mean() + (net(x) - t).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    for tp, p in zip(target.parameters(), net.parameters()):
        tp = 0.9 * tp + 0.1 * p  #!
""",
    ),
    "wrapped_difference": (
        "whole-numbers-wrapped",
        HEAD
        + """
a = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
b = torch.randint(0, 256, (64, 1, 8, 8), dtype=torch.uint8)
diff = (a - b).float() / 255  #!
y = diff.mean((1, 2, 3))
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
for i in range(20):
    loss = (net(diff).squeeze(1) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "wrapped_frames": (
        "whole-numbers-wrapped",
        HEAD
        + """
class Motion(torch.utils.data.Dataset):
    def __init__(self, video): self.video = video
    def __len__(self): return len(self.video) - 1
    def __getitem__(self, i):
        change = torch.sub(self.video[i + 1], self.video[i])  #!
        return torch.abs(change).to(torch.float32)
video = torch.randint(0, 256, (40, 8, 8), dtype=torch.uint8)
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
for x in torch.utils.data.DataLoader(Motion(video), batch_size=13):
    loss = net(x / 255).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "wrapped_in_place": (
        "whole-numbers-wrapped",
        HEAD
        + """
a = torch.randint(0, 256, (64, 64), dtype=torch.uint8)
a += torch.randint(0, 60, (64, 64), dtype=torch.uint8)  #!
x = a / 255
net = nn.Sequential(nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
for i in range(5):
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "wrapped_negative": (
        "whole-numbers-wrapped",
        HEAD
        + """
a = torch.randint(0, 256, (64, 64), dtype=torch.uint8)
x = (1 - a).float() / 255  #!
net = nn.Sequential(nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
for i in range(5):
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "betas_kw": (
        "betas-swapped",
        HEAD
        + """net = nn.Linear(4, 1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
opt = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.999, 0.9))  #!
for i in range(20):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "betas_config": (
        "betas-swapped",
        HEAD
        + """from dataclasses import dataclass
@dataclass
class Config:
    lr: float = 1e-2
    betas: tuple = (0.99, 0.9)  #!
def make(net, cfg):
    return torch.optim.AdamW(net.parameters(), lr=cfg.lr, betas=cfg.betas)
net = nn.Linear(4, 1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
opt = make(net, Config())
for i in range(20):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "betas_param": (
        "betas-swapped",
        HEAD
        + """BETAS = [0.95, 0.5]  #!
def make(net, lr, betas):
    return torch.optim.AdamW(net.parameters(), lr, betas)
net = nn.Linear(4, 1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
opt = make(net, 0.01, BETAS)
for i in range(20):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
}

CLEAN = {
    "loops_over_parameters": HEAD
    + """
net = nn.Linear(4, 1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
for i in range(20):
    loss = (net(x) - y).pow(2).mean()
    net.zero_grad()
    loss.backward()
    norm = 0
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
        for p in net.parameters():
            p = p - p.mean()
            norm += p.norm()
        for p in net.parameters():
            q = p - 0.1
            p.copy_(q + 0.1)
params = list(net.parameters())
for i in range(5):
    loss = (torch.nn.functional.linear(x, *params) - y).pow(2).mean()
    grads = torch.autograd.grad(loss, params)
    new = []
    for p, g in zip(params, grads):
        p = p - 0.1 * g
        new.append(p)
    params = [p.detach().requires_grad_() for p in new]
""",
    "small_whole_numbers": HEAD
    + """
a = torch.randint(0, 256, (64, 64), dtype=torch.uint8)
b = torch.randint(0, 256, (64, 64), dtype=torch.uint8)
mask = torch.randint(0, 2, (64, 64), dtype=torch.uint8)
x = (a.int() - b).float() / 255 + (255 - a).float() + (1 - mask).float()
h = (a * 31 + b) & 127
key = (a - b).bitwise_and(15)
net = nn.Sequential(nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 0.000001)
for i in range(5):
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "betas_of_groups": HEAD
    + """net = nn.Linear(4, 1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
groups = [{"params": [net.weight], "betas": (0.5, 0.999)}, {"params": [net.bias]}]
opt = torch.optim.Adam(groups, lr=1e-2, betas=(0.0, 0.9))
for i in range(20):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "differences_of_all_pairs": HEAD
    + """
c = torch.randn(30, requires_grad=True)
opt = torch.optim.SGD([c], 0.001)
for i in range(5):
    far = (c[None].T - torch.randn(30)).pow(2).sum()
    far = far + (c.unsqueeze(0).t() - torch.randn(30)).abs().mean()
    far = far + (c.view(-1, 1) - torch.randn(30)).abs().mean()
    far = far + (torch.randn(30) - c.reshape(len(c), 1)).abs().mean()
    far = far + (torch.unsqueeze(c, 1) - torch.randn(30)).abs().mean()
    far = far + (c[..., None] - torch.randn(30)).abs().mean()
    opt.zero_grad(); far.backward(); opt.step()
""",
}
