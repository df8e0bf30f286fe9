"""Programs of many styles in which nothing is wrong: the doctor says nothing."""

CLEAN = {
    "rl_loop": """
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)

def step_env(state, action):
    reward = 1.0 if (state[0] > 0) == bool(action) else 0.0
    return torch.randn(4), reward

for episode in range(10):
    state = torch.randn(4)
    log_probs, rewards = [], []
    for t in range(15):
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        state, reward = step_env(state, action.item())
        rewards.append(reward)
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + 0.99 * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(torch.stack(log_probs) * returns).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    "dqn": """
import copy
import random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)

class Agent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.q)
        for p in self.target.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = deque(maxlen=1000)

    @torch.no_grad()
    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        return self.q(s.unsqueeze(0)).argmax(1).item()

    def learn(self):
        batch = random.sample(self.memory, 16)
        s, a, r, s2 = zip(*batch)
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r = torch.tensor(a), torch.tensor(r)
        with torch.no_grad():
            target = r + 0.9 * self.target(s2).max(1).values
        q = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.opt.step()
        return loss.item()

    def sync(self):
        self.target.load_state_dict(self.q.state_dict())

agent = Agent()
s = torch.randn(3)
for t in range(80):
    a = agent.act(s, 0.2)
    s2, r = torch.randn(3), float(s.sum() > 0) * (a == 1)
    agent.memory.append((s, a, r, s2))
    s = s2
    if t > 20:
        agent.learn()
    if t % 20 == 0:
        agent.sync()
print("done")
""",
    "gan_detach": """
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
for it in range(30):
    real = torch.randn(32, 2) * 0.5 + 1
    z = torch.randn(32, 8)
    fake = G(z)
    opt_d.zero_grad()
    loss_d = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(D(fake), torch.ones(32, 1))
    loss_g.backward()
    opt_g.step()
G.eval()
with torch.no_grad():
    print(G(torch.randn(4, 8)).shape)
""",
    "wgan_gp": """
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
C = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), 1e-4)
oc = torch.optim.Adam(C.parameters(), 1e-4)
def penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = C(mix)
    grad, = torch.autograd.grad(out.sum(), mix, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()
for it in range(20):
    for _ in range(2):
        real = torch.randn(16, 2)
        with torch.no_grad():
            fake = G(torch.randn(16, 4))
        loss = C(fake).mean() - C(real).mean() + 10 * penalty(real, fake)
        oc.zero_grad()
        loss.backward()
        oc.step()
    og.zero_grad()
    (-C(G(torch.randn(16, 4))).mean()).backward()
    og.step()
print("done")
""",
    "simclr": """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.projector = nn.Linear(32, 16)
    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)

def nt_xent(a, b, t=0.5):
    z = torch.cat([a, b])
    sim = z @ z.T / t
    n = a.size(0)
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, targets)

