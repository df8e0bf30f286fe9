"""Errors of modules: hooks, masks, states, default sizes, weights on meta; like ``programs``."""

MISTAKES = {
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
    "hook_returns_tuple": (
        "hook-changes-result",
        """
import torch
from torch import nn

class Recorder:
    def __init__(self, model):
        self.outputs = {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.register_forward_hook(self.make(name))
    def make(self, name):
        def hook(module, inputs, output):
            self.outputs[name] = output.detach()
            return inputs, output # <-
        return hook

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
recorder = Recorder(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    out = model(torch.randn(6, 4))
    loss = nn.functional.cross_entropy(out, torch.randint(2, (6,)))
    loss.backward()
    opt.step()
print(sorted(recorder.outputs))
""",
    ),
    "backward_hook_arguments": (
        "hook-arguments",
        """
import torch
from torch import nn

norms = {}

def watch(name):
    def hook(grad_input, grad_output): # <-
        norms[name] = grad_output[0].norm().item()
    return hook

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
for name, layer in model.named_children():
    layer.register_full_backward_hook(watch(name))

opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    opt.step()
print(len(norms))
""",
    ),
    "pre_hook_extra": (
        "hook-changes-result",
        """
import torch
from torch import nn
def scale(module, args):
    return args[0] * 2, "scaled" # <-
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
net[0].register_forward_pre_hook(scale)
print(net(torch.randn(2, 3)).shape)
""",
    ),
    "hook_method_arguments": (
        "hook-arguments",
        """
import torch
from torch import nn
feats = []
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.head = nn.Linear(4, 2)
        self.body.register_forward_hook(self.keep)
    def keep(self, module, output): # <-
        feats.append(output.detach())
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
Model()(torch.randn(2, 3))
print(len(feats))
""",
    ),
    "loaded_onto_meta": (
        "loaded-onto-meta",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, d), nn.Linear(d, 2)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
state = Net(5).state_dict()
with torch.device("meta"):
    net = Net(5)
net.load_state_dict(state) # <-
print(net(torch.randn(3, 5)).shape)
""",
    ),
    "hook_lambda_tuple": (
        "hook-changes-result",
        """
import torch
from torch import nn
norms = []
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
net[0].register_forward_hook(lambda m, i, o: (o, norms.append(o.norm().item()))) # <-
print(net(torch.randn(2, 3)).shape)
""",
    ),
}
