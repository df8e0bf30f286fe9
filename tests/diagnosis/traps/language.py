"""Traps of language models that raise nothing: shared weights, next tokens; like ``traps``."""

LM = """
import torch
from torch import nn

class LM(nn.Module):
    def __init__(self, vocab=24, dim=8, tie=True):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab, bias=False)
        if tie:
            self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.rnn(self.embed(tokens))[0])
"""
FIT = """
def fit(model, steps=8, kind=torch.optim.Adam):
    torch.manual_seed(1)
    opt = kind(model.parameters(), lr=1e-2)
    data = torch.randint(1, 20, (32, 9))
    for _ in range(steps):
        opt.zero_grad()
        logits = model(data[:, :-1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), data[:, 1:])
        loss.backward()
        opt.step()
    print(loss.item())
"""
TRAIN = """
def fit(loss_of, model=None, steps=8):
    torch.manual_seed(1)
    model = model or LM()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    text = torch.randint(0, 24, (900,))
    for _ in range(steps):
        at = torch.randint(0, 880, (8,)).tolist()
        loss = loss_of(model, text, at)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())

F = nn.functional
def cut(text, at, more=0):
    return torch.stack([text[i + more:i + more + 12] for i in at])
"""
GPT = """
import torch
from torch import nn
from torch.nn import functional as F

class Block(nn.Module):
    def __init__(self, d, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        b, t, d = x.shape
        parts = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in parts)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return x + self.proj(a.transpose(1, 2).reshape(b, t, d))

class GPT(nn.Module):
    def __init__(self, vocab=24, d=16, causal=True):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(12, d)
        self.blocks = nn.Sequential(*(Block(d, 2, causal) for _ in range(2)))
        self.head = nn.Linear(d, vocab)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)).expand_as(idx))
        logits = self.head(self.blocks(x))
        if targets is None:
            return logits, None
        b, t, c = logits.shape
        logits = logits.view(b * t, c)
        targets = targets.view(b * t)
        return logits, F.cross_entropy(logits, targets)
"""
SHIFTING = LM.replace("tokens):", "tokens, labels):").replace(
    "        return self.head(self.rnn(self.embed(tokens))[0])",
    """        logits = self.head(self.rnn(self.embed(tokens))[0])
        shift_logits = logits[..., :-1, :].contiguous()
        shift_labels = labels[..., 1:].contiguous()
        loss = nn.functional.cross_entropy(shift_logits.view(-1, 24), shift_labels.view(-1))
        return loss, logits""",
)


def lm(lines, model=LM):
    """A program whose loss is computed by some lines of x, the tokens."""
    body = "\n    ".join(lines)
    return (
        f"{model}{TRAIN}\ndef loss_of(model, text, at):\n    x = cut(text, at)\n    {body}\n"
        "\ntorch.manual_seed(0)\nfit(loss_of)\n"
    )


MODEL = {"model.py": LM, "train.py": "import torch\nfrom torch import nn\n" + FIT}

