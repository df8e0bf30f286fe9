"""Errors whose cause stands before the line that raises; like ``programs``."""

MISTAKES = {
    "bag_index": (
        "embedding-index",
        """
import torch
from torch import nn

table = nn.EmbeddingBag(4, 3) # <-
table(torch.tensor([1, 9]), torch.tensor([0]))
print("ok")
""",
    ),
    "cnn_view_batch_wrong": (
        "view-takes-from-batch",
        """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(4)
        self.out = nn.Linear(8 * 7 * 7, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x)))
        x = x.view(-1, 8 * 7) # <-
        return self.out(x)

print(tuple(Net()(torch.randn(4, 1, 28, 28)).shape))
""",
    ),
    "mha_key_padding_mask_shape": (
        "batch-first",
        """
import torch
from torch import nn

attn = nn.MultiheadAttention(16, 2) # <-
x = torch.randn(3, 7, 16)
lengths = torch.tensor([7, 5, 2])
pad = torch.arange(7)[None, :] >= lengths[:, None]
out, _ = attn(x, x, x, key_padding_mask=pad)
print(out.shape)
""",
    ),
    "sdpa_mask_shape": (
        "broadcast-shapes",
        """
import torch
import torch.nn.functional as F

q = k = v = torch.randn(2, 4, 6, 8)
pad = torch.zeros(2, 6, dtype=torch.bool)
pad[0, :3] = True
pad[1] = True
out = F.scaled_dot_product_attention(q, k, v, attn_mask=pad) # <-
print(out.shape)
""",
    ),
    "batchnorm_2d_on_flat": (
        "layer-width",
        """
import torch
from torch import nn

net = nn.Sequential(
    nn.Linear(10, 32),
    nn.BatchNorm2d(32), # <-
    nn.ReLU(),
    nn.Linear(32, 1),
)
print(net(torch.randn(16, 10)).shape)
""",
    ),
    "layernorm_shape": (
        "layer-width",
        """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, dim, seq):
        super().__init__()
        self.norm = nn.LayerNorm(seq) # <-
        self.lin = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.lin(self.norm(x))

print(Block(32, 10)(torch.randn(2, 10, 32)).shape)
""",
    ),
    "mean_wrong_dim": (
        "reduced-wrong-dimension",
        """
import torch
from torch import nn

class MeanPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8)
        self.fc = nn.Linear(8, 2)

    def forward(self, ids):
        pooled = self.emb(ids).mean(dim=-1) # <-
        return self.fc(pooled)

print(MeanPool()(torch.randint(0, 30, (4, 12))).shape)
""",
    ),
    "argmax_wrong_dim": (
        "reduced-wrong-dimension",
        """
import torch

logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
target = torch.tensor([0, 2])
pred = logits.argmax(dim=0) # <-
print((pred == target).sum().item())
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
    "sequential_list": (
        "not-a-module",
        """
import torch
from torch import nn

layers = [nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)]
net = nn.Sequential(layers) # <-
print(net(torch.ones(1, 2)).shape)
""",
    ),
    "sequential_class": (
        "not-a-module",
        """
import torch
from torch import nn

net = nn.Sequential(
    nn.Linear(2, 4),
    nn.ReLU, # <-
    nn.Linear(4, 1),
)
print(net(torch.ones(1, 2)).shape)
""",
    ),
    "forward_returns_nothing": (
        "result-missing",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        out = self.fc(x) # <-

y = Net()(torch.ones(4, 2))
loss = nn.functional.mse_loss(y, torch.zeros(4, 1))
print(loss.item() > 0)
""",
    ),
    "init_misspelt": (
        "init-misspelt",
        """
import torch
from torch import nn

class Net(nn.Module):
    def _init_(self): # <-
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(x)

print(Net()(torch.ones(1, 2)).shape)
""",
    ),
    "loader_stopiteration": (
        "iterator-ends",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4)
it = iter(loader)
total = 0.0
for step in range(5):
    (x,) = next(it) # <-
    total += x.sum().item()
print(total > 0)
""",
    ),
    "lstm_output_tuple": (
        "result-is-tuple",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8, batch_first=True)
        self.fc = nn.Linear(8, 1)
    def forward(self, x):
        h = self.lstm(x) # <-
        return self.fc(h[:, -1])

print(Net()(torch.randn(2, 5, 3)).shape)
""",
    ),
    "class_not_instance": (
        "class-for-object",
        """
import torch
from torch import nn

activation = nn.ReLU # <-
x = torch.tensor([-1.0, 2.0])
print(activation(x).sum().item())
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
    "no_grad_without_call": (
        "context-not-called",
        """
import torch
from torch import nn

net = nn.Linear(2, 1)
x = torch.ones(3, 2)
with torch.no_grad: # <-
    y = net(x)
print(y.shape)
""",
    ),
    "lr_tuple_comma": (
        "number-is-tuple",
        """
import torch
from torch import nn

net = nn.Linear(2, 1)
rate = 0.1, # <-
opt = torch.optim.SGD(net.parameters(), lr=rate)
net(torch.ones(1, 2)).sum().backward()
opt.step()
print("stepped")
""",
    ),
    "unsqueeze_missing_predict": (
        "flatten-missing",
        """
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 2))
image = torch.rand(3, 8, 8)
print(net(image).shape) # <-
""",
    ),
    "ce_weight_length": (
        "class-weights-length",
        """
import torch
from torch import nn

counts = torch.tensor([10.0, 20.0])
criterion = nn.CrossEntropyLoss(weight=1 / counts) # <-
logits = torch.randn(6, 3)
loss = criterion(logits, torch.tensor([0, 1, 2, 0, 1, 2]))
print(loss.item() > 0)
""",
    ),
    "rnn_hidden_batch_last": (
        "layer-width",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(10, 6, 3))
rnn = nn.RNN(3, 5, batch_first=True)
for (x,) in DataLoader(data, batch_size=4):
    h0 = torch.zeros(1, 4, 5) # <-
    out, h = rnn(x, h0)
print(out.shape[0])
""",
    ),
}
