"""Errors of attention and recurrent layers; like ``programs``."""

MISTAKES = {
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
}
