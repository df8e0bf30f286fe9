"""Traps of datasets, loaders, batches and random streams."""

TRAPS = {
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
    "numpy_unseeded": (
        "seed-incomplete",
        """
import numpy as np
import torch
from torch import nn
def seed_all(n):
    torch.manual_seed(n) #!
def batch():
    x = np.random.randn(8, 4).astype("float32")
    return torch.from_numpy(x)
seed_all(3)
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(4):
    opt.zero_grad(); net(batch()).square().mean().backward(); opt.step()
""",
    ),
    "random_unseeded": (
        "seed-incomplete",
        """
import random
import torch
torch.manual_seed(0) #!
order = list(range(10))
random.shuffle(order)
print(torch.randn(3), order)
""",
    ),
    "default_rng": (
        "seed-incomplete",
        """
import numpy, torch
torch.manual_seed(0)
rng = numpy.random.default_rng() #!
print(torch.randn(2), rng.normal())
""",
    ),
    "rows_changed": (
        "data-changed-in-place",
        """
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader
class Images(Dataset):
    def __init__(self):
        self.images = torch.rand(24, 3, 4, 4)
    def __len__(self): return len(self.images)
    def __getitem__(self, i):
        image = self.images[i]
        image -= 0.5 #!
        return image, i % 2
net = nn.Sequential(nn.Flatten(), nn.Linear(48, 2)); opt = torch.optim.SGD(net.parameters(), 0.01)
for epoch in range(2):
    for x, y in DataLoader(Images() if epoch == 0 else data, batch_size=8):
        data = Images() if epoch == 0 else data
        opt.zero_grad(); nn.functional.cross_entropy(net(x), y).backward(); opt.step()
""",
    ),
    "rows_normalized": (
        "data-changed-in-place",
        """
import torch
from torch.utils.data import TensorDataset, DataLoader
data = TensorDataset(torch.rand(32, 5), torch.rand(32, 1))
def normalize(row):
    return row.sub_(row.mean()) #!
class View(torch.utils.data.Dataset):
    def __init__(self, dataset): self.dataset = dataset
    def __len__(self): return len(self.dataset)
    def __getitem__(self, i):
        x, y = self.dataset[i]
        return normalize(x), y
for _ in range(2):
    for x, y in DataLoader(View(data), batch_size=8): pass
""",
    ),
    "idle_workers": (
        "workers-cost-more",
        """
import time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
def start(number): time.sleep(0.04)
data = TensorDataset(torch.randn(64, 5), torch.randn(64, 1))
net = nn.Linear(5, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
loader = DataLoader(data, batch_size=16, num_workers=2, worker_init_fn=start) #!
for _ in range(25):
    for x, y in loader:
        opt.zero_grad(); nn.functional.mse_loss(net(x), y).backward(); opt.step()
""",
    ),
    "slow_samples": (
        "loader-slower-than-model",
        """
import math, torch
from torch.utils.data import Dataset, DataLoader
class Slow(Dataset):
    def __len__(self): return 24
    def __getitem__(self, i):
        total = sum(math.sqrt(k) for k in range(400_000)) #!
        return torch.tensor([total * 1e-9])
net = torch.nn.Linear(1, 1); opt = torch.optim.SGD(net.parameters(), 0.01)
for x in DataLoader(Slow(), batch_size=8):
    opt.zero_grad(); net(x).square().mean().backward(); opt.step()
""",
    ),
    "iterator_exhausted": (
        "iterator-exhausted",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(12.0)), batch_size=4)
batches = iter(loader) #!
seen = 0
for epoch in range(2):
    for (x,) in batches:
        seen += len(x)
