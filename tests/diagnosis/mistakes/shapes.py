"""Programs that raise over shapes: broadcasting, layers, views, joining, attention."""

from . import HEAD

MISTAKES = {
    "residual in three files": (
        "residual-size",
        {
            "model.py": """
            from torch import nn
            class Unit(nn.Module):
                def __init__(self, width, step):
                    super().__init__()
                    self.body = nn.Sequential(
                        nn.Conv2d(width, width, 3, step, 1), nn.BatchNorm2d(width), nn.ReLU(),
                        nn.Conv2d(width, width, 3, 1, 1),
                    )
                def forward(self, image):
                    return image + self.body(image)
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.stages = nn.Sequential(Unit(4, 1), Unit(4, 2))  # <-
                def forward(self, image):
                    return self.stages(image)
            """,
            "data.py": "import torch\ndef images():\n    return torch.randn(2, 4, 8, 8)\n",
            "script.py": """
            import data, model
            class Trainer:
                def __init__(self):
                    self.net = model.Net()
                def run(self):
                    return self.net(data.images())
            Trainer().run()
            """,
        },
    ),
    "residual without padding": (
        "residual-size",
        HEAD
        + """
class Res(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, kernel_size=3)  # <-
    def forward(self, x):
        skip = x
        x = F.relu(self.conv(x))
        return skip + x
Res()(torch.randn(2, 4, 10))
""",
    ),
    "residual with other features": (
        "residual-size",
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, 2 * d)  # <-
    def forward(self, h):
        h = h + self.down(F.gelu(self.up(h)))
        return h
Block(8)(torch.randn(3, 8))
""",
    ),
    "broadcast of a vector over rows": (
        "broadcast-shapes",
        HEAD
        + """
def normalise(batch):
    total = batch.sum(1)
    return batch / total  # <-
normalise(torch.rand(5, 3))
""",
    ),
    "a bias of the wrong size": (
        "broadcast-shapes",
        HEAD
        + """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(6))  # <-
    def forward(self, x):
        return x * self.gain
Scale()(torch.ones(2, 8))
""",
    ),
    "conv after conv": (
        "conv-channels",
        HEAD
        + """
net = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.ReLU(),
    nn.Conv2d(16, 8, 3),  # <-
)
net(torch.randn(1, 3, 9, 9))
""",
    ),
    "channels last image": (
        "conv-channels",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
    def forward(self, x):
        return self.conv(x)  # <-
Net()(torch.randn(2, 16, 16, 3))
""",
    ),
    "groups": ("conv-groups", HEAD + "layer = nn.Conv2d(6, 9, 3, groups=6)  # <-\n"),
    "batch norm of another width": (
        "layer-width",
        HEAD
        + """
def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(i), nn.ReLU())  # <-
block(4, 6)(torch.randn(3, 4))
""",
    ),
    "layer norm of another width": (
        "layer-width",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
    def forward(self, x):
        return self.norm(x)
Net(dim=16)(torch.randn(2, 5, 8))  # <-
""",
    ),
    "lstm of another width": (
        "layer-width",
        HEAD
        + """
rnn = nn.LSTM(10, 4, batch_first=True)  # <-
out, _ = rnn(torch.randn(2, 5, 8))
""",
    ),
    "view after transpose": (
        "view-layout",
        HEAD
        + """
def merge(heads):
    heads = heads.transpose(1, 2)
    return heads.view(heads.shape[0], heads.shape[1], -1)  # <-
merge(torch.randn(2, 4, 5, 3))
""",
    ),
    "view with a wrong count": (
        "view-count",
        HEAD
        + """
images = torch.randn(4, 1, 28, 28)
flat = images.view(4, 28 * 27)  # <-
""",
    ),
    "expand": (
        "expand-sizes",
        HEAD
        + """
weights = torch.rand(4)
table = weights.expand(4, 3)  # <-
""",
    ),
    "einsum": (
        "einsum-sizes",
        HEAD
        + """
a, b = torch.ones(2, 3), torch.ones(4, 3)
scores = torch.einsum("ij,jk->ik", a, b)  # <-
""",
    ),
    "einsum letters of an attention": (
        "einsum-sizes",
        HEAD
        + """
q, k = torch.ones(2, 4, 6, 8), torch.ones(2, 4, 6, 8)
scores = torch.einsum("bhqd,bhdk->bhqk", q, k)  # <-
assert scores.shape == (2, 4, 6, 6)
""",
    ),
    "state for another batch": (
        "layer-width",
        HEAD
        + """
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 5)
    def forward(self, x, state):
        return self.rnn(x, state)
    def begin(self, samples):
        return next(self.parameters()).new_zeros(1, samples, 5)
