"""Programs beside the traps that look like them, and in which nothing is wrong."""

CLEAN = {
    "ste": """
import torch
from torch import nn
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.round()
    @staticmethod
    def backward(ctx, g): return g
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.view_as(x)
    @staticmethod
    def backward(ctx, g): return -g
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x); return x * torch.sigmoid(x)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors; s = torch.sigmoid(x); return g * (s + x * s * (1 - s))
torch.manual_seed(0)
l = nn.Linear(4, 4)
o = torch.optim.SGD(l.parameters(), 0.01)
for i in range(10):
    out = Reverse.apply(Swish.apply(Round.apply(l(torch.randn(8, 4)))))
    loss = out.pow(2).mean()
    l.zero_grad(); loss.backward(); o.step()
policy = nn.Linear(3, 2)
po = torch.optim.Adam(policy.parameters(), 1e-2)
for ep in range(5):
    logp, rew = [], []
    for t in range(12):
        d = torch.distributions.Categorical(logits=policy(torch.randn(3)))
        a = d.sample(); logp.append(d.log_prob(a)); rew.append(float(a))
    loss = -(torch.stack(logp) * torch.tensor(rew)).sum()
    po.zero_grad(); loss.backward(); po.step()
""",
    "accumulate": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.StepLR(opt, 5)
x, y = torch.randn(256, 8), torch.randint(0, 3, (256,))
losses = []
for epoch in range(6):
    net.train()
    opt.zero_grad()
    for i in range(0, 256, 32):
        loss = nn.functional.cross_entropy(net(x[i:i+32]), y[i:i+32]) / 4
        loss.backward()
        if (i // 32 + 1) % 4 == 0:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    sched.step()
    net.eval()
    with torch.no_grad():
        out = net(x)
        losses.append(nn.functional.cross_entropy(out, y))
        acc = (out.argmax(1) == y).float().mean()
    print(epoch, float(losses[-1]), acc.item())
""",
    "gan": """
import torch
from torch import nn, optim
torch.manual_seed(1)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = optim.Adam(G.parameters(), 1e-3), optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(30):
    real = torch.randn(32, 2) + 2
    fake = G(torch.randn(32, 4))
    od.zero_grad()
    d = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    d.backward()
    od.step()
    og.zero_grad()
    g = bce(D(fake), torch.ones(32, 1))
    g.backward()
    og.step()
G.eval()
with torch.no_grad():
    print(G(torch.randn(3, 4)).shape)
""",
    "finetune": """
import torch, copy
from torch import nn
class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 10)
    def forward(self, x):
        return self.head(torch.relu(self.bn(self.conv(x))).mean((2, 3)))
torch.manual_seed(0)
m = Backbone()
for p in m.conv.parameters():
    p.requires_grad_(False)
m.head = nn.Linear(4, 2)
opt = torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.1, momentum=0.9)
best, best_loss = None, 1e9
x, y = torch.randn(64, 1, 8, 8), torch.randint(0, 2, (64,))
for epoch in range(5):
    m.train()
    total = 0.0
    for i in range(4):
        opt.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(m(x[i*16:(i+1)*16]), y[i*16:(i+1)*16])
        loss.backward()
        opt.step()
        total += loss.item()
    m.eval()
    with torch.inference_mode():
        val = nn.functional.cross_entropy(m(x), y).item()
    if val < best_loss:
        best_loss, best = val, copy.deepcopy(m.state_dict())
m.load_state_dict(best)
import io; file = io.BytesIO()
torch.save(m.state_dict(), file)
file.seek(0)
m.load_state_dict(torch.load(file))
""",
    "attention": """