print(seen)
""",
    ),
    "not_shuffled_sorted_labels": (
        "batches-of-one-class",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.cat([torch.randn(100, 2) - 1, torch.randn(100, 2) + 1])
y = torch.cat([torch.zeros(100, dtype=torch.long), torch.ones(100, dtype=torch.long)])
loader = DataLoader(TensorDataset(x, y), batch_size=20) #!
mixed = 0
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for xb, yb in loader:
    mixed += int(yb.unique().numel() == 2)
    opt.zero_grad()
    nn.functional.cross_entropy(net(xb), yb).backward()
    opt.step()
print("batches with both classes:", mixed == len(loader))
""",
    ),
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
    "opt_in_loop": (
        "optimizer-made-in-loop",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
x, y = torch.randn(64, 4), torch.randn(64, 1)
for step in range(50):
    opt = torch.optim.Adam(model.parameters(), lr=0.01) #!
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
print("trained")
""",
    ),
    "iterable_duplicates": (
        "stream-read-twice",
        """
import torch
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        for i in range(self.n): #!
            yield i

if __name__ == "__main__":
    seen = torch.cat(list(DataLoader(Stream(8), batch_size=2, num_workers=2)))
    print("samples:", len(seen), "distinct:", seen.unique().numel())
""",
    ),
    "next_iter": (
        "first-batch-only",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
seen = set()
for step in range(16):
    x, y = next(iter(loader)) #!
    seen.add(x.sum().item())
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
print("batches seen:", len(seen))
""",
    ),
    "seed_in_loop": (
        "seed-in-loop",
        """
import torch
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
noises = []
for step in range(20):
    torch.manual_seed(0) #!
    noise = torch.randn(8, 4)
    noises.append(noise.sum().item())
    opt.zero_grad()
    model(noise).square().mean().backward()
    opt.step()
print("different noises:", len(set(noises)))
""",
    ),
    "anomaly_left": (
        "anomaly-detection-left-on",
        """
import torch
from torch import nn

torch.autograd.set_detect_anomaly(True) #!
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(50):
    opt.zero_grad()
    model(torch.randn(32, 16)).square().mean().backward()
    opt.step()
print("done")
""",
    ),
    "seed_in_getitem_loop": (
        "seed-in-loop",
        """
import torch
from torch import nn

def augment(x):
    torch.manual_seed(1234) #!
    return x + 0.1 * torch.randn_like(x)

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
data = torch.ones(8, 4)
for step in range(10):
    opt.zero_grad()
    net(augment(data)).square().mean().backward()
    opt.step()
print("ok")
""",
    ),
    "slices_overlap": (
        "validation-overlaps-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(200, 5)
y = x.sum(1, keepdim=True)
train = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[140:], y[140:]), batch_size=20) #!
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(xb), yb, reduction="sum") for xb, yb in valid)
    print(epoch, total.item() / len(valid.dataset))