TRAPS = {
    "tie_of_a_clone": (
        "tied-weights-broken",
        LM.replace("self.embed.weight\n", "nn.Parameter(self.embed.weight.clone()) #!\n")
        + FIT
        + "\ntorch.manual_seed(0)\nfit(LM())\n",
    ),
    "tie_of_data": (
        "tied-weights-broken",
        {
            "nets.py": """
from torch import nn

def tie_weights(out, inp):
    out.weight.data = inp.weight.data #!

class Decoder(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.tokens = nn.Embedding(n, d)
        self.body = nn.Sequential(nn.Linear(d, d), nn.GELU())
        self.project = nn.Linear(d, n)
        tie_weights(self.project, self.tokens)

    def forward(self, x):
        return self.project(self.body(self.tokens(x)))
""",
            "train.py": MODEL["train.py"],
            "script.py": """
import torch
from nets import Decoder
from train import fit

torch.manual_seed(0)
fit(Decoder(20, 8), 6, torch.optim.AdamW)
""",
        },
    ),
    "tie_of_a_parameter_of_a_parameter": (
        "tied-weights-broken",
        LM.replace("self.embed.weight\n", "nn.Parameter(self.embed.weight) #!\n")
        + FIT
        + "\ntorch.manual_seed(0)\nfit(LM())\n",
    ),
    "tie_copied_in_no_grad": (
        "tied-weights-broken",
        """
import torch
from torch import nn

class Sim(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 4), nn.Linear(6, 4)
        self.share_weights()

    def share_weights(self):
        with torch.no_grad():
            self.right.weight.copy_(self.left.weight) #!

    def forward(self, a, b):
        return (self.left(a) * self.right(b)).sum(-1)

torch.manual_seed(0)
sim = Sim()
opt = torch.optim.SGD(sim.parameters(), 0.1)
for _ in range(6):
    a, b = torch.randn(16, 6), torch.randn(16, 6)
    opt.zero_grad()
    nn.functional.mse_loss(sim(a, b), (a * b).mean(-1)).backward()
    opt.step()
print("ok")
""",
    ),
    "embedding_replaced_by_a_trainer": (
        "tied-weights-broken",
        {
            **MODEL,
            "script.py": """
import torch
from torch import nn
from model import LM
from train import fit

class Trainer:
    def __init__(self, model):
        self.model = model
        self.prepare()

    def prepare(self):
        self.model.embed = nn.Embedding(24, 8, padding_idx=0) #!

    def run(self):
        fit(self.model)

torch.manual_seed(0)
Trainer(LM()).run()
""",
        },
    ),
    "embedding_grown": (
        "tied-weights-broken",
        {
            **MODEL,
            "script.py": """
import torch
from torch import nn
from model import LM
from train import fit

def grow(net, n):
    old = net.embed
    new = nn.Embedding(n, old.embedding_dim)
    with torch.no_grad():
        new.weight[:old.num_embeddings] = old.weight
    net.embed = new #!
    return net

torch.manual_seed(0)
fit(grow(LM(), 30))
""",
        },
    ),
    "weights_made_anew_by_apply": (
        "tied-weights-broken",
        LM.replace(
            "= self.embed.weight\n",
            """= self.embed.weight
        self.apply(self.reset)

    @staticmethod
    def reset(m):
        if isinstance(m, nn.Linear):
            m.weight = nn.Parameter(torch.randn(m.weight.shape) * 0.02) #!
""",
        )
        + FIT
        + "\ntorch.manual_seed(0)\nfit(LM())\n",
    ),
    "head_made_anew_in_its_class": (
        "tied-weights-broken",
        LM.replace(
            "= self.embed.weight\n",
            """= self.embed.weight
        self.head.weight = nn.Parameter(torch.empty(vocab, dim)) #!
        nn.init.xavier_uniform_(self.head.weight)
""",
        )
        + FIT
        + "\ntorch.manual_seed(0)\nfit(LM())\n",
    ),
    "head_copied_as_a_whole": (
        "tied-weights-broken",
        {
            **MODEL,
            "script.py": """
import copy
import torch
from model import LM
from train import fit

def main():
    torch.manual_seed(0)
    model = LM()
    model.head = copy.deepcopy(model.head) #!
    fit(model)

main()
""",
        },
    ),
    "state_loaded_by_assignment": (
        "tied-weights-broken",
        {
            **MODEL,
            "script.py": """
import torch
from model import LM
from train import fit

def restore(net, state):
    net.load_state_dict(state, assign=True) #!

torch.manual_seed(0)
model = LM()
restore(model, {k: v.clone() for k, v in LM().state_dict().items()})
fit(model)
""",
        },
    ),
    "memory_for_a_meta_model": (
        "tied-weights-broken",
        {
            **MODEL,
            "script.py": """
import torch
from model import LM
from train import fit

torch.manual_seed(0)
with torch.device("meta"):
    net = LM()
net = net.to_empty(device="cpu") #!
for p in net.parameters():
    torch.nn.init.normal_(p, std=0.1)
fit(net)
""",
        },
    ),
    "tokens_as_labels": (
        "labels-not-shifted",
        lm(["return F.cross_entropy(model(x).view(-1, 24), x.view(-1)) #!"]),
    ),
    "tokens_as_labels_transposed": (
        "labels-not-shifted",
        lm(["out = model(x)", "return nn.CrossEntropyLoss()(out.transpose(1, 2), x) #!"]),
    ),
    "tokens_as_labels_flattened_before": (
        "labels-not-shifted",
        lm(
            [
                "scores = model(x).log_softmax(-1)",
                "scores = scores.flatten(0, 1)",
                "wanted = x.reshape(-1)",
                "return F.nll_loss(scores, wanted) #!",
            ]
        ),
    ),
    "both_cut_at_the_same_end": (
        "labels-not-shifted",
        lm(
            [
                "out = model(x)",
                "return F.cross_entropy(out[:, :-1].reshape(-1, 24), x[:, :-1].reshape(-1)) #!",
            ]
        ),
    ),
    "cut_the_wrong_way": (
        "labels-not-shifted",
        lm(
            [
                "shifted = model(x)[..., 1:, :].contiguous()",
                "wanted = x[..., :-1].contiguous()",
                "return F.cross_entropy(shifted.view(-1, 24), wanted.view(-1)) #!",
            ]
        ),
    ),
    "cut_twice": (
        "labels-not-shifted",
        lm(
            [
                "y = cut(text, at, 1)",
                "out = model(x)",
                "return F.cross_entropy(out[:, :-1].flatten(0, 1), y[:, 1:].flatten()) #!",
            ]
        ),
    ),
    "cut_by_data_and_model": (
        "labels-not-shifted",
        lm(
            ["y = cut(text, at, 1)", "return model(x, labels=y)[0]"],
            SHIFTING.replace("view(-1))\n", "view(-1)) #!\n"),
        ),
    ),
    "labels_of_the_same_cut": (
        "labels-not-shifted",
        {
            "gpt.py": GPT,
            "data.py": """
import torch

class Text:
    def __init__(self, n, block):
        self.ids, self.block = torch.randint(0, 24, (n,)), block

    def batch(self, size):
        ix = torch.randint(len(self.ids) - self.block - 1, (size,))
        x = torch.stack([self.ids[i:i + self.block] for i in ix])
        y = torch.stack([self.ids[i:i + self.block] for i in ix]) #!
        return x, y
""",
            "script.py": """
import torch
from data import Text
from gpt import GPT

torch.manual_seed(0)
text, model = Text(500, 12), GPT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(8):
    xb, yb = text.batch(8)
    logits, loss = model(xb, targets=yb)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
""",
        },
    ),
    "model_given_tokens_twice": (
        "labels-not-shifted",
        {
            "gpt.py": GPT,
            "script.py": """
import torch
from gpt import GPT

class Trainer:
    def __init__(self, model):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(self, ids):
        _, loss = self.model(ids, ids) #!
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

torch.manual_seed(0)
trainer = Trainer(GPT())
for _ in range(8):
    trainer.step(torch.randint(0, 24, (8, 12)))
""",
        },
    ),
    "dataset_of_pairs_of_one": (
        "labels-not-shifted",
        {
            "model.py": LM,
            "data.py": """
from torch.utils.data import Dataset

class Chunks(Dataset):
    def __init__(self, ids, n):
        self.ids, self.n = ids, n

    def __len__(self):
        return len(self.ids) // self.n

    def __getitem__(self, i):
        chunk = self.ids[i * self.n:(i + 1) * self.n]
        return chunk, chunk #!
""",
            "script.py": """
import torch
from torch import nn
from torch.utils.data import DataLoader
from data import Chunks
from model import LM

torch.manual_seed(0)
net = LM()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for tokens, labels in DataLoader(Chunks(torch.randint(0, 24, (960,)), 12), batch_size=8):
    loss = criterion(net(tokens).reshape(-1, 24), labels.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        },
    ),
    "time_first": (
        "labels-not-shifted",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n=20, d=8):
        super().__init__()
        self.e, self.rnn, self.o = nn.Embedding(n, d), nn.LSTM(d, d), nn.Linear(d, n)

    def forward(self, x, state=None):
        h, state = self.rnn(self.e(x), state)
        return self.o(h), tuple(s.detach() for s in state)

def batch_of(stream, i, n=10):
    data = stream[i:i + n]
    target = stream[i:i + n].reshape(-1) #!
    return data, target

torch.manual_seed(0)
stream = torch.randint(0, 20, (6, 120)).t().contiguous()
net, state = Net(), None
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for i in range(0, 100, 10):
    data, target = batch_of(stream, i)
    scores, state = net(data, state)
    opt.zero_grad()
    nn.functional.cross_entropy(scores.view(-1, 20), target).backward()
    opt.step()
""",
    ),
}

CLEAN = {
    "next_tokens": lm(
        [
            "out = model(x)",
            "return F.cross_entropy(out[:, :-1].reshape(-1, 24), x[:, 1:].reshape(-1))",
        ]
    ),
    "next_tokens_of_data": lm(
        [
            "y = cut(text, at, 1)",
            "return F.cross_entropy(model(x).transpose(1, 2), y)",
        ]
    ),
    "next_tokens_of_the_model": lm(["return model(x, labels=x)[0]"], SHIFTING),
    "two_tokens_ahead": lm(
        [
            "out = model(x)",
            "one = F.cross_entropy(out[:, :-1].flatten(0, 1), x[:, 1:].flatten())",
            "return one + F.cross_entropy(out[:, :-2].flatten(0, 1), x[:, 2:].flatten())",
        ]
    ),
    "inputs_moved_by_the_model": lm(
        ["return F.cross_entropy(model(x).transpose(1, 2), x)"],
        LM.replace(
            "(self.embed(tokens))", "(self.embed(nn.functional.pad(tokens[:, :-1], (1, 0))))"
        ),
    ),
    "masked_tokens": lm(
        [
            "hidden = torch.rand(x.shape) < 0.2",
            "model(x)  # what it says of the whole",
            "out = model(x.masked_fill(hidden, 0))",
            "return F.cross_entropy(out.transpose(1, 2), x.masked_fill(~hidden, -100))",
        ]
    ),
    "denoising": lm(
        [
            "noisy = torch.where(torch.rand(x.shape) < 0.2, torch.randint(0, 24, x.shape), x)",
            "return F.cross_entropy(model(noisy).transpose(1, 2), x)",
        ]
    ),
    "tags_of_tokens": lm(
        [
            "tags = torch.arange(24) // 3",
            "return F.cross_entropy(model(x).transpose(1, 2), tags[x])",
        ]
    ),
    "whole_sequence_seen": GPT
    + """
torch.manual_seed(0)
model = GPT(causal=False)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(8):
    x = torch.randint(0, 24, (8, 12))
    _, loss = model(x, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "autoencoder_of_sequences": lm(
        ["return F.cross_entropy(model(x).transpose(1, 2), x)"],
        LM.replace(
            "        return self.head(self.rnn(self.embed(tokens))[0])",
            "        code = self.rnn(self.embed(tokens))[1][0]\n"
            "        back = code[:, None].expand(-1, tokens.size(1), -1).contiguous()\n"
            "        return self.head(self.rnn(back)[0])",
        ),
    ),
    "decoder_that_begins_anew": """
import torch
from torch import nn

class Copier(nn.Module):
    def __init__(self, n=20, d=16):
        super().__init__()
        self.e, self.o = nn.Embedding(n + 1, d), nn.Linear(d, n + 1)
        self.t = nn.Transformer(d, 2, 1, 1, 32, dropout=0.0, batch_first=True)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        return self.o(self.t(self.e(src), self.e(tgt), tgt_mask=mask))

torch.manual_seed(0)
net = Copier()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randint(0, 20, (8, 10))
    begun = torch.cat([torch.full((8, 1), 20), x[:, :-1]], 1)
    loss = nn.functional.cross_entropy(net(x, begun).transpose(1, 2), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "tied": LM + FIT + "\ntorch.manual_seed(0)\nfit(LM())\n",
    "not_tied": LM + FIT + "\ntorch.manual_seed(0)\nnet = LM(tie=False)\n"
    "net.embed = nn.Embedding(24, 8)\nfit(net)\n",
    "tied_again": LM
    + FIT
    + """
torch.manual_seed(0)
net = LM()
net.embed = nn.Embedding(24, 8, padding_idx=0)
net.head.weight = net.embed.weight
net.load_state_dict({k: v.clone() for k, v in net.state_dict().items()}, assign=True)
net.head.weight = net.embed.weight
fit(net)
""",
    "untied_on_purpose": LM
    + FIT
    + """
torch.manual_seed(0)
net = LM()
net.head.weight = nn.Parameter(net.head.weight.detach().clone())
fit(net)
other = LM()
other.head = nn.Linear(8, 24, bias=False)  # a separate head
fit(other)
""",
    "head_for_another_task": LM
    + FIT
    + """
torch.manual_seed(0)
net = LM()
net.head = nn.Linear(8, 40)
fit(net)
""",
    "head_begins_as_the_embedding": LM
    + FIT
    + """
torch.manual_seed(0)
net = LM(tie=False)
net.head.weight.data.copy_(net.embed.weight.data)
fit(net)
""",
    "one_memory_and_sgd": LM.replace("weight = self.embed", "weight.data = self.embed")
    + FIT
    + "\ntorch.manual_seed(0)\nfit(LM(), 8, torch.optim.SGD)\n",
    "layers_that_begin_equal": """
import copy
import torch
from torch import nn
torch.manual_seed(0)
layer = nn.Linear(6, 6)
twin = copy.deepcopy(layer)
twin.weight.data = layer.weight.data.clone()
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), 2)
net = nn.Sequential(layer, nn.Tanh(), twin, encoder, nn.Linear(6, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(5):
    x = torch.randn(8, 4, 6)
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[..., :1]).backward()
    opt.step()
print("ok")
""",
    "averaged_copy": LM
    + FIT
    + """
import copy
torch.manual_seed(0)
net = LM()
average = copy.deepcopy(net).requires_grad_(False)
fit(net)
with torch.no_grad():
    for a, b in zip(average.parameters(), net.parameters()):
        a.lerp_(b, 0.1)
""",
}
