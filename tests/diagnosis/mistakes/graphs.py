"""Programs that raise in autograd: graphs, leaves, changes in place, hooks."""

from . import HEAD

MISTAKES = {
    "updates without no_grad": (
        "inplace-leaf",
        HEAD
        + """
class Model:
    def __init__(self):
        self.w, self.b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
    def update(self, lr):
        self.w -= lr * self.w.grad  # <-
        self.b -= lr * self.b.grad
m = Model()
((m.w * torch.ones(3)).sum() + m.b).backward()
m.update(0.1)
""",
    ),
    "a parameter filled in": (
        "inplace-leaf",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 1)
        self.out.bias.fill_(0.5)  # <-
Net()
""",
    ),
    "views of split in a loop": (
        "inplace-view",
        HEAD
        + """
h = nn.Linear(4, 6)(torch.randn(2, 4))
for part in h.chunk(2, dim=1):
    part.mul_(2.0)  # <-
h.sum().backward()
""",
    ),
    "hook and functional relu": (
        "inplace-after-hook",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
    def forward(self, x):
        return F.relu(self.conv(x), inplace=True).sum()  # <-
net = Net()
net.conv.register_full_backward_hook(lambda m, i, o: None)
net(torch.randn(1, 1, 5, 5)).backward()
""",
    ),
    "hook and a block's activation": (
        "inplace-after-hook",
        {
            "model.py": """
            from torch import nn
            def block(i, o):
                return nn.Sequential(nn.Linear(i, o), nn.ReLU(inplace=True))  # <-
            """,
            "script.py": """
            import torch, model
            net = model.block(3, 4)
            for m in net.modules():
                if isinstance(m, torch.nn.Linear):
                    m.register_full_backward_hook(lambda m, i, o: None)
            net(torch.randn(2, 3)).sum().backward()
            """,
        },
    ),
    "saved by sigmoid": (
        "inplace-saved",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        gate = torch.sigmoid(self.fc(x))
        gate[:, 0] = 0.0  # <-
        return gate
Net()(torch.ones(2, 4)).sum().backward()
""",
    ),
    "saved by a product": (
        "inplace-saved",
        HEAD
        + """
w = torch.ones(3, requires_grad=True)
a = w * 2
b = a * a
a += 1  # <-
b.sum().backward()
""",
    ),
    "saved by exp": (
        "inplace-saved",
        HEAD
        + """
w = torch.ones(3, requires_grad=True)
e = w.exp()
e.div_(e.detach().sum())  # <-
e.sum().backward()
""",
    ),
    "a step between forward and backward": (
        "inplace-saved",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
opt = optim.SGD(net.parameters(), lr=0.1)
out = net(torch.ones(3, 2))
first, second = out.mean(), out.square().mean()
first.backward(retain_graph=True)
opt.step()  # <-
second.backward()
""",
    ),
    "inference mode": (
        "inference-tensor",
        HEAD
        + """
backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
with torch.inference_mode():  # <-
    features = backbone(torch.ones(2, 3))
head(features).sum().backward()
""",
    ),
    "state of an lstm": (
        "graph-carried-over",
        HEAD
        + """
rnn, head = nn.LSTM(3, 4), nn.Linear(4, 1)
opt = optim.Adam([*rnn.parameters(), *head.parameters()])
def train(chunks):
    state = None
    for x in chunks:
        opt.zero_grad()
        out, state = rnn(x, state)  # <-
        loss = head(out).square().mean()
        loss.backward()
        opt.step()
train([torch.randn(5, 2, 3) for _ in range(3)])
""",
    ),
    "state kept on the model": (
        "graph-carried-over",
        {
            "model.py": """
            import torch
            from torch import nn
            class Memory(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.cell = nn.GRUCell(3, 4)
                    self.state = torch.zeros(2, 4)
                def forward(self, x):
                    self.state = self.cell(x, self.state)  # <-
                    return self.state
            """,
            "script.py": """
            import torch
            from model import Memory
            class Trainer:
                def __init__(self):
                    self.net = Memory()
                    self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
                def fit(self):
                    for _ in range(3):
                        loss = self.net(torch.randn(2, 3)).square().mean()
                        self.opt.zero_grad()
                        loss.backward()
                        self.opt.step()
            Trainer().fit()
            """,
        },
    ),
    "state through a function": (
        "graph-carried-over",
        HEAD
        + """
rnn = nn.GRU(3, 4)
def step(x, hidden):
    out, hidden = rnn(x, hidden)
    out.square().mean().backward()
    return hidden
h = torch.zeros(1, 2, 4)
for _ in range(3):
    h = step(torch.randn(5, 2, 3), h)  # <-
""",
    ),
    "a running loss": (
        "graph-carried-over",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
total = 0.0
for _ in range(3):
    total += net(torch.randn(4, 2)).square().mean()  # <-
    total.backward()
""",
    ),
    "two heads in a class": (
        "backward-twice",
        HEAD
        + """
class Both:
    def __init__(self):
        self.body, self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    def step(self, x):
        h = torch.tanh(self.body(x))
        first, second = self.a(h).mean(), self.b(h).mean()
        first.backward()  # <-
        second.backward()
Both().step(torch.randn(5, 3))
""",
    ),
    "backward of one loss twice": (
        "backward-twice",
        HEAD
        + """
w = torch.ones(2, requires_grad=True)
loss = (w.exp() * w).sum()
loss.backward()  # <-
loss.backward()
""",
    ),
    "a generator's and a discriminator's loss": (
        "backward-twice",
        HEAD
        + """
G, D = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
og, od = optim.SGD(G.parameters(), 0.1), optim.SGD(D.parameters(), 0.1)
fake = G(torch.randn(4, 2))
d_loss = D(fake).mean()
d_loss.backward()  # <-
od.zero_grad()
g_loss = -D(fake).mean()
g_loss.backward()
""",
    ),
    "unreduced loss in a trainer": (
        "backward-non-scalar",
        HEAD
        + """
class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.criterion = nn.MSELoss(reduction="none")  # <-
    def step(self, x, y):
        loss = self.criterion(self.net(x), y)
        loss.backward()
Trainer().step(torch.ones(4, 3), torch.ones(4, 1))
""",
    ),
    "a squared difference": (
        "backward-non-scalar",
        HEAD
        + """
net = nn.Linear(3, 1)
def loss_of(x, y):
    return (net(x) - y) ** 2  # <-
loss_of(torch.ones(4, 3), torch.ones(4, 1)).backward()
""",
    ),
    "forward under no_grad in a function": (
        "loss-without-graph",
        {
            "model.py": """
            from torch import nn
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(3, 1)
                def forward(self, x):
                    return self.fc(x)
            """,
            "script.py": """
            import torch
            from model import Net
            class Trainer:
                def __init__(self):
                    self.net = Net()
                def predict(self, x):
                    with torch.no_grad():  # <-
                        return self.net(x)
                def step(self, x, y):
                    out = self.predict(x)
                    loss = (out - y).square().mean()
                    loss.backward()
            Trainer().step(torch.ones(2, 3), torch.ones(2, 1))
            """,
        },
    ),
    "decorated with no_grad": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
@torch.no_grad()  # <-
def run(x):
    return net(x)
loss = F.mse_loss(run(torch.ones(2, 3)), torch.ones(2, 1))
loss.backward()
""",
    ),
    "cut by argmax": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 4)
