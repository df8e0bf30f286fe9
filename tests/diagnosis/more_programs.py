"""More programs that raise, in other shapes of code; like ``programs``."""

from .programs import HEAD

MORE = {}
MORE["acc loop hidden tuple attr"] = (
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
)
MORE["hidden returned by model"] = (
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
)
MORE["shared graph in loop"] = (
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
)
MORE["two losses functions"] = (
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
)
MORE["residual basic block"] = (
    "residual-size",
    HEAD
    + """
class BasicBlock(nn.Module):
    def __init__(self, inp, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inp, out, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
    def forward(self, x):
        identity = x
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return F.relu(out)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = BasicBlock(8, 8)
        self.layer2 = BasicBlock(8, 8, stride=2)  # <-
    def forward(self, x):
        return self.layer2(self.layer1(x))
Net()(torch.randn(2, 8, 16, 16))
""",
)
MORE["residual channels"] = (
    "residual-size",
    HEAD
    + """
class Block(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, 3, padding=1)
    def forward(self, x):
        return x + self.conv(x)
net = nn.Sequential(Block(8, 8), Block(8, 16))  # <-
net(torch.randn(2, 8, 6, 6))
""",
)
MORE["embedding pad in class"] = (
    "embedding-index",
    {
        "data.py": """
import torch
from torch.nn.utils import rnn
PAD = -1
class Collate:
    def __call__(self, items):
        return rnn.pad_sequence(items, True, PAD)  # <-
""",
        "script.py": """
import torch
from torch.utils.data import DataLoader
import data
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(10, 4)
    def forward(self, ids):
        return self.emb(ids).sum(1)
net = Net()
loader = DataLoader([torch.arange(3), torch.arange(2)], batch_size=2, collate_fn=data.Collate())
for b in loader:
    net(b)
""",
    },
)
MORE["eval in class with block"] = (
    "batchnorm-one-value",
    HEAD
    + """
class Predictor:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    def __call__(self, sample):
        with torch.no_grad():  # <-
            out = self.model(sample)
            return out.argmax(1)
Predictor()(torch.randn(1, 4))
""",
)
MORE["eval func of net"] = (
    "batchnorm-one-value",
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.bn = nn.Linear(4, 8), nn.BatchNorm1d(8)
    def forward(self, x):
        return self.bn(self.a(x))
def predict(model, rows):
    return [model(row.unsqueeze(0)).argmax(1) for row in rows]  # <-
net = Net()
with torch.no_grad():
    predict(net, torch.randn(3, 4))
""",
)
MORE["bce sequential sigmoidless module"] = (
    "bce-without-sigmoid",
    {
        "losses.py": """
from torch import nn
criterion = nn.BCELoss(reduction="sum")  # <-
""",
        "script.py": """
import torch
from losses import criterion
net = torch.nn.Linear(4, 1)
torch.manual_seed(0)
def step(x, y):
    scores = net(x)
    return criterion(scores.squeeze(1), y)
step(5 * torch.randn(8, 4), torch.ones(8)).backward()
""",
    },
)
MORE["column labels via function"] = (
    "target-column",
    HEAD
    + """
def read():
    rows = [[0.1, 0.2, 1.0], [0.3, 0.1, 0.0]]
    table = torch.tensor(rows)
    return table[:, :2], table[:, 2:].long()  # <-
x, y = read()
criterion = nn.CrossEntropyLoss()
loss = criterion(nn.Linear(2, 2)(x), y)
""",
)
MORE["column labels dataset class"] = (
    "target-column",
    {
        "d.py": """
import torch
from torch.utils.data import Dataset
class Rows(Dataset):
    def __init__(self):
        self.y = torch.tensor([[0], [1], [2], [1]])  # <-
        self.x = torch.randn(4, 3)
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return self.x[i], self.y[i]
""",
        "script.py": """
import torch
from torch.utils.data import DataLoader
from d import Rows
net = torch.nn.Linear(3, 3)
loader = DataLoader(Rows(), batch_size=2)
for x, y in loader:
    torch.nn.functional.cross_entropy(net(x), y).backward()
""",
    },
)
MORE["nograd in trainer evaluate flag"] = (
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
)
MORE["set_grad_enabled"] = (
    "loss-without-graph",
    HEAD
    + """
net = nn.Linear(3, 1)
torch.set_grad_enabled(False)  # <-
loss = net(torch.ones(2, 3)).mean()
loss.backward()
""",
)
MORE["numpy roundtrip"] = (
    "loss-without-graph",
    HEAD
    + """
import numpy as np
net = nn.Linear(3, 1)
out = net(torch.ones(2, 3)).detach().numpy()  # <-
loss = torch.from_numpy(np.square(out)).mean()
loss.backward()
""",
)
MORE["data in forward"] = (
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
)
MORE["accuracy loss"] = (
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
)
MORE["float loss"] = (
    "grad-is-none",
    HEAD
    + """
net = nn.Linear(3, 1)
opt = optim.SGD(net.parameters(), lr=0.1)
print(net.weight.grad.norm())  # <-
""",
)
MORE["clip unused param"] = (
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
)
MORE["non leaf param to device fn"] = (
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
)
MORE["hook on input in fn"] = (
    "hook-without-grad",
    HEAD
    + """
def saliency(net, image):
    image.register_hook(lambda g: print(g.shape))
    net(image).sum().backward()
picture = torch.rand(1, 4)  # <-
saliency(nn.Linear(4, 2), picture)
""",
)
MORE["retain input grad"] = (
    "hook-without-grad",
    HEAD
    + """
x = torch.rand(1, 4)  # <-
x.retain_grad()
nn.Linear(4, 2)(x).sum().backward()
""",
)
MORE["int param"] = (
    "integer-requires-grad",
    HEAD
    + """
def weights():
    w = torch.arange(3)  # <-
    w.requires_grad_()
    return w
weights()
""",
)
MORE["int requires attr"] = (
    "integer-requires-grad",
    HEAD
    + """
w = torch.zeros(3, dtype=torch.long)  # <-
w.requires_grad = True
""",
)
MORE["cuda device parser"] = (
    "device-missing",
    HEAD
    + """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--device", default="cuda:0")  # <-
args = p.parse_args([])
class Trainer:
    def __init__(self, args):
        self.device = torch.device(args.device)
        self.net = nn.Linear(2, 2)
        self.net.to(self.device)
Trainer(args)
""",
)
MORE["cuda kw"] = (
    "device-missing",
    HEAD
    + """
x = torch.ones(2, device="cuda")  # <-
""",
)
MORE["load map location"] = (
    "device-missing",
    HEAD
    + """
cfg = dict(device="cuda", lr=0.1)  # <-
def data():
    return torch.ones(3).to(cfg["device"])
data()
""",
)
MORE["attr in submodule positional"] = (
    "tensor-left-behind",
    HEAD
    + """
class Pos(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        table = torch.zeros(n, d)
        table[:, 0] = 1
        self.table = table  # <-
    def forward(self, x):
        return x + self.table[: x.shape[1]]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos, self.fc = Pos(10, 4), nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(self.pos(x))
device = "meta"
net = Net().to(device)
net(torch.ones(2, 5, 4, device=device))
""",
)

MORE["amp trainer fn"] = (
    "autocast-result-outside",
    {
        "m.py": """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
""",
        "script.py": """
import torch
from torch.amp import autocast
from m import Net
net = Net()
def features(x):
    with autocast("cpu", dtype=torch.bfloat16):
        return net.body(x)
def step(x):
    h = features(x)
    out = net.head(h)  # <-
    out.sum().backward()
step(torch.ones(2, 4))
""",
    },
)
MORE["amp mse"] = (
    "autocast-result-outside",
    HEAD
    + """
a, b = nn.Linear(4, 4), torch.ones(4, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = a(torch.ones(2, 4))
out = h @ b  # <-
""",
)
MORE["f64 default"] = (
    "dtype-mismatch",
    {
        "data.py": """
import numpy as np, torch
def load():
    x = np.random.rand(4, 3)
    return torch.tensor(x), torch.zeros(4, 1)  # <-
""",
        "script.py": """
import torch
from data import load
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 1)
    def forward(self, inp):
        return self.fc(inp)
x, y = load()
net = Net()
out = net(x)
""",
    },
)
MORE["f64 conv as_tensor"] = (
    "dtype-mismatch",
    HEAD
    + """
import numpy as np
img = torch.as_tensor(np.zeros((1, 3, 8, 8)))  # <-
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten())
net(img)
""",
)
MORE["uint8 image conv"] = (
    "dtype-mismatch",
    HEAD
    + """
import numpy as np
img = torch.from_numpy(np.zeros((1, 3, 8, 8), dtype=np.uint8))  # <-
nn.Conv2d(3, 4, 3)(img)
""",
)

MORE["collate fn own stack"] = (
    "stack-sizes",
    HEAD
    + """
from torch.utils.data import DataLoader
def collate(items):
    return torch.stack(items)  # <-
for b in DataLoader([torch.arange(3), torch.arange(2)], batch_size=2, collate_fn=collate):
    pass
""",
)
MORE["collate workers"] = (
    "collate-lengths",
    HEAD
    + """
from torch.utils.data import DataLoader
data = [(torch.arange(n), n) for n in (3, 2)]
loader = DataLoader(data, batch_size=2, num_workers=1)  # <-
for x, y in loader:
    pass
""",
)
MORE["ddp prefix file"] = (
    "checkpoint-names",
    {
        "train.py": """
import torch
from torch import nn
def train(path, net):
    model = nn.DataParallel(net)
    torch.save(model.state_dict(), path)  # <-
""",
        "script.py": """
import tempfile, os
import torch
from torch import nn
import train
path = os.path.join(tempfile.mkdtemp(), "a.pt")
def build():
    return nn.Sequential(nn.Linear(2, 3))
train.train(path, build())
net = build()
net.load_state_dict(torch.load(path))
""",
    },
)
MORE["file prefix only"] = (
    "checkpoint-names",
    HEAD
    + """
state = {"module." + k: v for k, v in nn.Linear(2, 3).state_dict().items()}
net = nn.Linear(2, 3)
net.load_state_dict(state)  # <-
""",
)
MORE["forward nested in method"] = (
    "forward-missing",
    {
        "net.py": """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)

        def forward(self, x):  # <-
            h = self.fc(x)
            return torch.relu(h)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(3)
    def forward(self, x):
        return self.block(x)
