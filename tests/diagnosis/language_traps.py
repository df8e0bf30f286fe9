"""Traps of language models, which raise nothing: weights that are to be shared; like ``traps``."""

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
}

CLEAN = {
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