writer = Writer()
state = writer.begin(8)
for _ in range(2):
    out, state = writer(torch.ones(4, 8, 3), state)
state = writer.begin(8)  # <-
for _ in range(3):
    out, state = writer(torch.ones(1, 1, 3), state)
""",
    ),
    "cat of unequal widths": (
        "stack-sizes",
        HEAD
        + """
first, second = torch.ones(2, 3), torch.ones(2, 5)
both = torch.cat([first, second])  # <-
""",
    ),
    "stack of unequal lengths": (
        "stack-sizes",
        HEAD
        + """
def batch(rows):
    return torch.stack(rows)  # <-
batch([torch.ones(3), torch.ones(5)])
""",
    ),
    "collate of pairs": (
        "collate-lengths",
        {
            "data.py": """
            import torch
            from torch.utils.data import Dataset, DataLoader
            class Texts(Dataset):
                def __init__(self):
                    self.rows = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 10]]
                def __len__(self):
                    return len(self.rows)
                def __getitem__(self, i):
                    return torch.tensor(self.rows[i]), i % 2
            def loader():
                return DataLoader(Texts(), batch_size=2, shuffle=True)  # <-
            """,
            "script.py": """
            import data
            class Trainer:
                def __init__(self):
                    self.loader = data.loader()
                def fit(self):
                    for tokens, label in self.loader:
                        tokens.sum()
            Trainer().fit()
            """,
        },
    ),
    "collate of dicts": (
        "collate-lengths",
        HEAD
        + """
from torch.utils import data
items = [{"ids": torch.arange(n), "label": n} for n in (3, 5, 2, 4)]
dl = data.DataLoader(items, batch_size=4)  # <-
for step, batch in enumerate(dl):
    pass
""",
    ),
    "one sample in evaluation": (
        "batchnorm-one-value",
        {
            "model.py": """
            from torch import nn
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
                def forward(self, x):
                    return self.layers(x)
            """,
            "script.py": """
            import torch
            from model import Net
            net = Net()
            @torch.no_grad()
            def predict(net, sample):
                return net(sample).argmax(1)  # <-
            predict(net, torch.randn(1, 4))
            """,
        },
    ),
    "one sample left over": (
        "batchnorm-one-value",
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
opt = optim.SGD(net.parameters(), lr=0.1)
data = TensorDataset(torch.randn(9, 4), torch.randn(9, 1))
loader = DataLoader(data, batch_size=4)  # <-
for x, y in loader:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
""",
    ),
    "a worker": (
        "worker-error",
        {
            "data.py": """
            from torch.utils.data import Dataset
            class Rows(Dataset):
                def __len__(self):
                    return 4
                def __getitem__(self, i):
                    return [1.0, 2.0][i]  # <-
            """,
            "script.py": """
            from torch.utils.data import DataLoader
            from data import Rows
            for batch in DataLoader(Rows(), batch_size=2, num_workers=1):
                pass
            """,
        },
    ),
    "residual basic block": (
        "residual-size",
        HEAD
        + """
class BasicBlock(nn.Module):
    def __init__(self, inp, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inp, out, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
    def forward(self, x):
        identity = x
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return F.relu(out)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = BasicBlock(8, 8)
        self.layer2 = BasicBlock(8, 8, stride=2)  # <-
    def forward(self, x):
        return self.layer2(self.layer1(x))
Net()(torch.randn(2, 8, 16, 16))
""",
    ),
    "residual channels": (
        "residual-size",
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.conv = nn.Conv2d(inp, out, 3, padding=1)
    def forward(self, x):
        return x + self.conv(x)
net = nn.Sequential(Block(8, 8), Block(8, 16))  # <-
net(torch.randn(2, 8, 6, 6))
""",
    ),
    "eval in class with block": (
        "batchnorm-one-value",
        HEAD
        + """
class Predictor:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    def __call__(self, sample):
        with torch.no_grad():  # <-
            out = self.model(sample)
            return out.argmax(1)
Predictor()(torch.randn(1, 4))
""",
    ),
    "eval func of net": (
        "batchnorm-one-value",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.bn = nn.Linear(4, 8), nn.BatchNorm1d(8)
    def forward(self, x):
        return self.bn(self.a(x))
def predict(model, rows):
    return [model(row.unsqueeze(0)).argmax(1) for row in rows]  # <-
net = Net()
with torch.no_grad():
    predict(net, torch.randn(3, 4))
""",
    ),
    "collate fn own stack": (
        "stack-sizes",
        HEAD
        + """
from torch.utils.data import DataLoader
def collate(items):
    return torch.stack(items)  # <-
for b in DataLoader([torch.arange(3), torch.arange(2)], batch_size=2, collate_fn=collate):
    pass
""",
    ),
    "collate workers": (
        "collate-lengths",
        HEAD
        + """
from torch.utils.data import DataLoader
data = [(torch.arange(n), n) for n in (3, 2)]
loader = DataLoader(data, batch_size=2, num_workers=1)  # <-
for x, y in loader:
    pass
""",
    ),
    "conv flatten lin cls": (
        "linear-features",
        HEAD
        + """
class CNN(nn.Module):
    def __init__(self, n=10):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(8 * 16 * 16, n))  # <-
    def forward(self, x):
        return self.classifier(self.features(x))
CNN()(torch.randn(2, 3, 32, 32))
""",
    ),
    "an image without its channel": (
        "conv-channels",
        HEAD
        + """
nn.BatchNorm2d(1)(torch.randn(4, 5, 5))  # <-
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
    "mha_kv_len": (
        "batch-first",
        """
import torch
from torch import nn
mha = nn.MultiheadAttention(16, 4) # <-
q = torch.randn(8, 5, 16)
kv = torch.randn(8, 7, 16)
out, w = mha(q, kv, kv)
""",
    ),
    "mha_class_mask": (
        "batch-first",
        """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h) # <-
        self.norm = nn.LayerNorm(d)
    def forward(self, x):
        t = x.shape[1]
        mask = torch.ones(t, t).triu(1).bool()
        a, _ = self.attn(x, x, x, attn_mask=mask)
        return self.norm(x + a)
