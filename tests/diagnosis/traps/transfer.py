"""Traps of what was made elsewhere: new heads, other scales, rates, regions of autocast."""

SCALED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def load():
    torch.manual_seed(0)
    x = torch.randn(600, 5) * torch.tensor([1., 5., 10., 2., 3.]) + torch.arange(5) * 9
    y = (x @ torch.tensor([1., .5, .2, -1., .3])).unsqueeze(1)
    return x[:450], y[:450], x[450:], y[450:]

def main():
    x_train, y_train, x_val, y_val = load()
    ...
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=50, shuffle=True)
    for epoch in range(5):
        model.train()
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x_val), y_val)
        print(epoch, val.item())

main()
"""

DROPPING = """
import torch
from torch import nn

class Net(nn.Module):
    ...
        self.fc2 = nn.Linear(64, 2)
    def forward(self, x):
        return self.fc2(self.drop(torch.relu(self.fc1(x))))

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
    m = Net()
    opt = torch.optim.Adam(m.parameters(), lr=1e-3)
    for epoch in range(20):
        m.train()
        loss = nn.functional.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        m.eval()
        with torch.no_grad():
            acc = (m(x).argmax(1) == y).float().mean()
    print(acc)
main()
"""

TRAPS = {
    "head_frozen": (
        "new-layer-frozen",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
        self.fc = nn.Linear(32, 100)

    def forward(self, x):
        return self.fc(self.norm(self.backbone(x)))

def main():
    torch.manual_seed(0)
    x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
    model = Net()
    model.fc = nn.Linear(32, 3)
    for p in model.parameters():
        p.requires_grad = False  #!
    for p in model.norm.parameters():
        p.requires_grad = True
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(20):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    ),
    "head_frozen_by_call": (
        "new-layer-frozen",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
        self.fc = nn.Linear(32, 100)

    def forward(self, x):
        return self.fc(self.norm(self.backbone(x)))

def main():
    torch.manual_seed(0)
    x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
    model = Net()
    model.fc = nn.Linear(32, 3)
    model.requires_grad_(False)  #!
    for p in model.norm.parameters():
        p.requires_grad = True
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(20):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    ),
    "head_frozen_in_class": (
        "new-layer-frozen",
        """
import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
    def forward(self, x):
        return self.norm(self.body(x))

class Transfer(nn.Module):
    def __init__(self, weights, classes):
        super().__init__()
        self.backbone = Backbone()
        self.backbone.load_state_dict(weights)
        self.head = nn.Linear(32, classes)
        for name, p in self.named_parameters():
            if "norm" not in name:
                p.requires_grad = False  #!
    def forward(self, x):
        return self.head(self.backbone(x))

torch.manual_seed(0)
x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
net = Transfer(Backbone().state_dict(), 3)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
for epoch in range(20):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "standard_own": (
        "standardized-by-its-own",
        SCALED.replace(
            "    ...\n",
            """    mean, std = x_train.mean(0), x_train.std(0)
    x_train = (x_train - mean) / std
    x_val = (x_val - x_val.mean(0)) / x_val.std(0)  #!
""",
        ),
    ),
    "standard_again": (
        "standardized-by-its-own",
        SCALED.replace(
            "    ...\n",
            """    mean, std = x_train.mean(0), x_train.std(0)
    x_train = (x_train - mean) / std
    mean, std = x_val.mean(0), x_val.std(0)  #!
    x_val = (x_val - mean) / std
""",
        ),
    ),
    "standard_class": (
        "standardized-by-its-own",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self, x, y):
        self.x, self.y = (x - x.mean(dim=0)) / x.std(dim=0), y  #!
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

class Trainer:
    def __init__(self, model):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=1e-2)
    def fit(self, train, valid):
        for epoch in range(4):
            self.model.train()
            for x, y in train:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.model(x), y).backward()
                self.opt.step()
            self.model.eval()
            with torch.no_grad():
                errors = [nn.functional.mse_loss(self.model(x), y) for x, y in valid]

torch.manual_seed(0)
x = torch.rand(600, 5) * 40 + 3
y = x.sum(1, keepdim=True) / 50
train, valid = Table(x[:450], y[:450]), Table(x[450:], y[450:])
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
Trainer(model).fit(DataLoader(train, batch_size=50, shuffle=True), DataLoader(valid, batch_size=50))
""",
    ),
    "standard_helper": (
        "standardized-by-its-own",
        SCALED.replace(
            "    ...\n",
            """    def standardize(x):
        m, s = x.mean(0, keepdim=True), x.std(0, keepdim=True)
        return (x - m) / (s + 1e-8)  #!
    x_train, x_val = standardize(x_train), standardize(x_val)
