"""Programs that raise as people write them; like ``programs``."""

EVERYDAY = {
    "lstm_tuple": (
        "result-is-tuple",
        """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=16, hidden=32, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, tags)

    def forward(self, tokens):
        states = self.lstm(self.embed(tokens)) # <-
        return self.out(states)

print(Tagger()(torch.randint(0, 50, (2, 7))).shape)
""",
    ),
    "lstm_seq_tuple": (
        "result-is-tuple",
        """
import torch
from torch import nn

model = nn.Sequential(
    nn.Embedding(20, 8),
    nn.LSTM(8, 16, batch_first=True), # <-
    nn.Linear(16, 2),
)
print(model(torch.randint(0, 20, (4, 6))).shape)
""",
    ),
    "pos_param_short": (
        "broadcast-shapes",
        """
import torch
from torch import nn

class ViT(nn.Module):
    def __init__(self, patches=16, dim=32):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, patches, dim)) # <-
        self.proj = nn.Linear(48, dim)

    def forward(self, x):
        x = self.proj(x)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1)
        return x + self.pos

model = ViT()
print(model(torch.randn(2, 16, 48)).shape)
""",
    ),
    "mha_heads": (
        "heads-do-not-divide",
        """
import torch
from torch import nn

dim, heads = 30, 4 # <-
attn = nn.MultiheadAttention(dim, heads, batch_first=True)
x = torch.randn(2, 5, dim)
print(attn(x, x, x)[0].shape)
""",
    ),
    "bn_features": (
        "layer-width",
        """
import torch
from torch import nn

class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.bn = nn.BatchNorm2d(cin) # <-

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))

net = nn.Sequential(ConvBlock(3, 16), ConvBlock(16, 32))
print(net(torch.randn(2, 3, 8, 8)).shape)
""",
    ),
    "mask_dims": (
        "mask-shape",
        """
import torch

x = torch.randn(4, 6)
keep = x.sum(0) > 0
kept = x[keep] # <-
print(kept.shape[0] >= 0)
""",
    ),
    "scatter_onehot": (
        "index-dimensions",
        """
import torch

labels = torch.tensor([0, 2, 1])
onehot = torch.zeros(3, 3)
onehot.scatter_(1, labels, 1.0) # <-
print(onehot)
""",
    ),
    "dim_range": (
        "dimension-out-of-range",
        """
import torch
from torch import nn

class Pool(nn.Module):
    def forward(self, x):
        return x.mean(dim=2) # <-

model = nn.Sequential(nn.Linear(4, 8), Pool())
print(model(torch.randn(3, 4)).shape)
""",
    ),
    "stack_uneven": (
        "stack-sizes",
        """
import torch

def pad(seq, n):
    return torch.cat([seq, torch.zeros(n - len(seq), dtype=seq.dtype)])

seqs = [torch.arange(n) for n in (3, 5, 2)]
batch = torch.stack(seqs) # <-
print(batch.shape)
""",
    ),
    "uint8_div": (
        "in-place-dtype",
        """
import torch

frames = torch.randint(0, 256, (2, 3, 4, 4), dtype=torch.uint8)
frames /= 255 # <-
print(frames.max() <= 1)
""",
    ),
    "int32_onehot": (
        "target-dtype",
        """
import numpy as np
import torch
import torch.nn.functional as F

labels = torch.from_numpy(np.array([0, 1, 2], dtype=np.int32)) # <-
print(F.one_hot(labels, 3))
""",
    ),
    "bool_minus": (
        "bool-arithmetic",
        """
import torch

mask = torch.tensor([True, False, True])
inverse = 1 - mask # <-
print(inverse)
""",
    ),
    "masked_fill_long": (
        "mask-dtype",
        """
import torch

tokens = torch.tensor([[1, 2, 0], [3, 0, 0]])
pad = torch.tensor([[0, 0, 1], [0, 1, 1]]) # <-
scores = torch.randn(2, 3)
print(scores.masked_fill(pad, float("-inf")).shape)
""",
    ),
    "ce_float_explicit": (
        "target-dtype",
        """
import torch
from torch import nn

labels = torch.tensor([0, 2, 1, 1]).float() # <-
logits = nn.Linear(5, 3)(torch.randn(4, 5))
print(nn.functional.cross_entropy(logits, labels).item() > 0)
""",
    ),
    "numpy_bf16": (
        "numpy-dtype",
        """
import torch
from torch import nn

net = nn.Linear(3, 2)
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    out = net(torch.randn(4, 3))
print(out.numpy().shape) # <-
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
    "device_not_assigned": (
        "tensor-left-behind",
        """
import torch
from torch import nn

device = "meta"
model = nn.Linear(3, 1).to(device)
x = torch.randn(2, 3)
x.to(device) # <-
print(model(x).shape)
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
    "expand_write": (
        "expanded-in-place",
        """
import torch

base = torch.zeros(1, 4).expand(3, 4) # <-
base[0, 0] = 1.0
base += torch.ones(3, 4)
print(base.sum())
""",
    ),
    "no_return": (
        "result-missing",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        x = self.fc(x) # <-

net = Net()
out = net(torch.ones(1, 2))
loss = out.sum()
loss.backward()
print("ok")
""",
    ),
    "relu_ctor": (
        "class-for-object",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        x = nn.ReLU(self.fc(x)) # <-
        return x.sum()

print(Net()(torch.ones(1, 2)))
""",
    ),
    "class_not_instance": (
        "class-for-object",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

model = Net # <-
print(model(torch.ones(1, 2)).shape)
""",
    ),
    "params_no_call": (
        "method-not-called",
        """
import torch
from torch import nn

model = nn.Linear(2, 2)
opt = torch.optim.Adam(model.parameters, lr=1e-3) # <-
print("ok")
""",
    ),
    "params_exhausted": (
        "parameters-empty",
        """
import torch
from torch import nn

model = nn.Linear(2, 2)
params = model.parameters() # <-
print("parameters:", sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)
print("ok")
""",
    ),
    "params_of_a_temporary": (
        "modules-in-plain-list",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(3)] # <-

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

opt = torch.optim.Adam(Net(4).parameters())
""",
    ),
    "dup_groups": (
        "parameters-twice",
        """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD([
    {"params": model.parameters(), "lr": 0.01}, # <-
    {"params": model[2].parameters(), "lr": 0.1},
])
print(len(opt.param_groups))
""",
    ),
    "load_assign": (
        "result-missing",
        """
import torch
from torch import nn

trained = nn.Linear(2, 2)
model = nn.Linear(2, 2)
model = model.load_state_dict(trained.state_dict()) # <-
model.eval()
print(model(torch.ones(1, 2)).shape)
""",
    ),
    "statedict_no_call": (
        "method-not-called",
        """
import io
import torch
from torch import nn

model = nn.Linear(2, 2)
buffer = io.BytesIO()
torch.save(model.state_dict, buffer) # <-
buffer.seek(0)
model.load_state_dict(torch.load(buffer, weights_only=False))
print("ok")
""",
    ),
    "onecycle_too_many": (
        "schedule-too-short",
        """
import torch
from torch import nn

model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
epochs, batches = 3, 4
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=epochs) # <-
for epoch in range(epochs):
    for b in range(batches):
        opt.zero_grad()
        model(torch.randn(4, 2)).square().mean().backward()
        opt.step()
        sched.step()
print("done")
""",
    ),
    "plateau_no_metric": (
        "plateau-without-metric",
        """
import torch
from torch import nn

model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
for epoch in range(3):
    opt.zero_grad()
    val_loss = model(torch.randn(4, 2)).square().mean()
    val_loss.backward()
    opt.step()
    sched.step() # <-
print("done")
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
    "collate_none": (
        "sample-is-none",
        """
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self): return 6
    def __getitem__(self, i):
        if i == 3:
            return None # <-
        return torch.randn(3)

for batch in DataLoader(Images(), batch_size=2):
    print(batch.shape)
""",
    ),
    "worker_index": (
        "dataset-too-long",
        """
import torch
from torch.utils.data import DataLoader, Dataset

class Windows(Dataset):
    def __init__(self, series, size):
        self.series, self.size = series, size

    def __len__(self):
        return len(self.series) # <-

    def __getitem__(self, i):
        window = self.series[i:i + self.size]
        return window, self.series[i + self.size]

if __name__ == "__main__":
    data = Windows(torch.arange(20.0), 4)
    n = sum(len(w) for w, t in DataLoader(data, batch_size=4))
    print(n)
""",
    ),
    "shuffle_sampler": (
        "sampler-and-shuffle",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

data = TensorDataset(torch.randn(10, 2))
sampler = WeightedRandomSampler(torch.ones(10), 10)
loader = DataLoader(data, batch_size=2, sampler=sampler, shuffle=True) # <-
print(len(loader))
""",
    ),
    "loss_as_float": (
        "number-for-tensor",
        """
import torch
from torch import nn

class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), 0.1)

    def compute_loss(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        return loss.item() # <-

    def train_step(self, x, y):
        self.opt.zero_grad()
        loss = self.compute_loss(x, y)
        loss.backward()
        self.opt.step()

Trainer(nn.Linear(2, 1)).train_step(torch.randn(4, 2), torch.randn(4, 1))
print("ok")
""",
    ),
    "topk_range": (
        "more-asked-than-there",
        """
import torch

logits = torch.randn(4, 3)
values, idx = logits.topk(5, dim=1) # <-
print(idx.shape)
""",
    ),
    "where_cond_float": (
        "mask-dtype",
        """
import torch

x = torch.randn(4)
mask = torch.tensor([1.0, 0.0, 1.0, 0.0]) # <-
y = torch.where(mask, x, torch.zeros(4))
print(y.shape)
""",
    ),
    "cat_dtype_device": (
        "tensor-left-behind",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = torch.linspace(0.1, 1.0, 4) # <-
        self.fc = nn.Linear(8, 1)
    def forward(self, x):
        s = self.scales.expand(x.size(0), 4)
        return self.fc(torch.cat([x, s], dim=1))

net = Net().to("meta")
print(net(torch.randn(3, 4, device="meta")).shape)
""",
    ),
    "mixed_loss_item": (
        "number-for-tensor",
        """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()
total = 0
for i in range(4):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    total += loss_fn(model(x), y).item() # <-
opt.zero_grad()
total.backward()
opt.step()
print("ok")
""",
    ),
}