Block(16, 2)(torch.randn(4, 10, 16))
""",
    ),
    "tel_mask": (
        "batch-first",
        """
import torch
from torch import nn
class Enc(nn.Module):
    def __init__(self, vocab=20, d=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        layer = nn.TransformerEncoderLayer(d, 2, 32) # <-
        self.enc = nn.TransformerEncoder(layer, 2)
    def forward(self, ids, pad):
        return self.enc(self.emb(ids), src_key_padding_mask=pad)
ids = torch.randint(0, 20, (4, 7))
Enc()(ids, ids == 0)
""",
    ),
    "transformer_full": (
        "batch-first",
        """
import torch
from torch import nn
model = nn.Transformer(16, 2, 1, 1, dim_feedforward=32) # <-
src, tgt = torch.randn(4, 9, 16), torch.randn(4, 6, 16)
mask = nn.Transformer.generate_square_subsequent_mask(6)
model(src, tgt, tgt_mask=mask)
""",
    ),
    "decoder_layer": (
        "batch-first",
        """
import torch
from torch import nn
class Dec(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(16, 2, 32) # <-
        self.dec = nn.TransformerDecoder(self.layer, 2)
    def forward(self, tgt, memory):
        return self.dec(tgt, memory)
Dec()(torch.randn(3, 5, 16), torch.randn(3, 8, 16))
""",
    ),
    "lstm_loss": (
        "batch-first",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(6, 12) # <-
        self.fc = nn.Linear(12, 2)
    def forward(self, x):
        out, (h, c) = self.rnn(x)
        return self.fc(h[-1])
x, y = torch.randn(4, 9, 6), torch.randint(0, 2, (4,))
net = Net()
logits = net(x)
loss = nn.functional.cross_entropy(logits, y)
loss.backward()
""",
    ),
    "gru_loss": (
        "batch-first",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.emb = nn.Embedding(30, d)
        self.rnn = nn.GRU(d, h, num_layers=2) # <-
        self.fc = nn.Linear(h, 1)
    def forward(self, ids):
        _, h = self.rnn(self.emb(ids))
        return self.fc(h[-1]).squeeze(1)
net = Net(8, 16)
ids, y = torch.randint(0, 30, (5, 12)), torch.rand(5)
loss = nn.BCEWithLogitsLoss()(net(ids), y)
""",
    ),
    "key_wrong_dim": (
        "attention-keys",
        """
import torch
from torch import nn
class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(16, 4, batch_first=True) # <-
    def forward(self, x, ctx):
        return self.attn(x, ctx, ctx)[0]
Cross()(torch.randn(2, 5, 16), torch.randn(2, 7, 24))
""",
    ),
    "key_value_len": (
        "attention-keys",
        """
import torch
from torch import nn
attn = nn.MultiheadAttention(16, 4, batch_first=True)
q = torch.randn(2, 5, 16)
k = torch.randn(2, 7, 16)
v = torch.randn(2, 5, 16)
out, _ = attn(q, k, v) # <-
""",
    ),
    "query_learned": (
        "attention-keys",
        """
import torch
from torch import nn
class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Parameter(torch.randn(1, 1, d))
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
    def forward(self, x):
        out, _ = self.attn(self.q, x, x) # <-
        return out[:, 0]
Pool(8)(torch.randn(4, 6, 8))
""",
    ),
    "packed_not_bf": (
        "batch-first",
        """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
x = torch.randn(3, 6, 4)
lengths = [6, 5, 2]
packed = pack_padded_sequence(x, lengths) # <-
out, _ = nn.LSTM(4, 8)(packed)
out, _ = torch.nn.utils.rnn.pad_packed_sequence(out)
print(out[2, 1])
""",
    ),
    "sdpa_heads_order": (
        "attention-keys",
        """
import torch
import torch.nn.functional as F
q = torch.randn(2, 5, 4, 8)
k = torch.randn(2, 7, 4, 8)
out = F.scaled_dot_product_attention(q, k, k) # <-
print(out.shape)
""",
    ),
    "encoder_trainer": (
        "batch-first",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 12) # <-
        self.fc = nn.Linear(12, 1)
    def forward(self, x):
        out, h = self.rnn(x)
        return self.fc(h[-1]).squeeze(-1)
class Trainer:
    def __init__(self, model):
        self.model, self.crit = model, nn.BCEWithLogitsLoss()
    def step(self, x, y):
        out = self.model(x)
        loss = self.crit(out, y)
        return loss
t = Trainer(Net())
t.step(torch.randn(4, 9, 6), torch.rand(4))
""",
    ),
    "time_first_to_bf": (
        "batch-first",
        """
import torch
from torch import nn
attn = nn.MultiheadAttention(16, 2, batch_first=True) # <-
x = torch.randn(10, 4, 16)
mask = torch.ones(10, 10).triu(1).bool()
attn(x, x, x, attn_mask=mask)
""",
    ),
    "mask_too_large": (
        "attention-keys",
        """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.register_buffer("mask", torch.ones(n, n).triu(1).bool())
    def forward(self, x):
        return self.attn(x, x, x, attn_mask=self.mask, need_weights=False)[0] # <-
Block(8, 32)(torch.randn(2, 6, 8))
""",
    ),
    "padding_turned": (
        "attention-keys",
        """
import torch
from torch import nn
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
x = torch.randn(3, 5, 8)
pad = torch.zeros(5, 3, dtype=torch.bool)
layer(x, src_key_padding_mask=pad) # <-
""",
    ),
    "heads_view": (
        "heads-do-not-divide",
        """
import torch
from torch import nn
class Attn(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, self.dim // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, self.dim // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, self.dim // self.heads).transpose(1, 2)
        a = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(a.transpose(1, 2).reshape(b, t, c))
Attn(64, 6)(torch.randn(2, 10, 64)) # <-
""",
    ),
    "heads_head_dim": (
        "heads-do-not-divide",
        """
import torch
from torch import nn
class Attn(nn.Module):
    def __init__(self, dim=100, n_heads=8): # <-
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.q = nn.Linear(dim, dim)
    def forward(self, x):
        b, t, _ = x.size()
        q = self.q(x).view(b, t, self.n_heads, self.head_dim)
        return q.flatten(2)
model = Attn()
model(torch.randn(2, 5, 100))
""",
    ),
    "heads_reshape_3": (
        "heads-do-not-divide",
        """
import torch
from torch import nn
class SelfAttention(nn.Module):
    def __init__(self, dim, num_heads=8):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, dim * 3)
    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        return (q @ k.mT).softmax(-1) @ v
class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = SelfAttention(dim, heads)
    def forward(self, x):
        return self.attn(x)
Block(60, 8)(torch.randn(2, 5, 60)) # <-
""",
    ),
    "heads_cfg_class": (
        "heads-do-not-divide",
        """
import torch
from torch import nn
from dataclasses import dataclass
@dataclass
class Config:
    n_embd: int = 48
    n_head: int = 5 # <-
class Attn(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        return k
Attn(Config())(torch.randn(2, 6, 48))
""",
    ),
    "heads_script": (
        "heads-do-not-divide",
        """
import torch
x = torch.randn(2, 10, 30)
heads = 4 # <-
b, t, d = x.shape
y = x.view(b, t, heads, d // heads)
""",
    ),
    "mha_class_heads": (
        "heads-do-not-divide",
        """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
    def forward(self, x):
        return self.attn(x, x, x)[0]
class Net(nn.Module):
    def __init__(self, dim=64, depth=2, heads=6): # <-
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
    def forward(self, x):
        for b in self.blocks: x = b(x)
        return x
net = Net()
net(torch.randn(2, 3, net.blocks[0].attn.embed_dim))
""",
    ),
    "heads_other_file": (
        "heads-do-not-divide",
        {
            "config.py": """
width = 64
heads = 7 # <-
""",
            "attention.py": """
from torch import nn
class Heads(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.w = h, d // h
        self.q = nn.Linear(d, d)
    def forward(self, x):
        return self.q(x).reshape(x.shape[0], x.shape[1], self.h, self.w)
""",
            "script.py": """
import torch
import config
from config import heads
from attention import Heads
Heads(config.width, heads)(torch.randn(2, 5, 64))
""",
        },
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
    "conv_after_batch_of_its_channels": (
        "conv-channels",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))

class Net(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = Block(3, 8)
        self.middle = Block(8, 16)
        self.tail = Block(8, 32) # <-
        self.head = nn.Linear(32, classes)
    def forward(self, x):
        x = self.tail(self.middle(self.stem(x)))
        return self.head(x.mean((2, 3)))

torch.manual_seed(0)
data = TensorDataset(torch.randn(32, 3, 8, 8), torch.randint(5, (32,)))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in DataLoader(data, batch_size=8, shuffle=True):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "state_of_fixed_batch": (
        "layer-width",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Tagger(nn.Module):
    def __init__(self, vocab, hidden, batch_size):
        super().__init__()
        self.hidden, self.batch_size = hidden, batch_size
        self.embed = nn.Embedding(vocab, 12)
        self.lstm = nn.LSTM(12, hidden, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden, 4)
    def start(self):
        h = torch.zeros(2, self.batch_size, self.hidden) # <-
        return h, torch.zeros(2, self.batch_size, self.hidden)
    def forward(self, tokens):
        states, _ = self.lstm(self.embed(tokens), self.start())
        return self.out(states)

torch.manual_seed(0)
data = TensorDataset(torch.randint(30, (42, 7)), torch.randint(4, (42, 7)))
loader = DataLoader(data, batch_size=16)
model = Tagger(30, 10, 16)
opt = torch.optim.Adam(model.parameters())
loss_fn = nn.CrossEntropyLoss()
for tokens, tags in loader:
    opt.zero_grad()
    scores = model(tokens)
    loss = loss_fn(scores.reshape(-1, 4), tags.reshape(-1))
    loss.backward()
    opt.step()
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
    "noise of another size": (
        "broadcast-shapes",
        HEAD
        + """
class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.mean, self.spread = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Linear(latent, 32)
    def forward(self, x):
        mean, spread = self.mean(x), self.spread(x)
        noise = torch.randn(x.size(0), 10)  # <-
        return self.decoder(mean + noise * torch.exp(0.5 * spread))
print(VAE()(torch.rand(16, 32)).shape)
""",
    ),
    "a mask at the other dimension": (
        "mask-shape",
        HEAD
        + """
x, labels = torch.randn(4, 6), torch.tensor([0, 1, 1, 0])
print(x[:, labels == 1].shape)  # <-
""",
    ),
    "groups that do not divide": (
        "conv-groups",
        HEAD
        + """
def block(channels, groups=4):  # <-
    return nn.Sequential(nn.Conv2d(3, channels, 3), nn.GroupNorm(groups, channels))
print(block(10)(torch.randn(1, 3, 8, 8)).shape)
""",
    ),
}
