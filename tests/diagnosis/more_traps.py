"""Traps of sizes, steps, seeds, conversions and evaluation; `#!` marks the line at fault."""

TRAPS = {
    "dropout_with_grad": (
        "dropout-while-evaluating",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(256, 20); y = (x[:, 0] > 0).long()
train = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=32)
valid = DataLoader(TensorDataset(x[192:], y[192:]), batch_size=32)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters())
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
    hits = 0
    for xb, yb in valid:
        hits += (model(xb).argmax(1) == yb).sum().item() #!
    print(hits / 64)
""",
    ),
    "batchnorm_one_function": (
        "dropout-while-evaluating",
        """
import torch
from torch import nn
from dataclasses import dataclass
@dataclass
class Config:
    width: int = 16
    epochs: int = 3
class Net(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, c.width), nn.Linear(c.width, 1)
        self.bn = nn.BatchNorm1d(c.width)
    def forward(self, x): return self.fc2(self.bn(self.fc1(x)).relu())
def run(net, batches, optimizer=None):
    total = 0.0
    for x, y in batches:
        loss = nn.functional.mse_loss(net(x), y) #!
        if optimizer is not None:
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        total += loss.item()
    return total / len(batches)
c = Config()
torch.manual_seed(1)
data = [(torch.randn(16, 6), torch.randn(16, 1)) for _ in range(8)]
net = Net(c); optimizer = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(c.epochs):
    run(net, data[:5], optimizer)
    print(run(net, data[5:]))
""",
    ),
    "eval_named_only": (
        "dropout-while-evaluating",
        """
import torch
from torch import nn, optim
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 1))
opt = optim.SGD(model.parameters(), lr=0.01)
def evaluate():
    model.eval #!
    with torch.no_grad():
        for _ in range(3):
            print(model(torch.ones(2, 4)).mean().item())
for _ in range(4):
    opt.zero_grad(); model(torch.randn(8, 4)).square().mean().backward(); opt.step()
evaluate()
""",
    ),
    "retain": (
        "graph-retained-for-nothing",
        """
import torch
from torch import nn
class Trainer:
    def __init__(self, net):
        self.net, self.opt = net, torch.optim.SGD(net.parameters(), 0.01)
    def step(self, x, y):
        self.opt.zero_grad()
        loss = ((self.net(x) - y) ** 2).mean()
        loss.backward(retain_graph=True) #!
        self.opt.step()
        return float(loss)
t = Trainer(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)))
for _ in range(6):
    t.step(torch.randn(16, 8), torch.randn(16, 1))
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
    "never_steps": (
        "optimizer-never-steps",
        """
import torch
from torch import nn
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters())
for i in range(5):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    optimizer.step #!
""",
    ),
    "no_backward": (
        "step-without-backward",
        """
import torch; torch.manual_seed(0)
from torch import nn
class Learner:
    def __init__(self):
        self.net = nn.Linear(4, 1); self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
    def fit(self):
        for _ in range(5):
            loss = self.net(torch.randn(8, 4)).square().mean()
            self.opt.zero_grad()
            self.opt.step() #!
            print(loss.item())
Learner().fit()
""",
    ),
    "frozen_moves": (
        "frozen-parameters-change",
        """
import torch
from torch import nn
torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
def step():
    head(body(torch.randn(8, 4)).relu()).square().mean().backward()
    opt.step()
    opt.zero_grad(set_to_none=False)
step()
for p in body.parameters():
    p.requires_grad_(False) #!
for _ in range(5):
    step()
""",
    ),
    "unused_layer": (
        "parameters-unused",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8) #!
        self.b = nn.Linear(8, 1)
    def forward(self, x): return self.b(self.a(x).relu())