import math, torch
from torch import nn
import torch.nn.functional as F
class Attn(nn.Module):
    def __init__(self, c, h):
        super().__init__()
        self.h = h
        self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).bool())
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (z.view(b, t, self.h, c // self.h).transpose(1, 2) for z in (q, k, v))
        a = q @ k.transpose(-2, -1) / math.sqrt(c // self.h)
        a = a.masked_fill(~self.mask[:t, :t], float("-inf"))
        a = F.dropout(F.softmax(a, -1), 0.1, training=self.training)
        return self.out((a @ v).transpose(1, 2).reshape(b, t, c))
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(20, 32), nn.Parameter(torch.zeros(16, 32))
        self.blocks = nn.ModuleList([Attn(32, 4) for _ in range(2)])
        self.ln, self.head = nn.LayerNorm(32), nn.Linear(32, 20)
    def forward(self, t):
        x = self.emb(t) + self.pos[: t.shape[1]]
        for b in self.blocks:
            x = x + b(self.ln(x))
        return self.head(x)
torch.manual_seed(0)
m = LM(); opt = torch.optim.AdamW(m.parameters(), 1e-3)
sch = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=30)
for s in range(30):
    t = torch.randint(0, 20, (8, 17))
    logits = m(t[:, :-1])
    loss = F.cross_entropy(logits.view(-1, 20), t[:, 1:].reshape(-1))
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step(); sch.step()
m.eval()
out = torch.zeros(1, 1, dtype=torch.long)
with torch.no_grad():
    for _ in range(70):
        p = F.softmax(m(out[:, -16:])[:, -1], -1)
        out = torch.cat([out, torch.multinomial(p, 1)], 1)
print(out.shape)
""",
    "rnn": """
import torch
from torch import nn
torch.manual_seed(0)
rnn, head = nn.LSTM(3, 16, batch_first=True), nn.Linear(16, 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], 1e-2)
state = None
hist = []
for step in range(20):
    x = torch.randn(4, 10, 3)
    y = x.sum((1, 2)).unsqueeze(1)
    out, state = rnn(x, state)
    state = tuple(s.detach() for s in state)
    loss = nn.MSELoss()(head(out[:, -1]), y)
    opt.zero_grad(); loss.backward()
    nn.utils.clip_grad_value_(rnn.parameters(), 0.5)
    opt.step()
    hist.append(loss.item())
print(hist[-1])
""",
    "trainer": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split
class Data(Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(200, 5, generator=g); self.y = (self.x.sum(1) > 0).float()
    def __len__(self): return 200
    def __getitem__(self, i): return self.x[i], self.y[i]
class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, 5)
        self.log = []
    def train_epoch(self, loader):
        self.model.train()
        for x, y in loader:
            self.opt.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(1), y)
            loss.backward()
            self.opt.step()
            self.log.append(loss.detach())
        self.sched.step()
    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = sum(((self.model(x).squeeze(1) > 0) == (y > 0)).sum().item() for x, y in loader)
        return hits / len(loader.dataset)
torch.manual_seed(0)
tr, va = random_split(Data(), [160, 40])
t = Trainer(nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1)), 0.1)
for e in range(5):
    t.train_epoch(DataLoader(tr, 16, shuffle=True)); print(t.evaluate(DataLoader(va, 16)))
""",
    "vae": """
import torch
from torch import nn
import torch.nn.functional as F
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(20, 8), nn.Linear(4, 20)
    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return torch.sigmoid(self.dec(z)), mu, lv
torch.manual_seed(0)
m = VAE(); o = torch.optim.RMSprop(m.parameters(), 1e-3)
for i in range(25):
    x = torch.rand(32, 20)
    r, mu, lv = m(x)
    loss = F.binary_cross_entropy(r, x, reduction="sum") - 0.5 * (1 + lv - mu**2 - lv.exp()).sum()
    o.zero_grad(); loss.backward(); o.step()
print(loss.item() > 0)
""",
    "contrastive": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
ema = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
ema.load_state_dict(enc.state_dict())
for p in ema.parameters(): p.requires_grad_(False)
o = torch.optim.Adam(enc.parameters(), 1e-3)
for i in range(20):
    x = torch.randn(16, 10); lab = torch.randint(0, 4, (16,))
    z = F.normalize(enc(x), dim=1)
    with torch.no_grad(): k = F.normalize(ema(x), dim=1)
    sim = z @ k.t() / 0.1
    pos = (lab.unsqueeze(1) == lab.unsqueeze(0)).float()
    loss = -(F.log_softmax(sim, 1) * pos).sum(1).div(pos.sum(1)).mean()
    loss = loss + F.cross_entropy(sim, torch.arange(16))
    o.zero_grad(); loss.backward(); o.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), enc.parameters()): a.mul_(0.99).add_(b, alpha=0.01)
