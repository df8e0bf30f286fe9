"""Traps in datasets, language models, hooks, shared weights and loops; like ``traps``."""

TRAPS = {
    "scratch_returned": (
        "buffer-returned",
        """
import torch
from torch.utils.data import Dataset, DataLoader
class Ramp(Dataset):
    def __init__(self):
        self.buf = torch.zeros(4)
    def __len__(self):
        return 32
    def __getitem__(self, i):
        self.buf.fill_(float(i))
        return self.buf #!
seen = set()
for x in DataLoader(Ramp(), batch_size=8):
    seen |= set(x[:, 0].tolist())
print(len(seen))
""",
    ),
    "scratch_pair": (
        "buffer-returned",
        """
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
        return self.window, self.series[i + self.width] #!
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
    "seed_on_line": (
        "seed-in-loop",
        """
import torch
from torch import nn
net = nn.Linear(3, 1); opt = torch.optim.SGD(net.parameters(), lr=0.01); half = torch.bfloat16
for i in range(12):
    torch.manual_seed(0); x = torch.randn(4, 3) #!
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
""",
    ),
    "opt_on_line": (
        "optimizer-made-in-loop",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
for i in range(12):
    x = torch.randn(4, 3); opt = torch.optim.Adam(net.parameters(), lr=0.01) #!
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
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
    "hook_on_line": (
        "hooks-pile-up",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1); seen = []
def features(x):
    n = 1; net.register_forward_hook(lambda m, a, o: seen.append(o.detach())); out = net(x) #!
    y = 1; return out
with torch.no_grad():
    for i in range(6): features(torch.randn(4, 3))
""",
    ),
}

CLEAN = {
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
}
