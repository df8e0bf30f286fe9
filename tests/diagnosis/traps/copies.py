"""Traps of copies, views, conversions and what is kept: needless, missing or shared."""

TRAPS = {
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
    "float64_target": (
        "float64-creeps-in",
        """
import numpy as np, torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
class Data(Dataset):
    def __init__(self):
        r = np.random.RandomState(0)
        self.x = torch.from_numpy(r.randn(64, 4).astype("float32"))
        self.y = torch.from_numpy(r.randn(64, 1)) #!
    def __len__(self): return 64
    def __getitem__(self, i): return self.x[i], self.y[i]
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in DataLoader(Data(), batch_size=16):
    opt.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    opt.step()
""",
    ),
    "round_trip": (
        "dtype-round-trip",
        """
import torch
from torch import nn
net = nn.Linear(64, 8); opt = torch.optim.SGD(net.parameters(), 0.001)
for _ in range(12):
    x = torch.randn(2048, 64)
    x = x.double().float() #!
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
""",
    ),
    "cloned_temporary": (
        "copy-of-temporary",
        """
import torch
total = torch.zeros(500_000)
for k in range(8):
    total = (total * 0.5 + k).clone() #!
print(total[0].item())
""",
    ),
    "value_by_value": (
        "values-read-one-by-one",
        """
import torch
x = torch.arange(30000.)
total = 0.0
for v in x:
    total += v.item() #!
print(total)
""",
    ),
    "inplace_expand_write": (
        "expanded-written",
        """
import torch

base = torch.zeros(3, 1)
table = base.expand(3, 4) #!
table[0, 0] = 1.0
print(table.sum().item())
""",
    ),
    "numpy_alias_inplace": (
        "array-shared",
        """
import numpy as np
import torch

frame = np.zeros(4, dtype=np.float32)
frames = []
for t in range(3):
    frame[:] = t
    frames.append(torch.from_numpy(frame)) #!
print("frames differ:", not torch.equal(frames[0], frames[2]))
""",
    ),
    "list_alias_inplace": (
        "tensor-repeated",
        """
import torch

state = torch.zeros(3)
trajectory = []
for t in range(4):
    state += 1
    trajectory.append(state) #!
print("starts at one:", trajectory[0][0].item() == 1.0)
""",
    ),
    "chained_index_write": (
        "write-to-copy",
        """
import torch

scores = torch.zeros(4, 3)
rows = torch.tensor([0, 2])
scores[rows][:, 1] = 5.0 #!
print("written:", scores.sum().item() > 0)
""",
    ),
    "mask_chained_write": (
        "write-to-copy",
        """
import torch

x = torch.tensor([1.0, -2.0, 3.0, -4.0])
x[x < 0].fill_(0.0) #!
print(x.min().item() >= 0)
""",
    ),
    "scratch_numpy": (
        "array-shared",
        """
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
        return torch.from_numpy(self.frame) #!
print(sum(float(x.sum()) for x in DataLoader(Noise(), batch_size=6)))
""",
    ),
    "same_tensor_returned": (
        "tensor-repeated",
        """
import torch
class Env:
    def __init__(self):
        self.state = torch.zeros(4)
    def step(self):
        self.state += 0.1
        return self.state
env = Env()
history = []
for t in range(20):
    history.append(env.step()) #!
states = torch.stack(history)
print("all equal:", bool((states[0] == states[-1]).all()))
""",
    ),
    "cat_on_line": (
        "cat-in-loop",
        """
import torch
t = torch.zeros(0, 64)
for i in range(300): p = torch.full((4, 64), float(i)); t = torch.cat([t, p]) #!
print(t.shape)
""",
    ),
    "view_inplace_caller": (
        "argument-changed-in-place",
        """
import torch

def normalise(batch):
    flat = batch.view(batch.size(0), -1)
    flat -= flat.mean(1, keepdim=True) #!
    flat /= flat.std(1, keepdim=True)
    return flat

torch.manual_seed(0)
images = torch.rand(4, 3, 5)
before = images.clone()
out = normalise(images)
print("input untouched:", torch.equal(before, images))
print("brightness", images.mean().item() > 0.1)
""",
    ),
    "repeated_list_zeros": (
        "tensor-repeated",
        """
import torch

states = [torch.zeros(3)] * 4 #!
for i, s in enumerate(states):
    s += i
print(torch.stack(states)[:, 0].tolist())
""",
    ),
    "whole_pickle_dict": (
        "whole-model-saved",
        """
import io
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x): return self.fc(x)

model = Net()
opt = torch.optim.SGD(model.parameters(), 0.1)
buffer = io.BytesIO()
checkpoint = {"epoch": 3, "model": model, "optimizer": opt.state_dict()} #!
torch.save(checkpoint, buffer)
print("saved")
""",
    ),
    "best_alias_dict": (
        "snapshot-is-alias",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
best, best_loss = None, float("inf")
x, y = torch.randn(32, 3), torch.randn(32, 1)
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    if loss.item() < best_loss:
        best_loss = loss.item()
        best = {k: v for k, v in model.state_dict().items()} #!
    opt.zero_grad()
    loss.backward()
    opt.step()
model.load_state_dict(best)
print("done")
""",
    ),
    "best_alias_model": (
        "snapshot-is-alias",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 3), torch.randn(32, 1)
best_model, best_loss = None, float("inf")
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    if loss.item() < best_loss:
        best_loss = loss.item()
        best_model = model #!
    opt.zero_grad()
    loss.backward()
    opt.step()
print("best is the live one:", best_model is model)
""",
    ),
    "weight_alias": (
        "compared-with-itself",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
before = model.weight.data #!
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    model(torch.ones(2, 3)).sum().backward()
    opt.step()
print("weights changed:", not torch.equal(before, model.weight))
""",
    ),
    "needless_contiguous": (
        "contiguous-for-nothing",
        """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)

    def forward(self, x):
        y = x.transpose(1, 2).contiguous() #!
        return self.fc(y.transpose(1, 2))

torch.manual_seed(0)
model = Block(128)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    opt.zero_grad()
    model(torch.randn(32, 64, 128)).square().mean().backward()
    opt.step()
print("done")
""",
    ),
    "stack_outputs_grow": (
        "cat-in-loop",
        """
import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(32, 16)
data = torch.randn(400, 4, 32)
features = None
with torch.no_grad():
    for chunk in data:
        f = enc(chunk)
        features = f if features is None else torch.cat([features, f]) #!
print(features.shape)
""",
    ),
    "double_default": (
        "float64-creeps-in",
        """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(1)
        self.x = rng.normal(size=(n, 4)).astype(np.float32)
        self.y = rng.normal(size=(n, 1)) #!
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.from_numpy(self.y[i])

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.05)
for x, y in DataLoader(Table(64), batch_size=16):
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.dtype)
""",
    ),
    "slice_in_place": (
        "argument-changed-in-place",
        """
import torch

def blacken(image, size):
    patch = image[:, :size, :size]
    patch.zero_() #!
    return patch

torch.manual_seed(0)
img = torch.rand(3, 8, 8)
p = blacken(img, 4)
print("image mean unchanged:", img.mean().item() > 0.45, p.shape)
""",
    ),
    "alias_best": (
        "snapshot-is-alias",
        """
import torch
from torch import nn
class EarlyStopping:
    def __init__(self): self.best, self.weights = float("inf"), None
    def __call__(self, loss, model):
        if loss < self.best:
            self.best, self.weights = loss, model.state_dict() #!
torch.manual_seed(0)
m = nn.Linear(3, 1); o = torch.optim.SGD(m.parameters(), .05); es = EarlyStopping()
for _ in range(6):
    l = m(torch.randn(8, 3)).square().mean(); o.zero_grad(); l.backward(); o.step(); es(l.item(), m)
m.load_state_dict(es.weights)
""",
    ),
}
