"""Programs that fall into one trap each, and clean ones; the line at fault ends in ``#!``."""

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
    "zero_trainer": (
        "gradients-never-zeroed",
        """
from torch import nn, optim
import torch
class Loop:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
    def training_step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward() #!
        self.optimizer.step()
        return loss.item()
torch.manual_seed(0)
l = Loop()
for _ in range(12):
    l.training_step(torch.randn(16, 3), torch.randn(16, 1))
""",
    ),
    "zero_between": (
        "gradients-zeroed-before-step",
        """
import torch
from torch import nn
m = nn.Linear(3, 1)
optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
for i in range(5):
    loss = m(torch.randn(4, 3)).square().mean()
    loss.backward()
    optimizer.zero_grad() #!
    optimizer.step()
""",
    ),
    "clip_after_step": (
        "clip-at-wrong-place",
        """
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
m = nn.Linear(3, 1)
optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
def run():
    for i in range(5):
        optimizer.zero_grad()
        loss = m(torch.randn(4, 3)).square().mean()
        loss.backward()
        optimizer.step()
        clip_grad_norm_(m.parameters(), 1.0) #!
run()
""",
    ),
    "clip_value_scaled": (
        "clip-before-unscale",
        """
import torch
from torch import nn
from torch.amp import GradScaler
class T:
    def __init__(self):
        self.net = nn.Linear(3, 1); self.opt = torch.optim.SGD(self.net.parameters(), 0.1)
        self.scaler = GradScaler("cpu", init_scale=4096.0)
    def step(self, x):
        self.opt.zero_grad()
        self.scaler.scale(self.net(x).square().mean()).backward()
        torch.nn.utils.clip_grad_value_(self.net.parameters(), 0.5) #!
        self.scaler.step(self.opt)
        self.scaler.update()
t = T()
for _ in range(4): t.step(torch.randn(4, 3))
""",
    ),
    "params_dict": (
        "modules-in-plain-list",
        """
import torch
import torch.nn as nn
class Heads(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = {n: nn.Linear(4, 1) for n in names} #!
    def forward(self, x):
        z = torch.relu(self.trunk(x))
        return sum(h(z) for h in self.heads.values())
net = Heads(["a", "b"])
o = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    o.zero_grad(); net(torch.randn(4, 4)).square().mean().backward(); o.step()
""",
    ),
    "params_append": (
        "modules-in-plain-list",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [] #!
        for _ in range(2):
            self.layers.append(nn.Linear(4, 4))
        self.out = nn.Linear(4, 1)
    def forward(self, x):
        for l in self.layers: x = l(x).relu()
        return self.out(x)
net = Net()
o = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    o.zero_grad(); net(torch.randn(4, 4)).square().mean().backward(); o.step()
""",
    ),
    "params_plist": (
        "modules-in-plain-list",
        """
import torch
from torch import nn
class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 1)
        self.scales = [nn.Parameter(torch.ones(4)) for _ in range(2)] #!
    def forward(self, x):
        for s in self.scales: x = x * s
        return self.f(x)
net = Mix()
o = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    o.zero_grad(); net(torch.randn(4, 4)).square().mean().backward(); o.step()
""",
    ),
    "shared_seq": (
        "layer-repeated",
        """
import torch
from torch import nn
class Enc(nn.Module):
    def __init__(self, n):
        super().__init__()
        layer = nn.Linear(8, 8)
        self.net = nn.Sequential(*[layer] * n) #!
    def forward(self, x): return self.net(x)
print(sum(p.numel() for p in Enc(3).parameters()))
""",
    ),
    "optim_init_then_replace": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Linear(4, 8), nn.Linear(8, 10)
    def forward(self, x): return self.fc(self.body(x).relu())
def adapt(net, n):
    net.fc = nn.Linear(8, n)
def main():
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3) #!
    adapt(net, 2)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
main()
""",
    ),
    "optim_late_layer": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn
class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = None
    def forward(self, x):
        z = self.a(x).relu()
        if self.b is None:
            self.b = nn.Linear(z.shape[1], 1)
        return self.b(z)
net = Lazy()
opt = torch.optim.SGD(net.parameters(), 0.1) #!
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "nograd_with": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        with torch.no_grad(): #!
            z = self.enc(x)
            z = z.relu()
        return self.dec(z)
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "detach_mid": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        z = self.enc(x).relu()
        z = z.detach() #!
        return self.dec(z)
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "data_line": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
enc, dec = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for _ in range(4):
    opt.zero_grad()
    h = enc(torch.randn(8, 4))
    h = h.data #!
    dec(h).square().mean().backward()
    opt.step()
""",
    ),
    "buffer_std": (
        "tensor-not-a-buffer",
        """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.shift = torch.zeros(n) #!
        self.lin = nn.Linear(n, n)
    def observe(self, x):
        self.shift = x.mean(0)
    def forward(self, x): return self.lin(x - self.shift)
