"""Traps of evaluation and of graphs: modes, graphs kept or never used."""

TRAPS = {
    "leak_list": (
        "graph-kept-alive",
        """
import torch
from torch import nn, optim
class Trainer:
    def __init__(self, net):
        self.net, self.history = net, []
        self.o = optim.SGD(net.parameters(), 0.01)
    def fit(self, n):
        for _ in range(n):
            x, y = torch.randn(8, 4), torch.randn(8, 1)
            err = nn.functional.mse_loss(self.net(x), y)
            self.o.zero_grad()
            err.backward()
            self.o.step()
            self.history.append(err) #!
Trainer(nn.Linear(4, 1)).fit(40)
""",
    ),
    "leak_hidden": (
        "graph-kept-alive",
        """
import torch
from torch import nn
def train(cell, head, steps):
    opt = torch.optim.SGD(head.parameters(), 0.1)
    h = torch.zeros(2, 8)
    for s in range(steps):
        h = cell(torch.randn(2, 4), h) #!
        loss = head(h).square().mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
train(nn.GRUCell(4, 8).eval(), nn.Linear(8, 1), 30)
""",
    ),
    "leak_eval_total": (
        "graph-kept-alive",
        """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 2))
x, y = torch.randn(256, 20), torch.randint(0, 2, (256,))
opt = torch.optim.Adam(model.parameters())
history = []
for epoch in range(8):
    model.train()
    for i in range(0, 192, 32):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[i:i+32]), y[i:i+32]).backward()
        opt.step()
    model.eval()
    total = 0.0
    for i in range(192, 256, 32):
        total += nn.functional.cross_entropy(model(x[i:i+32]), y[i:i+32]) #!
    history.append(total / 2)
""",
    ),
    "leak_dict_outputs": (
        "graph-kept-alive",
        """
import torch
from torch import nn
net = nn.Linear(64, 64)
opt = torch.optim.SGD(net.parameters(), 0.01)
def step(kept, i):
    out = net(torch.randn(64, 64))
    opt.zero_grad(); out.square().mean().backward(); opt.step()
    kept[i] = out #!
def main():
    outputs = {}
    for i in range(20):
        step(outputs, i)
main()
""",
    ),
    "eval_forgotten": (
        "dropout-while-evaluating",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
    def forward(self, x): return self.s(x)
net = Net(); opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
def evaluate(net):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item() #!
for e in range(3):
    opt.zero_grad(); nn.functional.cross_entropy(net(x), y).backward(); opt.step()
    print(evaluate(net))
""",
    ),
    "train_not_restored": (
        "train-not-restored",
        """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
def evaluate():
    net.eval() #!
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()
net.train()
for e in range(4):
    for i in range(2):
        opt.zero_grad(); nn.functional.cross_entropy(net(x), y).backward(); opt.step()
    evaluate()
""",
    ),
    "fdrop": (
        "functional-dropout",
        """
import torch
from torch import nn
from torch.nn.functional import dropout
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(4, 4)
    def forward(self, x):
        h = self.l(x)
        h = dropout(h, p=0.3) #!
        return h
class B(nn.Module):
    def __init__(self):
        super().__init__(); self.a = A()
    def forward(self, x): return self.a(x)
b = B(); b.eval()
with torch.no_grad(): b(torch.randn(2, 4))
""",
    ),
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
    "outputs_two_objects_deep": (
        "graph-kept-alive",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class History:
    def __init__(self):
        self.losses, self.predictions = [], []
    def add(self, loss, pred):
        self.losses.append(loss.item())
        self.predictions.append(pred) #!

class Learner:
    def __init__(self, model):
        self.model = model
        self.history = History()
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)
    def batch(self, x, y):
        pred = self.model(x)
        loss = nn.functional.mse_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.add(loss, pred)

torch.manual_seed(0)
learner = Learner(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
for x, y in DataLoader(TensorDataset(torch.randn(640, 32), torch.randn(640, 1)), batch_size=16):
    learner.batch(x, y)
print(len(learner.history.predictions))
""",
    ),
    "ema_loss_graph": (
        "graph-kept-alive",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
smooth = None
for step in range(60):
    x, y = torch.randn(16, 8), torch.randn(16, 1)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss #!
print("smooth", smooth.requires_grad)
""",
    ),
    "epoch_outputs_list": (
        "graph-kept-alive",
        """
import torch
from torch import nn

class LitModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
        self.outputs = []

    def training_step(self, batch):
        x, y = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.outputs.append({"loss": loss, "logits": logits}) #!
        return loss

torch.manual_seed(0)
lit = LitModel()
opt = torch.optim.Adam(lit.parameters(), lr=1e-3)
for step in range(50):
    batch = torch.randn(32, 16), torch.randint(0, 4, (32,))
    loss = lit.training_step(batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("outputs", len(lit.outputs))
""",
    ),
    "lambda_hook_leak": (
        "graph-kept-alive",
        """
import torch
from torch import nn

class Recorder:
    def __init__(self, model):
        self.acts = {}
        for name, m in model.named_modules():
            if isinstance(m, nn.Linear):
                m.register_forward_hook(self.save(name))
    def save(self, name):
        def hook(module, inputs, output):
            self.acts.setdefault(name, []).append(output) #!
        return hook

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
rec = Recorder(net)
opt = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(40):
    opt.zero_grad()
    net(torch.randn(16, 8)).square().mean().backward()
    opt.step()
print(len(rec.acts["0"]))
""",
    ),
    "bn_momentum_eval_graph": (
        "graph-never-used",
        """
import torch
from torch import nn

def evaluate(net, data):
    net.eval()
    out = []
    for x, y in data:
        out.append(net(x)) #!
    net.train()
    return torch.cat(out).argmax(1).float().mean().item()

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 4))
opt = torch.optim.SGD(net.parameters(), 0.05)
data = [(torch.randn(64, 32), torch.randint(0, 4, (64,))) for _ in range(6)]
for epoch in range(3):
    for x, y in data:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    evaluate(net, data)
print("ok")
""",
    ),
    "eval_multi": (
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
    ),
    "leak_class": (
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
    ),
    "leak_dictsum": (
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
    ),
    "train_restored": (
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
    ),
    "retain_func": (
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
    ),
    "bn_train_eval_full": (
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
    ),
    "class_of_a_column": (
        "argmax-of-one-value",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 1)
    def forward(self, x):
        return torch.sigmoid(self.out(x))
    def predict(self, x):
        return torch.argmax(self(x), dim=-1) #!
net = Net()
X, Y = torch.randn(64, 8), torch.randint(0, 2, (64,))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    loss = nn.functional.binary_cross_entropy(net(X).squeeze(1), Y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        print((net.predict(X) == Y).float().mean().item() <= 1)
    net.train()
""",
    ),
    "probability_above_zero": (
        "threshold-never-decides",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(8, 1)
X, Y = torch.randn(64, 8), torch.randint(0, 2, (64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def accuracy(scores):
    p = scores.sigmoid()
    return ((p >= 0).long() == Y).float().mean().item() #!
for epoch in range(3):
    scores = net(X)
    loss = nn.functional.binary_cross_entropy_with_logits(scores, Y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(accuracy(scores.detach()) <= 1)
""",
    ),
    "validated_on_training_data": (
        "loader-never-read",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
X, Y = torch.randn(96, 8), torch.randint(0, 3, (96,))
class Trainer:
    def __init__(self, net, train, held_out):
        self.net, self.train, self.held_out = net, train, held_out
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def fit(self):
        self.net.train()
        for x, y in self.train:
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
    @torch.no_grad()
    def validate(self):
        self.net.eval()
        right = 0
        for x, y in self.train: #!
            right += (self.net(x).argmax(1) == y).sum().item()
        return right
fit_loader = DataLoader(TensorDataset(X[:64], Y[:64]), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(X[64:], Y[64:]), batch_size=16)
trainer = Trainer(nn.Linear(8, 3), fit_loader, val_loader)
for _ in range(3):
    trainer.fit()
    print(trainer.validate() >= 0)
""",
    ),
}
