"""accelerate: a training loop with accumulation and clipping, its state saved and loaded."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed
from report import report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
data = TensorDataset(torch.randn(48, 5), torch.randint(0, 3, (48,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
losses, norms = [], []
for _ in range(2):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norms.append(accelerator.clip_grad_norm_(model.parameters(), 0.5))
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).item())
weight = accelerator.unwrap_model(model)[0].weight.detach().clone()
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    with torch.no_grad():
        model[0].weight.zero_()
    accelerator.load_state(folder)
restored = torch.equal(model[0].weight, weight)
with init_empty_weights():
    empty = nn.Linear(10_000, 10_000)
report(
    losses=losses, norms=norms, weight=weight, restored=restored, meta=str(empty.weight.device),
    device=str(accelerator.device), processes=accelerator.num_processes, lr=scheduler.get_last_lr(),
)  # fmt: skip
