"""Traps of what is kept along the way: the best checkpoint, averages of weights, resumed runs."""

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(300, 10)
y = x[:, :1] * 2 + 0.1 * torch.randn(300, 1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
def train():
    model.train()
    for i in range(0, 200, 50):
        loss = nn.functional.mse_loss(model(x[i:i+50]), y[i:i+50])
        opt.zero_grad(); loss.backward(); opt.step()
def evaluate():
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x[200:]), y[200:]).item()
"""

TRAPS = {
    "best_zero": (
        "best-value-at-wrong-end",
        HEAD
        + """
def main():
    best_loss = 0.0  #!
    for epoch in range(8):
        train()
        val_loss = evaluate()
        if val_loss < best_loss:
            best_loss = val_loss
            torch.save(model.state_dict(), "best.pt")
main()
""",
    ),
    "best_stopper": (
        "best-value-at-wrong-end",
        HEAD
        + """
class Stopper:
    def __init__(self, patience=30):
        self.patience, self.bad = patience, 0
        self.lowest = 0.0  #!
    def __call__(self, metric):
        if metric < self.lowest:
            self.lowest, self.bad = metric, 0
        else:
            self.bad += 1
        return self.bad >= self.patience
stopper = Stopper()
for epoch in range(8):
    train()
    v = evaluate()
    if stopper(v):
        break
""",
    ),
    "best_folded": (
        "best-value-at-wrong-end",
        HEAD
        + """
best = 0  #!
for epoch in range(8):
    train()
    v = evaluate()
    best = min(best, v)
""",
    ),
    "best_infinity_above": (
        "best-value-at-wrong-end",
        HEAD
        + """
class Trainer:
    def __init__(self):
        self.best = float("inf")
        self.weights = None
    def fit(self):
        for epoch in range(8):
            train()
            model.eval()
            with torch.no_grad():
                val = nn.functional.mse_loss(model(x[200:]), y[200:])
            if val > self.best:  #!
                self.best = val
                self.weights = {k: t.clone() for k, t in model.state_dict().items()}
Trainer().fit()
""",
    ),
    "best_is_worst": (
        "best-value-at-wrong-end",
        HEAD
        + """
best_loss = 0.0
for epoch in range(8):
    train()
    val_loss = evaluate()
    if val_loss > best_loss:  #!
        best_loss = val_loss
""",
    ),
}

CLEAN = {
    "best_kept": HEAD
    + """
class Stopper:
    def __init__(self):
        self.best, self.bad = float("inf"), 0
    def step(self, loss):
        if loss < self.best - 1e-4:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad > 20
def main():
    stopper, best_score, best_acc, worst_loss, best = Stopper(), None, 0.0, 0.0, 1e9
    for epoch in range(8):
        train()
        val_loss = evaluate()
        acc, score = 1 / (1 + val_loss), -val_loss
        if stopper.step(val_loss):
            break
        if best_score is None or score > best_score:
            best_score = score
        if acc > best_acc:
            best_acc = acc
        if val_loss > worst_loss:
            worst_loss = val_loss
        best = min(best, val_loss)
main()
""",
    "best_below_zero": HEAD
    + """
lowest = 0.0
for epoch in range(8):
    train()
    score = evaluate() - 100
    if score < lowest:
        lowest = score
""",
}