""",
    ),
    "split_anew_for_each": (
        "validation-overlaps-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

class Points(Dataset):
    def __init__(self, n):
        self.points = torch.randn(n, 3)
    def __len__(self):
        return len(self.points)
    def __getitem__(self, i):
        return self.points[i], (self.points[i].norm() > 1.5).long()

def loaders(dataset):
    n = len(dataset)
    train_part, _ = random_split(dataset, [n - n // 5, n // 5])
    _, valid_part = random_split(dataset, [n - n // 5, n // 5]) #!
    return (DataLoader(train_part, batch_size=16, shuffle=True),
            DataLoader(valid_part, batch_size=16))

def run(model, batches, opt=None):
    right = 0
    for inputs, labels in batches:
        scores = model(inputs)
        right += (scores.argmax(1) == labels).sum().item()
        if opt is not None:
            opt.zero_grad()
            nn.functional.cross_entropy(scores, labels).backward()
            opt.step()
    return right / len(batches.dataset)

torch.manual_seed(0)
first, second = loaders(Points(160))
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    seen = run(model, first, opt)
    with torch.no_grad():
        print(seen, run(model, second))
""",
    ),
    "trainer_with_one_dataset": (
        "validation-overlaps-training",
        {
            "fit.py": """
import torch
from torch import nn

class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.opt = torch.optim.Adam(model.parameters(), lr=0.01)
    def loss(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.model(x), y)
    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for batch in self.train_loader:
                self.opt.zero_grad()
                self.loss(batch).backward()
                self.opt.step()
            self.model.eval()
            with torch.no_grad():
                losses = [self.loss(batch).item() for batch in self.val_loader]
            print(epoch, sum(losses) / len(losses))
""",
            "script.py": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from fit import Trainer

torch.manual_seed(0)
x = torch.randn(120, 4)
train_set, val_set = random_split(TensorDataset(x, x[:, :1] * x[:, 1:2]), [96, 24])
train_loader = DataLoader(train_set, batch_size=12, shuffle=True)
val_loader = DataLoader(train_set, batch_size=12) #!
Trainer(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), train_loader, val_loader).fit(3)
""",
        },
    ),
    "ranges_of_subsets": (
        "validation-overlaps-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset
torch.manual_seed(0)
whole = TensorDataset(torch.randn(150, 6), torch.randint(0, 2, (150,)))
order = torch.randperm(150).tolist()
first, held_out = order[:120], order[100:] #!
fitting = DataLoader(Subset(whole, first), batch_size=20, shuffle=True)
checking = DataLoader(Subset(whole, held_out), batch_size=10)
model = nn.Linear(6, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for x, y in fitting:
        opt.zero_grad()
        criterion(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print(epoch, sum((model(x).argmax(1) == y).sum().item() for x, y in checking) / 50)
""",
    ),
    "trained_on_everything": (
        "validation-overlaps-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def make_loaders(x, y, share=0.25):
    n = int(len(x) * (1 - share))
    data = TensorDataset(x, y) #!
    held = TensorDataset(x[n:], y[n:])
    return DataLoader(data, batch_size=24, shuffle=True), DataLoader(held, batch_size=30)

torch.manual_seed(0)
x = torch.randn(120, 4)
y = (x[:, 0] + x[:, 1] > 0).float().unsqueeze(1)
batches, test_batches = make_loaders(x, y)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
bce = nn.BCEWithLogitsLoss()
for epoch in range(3):
    net.train()
    for inputs, targets in batches:
        opt.zero_grad()
        bce(net(inputs), targets).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for inputs, targets in test_batches:
            print(epoch, bce(net(inputs), targets).item())
""",
    ),
    "copied_rows": (
        "validation-overlaps-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
features = torch.randn(160, 5)
targets = features[:, :1].sin()
order = torch.randperm(160)
train_rows, val_rows = order[:130], order[110:] #!
train_loader = DataLoader(
    TensorDataset(features[train_rows], targets[train_rows]), batch_size=26, shuffle=True)
val_loader = DataLoader(TensorDataset(features[val_rows], targets[val_rows]), batch_size=25)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print(epoch, [nn.functional.mse_loss(model(x), y).item() for x, y in val_loader])
""",
    ),
    "seed_multi": (
        "seed-incomplete",
        {
            "data.py": """
import numpy as np
def noisy(n):
    return np.random.normal(size=(n, 4)).astype(np.float32)
""",
            "script.py": """
import random, torch
from torch import nn
from data import noisy
class Run:
    def __init__(self, seed):
        random.seed(seed)
        torch.manual_seed(seed) #!
        self.net = nn.Linear(4, 1)
Run(3)
print(noisy(3).shape)
""",
        },
    ),
    "inplace_view": (
        "data-changed-in-place",
        {
            "data.py": """
import torch
from torch.utils.data import Dataset
class Series(Dataset):
    def __init__(self, n): self.rows = [torch.randn(5) for _ in range(n)]
    def __len__(self): return len(self.rows)
    def __getitem__(self, i):
        r = self.rows[i]
        r[r < 0] = 0 #!
        r.add_(0.01)
        return r, r.sum()
""",
            "script.py": """
import torch
from torch import nn
from torch.utils.data import DataLoader
from data import Series
torch.manual_seed(0)
m = nn.Linear(5, 1); o = torch.optim.SGD(m.parameters(), .01); series = Series(20)
for e in range(3):
    for x, y in DataLoader(series, 5):
        o.zero_grad(); (m(x)[:, 0] - y).square().mean().backward(); o.step()
""",
        },
    ),
}