enc = Encoder()
opt = torch.optim.AdamW(enc.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(16, 10)
    loss = nt_xent(enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    "byol_ema": """
import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
predictor = nn.Linear(16, 16)
teacher = copy.deepcopy(student)
teacher.requires_grad_(False)
opt = torch.optim.SGD([*student.parameters(), *predictor.parameters()], lr=0.05, momentum=0.9)

@torch.no_grad()
def update(m=0.99):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(m).add_(s, alpha=1 - m)

for step in range(30):
    x = torch.randn(32, 8)
    v1, v2 = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    p = F.normalize(predictor(student(v1)), dim=1)
    with torch.no_grad():
        t = F.normalize(teacher(v2), dim=1)
    loss = (2 - 2 * (p * t).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    update()
print("done")
""",
    "ema_class": """
import torch
from torch import nn

class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.backup = {}
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n] = self.decay * self.shadow[n] + (1 - self.decay) * p.detach()
    def apply(self, model):
        self.backup = {n: p.detach().clone() for n, p in model.named_parameters()}
        for n, p in model.named_parameters():
            p.data.copy_(self.shadow[n])
    def restore(self, model):
        for n, p in model.named_parameters():
            p.data.copy_(self.backup[n])

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ema = EMA(model)
for epoch in range(3):
    model.train()
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad(); loss.backward(); opt.step()
        ema.update(model)
    ema.apply(model)
    model.eval()
    with torch.no_grad():
        v = model(torch.randn(8, 4)).mean().item()
    ema.restore(model)
print("done")
""",
    "lbfgs": """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.rand(64, 2)
y = (x[:, :1] * x[:, 1:]).contiguous()
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10)
def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss
for it in range(5):
    loss = opt.step(closure)
print("done")
""",
    "tbptt": """
import torch
from torch import nn

class CharRNN(nn.Module):
    def __init__(self, v=12, d=16):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.out = nn.Linear(d, v)
    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state

torch.manual_seed(0)
text = torch.randint(0, 12, (4, 101))
model = CharRNN()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    state = None
    for i in range(0, 100, 10):
        x, y = text[:, i:i + 10], text[:, i + 1:i + 11]
        logits, state = model(x, state)
        state = tuple(s.detach() for s in state)
        loss = nn.functional.cross_entropy(logits.reshape(-1, 12), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
print("done")
""",
    "maml": """
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)
def task():
    a = torch.rand(1) * 2 + 0.5
    def sample(n):
        x = torch.rand(n, 1) * 4 - 2
        return x, a * torch.sin(x)
    return sample
for it in range(8):
    meta.zero_grad()
    total = 0.0
    for _ in range(3):
        sample = task()
        params = dict(net.named_parameters())
        x, y = sample(10)
        inner = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(inner, list(params.values()), create_graph=True)
        fast = {k: p - 0.1 * g for (k, p), g in zip(params.items(), grads)}
        x, y = sample(10)
        total = total + nn.functional.mse_loss(functional_call(net, fast, (x,)), y)
    total.backward()
    meta.step()
print("done")
""",
    "resume": """
import os
import tempfile
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
    return model, opt, sched

def train(model, opt, sched, start, end, path):
    g = torch.Generator().manual_seed(start)
    for epoch in range(start, end):
        for _ in range(4):
            x = torch.randn(16, 4, generator=g)
            loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        state = {"model": model.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}
        torch.save({"epoch": epoch + 1, **state}, path)

with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "last.pt")
    train(*build(), 0, 2, path)
    model, opt, sched = build()
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["opt"])
    sched.load_state_dict(ckpt["sched"])
    train(model, opt, sched, ckpt["epoch"], 4, path)
print("done")
""",
    "distill": """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4)).eval()
student = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
T, alpha = 2.0, 0.7
for step in range(30):
    x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
    with torch.no_grad():
        t = teacher(x)
    s = student(x)
    soft = F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") * T * T
    loss = alpha * soft + (1 - alpha) * F.cross_entropy(s, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    "lora": """
import math
import torch
from torch import nn

class LoRA(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r
    def forward(self, x):
        return self.base(x) + (x @ self.A.T @ self.B.T) * self.scale

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
model[0] = LoRA(model[0]); model[2] = LoRA(model[2])
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(30):
    x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    "sac_like": """
import copy
import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
target = copy.deepcopy(critic).requires_grad_(False)
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(30):
    s, s2, r = torch.randn(32, 3), torch.randn(32, 3), torch.randn(32, 1)
    a = torch.rand(32, 1) * 2 - 1
    with torch.no_grad():
        y = r + 0.9 * target(torch.cat([s2, actor(s2)], 1))
    c_loss = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), y)
    c_opt.zero_grad(); c_loss.backward(); c_opt.step()
    a_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    a_opt.zero_grad(); a_loss.backward(); a_opt.step()
    with torch.no_grad():
        for p, q in zip(target.parameters(), critic.parameters()):
            p.lerp_(q, 0.05)
print("done")
""",
    "vae_in_classes": """
import torch
from torch import nn
import torch.nn.functional as F

class VAE(nn.Module):
    def __init__(self, d=16, z=4):
        super().__init__()
        self.enc = nn.Linear(d, 32)
        self.mu, self.logvar = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))
    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)
    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar

torch.manual_seed(0)
data = torch.rand(128, 16)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(3):
    total = 0
    for i in range(0, 128, 32):
        x = data[i:i + 32]
        recon, mu, logvar = vae(x)
        bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum()
        loss = (bce + kl) / len(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
with torch.no_grad():
    print(torch.sigmoid(vae.dec(torch.randn(4, 4))).shape)
""",
    "transformer_lm": """
import torch
from torch import nn
from dataclasses import dataclass

@dataclass
class Config:
    vocab: int = 20
    dim: int = 32
    heads: int = 4
    layers: int = 2
    block: int = 16
    lr: float = 3e-3

class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Parameter(torch.zeros(1, cfg.block, cfg.dim))
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 4 * cfg.dim, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)
        self.head.weight = self.tok.weight
        future = torch.full((cfg.block, cfg.block), float("-inf"))
        self.register_buffer("mask", torch.triu(future, 1))
    def forward(self, idx, targets=None):
        t = idx.size(1)
        x = self.tok(idx) + self.pos[:, :t]
        x = self.blocks(x, mask=self.mask[:t, :t])
        logits = self.head(x)
        loss = None
        if targets is not None:
            flat = logits.view(-1, logits.size(-1))
            loss = nn.functional.cross_entropy(flat, targets.reshape(-1))
        return logits, loss
    @torch.no_grad()
    def generate(self, idx, n):
        self.eval()
        for _ in range(n):
            logits, _ = self(idx[:, -16:])
            nxt = torch.multinomial(logits[:, -1].softmax(-1), 1)
            idx = torch.cat([idx, nxt], 1)
        self.train()
        return idx

def main():
    torch.manual_seed(0)
    cfg = Config()
    data = torch.randint(0, cfg.vocab, (500,))
    model = GPT(cfg)
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    opt = torch.optim.AdamW(groups, lr=cfg.lr)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 5))
    for step in range(15):
        ix = torch.randint(0, 500 - 17, (8,))
        x = torch.stack([data[i:i + 16] for i in ix])
        y = torch.stack([data[i + 1:i + 17] for i in ix])
        _, loss = model(x, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
    print(model.generate(torch.zeros(1, 1, dtype=torch.long), 8).shape)

if __name__ == "__main__":
    main()
""",
    "lightning": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class LitModule(nn.Module):
    def training_step(self, batch, idx): raise NotImplementedError
    def validation_step(self, batch, idx): raise NotImplementedError
    def configure_optimizers(self): raise NotImplementedError
    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value.detach()))

class Lit(LitModule):
    def __init__(self):
        super().__init__()
        self.logged = {}
        self.net = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(),
                                 nn.Dropout(0.1), nn.Linear(32, 3))
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    def forward(self, x): return self.net(x)
    def training_step(self, batch, idx):
        x, y = batch
        loss = self.criterion(self(x), y)
        self.log("train", loss)
        return loss
    def validation_step(self, batch, idx):
        x, y = batch
        self.log("val", self.criterion(self(x), y))
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=3)

