"""Everything once, in seconds: tensors, gradients, layers, training, data, files, errors."""

import copy
import io

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


def test_tensors():
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert x.shape == (2, 3) and x.stride() == (3, 1) and x.device == torch.device("cpu")
    assert (x @ x.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
    assert (x + torch.tensor([1, 2, 3])).sum().item() == 27.0
    assert (x > 2).dtype == torch.bool and x[x > 2].tolist() == [3.0, 4.0, 5.0]
    view = x.t()
    view[0, 1] = 10
    assert x[1, 0] == 10 and view.max(dim=1).indices.tolist() == [1, 1, 1]
    assert torch.cat([x, x], 1).softmax(1).sum(1).allclose(torch.ones(2))
    assert torch.result_type(torch.ones(1, dtype=torch.int64), 1.0) == torch.float32
    assert torch.zeros(2, 3, device="meta").matmul(torch.zeros(3, 4, device="meta")).shape == (2, 4)
    assert repr(torch.tensor([1.5, -2.0])) == "tensor([ 1.5000, -2.0000])"
    torch.manual_seed(0)
    first = torch.randn(3)
    torch.manual_seed(0)
    assert torch.equal(first, torch.randn(3))


def test_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x**2).sum()
    (grad,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), x)
    assert grad.tolist() == [2.0, 4.0, 6.0] and second.tolist() == [2.0, 2.0, 2.0]
    seen = []
    z = x * 2
    z.register_hook(seen.append)
    z.add_(1)[1:].sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0] and len(seen) == 1
    with torch.no_grad():
        assert not (x * 2).requires_grad

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            assert ctx.saved_tensors[0].shape == grad.shape
            return 2 * grad

    assert torch.autograd.grad(Double.apply(x).sum(), x)[0].tolist() == [2.0] * 3
    inputs = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: v.sin() * v, (inputs,))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.head = nn.Linear(4, 2)
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3))) * self.scale


def problem(n=64):
    torch.manual_seed(1)
    labels = torch.arange(n) % 2
    return torch.randn(n, 1, 5, 5) + labels.view(-1, 1, 1, 1) * 2.0, labels


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.AdamW(p, lr=0.05),
    ],
)
def test_training_learns(optimizer):
    data = TensorDataset(*problem())
    net = Net()
    optimizer = optimizer(net.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, gamma=0.5)
    losses = []
    for _ in range(6):
        for images, labels in DataLoader(data, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    assert losses[-1] < 0.5 * losses[0] and schedule.get_last_lr()[0] < optimizer.defaults["lr"]
    net.eval()
    with torch.inference_mode():
        images, labels = data.tensors
        assert (net(images).argmax(1) == labels).float().mean() > 0.9


def test_saving_and_copying():
    net, optimizer = Net(), None
    optimizer = torch.optim.Adam(net.parameters())
    net(problem(4)[0]).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    other = Net()
    assert str(other.load_state_dict(saved["net"])) == "<All keys matched successfully>"
    torch.optim.Adam(other.parameters()).load_state_dict(saved["optimizer"])
    twin = copy.deepcopy(net)
    x = problem(4)[0]
    assert torch.equal(net.eval()(x), other.eval()(x)) and torch.equal(net(x), twin.eval()(x))
    with torch.no_grad():
        twin.head.weight.zero_()
    assert not torch.equal(net(x), twin(x))


def test_layers_of_every_kind():
    x = torch.randn(2, 5, 8)
    assert nn.LSTM(8, 6, batch_first=True)(x)[0].shape == (2, 5, 6)
    assert nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0].shape == x.shape
    assert nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(x).shape == x.shape
    assert nn.Embedding(10, 3)(torch.tensor([[1, 2]])).shape == (1, 2, 3)
    assert nn.Dropout(0.5).eval()(x) is not None and nn.LayerNorm(8)(x).shape == x.shape
    pooled = nn.MaxPool2d(2)(torch.randn(1, 1, 4, 4))
    assert pooled.shape == (1, 1, 2, 2)


def test_errors():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        torch.ones(3)[5]
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.relu("text")
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="Error\\(s\\) in loading state_dict for Net"):
        Net().load_state_dict({})


def test_float_of_a_tensor_in_a_graph_warns_where_gradients_are_recorded(recwarn):
    x = torch.ones((), requires_grad=True)
    with torch.no_grad():
        assert float(x) == 1.0
    assert not [w for w in recwarn if "Converting a tensor" in str(w.message)]