net = Net(); opt = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "numpy_unseeded": (
        "seed-incomplete",
        """
import numpy as np
import torch
from torch import nn
def seed_all(n):
    torch.manual_seed(n) #!
def batch():
    x = np.random.randn(8, 4).astype("float32")
    return torch.from_numpy(x)
seed_all(3)
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(4):
    opt.zero_grad(); net(batch()).square().mean().backward(); opt.step()
""",
    ),
    "random_unseeded": (
        "seed-incomplete",
        """
import random
import torch
torch.manual_seed(0) #!
order = list(range(10))
random.shuffle(order)
print(torch.randn(3), order)
""",
    ),
    "default_rng": (
        "seed-incomplete",
        """
import numpy, torch
torch.manual_seed(0)
rng = numpy.random.default_rng() #!
print(torch.randn(2), rng.normal())
""",
    ),
    "float64_target": (
        "float64-creeps-in",
        """
import numpy as np, torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
class Data(Dataset):
    def __init__(self):
        r = np.random.RandomState(0)
        self.x = torch.from_numpy(r.randn(64, 4).astype("float32"))
        self.y = torch.from_numpy(r.randn(64, 1)) #!
    def __len__(self): return 64
    def __getitem__(self, i): return self.x[i], self.y[i]
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in DataLoader(Data(), batch_size=16):
    opt.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    opt.step()
""",
    ),
    "round_trip": (
        "dtype-round-trip",
        """
import torch
from torch import nn
net = nn.Linear(64, 8); opt = torch.optim.SGD(net.parameters(), 0.001)
for _ in range(12):
    x = torch.randn(2048, 64)
    x = x.double().float() #!
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
""",
    ),
    "cloned_temporary": (
        "copy-of-temporary",
        """
import torch
total = torch.zeros(500_000)
for k in range(8):
    total = (total * 0.5 + k).clone() #!
print(total[0].item())
""",
    ),
    "value_by_value": (
        "values-read-one-by-one",
        """
import torch
x = torch.arange(30000.)
total = 0.0
for v in x:
    total += v.item() #!
print(total)
""",
    ),
    "rows_changed": (
        "data-changed-in-place",
        """
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
class Images(Dataset):
    def __init__(self):
        self.images = torch.rand(24, 3, 4, 4)
    def __len__(self): return len(self.images)
    def __getitem__(self, i):
        image = self.images[i]
        image -= 0.5 #!
        return image, i % 2
net = nn.Sequential(nn.Flatten(), nn.Linear(48, 2)); opt = torch.optim.SGD(net.parameters(), 0.01)
for epoch in range(2):
    for x, y in DataLoader(Images() if epoch == 0 else data, batch_size=8):
        data = Images() if epoch == 0 else data
        opt.zero_grad(); nn.functional.cross_entropy(net(x), y).backward(); opt.step()
""",
    ),
    "rows_normalized": (
        "data-changed-in-place",
        """
import torch
from torch.utils.data import TensorDataset, DataLoader
data = TensorDataset(torch.rand(32, 5), torch.rand(32, 1))
def normalize(row):
    return row.sub_(row.mean()) #!
class View(torch.utils.data.Dataset):
    def __init__(self, dataset): self.dataset = dataset
    def __len__(self): return len(self.dataset)
    def __getitem__(self, i):
        x, y = self.dataset[i]
        return normalize(x), y
for _ in range(2):
    for x, y in DataLoader(View(data), batch_size=8): pass
""",
    ),
    "nll_of_scores": (
        "nll-without-log",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.fc = nn.Linear(4, 3)
    def forward(self, x): return self.fc(x)
net = Net(); opt = torch.optim.SGD(net.parameters(), 0.01)
criterion = nn.NLLLoss() #!
for _ in range(5):
    opt.zero_grad()
    criterion(net(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
    opt.step()
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
    "idle_workers": (
        "workers-cost-more",
        """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
def start(number): time.sleep(0.04)
data = TensorDataset(torch.randn(64, 5), torch.randn(64, 1))
net = nn.Linear(5, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
loader = DataLoader(data, batch_size=16, num_workers=2, worker_init_fn=start) #!
for _ in range(25):
    for x, y in loader:
        opt.zero_grad(); nn.functional.mse_loss(net(x), y).backward(); opt.step()
""",
    ),
    "slow_samples": (
        "loader-slower-than-model",
        """
import math, torch
from torch.utils.data import Dataset, DataLoader
class Slow(Dataset):
    def __len__(self): return 24
    def __getitem__(self, i):
        total = sum(math.sqrt(k) for k in range(400_000)) #!
        return torch.tensor([total * 1e-9])
net = torch.nn.Linear(1, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for x in DataLoader(Slow(), batch_size=8):
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
""",
    ),
    "scaler_no_update": (
        "scaler-not-updated",
        """
import torch
from torch import nn
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu")
for _ in range(4):
    opt.zero_grad()
    scaler.scale(net(torch.randn(8, 4)).square().mean()).backward()
    scaler.step(opt) #!
""",
    ),
    "scaler_unscaled": (
        "scaler-without-scale",
        """
import torch
from torch import nn
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu")
for _ in range(4):
    opt.zero_grad()
    loss = net(torch.randn(8, 4)).square().mean()
    loss.backward() #!
    scaler.step(opt)
    scaler.update()
""",
    ),
    "never_zeroed_beside_zeros": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
nn.init.zeros_(model[2].weight)  # the first layer gets zeros at first
opt = torch.optim.SGD(model.parameters(), 0.01)
x, y = torch.randn(32, 6), torch.randn(32, 1)
for step in range(12):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward() #!
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
""",
    ),
}

CLEAN = {
    "gan": """
import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2),
                  nn.Linear(16, 6))
D = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
og, od = (torch.optim.Adam(m.parameters(), 1e-3) for m in (G, D))
bce = nn.BCEWithLogitsLoss()
for _ in range(12):
    real = torch.randn(16, 6)
    fake = G(torch.randn(16, 4)).detach()
    loss = bce(D(real), torch.ones(16, 1)) + bce(D(fake), torch.zeros(16, 1))
    od.zero_grad(); loss.backward(); od.step()
    loss = bce(D(G(torch.randn(16, 4))), torch.ones(16, 1))
    og.zero_grad(); loss.backward(); og.step()
""",
    "siamese_accumulated": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
def embed(x): return nn.functional.normalize(net(x), dim=1)
for step in range(20):
    a, b = torch.randn(8, 5), torch.randn(8, 5)
    loss = (1 - (embed(a) * embed(b)).sum(1)).mean() / 2
    loss.backward()
    if step % 2:
        opt.step(); opt.zero_grad()
""",
    "two_losses_one_graph": """
import torch
from torch import nn
torch.manual_seed(0)
body, a, b = nn.Linear(8, 32), nn.Linear(32, 1), nn.Linear(32, 1)
opt = torch.optim.SGD([*body.parameters(), *a.parameters(), *b.parameters()], 0.01)
for _ in range(6):
    h = body(torch.randn(32, 8)).tanh()
    opt.zero_grad()
    a(h).square().mean().backward(retain_graph=True)
    b(h).square().mean().backward()
    opt.step()
""",
    "policy_gradient": """
import torch
from torch import nn
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), 1e-2)
for episode in range(6):
    logs, state = [], torch.randn(3)
    for t in range(10):
        d = torch.distributions.Categorical(logits=policy(state))
        action = d.sample()
        logs.append(d.log_prob(action))
        state = state * 0.9 + torch.randn(3) * 0.1
    loss = -torch.stack(logs).sum()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "functional_style": """
import random
import numpy as np
import torch
import torch.nn.functional as F
random.seed(0); np.random.seed(0); torch.manual_seed(0)
W = torch.randn(10, 4).mul_(0.1).requires_grad_()
b = torch.zeros(4, requires_grad=True)
X = torch.as_tensor(np.random.randn(120, 10), dtype=torch.float32)
Y = torch.as_tensor(np.random.randint(0, 4, 120))
order = list(range(12))
for epoch in range(4):
    random.shuffle(order)
    for i in order:
        x, y = X[i * 10:i * 10 + 10], Y[i * 10:i * 10 + 10]
        loss = F.cross_entropy(x @ W + b, y)
        gW, gb = torch.autograd.grad(loss, (W, b))
        with torch.no_grad():
            W -= 0.1 * gW; b -= 0.1 * gb
    print(loss.item())
""",
    "fine_tuning": """
import torch
from torch import nn
torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
head = nn.Linear(32, 3)
for p in body.parameters(): p.requires_grad_(False)
model = nn.Sequential(body, head)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=20)
x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
best, state = 1e9, None
for step in range(20):
    model.train()
    loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
    opt.zero_grad(set_to_none=True); loss.backward()
    nn.utils.clip_grad_norm_(head.parameters(), 1.0)
    opt.step(); sched.step()
    model.eval()
    with torch.inference_mode():
        value = nn.functional.cross_entropy(model(x), y).item()
    if value < best:
        best, state = value, {k: v.clone() for k, v in model.state_dict().items()}
