"""Traps of what is kept along the way: best checkpoints, averages of weights, resumed runs."""

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(300, 10)
y = x[:, :1] * 2 + 0.1 * torch.randn(300, 1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
def train():
    model.train()
    for i in range(0, 200, 50):
        loss = nn.functional.mse_loss(model(x[i:i+50]), y[i:i+50])
        opt.zero_grad(); loss.backward(); opt.step()
def evaluate():
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x[200:]), y[200:]).item()
"""

RESUMED = """
import torch, os, tempfile
from torch import nn

PATH = os.path.join(tempfile.mkdtemp(), "ck.pt")

class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.epoch = 0

    def save(self):
        states = {"model": self.model.state_dict(), "optimizer": self.opt.state_dict()}
        torch.save({**states, "epoch": self.epoch}, PATH)

    def resume(self):
        ck = torch.load(PATH)
        ...

    def fit(self, x, y, epochs):
        for self.epoch in range(self.epoch, epochs):
            for i in range(0, 200, 50):
                loss = nn.functional.mse_loss(self.model(x[i:i+50]), y[i:i+50])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        return loss.item()

torch.manual_seed(0)
x = torch.randn(200, 10); y = x[:, :1] * 2
t = Trainer(); t.fit(x, y, 5); t.save()
t2 = Trainer(); t2.resume(); print(t2.fit(x, y, 10))
"""

TRAPS = {
    "best_zero": (
        "best-value-at-wrong-end",
        HEAD
        + """
def main():
    best_loss = 0.0  #!
    for epoch in range(8):
        train()
        val_loss = evaluate()
        if val_loss < best_loss:
            best_loss = val_loss
            torch.save(model.state_dict(), "best.pt")
main()
""",
    ),
    "best_stopper": (
        "best-value-at-wrong-end",
        HEAD
        + """
class Stopper:
    def __init__(self, patience=30):
        self.patience, self.bad = patience, 0
        self.lowest = 0.0  #!
    def __call__(self, metric):
        if metric < self.lowest:
            self.lowest, self.bad = metric, 0
        else:
            self.bad += 1
        return self.bad >= self.patience
stopper = Stopper()
for epoch in range(8):
    train()
    v = evaluate()
    if stopper(v):
        break
""",
    ),
    "best_folded": (
        "best-value-at-wrong-end",
        HEAD
        + """
best = 0  #!
for epoch in range(8):
    train()
    v = evaluate()
    best = min(best, v)
""",
    ),
    "best_infinity_above": (
        "best-value-at-wrong-end",
        HEAD
        + """
class Trainer:
    def __init__(self):
        self.best = float("inf")
        self.weights = None
    def fit(self):
        for epoch in range(8):
            train()
            model.eval()
            with torch.no_grad():
                val = nn.functional.mse_loss(model(x[200:]), y[200:])
            if val > self.best:  #!
                self.best = val
                self.weights = {k: t.clone() for k, t in model.state_dict().items()}
Trainer().fit()
""",
    ),
    "best_is_worst": (
        "best-value-at-wrong-end",
        HEAD
        + """
best_loss = 0.0
for epoch in range(8):
    train()
    val_loss = evaluate()
    if val_loss > best_loss:  #!
        best_loss = val_loss
""",
    ),
    "ema_swapped": (
        "average-follows-newest",
        """
import torch, copy
from torch import nn

class EMA:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n] = (1 - self.decay) * self.shadow[n] + self.decay * p.detach()  #!

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
    m = nn.Linear(10, 2)
    ema = EMA(m)
    opt = torch.optim.Adam(m.parameters(), lr=1e-3)
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(m)
    print(loss.item())
main()
""",
    ),
    "ema_tau": (
        "average-follows-newest",
        """
import torch, copy
from torch import nn

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
    m = nn.Linear(10, 2)
    avg = copy.deepcopy(m)
    opt = torch.optim.Adam(m.parameters(), lr=1e-3)
    tau = 0.995  #!
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, p in zip(avg.parameters(), m.parameters()):
                a.mul_(1 - tau).add_(p, alpha=tau)
    print(loss.item())
main()
""",
    ),
    "ema_lerp": (
        "average-follows-newest",
        """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)

def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, p in zip(avg.parameters(), m.parameters()):
                a.lerp_(p, 0.999)  #!
main()
""",
    ),
    "ema_small_decay": (
        "average-follows-newest",
        """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
decay = 0.001  #!
def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sd = m.state_dict()
        for k, v in avg.state_dict().items():
            v.copy_(decay * v + (1 - decay) * sd[k])
main()
""",
    ),
    "ema_new_value": (
        "average-follows-newest",
        """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
shadow = {n: p.data.clone() for n, p in m.named_parameters()}
decay = 0.99
def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for n, p in m.named_parameters():
            new = decay * p.data + (1.0 - decay) * shadow[n]  #!
            shadow[n] = new.clone()
main()
""",
    ),
    "ema_in_place": (
        "average-follows-newest",
        """
