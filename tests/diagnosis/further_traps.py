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
    "squeeze_last_batch": (
        "squeeze-drops-batch",
        """
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
    out = net(xb).squeeze() #!
    loss = nn.functional.mse_loss(out, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "squeeze_in_forward": (
        "squeeze-drops-batch",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(6, 3)
    def forward(self, x):
        h = self.pool(torch.relu(self.conv(x)))
        h = torch.squeeze(h) #!
        return self.head(h)
torch.manual_seed(0)
net = Net().eval()
with torch.no_grad():
    for n in (5, 5, 1):
        print(net(torch.randn(n, 1, 8, 8)).softmax(-1).argmax(-1))
""",
    ),
    "hook_returns": (
        "hook-cuts-gradient",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
means = []
def watch(module, args, output):
    means.append(output.detach().mean().item())
    return output.detach() #!
net[0].register_forward_hook(watch)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    opt.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    opt.step()
""",
    ),
    "hook_returns_norm": (
        "hook-cuts-gradient",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
seen = {}
def record(name):
    def hook(module, args, output):
        seen[name] = output.detach()
        return output.detach() * 1.0 #!
    return hook
net[1].register_forward_hook(record("relu"))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    opt.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    opt.step()
""",
    ),
    "seed_in_getitem": (
        "seed-in-loop",
        """
import torch
from torch.utils.data import DataLoader, Dataset
class Noisy(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, i):
        torch.manual_seed(0) #!
        return torch.full((4,), float(i)) + torch.randn(4)
total = 0.0
for x in DataLoader(Noisy(), batch_size=8):
    total += x.sum().item()
print(round(total, 2))
""",
    ),
    "seed_in_sampling": (
        "seed-in-loop",
        """
import torch
def sample(n):
    torch.manual_seed(42) #!
    return torch.randn(n)
runs = [sample(5) for _ in range(8)]
print(torch.stack(runs).std(0).sum().item())
""",
    ),
    "collate_mixed": (
        "batch-dtype-varies",
        """
import torch
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, i):
        if i > 8:
            return torch.from_numpy(np.ones(3)) #!
        return torch.ones(3)
for x in DataLoader(Rows(), batch_size=4):
    print(x.dtype)
""",
    ),
    "targets_int_and_float": (
        "batch-dtype-varies",
        """
import torch
from torch.utils.data import DataLoader, Dataset
class Prices(Dataset):
    def __init__(self):
        self.prices = [3, 4.5, 5, 6.25, 7.5, 8]
    def __len__(self):
        return 6
    def __getitem__(self, i):
        return torch.ones(2), self.prices[i] #!
for x, y in DataLoader(Prices(), batch_size=3):
    print(y.dtype, y)
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
}
