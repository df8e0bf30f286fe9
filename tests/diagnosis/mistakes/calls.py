"""Programs that raise over what is called with what: arguments, None, modules, optimizers."""

from . import HEAD

MISTAKES = {
    "a plain tensor where torch has another name": (
        "parameter-assigned",
        """
import torch as th
class Scale(th.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = th.nn.Parameter(th.ones(2))
        self.w = th.zeros(2)  # <-
    def forward(self, x):
        return x * self.w
print(Scale()(th.ones(2)))
""",
    ),
    "a class among modules where torch has another name": (
        "not-a-module",
        """
import torch as th
from torch.nn import Linear, Sequential
net = Sequential(Linear(2, 2), th.relu)  # <-
print(net(th.ones(1, 2)).shape)
""",
    ),
    "forward misspelled": (
        "forward-missing",
        {
            "net.py": """
            from torch import nn
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(2, 2)
                def foward(self, x):  # <-
                    return self.fc(x)
            """,
            "script.py": "import torch, net\nnet.Net()(torch.ones(1, 2))\n",
        },
    ),
    "super init forgotten": (
        "super-init-missing",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):  # <-
        self.fc = nn.Linear(2, 2)
Net()
""",
    ),
    "forward nested in method": (
        "forward-missing",
        {
            "net.py": """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)

        def forward(self, x):  # <-
            h = self.fc(x)
            return torch.relu(h)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(3)
    def forward(self, x):
        return self.block(x)
""",
            "script.py": """
import torch
from net import Net
Net()(torch.ones(1, 3))
""",
        },
    ),
    "lstm_tuple": (
        "result-is-tuple",
        """
import torch
from torch import nn

class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=16, hidden=32, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, tags)

    def forward(self, tokens):
        states = self.lstm(self.embed(tokens)) # <-
        return self.out(states)

print(Tagger()(torch.randint(0, 50, (2, 7))).shape)
""",
    ),
    "lstm_seq_tuple": (
        "result-is-tuple",
        """
import torch
from torch import nn

model = nn.Sequential(
    nn.Embedding(20, 8),
    nn.LSTM(8, 16, batch_first=True), # <-
    nn.Linear(16, 2),
)
print(model(torch.randint(0, 20, (4, 6))).shape)
""",
    ),
    "no_return": (
        "result-missing",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        x = self.fc(x) # <-

net = Net()
out = net(torch.ones(1, 2))
loss = out.sum()
loss.backward()
print("ok")
""",
    ),
    "relu_ctor": (
        "class-for-object",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        x = nn.ReLU(self.fc(x)) # <-
        return x.sum()

print(Net()(torch.ones(1, 2)))
""",
    ),
    "class_not_instance": (
        "class-for-object",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)

model = Net # <-
print(model(torch.ones(1, 2)).shape)
""",
    ),
    "params_no_call": (
        "method-not-called",
        """
import torch
from torch import nn

model = nn.Linear(2, 2)
opt = torch.optim.Adam(model.parameters, lr=1e-3) # <-
print("ok")
""",
    ),
    "params_exhausted": (
        "parameters-empty",
        """
import torch
from torch import nn

model = nn.Linear(2, 2)
params = model.parameters() # <-
print("parameters:", sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)
print("ok")
""",
    ),
    "params_of_a_temporary": (
        "modules-in-plain-list",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = [nn.Linear(width, width) for _ in range(3)] # <-

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

opt = torch.optim.Adam(Net(4).parameters())
""",
    ),
    "dup_groups": (
        "parameters-twice",
        """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD([
    {"params": model.parameters(), "lr": 0.01}, # <-
    {"params": model[2].parameters(), "lr": 0.1},
])
print(len(opt.param_groups))
""",
    ),
    "load_assign": (
        "result-missing",
        """
import torch
from torch import nn

trained = nn.Linear(2, 2)
model = nn.Linear(2, 2)
model = model.load_state_dict(trained.state_dict()) # <-
model.eval()
print(model(torch.ones(1, 2)).shape)
""",
    ),
    "statedict_no_call": (
        "method-not-called",
        """
import io
import torch
from torch import nn

model = nn.Linear(2, 2)
buffer = io.BytesIO()
torch.save(model.state_dict, buffer) # <-
buffer.seek(0)
model.load_state_dict(torch.load(buffer, weights_only=False))
print("ok")
""",
    ),
    "onecycle_too_many": (
        "schedule-too-short",
        """
import torch
from torch import nn

model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
epochs, batches = 3, 4
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=epochs) # <-
for epoch in range(epochs):
    for b in range(batches):
        opt.zero_grad()
        model(torch.randn(4, 2)).square().mean().backward()
        opt.step()
        sched.step()
