"""Programs that raise over dtypes, indices, masks and targets."""

from . import HEAD

MISTAKES = {
    "rows of a configuration": (
        "embedding-index",
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Config:
    words: int = 12 # <-
    width: int = 8

class Tied(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c.words, c.width)
        self.head = nn.Linear(c.width, c.words, bias=False)
        self.embed.weight = self.head.weight

    def forward(self, x):
        return self.head(self.embed(x))

print(Tied(Config())(torch.tensor([[3, 14]])).shape)
""",
    ),
    "tokens of floats with a state": (
        "target-dtype",
        """
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(5, 4), nn.LSTM(4, 6)

    def forward(self, x, state):
        return self.rnn(self.embed(x), state)

state = torch.zeros(1, 2, 6), torch.zeros(1, 2, 6)
tokens = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) # <-
print(Reader()(tokens, state)[0].shape)
""",
    ),
    "column that unsqueeze made": (
        "target-column",
        """
import torch
from torch import nn

y = torch.tensor([0, 2, 1])
loss = nn.functional.cross_entropy(torch.randn(3, 3), y.unsqueeze(1)) # <-
""",
    ),
    "labels as a column from a loader": (
        "target-column",
        {
            "data.py": """
            import torch
            from torch.utils.data import DataLoader, TensorDataset
            def make():
                x = torch.randn(8, 4)
                y = torch.randint(0, 3, (8, 1))  # <-
                return DataLoader(TensorDataset(x, y), batch_size=4)
            """,
            "script.py": """
            import torch, data
            from torch import nn
            model, criterion = nn.Linear(4, 3), nn.CrossEntropyLoss()
            for x, y in data.make():
                loss = criterion(model(x), y)
                loss.backward()
            """,
        },
    ),
    "float labels": (
        "target-dtype",
        HEAD
        + """
import numpy as np
labels = torch.from_numpy(np.array([0.0, 1.0, 2.0], dtype="float32"))  # <-
criterion = nn.CrossEntropyLoss()
criterion(torch.randn(3, 3), labels)
""",
    ),
    "float indices": (
        "target-dtype",
        HEAD
        + """
ids = torch.tensor([1.0, 2.0])  # <-
nn.Embedding(4, 2)(ids)
""",
    ),
    "bce in a trainer": (
        "bce-without-sigmoid",
        HEAD
        + """
class Trainer:
    def __init__(self, net):
        self.net = net
        self.loss_fn = nn.BCELoss()  # <-
    def step(self, x, y):
        loss = self.loss_fn(self.net(x), y)
        loss.backward()
torch.manual_seed(0)
Trainer(nn.Linear(4, 1)).step(5 * torch.randn(8, 4), torch.ones(8, 1))
""",
    ),
    "bce as a function": (
        "bce-without-sigmoid",
        HEAD
        + """
scores = torch.tensor([3.0, -2.0])
F.binary_cross_entropy(scores, torch.tensor([1.0, 0.0]))  # <-
""",
    ),
    "bce of a column and a vector": (
        "target-shape",
        HEAD
        + """
out, y = nn.Linear(3, 1)(torch.ones(4, 3)), torch.ones(4)
loss = nn.BCEWithLogitsLoss()(out, y)  # <-
""",
    ),
    "sequences not flattened": (
        "batch-sizes-differ",
        HEAD
        + """
logits, tokens = torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))
loss = F.cross_entropy(logits.view(-1, 7), tokens)  # <-
""",
    ),
    "classes last": (
        "batch-sizes-differ",
        HEAD
        + """
logits, tokens = torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))
loss = F.cross_entropy(logits, tokens)  # <-
""",
    ),
    "labels from one": (
        "class-index",
        HEAD
        + """
