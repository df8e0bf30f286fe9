"""Traps of losses, targets and averages."""

TRAPS = {
    "softmax_in_forward": (
        "loss-on-probabilities",
        """
import torch, torch.nn.functional as F
from torch import nn
class C(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(4, 3)
    def forward(self, x):
        return F.softmax(self.l(x), dim=-1) #!
m = C(); o = torch.optim.SGD(m.parameters(), 0.1); crit = nn.CrossEntropyLoss()
for _ in range(3):
    o.zero_grad(); crit(m(torch.randn(6, 4)), torch.randint(0, 3, (6,))).backward(); o.step()
""",
    ),
    "softmax_module": (
        "loss-on-probabilities",
        """
import torch
from torch import nn
def make():
    return nn.Sequential(
        nn.Linear(4, 3),
        nn.Softmax(dim=1), #!
    )
m = make()
loss = nn.functional.cross_entropy(m(torch.randn(5, 4)), torch.randint(0, 3, (5,)))
""",
    ),
    "sigmoid_bce": (
        "loss-on-probabilities",
        """
import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__(); self.f = nn.Linear(4, 1); self.act = nn.Sigmoid() #!
    def forward(self, x): return self.act(self.f(x)).squeeze(1)
loss = nn.BCEWithLogitsLoss()(M()(torch.randn(6, 4)), torch.ones(6))
""",
    ),
    "nll_func": (
        "loss-on-probabilities",
        """
import torch
import torch.nn.functional as F
p = torch.randn(4, 3).softmax(1) #!
print(F.nll_loss(p, torch.tensor([0, 1, 2, 0])))
""",
    ),
    "broadcast_mse": (
        "broadcast-comparison",
        """
import torch
from torch import nn
m = nn.Linear(3, 1); o = torch.optim.SGD(m.parameters(), 0.01)
crit = nn.MSELoss()
x = torch.randn(16, 3); y = x.sum(1)
for _ in range(3):
    pred = m(x)
    loss = crit(pred, y) #!
    o.zero_grad(); loss.backward(); o.step()
""",
    ),
    "broadcast_manual": (
        "broadcast-comparison",
        """
import torch
from torch import nn
m = nn.Linear(3, 1)
x = torch.randn(16, 3); y = x.sum(1)
loss = ((m(x) - y) ** 2).mean() #!
""",
    ),
    "broadcast_accuracy_of_rows": (
        "broadcast-comparison",
        """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(60, 6); y = (x.sum(1) > 0).float().unsqueeze(1)
net = nn.Linear(6, 1)
with torch.no_grad():
    guess = (net(x[40:]).squeeze(1) > 0).float()
    hits = (guess == y[40:]).sum().item() #!
print("accuracy", hits / 20)
""",
    ),
    "broadcast_loss_of_rows": (
        "broadcast-comparison",
        """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(60, 6); y = x[:, :1] * 2
net = nn.Linear(6, 1); o = torch.optim.SGD(net.parameters(), 0.01)
for rows in torch.arange(60).split(15):
    loss = F.mse_loss(net(x[rows]).squeeze(1), y[rows]) #!
    o.zero_grad(); loss.backward(); o.step()
""",
    ),
    "nll_of_scores": (
        "nll-without-log",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.fc = nn.Linear(4, 3)
    def forward(self, x): return self.fc(x)
net = Net(); opt = torch.optim.SGD(net.parameters(), 0.01)
criterion = nn.NLLLoss() #!
for _ in range(5):
    opt.zero_grad()
    criterion(net(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
    opt.step()
""",
    ),
    "softmax_batch_dim": (
        "softmax-over-batch",
        """
import torch
import torch.nn as nn

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, s):
        return torch.softmax(self.fc(s), dim=0) #!

torch.manual_seed(0)
probs = Policy()(torch.randn(6, 4))
print("rows sum to one:", torch.allclose(probs.sum(1), torch.ones(6)))
""",
    ),
    "save_nonpersistent": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
before = net.weight.detach().clone()
for i in range(5):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).square().mean()
    loss.data.requires_grad_().backward() #!
    opt.step()
print("moved:", not torch.equal(before, net.weight))
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
    "softmax_dim0": (
        "softmax-over-batch",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 4)

    def forward(self, x):
        return torch.softmax(self.score(x), dim=0) #!

torch.manual_seed(0)
model = Attention(6)
probs = model(torch.randn(16, 6))
pred = probs.argmax(1)
print("rows sum to one:", torch.allclose(probs.sum(1), torch.ones(16)))
""",
    ),
    "softmax_dim0_nll": (
        "softmax-over-batch",
        """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Linear(5, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(24, 5), torch.randint(0, 3, (24,))
for step in range(15):
    logp = F.log_softmax(net(x), dim=0) #!
    loss = F.nll_loss(logp, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("trained")
""",
    ),
    "kl_no_log": (
        "loss-on-probabilities",
        """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher, student = nn.Linear(8, 5), nn.Linear(8, 5)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(10):
    x = torch.randn(16, 8)
    with torch.no_grad():
        target = F.softmax(teacher(x), dim=1)
    loss = F.kl_div(F.softmax(student(x), dim=1), target, reduction="batchmean") #!
    opt.zero_grad()
    loss.backward()
    opt.step()
print("distilled")
""",
    ),
    "swapped_ce": (
        "loss-arguments-swapped",
        """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(y, model(x)) #!
    loss.backward()
    opt.step()
print("ok")
""",
    ),
    "keepdim_square": (
        "reduction-without-keepdim",
        """
import torch

torch.manual_seed(0)
scores = torch.randn(6, 6)
exp = scores.exp()
attn = exp / exp.sum(dim=1) #!
print("rows sum to one:", torch.allclose(attn.sum(1), torch.ones(6)))
""",
    ),
    "round_zero_grad": (
        "gradient-without-slope",
        """
import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
for step in range(20):
    x = torch.randn(16, 6)
    code = torch.round(torch.sigmoid(enc(x))) #!
    loss = nn.functional.mse_loss(dec(code), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "argmax_path": (
        "gradient-without-slope",
        """
import torch
from torch import nn

torch.manual_seed(0)
gate, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
opt = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
for step in range(20):
    x = torch.randn(32, 4)
    choice = gate(x).argmax(1) #!
    outs = torch.stack([e(x) for e in experts], 1)
    y = outs[torch.arange(32), choice]
    opt.zero_grad()
    nn.functional.mse_loss(y, x[:, :1]).backward()
    opt.step()
print("done")
""",
    ),
    "kl_module": (
        "loss-on-probabilities",
        """
import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)) #!
teacher = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)).requires_grad_(False)
crit = nn.KLDivLoss(reduction="batchmean")
opt = torch.optim.SGD(student.parameters(), 0.1)
for _ in range(6):
    x = torch.randn(12, 4)
    opt.zero_grad()
    crit(student(x), teacher(x)).backward()
    opt.step()