print("done")
""",
    ),
    "plateau_no_metric": (
        "plateau-without-metric",
        """
import torch
from torch import nn

model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=2)
for epoch in range(3):
    opt.zero_grad()
    val_loss = model(torch.randn(4, 2)).square().mean()
    val_loss.backward()
    opt.step()
    sched.step() # <-
print("done")
""",
    ),
    "loss_as_float": (
        "number-for-tensor",
        """
import torch
from torch import nn

class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), 0.1)

    def compute_loss(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        return loss.item() # <-

    def train_step(self, x, y):
        self.opt.zero_grad()
        loss = self.compute_loss(x, y)
        loss.backward()
        self.opt.step()

Trainer(nn.Linear(2, 1)).train_step(torch.randn(4, 2), torch.randn(4, 1))
print("ok")
""",
    ),
    "mixed_loss_item": (
        "number-for-tensor",
        """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.MSELoss()
total = 0
for i in range(4):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    total += loss_fn(model(x), y).item() # <-
opt.zero_grad()
total.backward()
opt.step()
print("ok")
""",
    ),
    "loss_method_none": (
        "result-missing",
        """
import torch
from torch import nn
class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 1)
    def loss(self, x, y):
        pred = self.model(x)
        ((pred - y) ** 2).mean() # <-
    def step(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
Trainer().step(torch.randn(8, 4), torch.randn(8, 1))
""",
    ),
    "forward_none_ce": (
        "result-missing",
        """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        x = self.fc(x) # <-
net = Net()
out = net(torch.randn(8, 4))
loss = F.cross_entropy(out, torch.zeros(8, dtype=torch.long))
loss.backward()
""",
    ),
    "forward_inner_none": (
        "result-missing",
        """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
    def forward(self, x):
        y = self.fc(x)
        y = y + x # <-
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b1, self.b2 = Block(4), Block(4)
    def forward(self, x):
        x = self.b1(x)
        x = self.b2(x)
        return x
Net()(torch.randn(2, 4))
""",
    ),
    "forward_if_return": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        out = self.fc(x)
        if not self.training:
            return out.softmax(1) # <-
net = Net()
loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.zeros(8, dtype=torch.long))
loss.backward()
""",
    ),
    "forward_print_last": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
    def forward(self, x):
        out = self.fc(x)
        print(out.shape) # <-
net = Net()
y = net(torch.randn(8, 4))
print(y.mean())
""",
    ),
    "forward_for_last": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) # <-
net = Net()
net(torch.randn(8, 4)).sum().backward()
""",
    ),
    "load_state": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(4, 1)
state = model.state_dict()
model = model.load_state_dict(state) # <-
print(model(torch.randn(2, 4)))
""",
    ),
    "load_state_chain": (
        "result-missing",
        """
import torch
from torch import nn
state = nn.Linear(4, 1).state_dict()
def load():
    model = nn.Linear(4, 1).load_state_dict(state) # <-
    return model
model = load()
model.eval()
""",
    ),
    "apply_init": (
        "result-missing",
        """
import torch
from torch import nn
def init(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.bias)
def build():
    net = nn.Sequential(nn.Linear(4, 1))
    net = init(net) # <-
    return net
net = build()
net(torch.randn(2, 4))
""",
    ),
    "loss_step": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
total = 0.0
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    loss = optimizer.step() # <-
    total += loss.item()
""",
    ),
    "loss_backward": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    opt.zero_grad()
    loss = model(torch.randn(8, 4)).square().mean().backward() # <-
    opt.step()
    print(loss.item())
""",
    ),
    "list_append_modules": (
        "result-missing",
        """
import torch
from torch import nn
class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers = layers.append(nn.Linear(a, b)) # <-
        self.net = nn.Sequential(*layers)
    def forward(self, x):
        return self.net(x)
MLP([4, 8, 1])(torch.randn(2, 4))
""",
    ),
    "sort_list": (
        "result-missing",
        """
