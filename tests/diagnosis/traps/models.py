"""Traps of modules and their parameters: hidden, not held, frozen, shared, masked, hooked."""

TRAPS = {
    "params_dict": (
        "modules-in-plain-list",
        """
import torch
import torch.nn as nn
class Heads(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = {n: nn.Linear(4, 1) for n in names} #!
    def forward(self, x):
        z = torch.relu(self.trunk(x))
        return sum(h(z) for h in self.heads.values())
net = Heads(["a", "b"])
o = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    o.zero_grad(); net(torch.randn(4, 4)).square().mean().backward(); o.step()
""",
    ),
    "params_append": (
        "modules-in-plain-list",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [] #!
        for _ in range(2):
            self.layers.append(nn.Linear(4, 4))
        self.out = nn.Linear(4, 1)
    def forward(self, x):
        for l in self.layers: x = l(x).relu()
        return self.out(x)
net = Net()
o = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    o.zero_grad(); net(torch.randn(4, 4)).square().mean().backward(); o.step()
""",
    ),
    "params_plist": (
        "modules-in-plain-list",
        """
import torch
from torch import nn
class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 1)
        self.scales = [nn.Parameter(torch.ones(4)) for _ in range(2)] #!
    def forward(self, x):
        for s in self.scales: x = x * s
        return self.f(x)
net = Mix()
o = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    o.zero_grad(); net(torch.randn(4, 4)).square().mean().backward(); o.step()
""",
    ),
    "shared_seq": (
        "layer-repeated",
        """
import torch
from torch import nn
class Enc(nn.Module):
    def __init__(self, n):
        super().__init__()
        layer = nn.Linear(8, 8)
        self.net = nn.Sequential(*[layer] * n) #!
    def forward(self, x): return self.net(x)
print(sum(p.numel() for p in Enc(3).parameters()))
""",
    ),
    "optim_init_then_replace": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Linear(4, 8), nn.Linear(8, 10)
    def forward(self, x): return self.fc(self.body(x).relu())
def adapt(net, n):
    net.fc = nn.Linear(8, n)
def main():
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3) #!
    adapt(net, 2)
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
main()
""",
    ),
    "optim_late_layer": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn
class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = None
    def forward(self, x):
        z = self.a(x).relu()
        if self.b is None:
            self.b = nn.Linear(z.shape[1], 1)
        return self.b(z)
net = Lazy()
opt = torch.optim.SGD(net.parameters(), 0.1) #!
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "nograd_with": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        with torch.no_grad(): #!
            z = self.enc(x)
            z = z.relu()
        return self.dec(z)
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "detach_mid": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        z = self.enc(x).relu()
        z = z.detach() #!
        return self.dec(z)
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    opt.zero_grad(); net(torch.randn(8, 4)).square().mean().backward(); opt.step()
""",
    ),
    "data_line": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
enc, dec = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for _ in range(4):
    opt.zero_grad()
    h = enc(torch.randn(8, 4))
    h = h.data #!
    dec(h).square().mean().backward()
    opt.step()
""",
    ),
    "buffer_std": (
        "tensor-not-a-buffer",
        """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.shift = torch.zeros(n) #!
        self.lin = nn.Linear(n, n)
    def observe(self, x):
        self.shift = x.mean(0)
    def forward(self, x): return self.lin(x - self.shift)
def build(): return Norm(3)
a = build(); a.observe(torch.randn(10, 3) + 4)
b = build()
b.load_state_dict(a.state_dict())
print(torch.equal(a.shift, b.shift))
""",
    ),
    "fn_constant": (
        "function-ignores-gradient",
        """
import torch
from torch.autograd import Function
class Sq(Function):
    @staticmethod
    def forward(ctx, inp):
        ctx.save_for_backward(inp)
        return inp * inp
    @staticmethod
    def backward(ctx, grad_output):
        inp, = ctx.saved_tensors
        return 2 * inp #!
w = torch.randn(5, requires_grad=True)
Sq.apply(w).mean().backward()
""",
    ),
    "fn_wrong": (
        "function-wrong-gradient",
        """
import torch
class Exp2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(2 * x); ctx.save_for_backward(y); return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y #!
w = torch.randn(5, requires_grad=True)
Exp2.apply(w).mean().backward()
""",
    ),
    "direct_forward": (
        "forward-called-directly",
        """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body.forward(x)  #!


net = Net()
seen = []
net.body.register_forward_hook(lambda module, args, out: seen.append(out.shape))
net(torch.randn(2, 4))
""",
    ),
    "hook_never_removed": (
        "hooks-pile-up",
        """
import torch
from torch import nn

net = nn.Linear(3, 3)
calls = []

def features(x):
    net.register_forward_hook(lambda m, i, o: calls.append(1)) #!
    return net(x)

for i in range(10):
    features(torch.ones(1, 3))
print("calls:", len(calls))
""",
    ),
    "requires_grad_typo": (
        "freeze-without-effect",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
net[0].requires_grad = False #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
w = net[0].weight.detach().clone()
opt.zero_grad()
net(torch.randn(5, 3)).square().mean().backward()
opt.step()
print("frozen:", torch.equal(w, net[0].weight))
""",
    ),
    "shared_encoder_layer": (
        "layer-repeated",
        """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = nn.ModuleList([layer for _ in range(n)]) #!
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x

enc = Encoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 3)
print("same weights:", enc.layers[0].linear1.weight is enc.layers[1].linear1.weight)
""",
    ),
    "causal_fill": (
        "causal-mask-inverted",
        """