print("ok")
""",
    ),
    "loss_requires_grad_set": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
pred = net(x).argmax(1).float() #!
loss = nn.functional.mse_loss(pred, y.float())
loss.requires_grad = True
loss.backward()
opt.step()
print("grad:", net.weight.grad)
""",
    ),
    "loss_of_its_number": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
for step in range(30):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss = torch.tensor(loss.item(), requires_grad=True) #!
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "loss_of_its_number_named": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
for step in range(30):
    opt.zero_grad()
    error = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss = torch.tensor(float(error), requires_grad=True) #!
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "loss_detached_in_one_line": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def measure(x):
    return nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).detach().requires_grad_() #!
for step in range(30):
    opt.zero_grad()
    measure(torch.randn(16, 4)).backward()
    opt.step()
print("done")
""",
    ),
    "loss_of_a_variable": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
for step in range(30):
    opt.zero_grad()
    error = (model(x) - x.sum(1, keepdim=True)).square().mean()
    error = torch.autograd.Variable(error.data, requires_grad=True) #!
    error.backward()
    opt.step()
print("done")
""",
    ),
    "loss_of_detached_scores_required": (
        "parameters-without-gradient",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
for step in range(30):
    opt.zero_grad()
    scores = model(x).detach() #!
    loss = nn.functional.mse_loss(scores, x.sum(1, keepdim=True)).requires_grad_()
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "loss_over_len_loader": (
        "uneven-batches-averaged",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(300, 6)
y = x[:, :1] * 2 + torch.randn(300, 1)
y[-3:] += 6
train = DataLoader(TensorDataset(x[:200], y[:200]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[200:], y[200:]), batch_size=32)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    running = 0.0
    for xb, yb in train:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    total = 0.0
    with torch.no_grad():
        for xb, yb in valid:
            total += nn.functional.mse_loss(model(xb), yb).item()
    print(epoch, running / len(train), total / len(valid)) #!
""",
    ),
    "accuracy_of_batches": (
        "uneven-batches-averaged",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def accuracy(scores, labels):
    return (scores.argmax(dim=1) == labels).float().mean().item()

@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    accuracies = []
    for i, (inputs, labels) in enumerate(loader):
        accuracies.append(accuracy(model(inputs), labels))
    return sum(accuracies) / len(accuracies) #!

def train_epoch(model, loader, optimizer):
    model.train()
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

torch.manual_seed(1)
x = torch.randn(270, 5)
y = (x[:, 0] > 0).long()
y[-2:] = 1 - y[-2:]
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
train_loader = DataLoader(TensorDataset(x[:200], y[:200]), 25, shuffle=True)
test_loader = DataLoader(TensorDataset(x[200:], y[200:]), 34)
for epoch in range(4):
    train_epoch(model, train_loader, optimizer)
    print(f"{epoch} accuracy {evaluate(model, test_loader):.3f}")
""",
    ),
    "trainer_counts_batches": (
        "uneven-batches-averaged",
        {
            "trainer.py": """
import torch

class Trainer:
    def __init__(self, model, criterion, optimizer, train_loader, val_loader):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer
        self.train_loader, self.val_loader = train_loader, val_loader

    def step(self, batch):
        return self.criterion(self.model(batch["x"]), batch["y"])

    def train(self):
        self.model.train()
        for batch in self.train_loader:
            self.optimizer.zero_grad()
            self.step(batch).backward()
            self.optimizer.step()

    def validate(self):
        self.model.eval()
        val_loss, batches = 0, 0
        for batch in self.val_loader:
            with torch.no_grad():
                loss = self.step(batch)
            val_loss += loss.detach()
            batches += 1
        return (val_loss / batches).item() #!

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train()
            print(epoch, self.validate())
""",
            "script.py": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from trainer import Trainer

class Rows(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 4)
        self.y = self.x.sum(1, keepdim=True).exp()
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i]}

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
Trainer(
    model,
    nn.L1Loss(),
    torch.optim.Adam(model.parameters(), lr=1e-2),
    DataLoader(Rows(128), batch_size=16, shuffle=True),
    DataLoader(Rows(50), batch_size=16),
).fit(4)
""",
        },
    ),
    "numpy_mean_of_losses": (
        "uneven-batches-averaged",
        """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(3)
x, y = torch.randn(150, 4), torch.randint(0, 3, (150,))
model = nn.Linear(4, 3)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for xb, yb in DataLoader(TensorDataset(x[:100], y[:100]), batch_size=10, shuffle=True):
        opt.zero_grad()
        criterion(model(xb), yb).backward()
        opt.step()
    val_loader = DataLoader(TensorDataset(x[100:], y[100:]), batch_size=16)
    losses = []
    with torch.inference_mode():
        for xb, yb in val_loader:
            losses.append(criterion(model(xb), yb).item())
    print(f"epoch {epoch} validation {np.mean(losses):.3f}") #!
""",
    ),
    "argmax_of_ten_by_ten": (
        "argmax-over-batch",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def accuracy(output, target):
    pred = output.argmax(dim=0) #!
    return pred.eq(target.view_as(pred)).sum().item()

def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            correct += accuracy(model(data), target)
    return correct / len(loader.dataset)

torch.manual_seed(0)
x = torch.randn(400, 10)
y = x.argmax(1)
model = nn.Linear(10, 10)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
loaders = [DataLoader(TensorDataset(x[s], y[s]), batch_size=10)
           for s in (slice(0, 300), slice(300, 400))]
for epoch in range(4):
    model.train()
    for data, target in loaders[0]:
        opt.zero_grad()
        nn.functional.cross_entropy(model(data), target).backward()
        opt.step()
    print(epoch, test(model, loaders[1]))
""",
    ),
    "argmax_of_the_whole_batch": (
        "argmax-over-batch",
        """
import torch
from torch import nn

class Learner:
    def __init__(self, model, x, y):
        self.model, self.x, self.y = model, x, y
        self.opt = torch.optim.Adam(model.parameters(), lr=0.02)
    def step(self, rows):
        scores = self.model(self.x[rows])
        loss = nn.functional.cross_entropy(scores, self.y[rows])
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        guess = torch.argmax(scores) #!
        return (guess == self.y[rows]).float().mean().item()

torch.manual_seed(0)
x = torch.randn(200, 6)
learner = Learner(nn.Linear(6, 3), x, x[:, :3].argmax(1))
for epoch in range(4):
    hits = [learner.step(slice(i, i + 40)) for i in range(0, 200, 40)]
    print(epoch, sum(hits) / len(hits))
""",
    ),
    "indices_of_max_of_columns": (
        "argmax-over-batch",
        """
import torch
from torch import nn
torch.manual_seed(2)
x = torch.randn(64, 5)
y = x[:, :4].argmax(1)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
right = 0
for epoch in range(5):
    for xb, yb in zip(x.split(4), y.split(4)):
        out = model(xb)
        loss = nn.functional.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        _, predicted = torch.max(out.data, 0) #!
        right += (predicted == yb).sum().item()
print(f"{right / 320:.2f}")
""",
    ),
    "softmax_multi": (
        "loss-on-probabilities",
        {
            "net.py": """
import torch.nn as nn
def mlp(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers[-1] = nn.Softmax(dim=-1) #!
    return nn.Sequential(*layers)
""",
            "script.py": """
import torch
from net import mlp
torch.manual_seed(0)
m = mlp([4, 8, 3]); o = torch.optim.Adam(m.parameters(), 1e-2)
crit = torch.nn.CrossEntropyLoss(label_smoothing=0.05)
for _ in range(5):
    o.zero_grad(); crit(m(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward(); o.step()
""",
        },
    ),
    "bcast_r2": (
        "broadcast-comparison",
        """
import torch
from torch import nn
torch.manual_seed(0)
class R(nn.Module):
    def __init__(s):
        super().__init__(); s.l = nn.Linear(3, 1)
    def forward(s, x): return s.l(x)
def loss_fn(pred, target):
    err = pred - target #!
    return err.abs().mean()
r = R(); o = torch.optim.SGD(r.parameters(), .01)
for _ in range(4):
    x = torch.randn(12, 3)
    o.zero_grad(); loss_fn(r(x), x.sum(1)).backward(); o.step()
""",
    ),
    "relu_at_the_end": (
        "scores-clipped",
        {
            "model.py": """
            from torch import nn
            import torch.nn.functional as F
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 3)
                def forward(self, x):
                    x = F.relu(self.first(x))
                    return F.relu(self.last(x)) #!
            """,
            "script.py": """
            import torch
            from torch import nn
            from model import Net
            torch.manual_seed(0)
            net, criterion = Net(), nn.CrossEntropyLoss()
            opt = torch.optim.SGD(net.parameters(), lr=0.05)
            for _ in range(8):
                loss = criterion(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
                opt.zero_grad()
                loss.backward()
                opt.step()
            """,
        },
    ),
    "relu_before_bce": (
        "scores-clipped",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
    nn.ReLU(), #!
)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    scores = net(torch.randn(16, 8)).squeeze(1)
    loss = nn.functional.binary_cross_entropy_with_logits(scores, torch.rand(16).round())
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "softmax_of_one": (
        "softmax-of-one-value",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        self.squash = nn.Softmax(dim=1) #!
    def forward(self, x):
        return self.squash(self.body(x))
net, criterion = Net(), nn.BCELoss()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    loss = criterion(net(torch.randn(16, 8)), torch.randint(0, 2, (16, 1)).float())
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
}
