"""Traps of gradients that do not arrive, and of switches that switch nothing; programs without."""

GAN = """
import torch
from torch import nn

class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    def forward(self, z):
        return self.net(z)

def train(steps=6):
    netG, netD = Generator(), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3)
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(steps):
        optD.zero_grad()
        fake = netG(torch.randn(8, 6))
        real_loss = criterion(netD(torch.randn(8, 4)).squeeze(1), torch.ones(8))
        fake_loss = criterion(netD(fake.detach()).squeeze(1), torch.zeros(8))
        (real_loss + fake_loss).backward()
        optD.step()
        optG.zero_grad()
        errG = criterion(netD(fake).squeeze(1), torch.ones(8))
        errG.backward()
        optG.step()

train()
"""
REINFORCE = """
import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(5):
    log_probs, rewards = [], []
    for t in range(6):
        dist = Categorical(logits=policy(torch.randn(4)))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        rewards.append(float(torch.rand(())))
    returns = torch.tensor(rewards)
    loss = -(torch.stack(log_probs) * (returns - returns.mean())).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
"""
VAE = """
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)

class VAE(nn.Module):
    def __init__(self, latent=3):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(12, 2 * latent), nn.Linear(latent, 12)
    def encode(self, x):
        mean, spread = self.encoder(x).chunk(2, dim=-1)
        return Normal(mean, nn.functional.softplus(spread) + 1e-3)
    def forward(self, x):
        q = self.encode(x)
        z = q.rsample()
        return self.decoder(z), q

vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for _ in range(8):
    x = torch.rand(16, 12)
    out, q = vae(x)
    kl = torch.distributions.kl_divergence(q, Normal(torch.zeros(3), torch.ones(3))).mean()
    loss = nn.functional.mse_loss(out, x) + 0.01 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
"""
TUNED = """
import torch
from torch import nn
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2))
        self.classifier = nn.Linear(16, classes)
    def forward(self, x):
        return self.classifier(self.features(x))

X, Y = torch.randn(64, 8), torch.randint(0, 3, (64,))
def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(X).argmax(1) == Y).float().mean().item()

def tune(model, opt, epochs=6):
    for epoch in range(epochs):
        model.train()
        for x, y in zip(X.split(16), Y.split(16)):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item() < 100)

model = Net()
for param in model.features.parameters():
    param.requires_grad = False
model.classifier = nn.Linear(16, 3)
print(accuracy(model) <= 1)
tune(model, torch.optim.SGD(model.classifier.parameters(), lr=0.1))
"""
ATTENTION = """
import torch
from torch import nn
torch.manual_seed(0)

class Attention(nn.Module):
    def __init__(self, dim=24, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
    def forward(self, x):
        B, T, C = x.shape
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(B, T, C)
        return self.proj(y)

model = nn.Sequential(Attention(), nn.Linear(24, 5))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    x, y = torch.randn(3, 6, 24), torch.randint(0, 5, (3, 6))
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
"""
DECAY = """
import torch
from torch import nn
torch.manual_seed(0)
class Trainer:
    def __init__(self, model):
        self.model, self.rate = model, 0.1
        self.optimizer = torch.optim.SGD(model.parameters(), lr=self.rate)
    def fit(self, epochs=6):
        for epoch in range(epochs):
            if epoch == 3:
                for group in self.optimizer.param_groups:
                    group["lr"] = self.rate / 10
            for _ in range(3):
                x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
Trainer(nn.Linear(8, 3)).fit()
"""


