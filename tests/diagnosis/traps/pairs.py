"""Traps of what belongs together: rows and their labels, two models."""

HEAD = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
"""

TRAPS = {
    "apart_two_orders": (
        "rows-and-labels-apart",
        HEAD
        + """
x = torch.randn(200, 5)
y = (x.sum(1) > 0).long()
x = x[torch.randperm(len(x))]
y = y[torch.randperm(len(y))]  #!
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    for i in range(0, 200, 20):
        loss = nn.functional.cross_entropy(model(x[i:i+20]), y[i:i+20])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "apart_dataset": (
        "rows-and-labels-apart",
        HEAD
        + """
class Data:
    def __init__(self, n):
        self.inputs = torch.randn(n, 5)
        self.targets = self.inputs.sum(1, keepdim=True)
    def split(self, share):
        k = int(share * len(self.inputs))
        order, other = torch.randperm(len(self.inputs)), torch.randperm(len(self.inputs))
        rows = self.inputs[order]
        labels = self.targets[other]  #!
        return TensorDataset(rows[:k], labels[:k]), TensorDataset(rows[k:], labels[k:])
train, valid = Data(200).split(0.8)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for xb, yb in DataLoader(train, batch_size=20, shuffle=True):
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    for xb, yb in DataLoader(valid, batch_size=40):
        print(nn.functional.mse_loss(model(xb), yb).item())
""",
    ),
    "apart_batch_function": (
        "rows-and-labels-apart",
        {
            "data.py": """
import torch
def batch(x, y, n=20):
    return x[torch.randperm(len(x))[:n]], y[torch.randperm(len(y))[:n]]  #!
""",
            "script.py": """
import torch
from torch import nn
from data import batch
torch.manual_seed(0)
x = torch.randn(200, 5)
y = x.sum(1, keepdim=True)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    xb, yb = batch(x, y)
    loss = ((model(xb) - yb) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
        },
    ),
    "apart_only_rows": (
        "rows-and-labels-apart",
        HEAD
        + """
x = torch.randn(200, 5)
y = (x.sum(1) > 0).float()
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(5):
    perm = torch.randperm(200)
    xs = x[perm]  #!
    for xb, yb in zip(xs.split(20), y.split(20)):
        loss = criterion(model(xb).squeeze(1), yb)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "apart_sorted_by_length": (
        "rows-and-labels-apart",
        HEAD
        + """
from torch.nn.utils.rnn import pack_padded_sequence
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)
    def forward(self, x, lengths):
        _, h = self.rnn(pack_padded_sequence(x, lengths, batch_first=True))
        return self.head(h[-1])
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(12):
    lengths = torch.randint(1, 9, (32,))
    mask = torch.arange(8) < lengths[:, None]
    x = torch.randn(32, 8, 3) * mask[:, :, None]
    y = (x.sum((1, 2)) > 0).long()
    order = lengths.argsort(descending=True)
    x = x[order]  #!
    loss = nn.functional.cross_entropy(model(x, lengths[order]), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "apart_two_loaders": (
        "rows-and-labels-apart",
        HEAD
        + """
x = torch.randn(200, 5)
y = (x.sum(1) > 0).long()
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
images = DataLoader(x, batch_size=20, shuffle=True)
labels = DataLoader(y, batch_size=20, shuffle=True)  #!
for epoch in range(5):
    for xb, yb in zip(images, labels):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "apart_numpy_order": (
        "rows-and-labels-apart",
        HEAD
        + """
import numpy as np
rng = np.random.default_rng(0)
x = torch.randn(200, 5)
y = (x.sum(1) > 0).long()
x = x[rng.permutation(200)]
y = y[rng.permutation(200)]  #!
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for xb, yb in DataLoader(TensorDataset(x, y), batch_size=20):
    loss = nn.functional.cross_entropy(model(xb), yb)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "gan_labels": (
        "generator-helps-discriminator",
        HEAD
        + """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
crit = nn.BCEWithLogitsLoss()
real_label, fake_label = torch.ones(32, 1), torch.zeros(32, 1)
for it in range(30):
    real = torch.randn(32, 2) + 3
    fake = G(torch.randn(32, 4))
    ld = crit(D(real), real_label) + crit(D(fake.detach()), fake_label)
    od.zero_grad(); ld.backward(); od.step()
    lg = crit(D(fake), fake_label)  #!
    og.zero_grad(); lg.backward(); og.step()
""",
    ),
    "gan_like": (
        "generator-helps-discriminator",
        {
            "models.py": """
from torch import nn
class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    def forward(self, z):
        return self.net(z)
class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 16), nn.Linear(16, 1)
    def forward(self, x):
        return self.head(nn.functional.leaky_relu(self.body(x), 0.2)).sigmoid().view(-1)
""",
            "script.py": HEAD
            + """
import torch.nn.functional as F
from models import Discriminator, Generator
class GAN:
    def __init__(self):
        self.gen, self.dis = Generator(), Discriminator()
        self.og = torch.optim.Adam(self.gen.parameters(), 1e-3)
        self.od = torch.optim.Adam(self.dis.parameters(), 1e-3)
    def d_loss(self, real):
        with torch.no_grad():
            fake = self.gen(torch.randn(len(real), 4))
        score, other = self.dis(real), self.dis(fake)
        loss_real = F.binary_cross_entropy(score, torch.ones_like(score))
        loss_fake = F.binary_cross_entropy(other, torch.zeros_like(other))
        return (loss_real + loss_fake) / 2
    def g_loss(self, n):
        score = self.dis(self.gen(torch.randn(n, 4)))
        return F.binary_cross_entropy(score, torch.zeros_like(score))  #!
    def fit(self):
        for it in range(20):
            self.od.zero_grad()
            self.d_loss(torch.randn(32, 2) + 3).backward()
            self.od.step()
            self.og.zero_grad()
            self.g_loss(32).backward()
            self.og.step()
GAN().fit()
""",
        },
    ),
    "gan_critic": (
        "generator-helps-discriminator",
        HEAD
        + """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.RMSprop(G.parameters(), 1e-3)
oc = torch.optim.RMSprop(critic.parameters(), 1e-3)
for it in range(30):
    for _ in range(3):
        real, fake = torch.randn(32, 2) + 3, G(torch.randn(32, 4))
        loss = critic(fake).mean() - critic(real).mean()
        oc.zero_grad(); loss.backward(); oc.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)
    loss = critic(G(torch.randn(32, 4))).mean()  #!
    og.zero_grad(); loss.backward(); og.step()
""",
    ),
    "gan_fill_forgotten": (
        "generator-helps-discriminator",
        HEAD
        + """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
crit = nn.BCELoss()
for it in range(30):
    od.zero_grad()
    label = torch.full((32,), 1.0)
    loss = crit(D(torch.randn(32, 2) + 3).view(-1), label)
    loss.backward()
    fake = G(torch.randn(32, 4))
    label.fill_(0.0)
    loss = crit(D(fake.detach()).view(-1), label)
    loss.backward()
    od.step()
    og.zero_grad()
    loss = crit(D(fake).view(-1), label)  #!
    loss.backward()
    og.step()
""",
    ),
}

CLEAN = {
    "together": HEAD
    + """
x = torch.randn(200, 5)
y = (x.sum(1) > 0).long()
perm = torch.randperm(200)
x, y = x[perm], y[perm]
torch.manual_seed(3); x = x[torch.randperm(200)]
torch.manual_seed(3); y = y[torch.randperm(200)]
criterion = nn.CrossEntropyLoss()
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    order = torch.randperm(200)
    for i in range(0, 200, 20):
        at = order[i:i+20]
        xb, yb = x[at].float(), y[at]
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
        # mixup of rows, of hidden values, and negatives
        mixed_with = torch.randperm(20)
        out = model(0.7 * xb + 0.3 * xb[mixed_with])
        loss = 0.7 * criterion(out, yb) + 0.3 * criterion(out, yb[mixed_with])
        h = model[0](xb)
        out = model[2](model[1](0.7 * h + 0.3 * h[mixed_with]))
        loss = loss + 0.7 * criterion(out, yb) + 0.3 * criterion(out, yb[mixed_with])
        far = (h - h[mixed_with]).pow(2).mean(1)
        loss = loss + nn.functional.relu(1 - far).mean()
        opt.zero_grad(); loss.backward(); opt.step()
""",
    "picked": HEAD
    + """
x = torch.randn(100, 5)
y = (x.sum(1) > 0).long()
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
split = torch.randperm(100)
train, test = split[:80], split[80:]
for epoch in range(20):
    out = model(x)
    loss = nn.functional.cross_entropy(out[train], y[train])
    opt.zero_grad(); loss.backward(); opt.step()
    order = torch.randperm(100)
    back = order.argsort()
    loss = nn.functional.cross_entropy(model(x[order])[back], y)
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    print((model(x)[test].argmax(1) == y[test]).float().mean())
""",
    "siamese": HEAD
    + """
x = torch.randn(100, 5)
y = (x.sum(1) > 0).long()
one, two = torch.randperm(100), torch.randperm(100)
same = (y[one] == y[two]).float()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(5, 8)
    def forward(self, a, b):
        return -(self.body(a) - self.body(b)).abs().sum(1)
model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for a, b, s in DataLoader(TensorDataset(x[one], x[two], same), batch_size=10, shuffle=True):
        loss = nn.functional.binary_cross_entropy_with_logits(model(a, b), s)
        opt.zero_grad(); loss.backward(); opt.step()
critic = nn.Linear(5, 1)
copt = torch.optim.SGD(critic.parameters(), lr=0.01)
real_label = torch.ones(100, 1)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(10):
    real = x[torch.randperm(100)]
    fake, fake_label = torch.rand(100, 5), torch.zeros(100, 1)
    loss = criterion(critic(real), real_label) + criterion(critic(fake), fake_label)
    copt.zero_grad(); loss.backward(); copt.step()
""",
    "two_loaders": HEAD
    + """
x = torch.randn(200, 5)
y = (x.sum(1) > 0).long()
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def gen(): return torch.Generator().manual_seed(3)
images = DataLoader(x, batch_size=20, shuffle=True, generator=gen())
labels = DataLoader(y, batch_size=20, shuffle=True, generator=gen())
for epoch in range(5):
    for xb, yb in zip(images, labels):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
other = DataLoader(TensorDataset(torch.randn(200, 5)), batch_size=20, shuffle=True)
source = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
net = nn.Linear(5, 5)
opt = torch.optim.SGD([*net.parameters(), *model.parameters()], lr=0.1)
for (xb, yb), (ub,) in zip(source, other):
    loss = nn.functional.cross_entropy(model(net(xb)), yb) + nn.functional.mse_loss(net(ub), ub)
    loss = loss + (net(xb).mean(0) - net(ub).mean(0)).pow(2).sum()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "gan_minimax": HEAD
    + """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
crit = nn.BCEWithLogitsLoss()
real_label, fake_label = torch.ones(32, 1), torch.zeros(32, 1)
for it in range(30):
    real = torch.randn(32, 2) + 3
    fake = G(torch.randn(32, 4))
    ld = crit(D(real), real_label) + crit(D(fake.detach()), fake_label)
    od.zero_grad(); ld.backward(); od.step()
    lg = -crit(D(fake), fake_label)
    og.zero_grad(); lg.backward(); og.step()
""",
    "gan_wasserstein": HEAD
    + """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.RMSprop(G.parameters(), 1e-3)
oc = torch.optim.RMSprop(critic.parameters(), 1e-3)
for it in range(30):
    for _ in range(3):
        real, fake = torch.randn(32, 2) + 3, G(torch.randn(32, 4))
        loss = critic(fake).mean() - critic(real).mean()
        oc.zero_grad(); loss.backward(); oc.step()
        for p in critic.parameters():
            p.data.clamp_(-0.1, 0.1)
    loss = -critic(G(torch.randn(32, 4))).mean()
    og.zero_grad(); loss.backward(); og.step()
""",
    "gan_fill": HEAD
    + """
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
og = torch.optim.Adam(G.parameters(), 1e-3)
od = torch.optim.Adam(D.parameters(), 1e-3)
crit = nn.BCELoss()
for it in range(30):
    od.zero_grad()
    label = torch.full((32,), 1.0)
    loss = crit(D(torch.randn(32, 2) + 3).view(-1), label)
    loss.backward()
    fake = G(torch.randn(32, 4))
    label.fill_(0.0)
    loss = crit(D(fake.detach()).view(-1), label)
    loss.backward()
    od.step()
    og.zero_grad()
    label.fill_(1.0)
    loss = crit(D(fake).view(-1), label)
    loss.backward()
    og.step()
""",
    "two_optimizers_one_loss": HEAD
    + """
encoder, head = nn.Sequential(nn.Linear(5, 8), nn.ReLU()), nn.Linear(8, 1)
oe, oh = torch.optim.Adam(encoder.parameters(), 1e-3), torch.optim.Adam(head.parameters(), 1e-3)
x = torch.randn(64, 5); y = (x[:, 0] > 0).float()[:, None]
for it in range(30):
    h = encoder(x)
    loss = nn.functional.binary_cross_entropy_with_logits(head(h.detach()), y)
    oh.zero_grad(); loss.backward(); oh.step()
    loss = nn.functional.binary_cross_entropy_with_logits(head(h), y)
    oe.zero_grad(); loss.backward(); oe.step()
actor, q = nn.Linear(5, 2), nn.Linear(2, 1)
oa, oq = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(q.parameters(), 1e-3)
for it in range(30):
    action = torch.randn(64, 2)
    with torch.no_grad():
        goal = action.sum(1, keepdim=True) + 0.9 * q(actor(x))
    loss = nn.functional.mse_loss(q(action), goal)
    oq.zero_grad(); loss.backward(); oq.step()
    loss = -q(actor(x)).mean()
    oa.zero_grad(); loss.backward(); oa.step()
""",
}
