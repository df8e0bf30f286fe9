"""Programs that raise over devices, checkpoints and datasets."""

from . import HEAD

MISTAKES = {
    "cuda in an argument": (
        "device-missing",
        {
            "settings.py": "DEVICE = 'cuda'  # <-\n",
            "script.py": """
            import torch, settings
            class Trainer:
                def __init__(self, device):
                    self.net = torch.nn.Linear(2, 2).to(device)
            Trainer(settings.DEVICE)
            """,
        },
    ),
    "cuda as a method": (
        "device-missing",
        HEAD + "net = nn.Linear(2, 2).cuda()  # <-\nnet(torch.ones(1, 2))\n",
    ),
    "a plain tensor attribute": (
        "tensor-left-behind",
        {
            "model.py": """
            import torch
            from torch import nn
            class Scaled(nn.Module):
                def __init__(self, size):
                    super().__init__()
                    self.scale = torch.full((size,), 0.5)  # <-
                    self.out = nn.Linear(size, 1)
                def forward(self, x):
                    x = x * self.scale
                    return self.out(x)
            """,
            "script.py": """
            import torch, model
            device = torch.device("meta")
            net = model.Scaled(3)
            net.to(device)
            net(torch.ones(2, 3, device=device))
            """,
        },
    ),
    "layers in a plain list": (
        "tensor-left-behind",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2) for _ in range(2)]  # <-
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
Net().to("meta")(torch.ones(1, 2, device="meta"))
""",
    ),
    "made in forward": (
        "tensor-left-behind",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        noise = torch.ones(2)  # <-
        return self.fc(x) + noise
Net().to("meta")(torch.ones(1, 2, device="meta"))
""",
    ),
    "saved from a wrapper": (
        "checkpoint-names",
        HEAD
        + """
def build():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU())
class Keeper:
    def __init__(self, net):
        self.net = nn.DataParallel(net)
    def state(self):
        return self.net.state_dict()  # <-
state = Keeper(build()).state()
other = build()
other.load_state_dict(state)
""",
    ),
    "a whole checkpoint": (
        "checkpoint-names",
        HEAD
        + """
net = nn.Linear(2, 3)
checkpoint = {"model": net.state_dict(), "epoch": 3}
nn.Linear(2, 3).load_state_dict(checkpoint)  # <-
""",
    ),
    "renamed layers": (
        "checkpoint-names",
        HEAD
        + """
class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
class New(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 3)
New().load_state_dict(Old().state_dict())  # <-
""",
    ),
    "another count of classes": (
        "checkpoint-shapes",
        HEAD
        + """
def build(classes):
    return nn.Sequential(nn.Linear(2, 4), nn.Linear(4, classes))
state = build(10).state_dict()
net = build(5)  # <-
net.load_state_dict(state)
""",
    ),
    "a pickled object": (
        "weights-only",
        HEAD
        + """
import io
class Settings:
    pass
buffer = io.BytesIO()
torch.save({"settings": Settings()}, buffer)
buffer.seek(0)
torch.load(buffer)  # <-
""",
    ),
    "cuda device parser": (
        "device-missing",
        HEAD
        + """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--device", default="cuda:0")  # <-
args = p.parse_args([])
class Trainer:
    def __init__(self, args):
        self.device = torch.device(args.device)
        self.net = nn.Linear(2, 2)
        self.net.to(self.device)
Trainer(args)
""",
    ),
    "cuda kw": (
        "device-missing",
        HEAD
        + """
x = torch.ones(2, device="cuda")  # <-
""",
    ),
    "load map location": (
        "device-missing",
        HEAD
        + """
cfg = dict(device="cuda", lr=0.1)  # <-
def data():
    return torch.ones(3).to(cfg["device"])
data()
""",
    ),
    "attr in submodule positional": (
        "tensor-left-behind",
        HEAD
        + """
class Pos(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        table = torch.zeros(n, d)
        table[:, 0] = 1
        self.table = table  # <-
    def forward(self, x):
        return x + self.table[: x.shape[1]]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos, self.fc = Pos(10, 4), nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(self.pos(x))
device = "meta"
net = Net().to(device)
net(torch.ones(2, 5, 4, device=device))
""",
    ),
    "ddp prefix file": (
        "checkpoint-names",
        {
            "train.py": """
import torch
from torch import nn
def train(path, net):
    model = nn.DataParallel(net)
    torch.save(model.state_dict(), path)  # <-
""",
            "script.py": """
import tempfile, os
import torch
from torch import nn
import train
path = os.path.join(tempfile.mkdtemp(), "a.pt")
def build():
    return nn.Sequential(nn.Linear(2, 3))
train.train(path, build())
net = build()
net.load_state_dict(torch.load(path))
""",
        },
    ),
    "file prefix only": (
        "checkpoint-names",
        HEAD
        + """
state = {"module." + k: v for k, v in nn.Linear(2, 3).state_dict().items()}
net = nn.Linear(2, 3)
net.load_state_dict(state)  # <-
""",
    ),
    "a module on meta": (
        "meta-values",
        HEAD
        + """
net = nn.Linear(2, 2, device="meta")
net.to("cpu")  # <-
""",
    ),
    "device_not_assigned": (
        "tensor-left-behind",
        """
import torch
from torch import nn

device = "meta"
model = nn.Linear(3, 1).to(device)
x = torch.randn(2, 3)
x.to(device) # <-
print(model(x).shape)
""",
    ),
    "collate_none": (
        "sample-is-none",
        """
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __len__(self): return 6
    def __getitem__(self, i):
        if i == 3:
            return None # <-
        return torch.randn(3)

for batch in DataLoader(Images(), batch_size=2):
    print(batch.shape)
""",
    ),
    "worker_index": (
        "dataset-too-long",
        """
import torch
from torch.utils.data import DataLoader, Dataset

class Windows(Dataset):
    def __init__(self, series, size):
        self.series, self.size = series, size

    def __len__(self):
        return len(self.series) # <-

    def __getitem__(self, i):
        window = self.series[i:i + self.size]
        return window, self.series[i + self.size]

if __name__ == "__main__":
    data = Windows(torch.arange(20.0), 4)
    n = sum(len(w) for w, t in DataLoader(data, batch_size=4))
    print(n)
""",
    ),
    "shuffle_sampler": (
        "sampler-and-shuffle",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

data = TensorDataset(torch.randn(10, 2))
sampler = WeightedRandomSampler(torch.ones(10), 10)
loader = DataLoader(data, batch_size=2, sampler=sampler, shuffle=True) # <-
print(len(loader))
""",
    ),
    "cat_dtype_device": (
        "tensor-left-behind",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = torch.linspace(0.1, 1.0, 4) # <-
        self.fc = nn.Linear(8, 1)
    def forward(self, x):
        s = self.scales.expand(x.size(0), 4)
        return self.fc(torch.cat([x, s], dim=1))

net = Net().to("meta")
print(net(torch.randn(3, 4, device="meta")).shape)
""",
    ),
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
    "unscaled before an update": (
        "scaler-not-updated",
        HEAD
        + """
model = nn.Linear(8, 4)
opt, scaler = optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")
for _ in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(torch.randn(16, 8)), torch.randint(0, 4, (16,)))
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt) # <-
""",
    ),
    "an optimizer of what is frozen": (
        "parameters-empty",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(8, 16), nn.Linear(16, 3)
    def forward(self, x):
        return self.head(self.features(x))
def finetune(model):
    for p in model.parameters():
        p.requires_grad = False # <-
    opt = optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.1)
    F.cross_entropy(model(torch.randn(4, 8)), torch.tensor([0, 1, 2, 0])).backward()
    opt.step()
finetune(Net())
""",
    ),
}
