"""Traps of training loops, weights and evaluation that raise nothing; like ``traps``."""

TRAPS = {
    "zeroed_each_backward": (
        "gradients-zeroed-before-step",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(128, 8), torch.randn(128, 1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ACCUM = 4
loader = DataLoader(TensorDataset(x, y), batch_size=8)
for epoch in range(2):
    for i, (xb, yb) in enumerate(loader):
        opt.zero_grad() #!
        loss = nn.functional.mse_loss(model(xb), yb) / ACCUM
        loss.backward()
        if (i + 1) % ACCUM == 0:
            opt.step()
    print(epoch, loss.item())
""",
    ),
    "argmax_given_to_mse": (
        "gradient-without-slope",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    def forward(self, x):
        return self.net(x)

torch.manual_seed(0)
x = torch.randn(90, 4)
y = x[:, :3].argmax(1)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for epoch in range(3):
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=30):
        pred = model(xb).argmax(dim=1).float() #!
        pred.requires_grad_(True)
        loss = loss_fn(pred, yb.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
    "weights_like_counts": (
        "class-weights-inverted",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
n = 400
y = (torch.rand(n) < 0.1).long()
x = torch.randn(n, 4) + y[:, None] * 1.0

def class_weights(labels):
    counts = torch.bincount(labels)
    return counts / counts.sum() #!

def main():
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    criterion = nn.CrossEntropyLoss(weight=class_weights(y))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for xb, yb in DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True):
            opt.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            opt.step()
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(1)
    print("recall of the rare class", ((pred == 1) & (y == 1)).sum().item() / y.sum().item())

main()
""",
    ),
    "normal_of_one": (
        "weights-too-large",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class MLP(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.a = nn.Linear(d, 64)
        self.b = nn.Linear(64, 64)
        self.c = nn.Linear(64, 4)
        self.apply(self.reset)
    def reset(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=1.0) #!
            nn.init.zeros_(m.bias)
    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))

torch.manual_seed(0)
x = torch.randn(128, 16)
y = x[:, :4].argmax(1)
model = MLP()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    total = 0.0
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / 4)
""",
    ),
    "fillers_in_loss": (
        "padding-counted-in-loss",
        """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0

def collate(rows):
    tokens = pad_sequence([r[0] for r in rows], batch_first=True, padding_value=PAD)
    tags = pad_sequence([r[1] for r in rows], batch_first=True, padding_value=PAD)
    return tokens, tags

class Tagger(nn.Module):
    def __init__(self, vocab, tags):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16, padding_idx=PAD)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.out = nn.Linear(16, tags)
    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0])

torch.manual_seed(0)
rows = []
for _ in range(40):
    n = int(torch.randint(2, 12, (1,)))
    t = torch.randint(1, 20, (n,))
    rows.append((t, t % 4 + 1))
model = Tagger(20, 5)
criterion = nn.CrossEntropyLoss() #!
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for tokens, tags in DataLoader(rows, batch_size=8, collate_fn=collate):
        opt.zero_grad()
        scores = model(tokens)
        loss = criterion(scores.reshape(-1, 5), tags.reshape(-1))
        loss.backward()
        opt.step()
print("loss", loss.item())
""",
    ),
    "frozen_norm_trains": (
        "frozen-norm-in-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 2)
    def forward(self, x):
        return self.head(self.features(x))

def freeze(module):
    for p in module.parameters():
        p.requires_grad = False

torch.manual_seed(0)
x = torch.randn(96, 6) * 3 + 5
y = (x[:, 0] > 5).long()
model = Net()
model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()})
freeze(model.features)
opt = torch.optim.SGD(model.head.parameters(), lr=0.1)
for epoch in range(3):
    model.train() #!
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
print("mean moved", model.features[1].running_mean.abs().max().item() > 0.1)
""",
    ),
    "outputs_two_objects_deep": (
        "graph-kept-alive",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class History:
    def __init__(self):
        self.losses, self.predictions = [], []
    def add(self, loss, pred):
        self.losses.append(loss.item())
        self.predictions.append(pred) #!

class Learner:
    def __init__(self, model):
        self.model = model
        self.history = History()
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)
    def batch(self, x, y):
        pred = self.model(x)
        loss = nn.functional.mse_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.add(loss, pred)

torch.manual_seed(0)
learner = Learner(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
for x, y in DataLoader(TensorDataset(torch.randn(640, 32), torch.randn(640, 1)), batch_size=16):
    learner.batch(x, y)
print(len(learner.history.predictions))
""",
    ),
    "attention_over_queries": (
        "softmax-over-queries",
        """
import math
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(x.size(-1))
        weights = torch.softmax(scores, dim=1) #!
        return weights @ self.v(x)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.attn = SelfAttention(16)
        self.out = nn.Linear(16, 2)
    def forward(self, t):
        return self.out(self.attn(self.embed(t)).mean(1))

torch.manual_seed(0)
t = torch.randint(20, (64, 10))
y = (t[:, 0] > 9).long()
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for i in range(0, 64, 16):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(t[i:i + 16]), y[i:i + 16])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
}

