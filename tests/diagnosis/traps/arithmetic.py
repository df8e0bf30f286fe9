"""Traps of values and settings: what wraps, what is written nowhere, what was swapped."""

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
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
            weight.grad = None
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
    "divided_accuracy": (
        "divided-by-wrong-count",
        HEAD
        + """
x = torch.randn(256, 5); y = (x.sum(1) > 0).long()
train = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=32)
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in valid:
            correct += (model(xb).argmax(1) == yb).sum().item()
    accuracy = correct / len(valid)  #!
    print(f"accuracy {accuracy:.3f}")
""",
    ),
    "divided_percent_class": (
        "divided-by-wrong-count",
        HEAD
        + """
class Trainer:
    def __init__(self, model, train):
        self.model, self.loader = model, train
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.loss_fn = nn.CrossEntropyLoss()
    def epoch(self):
        total_loss, hits = 0.0, 0
        for inputs, labels in self.loader:
            out = self.model(inputs)
            loss = self.loss_fn(out, labels)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total_loss += loss.item()
            hits += out.argmax(dim=1).eq(labels).sum().item()
        n = len(self.loader)
        return total_loss / n, 100.0 * hits / n  #!
x = torch.randn(200, 5); y = (x.sum(1) > 0).long()
trainer = Trainer(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2)),
                  DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True))
for _ in range(3):
    print(trainer.epoch())
""",
    ),
    "divided_loss": (
        "divided-by-wrong-count",
        HEAD
        + """
x = torch.randn(256, 5); y = (x.sum(1) > 0).long()
train = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=32)
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in valid:
            correct += nn.functional.cross_entropy(model(xb), yb).item()
    accuracy = correct / len(valid.dataset)  #!
    print(f"accuracy {accuracy:.3f}")
""",
    ),
    "divided_running_loss": (
        "divided-by-wrong-count",
        HEAD
        + """
x = torch.randn(200, 5); y = x.sum(1, keepdim=True)
data = TensorDataset(x, y)
loader = DataLoader(data, batch_size=16, shuffle=True)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.MSELoss()
for epoch in range(3):
    running = 0.0
    for i, (xb, yb) in enumerate(loader):
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    running /= len(data)  #!
    print(epoch, running)
""",
    ),
    "cosine_normalize": (
        "normalized-wrong-dimension",
        HEAD
        + """
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), 1e-3)
x = torch.randn(64, 10)
def embed(rows):
    return F.normalize(net(rows), dim=0)  #!
for i in range(20):
    a, b = embed(x + 0.1 * torch.randn_like(x)), embed(x + 0.1 * torch.randn_like(x))
    logits = a @ b.T / 0.1
    loss = F.cross_entropy(logits, torch.arange(64))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "cosine_norm_zero": (
        "normalized-wrong-dimension",
        HEAD
        + """
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), 1e-3)
x = torch.randn(64, 10)
def embed(rows):
    h = net(rows)
    return h / h.norm(dim=0, keepdim=True)  #!