target = torch.tensor([1, 2, 3])  # <-
F.cross_entropy(torch.randn(3, 3), target)
""",
    ),
    "one class too few": (
        "class-index",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.head = nn.Linear(4, classes)
    def forward(self, x):
        return self.head(x)
net = Net(2)  # <-
F.cross_entropy(net(torch.randn(3, 4)), torch.tensor([0, 1, 2]))
""",
    ),
    "padding labels": (
        "class-index",
        HEAD
        + """
criterion = nn.CrossEntropyLoss()  # <-
criterion(torch.randn(3, 4), torch.tensor([0, 3, -1]))
""",
    ),
    "embedding in a module": (
        "embedding-index",
        {
            "model.py": """
            from torch import nn
            class Encoder(nn.Module):
                def __init__(self, vocab, dim=4):
                    super().__init__()
                    self.table = nn.Embedding(vocab, dim)
                def forward(self, ids):
                    return self.table(ids).mean(1)
            """,
            "script.py": """
            import torch
            from model import Encoder
            words = {"a": 0, "b": 1, "c": 2}
            encoder = Encoder(len(words))  # <-
            encoder(torch.tensor([[0, 1], [2, 3]]))
            """,
        },
    ),
    "padding in a collate function": (
        "embedding-index",
        {
            "batching.py": """
            from torch.nn.utils.rnn import pad_sequence
            def collate(items):
                return pad_sequence(items, batch_first=True, padding_value=-1)  # <-
            """,
            "script.py": """
            import torch
            from torch.utils.data import DataLoader
            from batching import collate
            table = torch.nn.Embedding(9, 2)
            rows = [torch.arange(3), torch.arange(5)]
            for ids in DataLoader(rows, batch_size=2, collate_fn=collate):
                table(ids)
            """,
        },
    ),
    "index past the end": (
        "index-out-of-range",
        HEAD
        + """
values = torch.arange(4)
for i in range(5):  # <-
    values[i] += 1
""",
    ),
    "accuracy of a function": (
        "mean-of-whole-numbers",
        HEAD
        + """
def accuracy(logits, labels):
    return (logits.argmax(-1) == labels).mean()  # <-
accuracy(torch.randn(3, 2), torch.tensor([0, 1, 1]))
""",
    ),
    "float64 from a dataset": (
        "dtype-mismatch",
        {
            "data.py": """
            import numpy as np
            import torch
            from torch.utils.data import Dataset
            class Rows(Dataset):
                def __init__(self):
                    self.x = np.ones((6, 3))
                def __len__(self):
                    return 6
                def __getitem__(self, i):
                    return torch.from_numpy(self.x[i])  # <-
            """,
            "script.py": """
            import torch
            from torch.utils.data import DataLoader
            from data import Rows
            net = torch.nn.Sequential(torch.nn.Linear(3, 1))
            for x in DataLoader(Rows(), batch_size=2):
                net(x)
            """,
        },
    ),
    "a product of two dtypes": (
        "dtype-mismatch",
        HEAD
        + """
import numpy as np
basis = torch.tensor(np.eye(3))  # <-
rows = torch.ones(2, 3)
out = rows @ basis
""",
    ),
    "autocast in a class": (
        "autocast-result-outside",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            hidden = self.body(x)
        return self.head(hidden)  # <-
Net()(torch.randn(2, 4))
""",
    ),
    "an array turned round": (
        "numpy-negative-stride",
        {
            "images.py": """
            import numpy as np
            def bgr_to_rgb(image):
                return image[..., ::-1]  # <-
            """,
            "script.py": """
            import numpy as np, torch
            from images import bgr_to_rgb
            picture = bgr_to_rgb(np.zeros((2, 2, 3)))
            torch.from_numpy(picture)
            """,
        },
    ),
    "embedding pad in class": (
        "embedding-index",
        {
            "data.py": """
import torch
from torch.nn.utils import rnn
PAD = -1
class Collate:
    def __call__(self, items):
        return rnn.pad_sequence(items, True, PAD)  # <-
""",
            "script.py": """
import torch
from torch.utils.data import DataLoader
import data
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(10, 4)
    def forward(self, ids):
        return self.emb(ids).sum(1)
net = Net()
loader = DataLoader([torch.arange(3), torch.arange(2)], batch_size=2, collate_fn=data.Collate())
for b in loader:
    net(b)
""",
        },
    ),
    "bce sequential sigmoidless module": (
        "bce-without-sigmoid",
        {
            "losses.py": """
from torch import nn
criterion = nn.BCELoss(reduction="sum")  # <-
""",
            "script.py": """
import torch
from losses import criterion
net = torch.nn.Linear(4, 1)
torch.manual_seed(0)
def step(x, y):
    scores = net(x)
    return criterion(scores.squeeze(1), y)
step(5 * torch.randn(8, 4), torch.ones(8)).backward()
""",
        },
    ),
    "column labels via function": (
        "target-column",
        HEAD
        + """
def read():
    rows = [[0.1, 0.2, 1.0], [0.3, 0.1, 0.0]]
    table = torch.tensor(rows)
    return table[:, :2], table[:, 2:].long()  # <-
x, y = read()
criterion = nn.CrossEntropyLoss()
loss = criterion(nn.Linear(2, 2)(x), y)
""",
    ),
    "column labels dataset class": (
        "target-column",
        {
            "d.py": """
import torch
from torch.utils.data import Dataset
class Rows(Dataset):
    def __init__(self):
        self.y = torch.tensor([[0], [1], [2], [1]])  # <-
        self.x = torch.randn(4, 3)
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return self.x[i], self.y[i]
""",
            "script.py": """
import torch
from torch.utils.data import DataLoader
from d import Rows
net = torch.nn.Linear(3, 3)
loader = DataLoader(Rows(), batch_size=2)
for x, y in loader:
    torch.nn.functional.cross_entropy(net(x), y).backward()
""",
        },
    ),
    "amp trainer fn": (
        "autocast-result-outside",
        {
            "m.py": """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
""",
            "script.py": """
import torch
from torch.amp import autocast
from m import Net
net = Net()
def features(x):
    with autocast("cpu", dtype=torch.bfloat16):
        return net.body(x)
def step(x):
    h = features(x)
    out = net.head(h)  # <-
    out.sum().backward()
step(torch.ones(2, 4))
""",
        },
    ),
    "amp mse": (
        "autocast-result-outside",
        HEAD
        + """
a, b = nn.Linear(4, 4), torch.ones(4, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = a(torch.ones(2, 4))
out = h @ b  # <-
""",
    ),
    "f64 default": (
        "dtype-mismatch",
        {
            "data.py": """
import numpy as np, torch
def load():
    x = np.random.rand(4, 3)
    return torch.tensor(x), torch.zeros(4, 1)  # <-
""",
            "script.py": """
import torch
from data import load
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 1)
    def forward(self, inp):
        return self.fc(inp)
x, y = load()
net = Net()
out = net(x)
""",
        },
    ),
    "f64 conv as_tensor": (
        "dtype-mismatch",
        HEAD
        + """
import numpy as np
img = torch.as_tensor(np.zeros((1, 3, 8, 8)))  # <-
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten())
net(img)
""",
    ),
    "uint8 image conv": (
        "dtype-mismatch",
        HEAD
        + """
