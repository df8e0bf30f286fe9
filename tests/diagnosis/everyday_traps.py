"""Traps of programs that run to their end, as people write them; like ``traps``."""

TRAPS = {
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
    "zero_grad_no_call": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 3), torch.randn(16, 1)
for step in range(20):
    opt.zero_grad #!
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
print("trained")
""",
    ),
    "zero_grad_outside_loop": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def train(model, loader, opt, loss_fn):
    opt.zero_grad() #!
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()

torch.manual_seed(0)
data = TensorDataset(torch.randn(64, 3), torch.randn(64, 1))
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    train(model, DataLoader(data, batch_size=8, shuffle=True), opt, nn.MSELoss())
print("trained")
""",
    ),
    "zero_grad_wrong_opt": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 3), nn.Linear(3, 6)
enc_opt = torch.optim.SGD(enc.parameters(), lr=0.01)
dec_opt = torch.optim.SGD(dec.parameters(), lr=0.01)
for step in range(20):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(dec(torch.tanh(enc(x))), x)
    enc_opt.zero_grad()
    enc_opt.zero_grad() #!
    loss.backward()
    enc_opt.step()
    dec_opt.step()
print("trained")
""",
    ),
    "ema_loss_graph": (
        "graph-kept-alive",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
smooth = None
for step in range(60):
    x, y = torch.randn(16, 8), torch.randn(16, 1)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss #!
print("smooth", smooth.requires_grad)
""",
    ),
    "epoch_outputs_list": (
        "graph-kept-alive",
        """
import torch
from torch import nn

class LitModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
        self.outputs = []

    def training_step(self, batch):
        x, y = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.outputs.append({"loss": loss, "logits": logits}) #!
        return loss

torch.manual_seed(0)
lit = LitModel()
opt = torch.optim.Adam(lit.parameters(), lr=1e-3)
for step in range(50):
    batch = torch.randn(32, 16), torch.randint(0, 4, (32,))
    loss = lit.training_step(batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("outputs", len(lit.outputs))
""",
    ),
    "exhausted_clip": (
        "clip-at-wrong-place",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
params = model.parameters() #!
print("size", sum(p.numel() for p in params))
opt = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(10):
    opt.zero_grad()
    loss = (100 * model(torch.randn(8, 4))).square().mean()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
print("trained")
""",
    ),
    "opt_in_loop": (
        "optimizer-made-in-loop",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
x, y = torch.randn(64, 4), torch.randn(64, 1)
for step in range(50):
    opt = torch.optim.Adam(model.parameters(), lr=0.01) #!
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
print("trained")
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
    "softmax_dim0": (
        "softmax-over-batch",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 4)

    def forward(self, x):
        return torch.softmax(self.score(x), dim=0) #!

torch.manual_seed(0)
model = Attention(6)
probs = model(torch.randn(16, 6))
pred = probs.argmax(1)
print("rows sum to one:", torch.allclose(probs.sum(1), torch.ones(16)))
""",
    ),
    "softmax_dim0_nll": (
        "softmax-over-batch",
        """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Linear(5, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(24, 5), torch.randint(0, 3, (24,))
for step in range(15):
    logp = F.log_softmax(net(x), dim=0) #!
    loss = F.nll_loss(logp, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("trained")
""",
    ),
    "kl_no_log": (
        "loss-on-probabilities",
        """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher, student = nn.Linear(8, 5), nn.Linear(8, 5)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(10):
    x = torch.randn(16, 8)
    with torch.no_grad():
        target = F.softmax(teacher(x), dim=1)
    loss = F.kl_div(F.softmax(student(x), dim=1), target, reduction="batchmean") #!
    opt.zero_grad()
    loss.backward()
    opt.step()
print("distilled")
""",
    ),
    "swapped_ce": (
        "loss-arguments-swapped",
        """
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(y, model(x)) #!
    loss.backward()
    opt.step()
print("ok")
""",
    ),
    "keepdim_square": (
        "reduction-without-keepdim",
        """
import torch

torch.manual_seed(0)
scores = torch.randn(6, 6)
exp = scores.exp()
attn = exp / exp.sum(dim=1) #!
print("rows sum to one:", torch.allclose(attn.sum(1), torch.ones(6)))
""",
    ),
    "view_inplace_caller": (
        "argument-changed-in-place",
        """
import torch

def normalise(batch):
    flat = batch.view(batch.size(0), -1)
    flat -= flat.mean(1, keepdim=True) #!
    flat /= flat.std(1, keepdim=True)
    return flat

torch.manual_seed(0)
images = torch.rand(4, 3, 5)
before = images.clone()
out = normalise(images)
print("input untouched:", torch.equal(before, images))
print("brightness", images.mean().item() > 0.1)
""",
    ),
    "repeated_list_zeros": (
        "tensor-repeated",
        """
import torch

states = [torch.zeros(3)] * 4 #!
for i, s in enumerate(states):
    s += i
print(torch.stack(states)[:, 0].tolist())
""",
    ),
    "log_zero": (
        "nan-made",
        """
import torch
from torch import nn

torch.manual_seed(0)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, s):
        return torch.softmax(200 * self.fc(s), dim=-1)

def entropy(p):
    return -(p * torch.log(p)).sum(-1) #!

policy = Policy()
p = policy(torch.randn(32, 4))
print("finite:", torch.isfinite(entropy(p).mean()).item())
""",
    ),
    "mean_empty": (
        "nan-made",
        """
import torch

def positive_mean(x):
    return x[x > 0].mean() #!

print("finite:", torch.isfinite(positive_mean(torch.tensor([-1.0, -2.0]))).item())
""",
    ),
    "all_ignored": (
        "nan-made",
        """
import torch
from torch import nn

torch.manual_seed(0)
logits = torch.randn(2, 4, 6, requires_grad=True)
labels = torch.tensor([[-100, -100, -100, -100], [-100, -100, -100, -100]])
loss = nn.functional.cross_entropy(logits.view(-1, 6), labels.view(-1), ignore_index=-100) #!
print("finite:", torch.isfinite(loss).item())
""",
    ),
    "acos": (
        "nan-made",
        """
import torch
import torch.nn.functional as F

torch.manual_seed(0)
a = torch.randn(64, 3)
a = a / a.norm(dim=1, keepdim=True)
cos = (a * a).sum(1) * 1.0000002
angle = torch.acos(cos) #!
print("finite:", torch.isfinite(angle).all().item())
""",
    ),
    "lr_tiny": (
        "learning-rate-too-small",
        """
import argparse
import torch
from torch import nn

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-9) #!
    args = parser.parse_args([])
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr)
    x = torch.randn(64, 4)
    for step in range(30):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        opt.step()
    print("finished")

main()
""",
    ),
    "dead_relu": (
        "relu-dead",
        """
import torch
from torch import nn

torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(8, 32)
        self.out = nn.Linear(32, 1)
        nn.init.constant_(self.hidden.bias, -50) #!

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))

net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(10):
    opt.zero_grad()
    x = torch.randn(32, 8)
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
print("done")
""",
    ),
    "zero_init": (
        "relu-dead",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
for p in net.parameters():
    nn.init.zeros_(p) #!
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 8)
for step in range(30):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
print("first layer moved:", bool(net[0].weight.abs().sum() > 0))
""",
    ),
    "sched_dead_opt": (
        "scheduler-of-other-optimizer",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, 2) #!
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    opt.zero_grad()
    model(torch.randn(8, 2)).square().mean().backward()
    opt.step()
    sched.step()
print("lr", opt.param_groups[0]["lr"])
""",
    ),
    "iterable_duplicates": (
        "stream-read-twice",
        """
import torch
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        for i in range(self.n): #!
            yield i

if __name__ == "__main__":
    seen = torch.cat(list(DataLoader(Stream(8), batch_size=2, num_workers=2)))
    print("samples:", len(seen), "distinct:", seen.unique().numel())
""",
    ),
    "next_iter": (
        "first-batch-only",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
seen = set()
for step in range(16):
    x, y = next(iter(loader)) #!
    seen.add(x.sum().item())
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
print("batches seen:", len(seen))
""",
    ),
    "whole_pickle_dict": (
        "whole-model-saved",
        """
import io
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x): return self.fc(x)