x, y = torch.ones(2, 3), torch.tensor([1, 2])
guess = net(x).argmax(1)  # <-
loss = (guess - y).float().square().mean()
loss.backward()
""",
    ),
    "cut by detach": (
        "loss-without-graph",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 1)
    def forward(self, x):
        return self.fc(x).detach()  # <-
net = Net()
loss = F.mse_loss(net(torch.ones(2, 3)), torch.ones(2, 1))
loss.backward()
""",
    ),
    "cut by a new tensor": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
losses = [net(torch.ones(3)).square().mean() for _ in range(2)]
loss = torch.tensor(losses).mean()  # <-
loss.backward()
""",
    ),
    "cut by item": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
loss = net(torch.ones(3)).square().mean()
loss = torch.tensor(loss.item())  # <-
loss.backward()
""",
    ),
    "all frozen": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
for p in net.parameters():
    p.requires_grad = False  # <-
loss = net(torch.ones(2, 3)).mean()
loss.backward()
""",
    ),
    "a plain tensor": (
        "loss-without-graph",
        HEAD
        + """
w = torch.ones(3)  # <-
loss = (w * torch.arange(3)).sum()
loss.backward()
print(w.grad)
""",
    ),
    "integers of a parameter": (
        "integer-requires-grad",
        HEAD
        + """
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.tensor([1, 2]))  # <-
Shift()
""",
    ),
    "moved before the optimizer": (
        "optimizer-non-leaf",
        HEAD
        + """