for i in range(20):
    a, b = embed(x + 0.1 * torch.randn_like(x)), embed(x + 0.1 * torch.randn_like(x))
    logits = torch.mm(a, b.t()) / 0.1
    loss = F.cross_entropy(logits, torch.arange(64))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "cosine_default_dim": (
        "normalized-wrong-dimension",
        HEAD
        + """
class Match(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(6, 8)
    def forward(self, words, regions):
        w = F.normalize(self.one(words))  #!
        r = F.normalize(self.two(regions), dim=-1)
        return torch.bmm(w, r.transpose(1, 2)).amax(2).mean(1)
net = Match()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(20):
    words, regions = torch.randn(16, 5, 6), torch.randn(16, 7, 6)
    y = (words.mean((1, 2)) > 0).float()
    loss = F.mse_loss(net(words, regions), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "cosine_classes": (
        "normalized-wrong-dimension",
        HEAD
        + """
class Cosine(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.weight = nn.Parameter(torch.randn(4, 8))
    def forward(self, x):
        h = self.body(x)
        h = h / (torch.norm(h, dim=1, keepdim=True) + 1e-8)
        w = F.normalize(self.weight, p=2, dim=0)  #!
        return 10 * F.linear(h, w)
net = Cosine()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(20):
    x = torch.randn(32, 6); y = x[:, :4].argmax(1)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "rebound_by_argument": (
        "parameter-name-rebound",
        """
import torch
from torch import nn

def update(p, lr):
    p = p - lr * p.grad  #!

def main():
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    for i in range(20):
        loss = (net(torch.randn(16, 3)) - 1).pow(2).mean()
        net.zero_grad(); loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                update(p, 0.1)
main()
""",
    ),
    "normalized_then_summed": (
        "normalized-wrong-dimension",
        """
import torch
from torch import nn
import torch.nn.functional as F

class Contrast:
    def __init__(self, net, t=0.1):
        self.net, self.t = net, t
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    def embed(self, x):
        return F.normalize(self.net(x), p=2, dim=0)  #!
    def step(self, one, two):
        a, b = self.embed(one), self.embed(two)
        loss = (1 - (a * b).sum(dim=1)).pow(2).mean() / self.t
        self.opt.zero_grad(); loss.backward(); self.opt.step()
        return loss

torch.manual_seed(0)
c = Contrast(nn.Linear(10, 8))
for i in range(20):
    x = torch.randn(32, 10)
    c.step(x, x + 0.1 * torch.randn_like(x))
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
    "rates": HEAD
    + """
x = torch.randn(300, 5); y = (x.sum(1) > 0).long()
data = TensorDataset(x, y)
loader = DataLoader(data, batch_size=100)
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
criterion, summed = nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="sum")
for epoch in range(3):
    mean, total, by_rows, hits, rate, n = 0.0, 0.0, 0.0, 0, 0.0, 0
    for i, (xb, yb) in enumerate(loader):
        out = model(xb)
        loss = criterion(out, yb)
        opt.zero_grad(); loss.backward(); opt.step()
        mean += loss.item()
        total += summed(out, yb).item()
        by_rows += loss.item() * len(xb)
        right = out.argmax(1) == yb
        hits += right.sum().item()
        rate += right.float().mean().item()
        n += len(yb)
    print(mean / len(loader), total / len(data), by_rows / n, hits / len(loader.dataset))
    print(f"{100 * hits / n:.1f} % of {n}, {rate / (i + 1):.3f}")
single = DataLoader(data, batch_size=1)
with torch.no_grad():
    mean = hits = 0
    for xb, yb in single:
        mean += criterion(model(xb), yb).item()
        hits += (model(xb).argmax(1) == yb).sum().item()
print(mean / len(data), hits / len(single))
""",
    "cosines": HEAD
    + """
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
head = nn.Parameter(torch.randn(8, 5))
opt = torch.optim.Adam([*net.parameters(), head], 1e-3)
x = torch.randn(64, 10); y = x[:, :5].argmax(1)
for i in range(20):
    h = net(x)
    a = F.normalize(h)
    scores = a @ F.normalize(head, dim=0)
    redundancy = F.normalize(h, dim=0).T @ F.normalize(h + 0.1 * torch.randn_like(h), dim=0)
    near = a @ a.T
    columns = F.normalize(h, dim=0)
    scaled = columns @ head
    loss = F.cross_entropy(10 * scores, y) + 0.01 * redundancy.pow(2).mean()
    loss = loss + 0.01 * near.mean() + 0.01 * scaled.pow(2).mean()
    loss = loss + 0.01 * (columns @ h.detach().T).mean()
    opt.zero_grad(); loss.backward(); opt.step()
q, k, v = torch.randn(3, 4, 2, 6, 8, requires_grad=True)
opt = torch.optim.Adam([head], 1e-3)
q, k = F.normalize(q, dim=-1), k / k.norm(dim=-1, keepdim=True).clamp(min=1e-6)
attention = (q @ k.transpose(-2, -1) * 10).softmax(-1) @ v
""",
    "rebound_and_read": """
import torch
from torch import nn

class Fit:
    def __init__(self):
        self.w = torch.zeros(3, 1, requires_grad=True)
    def run(self, x, y):
        for i in range(10):
            loss = ((x @ self.w - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w = self.w
                w = w - 0.1 * w.grad
                self.w.copy_(w)
            self.w.grad = None

def shrunk(p):
    p = p * 0.5
    return p.norm()

def smallest(p, times):
    best = None
    for i in range(times):
        if best is not None:
            best = p.norm()
        p = p * 0.9
        best = 1.0
    return best

torch.manual_seed(0)
x = torch.randn(64, 3)
Fit().run(x, x.sum(1, keepdim=True))
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(10):
    loss = net(x).pow(2).mean()
    loss = loss + 0.01 * sum(shrunk(p) for p in net.parameters())
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        [smallest(p, 3) for p in net.parameters()]
""",
    "normalized_rows_summed": """
import torch
from torch import nn
import torch.nn.functional as F

def main():
    torch.manual_seed(0)
    net = nn.Linear(10, 8)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for i in range(20):
        x = torch.randn(32, 10); y = torch.randint(0, 2, (32,)) * 2.0 - 1
        a = F.normalize(net(x), dim=1)
        b = F.normalize(net(x + 0.1), dim=1)
        sim = (a * b).sum(dim=1)
        loss = ((sim - y) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
main()
""",
}