import torch

torch.manual_seed(0)
steps = 5
x = torch.randn(2, steps, 8)
mask = torch.triu(torch.ones(steps, steps), 1)
scores = (x @ x.mT).masked_fill(mask == 0, float("-inf")) #!
print(scores.softmax(-1)[:, :-1].sum().item() > 0)
""",
    ),
    "parameter_converted": (
        "tensor-not-a-parameter",
        """
import torch
from torch import nn

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3)).mul(2.0) #!

    def forward(self, x):
        return self.fc(x) * self.scale

torch.manual_seed(0)
m = Scaled()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
opt.zero_grad()
m(torch.randn(4, 3)).square().mean().backward()
opt.step()
print("scale is a parameter:", "scale" in dict(m.named_parameters()))
""",
    ),
    "hook_on_line": (
        "hooks-pile-up",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1); seen = []
def features(x):
    n = 1; net.register_forward_hook(lambda m, a, o: seen.append(o.detach())); out = net(x) #!
    y = 1; return out
with torch.no_grad():
    for i in range(6): features(torch.randn(4, 3))
""",
    ),
    "hook_returns": (
        "hook-cuts-gradient",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
means = []
def watch(module, args, output):
    means.append(output.detach().mean().item())
    return output.detach() #!
net[0].register_forward_hook(watch)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    opt.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    opt.step()
""",
    ),
    "hook_returns_norm": (
        "hook-cuts-gradient",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
seen = {}
def record(name):
    def hook(module, args, output):
        seen[name] = output.detach()
        return output.detach() * 1.0 #!
    return hook
net[1].register_forward_hook(record("relu"))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    opt.zero_grad()
    net(torch.randn(8, 4)).square().mean().backward()
    opt.step()
""",
    ),
    "frozen_norm_trains": (
        "frozen-norm-in-training",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 2)
    def forward(self, x):
        return self.head(self.features(x))

def freeze(module):
    for p in module.parameters():
        p.requires_grad = False

torch.manual_seed(0)
x = torch.randn(96, 6) * 3 + 5
y = (x[:, 0] > 5).long()
model = Net()
model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()})
freeze(model.features)
opt = torch.optim.SGD(model.head.parameters(), lr=0.1)
for epoch in range(3):
    model.train() #!
    for xb, yb in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(model(xb), yb).backward()
        opt.step()
print("mean moved", model.features[1].running_mean.abs().max().item() > 0.1)
""",
    ),
    "attention_over_queries": (
        "softmax-over-queries",
        """
import math
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(x.size(-1))
        weights = torch.softmax(scores, dim=1) #!
        return weights @ self.v(x)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.attn = SelfAttention(16)
        self.out = nn.Linear(16, 2)
    def forward(self, t):
        return self.out(self.attn(self.embed(t)).mean(1))