import torch
words = ["b", "a"]
vocab = words.sort() # <-
index = {w: i for i, w in enumerate(vocab)}
""",
    ),
    "shuffle_list": (
        "result-missing",
        """
import random
import torch
idx = list(range(10))
idx = random.shuffle(idx) # <-
x = torch.randn(10, 3)
print(x[idx[:5]])
""",
    ),
    "dict_update": (
        "result-missing",
        """
import torch
cfg = {"lr": 0.1}
cfg = cfg.update({"epochs": 3}) # <-
for e in range(cfg["epochs"]):
    pass
""",
    ),
    "collate_without_return": (
        "result-missing",
        """
import torch
from torch.utils.data import DataLoader
def collate(items):
    xs = torch.stack([a for a, _ in items])
    ys = torch.tensor([b for _, b in items])
    xs, ys # <-
data = [(torch.randn(3), i) for i in range(4)]
for x, y in DataLoader(data, batch_size=2, collate_fn=collate):
    print(x.shape)
""",
    ),
    "unpack_none": (
        "result-missing",
        """
import torch
from torch import nn
def make_data(n):
    x = torch.randn(n, 3)
    y = x.sum(1) # <-
x, y = make_data(4)
""",
    ),
    "loss_in_binop": (
        "result-missing",
        """
import torch
from torch import nn
def reg(model):
    s = 0.0
    for p in model.parameters():
        s = s + p.square().sum() # <-
model = nn.Linear(3, 1)
loss = model(torch.randn(4, 3)).mean() + 0.1 * reg(model)
loss.backward()
""",
    ),
    "lambda_none": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x, y=None):
        logits = self.fc(x)
        if y is not None:
            loss = nn.functional.cross_entropy(logits, y)
            return logits, loss # <-
net = Net()
out = net(torch.randn(2, 4))
print(out.argmax(1))
""",
    ),
    "zero_grad_chain": (
        "result-missing",
        """
import torch
from torch import nn
m = nn.Linear(2, 1)
m = m.requires_grad_(False).zero_grad() # <-
print(m(torch.randn(3, 2)))
""",
    ),
    "train_user_method": (
        "result-missing",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def train(self, mode=True):
        super().train(mode) # <-
    def forward(self, x):
        return self.fc(x)
net = Net().train()
print(net(torch.randn(2, 4)))
""",
    ),
    "closure_none": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(3, 1)
opt = torch.optim.LBFGS(model.parameters())
x = torch.randn(5, 3)
def closure():
    opt.zero_grad()
    loss = model(x).square().mean()
    loss.backward() # <-
opt.step(closure)
""",
    ),
    "lambda_lr_none": (
        "result-missing",
        """
import torch
from torch import nn
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
def warm(step):
    factor = min(1.0, (step + 1) / 10) # <-
sched = torch.optim.lr_scheduler.LambdaLR(opt, warm)
""",
    ),
    "return_load": (
        "result-missing",
        """
import torch
from torch import nn
def load(net, state):
    return net.load_state_dict(state) # <-
net = nn.Linear(2, 2)
net = load(net, net.state_dict())
print(net(torch.randn(1, 2)))
""",
    ),
    "inline_extend": (
        "result-missing",
        """
import torch
from torch import nn
layers = [nn.Linear(4, 8)]
net = nn.Sequential(*layers.extend([nn.ReLU(), nn.Linear(8, 1)])) # <-
""",
    ),
    "other_name_append": (
        "result-missing",
        """
import torch
def collect(xs):
    out = []
    for x in xs:
        out.append(x * 2) # <-
ys = collect([torch.ones(2), torch.zeros(2)])
print(torch.stack(ys))
""",
    ),
    "if_else_one": (
        "result-missing",
        """
import torch
from torch import nn
def make_loss(kind):
    if kind == "mse":
        return nn.MSELoss()
    else:
        fn = nn.L1Loss() # <-
crit = make_loss("l1")
print(crit(torch.ones(3), torch.zeros(3)))
""",
    ),
    "clip_module": (
        "module-for-parameters",
        """
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

model = nn.Linear(3, 1)
model(torch.randn(4, 3)).sum().backward()
clip_grad_norm_(model, 1.0) # <-
print("ok")
""",
    ),
    "opt_module": (
        "module-for-parameters",
        """
import torch
from torch import nn

model = nn.Linear(3, 1)
opt = torch.optim.SGD(model, lr=0.1) # <-
print("ok")
""",
    ),
    "lr_string": (
        "number-as-text",
        """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", default="0.01") # <-
args = parser.parse_args([])
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=args.lr)
model(torch.randn(4, 3)).sum().backward()
opt.step()
print("ok")
""",
    ),
    "float_features": (
        "size-not-whole",
        """
import torch
from torch import nn

class Bottleneck(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.down = nn.Linear(d, d / 2) # <-
        self.up = nn.Linear(d // 2, d)

    def forward(self, x):
        return self.up(torch.relu(self.down(x)))

print(Bottleneck(8)(torch.randn(2, 8)).shape)
""",
    ),
    "view_float": (
        "size-not-whole",
        """
import torch

x = torch.randn(4, 6)
n = x.size(1) / 2 # <-
print(x.view(4, 2, n).shape)
""",
    ),
    "modulelist_called": (
        "container-called",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)]) # <-

    def forward(self, x):
        return self.layers(x)