""",
        ),
    ),
    "standard_inline": (
        "standardized-by-its-own",
        SCALED.replace(
            "    ...\n",
            """    x_train = (x_train - x_train.mean(0)) / x_train.std(0)
    x_val = (x_val - x_val.mean(0)) / x_val.std(0)  #!
""",
        ),
    ),
    "standard_numpy": (
        "standardized-by-its-own",
        SCALED.replace(
            "    ...\n",
            """    import numpy as np
    a, b = x_train.numpy(), x_val.numpy()
    a = (a - a.mean(0)) / a.std(0)
    b = (b - b.mean(0)) / b.std(0)  #!
    x_train, x_val = torch.tensor(a), torch.tensor(b)
""",
        ),
    ),
    "keep_rate": (
        "dropout-given-share-to-keep",
        DROPPING.replace(
            "    ...\n",
            """    def __init__(self, keep=0.9):
        super().__init__()
        self.fc1 = nn.Linear(10, 64)
        self.drop = nn.Dropout(p=keep)  #!
""",
        ),
    ),
    "keep_number": (
        "dropout-given-share-to-keep",
        DROPPING.replace(
            "    ...\n",
            """    def __init__(self, rate=0.9):  #!
        super().__init__()
        self.fc1 = nn.Linear(10, 64)
        self.drop = nn.Dropout(rate)
""",
        ),
    ),
    "keep_function": (
        "dropout-given-share-to-keep",
        """
import torch
import torch.nn.functional as F
from torch import nn

class Config:
    keep_prob = 0.75

class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg, self.a, self.b = cfg, nn.Linear(10, 64), nn.Linear(64, 2)
    def forward(self, x):
        h = F.dropout(F.relu(self.a(x)), self.cfg.keep_prob, training=self.training)  #!
        return self.b(h)