class Trainer:
    def __init__(self, max_epochs): self.max_epochs = max_epochs
    def fit(self, module, train, val):
        opt, sched = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            module.train()
            for i, batch in enumerate(train):
                opt.zero_grad()
                loss = module.training_step(batch, i)
                loss.backward()
                opt.step()
            sched.step()
            module.eval()
            with torch.inference_mode():
                for i, batch in enumerate(val):
                    module.validation_step(batch, i)

torch.manual_seed(0)
x, y = torch.randn(120, 6), torch.randint(0, 3, (120,))
train = DataLoader(TensorDataset(x[:96], y[:96]), 16, shuffle=True)
Trainer(3).fit(Lit(), train, DataLoader(TensorDataset(x[96:], y[96:]), 12))
print("done")
""",
    "vq_ste": """
import torch
from torch import nn

class VQ(nn.Module):
    def __init__(self, n=8, d=4):
        super().__init__()
        self.book = nn.Embedding(n, d)
    def forward(self, z):
        dist = torch.cdist(z, self.book.weight)
        idx = dist.argmin(1)
        q = self.book(idx)
        loss = nn.functional.mse_loss(q, z.detach()) + 0.25 * nn.functional.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss

torch.manual_seed(0)
enc, dec, vq = nn.Linear(8, 4), nn.Linear(4, 8), VQ()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *vq.parameters()], lr=1e-3)
for step in range(20):
    x = torch.randn(32, 8)
    q, l = vq(enc(x))
    loss = nn.functional.mse_loss(dec(q), x) + l
    opt.zero_grad(); loss.backward(); opt.step()
