"""Traps of training steps: zeroing, clipping, accumulating, schedules, optimizers."""

TRAPS = {
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
    "accum_no_division": (
        "accumulation-not-divided",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
ACCUM = 8
opt.zero_grad()
for i in range(32):
    x = torch.randn(4, 3)
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward() #!
    if (i + 1) % ACCUM == 0:
        opt.step()
        opt.zero_grad()
print("converged:", loss.item() < 0.05)
""",
    ),
    "opt_step_before_backward": (
        "step-before-backward",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
w = net.weight.detach().clone()
for i in range(10):
    x = torch.randn(8, 2)
    opt.zero_grad()
    loss = (net(x) - x[:, :1]).square().mean()
    opt.step() #!
    loss.backward()
print("moved:", not torch.equal(w, net.weight))
""",
    ),
    "lambda_lr_absolute": (
        "lambda-gives-rate",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.1 * 0.9 ** epoch) #!
for epoch in range(5):
    opt.zero_grad()
    net(torch.randn(4, 2)).square().mean().backward()
    opt.step()
    sched.step()
print("rate above 0.03:", opt.param_groups[0]["lr"] > 0.03)
""",
    ),
    "autocast_on_line": (
        "backward-under-autocast",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), lr=0.01); half = torch.bfloat16
for i in range(4):
    x = torch.randn(4, 3); opt.zero_grad()
    with torch.autocast("cpu", dtype=half): loss = net(x).square().mean(); loss.backward() #!
    opt.step()
""",
    ),
    "zeroed_each_backward": (
        "gradients-zeroed-before-step",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(128, 8), torch.randn(128, 1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ACCUM = 4
loader = DataLoader(TensorDataset(x, y), batch_size=8)
for epoch in range(2):
    for i, (xb, yb) in enumerate(loader):
        opt.zero_grad() #!
        loss = nn.functional.mse_loss(model(xb), yb) / ACCUM
        loss.backward()
        if (i + 1) % ACCUM == 0:
            opt.step()
    print(epoch, loss.item())
""",
    ),
    "zero_grad_no_call": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 3), torch.randn(16, 1)
for step in range(20):
    opt.zero_grad #!
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
print("trained")
""",
    ),
    "zero_grad_outside_loop": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def train(model, loader, opt, loss_fn):
    opt.zero_grad() #!
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()

torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    train(model, DataLoader(data, batch_size=8, shuffle=True), opt, nn.MSELoss())
print("trained")
""",
    ),
    "zero_grad_wrong_opt": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 3), nn.Linear(3, 6)
enc_opt = torch.optim.SGD(enc.parameters(), lr=0.01)
dec_opt = torch.optim.SGD(dec.parameters(), lr=0.01)
for step in range(20):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(dec(torch.tanh(enc(x))), x)
    enc_opt.zero_grad()
    enc_opt.zero_grad() #!
    loss.backward()
    enc_opt.step()
    dec_opt.step()
print("trained")
""",
    ),
    "exhausted_clip": (
        "clip-at-wrong-place",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
params = model.parameters() #!
print("size", sum(p.numel() for p in params))
opt = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(10):
    opt.zero_grad()
    loss = (100 * model(torch.randn(8, 4))).square().mean()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
print("trained")
""",
    ),
    "sched_dead_opt": (
        "scheduler-of-other-optimizer",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 2) #!
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    opt.zero_grad()
    model(torch.randn(8, 2)).square().mean().backward()
    opt.step()
    sched.step()
print("lr", opt.param_groups[0]["lr"])
""",
    ),
    "autocast_backward": (
        "backward-under-autocast",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    x, y = torch.randn(32, 64), torch.randn(32, 1)
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward() #!
    opt.step()
print("done")
""",
    ),
    "zero_grad_loop_on_a_line": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
for step in range(9): nn.functional.mse_loss(model(x), y).backward(); opt.step() #!
print("done")
""",
    ),
    "zero_scaler": (
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
    ),
    "sched_plateau": (
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
    ),
    "clip_late": (
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
    ),
}
