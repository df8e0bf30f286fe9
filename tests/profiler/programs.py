"""Small programs whose profiles are compared with PyTorch's by name.

python tests/profiler/programs.py       (with PyTorch) writes tests/golden/profiler_names.json
"""

import json
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "profiler_names.json"


def programs(torch):
    """Functions by name."""
    nn, F = torch.nn, torch.nn.functional
    ones = torch.ones
    weights = ones(3, 4, requires_grad=True)
    return {
        "mm": lambda: ones(3, 4) @ ones(4, 5),
        "matmul_backward": lambda: (weights @ ones(4, 5)).sum().backward(),
        "mul_backward": lambda: (weights * 2).sum().backward(),
        "linear": lambda: F.linear(ones(2, 4), weights, ones(3)),
        "relu_backward": lambda: torch.relu(weights).mean().backward(),
        "softmax": lambda: torch.softmax(ones(3, 4), -1),
        "conv": lambda: F.conv2d(ones(1, 2, 5, 5), ones(3, 2, 3, 3)),
        "norms": lambda: (F.layer_norm(ones(3, 4), (4,)), F.group_norm(ones(1, 4, 2), 2)),
        "gelu": lambda: F.gelu(ones(3)),
        "dropout": lambda: F.dropout(ones(3), 0.5),
        "attention": lambda: F.scaled_dot_product_attention(*[ones(1, 1, 2, 4)] * 3),
        "views": lambda: ones(2, 3).t().reshape(-1).unsqueeze(0).squeeze().view(3, 2),
        "permute": lambda: ones(2, 3).permute(1, 0).contiguous(),
        "slices": lambda: ones(4, 4)[1:, 2],
        "sums": lambda: (ones(3).mean(), ones(3).max(), ones(3, 3).max(0), ones(3).std()),
        "joins": lambda: (torch.cat([ones(2)] * 2), torch.stack([ones(2)] * 2)),
        "random": lambda: (torch.rand(3), torch.randn(3), torch.randperm(4), torch.arange(3)),
        "choices": lambda: torch.where(ones(3) > 0, ones(3), torch.zeros(3)).any(),
        "in_place": lambda: ones(3).add_(1).mul_(2).relu_().zero_(),
        "dtypes": lambda: ones(3).to(torch.float64).half(),
        "pool": lambda: F.max_pool2d(ones(1, 1, 4, 4), 2),
        "clone": lambda: ones(3).clone().detach(),
        "losses": lambda: F.binary_cross_entropy_with_logits(ones(3), ones(3)),
        "module": lambda: nn.Sequential(nn.Identity(), nn.ReLU(), nn.Softmax(-1))(ones(2, 2)),
        "steps": lambda: training_step(torch),
    }


def training_step(torch):
    """A range, a backward pass, an optimizer."""
    p = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([p], lr=0.1)
    with torch.profiler.record_function("loss"):
        loss = p.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()


def outermost(torch, program):
    """Names of the events that ran inside of nothing, and the nodes."""
    program()
    with torch.profiler.profile() as p:
        program()
    return [e.name for e in p.events() if e.cpu_parent is None or e.name.endswith("Backward0")]


def main():
    import torch

    names = {name: outermost(torch, call) for name, call in programs(torch).items()}
    GOLDEN.write_text(json.dumps(names, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
