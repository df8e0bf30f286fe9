"""Errors of None where a value is wanted; like ``programs``."""

MISTAKES = {
    "loss_method_none": (
        "result-missing",
        """
import torch
from torch import nn
class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 1)
    def loss(self, x, y):
        pred = self.model(x)
        ((pred - y) ** 2).mean() # <-
    def step(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
Trainer().step(torch.randn(8, 4), torch.randn(8, 1))
""",
    ),
    "forward_none_ce": (
        "result-missing",
        """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        x = self.fc(x) # <-
net = Net()
out = net(torch.randn(8, 4))
loss = F.cross_entropy(out, torch.zeros(8, dtype=torch.long))
loss.backward()
""",
    ),
    "forward_inner_none": (
        "result-missing",
        """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        y = self.fc(x)
        y = y + x # <-
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b1, self.b2 = Block(4), Block(4)
    def forward(self, x):
        x = self.b1(x)
        x = self.b2(x)
        return x
Net()(torch.randn(2, 4))
""",
    ),
    "forward_if_return": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        out = self.fc(x)
        if not self.training:
            return out.softmax(1) # <-
net = Net()
loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
loss.backward()
""",
    ),
    "forward_print_last": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        out = self.fc(x)
        print(out.shape) # <-
net = Net()
y = net(torch.randn(8, 4))
print(y.mean())
""",
    ),
    "forward_for_last": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) # <-
net = Net()
net(torch.randn(8, 4)).sum().backward()
""",
    ),
    "load_state": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(4, 1)
state = model.state_dict()
model = model.load_state_dict(state) # <-
print(model(torch.randn(2, 4)))
""",
    ),
    "load_state_chain": (
        "result-missing",
        """
import torch
from torch import nn
state = nn.Linear(4, 1).state_dict()
def load():
    model = nn.Linear(4, 1).load_state_dict(state) # <-
    return model
model = load()
model.eval()
""",
    ),
    "apply_init": (
        "result-missing",
        """
import torch
from torch import nn
def init(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.bias)
def build():
    net = nn.Sequential(nn.Linear(4, 1))
    net = init(net) # <-
    return net
net = build()
net(torch.randn(2, 4))
""",
    ),
    "loss_step": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
total = 0.0
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    loss = optimizer.step() # <-
    total += loss.item()
""",
    ),
    "loss_backward": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean().backward() # <-
    opt.step()
    print(loss.item())
""",
    ),
    "list_append_modules": (
        "result-missing",
        """
import torch
from torch import nn
class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers = layers.append(nn.Linear(a, b)) # <-
        self.net = nn.Sequential(*layers)
    def forward(self, x):
        return self.net(x)
MLP([4, 8, 1])(torch.randn(2, 4))
""",
    ),
    "sort_list": (
        "result-missing",
        """
import torch
words = ["b", "a"]
vocab = words.sort() # <-
index = {w: i for i, w in enumerate(vocab)}
""",
    ),
    "shuffle_list": (
        "result-missing",
        """
import random
import torch
idx = list(range(10))
idx = random.shuffle(idx) # <-
x = torch.randn(10, 3)
print(x[idx[:5]])
""",
    ),
    "dict_update": (
        "result-missing",
        """
import torch
cfg = {"lr": 0.1}
cfg = cfg.update({"epochs": 3}) # <-
for e in range(cfg["epochs"]):
    pass
""",
    ),
    "collate_none": (
        "result-missing",
        """
import torch
from torch.utils.data import DataLoader
def collate(items):
    xs = torch.stack([a for a, _ in items])
    ys = torch.tensor([b for _, b in items])
    xs, ys # <-
data = [(torch.randn(3), i) for i in range(4)]
for x, y in DataLoader(data, batch_size=2, collate_fn=collate):
    print(x.shape)
""",
    ),
    "unpack_none": (
        "result-missing",
        """
import torch
from torch import nn
def make_data(n):
    x = torch.randn(n, 3)
    y = x.sum(1) # <-
x, y = make_data(4)
""",
    ),
    "loss_in_binop": (
        "result-missing",
        """
import torch
from torch import nn
def reg(model):
    s = 0.0
    for p in model.parameters():
        s = s + p.square().sum() # <-
model = nn.Linear(3, 1)
loss = model(torch.randn(4, 3)).mean() + 0.1 * reg(model)
loss.backward()
""",
    ),
    "lambda_none": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x, y=None):
        logits = self.fc(x)
        if y is not None:
            loss = nn.functional.cross_entropy(logits, y)
            return logits, loss # <-
net = Net()
out = net(torch.randn(2, 4))
print(out.argmax(1))
""",
    ),
    "zero_grad_chain": (
        "result-missing",
        """
import torch
from torch import nn
m = nn.Linear(2, 1)
m = m.requires_grad_(False).zero_grad() # <-
print(m(torch.randn(3, 2)))
""",
    ),
    "train_user_method": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def train(self, mode=True):
        super().train(mode) # <-
    def forward(self, x):
        return self.fc(x)
net = Net().train()
print(net(torch.randn(2, 4)))
""",
    ),
    "closure_none": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(3, 1)
opt = torch.optim.LBFGS(model.parameters())
x = torch.randn(5, 3)
def closure():
    opt.zero_grad()
    loss = model(x).square().mean()
    loss.backward() # <-
opt.step(closure)
""",
    ),
    "lambda_lr_none": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
def warm(step):
    factor = min(1.0, (step + 1) / 10) # <-
sched = torch.optim.lr_scheduler.LambdaLR(opt, warm)
""",
    ),
    "return_load": (
        "result-missing",
        """
import torch
from torch import nn
def load(net, state):
    return net.load_state_dict(state) # <-
net = nn.Linear(2, 2)
net = load(net, net.state_dict())
print(net(torch.randn(1, 2)))
""",
    ),
    "inline_extend": (
        "result-missing",
        """
import torch
from torch import nn
layers = [nn.Linear(4, 8)]
net = nn.Sequential(*layers.extend([nn.ReLU(), nn.Linear(8, 1)])) # <-
""",
    ),
    "other_name_append": (
        "result-missing",
        """
import torch
def collect(xs):
    out = []
    for x in xs:
        out.append(x * 2) # <-
ys = collect([torch.ones(2), torch.zeros(2)])
print(torch.stack(ys))
""",
    ),
    "if_else_one": (
        "result-missing",
        """
import torch
from torch import nn
def make_loss(kind):
    if kind == "mse":
        return nn.MSELoss()
    else:
        fn = nn.L1Loss() # <-
crit = make_loss("l1")
print(crit(torch.ones(3), torch.zeros(3)))
""",
    ),
}