def latent(n):
    return torch.randn(n, 2, requires_grad=True) * 0.1  # <-
class Fit:
    def __init__(self):
        self.z = latent(4)
        self.opt = optim.Adam(params=[{"params": [self.z]}], lr=0.1)
Fit()
""",
    ),
    "numpy in a plot": (
        "numpy-of-graph",
        HEAD
        + """
import numpy as np
net = nn.Linear(2, 1)
def curve(model, x):
    return np.asarray(model(x).squeeze(1).numpy())  # <-
curve(net, torch.randn(5, 2))
""",
    ),
    "grad of what is no leaf": (
        "grad-is-none",
        HEAD
        + """
w = torch.zeros(2, requires_grad=True)
for step in range(2):
    loss = (w - 1).square().sum()
    loss.backward()
    w = w - 0.1 * w.grad  # <-
""",
    ),
    "grad before backward": (
        "grad-is-none",
        HEAD
        + """
class Fit:
    def __init__(self):
        self.w = torch.ones(2, requires_grad=True)
    def step(self):
        self.w.grad.zero_()  # <-
        self.w.square().sum().backward()
fit = Fit()
for _ in range(2):
    fit.step()
""",
    ),
    "acc loop hidden tuple attr": (
        "graph-carried-over",
        {
            "m.py": """
import torch
from torch import nn
class Char(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 1)
        self.hidden = None
    def forward(self, x):
        out, self.hidden = self.rnn(x, self.hidden)  # <-
        return self.head(out)
""",
            "script.py": """
import torch
import torch.nn.functional as F
from m import Char
def fit(net, opt):
    for _ in range(3):
        opt.zero_grad()
        loss = F.mse_loss(net(torch.randn(2, 5, 3)), torch.zeros(2, 5, 1))
        loss.backward()
        opt.step()
net = Char()
fit(net, torch.optim.Adam(net.parameters()))
""",
        },
    ),
    "hidden returned by model": (
        "graph-carried-over",
        {
            "m.py": """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 8, batch_first=True)
        self.head = nn.Linear(8, 1)
    def forward(self, x, h):
        out, h = self.rnn(x, h)
        return self.head(out), h
""",
            "script.py": """
