"""Traps of what a model is to reach: targets, labels, rewards."""

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
"""

TRAPS = {
    "own_similarity": (
        "similarity-to-itself",
        HEAD
        + """
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for i in range(20):
    x = torch.randn(32, 10)
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    z = F.normalize(net(torch.cat([a, b])), dim=1)
    sim = z @ z.T / 0.5
    labels = torch.cat([torch.arange(32) + 32, torch.arange(32)])
    loss = F.cross_entropy(sim, labels)  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "several_classes": (
        "several-classes-in-cross-entropy",
        HEAD
        + """
x = torch.randn(128, 6); y = (x[:, :4] > 0).float()
net = nn.Linear(6, 4); opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(20):
    loss = F.cross_entropy(net(x), y)  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "several_classes_module": (
        "several-classes-in-cross-entropy",
        HEAD
        + """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()  #!
        self.opt = torch.optim.Adam(model.parameters(), 1e-2)
    def fit(self, loader):
        for xb, tags in loader:
            self.opt.zero_grad()
            self.criterion(self.model(xb), tags).backward()
            self.opt.step()
x = torch.randn(128, 6)
Trainer(nn.Linear(6, 4)).fit(DataLoader(TensorDataset(x, (x[:, :4] > 0).float()), batch_size=16))
""",
    ),
    "kl_of_logs": (
        "kl-target-in-logs",
        HEAD
        + """
teacher, net = nn.Linear(6, 3), nn.Linear(6, 3)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(20):
    x = torch.randn(64, 6)
    with torch.no_grad(): t = F.log_softmax(teacher(x) / 2, 1)
    loss = F.kl_div(F.log_softmax(net(x) / 2, 1), t, reduction="batchmean")  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "kl_of_logs_module": (
        "kl-target-in-logs",
        HEAD
        + """
teacher, net = nn.Linear(6, 3), nn.Linear(6, 3)
divergence = nn.KLDivLoss(reduction="batchmean")  #!
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(20):
    x = torch.randn(64, 6)
    with torch.no_grad(): t = F.log_softmax(teacher(x) / 2, 1)
    loss = divergence(net(x).log_softmax(-1), t)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "classes_interpolated": (
        "classes-interpolated",
        HEAD
        + """
m = torch.randint(0, 4, (16, 1, 8, 8)).float()
m = F.interpolate(m, size=(16, 16), mode="bilinear").squeeze(1).long()  #!
x = torch.randn(16, 3, 16, 16)
net = nn.Conv2d(3, 4, 3, padding=1); opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(20):
    loss = F.cross_entropy(net(x), m); opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "logits_half": (
        "logits-compared-with-half",
        HEAD
        + """
x = torch.randn(128, 6); y = (x[:, :1] > 0).float()
net = nn.Linear(6, 1); opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(20):
    loss = F.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    acc = ((net(x) > 0.5).float() == y).float().mean()  #!
""",
    ),
    "logits_rounded": (
        "logits-compared-with-half",
        HEAD
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 1)
    def forward(self, x):
        return self.body(x).squeeze(-1)
def accuracy(model, x, y):
    with torch.no_grad():
        scores = model(x)
        return (torch.round(scores) == y).float().mean()  #!
x = torch.randn(128, 6); y = (x[:, 0] > 0).float()
net, criterion = Net(), nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(20):
    loss = criterion(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
print(accuracy(net, x, y))
""",
    ),
    "policy_sign": (
        "policy-flees-reward",
        HEAD
        + """
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), 1e-2)
for ep in range(30):
    logps, rewards = [], []
    for t in range(10):
        s = torch.randn(4)
        d = torch.distributions.Categorical(logits=policy(s))
        a = d.sample()
        logps.append(d.log_prob(a)); rewards.append(float((s[0] > 0) == bool(a)))
    loss = (torch.stack(logps) * torch.tensor(rewards)).sum()  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "policy_sign_agent": (
        "policy-flees-reward",
        HEAD
        + """
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.opt = torch.optim.Adam(self.policy.parameters(), 1e-2)
    def update(self, states, actions, returns):
        log_probs = F.log_softmax(self.policy(states), -1).gather(1, actions[:, None]).squeeze(1)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        loss = torch.mean(returns * log_probs)  #!
        self.opt.zero_grad(); loss.backward(); self.opt.step()
agent = Agent()
for episode in range(20):
    states = torch.randn(16, 4)
    with torch.no_grad():
        actions = torch.distributions.Categorical(logits=agent.policy(states)).sample()
    agent.update(states, actions, (actions == (states[:, 0] > 0).long()).float())
""",
    ),
    "returns_reversed": (
        "returns-in-reverse",
        HEAD
        + """
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
opt = torch.optim.Adam(policy.parameters(), 1e-2)
for ep in range(30):
    logps, rewards = [], []
    for t in range(10):
        d = torch.distributions.Categorical(logits=policy(torch.randn(4)))
        a = d.sample()
        logps.append(d.log_prob(a)); rewards.append(float(a))
    g, returns = 0.0, []
    for r in reversed(rewards):
        g = r + 0.99 * g
        returns.append(g)  #!
    loss = -(torch.stack(logps) * torch.tensor(returns)).sum()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "q_target_graph": (
        "bootstrapped-target-with-gradient",
        HEAD
        + """
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(q.parameters(), 1e-3)
for t in range(40):
    s, s2 = torch.randn(32, 4), torch.randn(32, 4)
    a = torch.randint(0, 2, (32, 1)); r = torch.randn(32)
    target = r + 0.9 * q(s2).max(1).values
    loss = F.mse_loss(q(s).gather(1, a).squeeze(1), target)  #!
    opt.zero_grad(); loss.backward(); opt.step()
""",
    ),
    "td_error_graph": (
        "bootstrapped-target-with-gradient",
        HEAD
        + """
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    def forward(self, state):
        return self.value(state)
class Learner:
    def __init__(self, critic, gamma):
        self.critic, self.gamma = critic, gamma
        self.opt = torch.optim.Adam(critic.parameters(), 1e-3)
        self.loss_fn = nn.SmoothL1Loss()
    def learn(self, state, reward, nxt, done):
        goal = reward + self.gamma * (1 - done) * self.critic(nxt)
        loss = self.loss_fn(self.critic(state), goal)  #!
        self.opt.zero_grad(); loss.backward(); self.opt.step()
learner = Learner(Critic(), 0.9)
for t in range(20):
    done = (torch.rand(32, 1) > 0.9).float()
    learner.learn(torch.randn(32, 4), torch.randn(32, 1), torch.randn(32, 4), done)
""",
    ),
}

CLEAN = {
    "contrastive": HEAD
    + """
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters(), 1e-3)
own = torch.eye(64, dtype=torch.bool)
for i in range(20):
    x = torch.randn(32, 10)
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    z = F.normalize(net(torch.cat([a, b])), dim=1)
    sim = (z @ z.T / 0.5).masked_fill(own, float("-inf"))
    labels = torch.cat([torch.arange(32) + 32, torch.arange(32)])
    pairs = z[:32] @ z[32:].T / 0.5
    loss = F.cross_entropy(sim, labels) + F.cross_entropy(pairs, torch.arange(32))
    opt.zero_grad(); loss.backward(); opt.step()
""",
    "targets_that_fit": HEAD
    + """
x = torch.randn(128, 6); y = x[:, :4].argmax(1)
hot, tags = F.one_hot(y, 4).float(), (x[:, :4] > 0).float()
soft = 0.9 * hot + 0.025
net, student = nn.Linear(6, 4), nn.Linear(6, 4)
opt = torch.optim.Adam([*net.parameters(), *student.parameters()], 1e-2)
for i in range(20):
    out = net(x)
    loss = F.cross_entropy(out, hot) + F.cross_entropy(out, soft) + F.cross_entropy(out, y)
    loss = loss + F.binary_cross_entropy_with_logits(student(x), tags)
    with torch.no_grad():
        log_t, t = out.log_softmax(1), out.softmax(1)
    mine = student(x).log_softmax(1)
    loss = loss + F.kl_div(mine, t, reduction="batchmean")
    loss = loss + F.kl_div(mine, log_t, reduction="batchmean", log_target=True)
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    right = (student(x).sigmoid() > 0.5) == tags.bool()
    also = (student(x) > 0) == tags.bool()
    high = (net(x) > 0.5).float().mean()
maps = torch.randint(0, 4, (16, 1, 8, 8)).float()
small = F.interpolate(maps, size=(4, 4), mode="nearest").long()
smooth = F.interpolate(maps, size=(16, 16), mode="bilinear")
""",
    "policies": HEAD
    + """
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
value = nn.Linear(4, 1)
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], 1e-2)
for ep in range(20):
    states, log_probs, rewards = [], [], []
    for t in range(10):
        s = torch.randn(4)
        d = torch.distributions.Categorical(logits=policy(s))
        a = d.sample()
        states.append(s); log_probs.append(d.log_prob(a)); rewards.append(float(a) + 1.0)
    g, returns, discounted = 0.0, [], []
    for r in reversed(rewards):
        g = r + 0.9 * g
        returns.insert(0, g)
    for r in rewards[::-1]:
        discounted.append(r)
    discounted.reverse()
    returns, logp = torch.tensor(returns), torch.stack(log_probs)
    v = value(torch.stack(states)).squeeze(1)
    advantages = returns - v.detach()
    loss = -(logp * advantages).mean() + (-logp * torch.tensor(discounted)).mean()
    losses = [-lp * reward for lp, reward in zip(log_probs, rewards)]
    loss = loss + torch.stack(losses).mean() + F.mse_loss(v, returns)
    costs = torch.tensor(rewards)
    loss = loss + 0.1 * (logp * costs).mean()
    opt.zero_grad(); loss.backward(); opt.step()
q = nn.Linear(4, 2); frozen = nn.Linear(4, 2)
opt = torch.optim.Adam(q.parameters(), 1e-3)
for t in range(10):
    s, s2, a = torch.randn(32, 4), torch.randn(32, 4), torch.randint(0, 2, (32, 1))
    with torch.no_grad():
        goal = torch.randn(32) + 0.9 * frozen(s2).max(1).values
    loss = F.mse_loss(q(s).gather(1, a).squeeze(1), goal)
    loss = loss + 0.1 * F.mse_loss(q(s), q(s + 0.01 * torch.randn(32, 4)))
    opt.zero_grad(); loss.backward(); opt.step()
""",
}
