"""Traps of masks, of data that validate a model and of numbers that rate it; like ``traps``."""

TRAPS = {
    "tokens_hidden_from_encoder": (
        "padding-mask-inverted",
        """
import torch
from torch import nn

class Classifier(nn.Module):
    def __init__(self, vocab=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, 2)
    def forward(self, input_ids, attention_mask):
        x = self.embed(input_ids)
        x = self.encoder(x, src_key_padding_mask=attention_mask.bool()) #!
        keep = attention_mask.unsqueeze(-1)
        return self.out((x * keep).sum(1) / keep.sum(1))

torch.manual_seed(0)
ids = torch.randint(1, 30, (48, 9))
lengths = torch.randint(3, 9, (48, 1))
ids[torch.arange(9)[None] >= lengths] = 0
attention_mask = (ids != 0).long()
labels = (ids[:, 0] > 15).long()
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for i in range(0, 48, 16):
        batch = slice(i, i + 16)
        loss = nn.functional.cross_entropy(model(ids[batch], attention_mask[batch]), labels[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
    "lengths_hide_frames": (
        "padding-mask-inverted",
        """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

def collate(samples):
    frames, targets = zip(*samples)
    lengths = torch.tensor([len(f) for f in frames])
    return pad_sequence(frames, batch_first=True), lengths, torch.stack(targets)

def valid_frames(lengths, longest):
    return torch.arange(longest)[None, :] < lengths[:, None]

class Pooling(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.project = nn.Linear(5, width)
        self.query = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.attention = nn.MultiheadAttention(width, 3, batch_first=True)
        self.head = nn.Linear(width, 1)
    def forward(self, frames, lengths):
        mask = valid_frames(lengths, frames.size(1))
        h = self.project(frames)
        query = self.query.expand(len(h), -1, -1)
        pooled, _ = self.attention(query, h, h, key_padding_mask=mask) #!
        return self.head(pooled.squeeze(1)).squeeze(-1)

class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    def epoch(self):
        for frames, lengths, targets in self.loader:
            self.opt.zero_grad()
            loss = nn.functional.mse_loss(self.model(frames, lengths), targets)
            loss.backward()
            self.opt.step()
        return loss.item()

torch.manual_seed(0)
samples = []
for _ in range(36):
    f = torch.randn(int(torch.randint(3, 10, (1,))), 5)
    samples.append((f, f[:, 0].mean()))
trainer = Trainer(Pooling(), DataLoader(samples, batch_size=12, collate_fn=collate))
for epoch in range(3):
    print(epoch, trainer.epoch())
""",
    ),
    "own_attention_hides_tokens": (
        "padding-mask-inverted",
        {
            "layers.py": """
import math
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, pad_mask):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        scores = scores.masked_fill(pad_mask[:, None, None, :], -1e9) #!
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, c))

class Tagger(nn.Module):
    def __init__(self, vocab, tags, pad):
        super().__init__()
        self.pad = pad
        self.embed = nn.Embedding(vocab, 16)
        self.attend = Attention(16, 2)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.norm(x + self.attend(x, tokens != self.pad))
        return self.head(x)
""",
            "script.py": """
import torch
from torch import nn
from layers import Tagger

PAD = 1
torch.manual_seed(0)
tokens = torch.randint(2, 25, (40, 8))
for row in tokens:
    row[int(torch.randint(4, 8, (1,))):] = PAD
tags = tokens % 3
tags[tokens == PAD] = -100
model = Tagger(25, 3, PAD)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(6):
    i = torch.randint(0, 40, (10,))
    loss = nn.functional.cross_entropy(model(tokens[i]).transpose(1, 2), tags[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
        },
    ),
    "added_mask_hides_tokens": (
        "padding-mask-inverted",
        """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
ids = torch.randint(5, 40, (32, 10))
for row, n in zip(ids, torch.randint(4, 11, (32,)).tolist()):
    row[:10 - n] = 0
mask = (ids != 0).float()
embed, q, k, v = nn.Embedding(40, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
head = nn.Linear(8, 2)
params = [p for m in (embed, q, k, v, head) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)
for step in range(5):
    x = embed(ids)
    bias = mask[:, None, :] * -10000.0 #!
    weights = torch.softmax(q(x) @ k(x).transpose(1, 2) / 8 ** 0.5 + bias, dim=-1)
    pooled = (weights @ v(x) * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    loss = F.cross_entropy(head(pooled), (ids[:, -1] > 20).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "sdpa_sees_padding": (
        "padding-mask-inverted",
        """
import torch
from torch import nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
    def forward(self, x, mask):
        y = F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x), attn_mask=mask) #!
        return x + self.o(y)

