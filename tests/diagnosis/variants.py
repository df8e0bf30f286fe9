"""Traps in other forms: several files, trainers, configurations, functions; `#!`: the fault."""

TRAPS = {}
TRAPS["eval_multi"] = (
    "dropout-while-evaluating",
    {
        "model.py": """
from torch import nn
class TextNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.EmbeddingBag(cfg.vocab, cfg.dim)
        self.drop = nn.Dropout(cfg.p)
        self.fc = nn.Linear(cfg.dim, cfg.classes)
    def forward(self, tokens):
        return self.fc(self.drop(self.emb(tokens)))
""",
        "trainer.py": """
import torch
import torch.nn.functional as F
class Trainer:
    def __init__(self, model, lr):
        self.model, self.opt = model, torch.optim.AdamW(model.parameters(), lr)
    def fit(self, train, valid, epochs):
        for e in range(epochs):
            self.model.train()
            for x, y in train:
                self.opt.zero_grad()
                F.cross_entropy(self.model(x), y).backward()
                self.opt.step()
            print(self.validate(valid))
    def validate(self, loader):
        right = n = 0
        for x, y in loader:
            with torch.no_grad():
                right += (self.model(x).argmax(-1) == y).sum().item() #!
            n += len(y)
        return right / n
""",
        "script.py": """
import torch
from dataclasses import dataclass
from torch.utils.data import DataLoader, TensorDataset
from model import TextNet
from trainer import Trainer
@dataclass
class Cfg:
    vocab: int = 50
    dim: int = 8
    p: float = 0.3
    classes: int = 3
torch.manual_seed(0)
x, y = torch.randint(0, 50, (120, 6)), torch.randint(0, 3, (120,))
tr, va = (DataLoader(TensorDataset(x[s], y[s]), 20) for s in (slice(0, 80), slice(80, 120)))
Trainer(TextNet(Cfg()), 1e-2).fit(tr, va, 3)
""",
    },
)
TRAPS["zero_scaler"] = (
    "gradients-never-zeroed",
    """
import torch
from torch import nn, optim
class Engine:
    def __init__(s, net):
        s.net = net; s.o = optim.RMSprop(net.parameters(), lr=1e-3); s.crit = nn.HuberLoss()
    def one(s, batch):
        x, y = batch
        out = s.net(x)
        s.crit(out, y).backward() #!
        nn.utils.clip_grad_norm_(s.net.parameters(), 5.)
        s.o.step()
torch.manual_seed(0)
e = Engine(nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 1)))
for _ in range(8): e.one((torch.randn(9, 6), torch.randn(9, 1)))
""",
)
TRAPS["optim_groups"] = (
    "optimizer-misses-parameters",
    """
import torch
from torch import nn
from types import SimpleNamespace as NS
def make(cfg):
    net = nn.ModuleDict({"body": nn.Linear(cfg.i, cfg.h), "head": nn.Linear(cfg.h, 10)})
    groups = [{"params": net[n].parameters(), "lr": lr} for n, lr in (("body", .01), ("head", .1))]
    opt = torch.optim.SGD(groups, lr=.1) #!
    return net, opt
cfg = NS(i=4, h=8, c=2)
torch.manual_seed(0)
net, opt = make(cfg)
net["head"] = nn.Linear(cfg.h, cfg.c)
for step in range(5):
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    opt.zero_grad()
    nn.functional.cross_entropy(net["head"](net["body"](x).relu()), y).backward()
    opt.step()
""",
)
TRAPS["leak_class"] = (
    "graph-kept-alive",
    """
import torch
from torch import nn
class Meter:
    def __init__(self): self.values = []
    def update(self, v): self.values.append(v) #!
torch.manual_seed(0)
net = nn.Linear(5, 1); opt = torch.optim.Adam(net.parameters()); m = Meter()
for _ in range(40):
    loss = (net(torch.randn(8, 5)) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    m.update(loss)
""",
)
TRAPS["leak_dictsum"] = (
    "graph-kept-alive",
    """
import torch
from collections import defaultdict
from torch import nn
net = nn.Linear(5, 1); opt = torch.optim.Adam(net.parameters())
stats = defaultdict(float)
def train_one():
    loss = (net(torch.randn(8, 5)) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    stats["loss"] += loss #!
for _ in range(40): train_one()
print(stats["loss"] / 40)
""",
)
TRAPS["softmax_multi"] = (
    "loss-on-probabilities",
    {
        "net.py": """
import torch.nn as nn
def mlp(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers[-1] = nn.Softmax(dim=-1) #!
    return nn.Sequential(*layers)
""",
        "script.py": """
import torch
from net import mlp
torch.manual_seed(0)
m = mlp([4, 8, 3]); o = torch.optim.Adam(m.parameters(), 1e-2)
crit = torch.nn.CrossEntropyLoss(label_smoothing=0.05)
for _ in range(5):
    o.zero_grad(); crit(m(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward(); o.step()
""",
    },
)
TRAPS["bcast_r2"] = (
    "broadcast-comparison",
    """
import torch
from torch import nn
torch.manual_seed(0)
class R(nn.Module):
    def __init__(s):
        super().__init__(); s.l = nn.Linear(3, 1)
    def forward(s, x): return s.l(x)
def loss_fn(pred, target):
    err = pred - target #!
    return err.abs().mean()
r = R(); o = torch.optim.SGD(r.parameters(), .01)
for _ in range(4):
    x = torch.randn(12, 3)
    o.zero_grad(); loss_fn(r(x), x.sum(1)).backward(); o.step()
""",
)
TRAPS["sched_plateau"] = (
    "scheduler-per-batch",
    """
import torch
from torch import nn
class T:
    def __init__(s):
        s.net = nn.Linear(4, 1); s.opt = torch.optim.SGD(s.net.parameters(), .1)
        s.sch = torch.optim.lr_scheduler.ExponentialLR(s.opt, gamma=0.8)
    def epoch(s, data):
        for x in data:
            s.opt.zero_grad(); s.net(x).square().mean().backward(); s.opt.step()
            s.sch.step() #!
torch.manual_seed(0)
t = T()
for e in range(4): t.epoch([torch.randn(8, 4) for _ in range(15)])
""",
)
TRAPS["alias_best"] = (
    "snapshot-is-alias",
    """
import torch
from torch import nn
class EarlyStopping:
    def __init__(self): self.best, self.weights = float("inf"), None
    def __call__(self, loss, model):
        if loss < self.best:
            self.best, self.weights = loss, model.state_dict() #!
torch.manual_seed(0)
m = nn.Linear(3, 1); o = torch.optim.SGD(m.parameters(), .05); es = EarlyStopping()
for _ in range(6):
    l = m(torch.randn(8, 3)).square().mean(); o.zero_grad(); l.backward(); o.step(); es(l.item(), m)
m.load_state_dict(es.weights)
""",
)
TRAPS["nan_norm"] = (
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
)
TRAPS["hidden_tuple"] = (
    "modules-in-plain-list",
    """
import torch
from torch import nn
class Experts(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gate = nn.Linear(4, n)
        self.experts = tuple(nn.Linear(4, 4) for _ in range(n)) #!
    def forward(self, x):
        w = self.gate(x).softmax(-1)
        return sum(w[:, i:i+1] * e(x) for i, e in enumerate(self.experts))
torch.manual_seed(0)
m = Experts(3); o = torch.optim.Adam(m.parameters())
for _ in range(4): o.zero_grad(); m(torch.randn(8, 4)).square().mean().backward(); o.step()
""",
)
TRAPS["cut_numpy"] = (
    "parameters-without-gradient",
    """
import torch
from torch import nn
class AE(nn.Module):
    def __init__(self):
        super().__init__(); self.e, self.d = nn.Linear(6, 3), nn.Linear(3, 6)
    @torch.no_grad() #!
    def encode(self, x): return self.e(x).tanh()
    def forward(self, x): return self.d(self.encode(x))
torch.manual_seed(0)
a = AE(); o = torch.optim.Adam(a.parameters(), 1e-2)
for _ in range(5):
    x = torch.randn(8, 6); o.zero_grad(); (a(x) - x).square().mean().backward(); o.step()
""",
)
TRAPS["train_restored"] = (
    "train-not-restored",
    """
import torch
from torch import nn
class Loop:
    def __init__(self, net): self.net = net; self.opt = torch.optim.SGD(net.parameters(), .01)
    def train(self):
        for _ in range(5):
            self.opt.zero_grad()
            self.net(torch.randn(8, 4)).square().mean().backward()
            self.opt.step()
    @torch.inference_mode()
    def test(self):
        self.net.eval() #!
        return self.net(torch.randn(8, 4)).mean().item()
torch.manual_seed(0)
l = Loop(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)))
for _ in range(3): l.train(); print(l.test())
""",
)
TRAPS["clip_late"] = (
    "clip-at-wrong-place",
    """
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
def step(net, opt, x):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    clip_grad_norm_(net.parameters(), 1.0) #!
    loss.backward()
    opt.step()
torch.manual_seed(0)
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), .01)
for _ in range(5): step(net, opt, torch.randn(8, 4))
""",
)
TRAPS["shape_multi"] = (
    "linear-features",
    {
        "nets.py": """
import torch
from torch import nn
from dataclasses import dataclass
@dataclass
class Conf:
    width: int = 8
    hidden: int = 32
class Enc(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2d(1, c.width, 3)
        self.fc = nn.Linear(c.width * 6 * 6, c.hidden) #!
    def forward(self, x): return self.fc(self.conv(x).relu().flatten(1))
""",
        "script.py": """
import torch
from nets import Enc, Conf
e = Enc(Conf())
print(e(torch.randn(2, 1, 7, 7)).shape)
""",
    },
)
TRAPS["buffer_dc"] = (
    "tensor-not-a-buffer",
    """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = torch.ones(n) #!
        self.lin = nn.Linear(n, 1)
    def fit(self, x): self.scale = x.std(0)
    def forward(self, x): return self.lin(x / self.scale)
torch.manual_seed(0)
a = Norm(3); a.fit(torch.randn(20, 3) * 4)
b = Norm(3); b.load_state_dict(a.state_dict())
x = torch.randn(2, 3)
print((a(x) - b(x)).abs().max().item())
""",
)
TRAPS["retain_func"] = (
    "graph-retained-for-nothing",
    """
import torch, torch.nn as nn, torch.optim as optim
def train_step(m, o, c, x, y):
    o.zero_grad(set_to_none=True)
    l = c(m(x), y)
    l.backward(None, True) #!
    o.step()
    return l.detach()
m = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 2))
o = optim.Adam(m.parameters()); c = nn.CrossEntropyLoss()
for _ in range(5): train_step(m, o, c, torch.randn(20, 10), torch.randint(0, 2, (20,)))
""",
)
TRAPS["lr_dataclass"] = (
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
)
TRAPS["vanish_forward"] = (
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
)
TRAPS["seed_multi"] = (
    "seed-incomplete",
    {
        "data.py": """
import numpy as np
def noisy(n):
    return np.random.normal(size=(n, 4)).astype(np.float32)
""",
        "script.py": """
import random, torch
from torch import nn
from data import noisy
class Run:
    def __init__(self, seed):
        random.seed(seed)
        torch.manual_seed(seed) #!
        self.net = nn.Linear(4, 1)
Run(3)
print(noisy(3).shape)
""",
    },
)
TRAPS["inplace_view"] = (
    "data-changed-in-place",
    {
        "data.py": """
import torch
from torch.utils.data import Dataset
class Series(Dataset):
    def __init__(self, n): self.rows = [torch.randn(5) for _ in range(n)]
    def __len__(self): return len(self.rows)
    def __getitem__(self, i):
        r = self.rows[i]
        r[r < 0] = 0 #!
        r.add_(0.01)
        return r, r.sum()
""",
        "script.py": """
import torch
from torch import nn
from torch.utils.data import DataLoader
from data import Series
torch.manual_seed(0)
m = nn.Linear(5, 1); o = torch.optim.SGD(m.parameters(), .01); series = Series(20)
for e in range(3):
    for x, y in DataLoader(series, 5):
        o.zero_grad(); (m(x)[:, 0] - y).square().mean().backward(); o.step()
""",
    },
)
TRAPS["bn_train_eval_full"] = (
    "dropout-while-evaluating",
    """
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(80, 5), torch.randn(80, 1)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2); crit = nn.MSELoss()
log = []
for epoch in range(10):
    loss = crit(net(x[:60]), y[:60])
    opt.zero_grad(); loss.backward(); opt.step()
    val = crit(net(x[60:]), y[60:]) #!
    log.append((loss.item(), val.item()))
""",
)
