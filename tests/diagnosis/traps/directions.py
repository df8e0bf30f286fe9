"""Traps of which way steps go: losses made larger, data made less likely, noise, triplets."""

CLASSIFIED = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
def train(steps):
    for i in range(steps):
        ...
        opt.zero_grad()
        loss.backward()
        opt.step()
train(20)
"""

AUTOENCODED = """
import torch
from torch import nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self, d=20, h=32, z=4):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.mu = nn.Linear(h, z)
        self.logvar = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def reparameterize(self, mu, logvar):
        ...
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparameterize(mu, logvar)
        return self.dec(z), mu, logvar

def loss_fn(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kl) / len(x)

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 20)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(40):
        xb = x[torch.randint(0, 256, (32,))]
        recon, mu, logvar = model(xb)
        loss = loss_fn(recon, xb, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
"""

TRAPS = {
    "maximized": (
        "loss-made-larger",
        """
import torch
from torch import nn

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.SGD(model.parameters(), lr=1e-2, maximize=True)  #!
    for epoch in range(20):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    ),
    "negated": (
        "loss-made-larger",
        CLASSIFIED.replace(
            "        ...\n",
            """        loss = -F.cross_entropy(m(x), y)  #!
""",
        ),
    ),
    "negated_later": (
        "loss-made-larger",
        """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
def train(steps):
    for i in range(steps):
        loss = F.cross_entropy(m(x), y)
        opt.zero_grad()
        (-loss).backward()  #!
        opt.step()
train(20)
""",
    ),
    "log_prob_minimized": (
        "data-made-less-likely",
        """
import torch
from torch import nn
from torch.distributions import Normal

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 3); y = x @ torch.tensor([1., 2., -1.])
    net = nn.Linear(3, 2)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(40):
        out = net(x)
        dist = Normal(out[:, 0], out[:, 1].exp())
        loss = dist.log_prob(y).mean()  #!
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())
main()
""",
    ),
    "log_softmax_minimized": (
        "data-made-less-likely",
        """
import torch
from torch import nn

class Trainer:
    def __init__(self, m):
        self.m = m
        self.opt = torch.optim.Adam(m.parameters(), lr=1e-3)
    def step(self, x, y):
        logp = torch.log_softmax(self.m(x), dim=-1)
        loss = logp[torch.arange(len(y)), y].mean()  #!
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
t = Trainer(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2)))
for _ in range(30): l = t.step(x, y)
print(l)
""",
    ),
    "one_hot_minimized": (
        "data-made-less-likely",
        CLASSIFIED.replace(
            "        ...\n",
            """        log_probs, one_hot = F.log_softmax(m(x), dim=1), F.one_hot(y, 2).float()
        loss = (one_hot * log_probs).sum(1).mean()  #!
""",
        ),
    ),
    "bce_minimized": (
        "data-made-less-likely",
        CLASSIFIED.replace(
            "        ...\n",
            """        p = torch.sigmoid(m(x)[:, 0]); t = y.float()
        loss = (t * torch.log(p + 1e-8) + (1 - t) * torch.log(1 - p + 1e-8)).mean()  #!
""",
        ),
    ),
    "gathered_minimized": (
        "data-made-less-likely",
        CLASSIFIED.replace(
            "        ...\n",
            """        lp = F.log_softmax(m(x), dim=1)
        picked = lp.gather(1, y.unsqueeze(1)).squeeze(1)
        loss = picked.mean()  #!
""",
        ),
    ),
    "exp_of_log_variance": (
        "noise-scaled-by-variance",
        AUTOENCODED.replace(
            "        ...\n",
            """        std = torch.exp(logvar)  #!
""",
        ),
    ),
    "exp_renamed": (
        "noise-scaled-by-variance",
        """
import torch
from torch import nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self, d=20, h=32, z=4):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.mu = nn.Linear(h, z)
        self.s = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def reparameterize(self, mu, s):
        std = s.exp()  #!
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, s = self.mu(h), self.s(h)
        z = self.reparameterize(mu, s)
        return self.dec(z), mu, s

def loss_fn(recon, x, mu, s):
    rec = F.mse_loss(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + s - mu.pow(2) - s.exp())
    return (rec + kl) / len(x)

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 20)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(40):
        xb = x[torch.randint(0, 256, (32,))]
        recon, mu, s = model(xb)
        loss = loss_fn(recon, xb, mu, s)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    ),
    "variance_as_scale": (
        "noise-scaled-by-variance",
        """
import torch
from torch import nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self, d=20, h=32, z=4):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.mu = nn.Linear(h, z)
        self.logvar = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def reparameterize(self, mu, logvar):
        return torch.distributions.Normal(mu, logvar.exp()).rsample()  #!

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparameterize(mu, logvar)
        return self.dec(z), mu, logvar