torch.manual_seed(0)
t = torch.randint(20, (64, 10))
y = (t[:, 0] > 9).long()
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for i in range(0, 64, 16):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(t[i:i + 16]), y[i:i + 16])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
""",
    ),
    "dropout_in_forward": (
        "layer-made-in-forward",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(10, 64), nn.Linear(64, 3)

    def forward(self, x):
        h = torch.relu(self.a(x))
        h = nn.Dropout(0.5)(h) #!
        return self.b(h)

torch.manual_seed(0)
model = Net()
model.eval()
x = torch.ones(1, 10)
with torch.no_grad():
    print("deterministic:", torch.equal(model(x), model(x)))
""",
    ),
    "layer_in_forward": (
        "layer-made-in-forward",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return nn.Linear(8, 1)(h) #!

torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for step in range(20):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
print("parameters:", len(list(net.parameters())))
""",
    ),
    "tensor_not_parameter": (
        "tensor-not-a-parameter",
        """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = torch.ones(dim, requires_grad=True) #!
        self.fc = nn.Linear(dim, 1)

    def forward(self, x):
        return self.fc(x * self.gain)

torch.manual_seed(0)
model = Scale(4)
start = model.gain.detach().clone()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    opt.zero_grad()
    model(torch.randn(16, 4)).square().mean().backward()
    opt.step()
print("gain learned:", not torch.equal(start, model.gain))
""",
    ),
    "opt_of_other_model": (
        "optimizer-misses-parameters",
        """
import copy
import torch
from torch import nn

torch.manual_seed(0)
base = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(base.parameters(), lr=0.01) #!
model = copy.deepcopy(base)
start = model[0].weight.detach().clone()
for step in range(10):
    opt.zero_grad()
    model(torch.randn(16, 4)).square().mean().backward()
    opt.step()
print("changed:", not torch.equal(start, model[0].weight))
""",
    ),
    "opt_only_head": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.decoder = nn.Linear(16, 8)

    def forward(self, x):
        return self.decoder(self.encoder(x))

torch.manual_seed(0)
model = Two()
optimizer = torch.optim.Adam(model.decoder.parameters(), lr=1e-2) #!
for step in range(20):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
""",
    ),
    "shared_layer": (
        "layer-repeated",
        """
import torch
from torch import nn

class Deep(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        block = nn.Sequential(nn.Linear(d, d), nn.ReLU())
        self.blocks = nn.ModuleList([block for _ in range(n)]) #!
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.out(x)

net = Deep(8, 4)
print(sum(p.numel() for p in net.parameters()))
""",
    ),
    "detached_rec": (
        "parameters-without-gradient",
        """
import torch
from torch import nn

class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(8, 3), nn.Linear(3, 8)

    def forward(self, x):
        code = self.enc(x)
        code = torch.from_numpy(code.detach().numpy()) #!
        return self.dec(torch.tanh(code))

torch.manual_seed(0)
ae = AE()
opt = torch.optim.Adam(ae.parameters(), 1e-2)
for step in range(10):
    x = torch.randn(16, 8)
    opt.zero_grad()
    nn.functional.mse_loss(ae(x), x).backward()
    opt.step()
print("done")
""",
    ),
    "two_modules_one_opt": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(8, 3), nn.Linear(3, 8)