import torch, copy
from torch import nn
class Averager:
    def __init__(self, model, decay=0.99):
        self.model, self.decay = copy.deepcopy(model), decay
    @torch.no_grad()
    def update(self, model):
        for ours, theirs in zip(self.model.parameters(), model.parameters()):
            ours.mul_(1 - self.decay)  #!
            ours.add_(theirs, alpha=self.decay)
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
av = Averager(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for epoch in range(20):
    loss = nn.functional.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    av.update(m)
""",
    ),
    "resume_without_optimizer": (
        "optimizer-not-resumed",
        RESUMED.replace(
            "        ...\n",
            """        self.model.load_state_dict(ck["model"])  #!
        self.epoch = ck["epoch"]
""",
        ),
    ),
    "resume_main": (
        "optimizer-not-resumed",
        """
import os
import tempfile
import torch
from torch import nn

FILE = os.path.join(tempfile.mkdtemp(), "last.pt")
torch.manual_seed(0)
x = torch.randn(200, 10)
y = x[:, :1] * 2

def run(epochs):
    model, start = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)), 0
    if os.path.exists(FILE):
        saved = torch.load(FILE)
        model.load_state_dict(saved["net"])  #!
        start = saved.get("step") + 1
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    for step in range(start, epochs):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.save({"net": model.state_dict(), "optim": optimizer.state_dict(), "step": step}, FILE)

run(10)
run(20)
""",
    ),
}

CLEAN = {
    "best_kept": HEAD
    + """
class Stopper:
    def __init__(self):
        self.best, self.bad = float("inf"), 0
    def step(self, loss):
        if loss < self.best - 1e-4:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad > 20
def main():
    stopper, best_score, best_acc, worst_loss, best = Stopper(), None, 0.0, 0.0, 1e9
    for epoch in range(8):
        train()
        val_loss = evaluate()
        acc, score = 1 / (1 + val_loss), -val_loss
        if stopper.step(val_loss):
            break
        if best_score is None or score > best_score:
            best_score = score
        if acc > best_acc:
            best_acc = acc
        if val_loss > worst_loss:
            worst_loss = val_loss
        best = min(best, val_loss)
main()
""",
    "best_below_zero": HEAD
    + """
lowest = 0.0
for epoch in range(8):
    train()
    score = evaluate() - 100
    if score < lowest:
        lowest = score
""",
    "e_lerp": """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)

def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, p in zip(avg.parameters(), m.parameters()):
                a.lerp_(p, 0.001)
main()
""",
    "e_pull": """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
init = {n: p.data.clone() for n, p in m.named_parameters()}
def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for n, p in m.named_parameters():
            new = 0.99 * p.data + 0.01 * init[n]
            p.data.copy_(new)
main()
""",
    "e_noise": """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)

def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for n, p in m.named_parameters():
            p.data = 0.99 * p.data + 0.01 * torch.randn_like(p)
main()
""",
    "e_warm": """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
t = 0
def main():
    global t
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        t += 1
        d = min(0.999, t / (10 + t))
        with torch.no_grad():
            for a, p in zip(avg.parameters(), m.parameters()):
                a.mul_(d).add_(p, alpha=1 - d)
main()
""",
    "e_ok": """
import torch, copy
from torch import nn
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Linear(10, 2)
avg = copy.deepcopy(m)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
decay = 0.99
def main():
    for epoch in range(20):
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for a, p in zip(avg.parameters(), m.parameters()):
            a.data.mul_(decay).add_(p.data, alpha=1 - decay)
main()
""",
    "r_ok": RESUMED.replace(
        "        ...\n",
        """        self.model.load_state_dict(ck["model"])
        self.epoch = ck["epoch"]
        self.opt.load_state_dict(ck["optimizer"])
""",
    ),
    "r_finetune": RESUMED.replace(
        "        ...\n",
        """        self.model.load_state_dict(ck["model"])
""",
    ),
    "r_sgd": """
import torch, os, tempfile
from torch import nn

PATH = os.path.join(tempfile.mkdtemp(), "ck.pt")

class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.epoch = 0

    def save(self):
        states = {"model": self.model.state_dict(), "optimizer": self.opt.state_dict()}
        torch.save({**states, "epoch": self.epoch}, PATH)

    def resume(self):
        ck = torch.load(PATH)
        self.model.load_state_dict(ck["model"])
        self.epoch = ck["epoch"]

    def fit(self, x, y, epochs):
        for self.epoch in range(self.epoch, epochs):
            for i in range(0, 200, 50):
                loss = nn.functional.mse_loss(self.model(x[i:i+50]), y[i:i+50])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        return loss.item()

torch.manual_seed(0)
x = torch.randn(200, 10); y = x[:, :1] * 2
t = Trainer(); t.fit(x, y, 5); t.save()
t2 = Trainer(); t2.resume(); print(t2.fit(x, y, 10))
""",
    "r_back": """
import torch, os, tempfile
from torch import nn

PATH = os.path.join(tempfile.mkdtemp(), "ck.pt")

class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.epoch = 0

    def save(self):
        states = {"model": self.model.state_dict(), "optimizer": self.opt.state_dict()}
        torch.save({**states, "epoch": self.epoch}, PATH)

    def resume(self):
        ck = torch.load(PATH)
        self.model.load_state_dict(ck["model"])
        self.epoch = ck["epoch"]

    def fit(self, x, y, epochs):
        for self.epoch in range(self.epoch, epochs):
            for i in range(0, 200, 50):
                loss = nn.functional.mse_loss(self.model(x[i:i+50]), y[i:i+50])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        return loss.item()

torch.manual_seed(0)
x = torch.randn(200, 10); y = x[:, :1] * 2
t = Trainer(); t.fit(x, y, 5); t.save()
t.resume(); print(t.fit(x, y, 10))
""",
}
