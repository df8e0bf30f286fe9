"""Mistakes in what a call is given, as people make them; like ``programs``."""

MISTAKES = {
    "clip_module": (
        "module-for-parameters",
        """
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

model = nn.Linear(3, 1)
model(torch.randn(4, 3)).sum().backward()
clip_grad_norm_(model, 1.0) # <-
print("ok")
""",
    ),
    "opt_module": (
        "module-for-parameters",
        """
import torch
from torch import nn

model = nn.Linear(3, 1)
opt = torch.optim.SGD(model, lr=0.1) # <-
print("ok")
""",
    ),
    "lr_string": (
        "number-as-text",
        """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", default="0.01") # <-
args = parser.parse_args([])
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=args.lr)
model(torch.randn(4, 3)).sum().backward()
opt.step()
print("ok")
""",
    ),
    "float_features": (
        "size-not-whole",
        """
import torch
from torch import nn

class Bottleneck(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.down = nn.Linear(d, d / 2) # <-
        self.up = nn.Linear(d // 2, d)

    def forward(self, x):
        return self.up(torch.relu(self.down(x)))

print(Bottleneck(8)(torch.randn(2, 8)).shape)
""",
    ),
    "view_float": (
        "size-not-whole",
        """
import torch

x = torch.randn(4, 6)
n = x.size(1) / 2 # <-
print(x.view(4, 2, n).shape)
""",
    ),
    "modulelist_called": (
        "container-called",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)]) # <-

    def forward(self, x):
        return self.layers(x)

print(Net()(torch.randn(3, 4)).shape)
""",
    ),
    "assign_tensor_param": (
        "parameter-assigned",
        """
import torch
from torch import nn

layer = nn.Linear(3, 2)
layer.weight = torch.zeros(2, 3) # <-
print(layer(torch.ones(1, 3)).shape)
""",
    ),
    "param_times": (
        "parameter-assigned",
        """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.s = self.s * 2 # <-
        return x * self.s

print(Scale()(torch.ones(2)).shape)
""",
    ),
    "criterion_one_arg": (
        "argument-missing",
        """
import torch
from torch import nn

criterion = nn.CrossEntropyLoss()
x, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
model = nn.Linear(3, 3)
loss = criterion(model(x)) # <-
print(loss.item() > 0)
""",
    ),
    "enumerate_missing": (
        "loader-used-wrongly",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4)
model = nn.Linear(3, 1)
for i, (x, y) in loader: # <-
    loss = nn.functional.mse_loss(model(x), y)
    print(i, loss.item() > 0)
""",
    ),
    "next_loader": (
        "loader-used-wrongly",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4)
x, y = next(loader) # <-
print(x.shape)
""",
    ),
    "loader_index": (
        "loader-used-wrongly",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4)
x, y = loader[0] # <-
print(x.shape)
""",
    ),
    "dataset_no_len": (
        "dataset-without-length",
        """
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset): # <-
    def __init__(self, x):
        self.x = x
    def __getitem__(self, i):
        return self.x[i]

loader = DataLoader(Rows(torch.randn(6, 2)), batch_size=2)
for batch in loader:
    print(batch.shape)
""",
    ),
    "tensor_of_tensors": (
        "list-for-tensor",
        """
import torch
from torch import nn

model = nn.Linear(2, 3)
outs = [model(torch.randn(2)) for _ in range(4)]
batch = torch.tensor(outs) # <-
print(batch.shape)
""",
    ),
    "stack_empty": (
        "list-for-tensor",
        """
import torch

def collect(rows, keep):
    kept = [r for r in rows if keep(r)]
    return torch.stack(kept) # <-

print(collect([torch.ones(2)], lambda r: r.sum() < 0).shape)
""",
    ),
    "conv1d_layout": (
        "conv-channels",
        """
import torch
from torch import nn

class TextCNN(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 16, 3, padding=1)

    def forward(self, ids):
        x = self.embed(ids)
        return self.conv(x).amax(-1) # <-

print(TextCNN(50, 8)(torch.randint(0, 50, (4, 12))).shape)
""",
    ),
    "view_invalid": (
        "view-count",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 5)
        self.fc = nn.Linear(4 * 24 * 24, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv(x)), 2)
        x = x.view(-1, 4 * 24 * 24) # <-
        return self.fc(x)

print(Net()(torch.randn(3, 1, 28, 28)).shape)
""",
    ),
    "permute_count": (
        "dimensions-count",
        """
import torch

image = torch.rand(1, 8, 8, 3)
chw = image.permute(2, 0, 1) # <-
print(chw.shape)
""",
    ),
    "bmm_2d": (
        "dimensions-count",
        """
import torch

q, k = torch.randn(4, 8), torch.randn(4, 8)
scores = torch.bmm(q, k.T) # <-
print(scores.shape)
""",
    ),
    "hidden_size_layers": (
        "layer-width",
        """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.gru = nn.GRU(4, 8, num_layers=layers, batch_first=True)

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), 8) # <-
        out, h = self.gru(x, h0)
        return out

print(Model()(torch.randn(3, 5, 4)).shape)
""",
    ),
    "opt_load_mismatch": (
        "optimizer-state-differs",
        """
import torch
from torch import nn

small = nn.Linear(2, 2)
saved = torch.optim.Adam(small.parameters()).state_dict()
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.Adam(model.parameters())
opt.load_state_dict(saved) # <-
print("ok")
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
    "pack_zero": (
        "sequence-lengths",
        """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.randn(3, 5, 4)
lengths = torch.tensor([5, 2, 0])
packed = pack_padded_sequence(x, lengths, batch_first=True) # <-
print(packed.data.shape)
""",
    ),
    "pack_unsorted": (
        "sequence-lengths",
        """
import torch
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.randn(3, 5, 4)
lengths = torch.tensor([2, 5, 3])
packed = pack_padded_sequence(x, lengths, batch_first=True) # <-
print(packed.data.shape)
""",
    ),
    "sum_list_mean": (
        "list-for-tensor",
        """
import torch
from torch import nn

losses = [nn.functional.mse_loss(torch.ones(2), torch.zeros(2)) for _ in range(3)]
print(losses.mean()) # <-
""",
    ),
    "shape_call": (
        "shape-unpacked",
        """
import torch

x = torch.randn(3, 4)
n = x.shape(0) # <-
print(n)
""",
    ),
    "size_index": (
        "shape-unpacked",
        """
import torch

x = torch.randn(3, 4)
n = x.size[0] # <-
print(n)
""",
    ),
    "forward_extra_arg": (
        "self-missing",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(x): # <-
        return self.fc(x)

print(Net()(torch.randn(2, 3)).shape)
""",
    ),
    "no_len_tensor_int": (
        "size-not-whole",
        """
import torch
from torch import nn

sizes = torch.tensor([4, 8])
layer = nn.Linear(sizes[0].float(), 3) # <-
print(layer)
""",
    ),
    "seg_target": (
        "target-column",
        """
import torch
from torch import nn

net = nn.Conv2d(3, 4, 1)
images, masks = torch.randn(2, 3, 8, 8), torch.randint(0, 4, (2, 1, 8, 8)) # <-
loss = nn.CrossEntropyLoss()(net(images), masks)
print(loss.shape)
""",
    ),
}