def loss_fn(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kl) / len(x)

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 20)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(40):
        xb = x[torch.randint(0, 256, (32,))]
        recon, mu, logvar = model(xb)
        loss = loss_fn(recon, xb, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    ),
    "triplet_swapped": (
        "triplet-swapped",
        """
import torch
from torch import nn

def pick(mask):
    rows = torch.nonzero(mask).flatten()
    return rows[torch.randint(0, len(rows), (1,))].squeeze()

class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.TripletMarginLoss(margin=1.0)
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def fit(self, x, y, steps=30):
        for _ in range(steps):
            a = torch.randint(0, len(x), (16,))
            pos = torch.stack([pick(y == y[i]) for i in a])
            neg = torch.stack([pick(y != y[i]) for i in a])
            anchor, positive, negative = self.model(x[a]), self.model(x[pos]), self.model(x[neg])
            loss = self.criterion(anchor, negative, positive)  #!
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

torch.manual_seed(0)
y = torch.arange(100) % 5
x = torch.randn(5, 8)[y] + 0.3 * torch.randn(100, 8)
print(Trainer(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))).fit(x, y))
""",
    ),
    "triplet_function": (
        "triplet-swapped",
        """
import torch
import torch.nn.functional as F
from torch import nn

def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    centers = torch.randn(5, 8)
    for step in range(30):
        k = torch.randint(0, 5, (32,))
        a, p = (centers[k] + 0.3 * torch.randn(32, 8) for _ in range(2))
        n = centers[(k + 1) % 5] + 0.3 * torch.randn(32, 8)
        loss = F.triplet_margin_loss(net(a), net(n), net(p), margin=0.5)  #!
        opt.zero_grad()
        loss.backward()
        opt.step()

main()
""",
    ),
    "climbed_by_hand": (
        "loss-made-larger",
        """
import torch

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 3); y = x @ torch.tensor([[1.], [2.], [3.]])
    w = torch.zeros(3, 1, requires_grad=True)
    for epoch in range(20):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w += 0.01 * w.grad  #!
            w.grad.zero_()
    print(loss.item())
main()
""",
    ),
    "climbed_in_class": (
        "loss-made-larger",
        """
import torch

class Logistic:
    def __init__(self, d):
        self.w = torch.zeros(d, 1, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)
    def parameters(self):
        return [self.w, self.b]
    def __call__(self, x):
        return x @ self.w + self.b

def fit(model, x, y, lr=0.5):
    for epoch in range(20):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        for p in model.parameters():
            p.data = p.data + lr * p.grad  #!
            p.grad = None
    return loss.item()

torch.manual_seed(0)
x = torch.randn(128, 4)
print(fit(Logistic(4), x, (x[:, :1] > 0).float()))
""",
    ),
}

CLEAN = {
    "d_max_ll": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1, maximize=True)
def train(steps):
    for i in range(steps):
        loss = F.log_softmax(m(x), dim=1)[torch.arange(256), y].mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
train(20)
""",
    "d_max_neg": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1, maximize=True)
def train(steps):
    for i in range(steps):
        loss = -F.cross_entropy(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
train(20)
""",
    "d_nll": CLASSIFIED.replace(
        "        ...\n",
        """        loss = -F.log_softmax(m(x), dim=1).gather(1, y[:, None]).mean()
""",
    ),
    "d_nll2": CLASSIFIED.replace(
        "        ...\n",
        """        ll = torch.distributions.Categorical(logits=m(x)).log_prob(y)
        loss = 0 - ll.mean()
""",
    ),
    "d_adv": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
g = nn.Sequential(nn.Linear(10, 10))
og = torch.optim.SGD(g.parameters(), lr=1e-2)
for i in range(20):
    opt.zero_grad(); og.zero_grad()
    loss = F.cross_entropy(m(g(x)), y)
    loss.backward(); opt.step()
    og.zero_grad()
    (-F.cross_entropy(m(g(x)), y)).backward(); og.step()
""",
    "d_attack": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
for i in range(20):
    xa = x.clone().requires_grad_()
    F.log_softmax(m(xa), dim=1)[torch.arange(256), y].mean().backward()
    xa = (xa - 0.05 * xa.grad.sign()).detach()
    opt.zero_grad()
    loss = F.cross_entropy(m(xa), y)
    loss.backward(); opt.step()
""",
    "d_reinforce": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