d = (x[:, :1] - x[:, 0]).abs().mean()
onehot = (lab[:, None] == torch.arange(4)).sum()
at = (slice(None), None)
apart = (x[:, 0][at] - torch.randn(16)).abs().mean()
""",
    "amp": """
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 1))
opt = torch.optim.AdamW(m.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 10))
for s in range(20):
    x = torch.randn(32, 6); y = x.sum(1, keepdim=True)
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(m(x).float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    scaler.step(opt); scaler.update(); warm.step()
""",
    "gan_of_two_losses": """
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
    "attention_by_hand": """
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
    "accumulate_divided": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(40):
    x = torch.randn(8, 3)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)) / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        opt.step(); opt.zero_grad()
""",
    "mil_attention_pool": """
import torch
from torch import nn
torch.manual_seed(0)
class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 3); self.out = nn.Linear(24, 1)
    def forward(self, bag):
        a = torch.softmax(self.score(bag), dim=0)
        return self.out((a.T @ bag).flatten())
net = Pool(); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(30):
    bag = torch.randn(10, 8)
    loss = (net(bag) - bag.mean()).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "causal_masks": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
T = 6
q = nn.Linear(8, 8); opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for i in range(5):
    x = torch.randn(2, T, 8)
    h = q(x)
    blocked = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
    w = (h @ h.mT).masked_fill(blocked, float("-inf")).softmax(-1)
    tril = torch.tril(torch.ones(T, T))
    w2 = (h @ h.mT).masked_fill(tril == 0, float("-inf")).softmax(-1)
    y = F.scaled_dot_product_attention(h, h, h, attn_mask=~blocked)
    loss = (w @ h + w2 @ h + y - x).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "sorted_validation": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(120, 4); y = torch.arange(120) // 40
train = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
test = DataLoader(TensorDataset(torch.randn(60, 4), torch.arange(60) // 20), batch_size=10)
net = nn.Linear(4, 3); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    net.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for xb, yb in test:
            right += (net(xb).argmax(1) == yb).sum().item()
print(right > 0)
""",
    "infinite_iterator": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 3)), batch_size=8, shuffle=True)
net = nn.Linear(3, 3); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
it = iter(loader)
for step in range(17):
    try:
        (x,) = next(it)
    except StopIteration:
        it = iter(loader)
        (x,) = next(it)
    loss = (net(x) - x).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "hooks_with_handles": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
def features(x):
    kept = []
    handle = net[0].register_forward_hook(lambda m, a, o: kept.append(o.detach()))
    with torch.no_grad():
        net(x)
    handle.remove()
    return kept[0]
net.eval()
print(sum(features(torch.randn(2, 3)).shape[0] for _ in range(8)))
""",
    "hooks_on_every_layer": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(8)])
seen = []
for m in net:
    m.register_forward_hook(lambda m, a, o: seen.append(o.shape))
with torch.no_grad():
    net(torch.ones(1, 4))
print(len(seen))
""",
    "lora_zero_b": """
import torch
from torch import nn
torch.manual_seed(0)
class LoRA(nn.Module):
    def __init__(self, base, r):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.b = nn.Parameter(torch.zeros(base.out_features, r))
    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T
net = nn.Sequential(LoRA(nn.Linear(6, 6), 2), nn.ReLU(), LoRA(nn.Linear(6, 2), 2))
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for i in range(20):
    x = torch.randn(16, 6)
    loss = (net(x) - x[:, :2]).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "retained_gradient": """
import torch
x = torch.ones(3, requires_grad=True)
h = x * 2
h.retain_grad()
h.square().sum().backward()
print(h.grad, x.grad)
""",
    "arrays_copied": """
import numpy as np
import torch
frame = np.zeros((4, 4), dtype=np.float32)
stack = []
for t in range(6):
    frame[:] = t
    stack.append(torch.from_numpy(frame.copy()))
print(torch.stack(stack).mean().item())
total = 0.0
for t in range(6):
    frame[:] = t
    x = torch.from_numpy(frame)
    total += x.mean().item()
print(total)
""",
    "masked_updates": """
import torch
x = torch.randn(10)
x[x < 0] = 0
x[2:5].fill_(1.0)
x[torch.tensor([0, 1])] += 1
rows = x.view(2, 5)
rows[0][1] = 3.0
y = x[x > 1].clamp_(max=2.0)
print(y.max().item() <= 2)
""",
    "parameters_of_a_distribution": """
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
x = 2 + torch.randn(400)
loc = nn.Parameter(torch.zeros(1))
scale = nn.Parameter(torch.zeros(1))
opt = torch.optim.LBFGS([loc, scale], line_search_fn="strong_wolfe")
def closure():
    opt.zero_grad()
    loss = -Normal(loc, scale.exp()).log_prob(x).mean()
    loss.backward()
    return loss
