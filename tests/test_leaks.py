"""Training for ten thousand steps holds no more memory at the end than after the first hundreds."""

import gc

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._C import _memory_stats


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + 0 * x, None


class Loop:
    """A small network and all that is easily held on to: hooks, views, in-place changes, kept
    graphs, custom functions, exceptions with frames that hold tensors."""

    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.data, self.labels = torch.randn(16, 8), torch.arange(16) % 4
        self.calls = 0
        self.net[0].register_forward_hook(self.count)
        self.net[2].register_full_backward_hook(self.count)

    def count(self, *args):
        self.calls += 1

    def step(self, k):
        self.optimizer.zero_grad(set_to_none=k % 3 == 0)
        scores = Scaled.apply(self.net(self.data), 2.0)
        scores.register_hook(lambda grad: grad * 0.5)
        changed = scores * 1.0
        changed[:, 0].mul_(2)
        changed.view(-1)[::2].add_(0.1)
        loss = nn.functional.cross_entropy(changed, self.labels)
        loss.backward(retain_graph=k % 2 == 0)
        if k % 2 == 0:
            loss.backward()
        if k % 10 == 0:
            self.fail(loss, k)
        self.optimizer.step()

    def fail(self, loss, k):
        cycle = [self.data * k]
        cycle[0].note = cycle  # freed by the collector alone
        with pytest.raises(RuntimeError):
            loss.backward()  # a second time
        with pytest.raises(RuntimeError):
            self.data @ self.data
        with pytest.raises(ZeroDivisionError):
            self.raising(loss)
        x = self.data.clone().requires_grad_()
        (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        grad.sum().backward()

    def raising(self, loss):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda grad: 1 / 0)
        y.sum().backward()


def held():
    """Bytes of live tensors, and how many tensors the collector knows."""
    gc.collect()
    tensors = sum(isinstance(o, torch.Tensor) for o in gc.get_objects())
    return _memory_stats()["allocated"], tensors, len(gc.get_objects())


def test_ten_thousand_steps_hold_nothing():
    loop = Loop()
    for k in range(500):
        loop.step(k)
    before = held()
    for k in range(10_000):
        loop.step(k)
    after = held()
    assert after[0] == before[0], f"{after[0] - before[0]} bytes more are live"
    assert after[1] == before[1], f"{after[1] - before[1]} tensors more are live"
    assert after[2] - before[2] < 100, f"{after[2] - before[2]} objects more are live"
    assert loop.calls > 20_000


@pytest.mark.parametrize("recurrent", [nn.LSTM, nn.GRU])
def test_recurrent_layers_and_convolutions_hold_nothing(recurrent):
    torch.manual_seed(0)
    layers = nn.ModuleList([recurrent(4, 6), nn.Conv1d(6, 4, 2), nn.BatchNorm1d(4)])
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(5, 3, 4)

    def step():
        optimizer.zero_grad()
        out, _ = layers[0](x)
        layers[2](layers[1](out.permute(1, 2, 0))).square().mean().backward()
        optimizer.step()

    for _ in range(20):
        step()
    before = held()
    for _ in range(500):
        step()
    assert held()[:2] == before[:2]