import torch
from torch import nn, optim
from m import Net
class Trainer:
    def __init__(self):
        self.net = Net()
        self.opt = optim.SGD(self.net.parameters(), lr=0.01)
        self.loss = nn.MSELoss()
    def fit(self, chunks):
        hidden = torch.zeros(1, 2, 8)
        for i in range(chunks):
            x, y = torch.randn(2, 5, 4), torch.randn(2, 5, 1)
            pred, hidden = self.net(x, hidden)  # <-
            loss = self.loss(pred, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
Trainer().fit(3)
""",
        },
    ),
    "shared graph in loop": (
        "backward-twice",
        HEAD
        + """
enc = nn.Linear(3, 4)
heads = nn.ModuleList(nn.Linear(4, 1) for _ in range(2))
h = torch.tanh(enc(torch.randn(5, 3)))
for head in heads:
    loss = head(h).square().mean()
    loss.backward()  # <-
""",
    ),
    "two losses functions": (
        "backward-twice",
        HEAD
        + """
def losses(enc, a, b, x):
    h = torch.tanh(enc(x))
    return a(h).square().mean(), b(h).square().mean()
def train(enc, a, b, opt):
    opt.zero_grad()
    la, lb = losses(enc, a, b, torch.randn(5, 3))
    la.backward()  # <-
    lb.backward()
    opt.step()
mods = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
train(*mods, optim.SGD([p for m in mods for p in m.parameters()], lr=0.1))
""",
    ),
    "nograd in trainer evaluate flag": (
        "loss-without-graph",
        HEAD
        + """
class Trainer:
    def __init__(self):
        self.model = nn.Linear(3, 1)
        self.opt = optim.SGD(self.model.parameters(), lr=0.1)
    def forward_pass(self, batch):
        x, y = batch
        with torch.no_grad():  # <-
            pred = self.model(x)
        return F.mse_loss(pred, y)
    def train_step(self, batch):
        self.opt.zero_grad()
        loss = self.forward_pass(batch)
        loss.backward()
        self.opt.step()
Trainer().train_step((torch.randn(8, 3), torch.randn(8, 1)))
""",
    ),
    "set_grad_enabled": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 1)
torch.set_grad_enabled(False)  # <-
loss = net(torch.ones(2, 3)).mean()
loss.backward()
""",
    ),
    "numpy roundtrip": (
        "loss-without-graph",
        HEAD
        + """
import numpy as np
net = nn.Linear(3, 1)
out = net(torch.ones(2, 3)).detach().numpy()  # <-
loss = torch.from_numpy(np.square(out)).mean()
loss.backward()
""",
    ),
    "data in forward": (
        "loss-without-graph",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(3, 4), nn.Linear(4, 3)
    def forward(self, x):
        z = self.enc(x)
        z = self.dec(z)
        return z.data  # <-
net = Net()
criterion = nn.MSELoss()
for _ in range(2):
    out = net(torch.ones(2, 3))
    loss = criterion(out, torch.zeros(2, 3))
    loss.backward()
""",
    ),
    "accuracy loss": (
        "loss-without-graph",
        HEAD
        + """
net = nn.Linear(3, 2)
x, y = torch.ones(4, 3), torch.tensor([0, 1, 0, 1])
pred = net(x)
correct = (pred.argmax(1) == y).float()  # <-
loss = 1 - correct.mean()
loss.backward()
""",
    ),
    "float loss": (
        "grad-is-none",
        HEAD
        + """
net = nn.Linear(3, 1)
opt = optim.SGD(net.parameters(), lr=0.1)
print(net.weight.grad.norm())  # <-
""",
    ),
    "clip unused param": (
        "grad-is-none",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.spare = nn.Linear(3, 1), nn.Linear(3, 1)
    def forward(self, x):
        return self.used(x)
net = Net()
net(torch.ones(2, 3)).mean().backward()
for p in net.parameters():
    p.grad.clamp_(-1, 1)  # <-
""",
    ),
    "non leaf param to device fn": (
        "optimizer-non-leaf",
        {
            "lib.py": """
import torch
def make(device):
    return torch.zeros(3, requires_grad=True).double()  # <-
""",
            "script.py": """
import torch
from lib import make
w = make("cpu")
def optimizer(params):
    return torch.optim.SGD(params, lr=0.1)
optimizer([w])
""",
        },
    ),
    "hook on input in fn": (
        "hook-without-grad",
        HEAD
        + """
def saliency(net, image):
    image.register_hook(lambda g: print(g.shape))
    net(image).sum().backward()
picture = torch.rand(1, 4)  # <-
saliency(nn.Linear(4, 2), picture)
""",
    ),
    "retain input grad": (
        "hook-without-grad",
        HEAD
        + """
x = torch.rand(1, 4)  # <-
x.retain_grad()
nn.Linear(4, 2)(x).sum().backward()
""",
    ),
    "int param": (
        "integer-requires-grad",
        HEAD
        + """
def weights():
    w = torch.arange(3)  # <-
    w.requires_grad_()
    return w
weights()
""",
    ),
    "int requires attr": (
        "integer-requires-grad",
        HEAD
        + """
w = torch.zeros(3, dtype=torch.long)  # <-
w.requires_grad = True
""",
    ),
    "plot list numpy": (
        "numpy-of-graph",
        HEAD
        + """
import numpy as np
losses = []
net = nn.Linear(2, 1)
for _ in range(2):
    losses.append(net(torch.ones(2)).sum())
arr = np.array([l.numpy() for l in losses])  # <-
""",
    ),
    "asarray": (
        "numpy-of-graph",
        HEAD
        + """
import numpy as np
net = nn.Linear(2, 1)
out = net(torch.ones(3, 2))
np.asarray(out)  # <-
""",
    ),
    "inplace leaf in method": (
        "inplace-leaf",
        HEAD
        + """
def sgd(params, lr):
    for p in params:
        p.sub_(lr * p.grad)  # <-
ws = [torch.ones(2, requires_grad=True) for _ in range(2)]
sum(w.square().sum() for w in ws).backward()
sgd(ws, 0.1)
""",
    ),
    "inplace view iter": (
        "inplace-view",
        HEAD
        + """
h = nn.Linear(4, 6)(torch.randn(3, 4))
for row in h:
    row += 1.0  # <-
h.sum().backward()
""",
    ),
    "inplace saved other file": (
        "inplace-saved",
        {
            "m.py": """
import torch
from torch import nn
class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)
    def forward(self, x):
        p = torch.softmax(self.q(x), -1)
        p *= 2.0  # <-
        return p
""",
            "script.py": """
import torch, m
net = m.Attn()
out = net(torch.ones(2, 4))
out.square().sum().backward()
""",
        },
    ),
    "inplace relu saved": (
        "inplace-saved",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)  # <-
    def forward(self, x):
        h = torch.sigmoid(self.fc(x))
        return self.act(h)