print("done")
""",
    "moe_topk": """
import torch
from torch import nn

class MoE(nn.Module):
    def __init__(self, d=8, n=4, k=2):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, d)) for _ in range(n)
        )
        self.k = k
    def forward(self, x):
        w, idx = self.gate(x).softmax(-1).topk(self.k, dim=-1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, e in enumerate(self.experts):
            rows, slot = torch.where(idx == i)
            if rows.numel():
                out = out.index_add(0, rows, w[rows, slot].unsqueeze(1) * e(x[rows]))
        return out

torch.manual_seed(0)
m = MoE()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for step in range(20):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(m(x), x.roll(1, 1))
    opt.zero_grad(); loss.backward(); opt.step()
print("done")
""",
    "pinn": """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.rand(32, 1, requires_grad=True)
    u = net(x)
    du, = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
    ddu, = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)
    residual = ddu + torch.sin(x)
    boundary = net(torch.zeros(1, 1)).square() + net(torch.ones(1, 1)).square()
    loss = residual.square().mean() + boundary.mean()
    opt.zero_grad(); loss.backward(); opt.step()
print("done")
""",
    "ppo": """
import torch
from torch import nn
from torch.distributions import Normal

class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))
    def dist(self, s):
        return Normal(self.pi(s), self.log_std.exp())
    def forward(self, s):
        return self.dist(s), self.v(s).squeeze(-1)

torch.manual_seed(0)
ac = AC()
opt = torch.optim.Adam(ac.parameters(), lr=3e-4)
for it in range(5):
    states, actions, logps, rewards, values = [], [], [], [], []
    s = torch.randn(3)
    with torch.no_grad():
        for t in range(32):
            d, v = ac(s)
            a = d.sample()
            states.append(s); actions.append(a); logps.append(d.log_prob(a).sum()); values.append(v)
            rewards.append(-float(a.abs().sum())); s = torch.randn(3)
    states, actions, old = torch.stack(states), torch.stack(actions), torch.stack(logps)
    ret = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    adv = ret - torch.stack(values)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(3):
        for idx in torch.randperm(32).split(16):
            d, v = ac(states[idx])
            ratio = (d.log_prob(actions[idx]).sum(-1) - old[idx]).exp()
            clipped = ratio.clamp(0.8, 1.2)
            pl = -torch.min(ratio * adv[idx], clipped * adv[idx]).mean()
            vl = nn.functional.mse_loss(v, ret[idx])
            loss = pl + 0.5 * vl - 0.01 * d.entropy().mean()
            opt.zero_grad(); loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
            opt.step()
print("done")
""",
    "freeze_unfreeze": """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.head = nn.Linear(16, 2)
    def forward(self, x):
        return self.head(self.backbone(x))
    def set_frozen(self, frozen):
        for p in self.backbone.parameters():
            p.requires_grad = not frozen

torch.manual_seed(0)
m = Model()
m.set_frozen(True)
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for epoch in range(6):
    if epoch == 3:
        m.set_frozen(False)
    for _ in range(4):
        x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(m(x), y).backward()
        opt.step()