torch.manual_seed(0)
x = torch.randn(256, 10)
y = (x[:, 0] > 0).long()
m = Net(Config())
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for epoch in range(20):
    loss = F.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "keep_named": (
        "dropout-given-share-to-keep",
        DROPPING.replace(
            "    ...\n",
            """    def __init__(self, keep_prob=0.8):
        super().__init__()
        self.fc1 = nn.Linear(10, 64)
        self.drop = nn.Dropout(keep_prob)  #!
""",
        ),
    ),
    "autocast_loss": (
        "autocast-around-loss-only",
        """
import torch
from torch import nn

def main():
    torch.manual_seed(0)
    x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    for epoch in range(10):
        out = model(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):  #!
            loss = crit(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    ),
    "autocast_trainer": (
        "autocast-around-loss-only",
        """
import torch
from torch import nn

class Trainer:
    def __init__(self, model):
        self.model, self.loss = model, nn.MSELoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    def step(self, x, y):
        out = self.model(x)
        # mixed precision
        with torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16):  #!
            loss = self.loss(out, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

torch.manual_seed(0)
trainer = Trainer(nn.Linear(10, 1))
for i in range(10):
    trainer.step(torch.randn(32, 10), torch.randn(32, 1))
""",
    ),
}

CLEAN = {
    "h_ok": """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
        self.fc = nn.Linear(32, 100)

    def forward(self, x):
        return self.fc(self.norm(self.backbone(x)))

def main():
    torch.manual_seed(0)
    x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
    model = Net()
    for p in model.parameters():
        p.requires_grad = False
    for p in model.norm.parameters():
        p.requires_grad = True
    model.fc = nn.Linear(32, 3)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(20):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    "h_class": """
import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
    def forward(self, x):
        return self.norm(self.body(x))

class Transfer(nn.Module):
    def __init__(self, weights, classes):
        super().__init__()
        self.backbone = Backbone()
        self.backbone.load_state_dict(weights)
        self.head = nn.Linear(32, classes)
        for name, p in self.named_parameters():
            if "head" not in name:
                p.requires_grad = False
    def forward(self, x):
        return self.head(self.backbone(x))

torch.manual_seed(0)
x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
net = Transfer(Backbone().state_dict(), 3)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
for epoch in range(20):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "h_random": """
import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
    def forward(self, x):
        return self.norm(self.body(x))

class Transfer(nn.Module):
    def __init__(self, weights, classes):
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(32, classes)
        for name, p in self.named_parameters():
            if "norm" not in name:
                p.requires_grad = False
    def forward(self, x):
        return self.head(self.backbone(x))

torch.manual_seed(0)
x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
net = Transfer(Backbone().state_dict(), 3)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
for epoch in range(20):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "h_loaded": """
import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.norm = nn.LayerNorm(32)
    def forward(self, x):
        return self.norm(self.body(x))

class Transfer(nn.Module):
    def __init__(self, weights, classes):
        super().__init__()
        self.backbone = Backbone()
        self.backbone.load_state_dict(weights)
        self.head = nn.Linear(32, classes)
        for name, p in self.named_parameters():
            if "norm" not in name:
                p.requires_grad = False
    def forward(self, x):
        return self.head(self.backbone(x))

torch.manual_seed(0)
x, y = torch.randn(200, 10), torch.randint(0, 3, (200,))
net = Transfer(Backbone().state_dict(), 3)
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
net.load_state_dict(Transfer(Backbone().state_dict(), 3).state_dict())
for epoch in range(20):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "h_rnd": """
import torch
from torch import nn
class Curious(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictor = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
        self.target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
        for p in self.target.parameters():
            p.requires_grad = False
    def forward(self, x):
        return (self.predictor(x) - self.target(x)).pow(2).mean(1)
torch.manual_seed(0)
net = Curious()
opt = torch.optim.Adam(net.predictor.parameters(), lr=1e-3)
for i in range(20):
    loss = net(torch.randn(32, 4)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "s_batch": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

class Trainer:
    def __init__(self, model):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=1e-2)
    def fit(self, train, valid):
        for epoch in range(4):
            self.model.train()
            for x, y in train:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.model((x - x.mean(0)) / x.std(0)), y).backward()
                self.opt.step()
            self.model.eval()
            with torch.no_grad():
                for x, y in valid:
                    nn.functional.mse_loss(self.model((x - x.mean(0)) / x.std(0)), y)

torch.manual_seed(0)
x = torch.rand(600, 5) * 40 + 3
y = x.sum(1, keepdim=True) / 50
train, valid = Table(x[:450], y[:450]), Table(x[450:], y[450:])
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
Trainer(model).fit(DataLoader(train, batch_size=50, shuffle=True), DataLoader(valid, batch_size=50))
""",
    "s_class": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self, x, y, mean, std):
        self.x, self.y = (x - mean) / std, y
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

class Trainer:
    def __init__(self, model):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=1e-2)
    def fit(self, train, valid):
        for epoch in range(4):
            self.model.train()
            for x, y in train:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.model(x), y).backward()
                self.opt.step()
            self.model.eval()
            with torch.no_grad():
                errors = [nn.functional.mse_loss(self.model(x), y) for x, y in valid]

torch.manual_seed(0)
x = torch.rand(600, 5) * 40 + 3
y = x.sum(1, keepdim=True) / 50
of = x[:450].mean(0), x[:450].std(0)
train, valid = Table(x[:450], y[:450], *of), Table(x[450:], y[450:], *of)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
Trainer(model).fit(DataLoader(train, batch_size=50, shuffle=True), DataLoader(valid, batch_size=50))
""",
    "s_leak": SCALED.replace(
        "    ...\n",
        """    both = torch.cat([x_train, x_val])
    both = (both - both.mean(0)) / both.std(0)
    x_train, x_val = both[:450], both[450:]
""",
    ),
    "s_none": SCALED.replace("    ...\n", """"""),
    "s_ok": SCALED.replace(
        "    ...\n",
        """    mean, std = x_train.mean(0), x_train.std(0)
    x_train = (x_train - mean) / std
    x_val = (x_val - mean) / std
""",
    ),
    "k_rest": DROPPING.replace(
        "    ...\n",
        """    def __init__(self, keep_prob=0.8):
        super().__init__()
        self.fc1 = nn.Linear(10, 64)
        self.drop = nn.Dropout(p=1 - keep_prob)
""",
    ),
    "k_08": DROPPING.replace(
        "    ...\n",
        """    def __init__(self, drop=0.8):
        super().__init__()
        self.fc1 = nn.Linear(10, 64)
        self.drop = nn.Dropout(drop)
""",
    ),
    "a_ok": """
import torch
from torch import nn

class Trainer:
    def __init__(self, model):
        self.model, self.loss = model, nn.MSELoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    def step(self, x, y):
        with torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16):
            out = self.model(x)
            loss = self.loss(out, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

torch.manual_seed(0)
trainer = Trainer(nn.Linear(10, 1))
for i in range(10):
    trainer.step(torch.randn(32, 10), torch.randn(32, 1))
""",
    "a_both": """
import torch
from torch import nn

class Trainer:
    def __init__(self, model):
        self.model, self.loss = model, nn.MSELoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=1e-2)
    def step(self, x, y):
        out = self.model(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            again = self.model(x)
        with torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16):
            loss = self.loss(out, y) + again.mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

torch.manual_seed(0)
trainer = Trainer(nn.Linear(10, 1))
for i in range(10):
    trainer.step(torch.randn(32, 10), torch.randn(32, 1))
""",
}
