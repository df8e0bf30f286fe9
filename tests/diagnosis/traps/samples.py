"""Traps of what a model is given, and of what changes it on the way."""

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
"""

TRAPS = {
    "leak_window": (
        "target-among-inputs",
        HEAD
        + """
s = torch.sin(torch.arange(300) / 5) + 0.1 * torch.randn(300)
w = 10
x = torch.stack([s[i:i + w] for i in range(280)])
y = torch.stack([s[i + w - 1] for i in range(280)])  #!
net = nn.Sequential(nn.Linear(w, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for e in range(5):
    for i in range(0, 280, 20):
        loss = F.mse_loss(net(x[i:i+20]).squeeze(1), y[i:i+20])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "leak_column": (
        "target-among-inputs",
        HEAD
        + """
import numpy as np
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 16), nn.ReLU(), nn.Linear(16, 1))
    def forward(self, x):
        return self.net(x).squeeze(1)
def fit(model, table):
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    for i in range(20):
        loss = F.binary_cross_entropy_with_logits(model(table), table[:, -1])  #!
        opt.zero_grad(); loss.backward(); opt.step()
rows = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")
rows[:, 4] = rows[:, 0] > 0
fit(Model(5), torch.from_numpy(rows))
""",
    ),
    "leak_dataset": (
        "target-among-inputs",
        HEAD
        + """
class Windows(torch.utils.data.Dataset):
    def __init__(self, series, width): self.series, self.width = series, width
    def __len__(self): return len(self.series) - self.width
    def __getitem__(self, i):
        return self.series[i:i + self.width], self.series[i + self.width - 1]  #!
series = torch.sin(torch.arange(200) / 5)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for xb, yb in DataLoader(Windows(series, 8), batch_size=16, shuffle=True):
    loss = (net(xb).squeeze(1) - yb).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "sampler_of_classes": (
        "sampler-weights-of-classes",
        HEAD
        + """
from torch.utils.data import WeightedRandomSampler
x = torch.randn(200, 6); y = (torch.arange(200) % 10 == 0).long()
counts = torch.bincount(y)
sampler = WeightedRandomSampler(1.0 / counts, 200)  #!
net = nn.Linear(6, 2); opt = torch.optim.Adam(net.parameters(), 1e-2)
for xb, yb in DataLoader(TensorDataset(x, y), batch_size=20, sampler=sampler):
    loss = F.cross_entropy(net(xb), yb); opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "mask_not_flipped": (
        "labels-not-turned",
        HEAD
        + """
class Seg(torch.utils.data.Dataset):
    def __init__(self, n): self.x = torch.rand(n, 1, 8, 8); self.m = (self.x[:, 0] > 0.5).long()
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        x, m = self.x[i], self.m[i]
        if torch.rand(1) < 0.5:
            x = x.flip(-1)  #!
        return x, m
net = nn.Conv2d(1, 2, 3, padding=1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for e in range(3):
    for x, m in DataLoader(Seg(64), batch_size=8, shuffle=True):
        loss = F.cross_entropy(net(x), m)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "mask_not_rotated": (
        "labels-not-turned",
        HEAD
        + """
def augment(picture):
    if torch.rand(()) > 0.5:
        return torch.rot90(picture, int(torch.randint(1, 4, ())), (-2, -1))  #!
    return picture
class Cells(torch.utils.data.Dataset):
    def __init__(self, n, transform):
        self.pictures = torch.rand(n, 3, 8, 8)
        self.classes = self.pictures.argmax(1)
        self.transform = transform
    def __len__(self): return len(self.pictures)
    def __getitem__(self, i):
        picture, target = self.pictures[i], self.classes[i]
        picture = self.transform(picture)
        return {"image": picture, "mask": target}
net = nn.Conv2d(3, 3, 3, padding=1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for batch in DataLoader(Cells(64, augment), batch_size=8):
    loss = F.cross_entropy(net(batch["image"]), batch["mask"])
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "pixels_255": (
        "standardized-on-another-scale",
        HEAD
        + """
mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
x = torch.randint(0, 256, (64, 3, 8, 8)).float()
y = (x[:, 0].mean((1, 2)) > 127).long()
x = (x - mean) / std  #!
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
opt = torch.optim.Adam(net.parameters(), 1e-4)
for e in range(5):
    for i in range(0, 64, 16):
        loss = F.cross_entropy(net(x[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "norm_momentum": (
        "norm-momentum-inverted",
        HEAD
        + """
norm = nn.BatchNorm1d(32, momentum=0.99)  #!
net = nn.Sequential(nn.Linear(6, 32), norm, nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
x = torch.randn(128, 6); y = (x[:, 0] > 0).long()
for e in range(5):
    for i in range(0, 128, 16):
        loss = F.cross_entropy(net(x[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
net.eval()
with torch.no_grad(): print((net(x).argmax(1) == y).float().mean())
""",
    ),
    "norm_momentum_config": (
        "norm-momentum-inverted",
        HEAD
        + """
MOMENTUM = 0.9  #!
def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3), nn.BatchNorm2d(b, momentum=MOMENTUM), nn.ReLU())
net = nn.Sequential(block(1, 4), block(4, 8), nn.Flatten(), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(20):
    x = torch.rand(16, 1, 8, 8); y = (x.mean((1, 2, 3)) > 0.5).long()
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "hook_lost": (
        "hook-result-lost",
        HEAD
        + """
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
mask = (torch.rand(1, 4) > 0.5).float()
def masked(g):
    g = g * mask  #!
net.weight.register_hook(masked)
for i in range(10):
    loss = (net(torch.randn(8, 4)) - 3).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "forward_hook_lost": (
        "hook-result-lost",
        HEAD
        + """
class Noisy:
    def __init__(self, model, scale):
        self.scale = scale
        model[0].register_forward_hook(self.disturb)
    def disturb(self, module, inputs, output):
        if module.training:
            output = output + self.scale * torch.randn_like(output)  #!
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
noisy = Noisy(net, 0.1)
opt = torch.optim.SGD(net.parameters(), 0.01)
for i in range(10):
    x = torch.randn(8, 6)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "penalty_subtracted": (
        "penalty-rewards-large-weights",
        HEAD
        + """
net = nn.Linear(6, 2); opt = torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(64, 6); y = (x[:, 0] > 0).long()
for i in range(20):
    l1 = sum(p.abs().sum() for p in net.parameters())
    loss = F.cross_entropy(net(x), y) - 0.01 * l1  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "penalty_subtracted_squares": (
        "penalty-rewards-large-weights",
        HEAD
        + """
class Ridge:
    def __init__(self, model, strength):
        self.model, self.strength = model, strength
        self.opt = torch.optim.SGD(model.parameters(), 0.01)
    def penalty(self):
        total = 0.0
        for p in self.model.parameters():
            total = total + p.pow(2).sum()
        return total
    def step(self, x, y):
        penalty = self.penalty()
        loss = F.mse_loss(self.model(x), y)
        loss = loss - self.strength * penalty  #!
        self.opt.zero_grad(); loss.backward(); self.opt.step()
ridge = Ridge(nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)), 0.01)
for i in range(20):
    x = torch.randn(32, 6)
    ridge.step(x, x.sum(1, keepdim=True))
""",
    ),
}

CLEAN = {
    "inputs_without_answers": HEAD
    + """
s = torch.sin(torch.arange(300) / 5) + 0.1 * torch.randn(300)
x = torch.stack([s[i:i + 10] for i in range(280)])
y = torch.stack([s[i + 10] for i in range(280)])
net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
auto = nn.Sequential(nn.Linear(10, 4), nn.ReLU(), nn.Linear(4, 10))
opt = torch.optim.Adam([*net.parameters(), *auto.parameters()], 1e-2)
for i in range(0, 280, 20):
    xb, yb = x[i:i+20], y[i:i+20]
    loss = F.mse_loss(net(xb).squeeze(1), yb) + F.mse_loss(auto(xb), xb)
    opt.zero_grad(); loss.backward(); opt.step()
z = torch.randn(200, 6)
from torch.utils.data import WeightedRandomSampler
labels = (z[:, 0] > 0).long()
sampler = WeightedRandomSampler((1.0 / torch.bincount(labels))[labels], 200)
loader = DataLoader(TensorDataset(z, z[:, :1]), batch_size=20, sampler=sampler)
net = nn.Linear(6, 1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for zb, tb in loader:
    loss = F.mse_loss(net(zb), tb)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "masks_turned": HEAD
    + """
class Seg(torch.utils.data.Dataset):
    def __init__(self, n): self.x = torch.rand(n, 3, 8, 8); self.m = (self.x[:, 0] > 0.5).long()
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        x, m = self.x[i].flip(0), self.m[i]
        if torch.rand(1) < 0.5:
            x, m = x.flip(-1), m.flip(-1)
        if torch.rand(1) < 0.5:
            x = x.flip(0)
        x, m = self.both(x, m)
        return x, m
    def both(self, x, m):
        if torch.rand(1) < 0.5:
            return x.flip(1), m.flip(0)
        return x, m
class Labelled(Seg):
    def __getitem__(self, i):
        x, label = self.x[i], self.m[i].float().mean().round().long()
        if torch.rand(1) < 0.5:
            x = x.flip(-1)
        return x, label
net = nn.Conv2d(3, 2, 3, padding=1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for x, m in DataLoader(Seg(64), batch_size=8, shuffle=True):
    loss = F.cross_entropy(net(x), m)
    opt.zero_grad(); loss.backward(); opt.step()
for x, label in DataLoader(Labelled(64), batch_size=8, shuffle=True):
    loss = F.cross_entropy(net(x).mean((2, 3)), label)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "scales_hooks_and_penalties": HEAD
    + """
x = torch.randint(0, 256, (64, 3, 8, 8)).float()
mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
x = (x / 255 - mean.view(3, 1, 1)) / std.view(3, 1, 1)
bins = (torch.rand(100) * 500 - 3) / 2.0
y = (x[:, 0].mean((1, 2)) > 0).long()
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, momentum=0.05), nn.ReLU(), nn.Flatten(),
                    nn.Linear(288, 2))
mask = (torch.rand(2, 288) > 0.5).float()
def masked(g):
    g = g * mask
    return g
seen = []
def watch(module, inputs, output):
    output = output.detach().abs()
    seen.append(output.mean())
net[4].weight.register_hook(masked)
net[4].weight.register_hook(lambda g: g.clamp(-1, 1))
net[0].register_forward_hook(watch)
scale = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam([*net.parameters(), scale], 1e-3)
for e in range(12):
    out = net(x) * scale.abs()
    l1 = sum(p.abs().sum() for p in net.parameters())
    l2 = sum(p.pow(2).sum() for p in net.parameters())
    loss = F.cross_entropy(out, y) + 1e-4 * l1 + 1e-4 * l2 - scale.abs().log().sum()
    opt.zero_grad(); loss.backward(); opt.step()
net.eval()
""",
}