def build(): return Norm(3)
a = build(); a.observe(torch.randn(10, 3) + 4)
b = build()
b.load_state_dict(a.state_dict())
print(torch.equal(a.shift, b.shift))
""",
    ),
    "softmax_in_forward": (
        "loss-on-probabilities",
        """
import torch, torch.nn.functional as F
from torch import nn
class C(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(4, 3)
    def forward(self, x):
        return F.softmax(self.l(x), dim=-1) #!
m = C(); o = torch.optim.SGD(m.parameters(), 0.1); crit = nn.CrossEntropyLoss()
for _ in range(3):
    o.zero_grad(); crit(m(torch.randn(6, 4)), torch.randint(0, 3, (6,))).backward(); o.step()
""",
    ),
    "softmax_module": (
        "loss-on-probabilities",
        """
import torch
from torch import nn
def make():
    return nn.Sequential(
        nn.Linear(4, 3),
        nn.Softmax(dim=1), #!
    )
m = make()
loss = nn.functional.cross_entropy(m(torch.randn(5, 4)), torch.randint(0, 3, (5,)))
""",
    ),
    "sigmoid_bce": (
        "loss-on-probabilities",
        """
import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__(); self.f = nn.Linear(4, 1); self.act = nn.Sigmoid() #!
    def forward(self, x): return self.act(self.f(x)).squeeze(1)
loss = nn.BCEWithLogitsLoss()(M()(torch.randn(6, 4)), torch.ones(6))
""",
    ),
    "nll_func": (
        "loss-on-probabilities",
        """
import torch
import torch.nn.functional as F
p = torch.randn(4, 3).softmax(1) #!
print(F.nll_loss(p, torch.tensor([0, 1, 2, 0])))
""",
    ),
    "broadcast_mse": (
        "broadcast-comparison",
        """
import torch
from torch import nn
m = nn.Linear(3, 1); o = torch.optim.SGD(m.parameters(), 0.01)
crit = nn.MSELoss()
x = torch.randn(16, 3); y = x.sum(1)
for _ in range(3):
    pred = m(x)
    loss = crit(pred, y) #!
    o.zero_grad(); loss.backward(); o.step()
""",
    ),
    "broadcast_manual": (
        "broadcast-comparison",
        """
import torch
from torch import nn
m = nn.Linear(3, 1)
x = torch.randn(16, 3); y = x.sum(1)
loss = ((m(x) - y) ** 2).mean() #!
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
    "nan_mask": (
        "nan-made",
        """
import torch
import torch.nn.functional as F
from torch import nn
class Attn(nn.Module):
    def forward(self, q, k, mask):
        s = q @ k.transpose(-2, -1)
        s = s.masked_fill(mask == 0, float("-inf")) #!
        return F.softmax(s, dim=-1)
mask = torch.ones(2, 3, 3); mask[1] = 0
w = Attn()(torch.randn(2, 3, 4), torch.randn(2, 3, 4), mask)
print(w.isnan().any().item())
""",
    ),
    "nan_std": (
        "nan-made",
        """
import torch
def normalise(group):
    return (group - group.mean()) / group.std() #!
for g in (torch.randn(4), torch.randn(1)):
    print(normalise(g).sum())
""",
    ),
    "nan_log_where": (
        "nan-gradient",
        """
import torch
def f(p):
    return torch.where(p > 0, p * torch.log(p), 0.0) #!
p = torch.tensor([0.0, 0.5, 1.0], requires_grad=True)
f(p).sum().backward()
print(p.grad)
""",
    ),
    "nan_norm": (
        "nan-gradient",
        """
import torch
x = torch.zeros(3, requires_grad=True)
d = (x ** 2).sum().sqrt() #!
d.backward()
print(x.grad)
""",
    ),
    "reshape_nhwc": (
        "reshape-scrambles",
        """
import torch
def to_nchw(batch):
    n, h, w, c = batch.shape
    return batch.view(n, c, h, w) #!
print(to_nchw(torch.randn(2, 5, 6, 3)).shape)
""",
    ),
    "reshape_heads": (
        "reshape-scrambles",
        """
import torch
from torch import nn
class H(nn.Module):
    def __init__(self):
        super().__init__(); self.q = nn.Linear(12, 12)
    def forward(self, x):
        b, t, c = x.shape
        q = self.q(x).view(b, 3, t, 4) #!
        return q
print(H()(torch.randn(2, 5, 12)).shape)
""",
    ),
    "cat_func": (
        "cat-in-loop",
        """
import torch
def collect(n):
    out = None
    for i in range(n):
        row = torch.full((1, 32), float(i))
        size = 0 if out is None else out.numel()
        assert size == 32 * i
        out = row if out is None else torch.cat((out, row), dim=0) #!
    return out
print(collect(400).shape)
""",
    ),
    "sched_trainer": (
        "scheduler-per-batch",
        """
import torch
from torch import nn, optim
from torch.optim.lr_scheduler import ExponentialLR
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = optim.SGD(net.parameters(), 0.1)
        self.sched = ExponentialLR(self.opt, gamma=0.9)
    def epoch(self, batches):
        for x in batches:
            self.opt.zero_grad()
            self.net(x).square().mean().backward()
            self.opt.step()
            self.sched.step() #!
t = Trainer(nn.Linear(3, 1))
for e in range(4): t.epoch([torch.randn(4, 3) for _ in range(30)])
""",
    ),
    "sched_first": (
        "scheduler-before-optimizer",
        """
import torch, warnings
from torch import nn
warnings.simplefilter("ignore")
net = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 2)
for e in range(5):
    sched.step() #!
    opt.zero_grad()
    net(torch.randn(4, 3)).square().mean().backward()
    opt.step()
""",
    ),
    "sched_never": (
        "scheduler-never-stepped",
        """
import torch
from torch import nn
net = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 2) #!
for e in range(5):
    opt.zero_grad()
    net(torch.randn(4, 3)).square().mean().backward()
    opt.step()
""",
    ),
    "ckpt_prefix": (
        "nothing-loaded",
        """
import torch
from torch import nn
src = nn.DataParallel(nn.Linear(2, 2))
saved = src.state_dict()
net = nn.Linear(2, 2)
print(net.load_state_dict(saved, strict=False)) #!
""",
    ),
    "ckpt_best_loop": (
        "snapshot-is-alias",
        """
import torch
from torch import nn
def fit(net, opt):
    low, weights = 1e9, None
    for e in range(6):
        opt.zero_grad()
        loss = net(torch.ones(4, 2)).square().mean()
        loss.backward()
        if loss.item() < low:
            low = loss.item()
            weights = net.state_dict() #!
        opt.step()
    net.load_state_dict(weights)
net = nn.Linear(2, 1)
fit(net, torch.optim.SGD(net.parameters(), 0.1))
""",
    ),
    "whole_model": (
        "whole-model-saved",
        """
import torch, tempfile, os
from torch import nn
net = nn.Linear(2, 1)
torch.save(net, os.path.join(tempfile.mkdtemp(), "m.pt")) #!
""",
    ),
    "fn_constant": (
        "function-ignores-gradient",
        """
import torch
from torch.autograd import Function
class Sq(Function):
    @staticmethod
    def forward(ctx, inp):
        ctx.save_for_backward(inp)
        return inp * inp
    @staticmethod
    def backward(ctx, grad_output):
        inp, = ctx.saved_tensors
        return 2 * inp #!
w = torch.randn(5, requires_grad=True)
Sq.apply(w).mean().backward()
""",
    ),
    "fn_wrong": (
        "function-wrong-gradient",
        """
import torch
class Exp2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(2 * x); ctx.save_for_backward(y); return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y #!
w = torch.randn(5, requires_grad=True)
Exp2.apply(w).mean().backward()
""",
    ),
    "rng_random": (
        "generator-copied-to-workers",
        """
import random
from torch.utils.data import DataLoader, Dataset
class Aug(Dataset):
    def __init__(self, n):
        self.n = n
        self.gen = random.Random(7) #!
    def __len__(self): return self.n
    def __getitem__(self, k):
        return self.gen.random()
if __name__ == "__main__":
    for b in DataLoader(Aug(8), batch_size=2, num_workers=2): pass
""",
    ),
    "slow_getitem": (
        "loader-slower-than-model",
        """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
class D(Dataset):
    def __len__(self): return 32
    def __getitem__(self, k):
        x = torch.randn(4)
        y = self.parse(k) #!
        return x, y
    def parse(self, k):
        time.sleep(0.008)
        return torch.randn(1)
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
def train():
    for e in range(2):
        for x, y in DataLoader(D(), batch_size=8):
            opt.zero_grad(); nn.functional.mse_loss(net(x), y).backward(); opt.step()
train()
""",
    ),
    "seed_twice": (
        "loader-shifts-random-stream",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset
class Exp:
    def __init__(self, check):
        self.check = check
        self.valid = DataLoader(TensorDataset(torch.zeros(8)), batch_size=4) #!
    def fit(self):
        torch.manual_seed(3)
        out = []
        for e in range(3):
            out.append(torch.randn(2).sum().item())
            if self.check: list(self.valid)
        return out
print(Exp(True).fit() == Exp(False).fit())
""",
    ),
    "direct_forward": (
        "forward-called-directly",
        """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body.forward(x)  #!


net = Net()
seen = []
net.body.register_forward_hook(lambda module, args, out: seen.append(out.shape))
net(torch.randn(2, 4))
""",
    ),
    "tiny_rate": (
        "updates-lost",
        """
import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-12)  #!
for _ in range(5):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
""",
    ),
}

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
}
