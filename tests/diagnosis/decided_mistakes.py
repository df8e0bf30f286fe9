"""Errors of models that were built with other numbers, or otherwise; like ``programs``."""

MISTAKES = {
    "hidden_size": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(10, hidden)
        self.fc2 = nn.Linear(hidden, 2)
    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))
state = Net(hidden=128).state_dict()
model = Net() # <-
model.load_state_dict(state)
""",
    ),
    "config_hidden": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
config = {"hidden": 32, "layers": 2} # <-
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
    def forward(self, x):
        return self.norm(x + self.fc(x))
class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.inp = nn.Linear(4, cfg["hidden"])
        self.blocks = nn.ModuleList([Block(cfg["hidden"]) for _ in range(cfg["layers"])])
    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks: x = b(x)
        return x
old = Net({"hidden": 64, "layers": 2}).state_dict()
net = Net(config)
net.load_state_dict(old)
""",
    ),
    "num_classes": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, num_classes)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
pretrained = Net(10).state_dict()
model = Net(3) # <-
model.load_state_dict(pretrained)
""",
    ),
    "vocab": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
class LM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.out = nn.Linear(dim, vocab)
    def forward(self, x):
        return self.out(self.emb(x))
ckpt = {"model": LM(100, 16).state_dict(), "step": 3}
vocab = 120 # <-
lm = LM(vocab, 16)
lm.load_state_dict(ckpt["model"])
""",
    ),
    "n_layers_fewer": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class Encoder(nn.Module):
    def __init__(self, dim, n_layers=2):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, 2, 16, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, n_layers)
    def forward(self, x):
        return self.enc(x)
torch.manual_seed(0)
saved = Encoder(8).state_dict()
model = Encoder(8, n_layers=3) # <-
model.load_state_dict(saved)
""",
    ),
    "lstm_layers_fewer": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
state = nn.LSTM(4, 8, num_layers=1).state_dict()
model = nn.LSTM(4, 8, num_layers=2) # <-
model.load_state_dict(state)
""",
    ),
    "lstm_bidirectional": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, both=False):
        super().__init__()
        self.rnn = nn.GRU(4, 8, bidirectional=both, batch_first=True)
    def forward(self, x):
        return self.rnn(x)[0]
state = Net(both=True).state_dict()
model = Net() # <-
model.load_state_dict(state)
""",
    ),
    "bias_false": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
old = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).state_dict()
model = nn.Sequential(
    nn.Linear(4, 8, bias=False), # <-
    nn.ReLU(),
    nn.Linear(8, 2))
model.load_state_dict(old)
""",
    ),
    "buffer_nonpersistent_extra": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mask", torch.ones(4))
    def forward(self, x):
        return self.fc(x) * self.mask
class New(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mask", torch.ones(4), persistent=False) # <-
    def forward(self, x):
        return self.fc(x) * self.mask
state = Old().state_dict()
New().load_state_dict(state)
""",
    ),
    "buffer_nonpersistent_missing": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, save_mask):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mask", torch.ones(4), persistent=save_mask)
    def forward(self, x):
        return self.fc(x) * self.mask
state = Net(False).state_dict()
model = Net(True) # <-
model.load_state_dict(state)
""",
    ),
    "buffer_new_missing": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class V1(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.scale = torch.ones(4) * 2
    def forward(self, x):
        return self.fc(x) * self.scale
class V2(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4) * 2) # <-
    def forward(self, x):
        return self.fc(x) * self.scale
state = V1().state_dict()
m = V2()
m.load_state_dict(state)
""",
    ),
    "plain_attr_extra": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class V1(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4) * 2)
    def forward(self, x):
        return self.fc(x) * self.scale
class V2(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.scale = torch.ones(4) # <-
    def forward(self, x):
        return self.fc(x) * self.scale
V2().load_state_dict(V1().state_dict())
""",
    ),
    "plain_param_extra": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class V1(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(3))
class V2(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.zeros(3, requires_grad=True) # <-
V2().load_state_dict(V1().state_dict())
""",
    ),
    "layers_in_list_when_saved": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class Old(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(n)] # <-
        self.out = nn.Linear(4, 1)
class New(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(n)])
        self.out = nn.Linear(4, 1)
saved = Old(2).state_dict()
m = New(2)
m.load_state_dict(saved)
""",
    ),
    "layers_in_list_now": (
        "checkpoint-built-otherwise",
        """
import torch
from torch import nn
class Old(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(n)])
        self.out = nn.Linear(4, 1)
class New(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(n)] # <-
        self.out = nn.Linear(4, 1)
m = New(2)
m.load_state_dict(Old(2).state_dict())
""",
    ),
    "pos_len": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
class GPT(nn.Module):
    def __init__(self, max_len):
        super().__init__()
        self.tok = nn.Embedding(10, 8)
        self.pos = nn.Parameter(torch.zeros(1, max_len, 8))
    def forward(self, x):
        return self.tok(x) + self.pos[:, :x.shape[1]]
state = GPT(64).state_dict()
model = GPT(128) # <-
model.load_state_dict(state)
""",
    ),
    "conv_kernel": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
def build(k):
    return nn.Sequential(nn.Conv2d(1, 4, k), nn.ReLU(), nn.Flatten())
saved = build(5).state_dict()
net = build(3) # <-
net.load_state_dict(saved)
""",
    ),
    "whole_model_saved": (
        "checkpoint-names",
        """
import torch, io
from torch import nn
net = nn.Linear(4, 4)
buf = io.BytesIO()
torch.save(net, buf) # <-
buf.seek(0)
net2 = nn.Linear(4, 4)
net2.load_state_dict(torch.load(buf, weights_only=False))
""",
    ),
    "two_numbers": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, 2)
state = Net(100, 16).state_dict()
model = Net(80, 24) # <-
model.load_state_dict(state)
""",
    ),
    "two_numbers_config": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
from types import SimpleNamespace
def make(cfg):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(cfg.vocab, cfg.dim)
            self.out = nn.Linear(cfg.dim, cfg.vocab)
    return Net()
cfg = SimpleNamespace(
    vocab=80, # <-
    dim=24)
state = make(SimpleNamespace(vocab=100, dim=16)).state_dict()
model = make(cfg)
model.load_state_dict(state)
""",
    ),
    "transformer_width": (
        "checkpoint-shapes",
        """
import torch
from torch import nn
class Enc(nn.Module):
    def __init__(self, d_model=32, nhead=4, ff=64):
        super().__init__()
        self.proj = nn.Linear(5, d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, ff, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1)
state = Enc(ff=128).state_dict()
model = Enc() # <-
model.load_state_dict(state)
""",
    ),
    "path_given": (
        "checkpoint-names",
        """
import torch, tempfile, os
from torch import nn
path = os.path.join(tempfile.mkdtemp(), "m.pt")
net = nn.Linear(2, 2)
torch.save(net.state_dict(), path)
net.load_state_dict(path) # <-
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
}