for _ in range(3):
    print(round(opt.step(closure).item(), 3))
""",
    "scaled_by_zero": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
weight = 0.0  # of the penalty, off in this run
for step in range(40):
    penalty = weight * net(torch.randn(8, 4)).square().mean()
    opt.zero_grad()
    (1.0 + penalty).backward()
    opt.step()
print(penalty.item())
""",
    "custom_function": """
import torch
class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward(x); ctx.lo, ctx.hi = lo, hi
        return x.clamp(lo, hi)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ((x >= ctx.lo) & (x <= ctx.hi)), None, None
x = torch.linspace(-2, 2, 9, requires_grad=True)
Clip.apply(x, -1.0, 1.0).sum().backward()
print(x.grad.sum().item())
""",
    "annotated_trainer": """
import torch
from torch import nn, Tensor
from dataclasses import dataclass
@dataclass
class Config:
    lr: float = 1e-2
    epochs: int = 3
class Trainer:
    def __init__(self, cfg: Config) -> None:
        self.cfg: Config = cfg
        self.net: nn.Module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
        self.opt: torch.optim.Optimizer = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)
        self.history: list[float] = []
    def training_step(self, x: Tensor, y: Tensor) -> float:
        self.opt.zero_grad()
        loss: Tensor = nn.functional.mse_loss(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()
    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        self.net.eval()
        out: Tensor = self.net(x)
        self.net.train()
        return nn.functional.mse_loss(out, y).item()
    def fit(self) -> None:
        for epoch in range(self.cfg.epochs):
            for _ in range(5):
                x: Tensor = torch.randn(16, 4)
                self.history.append(self.training_step(x, x.sum(1, keepdim=True)))
            x = torch.randn(16, 4)
            self.evaluate(x, x.sum(1, keepdim=True))
torch.manual_seed(0)
Trainer(Config()).fit()
""",
    "distance_matrix": """
import torch
torch.manual_seed(0)
a = torch.randn(6, 3, requires_grad=True)
d = (a[:, None] - a[None]).square().sum(-1)
k = torch.exp(-d)
n = a.norm(dim=1, keepdim=True)
cos = (a @ a.T) / (n * n.T)
w = torch.rand(6)
pair = w[:, None] * w
loss = (k * pair).sum() + cos.mean()
loss.backward()
print(a.grad.shape)
""",
    "expand_read": """
import torch
b = torch.zeros(3, 1)
t = b.expand(3, 4)
u = t.clone(); u[0, 0] = 1.0
v = torch.zeros(3, 4); v[0, :] = t[0]
print(u.sum().item(), v.sum().item())
""",
    "scratch_returned_repaired": """
import torch
from torch.utils.data import Dataset, DataLoader
class Ramp(Dataset):
    def __init__(self):
        self.buf = torch.zeros(4)
    def __len__(self):
        return 32
    def __getitem__(self, i):
        self.buf.fill_(float(i))
        return self.buf.clone()
seen = set()
for x in DataLoader(Ramp(), batch_size=8):
    seen |= set(x[:, 0].tolist())
print(len(seen))
""",
    "scratch_pair_repaired": """
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
class Windows(Dataset):
    def __init__(self, series, width):
        self.series, self.width = series, width
        self.window = torch.empty(width)
    def __len__(self):
        return len(self.series) - self.width
    def __getitem__(self, i):
        self.window.copy_(self.series[i:i + self.width])
        return self.window.clone(), self.series[i + self.width]
torch.manual_seed(0)
net = nn.Linear(8, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
loader = DataLoader(Windows(torch.sin(torch.arange(200) * 0.1), 8), batch_size=16, shuffle=True)
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        loss.backward()
        opt.step()
print(round(loss.item(), 1) >= 0)
""",
    "scratch_numpy_repaired": """
import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader
class Noise(Dataset):
    def __init__(self):
        self.frame = np.zeros(6, dtype=np.float32)
    def __len__(self):
        return 24
    def __getitem__(self, i):
        self.frame[:] = i
        return torch.from_numpy(self.frame.copy())
print(sum(float(x.sum()) for x in DataLoader(Noise(), batch_size=6)))
""",
    "same_tensor_returned_repaired": """
import torch
class Env:
    def __init__(self):
        self.state = torch.zeros(4)
    def step(self):
        self.state += 0.1
        return self.state.clone()
env = Env()
history = []
for t in range(20):
    history.append(env.step())
states = torch.stack(history)
print("all equal:", bool((states[0] == states[-1]).all()))
""",
    "squeeze_last_batch_repaired": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(33, 4)