""",
        "script.py": """
import torch
from net import Net
Net()(torch.ones(1, 3))
""",
    },
)
MORE["plot list numpy"] = (
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
)
MORE["asarray"] = (
    "numpy-of-graph",
    HEAD
    + """
import numpy as np
net = nn.Linear(2, 1)
out = net(torch.ones(3, 2))
np.asarray(out)  # <-
""",
)
MORE["flip"] = (
    "numpy-negative-stride",
    HEAD
    + """
import numpy as np
class Flip:
    def __call__(self, a):
        return np.fliplr(a)  # <-
t = Flip()
img = t(np.zeros((2, 3)))
x = torch.from_numpy(img)
""",
)
MORE["flip inline"] = (
    "numpy-negative-stride",
    HEAD
    + """
import numpy as np
a = np.arange(3.0)
x = torch.tensor(a[::-1])  # <-
""",
)
MORE["iou mean"] = (
    "mean-of-whole-numbers",
    HEAD
    + """
counts = torch.bincount(torch.tensor([1, 2, 2]))
avg = torch.mean(counts)  # <-
""",
)
MORE["inplace leaf in method"] = (
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
)
MORE["inplace view iter"] = (
    "inplace-view",
    HEAD
    + """
h = nn.Linear(4, 6)(torch.randn(3, 4))
for row in h:
    row += 1.0  # <-