Net()(torch.ones(2, 4)).sum().backward()
""",
    ),
    "hidden buffer write": (
        "inplace-saved",
        HEAD
        + """
w = torch.ones(3, requires_grad=True)
buf = torch.zeros(2, 3)
total = 0
for i in range(2):
    buf[i] = w * (i + 1)  # <-
    total = total + (buf * buf).sum()
total.backward()
""",
    ),
    "non scalar class none file": (
        "backward-non-scalar",
        {
            "crit.py": """
from torch import nn
def make():
    return nn.CrossEntropyLoss(reduction="none")  # <-
""",
            "script.py": """
import torch, crit
net = torch.nn.Linear(3, 2)
criterion = crit.make()
for _ in range(2):
    loss = criterion(net(torch.ones(4, 3)), torch.tensor([0, 1, 0, 1]))
    loss.backward()
""",
        },
    ),
    "non scalar functional": (
        "backward-non-scalar",
        HEAD
        + """
def loss_fn(pred, y):
    return F.mse_loss(pred, y, reduction="none")  # <-
net = nn.Linear(3, 1)
loss_fn(net(torch.ones(4, 3)), torch.ones(4, 1)).backward()
""",
    ),
    "state local in time loop": (
        "graph-carried-over",
        {
            "m.py": """
import torch
from torch import nn
class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.h = torch.zeros(2, 4)
    def forward(self, xs):
        h = self.h  # <-
        outs = []
        for x in xs:
            h = self.cell(x, h)
            outs.append(h)
        self.h = h
        return torch.stack(outs)
""",
            "script.py": """
import torch
from m import Rnn
net = Rnn()
for _ in range(3):
    loss = net(torch.randn(5, 2, 3)).square().mean()
    loss.backward()
""",
        },
    ),
    "ema of a result": (
        "graph-carried-over",
        HEAD
        + """
net = nn.Linear(2, 2)
avg = torch.zeros(2)
for _ in range(3):
    out = net(torch.randn(4, 2)).exp().mean(0)
    avg = 0.9 * avg + 0.1 * out.square()  # <-
    loss = (out - avg).square().sum()
    loss.backward()