opt = torch.optim.Adam(encoder.parameters(), lr=1e-2) #!
for step in range(20):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(decoder(torch.tanh(encoder(x))), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
""",
    ),
    "opt_trainer_head": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.classifier = nn.Linear(16, 2)
    def forward(self, x):
        return self.classifier(self.features(x))

class Trainer:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.SGD(self.net.classifier.parameters(), lr=lr) #!
        self.loss = nn.CrossEntropyLoss()
    def run(self, data):
        for x, y in data:
            self.opt.zero_grad()
            self.loss(self.net(x), y).backward()
            self.opt.step()

torch.manual_seed(0)
data = [(torch.randn(8, 6), torch.randint(0, 2, (8,))) for _ in range(10)]
Trainer(Net(), 0.1).run(data)
print("ok")
""",
    ),
    "dropout_functional_class": (
        "layer-made-in-forward",
        """
import torch
from torch import nn
import torch.nn.functional as F

class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)

    def forward(self, x):
        drop = nn.Dropout(p=0.3) #!
        return drop(F.gelu(self.lin(x)))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.out = Encoder(8), nn.Linear(8, 2)
    def forward(self, x):
        return self.out(self.enc(x))

def main():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(4):
        x, y = torch.randn(8, 8), torch.randint(0, 2, (8,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    model.eval()
    with torch.no_grad():
        print(model(torch.ones(1, 8)).shape)

main()
""",
    ),
    "item_in_graph": (
        "parameters-without-gradient",
        """
import torch
from torch import nn

torch.manual_seed(0)
gate, body = nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.SGD([*gate.parameters(), *body.parameters()], 0.1)
for _ in range(8):
    x = torch.randn(16, 4)
    w = torch.sigmoid(gate(x)).mean().item() #!
    loss = (w * body(x) - x[:, :1]).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print("ok")
""",
    ),
    "worker_lambda": (
        "local-function-pickled",
        """
import torch
from torch.utils.data import DataLoader, TensorDataset

def make():
    data = TensorDataset(torch.arange(8.0))
    return DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context="spawn",
                      collate_fn=lambda items: torch.stack([i[0] for i in items])) #!

if __name__ == "__main__":
    print(len(list(make())))
""",
    ),
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
    "optim_groups": (
        "optimizer-misses-parameters",
        """
import torch
from torch import nn
from types import SimpleNamespace as NS
def make(cfg):
    net = nn.ModuleDict({"body": nn.Linear(cfg.i, cfg.h), "head": nn.Linear(cfg.h, 10)})
    groups = [{"params": net[n].parameters(), "lr": lr} for n, lr in (("body", .01), ("head", .1))]
    opt = torch.optim.SGD(groups, lr=.1) #!
    return net, opt
cfg = NS(i=4, h=8, c=2)
torch.manual_seed(0)
net, opt = make(cfg)
net["head"] = nn.Linear(cfg.h, cfg.c)
for step in range(5):
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    opt.zero_grad()
    nn.functional.cross_entropy(net["head"](net["body"](x).relu()), y).backward()
    opt.step()
""",
    ),
    "hidden_tuple": (
        "modules-in-plain-list",
        """
import torch
from torch import nn
class Experts(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gate = nn.Linear(4, n)
        self.experts = tuple(nn.Linear(4, 4) for _ in range(n)) #!
    def forward(self, x):
        w = self.gate(x).softmax(-1)
        return sum(w[:, i:i+1] * e(x) for i, e in enumerate(self.experts))
torch.manual_seed(0)
m = Experts(3); o = torch.optim.Adam(m.parameters())
for _ in range(4): o.zero_grad(); m(torch.randn(8, 4)).square().mean().backward(); o.step()
""",
    ),
    "cut_numpy": (
        "parameters-without-gradient",
        """
import torch
from torch import nn
class AE(nn.Module):
    def __init__(self):
        super().__init__(); self.e, self.d = nn.Linear(6, 3), nn.Linear(3, 6)
    @torch.no_grad() #!
    def encode(self, x): return self.e(x).tanh()
    def forward(self, x): return self.d(self.encode(x))
torch.manual_seed(0)
a = AE(); o = torch.optim.Adam(a.parameters(), 1e-2)
for _ in range(5):
    x = torch.randn(8, 6); o.zero_grad(); (a(x) - x).square().mean().backward(); o.step()
""",
    ),
    "shape_multi": (
        "linear-features",
        {
            "nets.py": """
import torch
from torch import nn
from dataclasses import dataclass
@dataclass
class Conf:
    width: int = 8
    hidden: int = 32
class Enc(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Conv2d(1, c.width, 3)
        self.fc = nn.Linear(c.width * 6 * 6, c.hidden) #!
    def forward(self, x): return self.fc(self.conv(x).relu().flatten(1))
""",
            "script.py": """
import torch
from nets import Enc, Conf
e = Enc(Conf())
print(e(torch.randn(2, 1, 7, 7)).shape)
""",
        },
    ),
    "buffer_dc": (
        "tensor-not-a-buffer",
        """
import torch
from torch import nn
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = torch.ones(n) #!
        self.lin = nn.Linear(n, 1)
    def fit(self, x): self.scale = x.std(0)
    def forward(self, x): return self.lin(x / self.scale)
torch.manual_seed(0)
a = Norm(3); a.fit(torch.randn(20, 3) * 4)
b = Norm(3); b.load_state_dict(a.state_dict())
x = torch.randn(2, 3)
print((a(x) - b(x)).abs().max().item())
""",
    ),
    "list_times_layers": (
        "layers-multiplied",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        blocks = [nn.Linear(8, 8), nn.Tanh()] * depth #!
        self.body, self.head = nn.Sequential(*blocks), nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    loss = nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "layer_of_bare_memory": (
        "parameter-never-written",
        """
import torch
from torch import nn
torch.manual_seed(0)
held = [torch.randn(3, 8) for _ in range(4)]
del held
class Scores(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, inputs)) #!
        self.bias = nn.Parameter(torch.zeros(classes))
    def forward(self, x):
        return x @ self.weight.t() + self.bias
net = Scores(8, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "recurrent_over_samples": (
        "batch-first",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Classifier(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.rnn = nn.LSTM(6, width, num_layers=2) #!
        self.head = nn.Linear(width, 3)
    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])
net = Classifier()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x, y = torch.randn(16, 20, 6), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "attention_over_samples": (
        "batch-first",
        {
            "model.py": """
            from torch import nn
            def encoder(width, depth=2):
                layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0) #!
                return nn.TransformerEncoder(layer, depth)
            class Regressor(nn.Module):
                def __init__(self, width=8):
                    super().__init__()
                    self.encoder, self.head = encoder(width), nn.Linear(width, 1)
                def forward(self, x):
                    return self.head(self.encoder(x).mean(1))
            """,
            "script.py": """
            import torch
            from torch import nn
            from model import Regressor
            torch.manual_seed(0)
            net = Regressor()
            opt = torch.optim.Adam(net.parameters(), lr=1e-3)
            for _ in range(6):
                x = torch.randn(16, 5, 8)
                loss = nn.functional.mse_loss(net(x), x.mean((1, 2))[:, None])
                opt.zero_grad()
                loss.backward()
                opt.step()
            """,
        },
    ),
}
