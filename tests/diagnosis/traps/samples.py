"""Traps of what a model is given, and of what changes it on the way."""

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
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
    "segmentation": HEAD
    + """
class Shapes(Dataset):
    def __init__(self, n, train):
        self.images = torch.rand(n, 3, 16, 16)
        self.masks = (self.images.mean(1) > 0.5).long()
        self.train = train
    def __len__(self): return len(self.images)
    def __getitem__(self, i):
        x, m = self.images[i], self.masks[i]
        if self.train and torch.rand(1) < 0.5:
            x, m = torch.flip(x, [-1]), torch.flip(m, [-1])
        return x, m
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 2, 1))
opt = torch.optim.AdamW(net.parameters(), 3e-3)
train, val = DataLoader(Shapes(96, True), 16, shuffle=True), DataLoader(Shapes(32, False), 16)
def iou(pred, target):
    inter = ((pred == 1) & (target == 1)).sum(); union = ((pred == 1) | (target == 1)).sum()
    return (inter / union.clamp(min=1)).item()
for epoch in range(4):
    net.train()
    total = 0.0
    for x, m in train:
        loss = F.cross_entropy(net(x), m)
        opt.zero_grad(); loss.backward(); opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        score = sum(iou(net(x).argmax(1), m) for x, m in val) / len(val)
    print(total / len(train), score)
""",
    "tabular": HEAD
    + """
import numpy as np
rng = np.random.default_rng(0)
num = rng.normal(3, 5, (400, 6)).astype("float32"); cat = rng.integers(0, 4, 400)
y = (num[:, 0] + 2 * (cat == 1) > 3).astype("float32")
perm = rng.permutation(400); num, cat, y = num[perm], cat[perm], y[perm]
mean, std = num[:300].mean(0), num[:300].std(0)
num = (num - mean) / std
X, C, Y = torch.from_numpy(num), torch.from_numpy(cat), torch.from_numpy(y)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(4, 3)
        self.f = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1))
    def forward(self, x, c): return self.f(torch.cat([x, self.e(c)], 1)).squeeze(1)
net = Net(); opt = torch.optim.Adam(net.parameters(), 1e-2)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
loss_fn = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.5))
for e in range(8):
    net.train(); order = torch.randperm(300)
    for at in order.split(30):
        loss = loss_fn(net(X[at], C[at]), Y[at]); opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        p = net(X[300:], C[300:]).sigmoid(); v = F.binary_cross_entropy(p, Y[300:])
    sched.step(v)
    print(((p > 0.5) == Y[300:].bool()).float().mean().item())
""",
    "forecast": HEAD
    + """
s = torch.sin(torch.arange(400.) / 7) + 0.1 * torch.randn(400)
split = 300; m, d = s[:split].mean(), s[:split].std(); z = (s - m) / d
def windows(v, w=12): u = v.unfold(0, w + 1, 1); return u[:, :-1], u[:, -1]
class Fore(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.LSTM(1, 16, batch_first=True); self.o = nn.Linear(16, 1)
    def forward(self, x): h, _ = self.l(x.unsqueeze(-1)); return self.o(h[:, -1]).squeeze(-1)
net = Fore(); opt = torch.optim.Adam(net.parameters(), 1e-2)
xt, yt = windows(z[:split]); xv, yv = windows(z[split:])
best, wait = float("inf"), 0
for e in range(6):
    net.train()
    for xb, yb in DataLoader(TensorDataset(xt, yt), 32, shuffle=True):
        loss = F.mse_loss(net(xb), yb); opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad(): v = F.mse_loss(net(xv), yv).item()
    if v < best: best, wait = v, 0
    else: wait += 1
    if wait > 3: break
print(best * d.item() ** 2)
""",
    "proximal_policy": HEAD
    + """
class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.p, self.v = nn.Linear(32, 2), nn.Linear(32, 1)
    def forward(self, s):
        h = self.b(s)
        return torch.distributions.Categorical(logits=self.p(h)), self.v(h).squeeze(-1)
ac = AC(); opt = torch.optim.Adam(ac.parameters(), 3e-3)
for it in range(6):
    S = torch.randn(64, 4)
    with torch.no_grad():
        d, v = ac(S); A = d.sample(); old = d.log_prob(A)
    R = (A == (S[:, 0] > 0).long()).float()
    adv = R - v
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for ep in range(3):
        for at in torch.randperm(64).split(16):
            d, v = ac(S[at]); ratio = (d.log_prob(A[at]) - old[at]).exp()
            pl = -torch.min(ratio * adv[at], ratio.clamp(0.8, 1.2) * adv[at]).mean()
            loss = pl + 0.5 * F.mse_loss(v, R[at]) - 0.01 * d.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
            opt.step()
""",
    "function_and_hooks": HEAD
    + """
class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo, hi): ctx.save_for_backward(x); ctx.r = (lo, hi); return x.clamp(lo, hi)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors; lo, hi = ctx.r; return g * ((x >= lo) & (x <= hi)), None, None
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)); feats = {}
def keep(name):
    def hook(m, i, o): feats[name] = o.detach()
    return hook
h = net[0].register_forward_hook(keep("first")); net[2].weight.register_hook(lambda g: g * 0.5)
def log(m, gi, go): feats["g"] = go[0].norm().item()
net[2].register_full_backward_hook(log)
opt = torch.optim.SGD(net.parameters(), 0.05); X = torch.randn(64, 6); Y = X.sum(1, keepdim=True)
for i in range(20):
    loss = F.mse_loss(Clip.apply(net(X), -6.0, 6.0), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
h.remove(); print(feats["first"].abs().mean(), feats["g"])
""",
    "resumed_under_autocast": HEAD
    + """
import os, tempfile
X = torch.randn(128, 8); Y = (X[:, 0] * X[:, 1] > 0).long()
def make():
    m = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    o = torch.optim.AdamW(m.parameters(), 1e-2)
    return m, o, torch.optim.lr_scheduler.OneCycleLR(o, 2e-2, total_steps=48)
m, o, s = make(); path = os.path.join(tempfile.mkdtemp(), "c.pt")
def epoch():
    for at in torch.randperm(128).split(16):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(m(X[at]), Y[at])
        o.zero_grad(set_to_none=True); loss.backward(); o.step(); s.step()
for e in range(3): epoch()
torch.save({"m": m.state_dict(), "o": o.state_dict(), "s": s.state_dict()}, path)
m, o, s = make(); c = torch.load(path)
m.load_state_dict(c["m"]); o.load_state_dict(c["o"]); s.load_state_dict(c["s"])
for e in range(3): epoch()
""",
    "two_heads": HEAD
    + """
X = torch.randn(160, 10)
T = (X[:, :3] + 0.1 * torch.randn(160, 3) > 0).float()
V = X @ torch.randn(10, 1) + 0.1 * torch.randn(160, 1)
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(10, 32), nn.LayerNorm(32), nn.GELU())
        self.t, self.v = nn.Linear(32, 3), nn.Linear(32, 1)
    def forward(self, x): h = self.b(x); return self.t(h), self.v(h)
net = Two(); opt = torch.optim.Adam(net.parameters(), 5e-3, weight_decay=1e-4)
ds = TensorDataset(X, T, V); tr, va = torch.utils.data.random_split(ds, [128, 32])
for e in range(5):
    net.train(); sums = [0.0, 0.0]
    for x, t, v in DataLoader(tr, 32, shuffle=True):
        a, b = net(x); lt, lv = F.binary_cross_entropy_with_logits(a, t), F.mse_loss(b, v)
        l1 = sum(p.abs().sum() for n, p in net.named_parameters() if n.endswith("weight"))
        loss = lt + 0.1 * lv + 1e-5 * l1; opt.zero_grad(); loss.backward(); opt.step()
        sums[0] += lt.item() * len(x); sums[1] += lv.item() * len(x)
    print([q / len(tr) for q in sums])
    net.eval(); hits = n = 0
    with torch.no_grad():
        for x, t, v in DataLoader(va, 32):
            a, b = net(x); hits += ((a > 0) == t.bool()).all(1).sum().item(); n += len(x)
    print(hits / n)
""",
}