print(Net()(torch.randn(3, 4)).shape)
""",
    ),
    "assign_tensor_param": (
        "parameter-assigned",
        """
import torch
from torch import nn

layer = nn.Linear(3, 2)
layer.weight = torch.zeros(2, 3) # <-
print(layer(torch.ones(1, 3)).shape)
""",
    ),
    "param_times": (
        "parameter-assigned",
        """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.s = self.s * 2 # <-
        return x * self.s

print(Scale()(torch.ones(2)).shape)
""",
    ),
    "entry_of_a_batch_left_out": (
        "argument-missing",
        """
import torch
from torch import nn

class Mean(nn.Module):
    def forward(self, x, lengths):
        return x.sum(1) / lengths[:, None]

model = Mean()
for batch in [{"x": torch.ones(4, 3, 2), "lengths": torch.ones(4), "y": torch.ones(4)}]:
    out = model(batch["x"]) # <-
""",
    ),
    "criterion_one_arg": (
        "argument-missing",
        """
import torch
from torch import nn

criterion = nn.CrossEntropyLoss()
x, y = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
model = nn.Linear(3, 3)
loss = criterion(model(x)) # <-
print(loss.item() > 0)
""",
    ),
    "enumerate_missing": (
        "loader-used-wrongly",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4)
model = nn.Linear(3, 1)
for i, (x, y) in loader: # <-
    loss = nn.functional.mse_loss(model(x), y)
    print(i, loss.item() > 0)
""",
    ),
    "next_loader": (
        "loader-used-wrongly",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4)
x, y = next(loader) # <-
print(x.shape)
""",
    ),
    "loader_index": (
        "loader-used-wrongly",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4)
x, y = loader[0] # <-
print(x.shape)
""",
    ),
    "dataset_no_len": (
        "dataset-without-length",
        """
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset): # <-
    def __init__(self, x):
        self.x = x
    def __getitem__(self, i):
        return self.x[i]

loader = DataLoader(Rows(torch.randn(6, 2)), batch_size=2)
for batch in loader:
    print(batch.shape)
""",
    ),
    "tensor_of_tensors": (
        "list-for-tensor",
        """
import torch
from torch import nn

model = nn.Linear(2, 3)
outs = [model(torch.randn(2)) for _ in range(4)]
batch = torch.tensor(outs) # <-
print(batch.shape)
""",
    ),
    "stack_empty": (
        "list-for-tensor",
        """
import torch

def collect(rows, keep):
    kept = [r for r in rows if keep(r)]
    return torch.stack(kept) # <-

print(collect([torch.ones(2)], lambda r: r.sum() < 0).shape)
""",
    ),
    "permute_count": (
        "dimensions-count",
        """
import torch

image = torch.rand(1, 8, 8, 3)
chw = image.permute(2, 0, 1) # <-
print(chw.shape)
""",
    ),
    "bmm_2d": (
        "dimensions-count",
        """
import torch

q, k = torch.randn(4, 8), torch.randn(4, 8)
scores = torch.bmm(q, k.T) # <-
print(scores.shape)
""",
    ),
    "opt_load_mismatch": (
        "optimizer-state-differs",
        """
import torch
from torch import nn

small = nn.Linear(2, 2)
saved = torch.optim.Adam(small.parameters()).state_dict()
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.Adam(model.parameters())
opt.load_state_dict(saved) # <-
print("ok")
""",
    ),
    "pack_zero": (
        "sequence-lengths",
        """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.randn(3, 5, 4)
lengths = torch.tensor([5, 2, 0])
packed = pack_padded_sequence(x, lengths, batch_first=True) # <-
print(packed.data.shape)
""",
    ),
    "pack_unsorted": (
        "sequence-lengths",
        """
import torch
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.randn(3, 5, 4)
lengths = torch.tensor([2, 5, 3])
packed = pack_padded_sequence(x, lengths, batch_first=True) # <-
print(packed.data.shape)
""",
    ),
    "sum_list_mean": (
        "list-for-tensor",
        """
import torch
from torch import nn

losses = [nn.functional.mse_loss(torch.ones(2), torch.zeros(2)) for _ in range(3)]
print(losses.mean()) # <-
""",
    ),
    "forward_extra_arg": (
        "self-missing",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(x): # <-
        return self.fc(x)

print(Net()(torch.randn(2, 3)).shape)
""",
    ),
    "no_len_tensor_int": (
        "size-not-whole",
        """
import torch
from torch import nn

sizes = torch.tensor([4, 8])
layer = nn.Linear(sizes[0].float(), 3) # <-
print(layer)
""",
    ),
    "sequential_list": (
        "not-a-module",
        """
import torch
from torch import nn

layers = [nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)]
net = nn.Sequential(layers) # <-
print(net(torch.ones(1, 2)).shape)
""",
    ),
    "sequential_class": (
        "not-a-module",
        """