y = x.sum(1)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
preds = []
for xb, yb in DataLoader(TensorDataset(x, y), batch_size=8):
    out = net(xb).squeeze(-1)
    loss = nn.functional.mse_loss(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "lm_unshifted_repaired": """
import torch
from torch import nn
torch.manual_seed(0)
text = torch.randint(0, 20, (400,))
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 20)
    def forward(self, t):
        h, _ = self.rnn(self.emb(t))
        return self.head(h)
net = LM()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(12):
    at = torch.randint(0, 380, (8, 1)) + torch.arange(16)
    batch = text[at]
    logits = net(batch)
    loss = nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 20), batch[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "seed_in_getitem_repaired": """
import torch
from torch.utils.data import DataLoader, Dataset
class Noisy(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.full((4,), float(i)) + torch.randn(4, generator=g)
total = 0.0
for x in DataLoader(Noisy(), batch_size=8):
    total += x.sum().item()
print(round(total, 2))
""",
    "squeeze_clean": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
for n in (8, 8, 8):
    out = net(torch.randn(n, 4)).squeeze()
    nn.functional.mse_loss(out, torch.zeros(n)).backward()
    net.zero_grad()
x = torch.randn(1, 1, 5).squeeze()
s = torch.ones(1, 1).squeeze()
print(x.shape, s.item())
for q in (torch.randn(1, 3, 8, 8), torch.randn(3, 8, 8), torch.randn(1, 8, 8)):
    print(q.squeeze().shape)
def shown(image):
    return image.squeeze()
print([shown(torch.rand(n, 8, 8)).dim() for n in (1, 3, 1)])
""",
    "autoencoder_tokens": """
import torch
from torch import nn
torch.manual_seed(0)
class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.enc = nn.GRU(8, 8, batch_first=True)
        self.dec = nn.GRU(8, 8, batch_first=True)
        self.head = nn.Linear(8, 20)
    def forward(self, t):
        _, h = self.enc(self.emb(t))
        out, _ = self.dec(self.emb(torch.roll(t, 1, 1)), h)
        return self.head(out)
net = AE()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(10):
    t = torch.randint(0, 20, (8, 6))
    opt.zero_grad()
    nn.functional.cross_entropy(net(t).transpose(1, 2), t).backward()
    opt.step()
""",
    "masked_lm": """
import torch
from torch import nn
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
net = nn.Sequential(nn.Embedding(21, 16), layer, nn.Linear(16, 21))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(10):
    t = torch.randint(0, 20, (8, 12))
    hidden = torch.rand(8, 12) < 0.15
    hidden[:, 0] = True
    given = t.masked_fill(hidden, 20)
    labels = t.masked_fill(~hidden, -100)
    opt.zero_grad()
    nn.functional.cross_entropy(net(given).transpose(1, 2), labels).backward()
    opt.step()
""",
    "tied_kept": """
import copy
import torch
from torch import nn
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.emb.weight
    def forward(self, t):
        return self.head(self.emb(t))
torch.manual_seed(0)
net = LM()
nn.init.normal_(net.emb.weight, std=0.02)
best = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    t = torch.randint(0, 20, (8, 9))
    opt.zero_grad()
    nn.functional.cross_entropy(net(t[:, :-1]).reshape(-1, 20), t[:, 1:].reshape(-1)).backward()
    opt.step()
best.load_state_dict(net.state_dict())
net.to(torch.float32)
""",
    "hook_keeps_for_a_probe": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
probe, kept = nn.Linear(8, 2), {}
def keep(module, args, output):
    kept["relu"] = output.detach()
net[1].register_forward_hook(keep)
opt = torch.optim.SGD([*net.parameters(), *probe.parameters()], lr=0.1)
for _ in range(6):
    opt.zero_grad()
    loss = net(torch.randn(8, 4)).square().mean()
    (loss + probe(kept["relu"]).square().mean()).backward()
    opt.step()
""",
    "hook_adds": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
net[0].register_forward_hook(lambda m, a, out: out + 0.1 * torch.randn_like(out))
net[2].weight.register_hook(lambda g: g.clamp(-1, 1))
seen = []
net[1].register_forward_hook(lambda m, a, out: seen.append(out.detach()))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    opt.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    opt.step()
""",
    "seeded_per_item": """
import torch
from torch.utils.data import DataLoader, Dataset
class Noisy(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, i):
        torch.manual_seed(i)
        return torch.full((4,), float(i)) + torch.randn(4)
total = 0.0
for x in DataLoader(Noisy(), batch_size=8):
    total += x.sum().item()
def build():
    torch.manual_seed(1)
    return torch.nn.Linear(3, 3)
a, b, c = build(), build(), build()
print(torch.equal(a.weight, b.weight), round(total, 2))
""",
    "slot_attention": """
import torch
from torch import nn
class Slots(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, d)
        self.slots = nn.Parameter(torch.randn(1, 4, d) * 0.1)
    def forward(self, x):
        s = self.q(self.slots.expand(x.size(0), -1, -1))
        w = torch.softmax(s @ self.k(x).transpose(1, 2) / 4.0, dim=1)
        w = w / w.sum(-1, keepdim=True)
        return self.out(w @ self.v(x)).mean(1)
torch.manual_seed(0)
net = Slots()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(8, 10, 16)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x.mean(1))
    loss.backward()
    opt.step()
print("ok")
""",
    "linear_attention": """
import torch
from torch import nn
class Lin(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = q.softmax(dim=-1), k.softmax(dim=1)
        context = k.transpose(1, 2) @ v
        return x + self.out(q @ context)
torch.manual_seed(0)
net = Lin()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(8, 10, 16)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x.flip(1))
    loss.backward()
    opt.step()
print("ok")
""",
    "gan_shared_step": """
import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
def update(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()
for step in range(12):
    for _ in range(3):
        real = torch.randn(8, 2) + 3
        fake = G(torch.randn(8, 4)).detach()
        update(od, bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1)))
    update(og, bce(D(G(torch.randn(8, 4))), torch.ones(8, 1)))
print("ok")
""",
    "frozen_bn_eval": """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(4, 2)
    def train(self, mode=True):
        super().train(mode)
        self.features.eval()
        return self
    def forward(self, x):
        return self.head(self.features(x))
torch.manual_seed(0)
net = Net()
for p in net.features.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
for epoch in range(5):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(torch.randn(8, 1, 6, 6)), torch.randint(2, (8,)))
    loss.backward()
    opt.step()
print("ok")
""",
    "ignore_index": """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
torch.manual_seed(0)
rows = [torch.randint(1, 20, (int(n),)) for n in torch.randint(4, 12, (40,))]
def collate(batch):
    t = pad_sequence(batch, batch_first=True)
    return t[:, :-1], t[:, 1:]
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.head = nn.Linear(16, 20)
    def forward(self, t):
        return self.head(self.rnn(self.embed(t))[0])
model = LM()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for x, y in DataLoader(rows, batch_size=8, shuffle=True, collate_fn=collate):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y, ignore_index=0)
        loss.backward()
        opt.step()
print("ok")
""",
    "attention_dropout": """
import math
import torch
from torch import nn
class Head(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(d, 2)
    def forward(self, x):
        n = x.size(1)
        s = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(x.size(-1))
        s = s.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
        return self.out((self.drop(s.softmax(-1)) @ self.v(x)).mean(1))
torch.manual_seed(0)
net = Head()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(6):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(torch.randn(8, 6, 16)), torch.randint(2, (8,)))
    loss.backward()
    opt.step()
print("ok")
""",
    "history_object": """
import torch
from torch import nn
class History:
    def __init__(self):
        self.losses, self.outputs = [], []
class Fit:
    def __init__(self, model):
        self.model, self.history = model, History()
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)
    def batch(self, x, y):
        pred = self.model(x)
        loss = nn.functional.mse_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.losses.append(loss.item())
        self.history.outputs.append(pred.detach())
torch.manual_seed(0)
fit = Fit(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
for _ in range(40):
    fit.batch(torch.randn(16, 32), torch.randn(16, 1))
print(len(fit.history.losses))
""",
    "custom_init": """
import torch
from torch import nn
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(16, 32) / 4)
        self.w2 = nn.Parameter(torch.randn(32, 5) / 32 ** 0.5)
    def forward(self, x):
        return torch.relu(x @ self.w1) @ self.w2
torch.manual_seed(0)
net = MLP()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(16, 16)
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), x[:, :5].argmax(1)).backward()
    opt.step()
print("ok")
""",
    "all_ones_pad_tagger_with_o": """
import torch
from torch import nn
torch.manual_seed(0)
t = torch.randint(1, 15, (48, 10))
n = torch.randint(5, 10, (48, 1))
t[torch.arange(10)[None] >= n] = 0
y = (t % 3 == 1).long()
model = nn.Sequential(nn.Embedding(15, 8, padding_idx=0), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(t).reshape(-1, 2), y.reshape(-1))
    loss.backward()
    opt.step()
print("ok")
""",
    "folds": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(90, 4), torch.randn(90, 1))
order = torch.randperm(90).tolist()
for fold in range(3):
    held = order[fold * 30:(fold + 1) * 30]
    rest = [i for i in order if i not in held]
    train = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(rest))
    valid = DataLoader(Subset(data, held), batch_size=10)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for x, y in train:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            print(fold, sum(nn.functional.mse_loss(model(x), y).item() for x, y in valid) / 3)