CLEAN = {
    "slot_attention": """
import torch
from torch import nn
class Slots(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, d)
        self.slots = nn.Parameter(torch.randn(1, 4, d) * 0.1)
    def forward(self, x):
        s = self.q(self.slots.expand(x.size(0), -1, -1))
        w = torch.softmax(s @ self.k(x).transpose(1, 2) / 4.0, dim=1)
        w = w / w.sum(-1, keepdim=True)
        return self.out(w @ self.v(x)).mean(1)
torch.manual_seed(0)
net = Slots()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(8, 10, 16)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x.mean(1))
    loss.backward()
    opt.step()
print("ok")
""",
    "linear_attention": """
import torch
from torch import nn
class Lin(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = q.softmax(dim=-1), k.softmax(dim=1)
        context = k.transpose(1, 2) @ v
        return x + self.out(q @ context)
torch.manual_seed(0)
net = Lin()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(8, 10, 16)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x.flip(1))
    loss.backward()
    opt.step()
print("ok")
""",
    "gan_shared_step": """
import torch
from torch import nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), lr=1e-3), torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
def update(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()
for step in range(12):
    for _ in range(3):
        real = torch.randn(8, 2) + 3
        fake = G(torch.randn(8, 4)).detach()
        update(od, bce(D(real), torch.ones(8, 1)) + bce(D(fake), torch.zeros(8, 1)))
    update(og, bce(D(G(torch.randn(8, 4))), torch.ones(8, 1)))
print("ok")
""",
    "frozen_bn_eval": """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(4, 2)
    def train(self, mode=True):
        super().train(mode)
        self.features.eval()
        return self
    def forward(self, x):
        return self.head(self.features(x))
torch.manual_seed(0)
net = Net()
for p in net.features.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
for epoch in range(5):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(torch.randn(8, 1, 6, 6)), torch.randint(2, (8,)))
    loss.backward()
    opt.step()
print("ok")
""",
    "ignore_index": """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
torch.manual_seed(0)
rows = [torch.randint(1, 20, (int(n),)) for n in torch.randint(4, 12, (40,))]
def collate(batch):
    t = pad_sequence(batch, batch_first=True)
    return t[:, :-1], t[:, 1:]
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.head = nn.Linear(16, 20)
    def forward(self, t):
        return self.head(self.rnn(self.embed(t))[0])
model = LM()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for x, y in DataLoader(rows, batch_size=8, shuffle=True, collate_fn=collate):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y, ignore_index=0)
        loss.backward()
        opt.step()
print("ok")
""",
    "attention_dropout": """
import math
import torch
from torch import nn
class Head(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(d, 2)
    def forward(self, x):
        n = x.size(1)
        s = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(x.size(-1))
        s = s.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
        return self.out((self.drop(s.softmax(-1)) @ self.v(x)).mean(1))
torch.manual_seed(0)
net = Head()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(6):
    net.train()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(torch.randn(8, 6, 16)), torch.randint(2, (8,)))
    loss.backward()
    opt.step()
print("ok")
""",
    "history_object": """
import torch
from torch import nn
class History:
    def __init__(self):
        self.losses, self.outputs = [], []
class Fit:
    def __init__(self, model):
        self.model, self.history = model, History()
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)
    def batch(self, x, y):
        pred = self.model(x)
        loss = nn.functional.mse_loss(pred, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.losses.append(loss.item())
        self.history.outputs.append(pred.detach())
torch.manual_seed(0)
fit = Fit(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
for _ in range(40):
    fit.batch(torch.randn(16, 32), torch.randn(16, 1))
print(len(fit.history.losses))
""",
    "custom_init": """
import torch
from torch import nn
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(16, 32) / 4)
        self.w2 = nn.Parameter(torch.randn(32, 5) / 32 ** 0.5)
    def forward(self, x):
        return torch.relu(x @ self.w1) @ self.w2
torch.manual_seed(0)
net = MLP()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(16, 16)
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), x[:, :5].argmax(1)).backward()
    opt.step()
print("ok")
""",
    "all_ones_pad_tagger_with_o": """
import torch
from torch import nn
torch.manual_seed(0)
t = torch.randint(1, 15, (48, 10))
n = torch.randint(5, 10, (48, 1))
t[torch.arange(10)[None] >= n] = 0
y = (t % 3 == 1).long()
model = nn.Sequential(nn.Embedding(15, 8, padding_idx=0), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(t).reshape(-1, 2), y.reshape(-1))
    loss.backward()
    opt.step()
print("ok")
""",
}