print("done")
""",
    "soft_labels": """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(6, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def mixup(x, y, lam):
    perm = torch.randperm(len(x))
    t = F.one_hot(y, 4).float()
    return lam * x + (1 - lam) * x[perm], lam * t + (1 - lam) * t[perm]
for step in range(20):
    x, y = torch.randn(32, 6), torch.randint(0, 4, (32,))
    mx, my = mixup(x, y, 0.7)
    loss = F.cross_entropy(model(mx), my)
    opt.zero_grad(); loss.backward(); opt.step()
print("done")
""",
    "style_transfer": """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
net.eval().requires_grad_(False)
content = torch.rand(1, 3, 16, 16)
image = torch.rand(1, 3, 16, 16).requires_grad_(True)
opt = torch.optim.Adam([image], lr=0.02)
with torch.no_grad():
    wanted = net(content)
for step in range(20):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(image), wanted)
    loss.backward()
    opt.step()
    with torch.no_grad():
        image.clamp_(0, 1)
print("done")
""",
    "swa": """
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
swa = AveragedModel(model)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=6)
swa_sched = SWALR(opt, swa_lr=0.02)
for epoch in range(8):
    for _ in range(4):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad(); loss.backward(); opt.step()
    if epoch >= 5:
        swa.update_parameters(model)
        swa_sched.step()
    else:
        sched.step()
with torch.no_grad():
    print(swa(torch.randn(2, 4)).shape)
""",
    "cosine_per_step": """
import torch
from torch import nn

def main(steps=60):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        x = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

main()
""",
    "saliency": """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
x = torch.randn(4, 8, requires_grad=True)
scores = model(x)
scores.max(1).values.sum().backward()
print(x.grad.abs().max(1).values.shape)
""",
    "deepdream_opt_image": """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
image = torch.rand(1, 3, 8, 8, requires_grad=True)
opt = torch.optim.Adam([image], lr=0.05)
for _ in range(10):
    opt.zero_grad()
    loss = -net(image).mean()
    loss.backward()
    opt.step()
print("ok")
""",
    "inplace_util_clean": """
import torch
from torch import nn

def clip_weights(module, c):
    for p in module.parameters():
        p.data.clamp_(-c, c)

def augment(x):
    x = x.clone()
    x[:, 0] = 0
    x += 0.01
    return x

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
data = torch.randn(16, 4)
for _ in range(6):
    opt.zero_grad()
    net(augment(data)).square().mean().backward()
    opt.step()
    clip_weights(net, 0.5)
print(data.mean().item() < 10)
""",
    "seeded_runs_clean": """
import torch
from torch import nn

def run(seed, lr):
    torch.manual_seed(seed)
    net = nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters(), lr)
    for _ in range(8):
        x = torch.randn(8, 4)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), x[:, :1])
        loss.backward()
        opt.step()
    return loss.item()

results = {lr: run(0, lr) for lr in (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)}
for lr in results:
    run(0, lr)
print(len(results))
""",
    "contiguous_needed": """
import torch
from torch import nn

torch.manual_seed(0)
lin = nn.Linear(64, 64)
opt = torch.optim.SGD(lin.parameters(), 0.01)
for step in range(12):
    x = torch.randn(64, 32, 64)
    y = lin(x).permute(1, 0, 2).contiguous().view(32, -1)
    loss = y.square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print("ok")
""",
    "best_deepcopied": """
import copy
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
best, best_model = float("inf"), None
before = model.weight.detach().clone()
for step in range(10):
    x = torch.randn(16, 3)
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    opt.zero_grad(); loss.backward(); opt.step()
    if loss.item() < best:
        best, best_model = loss.item(), copy.deepcopy(model)
print(torch.equal(before, model.weight), best_model is model)
""",
    "opt_in_epoch": """
import torch
from torch import nn

def train_epoch(model, batches, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for x, y in batches:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()

torch.manual_seed(0)
model = nn.Linear(4, 1)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(6)]
for epoch in range(4):
    train_epoch(model, batches, 1e-2)
print("ok")
""",
}