POSITIONS = """
import torch
from torch import nn
torch.manual_seed(0)
class Positions(nn.Module):
    def __init__(self, width, longest=40):
        super().__init__()
        angles = torch.arange(longest)[:, None] / 100 ** (torch.arange(width) / width)
        self.register_buffer("table", torch.sin(angles)[:, None])
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        x = x + self.table[: x.size(0)]
        return self.drop(x)
class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed, self.positions = nn.Embedding(20, width), Positions(width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, batch_first=False)
        self.encoder, self.out = nn.TransformerEncoder(layer, 1), nn.Linear(width, 20)
    def forward(self, tokens):
        return self.out(self.encoder(self.positions(self.embed(tokens))))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(5):
    tokens, labels = torch.randint(0, 20, (7, 5)), torch.randint(0, 20, (7, 5))
    loss = nn.functional.cross_entropy(net(tokens).flatten(0, 1), labels.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
"""
PADDED = """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 3)
        self.reset()
    def reset(self):
        nn.init.normal_(self.embed.weight, std=0.1)
        if self.embed.padding_idx is not None:
            with torch.no_grad():
                self.embed.weight[0].zero_()
    def forward(self, tokens):
        return self.out(self.embed(tokens).mean(1))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    tokens, labels = torch.randint(0, 20, (16, 6)), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(net(tokens), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
"""


def _put(text: str, before: str, after: str) -> str:
    """A program with one line changed, and marked as the one at fault."""
    if before not in text:
        raise ValueError(before)
    return text.replace(before, after)