model = Net()
opt = torch.optim.SGD(model.parameters(), 0.1)
buffer = io.BytesIO()
checkpoint = {"epoch": 3, "model": model, "optimizer": opt.state_dict()} #!
torch.save(checkpoint, buffer)
print("saved")
""",
    ),
    "best_alias_dict": (
        "snapshot-is-alias",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
best, best_loss = None, float("inf")
x, y = torch.randn(32, 3), torch.randn(32, 1)
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    if loss.item() < best_loss:
        best_loss = loss.item()
        best = {k: v for k, v in model.state_dict().items()} #!
    opt.zero_grad()
    loss.backward()
    opt.step()
model.load_state_dict(best)
print("done")
""",
    ),
    "best_alias_model": (
        "snapshot-is-alias",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 3), torch.randn(32, 1)
best_model, best_loss = None, float("inf")
for step in range(10):
    loss = nn.functional.mse_loss(model(x), y)
    if loss.item() < best_loss:
        best_loss = loss.item()
        best_model = model #!
    opt.zero_grad()
    loss.backward()
    opt.step()
print("best is the live one:", best_model is model)
""",
    ),
    "weight_alias": (
        "compared-with-itself",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
before = model.weight.data #!
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    model(torch.ones(2, 3)).sum().backward()
    opt.step()
print("weights changed:", not torch.equal(before, model.weight))
""",
    ),
    "seed_in_loop": (
        "seed-in-loop",
        """
import torch
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
noises = []
for step in range(20):
    torch.manual_seed(0) #!
    noise = torch.randn(8, 4)
    noises.append(noise.sum().item())
    opt.zero_grad()
    model(noise).square().mean().backward()
    opt.step()
print("different noises:", len(set(noises)))
""",
    ),
    "needless_contiguous": (
        "contiguous-for-nothing",
        """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)

    def forward(self, x):
        y = x.transpose(1, 2).contiguous() #!
        return self.fc(y.transpose(1, 2))

torch.manual_seed(0)
model = Block(128)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    opt.zero_grad()
    model(torch.randn(32, 64, 128)).square().mean().backward()
    opt.step()
print("done")
""",
    ),
    "autocast_backward": (
        "backward-under-autocast",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    x, y = torch.randn(32, 64), torch.randn(32, 1)
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward() #!
    opt.step()
print("done")
""",
    ),
    "autocast_param_cast": (
        "updates-lost",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(16, 4).bfloat16() #!
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
start = model.weight.detach().clone()
for step in range(10):
    x = torch.randn(8, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("moved:", (model.weight != start).float().mean().item() > 0.9)
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
    "round_zero_grad": (
        "gradient-without-slope",
        """
import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
for step in range(20):
    x = torch.randn(16, 6)
    code = torch.round(torch.sigmoid(enc(x))) #!
    loss = nn.functional.mse_loss(dec(code), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "argmax_path": (
        "gradient-without-slope",
        """
import torch
from torch import nn

torch.manual_seed(0)
gate, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
opt = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
for step in range(20):
    x = torch.randn(32, 4)
    choice = gate(x).argmax(1) #!
    outs = torch.stack([e(x) for e in experts], 1)
    y = outs[torch.arange(32), choice]
    opt.zero_grad()
    nn.functional.mse_loss(y, x[:, :1]).backward()
    opt.step()
print("done")
""",
    ),
    "anomaly_left": (
        "anomaly-detection-left-on",
        """
import torch
from torch import nn

torch.autograd.set_detect_anomaly(True) #!
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(50):
    opt.zero_grad()
    model(torch.randn(32, 16)).square().mean().backward()
    opt.step()
print("done")
""",
    ),
    "lambda_hook_leak": (
        "graph-kept-alive",
        """
import torch
from torch import nn

class Recorder:
    def __init__(self, model):
        self.acts = {}
        for name, m in model.named_modules():
            if isinstance(m, nn.Linear):
                m.register_forward_hook(self.save(name))
    def save(self, name):
        def hook(module, inputs, output):
            self.acts.setdefault(name, []).append(output) #!
        return hook

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
rec = Recorder(net)
opt = torch.optim.SGD(net.parameters(), 0.01)
for _ in range(40):
    opt.zero_grad()
    net(torch.randn(16, 8)).square().mean().backward()
    opt.step()
print(len(rec.acts["0"]))
""",
    ),
    "stack_outputs_grow": (
        "cat-in-loop",
        """
import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(32, 16)
data = torch.randn(400, 4, 32)
features = None
with torch.no_grad():
    for chunk in data:
        f = enc(chunk)
        features = f if features is None else torch.cat([features, f]) #!
print(features.shape)
""",
    ),
    "never_changing_frozen": (
        "updates-lost",
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.0) #!
x = torch.randn(32, 4)
for _ in range(40):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
print("done")
""",
    ),
    "double_default": (
        "float64-creeps-in",
        """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Table(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(1)
        self.x = rng.normal(size=(n, 4)).astype(np.float32)
        self.y = rng.normal(size=(n, 1)) #!
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), torch.from_numpy(self.y[i])

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.05)
for x, y in DataLoader(Table(64), batch_size=16):
    loss = ((net(x) - y) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.dtype)
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
    "seed_in_getitem_loop": (
        "seed-in-loop",
        """
import torch
from torch import nn

def augment(x):
    torch.manual_seed(1234) #!
    return x + 0.1 * torch.randn_like(x)

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
data = torch.ones(8, 4)
for step in range(10):
    opt.zero_grad()
    net(augment(data)).square().mean().backward()
    opt.step()
print("ok")
""",
    ),
    "slice_in_place": (
        "argument-changed-in-place",
        """
import torch

def blacken(image, size):
    patch = image[:, :size, :size]
    patch.zero_() #!
    return patch

torch.manual_seed(0)
img = torch.rand(3, 8, 8)
p = blacken(img, 4)
print("image mean unchanged:", img.mean().item() > 0.45, p.shape)
""",
    ),
    "kl_module": (
        "loss-on-probabilities",
        """
import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)) #!
teacher = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)).requires_grad_(False)
crit = nn.KLDivLoss(reduction="batchmean")
opt = torch.optim.SGD(student.parameters(), 0.1)
for _ in range(6):
    x = torch.randn(12, 4)
    opt.zero_grad()
    crit(student(x), teacher(x)).backward()
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
    "loss_requires_grad_set": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
pred = net(x).argmax(1).float() #!
loss = nn.functional.mse_loss(pred, y.float())
loss.requires_grad = True
loss.backward()
opt.step()
print("grad:", net.weight.grad)
""",
    ),
    "bn_momentum_eval_graph": (
        "graph-never-used",
        """
import torch
from torch import nn

def evaluate(net, data):
    net.eval()
    out = []
    for x, y in data:
        out.append(net(x)) #!
    net.train()
    return torch.cat(out).argmax(1).float().mean().item()

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 4))
opt = torch.optim.SGD(net.parameters(), 0.05)
data = [(torch.randn(64, 32), torch.randint(0, 4, (64,))) for _ in range(6)]
for epoch in range(3):
    for x, y in data:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
    evaluate(net, data)
print("ok")
""",
    ),
    "loss_of_its_number": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
for step in range(30):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss = torch.tensor(loss.item(), requires_grad=True) #!
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "loss_of_its_number_named": (
        "loss-made-a-leaf",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
for step in range(30):
    opt.zero_grad()
    error = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss = torch.tensor(float(error), requires_grad=True) #!
    loss.backward()
    opt.step()
print("done")
""",
    ),
    "zero_grad_loop_on_a_line": (
        "gradients-never-zeroed",
        """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4); y = x.sum(1, keepdim=True)
for step in range(9): nn.functional.mse_loss(model(x), y).backward(); opt.step() #!
print("done")
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
}