h.sum().backward()
""",
)
MORE["inplace saved other file"] = (
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
)
MORE["inplace relu saved"] = (
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
)
MORE["hidden buffer write"] = (
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
)
MORE["non scalar class none file"] = (
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
)
MORE["non scalar functional"] = (
    "backward-non-scalar",
    HEAD
    + """
def loss_fn(pred, y):
    return F.mse_loss(pred, y, reduction="none")  # <-
net = nn.Linear(3, 1)
loss_fn(net(torch.ones(4, 3)), torch.ones(4, 1)).backward()
""",
)
MORE["conv flatten lin cls"] = (
    "linear-features",
    HEAD
    + """
class CNN(nn.Module):
    def __init__(self, n=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(8 * 16 * 16, n))  # <-
    def forward(self, x):
        return self.classifier(self.features(x))
CNN()(torch.randn(2, 3, 32, 32))
""",
)
MORE["index gather"] = (
    "index-out-of-range",
    HEAD
    + """
logp = torch.randn(3, 4)
idx = torch.tensor([[1], [4], [0]])
picked = logp.gather(1, idx)  # <-
""",
)

MORE["state local in time loop"] = (
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
)
MORE["ema of a result"] = (
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
)
MORE["loss list"] = (
    "graph-carried-over",
    HEAD
    + """
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
losses = []
for _ in range(3):
    losses.append(net(torch.randn(4, 2)).square().mean())
    sum(losses).backward()  # <-
""",
)
MORE["item of several"] = (
    "more-than-one-value",
    HEAD
    + """
def metric(a, b):
    return (a - b).abs().item()  # <-
metric(torch.ones(3), torch.zeros(3))
""",
)
MORE["if of a mask"] = (
    "more-than-one-value",
    HEAD
    + """
x = torch.arange(3)
if x > 1:  # <-
    pass
""",
)
MORE["softmax of whole numbers"] = (
    "mean-of-whole-numbers",
    HEAD
    + """
counts = torch.tensor([1, 2])
chances = F.softmax(counts, dim=0)  # <-
""",
)
MORE["one-hot of whole numbers"] = (
    "target-dtype",
    HEAD
    + """
target = torch.eye(3, dtype=torch.long)  # <-
nn.CrossEntropyLoss()(torch.randn(3, 3), target)
""",
)
MORE["a module on meta"] = (
    "meta-values",
    HEAD
    + """
net = nn.Linear(2, 2, device="meta")
net.to("cpu")  # <-
""",
)
MORE["an image without its channel"] = (
    "conv-channels",
    HEAD
    + """
nn.BatchNorm2d(1)(torch.randn(4, 5, 5))  # <-
""",
)
MORE["labels made floats in the call"] = (
    "target-dtype",
    HEAD
    + """
labels = torch.tensor([[0], [1], [2]])
F.cross_entropy(torch.randn(3, 3), labels.reshape(-1).float())  # <-
""",
)