import torch
from torch import nn

net = nn.Sequential(
    nn.Linear(2, 4),
    nn.ReLU, # <-
    nn.Linear(4, 1),
)
print(net(torch.ones(1, 2)).shape)
""",
    ),
    "forward_returns_nothing": (
        "result-missing",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        out = self.fc(x) # <-

y = Net()(torch.ones(4, 2))
loss = nn.functional.mse_loss(y, torch.zeros(4, 1))
print(loss.item() > 0)
""",
    ),
    "init_misspelt": (
        "init-misspelt",
        """
import torch
from torch import nn

class Net(nn.Module):
    def _init_(self): # <-
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(x)

print(Net()(torch.ones(1, 2)).shape)
""",
    ),
    "loader_stopiteration": (
        "iterator-ends",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4)
it = iter(loader)
total = 0.0
for step in range(5):
    (x,) = next(it) # <-
    total += x.sum().item()
print(total > 0)
""",
    ),
    "lstm_output_tuple": (
        "result-is-tuple",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8, batch_first=True)
        self.fc = nn.Linear(8, 1)
    def forward(self, x):
        h = self.lstm(x) # <-
        return self.fc(h[:, -1])

print(Net()(torch.randn(2, 5, 3)).shape)
""",
    ),
    "class_for_instance": (
        "class-for-object",
        """
import torch
from torch import nn

activation = nn.ReLU # <-
x = torch.tensor([-1.0, 2.0])
print(activation(x).sum().item())
""",
    ),
    "no_grad_without_call": (
        "context-not-called",
        """
import torch
from torch import nn

net = nn.Linear(2, 1)
x = torch.ones(3, 2)
with torch.no_grad: # <-
    y = net(x)
print(y.shape)
""",
    ),
    "lr_tuple_comma": (
        "number-is-tuple",
        """
import torch
from torch import nn

net = nn.Linear(2, 1)
rate = 0.1, # <-
opt = torch.optim.SGD(net.parameters(), lr=rate)
net(torch.ones(1, 2)).sum().backward()
opt.step()
print("stepped")
""",
    ),
    "scores as probabilities": (
        "scores-for-probabilities",
        HEAD
        + """
from torch.distributions import Categorical
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
    def forward(self, x):
        return Categorical(self.net(x)) # <-
print(Policy()(torch.randn(5, 4)).sample())
""",
    ),
    "a scale of any sign": (
        "scale-not-positive",
        HEAD
        + """
from torch.distributions import Normal
mean, scale = nn.Linear(4, 2), nn.Linear(4, 2)
x = torch.randn(16, 4)
print(Normal(mean(x), scale=scale(x)).sample().shape) # <-
""",
    ),
    "scale that is a parameter": (
        "scale-not-positive",
        HEAD
        + """
from torch.distributions import Normal
mean, log_scale = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
print(Normal(mean, log_scale).rsample((3,)).shape) # <-
""",
    ),
    "tokens without an embedding": (
        "embedding-missing",
        HEAD
        + """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.width = nn.GRU(16, 8, batch_first=True), 8 # <-
        self.head = nn.Linear(8, 3)
    def forward(self, tokens):
        return self.head(self.rnn(tokens)[0])
print(Tagger()(torch.tensor([4, 31, 7, 0, 12])).shape)
""",
    ),
    "padded with time first": (
        "batch-first",
        HEAD
        + """
from torch.nn.utils.rnn import pad_sequence
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(20, 8), nn.LSTM(8, 16, batch_first=True)
        self.head = nn.Linear(16, 2)
    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0][:, -1])
net = Net()
def train(parts, labels):
    x = pad_sequence(parts, padding_value=0) # <-
    loss = F.cross_entropy(net(x), labels)
    loss.backward()
train([torch.randint(0, 20, (n,)) for n in (5, 7, 3)], torch.randint(0, 2, (3,)))
""",
    ),
    "labels of text": (
        "labels-are-text",
        HEAD
        + """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    rows = ["0.5,1.5,1", "1.0,2.0,0", "2.0,0.5,1", "0.1,0.2,0"]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        *features, label = self.rows[i].split(",")
        return torch.tensor([float(f) for f in features]), label # <-
model, loss = nn.Linear(2, 2), nn.CrossEntropyLoss()
for x, y in DataLoader(Rows(), batch_size=2):
    loss(model(x), y).backward()
""",
    ),
    "a Function that is called": (
        "function-called",
        HEAD
        + """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
square = Square()
square(torch.ones(3, requires_grad=True)).sum().backward() # <-
""",
    ),
    "batches of one part": (
        "result-not-tuple",
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4)
for x, y in loader: # <-
    print(nn.Linear(4, 3)(x).shape)
