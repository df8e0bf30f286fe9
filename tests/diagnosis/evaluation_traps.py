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
}

CLEAN = {
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