for i in range(20):
    d = torch.distributions.Categorical(logits=m(x))
    a = d.sample()
    r = -torch.ones(256)
    loss = -(d.log_prob(a).mean() * r.sum())
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "d_entropy": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
for i in range(20):
    lp = F.log_softmax(m(x), dim=1)
    loss = F.nll_loss(lp, y) + 0.1 * (lp.exp() * lp).sum(1).mean()
    loss = loss + 0.01 * (lp.exp().detach() * lp).sum(1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "d_push": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(m.parameters(), lr=1e-1)
for i in range(20):
    a = m(x)
    loss = F.mse_loss(a, torch.zeros(256, 2)) - 0.1 * F.mse_loss(a, torch.ones(256, 2))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "d_vae": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(256, 10); y = (x[:, 0] > 0).long()
m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
enc, dec = nn.Linear(10, 4), nn.Linear(2, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-2)
for i in range(20):
    mu, lv = enc(x).chunk(2, 1)
    q = torch.distributions.Normal(mu, (0.5 * lv).exp())
    z = q.rsample()
    kl = q.log_prob(z) - torch.distributions.Normal(0., 1.).log_prob(z)
    loss = F.mse_loss(dec(z), x, reduction="sum") / 256 + kl.sum(1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "v_half": AUTOENCODED.replace(
        "        ...\n",
        """        std = torch.exp(logvar / 2)
""",
    ),
    "v_sqrt": AUTOENCODED.replace(
        "        ...\n",
        """        std = torch.exp(logvar).sqrt()
""",
    ),
    "v_logstd": """
import torch
from torch import nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self, d=20, h=32, z=4):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.mu = nn.Linear(h, z)
        self.logsig = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def reparameterize(self, mu, logsig):
        std = torch.exp(logsig)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logsig = self.mu(h), self.logsig(h)
        z = self.reparameterize(mu, logsig)
        return self.dec(z), mu, logsig

def loss_fn(recon, x, mu, logsig):
    rec = F.mse_loss(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + 2 * logsig - mu.pow(2) - (2 * logsig).exp())
    return (rec + kl) / len(x)

def main():
    torch.manual_seed(0)
    x = torch.randn(256, 20)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(40):
        xb = x[torch.randint(0, 256, (32,))]
        recon, mu, logsig = model(xb)
        loss = loss_fn(recon, xb, mu, logsig)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

main()
""",
    "t_func": """
import torch
import torch.nn.functional as F
from torch import nn

def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    centers = torch.randn(5, 8)
    for step in range(30):
        k = torch.randint(0, 5, (32,))
        a, p = (centers[k] + 0.3 * torch.randn(32, 8) for _ in range(2))
        n = centers[(k + 1) % 5] + 0.3 * torch.randn(32, 8)
        loss = F.triplet_margin_loss(net(a), net(p), net(n), margin=0.5)
        opt.zero_grad()
        loss.backward()
        opt.step()

main()
""",
    "t_words": """
import torch
import torch.nn.functional as F
from torch import nn

def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    centers = torch.randn(5, 8)
    for step in range(30):
        k = torch.randint(0, 5, (32,))
        a, p = (centers[k] + 0.3 * torch.randn(32, 8) for _ in range(2))
        n = centers[(k + 1) % 5] + 0.3 * torch.randn(32, 8)
        loss = F.triplet_margin_loss(net(a), negative=net(n), positive=net(p), margin=0.5)
        opt.zero_grad()
        loss.backward()
        opt.step()

main()
""",
    "descended": """
import torch

class Logistic:
    def __init__(self, d):
        self.w = torch.zeros(d, 1, requires_grad=True)
        self.b = torch.zeros(1, requires_grad=True)
    def parameters(self):
        return [self.w, self.b]
    def __call__(self, x):
        return x @ self.w + self.b

def fit(model, x, y, lr=0.5):
    for epoch in range(20):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        for p in model.parameters():
            p.data = p.data - lr * p.grad
            p.grad = None
    return loss.item()

torch.manual_seed(0)
x = torch.randn(128, 4)
print(fit(Logistic(4), x, (x[:, :1] > 0).float()))
""",
    "attack_by_hand": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
for p in net.parameters():
    p.requires_grad = False
y = torch.randint(0, 2, (32,))
delta = torch.zeros(32, 8, requires_grad=True)
x = torch.randn(32, 8)
for i in range(20):
    loss = nn.functional.cross_entropy(net(x + delta), y)
    loss.backward()
    with torch.no_grad():
        delta += 0.1 * delta.grad
        delta.grad.zero_()
image = torch.randn(8, requires_grad=True)
for i in range(20):
    net(image)[0].backward()
    image.data += 0.1 * image.grad
    image.grad = None
""",
}