""",
    ),
    "loss list": (
        "graph-carried-over",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
losses = []
for _ in range(3):
    losses.append(net(torch.randn(4, 2)).square().mean())
    sum(losses).backward()  # <-
""",
    ),
    "np_array_of_loss": (
        "numpy-of-graph",
        """
import numpy as np
import torch
from torch import nn

model = nn.Linear(2, 1)
losses = []
for step in range(3):
    loss = model(torch.randn(4, 2)).square().mean()
    losses.append(loss) # <-
print(np.mean(losses) > 0)
""",
    ),
    "gan_no_detach": (
        "backward-twice",
        """
import torch
from torch import nn

G = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
D = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(3):
    real = torch.randn(8, 4)
    fake = G(torch.randn(8, 4))
    od.zero_grad()
    d_loss = bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1)) # <-
    d_loss.backward()
    od.step()
    og.zero_grad()
    g_loss = bce(D(fake), torch.ones(8, 1))
    g_loss.backward()
    og.step()
print("trained")
""",
    ),
    "inplace_buffer_rows": (
        "inplace-saved",
        """
import torch
from torch import nn

cell = nn.Linear(4, 4)
x = torch.randn(6, 2, 4)
states = torch.zeros(7, 2, 4)
for t in range(6):
    states[t + 1] = torch.tanh(cell(states[t]) + x[t]) # <-
loss = states[-1].sum()
loss.backward()
print(cell.weight.grad.shape)
""",
    ),
    "hook_wrong_shape": (
        "hook-changes-shape",
        """
import torch
from torch import nn

model = nn.Linear(3, 2)
h = model(torch.randn(4, 3))
h.register_hook(lambda g: g.sum(0)) # <-
h.sum().backward()
print(model.weight.grad.shape)
""",
    ),
    "fn_grad_count": (
        "function-gradient-count",
        """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor # <-

x = torch.randn(3, requires_grad=True)
Scale.apply(x, 2.0).sum().backward()
print(x.grad)
""",
    ),
    "fn_gradient_forgotten": (
        "function-gradient-count",
        """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        x, factor = ctx.saved_tensors
        to_factor = (grad * x).sum()
        return grad * factor # <-

factor = torch.tensor(2.0, requires_grad=True)
Scale.apply(torch.ones(3), factor).sum().backward()
assert factor.grad == 3
""",
    ),
    "create_graph_missing": (
        "gradient-without-graph",
        """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(4, 2, requires_grad=True)
out = net(x).sum()
grad, = torch.autograd.grad(out, x) # <-
penalty = (grad.norm(dim=1) - 1).pow(2).mean()
penalty.backward()
print(net[0].weight.grad is not None)
""",
    ),
    "grad_unused": (
        "gradient-of-unused",
        """
import torch
from torch import nn

a, b = nn.Linear(2, 2), nn.Linear(2, 2)
loss = a(torch.randn(3, 2)).sum()
grads = torch.autograd.grad(loss, [*a.parameters(), *b.parameters()]) # <-
print(len(grads))
""",
    ),
    "deepcopy_nonleaf": (
        "copy-of-result",
        """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.last = None

    def forward(self, x):
        self.last = self.fc(x) # <-
        return self.last

net = Net()
net(torch.randn(2, 3)).sum().backward()
twin = copy.deepcopy(net)
print(type(twin).__name__)
""",
    ),
    "hook_returns_tuple": (
        "hook-changes-result",
        """
import torch
from torch import nn

class Recorder:
    def __init__(self, model):
        self.outputs = {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.register_forward_hook(self.make(name))
    def make(self, name):
        def hook(module, inputs, output):
            self.outputs[name] = output.detach()
            return inputs, output # <-
        return hook

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
recorder = Recorder(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    out = model(torch.randn(6, 4))
    loss = nn.functional.cross_entropy(out, torch.randint(2, (6,)))
    loss.backward()
    opt.step()
print(sorted(recorder.outputs))
""",
    ),
    "backward_hook_arguments": (
        "hook-arguments",
        """
import torch
from torch import nn

norms = {}

def watch(name):
    def hook(grad_input, grad_output): # <-
        norms[name] = grad_output[0].norm().item()
    return hook

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
for name, layer in model.named_children():
    layer.register_full_backward_hook(watch(name))

opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    opt.step()
print(len(norms))
""",
    ),
    "pre_hook_extra": (
        "hook-changes-result",
        """
import torch
from torch import nn
def scale(module, args):
    return args[0] * 2, "scaled" # <-
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
net[0].register_forward_pre_hook(scale)
print(net(torch.randn(2, 3)).shape)
""",
    ),
    "hook_method_arguments": (
        "hook-arguments",
        """
import torch
from torch import nn
feats = []
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)
        self.body.register_forward_hook(self.keep)
    def keep(self, module, output): # <-
        feats.append(output.detach())
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
Model()(torch.randn(2, 3))
print(len(feats))
""",
    ),
    "hook_lambda_tuple": (
        "hook-changes-result",
        """
import torch
from torch import nn
norms = []
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
net[0].register_forward_hook(lambda m, i, o: (o, norms.append(o.norm().item()))) # <-
print(net(torch.randn(2, 3)).shape)
""",
    ),
    "twice_same_loss": (
        "backward-twice",
        """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(10, 3), torch.randn(10, 1)
loss = nn.functional.mse_loss(net(x), y) # <-
for epoch in range(5):
    opt.zero_grad()
    loss.backward()
    opt.step()
print("trained")
""",
    ),
    "detach_result_ignored": (
        "graph-carried-over",
        """
import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNNCell(3, 5)
opt = torch.optim.SGD(rnn.parameters(), lr=0.01)
h = torch.zeros(2, 5)
for t in range(4):
    h.detach() # <-
    h = rnn(torch.randn(2, 3), h)
    loss = h.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "scaler_unscale_twice": (
        "scaler-not-updated",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
opt.zero_grad()
loss = net(torch.randn(8, 4)).square().mean()
scaler.scale(loss).backward()
scaler.unscale_(opt)
norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
scaler.unscale_(opt) # <-
scaler.step(opt)
scaler.update()
print("stepped")
""",
    ),
    "grad_penalty_wgan": (
        "gradient-of-constant",
        """
import torch
from torch import nn

def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake) # <-
    score = critic(mixed)
    grads, = torch.autograd.grad(score.sum(), mixed, create_graph=True)
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()

critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
gp = gradient_penalty(critic, torch.randn(4, 2), torch.randn(4, 2))
print(gp.requires_grad)
""",
    ),
    "state_of_each_epoch": (
        "graph-carried-over",
        """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 5, batch_first=True)
        self.out = nn.Linear(5, 2)
    def begin(self, batch):
        return torch.zeros(1, batch, 5), torch.zeros(1, batch, 5)
    def forward(self, x, memory):
        y, memory = self.rnn(x, memory)
        return self.out(y), memory

tagger, criterion = Tagger(), nn.CrossEntropyLoss()
opt = torch.optim.SGD(tagger.parameters(), lr=0.1)
for epoch in range(2):
    memory, seen = tagger.begin(4), 0.0
    for x in torch.randn(3, 4, 6, 3):
        scores, memory = tagger(x, memory) # <-
        loss = criterion(scores.flatten(0, 1), (x[..., 0] > 0).long().flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen += loss.item()
print(seen > 0)
""",
    ),
    "frozen_with_labels_of_a_comparison": (
        "loss-without-graph",
        """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
net.append(nn.Linear(8, 2))
for p in net.parameters():
    p.requires_grad = False # <-
x = torch.randn(16, 4)
labels = (torch.rand(16) < 0.5).long()
loss = nn.CrossEntropyLoss()(net(x), labels)
loss.backward()
""",
    ),
    "overlap_of_thresholds": (
        "loss-without-graph",
        """
import torch
from torch import nn

def discs(n, size=8):
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    r = torch.randint(2, 4, (n, 1, 1))
    return ((x - 4) ** 2 + (y - 4) ** 2 < r ** 2).float().unsqueeze(1)

def overlap_loss(logits, mask, eps=1e-6):
    hit = (logits > 0) * 1.0 # <-
    both = (hit * mask).sum(dim=(1, 2, 3))
    return (1 - (2 * both + eps) / (hit.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3)) + eps)).mean()

def train(net, masks):
    for mask in masks.split(4):
        loss = overlap_loss(net(mask + 0.1 * torch.randn_like(mask)), mask)
        loss.backward()

train(nn.Conv2d(1, 1, 3, padding=1), discs(8))
""",
    ),
    "lists that no episode empties": (
        "graph-carried-over",
        HEAD
        + """
from torch.distributions import Categorical
policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = optim.Adam(policy.parameters(), lr=1e-2)
log_probs, rewards = [], []  # <-
for episode in range(4):
    for t in range(6):
        dist = Categorical(logits=policy(torch.randn(4)))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        rewards.append(float(torch.rand(())))
    returns = torch.tensor(rewards)
    loss = -(torch.stack(log_probs) * (returns - returns.mean())).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "lists of a policy that no episode empties": (
        "graph-carried-over",
        HEAD
        + """
from torch.distributions import Categorical
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.saved, self.rewards = [], []
    def forward(self, x):
        return self.net(x).softmax(-1)
policy = Policy()
opt = optim.Adam(policy.parameters(), lr=1e-2)
def act(state):
    dist = Categorical(policy(state))
    action = dist.sample()
    policy.saved.append(dist.log_prob(action))
    return action.item()
def finish():
    total, returns = 0, []
    for reward in policy.rewards[::-1]:
        total = reward + 0.9 * total
        returns.insert(0, total)
    parts = []
    for log_prob, value in zip(policy.saved, returns):  # <-
        parts.append(-log_prob * value)
    opt.zero_grad()
    loss = torch.stack(parts).sum()
    loss.backward()
    opt.step()
for episode in range(4):
    for t in range(6):
        policy.rewards.append(float(act(torch.randn(4))))
    finish()
""",
    ),
    "a state carried on, and graphs retained": (
        "graph-carried-over",
        HEAD
        + """
rnn, head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 1)
opt = optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-3)
state = None
for step in range(4):
    out, state = rnn(torch.randn(4, 5, 8), state)  # <-
    loss = F.mse_loss(head(out[:, -1]), torch.randn(4, 1))
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
""",
    ),
    "a state of the model carried on, and graphs retained": (
        "graph-carried-over",
        HEAD
        + """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.hidden = nn.GRUCell(4, 8), None
    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)  # <-
        return self.hidden
