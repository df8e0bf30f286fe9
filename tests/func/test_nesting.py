"""Transforms in any order give what the same transforms give one sample at a time."""

from __future__ import annotations

import io
import pickle

import pytest

import rushlight as torch
from rushlight.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

W = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(4, 5)
B = torch.linspace(0, 1, 4, dtype=torch.float64)
KERNEL = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(2, 2, 3)


def polynomial(x):
    return (x**3 * torch.linspace(1, 2, 5, dtype=x.dtype)).sum()


def layers(x):
    hidden = torch.nn.functional.linear(x, W, B).tanh()
    return torch.nn.functional.cross_entropy(hidden.unsqueeze(0), torch.tensor([2]))


def attention(x):
    rows = torch.outer(x, x.sin())
    return (torch.softmax(rows @ rows.t(), -1) @ rows).square().mean()


def convolution(x):
    signal = torch.stack([x, x.exp()])[None]
    return torch.nn.functional.conv1d(signal, KERNEL, padding=1).square().sum()


def normal(x):
    return torch.nn.functional.layer_norm(x, (5,), x.cos(), x).pow(2).sum() + x.norm()


def channels(x):
    F = torch.nn.functional
    maps = torch.stack([x, x.sin(), x * x, x.exp()]).view(2, 2, 5)
    batch = F.batch_norm(maps, None, None, x[:2], x[2:4], training=True)
    running = F.batch_norm(maps, x.detach()[:2], x.detach()[1:3], x[1:3], None)
    groups = F.group_norm(maps, 2, x[:2]) * F.instance_norm(maps, weight=x[3:])
    return (batch * running).sin().sum() + groups.pow(3).sum()


def picks(x):
    order = torch.tensor([3, 1, 1, 0])
    return (x[order] * x[1:]).sum() + x.max() * x.sort()[0][1] + x.cumsum(0).prod()


def writes(x):
    y = torch.zeros_like(x)
    y[1:] = x[:-1] * 2
    y[0].add_(x[4] ** 2)
    y.mul_(x)
    return y.view(5, 1).expand(5, 2).exp().sum()


def matrices(x):
    m = torch.diag_embed(x**2 + 1) + torch.outer(x, x) / 8
    return torch.linalg.slogdet(m)[1] + torch.linalg.solve(m, x).sum()


FUNCTIONS = [polynomial, layers, attention, convolution, normal, channels, picks, writes, matrices]
each_function = pytest.mark.parametrize("f", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])


def samples(*shape):
    count = torch.Size(shape).numel()
    return ((torch.arange(count, dtype=torch.float64) * 7 % 13) / 13 + 0.2).reshape(shape)


def one_by_one(function, *inputs):
    return torch.stack([function(*x) for x in zip(*inputs, strict=True)])


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@each_function
def test_vmap_of_derivatives(f):
    x, t = samples(3, 5), samples(3, 5) - 0.5
    close(vmap(f)(x), one_by_one(f, x))
    close(vmap(grad(f))(x), one_by_one(grad(f), x))
    close(vmap(hessian(f))(x), one_by_one(hessian(f), x))

    def along(x, t):
        return jvp(f, (x,), (t,))[1]

    close(vmap(along)(x, t), one_by_one(along, x, t))


@each_function
def test_derivatives_of_vmap(f):
    x, t = samples(3, 5), samples(3, 5) - 0.5
    gradients = one_by_one(grad(f), x)
    close(grad(lambda x: vmap(f)(x).sum())(x), gradients)
    close(jvp(vmap(f), (x,), (t,))[1], (gradients * t).sum(1))
    close(jacrev(vmap(f))(x).diagonal(dim1=0, dim2=1).t(), gradients)
    close(jacfwd(vmap(f))(x).diagonal(dim1=0, dim2=1).t(), gradients)


@each_function
def test_second_derivatives_agree(f):
    x = samples(5)
    expected = jacrev(jacrev(f))(x)
    for other in (hessian(f), jacfwd(jacfwd(f)), jacrev(jacfwd(f))):
        close(other(x), expected)
    close(expected, expected.t())


@each_function
def test_third_derivatives_agree(f):
    x, t = samples(5), samples(5) - 0.5
    close(jacfwd(hessian(f))(x) @ t, jvp(hessian(f), (x,), (t,))[1])
    close(grad(lambda x: (hessian(f)(x) * 2).sum())(x), jacrev(hessian(f))(x).sum((0, 1)) * 2)


@each_function
def test_nested_vmap(f):
    x = samples(2, 3, 5)
    flat = one_by_one(f, x.reshape(6, 5)).reshape(2, 3)
    close(vmap(vmap(f))(x), flat)
    close(vmap(vmap(f), in_dims=1, out_dims=1)(x), flat)
    gradients = one_by_one(grad(f), x.reshape(6, 5)).reshape(2, 3, 5)
    close(vmap(vmap(grad(f)))(x), gradients)
    close(vmap(grad(lambda x: vmap(f)(x).sum()))(x), gradients)
    close(grad(lambda x: vmap(vmap(f))(x).sum())(x), gradients)