TRAPS = {
    "generator_of_detached": (
        "parameters-without-gradient",
        _put(
            GAN,
            "errG = criterion(netD(fake).squeeze(1), torch.ones(8))",
            "errG = criterion(netD(fake.detach()).squeeze(1), torch.ones(8)) #!",
        ),
    ),
    "both_optimizers_of_one": (
        "optimizer-misses-parameters",
        _put(
            GAN,
            "optG = torch.optim.Adam(netG.parameters(), lr=1e-3)",
            "optG = torch.optim.Adam(netD.parameters(), lr=1e-3) #!",
        ),
    ),
    "tensor_of_results": (
        "parameters-without-gradient",
        _put(
            REINFORCE,
            "loss = -(torch.stack(log_probs) * (returns - returns.mean())).sum()",
            "chosen = torch.tensor(log_probs, requires_grad=True) #!\n"
            "    loss = -(chosen * (returns - returns.mean())).sum()",
        ),
    ),
    "vae_of_samples": (
        "sample-cuts-gradient",
        _put(VAE, "z = q.rsample()", "z = q.sample() #!"),
    ),
    "head_under_another_name": (
        "parameters-without-gradient",
        _put(
            TUNED, "model.classifier = nn.Linear(16, 3)", "model.fc = nn.Linear(16, 3) #!"
        ).replace("model.classifier.parameters()", "model.fc.parameters()"),
    ),
    "frozen_by_a_typo": (
        "freeze-without-effect",
        _put(TUNED, "param.requires_grad = False", "param.require_grad = False #!"),
    ),
    "evaluated_first": (
        "train-not-restored",
        _put(TUNED, "        model.train()\n", "").replace("model.eval()", "model.eval() #!"),
    ),
    "heads_joined": (
        "reshape-scrambles",
        _put(
            ATTENTION,
            "y = y.transpose(1, 2).reshape(B, T, C)",
            "y = y.contiguous().view(B, T, C) #!",
        ),
    ),
    "rate_of_the_optimizer": (
        "option-without-effect",
        _put(
            DECAY,
            "for group in self.optimizer.param_groups:\n"
            '                    group["lr"] = self.rate / 10',
            "self.optimizer.lr = self.rate / 10 #!",
        ),
    ),
    "penalty_as_a_number": (
        "loss-part-without-gradient",
        """
import torch
from torch import nn
torch.manual_seed(0)
class Trainer:
    def __init__(self, net, decay=1e-3):
        self.net, self.decay = net, decay
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def penalty(self):
        return sum(p.square().sum() for p in self.net.parameters())
    def step(self, x, y):
        fit = nn.functional.cross_entropy(self.net(x), y)
        size = self.penalty()
        loss = fit + self.decay * size.item() #!
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
trainer = Trainer(nn.Linear(8, 3))
for _ in range(6):
    trainer.step(torch.randn(16, 8), torch.randint(0, 3, (16,)))
""",
    ),
    "teacher_with_a_graph": (
        "target-with-gradient",
        """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
teacher, student = nn.Linear(8, 3), nn.Linear(8, 3)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(16, 8)
    wanted = F.softmax(teacher(x), 1)
    loss = F.kl_div(F.log_softmax(student(x), 1), wanted, reduction="batchmean") #!
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    ),
    "loss_for_an_epoch": (
        "scheduler-given-number",
        """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(8, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(opt, 4)
for epoch in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step(loss.item()) #!
""",
    ),
    "positions_of_samples": (
        "positions-along-batch",
        _put(POSITIONS, "batch_first=False", "batch_first=True").replace(
            "x = x + self.table[: x.size(0)]", "x = x + self.table[: x.size(0)] #!"
        ),
    ),
    "padding_row_drawn": (
        "padding-row-filled",
        _put(PADDED, "self.embed.weight[0].zero_()", "pass").replace(
            "nn.init.normal_(self.embed.weight, std=0.1)",
            "nn.init.normal_(self.embed.weight, std=0.1) #!",
        ),
    ),
}
CLEAN = {
    "gan": GAN,
    "reinforce": REINFORCE,
    "vae": VAE,
    "tuned_head": TUNED,
    "attention": ATTENTION,
    "decay": DECAY,
    "actor_of_samples": """
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(5, 1)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-2)
for _ in range(8):
    state = torch.randn(16, 4)
    mean, spread = actor(state).chunk(2, dim=-1)
    policy = Normal(mean, spread.exp())
    action = policy.sample()
    value = critic(torch.cat([state, action], 1))
    reward = -(action - 1).square()
    loss = -(policy.log_prob(action) * (reward - value.detach())).mean()
    loss = loss + nn.functional.mse_loss(value, reward)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
    "another_optimizer_later": """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
first = torch.optim.Adam(model.parameters(), lr=1e-3)
second = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(12):
    opt = first if step < 6 else second
    loss = nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
    "tuned_with_frozen_norms": """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
model.eval()
with torch.no_grad():
    print(model(torch.randn(4, 8)).shape)
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(12):
    loss = nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
    "one_layer_many_times": """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        shared = nn.Linear(8, 8)
        self.body = nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU())
        self.drops = nn.ModuleList([nn.Dropout(0.1)] * 3)
        self.gate, self.value = nn.Linear(8, 1), nn.Linear(8, 3)
    def forward(self, x):
        for drop in self.drops:
            x = drop(self.body(x))
        weights = self.gate(x[:, None]).softmax(1)
        return (weights * self.value(x)[:, None]).sum(1)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    loss = nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
    "relus_that_are_no_scores": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(net(x), x.square().sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 1000)
""",
    "positions_of_time": POSITIONS,
    "padding_row_zeroed": PADDED,
    "weights_of_losses": """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(8, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
total = 0.0
for _ in range(8):
    out = net(torch.randn(16, 8))
    fit = nn.functional.cross_entropy(out[:, :3], torch.randint(0, 3, (16,)))
    size = nn.functional.mse_loss(out[:, 3], torch.randn(16))
    weight = 1 / (1 + size.item())
    loss = fit / fit.item() + weight * size / size.item()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total = total + loss.item()
    print(bool((out[:, 3].sigmoid() > 0.5).any()) or total > 0)
""",
    "consistency_of_both_sides": """
import torch
from torch import nn
torch.manual_seed(0)
net, head = nn.Linear(8, 4), nn.Linear(4, 4)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.05)
for _ in range(8):
    x = torch.randn(16, 8)
    a, b = net(x + 0.1 * torch.randn_like(x)), net(x)
    loss = nn.functional.mse_loss(head(a), b) - b.std()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
    "memory_that_is_filled": """
import math
import torch
from torch import nn
torch.manual_seed(0)
class Scores(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(classes, inputs))
        self.bias = nn.Parameter(torch.Tensor([0.0] * classes))
        self.reset_parameters()
    def reset_parameters(self):
        bound = 1 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-bound, bound)
    def forward(self, x):
        return x @ self.weight.t() + self.bias
net = Scores(8, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(6):
    loss = nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
    "time_first": """
import torch
from torch import nn
torch.manual_seed(0)
rnn, head = nn.GRU(6, 12), nn.Linear(12, 3)
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 12), 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters(), *encoder.parameters()], lr=1e-3)
for _ in range(6):
    x, y = torch.randn(20, 16, 6), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(head(rnn(encoder(x))[0][-1]), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() < 100)
""",
}
