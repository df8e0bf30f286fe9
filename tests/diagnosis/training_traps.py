"""Traps of training loops, weights and evaluation that raise nothing; like ``traps``."""

TRAPS = {
    "zeroed_each_backward": (
        "gradients-zeroed-before-step",
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(128, 8), torch.randn(128, 1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ACCUM = 4
loader = DataLoader(TensorDataset(x, y), batch_size=8)
for epoch in range(2):
    for i, (xb, yb) in enumerate(loader):
        opt.zero_grad() #!
        loss = nn.functional.mse_loss(model(xb), yb) / ACCUM
        loss.backward()
        if (i + 1) % ACCUM == 0:
            opt.step()
    print(epoch, loss.item())
""",
    ),
}
