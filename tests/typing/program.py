"""A program that a type checker reads: it must find no error here but those that are named."""

from __future__ import annotations

from typing import assert_type

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight import Tensor


def tensors() -> Tensor:
    x = torch.zeros(2, 3, dtype=torch.float32, requires_grad=True)
    y = torch.randn([2, 3])
    z = (x + y) * 2 - 1.5
    z += 1
    assert_type(z, Tensor)
    assert_type(2 / z @ y.T, Tensor)
    assert_type(z > 0, Tensor)
    assert_type(z[0, 1:], Tensor)
    assert_type(z.size(), torch.Size)
    assert_type(z.size(0), int)
    assert_type(z.shape[0], int)
    values, indices = z.max(dim=1)
    assert_type(values, Tensor)
    assert_type(torch.max(z, 1).indices, Tensor)
    assert_type(indices.to(torch.int64), Tensor)
    assert_type(z.view(-1).reshape(3, 2).permute(1, 0).contiguous(), Tensor)
    assert_type(torch.cat([x, y], dim=0), Tensor)
    assert_type(x.dtype.is_floating_point, bool)
    first, *_ = z.unbind()
    assert_type(first, Tensor)
    torch.linalg.vector_norm(z)
    torch.special.expit(z)
    z.sum().backward()
    if x.grad is not None:
        x.grad.zero_()
    return F.gelu(F.conv1d(z.unsqueeze(0), torch.ones(1, 2, 1)))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.first(x))


def train(net: Net, data: list[Tensor]) -> float:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    total = 0.0
    for x in data:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        net(torch.ones(1, 3))
    torch.save(net.state_dict(), "net.pt")
    return total


def mistakes() -> None:
    torch.zeros(2).no_such_method()  # type: ignore[attr-defined]
    torch.add("a", "b")  # type: ignore[arg-type]
    torch.ones(2).sum(dim="one")  # type: ignore[arg-type]
    torch.relu(torch.ones(2), slope=3)  # type: ignore[call-arg]