model.load_state_dict(state)
""",
    "deep_residual": """
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.na, self.nb = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
    def forward(self, x):
        return (x + self.nb(self.b(self.na(self.a(x)).relu()))).relu()
net = nn.Sequential(nn.Conv2d(1, 8, 3), *[Block(8) for _ in range(4)], nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
for _ in range(6):
    x, y = torch.randn(16, 1, 10, 10), torch.randint(0, 3, (16,))
    opt.zero_grad(); nn.CrossEntropyLoss()(net(x), y).backward(); opt.step()
net.eval()
with torch.no_grad(): print((net(x).argmax(1) == y).float().mean().item())
""",
    "attention": """
import math, torch
from torch import nn
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self, n=20, d=16):
        super().__init__()
        self.emb, self.pos = nn.Embedding(n, d), nn.Parameter(torch.zeros(12, d))
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 32, batch_first=True), 2)
        self.out = nn.Linear(d, n)
    def forward(self, t): return self.out(self.enc(self.emb(t) + self.pos[: t.shape[1]]))
m = Model(); opt = torch.optim.AdamW(m.parameters(), 3e-4)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 5))
losses = []
for step in range(10):
    t = torch.randint(0, 20, (8, 12))
    loss = nn.functional.cross_entropy(m(t).transpose(1, 2), t.roll(-1, 1))
    opt.zero_grad(); loss.backward(); opt.step(); warm.step()
    losses.append(loss.item())