""",
    ),
    "a layer without a state": (
        "result-not-tuple",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)
    def forward(self, x):
        out, hidden = self.lin(x) # <-
        return out
print(Net()(torch.randn(5, 4)).shape)
""",
    ),
    "labels of text in a dict": (
        "labels-are-text",
        HEAD
        + """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return {"x": torch.ones(2), "y": str(i % 2)} # <-
for batch in DataLoader(Rows(), batch_size=2):
    F.cross_entropy(nn.Linear(2, 2)(batch["x"]), batch["y"])
""",
    ),
    "a keyword misspelt": (
        "name-misspelt",
        HEAD
        + """
from torch.utils.data import DataLoader, TensorDataset
def loader(x):
    return DataLoader(TensorDataset(x), batchsize=2, shuffle=True) # <-
print(len(loader(torch.ones(4))))
""",
    ),
    "a keyword of one's own class misspelt": (
        "name-misspelt",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self, hidden_size=4):
        super().__init__()
        self.lin = nn.Linear(2, hidden_size)
print(Net(hiden_size=8).lin.out_features) # <-
""",
    ),
    "an attribute misspelt": (
        "name-misspelt",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
for layer in net:
    if isinstance(layer, nn.Linear):
        print(layer.weights.norm().item() > 0) # <-
""",
    ),
    "a size that is no tuple": (
        "size-not-tuple",
        HEAD
        + """
batch = 6
print(torch.randint(0, 5, batch).shape) # <-
""",
    ),
    "dropout in percent": (
        "rate-in-percent",
        HEAD
        + """
net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(p=50)) # <-
""",
    ),
    "rows of different lengths": (
        "ragged-list",
        HEAD
        + """
def encode(texts):
    ids = [[ord(c) for c in text] for text in texts]
    return torch.tensor(ids, dtype=torch.long) # <-
print(encode(["abc", "de"]).shape)
""",
    ),
    "None among tensors": (
        "list-with-none",
        HEAD
        + """
states, state = [], None
for x in torch.randn(3, 2):
    states.append(state)
    state = x if state is None else state + x
print(torch.stack(states).shape) # <-
""",
    ),
    "a result deep-copied": (
        "copy-of-result",
        HEAD
        + """
import copy
h = nn.Linear(2, 2)(torch.ones(1, 2))
print(copy.deepcopy(h).shape) # <-
""",
    ),
}
