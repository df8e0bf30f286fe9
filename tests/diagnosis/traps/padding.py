"""Traps of sequences that were filled up to one length."""

HEAD = """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
torch.manual_seed(0)
seqs = [torch.randint(1, 30, (int(n),)) for n in torch.randint(2, 12, (64,))]
y = torch.tensor([int((s > 15).float().mean() > 0.5) for s in seqs])
ids = pad_sequence(seqs, batch_first=True)
"""

TRAPS = {
    "padded_mean": (
        "padding-in-average",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.out = nn.Linear(16, 2)
    def forward(self, ids):
        return self.out(self.emb(ids).mean(1))  #!

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "padded_mean_zero_row": (
        "padding-in-average",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=0)
        self.out = nn.Linear(16, 2)
    def forward(self, tokens):
        e = self.emb(tokens)
        pooled = torch.mean(e, dim=1)  #!
        return self.out(pooled)

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "padded_mean_encoder": (
        "padding-in-average",
        {
            "net.py": """
from torch import nn
class Encoder(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width, padding_idx=0)
        self.layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
    def forward(self, batch):
        hidden = self.table(batch)
        hidden = self.layer(hidden, src_key_padding_mask=batch == 0)
        mask = hidden.mean(dim=1)  #!
        return mask
""",
            "script.py": HEAD
            + """
from net import Encoder
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.head = Encoder(30, 16), nn.Linear(16, 2)
    def forward(self, x):
        return self.head(self.enc(x))

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
        },
    ),
    "padded_mean_channels": (
        "padding-in-average",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.conv = nn.Conv1d(16, 8, 3, padding=1)
        self.out = nn.Linear(8, 2)
    def forward(self, ids):
        h = self.conv(self.emb(ids).transpose(1, 2)).relu()
        return self.out(h.mean(-1))  #!

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "padded_last_state": (
        "padding-read-as-end",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.out = nn.Linear(16, 2)
    def forward(self, ids):
        states, _ = self.rnn(self.emb(ids))
        return self.out(states[:, -1])  #!

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "padded_last_state_time_first": (
        "padding-read-as-end",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 16)
        self.out = nn.Linear(16, 2)
    def forward(self, ids):
        states, _ = self.rnn(self.emb(ids))
        return self.out(states[-1])  #!

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16].t()), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "summed_over_length": (
        "padding-in-average",
        """
import torch
from torch import nn

class Bag(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim, padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.ReLU())
        self.out = nn.Linear(32, 2)
    def forward(self, tokens):
        h = self.mlp(self.table(tokens))
        return self.out(h.sum(dim=1) / h.size(1))  #!

class Trainer:
    def __init__(self):
        self.net = Bag(50, 16)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
    def fit(self, ids, y):
        for epoch in range(10):
            loss = nn.functional.cross_entropy(self.net(ids), y)
            self.opt.zero_grad(); loss.backward(); self.opt.step()

torch.manual_seed(0)
lens = torch.randint(2, 12, (64,))
ids = torch.zeros(64, 12, dtype=torch.long)
for i, n in enumerate(lens): ids[i, :n] = torch.randint(1, 50, (int(n),))
Trainer().fit(ids, (ids[:, 0] > 25).long())
""",
    ),
}

CLEAN = {
    "padding_masked": HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.out = nn.Linear(48, 2)
    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        lengths = mask.sum((1, 2))
        e = self.emb(ids)
        mean = (e * mask).sum(1) / lengths[:, None]
        scaled = (e + 1).masked_fill(~mask, 0).mean(1) * ids.shape[1] / lengths[:, None]
        packed = pack_padded_sequence(e, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.rnn(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        end = states[torch.arange(len(ids)), lengths - 1]
        return self.out(torch.cat([mean + scaled, last[-1], end], 1))

model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()

class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.out = nn.Linear(32, 2)
    def forward(self, ids):
        states, _ = self.rnn(self.emb(ids))
        return self.out(torch.cat([states[:, -1], states.mean(1)], 1))
ids = torch.randint(0, 30, (64, 9))
y = (ids[:, -1] > 15).long()

model = Whole()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()

ids = torch.randint(0, 2, (64, 9))
y = ids[:, -1]

model = Whole()
opt = torch.optim.Adam(model.parameters(), 1e-2)
for e in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(model(ids[i:i+16]), y[i:i+16])
        opt.zero_grad(); loss.backward(); opt.step()
""",
    "summed_over_tokens": """
import torch
from torch import nn

class Bag(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Embedding(vocab, dim, padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.ReLU())
        self.out = nn.Linear(32, 2)
    def forward(self, tokens):
        h = self.mlp(self.table(tokens))
        mask = (tokens != 0).unsqueeze(-1)
        return self.out((h * mask).sum(1) / mask.sum(1))

class Trainer:
    def __init__(self):
        self.net = Bag(50, 16)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
    def fit(self, ids, y):
        for epoch in range(10):
            loss = nn.functional.cross_entropy(self.net(ids), y)
            self.opt.zero_grad(); loss.backward(); self.opt.step()

torch.manual_seed(0)
lens = torch.randint(2, 12, (64,))
ids = torch.zeros(64, 12, dtype=torch.long)
for i, n in enumerate(lens): ids[i, :n] = torch.randint(1, 50, (int(n),))
Trainer().fit(ids, (ids[:, 0] > 25).long())
""",
}