import numpy as np
img = torch.from_numpy(np.zeros((1, 3, 8, 8), dtype=np.uint8))  # <-
nn.Conv2d(3, 4, 3)(img)
""",
    ),
    "flip": (
        "numpy-negative-stride",
        HEAD
        + """
import numpy as np
class Flip:
    def __call__(self, a):
        return np.fliplr(a)  # <-
t = Flip()
img = t(np.zeros((2, 3)))
x = torch.from_numpy(img)
""",
    ),
    "flip inline": (
        "numpy-negative-stride",
        HEAD
        + """
import numpy as np
a = np.arange(3.0)
x = torch.tensor(a[::-1])  # <-
""",
    ),
    "iou mean": (
        "mean-of-whole-numbers",
        HEAD
        + """
counts = torch.bincount(torch.tensor([1, 2, 2]))
avg = torch.mean(counts)  # <-
""",
    ),
    "index gather": (
        "index-out-of-range",
        HEAD
        + """
logp = torch.randn(3, 4)
idx = torch.tensor([[1], [4], [0]])
picked = logp.gather(1, idx)  # <-
""",
    ),
    "a position beside a tensor of them": (
        "index-out-of-range",
        HEAD
        + """
x, rows = torch.randn(3, 4), torch.tensor([0, 1])
print(x[rows, 4])  # <-
""",
    ),
    "a dimension beside the tensor": (
        "dimension-out-of-range",
        HEAD
        + """
x = torch.randn(3, 4)
print(torch.sum(x, 5))  # <-
""",
    ),
    "item of several": (
        "more-than-one-value",
        HEAD
        + """
def metric(a, b):
    return (a - b).abs().item()  # <-
metric(torch.ones(3), torch.zeros(3))
""",
    ),
    "if of a mask": (
        "more-than-one-value",
        HEAD
        + """
x = torch.arange(3)
if x > 1:  # <-
    pass
""",
    ),
    "softmax of whole numbers": (
        "mean-of-whole-numbers",
        HEAD
        + """
counts = torch.tensor([1, 2])
chances = F.softmax(counts, dim=0)  # <-
""",
    ),
    "one-hot of whole numbers": (
        "target-dtype",
        HEAD
        + """
target = torch.eye(3, dtype=torch.long)  # <-
nn.CrossEntropyLoss()(torch.randn(3, 3), target)
""",
    ),
    "labels made floats in the call": (
        "target-dtype",
        HEAD
        + """
labels = torch.tensor([[0], [1], [2]])
F.cross_entropy(torch.randn(3, 3), labels.reshape(-1).float())  # <-
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
    "positions_by_default": (
        "embedding-index",
        """
import torch
from torch import nn
import torch.nn.functional as F

class TinyGPT(nn.Module):
    def __init__(self, vocab=40, dim=16, max_len=16): # <-
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, vocab)
    def forward(self, idx):
        n = idx.size(1)
        positions = torch.arange(n)
        x = self.tok(idx) + self.pos(positions)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        return self.head(self.blocks(x, mask=mask))

def batches(text, block, size):
    for _ in range(3):
        starts = torch.randint(len(text) - block - 1, (size,))
        x = torch.stack([text[s:s + block] for s in starts])
        y = torch.stack([text[s + 1:s + block + 1] for s in starts])
        yield x, y

torch.manual_seed(0)
text = torch.randint(40, (500,))
model = TinyGPT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in batches(text, block=24, size=4):
    opt.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, 40), y.view(-1))
    loss.backward()
    opt.step()
print("trained")
""",
    ),
    "padding_as_attn_mask": (
        "padding-as-attention-mask",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)
    def forward(self, x, pad):
        out, _ = self.attn(x, x, x, attn_mask=pad) # <-
        return self.norm(x + out)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        self.attention = Attention()
        self.out = nn.Linear(16, 2)
    def forward(self, tokens):
        pad = tokens == 0
        x = self.attention(self.embed(tokens), pad)
        return self.out(x.mean(1))

torch.manual_seed(0)
tokens = torch.randint(1, 20, (6, 10))
tokens[:, 8:] = 0
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(2):
    opt.zero_grad()
    nn.functional.cross_entropy(model(tokens), torch.randint(2, (6,))).backward()
    opt.step()
print("fine")
""",
    ),
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
}