""",
    "rows_of_the_training_looked_at": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split
torch.manual_seed(0)
data = TensorDataset(torch.randn(100, 4), torch.randn(100, 1))
train_set, val_set = random_split(data, [80, 20])
train_loader = DataLoader(train_set, batch_size=10, shuffle=True)
train_eval_loader = DataLoader(train_set, batch_size=40)
few = DataLoader(Subset(train_set, range(20)), batch_size=20)
val_loader = DataLoader(val_set, batch_size=20)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        for loader in (train_eval_loader, few, val_loader):
            print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader) / len(loader))
with torch.no_grad():
    everything = torch.cat([model(x) for x, _ in DataLoader(data, batch_size=25)])
print(everything.shape)
""",
    "points_that_repeat": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
corners = torch.tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]])
def draw(n):
    x = corners[torch.randint(4, (n,))]
    return TensorDataset(x, (x.sum(1) == 1).long())
train_loader = DataLoader(draw(80), batch_size=16, shuffle=True)
val_loader = DataLoader(draw(16), batch_size=16)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print([(model(x).argmax(1) == y).float().mean().item() for x, y in val_loader])
""",
    "pairs_both_ways": """
import torch
from torch import nn
torch.manual_seed(0)
images, texts = nn.Linear(8, 6), nn.Linear(5, 6)
opt = torch.optim.Adam([*images.parameters(), *texts.parameters()], lr=0.01)
hidden = torch.randn(64, 4)
a, b = hidden @ torch.randn(4, 8), hidden @ torch.randn(4, 5)
for step in range(8):
    rows = torch.randperm(64)[:16]
    scores = images(a[rows]) @ texts(b[rows]).T
    labels = torch.arange(16)
    loss = (nn.functional.cross_entropy(scores, labels)
            + nn.functional.cross_entropy(scores.T, labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    best = (scores.argmax(dim=0) == labels).sum().item(), (scores.argmax(1) == labels).sum().item()
print(best)
""",
    "votes_of_models": """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(30, 4)
y = (x[:, 0] > 0).long()
model = nn.Linear(4, 2)
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(6):
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    accuracy = (out.argmax(1) == y).float().mean().item()
    columns = out.detach().T
    accuracy_again = (columns.argmax(0) == y).float().mean().item()
    surest = out.max(0).indices
print(accuracy == accuracy_again, surest.shape)
""",
    "rows_counted": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(300, 6)
y = (x[:, 0] > 0).long()
y[-3:] = 1 - y[-3:]
train = DataLoader(TensorDataset(x[:210], y[:210]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[210:], y[210:]), batch_size=32)
model = nn.Linear(6, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    running = 0.0
    for xb, yb in train:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    total, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in valid:
            scores = model(xb)
            total += criterion(scores, yb).item() * len(xb)
            correct += (scores.argmax(1) == yb).sum().item()
            count += len(xb)
    print(running / len(train), total / len(valid.dataset), correct / count)
""",
    "sums_of_losses": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(100, 6)
y = x.sum(1, keepdim=True) + torch.randn(100, 1)
train = DataLoader(TensorDataset(x[:60], y[:60]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[60:], y[60:]), batch_size=32)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    losses = []
    with torch.no_grad():
        for xb, yb in valid:
            losses.append(nn.functional.mse_loss(model(xb), yb, reduction="sum").item())
    print(sum(losses) / len(valid.dataset))
""",
    "batches_alike": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(200, 6)
y = x.sum(1, keepdim=True) + torch.randn(200, 1)
train = DataLoader(TensorDataset(x[:110], y[:110]), batch_size=20, drop_last=True)
valid = DataLoader(TensorDataset(x[110:], y[110:]), batch_size=30)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(xb), yb).item() for xb, yb in valid)
        losses = []
        for xb, yb in valid:
            losses.append(nn.functional.mse_loss(model(xb), yb).item())
    print(total / len(valid), sum(losses) / len(losses))
""",
    "padding_hidden": """
import torch
from torch import nn
torch.manual_seed(0)
ids = torch.randint(1, 30, (24, 9))
ids[torch.arange(9)[None] >= torch.randint(3, 9, (24, 1))] = 0
embed = nn.Embedding(30, 16, padding_idx=0)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
encoder, out = nn.TransformerEncoder(layer, 1), nn.Linear(16, 2)
model = nn.ModuleList([embed, encoder, out])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
attention_mask = (ids != 0).long()
for step in range(5):
    h = encoder(embed(ids), src_key_padding_mask=attention_mask == 0)
    loss = nn.functional.cross_entropy(out(h[:, 0]), ids[:, 0] % 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "padded_on_the_left": """
import torch
from torch import nn
torch.manual_seed(0)
ids = torch.randint(3, 30, (24, 9))
for row, n in zip(ids, torch.randint(3, 10, (24,)).tolist()):
    row[:9 - n] = 0
attention_mask = (ids != 0).long()
position_ids = (attention_mask.cumsum(1) - 1).clamp(min=0)
embed, at, out = nn.Embedding(30, 16), nn.Embedding(9, 16), nn.Linear(16, 2)
attention = nn.MultiheadAttention(16, 2, batch_first=True)
model = nn.ModuleList([embed, at, attention, out])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    x = embed(ids) + at(position_ids)
    h, _ = attention(x[:, -1:], x, x, key_padding_mask=~attention_mask.bool())
    loss = nn.functional.cross_entropy(out(h[:, 0]), ids[:, -1] % 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "masks_of_both_kinds": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
frames = torch.randn(16, 7, 8)
lengths = torch.randint(2, 8, (16,))
keep = torch.arange(7) < lengths[:, None]
frames = frames * keep[..., None]
q, k, v, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
model = nn.ModuleList([q, k, v, head])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    y = F.scaled_dot_product_attention(q(frames), k(frames), v(frames), attn_mask=keep[:, None])
    scores = (y * keep[..., None]).sum(-1) + (1 - keep.float()) * -1e9
    weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
    pooled = (weights.unsqueeze(1) @ y).squeeze(1)
    loss = F.mse_loss(head(pooled).squeeze(-1), frames.sum((1, 2)) / 8)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "masked_pretraining": """
import torch
from torch import nn
torch.manual_seed(0)
tokens = torch.randint(3, 30, (24, 8))
tokens[torch.arange(8)[None] >= torch.randint(4, 9, (24, 1))] = 0
embed = nn.Embedding(30, 16, padding_idx=0)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
encoder, out = nn.TransformerEncoder(layer, 1), nn.Linear(16, 30)
model = nn.ModuleList([embed, encoder, out])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    chosen = (torch.rand(tokens.shape) < 0.3) & (tokens != 0)
    chosen[:, 0] = True
    given = tokens.masked_fill(chosen, 2)
    labels = tokens.masked_fill(~chosen, -100)
    scores = out(encoder(embed(given), src_key_padding_mask=tokens == 0))
    loss = nn.functional.cross_entropy(scores.reshape(-1, 30), labels.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "numpy_row_drawn_twice": """
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
class Pairs(Dataset):
    def __init__(self):
        self.rows = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    def __len__(self):
        return 24
    def __getitem__(self, i):
        return torch.from_numpy(self.rows[i % 6]), torch.from_numpy(self.rows[i * i % 6])
for a, b in DataLoader(Pairs(), batch_size=24):
    print((a - b).square().sum().item() > 0)
""",
}