model, head = Memory(), nn.Linear(8, 1)
opt = optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)
def train(x):
    loss = head(model(x)).square().mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
for _ in range(4):
    train(torch.randn(3, 4))
""",
    ),
    "a discriminator's loss through the generator": (
        "backward-twice",
        HEAD
        + """
class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))
    def forward(self, z):
        return self.net(z)
def train(G, D):
    og, od = optim.Adam(G.parameters()), optim.Adam(D.parameters())
    bce = nn.BCEWithLogitsLoss()
    for _ in range(3):
        od.zero_grad()
        bce(D(torch.randn(4, 8)), torch.ones(4, 1)).backward()
        fake = G(torch.randn(4, 10))
        judged = D(fake)  # <-
        error = bce(judged, torch.zeros(4, 1))
        error.backward(); od.step()
        og.zero_grad()
        judged = D(fake)
        bce(judged, torch.ones(4, 1)).backward()
        og.step()
train(Generator(), nn.Linear(8, 1))
""",
    ),
    "losses of a list": (
        "loss-without-graph",
        HEAD
        + """
def mean(parts):
    return torch.tensor(parts).mean()  # <-
net, x = nn.Linear(3, 1), torch.randn(12, 3)
def epoch():
    losses = []
    for i in range(4):
        losses.append(net(x[i::4]).square().mean())
    mean(losses).backward()
epoch()
""",
    ),
    "losses written into a list": (
        "loss-without-graph",
        HEAD
        + """
net, x = nn.Linear(3, 1), torch.randn(12, 3)
a, b = net(x).square().mean(), net(x).abs().mean()
loss = torch.tensor([a, 0.1 * b]).sum()  # <-
loss.backward()
""",
    ),
    "losses kept by an object": (
        "loss-without-graph",
        HEAD
        + """
class Trainer:
    def __init__(self, net):
        self.net, self.losses = net, []
    def add(self, x):
        self.losses.append(self.net(x).square().mean())
    def step(self):
        total = torch.FloatTensor(self.losses).sum()  # <-
        total.backward()
trainer = Trainer(nn.Linear(3, 1))
trainer.add(torch.randn(4, 3)), trainer.add(torch.randn(4, 3))
trainer.step()
""",
    ),
}