torch.manual_seed(0)
tokens = torch.randint(1, 30, (24, 7))
lengths = torch.randint(2, 7, (24,))
tokens[torch.arange(7) >= lengths[:, None]] = 0
embed, block, head = nn.Embedding(30, 16, padding_idx=0), Block(), nn.Linear(16, 2)
opt = torch.optim.Adam([*embed.parameters(), *block.parameters(), *head.parameters()], lr=1e-3)
for step in range(5):
    padding = tokens.eq(0)
    h = block(embed(tokens), padding.unsqueeze(1))
    loss = F.cross_entropy(head(h[:, 0]), tokens[:, 0] % 2)
    opt.zero_grad()
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
}

CLEAN = {
    "folds": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(90, 4), torch.randn(90, 1))
order = torch.randperm(90).tolist()
for fold in range(3):
    held = order[fold * 30:(fold + 1) * 30]
    rest = [i for i in order if i not in held]
    train = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(rest))
    valid = DataLoader(Subset(data, held), batch_size=10)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for x, y in train:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            print(fold, sum(nn.functional.mse_loss(model(x), y).item() for x, y in valid) / 3)
""",
    "rows_of_the_training_looked_at": """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split
torch.manual_seed(0)
data = TensorDataset(torch.randn(100, 4), torch.randn(100, 1))
train_set, val_set = random_split(data, [80, 20])
train_loader = DataLoader(train_set, batch_size=10, shuffle=True)
train_eval_loader = DataLoader(train_set, batch_size=40)
few = DataLoader(Subset(train_set, range(20)), batch_size=20)
val_loader = DataLoader(val_set, batch_size=20)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        for loader in (train_eval_loader, few, val_loader):
            print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in loader) / len(loader))
with torch.no_grad():
    everything = torch.cat([model(x) for x, _ in DataLoader(data, batch_size=25)])
print(everything.shape)
""",
    "points_that_repeat": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
corners = torch.tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]])
def draw(n):
    x = corners[torch.randint(4, (n,))]
    return TensorDataset(x, (x.sum(1) == 1).long())
train_loader = DataLoader(draw(80), batch_size=16, shuffle=True)
val_loader = DataLoader(draw(16), batch_size=16)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    for x, y in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    with torch.no_grad():
        print([(model(x).argmax(1) == y).float().mean().item() for x, y in val_loader])
""",
    "pairs_both_ways": """
import torch
from torch import nn
torch.manual_seed(0)
images, texts = nn.Linear(8, 6), nn.Linear(5, 6)
opt = torch.optim.Adam([*images.parameters(), *texts.parameters()], lr=0.01)
hidden = torch.randn(64, 4)
a, b = hidden @ torch.randn(4, 8), hidden @ torch.randn(4, 5)
for step in range(8):
    rows = torch.randperm(64)[:16]
    scores = images(a[rows]) @ texts(b[rows]).T
    labels = torch.arange(16)
    loss = (nn.functional.cross_entropy(scores, labels)
            + nn.functional.cross_entropy(scores.T, labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    best = (scores.argmax(dim=0) == labels).sum().item(), (scores.argmax(1) == labels).sum().item()
print(best)
""",
    "votes_of_models": """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(30, 4)
y = (x[:, 0] > 0).long()
model = nn.Linear(4, 2)
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(6):
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    accuracy = (out.argmax(1) == y).float().mean().item()
    columns = out.detach().T
    accuracy_again = (columns.argmax(0) == y).float().mean().item()
    surest = out.max(0).indices
print(accuracy == accuracy_again, surest.shape)
""",
    "rows_counted": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(300, 6)