m.eval()
with torch.no_grad(): m(t)
print(math.exp(losses[-1]) > 1)
""",
    "schedules_with_steps_of_their_own": """
import torch
from torch import nn
from torch.optim import lr_scheduler as S
torch.manual_seed(0)
class WarmUp(S.LRScheduler):
    def __init__(self, optimizer, n):
        self.n = n
        super().__init__(optimizer)
    def get_lr(self): return [b * min(1, (self.last_epoch + 1) / self.n) for b in self.base_lrs]
    def step(self, epoch=None):
        self.last_epoch += 1
        for g, lr in zip(self.optimizer.param_groups, self.get_lr()): g["lr"] = lr
nets = [nn.Linear(4, 2) for _ in range(4)]
a, b, c, d = opts = [torch.optim.SGD(net.parameters(), 0.1) for net in nets]
schedules = [
    WarmUp(a, 3),
    S.SequentialLR(b, [S.LinearLR(b, 0.1, total_iters=5), S.ExponentialLR(b, 0.99)], [50]),
    S.CosineAnnealingWarmRestarts(c, 5),
    S.ChainedScheduler([S.ConstantLR(d, 0.5, 3), S.ExponentialLR(d, 0.99)]),
]
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for i in range(12):
    for net, opt, schedule in zip(nets, opts, schedules):
        opt.zero_grad(); nn.functional.cross_entropy(net(x), y).backward(); opt.step()
        schedule.step()
""",
}