def test_a_captured_tensor_belongs_to_the_outer_level():
    x, w = samples(3), samples(3) + 1

    def outer(w):
        def inner(x):
            return (w * x**2).sum()

        return (vmap(grad(lambda v: (w.sum() * v**2)))(x) * grad(inner)(x)).sum()

    expected = torch.autograd.functional.jacobian(
        lambda w: (2 * w.sum() * x * (2 * w * x)).sum(), w
    )
    close(grad(outer)(w), expected)
    close(jacfwd(outer)(w), expected)


def test_gradients_flow_to_ordinary_leaves():
    x = samples(3, 5)
    w = samples(5).requires_grad_()
    total = vmap(grad(lambda x: (torch.tanh(x * w)).sum()))(x).sum()
    (found,) = torch.autograd.grad(total, w)
    v = w.detach().requires_grad_()
    y = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(torch.tanh(y * v).sum(), y, create_graph=True)
    (expected,) = torch.autograd.grad(first.sum(), v)
    close(found, expected)


def test_vjp_function_is_mapped_and_differentiated():
    x = samples(4)
    out, back = vjp(lambda a: a**3, x)
    rows = vmap(lambda v: back(v)[0])(torch.eye(4, dtype=torch.float64))
    close(rows, torch.diag(3 * x**2))
    close(grad(lambda a: vjp(lambda b: b**3, a)[1](a)[0].sum())(x), 9 * x**2)
    close(out, x**3)


def test_a_dead_wrapper_of_jvp_is_what_it_held():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x

    x = samples(3, 2)
    jvp(lambda a: f(a), (x,), (x,))
    close(kept[0] + 1, x * 2 + 1)


def test_an_escaped_sample_cannot_be_changed():
    kept = []
    x = samples(3, 2)
    vmap(lambda a: (kept.append(a), a.sum())[1])(x)
    before = x.clone()
    with pytest.raises(RuntimeError, match="may have escaped"):
        kept[0].add_(1)
    assert torch.equal(x, before)


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda t: torch.ones(2).add_(t), RuntimeError, "may have escaped"),
        (lambda t: torch.ones(2).copy_(t), RuntimeError, "may have escaped"),
        (lambda t: torch.add(t, 1, out=torch.ones(2)), RuntimeError, "may have escaped"),
        (lambda t: t.numpy(), RuntimeError, "doesn't have storage"),
        (lambda t: t.tolist(), RuntimeError, "doesn't have storage"),
        (lambda t: t.data_ptr(), RuntimeError, "doesn't have storage"),
        (lambda t: t.untyped_storage(), NotImplementedError, "Cannot access storage"),
        (lambda t: pickle.dumps(t), NotImplementedError, "Cannot access storage"),
        (lambda t: torch.save(t, io.BytesIO()), NotImplementedError, "Cannot access storage"),
    ],
)
def test_an_escaped_sample_shows_no_memory(use, error, text):
    kept = []
    vmap(lambda a: (kept.append(a), a.sum())[1])(samples(3, 2))
    with pytest.raises(error, match=text):
        use(kept[0])


def test_an_exception_leaves_no_level():
    def fails(x):
        raise ValueError("no")

    for call in (vmap(fails), grad(fails), lambda x: jvp(fails, (x,), (x,))):
        with pytest.raises(ValueError, match="no"):
            call(samples(3))
    assert torch._C._current_level() == 0
    assert torch._C._count_transforms(0) == 0
    samples(2).requires_grad_().sum().backward()


def test_tensors_of_a_level_are_freed():
    import gc
    import weakref

    seen = []

    def f(x):
        y = x * 2
        seen.append(weakref.ref(y))
        return grad(lambda a: (a * y).sum())(y).sum()

    vmap(f)(samples(3, 2))
    jvp(f, (samples(3),), (samples(3),))
    gc.collect()
    assert [r() for r in seen] == [None, None]


def _ops(function, *args) -> int:
    with torch.profiler.profile() as profile:
        function(*args)
    return sum(event.count for event in profile.key_averages())


def test_vmap_of_a_network_runs_no_op_per_sample():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    weights = {name: p.detach() for name, p in net.named_parameters()}
    x, y = torch.randn(256, 8), torch.randint(3, (256,))
    assert _ops(vmap(net), x) <= 2 * _ops(net, x)

    def loss(weights, sample, label):
        scores = torch.func.functional_call(net, weights, (sample.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(scores, label.unsqueeze(0))

    gradients = vmap(grad(loss), (None, 0, 0))
    assert _ops(gradients, weights, x, y) == _ops(gradients, weights, x[:16], y[:16])
    found = gradients(weights, x, y)["0.weight"][3]
    wanted = torch.autograd.grad(loss(dict(net.named_parameters()), x[3], y[3]), net[0].weight)[0]
    torch.testing.assert_close(found, wanted)