y = (x[:, 0] > 0).long()
y[-3:] = 1 - y[-3:]
train = DataLoader(TensorDataset(x[:210], y[:210]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[210:], y[210:]), batch_size=32)
model = nn.Linear(6, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    running = 0.0
    for xb, yb in train:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    total, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in valid:
            scores = model(xb)
            total += criterion(scores, yb).item() * len(xb)
            correct += (scores.argmax(1) == yb).sum().item()
            count += len(xb)
    print(running / len(train), total / len(valid.dataset), correct / count)
""",
    "sums_of_losses": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(100, 6)
y = x.sum(1, keepdim=True) + torch.randn(100, 1)
train = DataLoader(TensorDataset(x[:60], y[:60]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[60:], y[60:]), batch_size=32)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    losses = []
    with torch.no_grad():
        for xb, yb in valid:
            losses.append(nn.functional.mse_loss(model(xb), yb, reduction="sum").item())
    print(sum(losses) / len(valid.dataset))
""",
    "batches_alike": """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(200, 6)
y = x.sum(1, keepdim=True) + torch.randn(200, 1)
train = DataLoader(TensorDataset(x[:110], y[:110]), batch_size=20, drop_last=True)
valid = DataLoader(TensorDataset(x[110:], y[110:]), batch_size=30)
model = nn.Linear(6, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(xb), yb).item() for xb, yb in valid)
        losses = []
        for xb, yb in valid:
            losses.append(nn.functional.mse_loss(model(xb), yb).item())
    print(total / len(valid), sum(losses) / len(losses))
""",
    "padding_hidden": """
import torch
from torch import nn
torch.manual_seed(0)
ids = torch.randint(1, 30, (24, 9))
ids[torch.arange(9)[None] >= torch.randint(3, 9, (24, 1))] = 0
embed = nn.Embedding(30, 16, padding_idx=0)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
encoder, out = nn.TransformerEncoder(layer, 1), nn.Linear(16, 2)
model = nn.ModuleList([embed, encoder, out])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
attention_mask = (ids != 0).long()
for step in range(5):
    h = encoder(embed(ids), src_key_padding_mask=attention_mask == 0)
    loss = nn.functional.cross_entropy(out(h[:, 0]), ids[:, 0] % 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "padded_on_the_left": """
import torch
from torch import nn
torch.manual_seed(0)
ids = torch.randint(3, 30, (24, 9))
for row, n in zip(ids, torch.randint(3, 10, (24,)).tolist()):
    row[:9 - n] = 0
attention_mask = (ids != 0).long()
position_ids = (attention_mask.cumsum(1) - 1).clamp(min=0)
embed, at, out = nn.Embedding(30, 16), nn.Embedding(9, 16), nn.Linear(16, 2)
attention = nn.MultiheadAttention(16, 2, batch_first=True)
model = nn.ModuleList([embed, at, attention, out])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    x = embed(ids) + at(position_ids)
    h, _ = attention(x[:, -1:], x, x, key_padding_mask=~attention_mask.bool())
    loss = nn.functional.cross_entropy(out(h[:, 0]), ids[:, -1] % 2)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "masks_of_both_kinds": """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
frames = torch.randn(16, 7, 8)
lengths = torch.randint(2, 8, (16,))
keep = torch.arange(7) < lengths[:, None]
frames = frames * keep[..., None]
q, k, v, head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
model = nn.ModuleList([q, k, v, head])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    y = F.scaled_dot_product_attention(q(frames), k(frames), v(frames), attn_mask=keep[:, None])
    scores = (y * keep[..., None]).sum(-1) + (1 - keep.float()) * -1e9
    weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
    pooled = (weights.unsqueeze(1) @ y).squeeze(1)
    loss = F.mse_loss(head(pooled).squeeze(-1), frames.sum((1, 2)) / 8)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    "masked_pretraining": """
import torch
from torch import nn
torch.manual_seed(0)
tokens = torch.randint(3, 30, (24, 8))
tokens[torch.arange(8)[None] >= torch.randint(4, 9, (24, 1))] = 0
embed = nn.Embedding(30, 16, padding_idx=0)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
encoder, out = nn.TransformerEncoder(layer, 1), nn.Linear(16, 30)
model = nn.ModuleList([embed, encoder, out])
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(5):
    chosen = (torch.rand(tokens.shape) < 0.3) & (tokens != 0)
    chosen[:, 0] = True
    given = tokens.masked_fill(chosen, 2)
    labels = tokens.masked_fill(~chosen, -100)
    scores = out(encoder(embed(given), src_key_padding_mask=tokens == 0))
    loss = nn.functional.cross_entropy(scores.reshape(-1, 30), labels.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
}
