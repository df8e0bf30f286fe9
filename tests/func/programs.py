"""Small programs about function transforms; what they show is recorded from PyTorch.

Each takes the package and ``show(*values)``; ``show.failure(f)`` shows what ``f()`` raises.
"""

from __future__ import annotations

import re

import autograd.programs


class Show(autograd.programs.Show):
    """Gathers texts; addresses, signs of zeros and spaces in them are made alike."""

    def __call__(self, *values):
        text = " | ".join(map(str, values)).replace("rushlight", "torch")
        text = re.sub(r"-(0\.0*)(?!\d)", r"\1", re.sub(r"0x[0-9a-f]+", "0x", text))
        self.lines.append(re.sub(r"\s+", " ", text).replace("[ ", "["))


def vector(torch, n=3):
    return torch.arange(1, n + 1, dtype=torch.float64) / 4


def matrix(torch, *shape):
    count = 1
    for n in shape:
        count *= n
    return ((torch.arange(count, dtype=torch.float64) * 7 % 11) / 8 - 0.5).reshape(shape)


# ---- grad and its kin


def gradients(torch, show):
    f = torch.func
    x = vector(torch)
    show(f.grad(lambda a: (a**3).sum())(x))
    show(f.grad(f.grad(lambda a: a**3))(x[1]))
    show(f.grad(f.grad(f.grad(lambda a: a.exp())))(x[1]))
    show(f.grad_and_value(lambda a: (a.sin().sum(), {"a": a * 2}), has_aux=True)(x))
    show(f.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x + 1))
    show(f.grad(lambda a, b: (a * b).sum(), argnums=-1)(x, x + 1))
    show(f.grad(lambda t: (t["x"] * t["y"][0]).sum())({"x": x, "y": [x + 2]}))
    show(f.grad(lambda a, *, k: (a * k).sum())(x, k=3.0))
    show(f.grad(lambda a: torch.ones(()))(x))
    show(f.grad(lambda a: f.grad(lambda b: (a * b**2).sum())(a).sum())(x))


def graphs_around(torch, show):
    """How transforms and ordinary graphs go together."""
    f = torch.func
    x = vector(torch).requires_grad_()
    g = f.grad(lambda a: (a**3).sum())(x)
    show(g.requires_grad)
    show(torch.autograd.grad(g.sum(), x))
    w = vector(torch).requires_grad_()
    g = f.grad(lambda a: (a**2 * w).sum())(x.detach())
    show(g.requires_grad, torch.autograd.grad(g.sum(), w))
    g, value = f.grad_and_value(lambda a: (a**2).sum())(x.detach())
    show(g.requires_grad, value.requires_grad)
    with torch.no_grad():
        g = f.grad(lambda a: (a**3).sum())(x)
        show(g, g.requires_grad)

    def partly(a):
        with torch.no_grad():
            c = a**2
        return (a - c).sum()

    show(f.grad(partly)(x.detach()))
    show(f.grad(lambda a: (a * a.detach()).sum())(x.detach()))

    def inside(a):
        (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
        return g.sum()

    show(f.grad(inside)(x.detach()))


def refusals_of_grad(torch, show):
    f = torch.func
    x = vector(torch)
    for wrong in (
        lambda: f.grad(lambda a: a)(x),
        lambda: f.grad(lambda a: (a.sum(), 3))(x),
        lambda: f.grad(lambda a: 3.0)(x),
        lambda: f.grad(lambda a: [a.sum()])(x),
        lambda: f.grad(lambda a: a.sum(), argnums=1)(x),
        lambda: f.grad(lambda a: a.sum(), argnums=(0, 0))(x),
        lambda: f.grad(lambda a: a.sum(), argnums="a")(x),
        lambda: f.grad(lambda a: a.sum(), argnums=())(x),
        lambda: f.grad(lambda a: a.sum())(x.long()),
        lambda: f.grad(lambda a: a.sum())(3),
        lambda: f.grad(lambda a: a.sum(), has_aux=True)(x),
        lambda: f.grad(lambda a: a.sum().backward())(x),
        lambda: f.grad(lambda a: a.requires_grad_().sum())(x),
    ):
        show.failure(wrong)


def vjps(torch, show):
    f = torch.func
    x = vector(torch)
    out, back = f.vjp(lambda a, b: (a * b, a.sum()), x, x + 1)
    show(out)
    show(back((torch.ones(3, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64))))
    out, back, aux = f.vjp(lambda a: (a.sin(), a * 2), x, has_aux=True)
    show(aux, back(x), back(x))
    out, back = f.vjp(lambda a: {"q": a * a}, x)
    show(back({"q": x}))
    show(f.vjp(lambda a: a.sum().detach(), x)[1](torch.tensor(1.0, dtype=torch.float64)))
    for wrong in (
        lambda: f.vjp(lambda a: 3, x),
        lambda: f.vjp(lambda a: (a, 3), x),
        lambda: f.vjp(lambda a: a, 3),
        lambda: f.vjp(lambda a: (a, a), x)[1](x),
        lambda: f.vjp(lambda a: {"q": a}, x)[1](x),
        lambda: f.vjp(lambda a: a, x, has_aux=True),
        lambda: f.vjp(lambda a: (a, a, a), x, has_aux=True),
        lambda: f.vjp(lambda a: (a, 3), x, has_aux=True),
        lambda: f.vjp(lambda a: a * 2, x)[1](vector(torch, 4)),
    ):
        show.failure(wrong)


def jacobians(torch, show):
    f = torch.func
    x, y = vector(torch), vector(torch) + 1
    show(f.jacrev(lambda a: a.sin() * a.sum())(x))
    show(f.jacfwd(lambda a: a.sin() * a.sum())(x))
    show(f.jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x, y))
    show(f.jacfwd(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x, y))
    show(f.jacrev(lambda t: t["a"] * t["b"])({"a": x, "b": y}))
    show(f.jacrev(lambda a: {"p": a, "q": (a * 2,)})(x))
    show(f.jacfwd(lambda a: {"p": a, "q": (a * 2,)})(x))
    show(f.jacrev(lambda a: (a**2, a.sum()), has_aux=True)(x))
    show(f.jacfwd(lambda a: (a**2, a.sum()), has_aux=True)(x))
    show(f.jacrev(lambda a: a**2, chunk_size=2)(x), f.jacrev(lambda a: a**2, chunk_size=1)(x))
    show(f.jacfwd(lambda a: torch.ones(2))(x))
    show(f.hessian(lambda a: (a**3).sum() + a.prod())(x))
    show(f.hessian(lambda a, b: (a**2 * b).sum(), argnums=(0, 1))(x, y))
    show(f.jacfwd(f.jacrev(lambda a: a**3))(x).diagonal(), f.jacrev(f.jacfwd(torch.exp))(x)[0])
    show(f.jacrev(f.jacrev(lambda a: a.sin().sum()))(x))
    show(f.jacfwd(f.jacfwd(lambda a: a.sin().sum()))(x))
    for wrong in (
        lambda: f.jacrev(lambda a: 3)(x),
        lambda: f.jacrev(lambda a: a, argnums=1)(x),
        lambda: f.jacrev(lambda a: a, has_aux=True)(x),
        lambda: f.jacrev(lambda a: a, chunk_size=0)(x),
        lambda: f.jacrev(lambda a: a)(x.long()),
        lambda: f.jacfwd(lambda a: 3)(x),
        lambda: f.jacfwd(lambda a: a, argnums=1)(x),
        lambda: f.jacfwd(lambda a: a)(x.long()),
    ):
        show.failure(wrong)


def jvps(torch, show):
    f = torch.func
    x = vector(torch)
    show(f.jvp(lambda a: a.sin(), (x,), (x + 1,)))
    show(f.jvp(lambda a, b: (a * b, a + 1), (x, x), (x, x + 1)))
    show(f.jvp(lambda a: (a.exp(), a * 3), (x,), (x,), has_aux=True))
    show(f.jvp(lambda a: torch.ones(3), (x,), (x,)))
    show(f.jvp(lambda a: f.jvp(torch.sin, (a,), (x,))[1], (x,), (x,)))
    show(f.jvp(lambda a: f.grad(lambda b: (b**3).sum())(a), (x,), (x,)))
    show(f.grad(lambda a: f.jvp(lambda b: b**3, (a,), (x,))[1].sum())(x))
    # The inner tangent is not the outer one.
    show(f.jvp(lambda a: a * f.jvp(lambda b: a + b, (x,), (torch.ones_like(x),))[1], (x,), (x,)))

    def writes(a):
        y = torch.zeros(3, dtype=torch.float64)
        y[0] = a[1] * 2
        y[1:].add_(a[1:])
        y.mul_(a)
        return y

    show(f.jvp(writes, (x,), (x,)))
    out, push = f.linearize(lambda a: a**2, x)
    show(out, push(x))
    for wrong in (
        lambda: f.jvp(lambda a: a, x, x),
        lambda: f.jvp(lambda a: a, (x,), (x, x)),
        lambda: f.jvp(lambda a: a, (x,), (vector(torch, 4),)),
        lambda: f.jvp(lambda a: a, (x,), (3,)),
        lambda: f.jvp(lambda a: a, (3,), (3,)),
        lambda: f.jvp(lambda a: a, (), ()),
        lambda: f.jvp(lambda a: 3, (x,), (x,)),
        lambda: f.jvp(lambda a: (a, 3), (x,), (x,)),
        lambda: f.jvp(lambda a: a, (x,), (x,), has_aux=True),
        lambda: f.jvp(lambda a: torch.ones(3), (x,), (x,), strict=True),
        lambda: f.jvp(lambda a: a, (x.long(),), (x.long(),)),
        lambda: f.linearize(lambda a: a * 2, x)[1](vector(torch, 4)),
    ):
        show.failure(wrong)


# ---- vmap


def mapping(torch, show):
    vmap = torch.vmap
    x, y = matrix(torch, 3, 4), matrix(torch, 4)
    show(vmap(torch.sum)(x), vmap(torch.sum, in_dims=1)(x))
    show(vmap(torch.dot, in_dims=(0, None))(x, y))
    show(vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x))
    show(vmap(lambda d: {"p": d["x"], "q": d["y"].sum()}, in_dims=({"x": 0, "y": None},))(
        {"x": x, "y": y}
    ))  # fmt: skip
    show(vmap(lambda a: torch.ones(2))(x), vmap(lambda a: torch.ones(2), out_dims=None)(x))
    show(vmap(vmap(torch.mul, (0, None)), (None, 0))(y, y))
    show(vmap(vmap(lambda a, b: a * b, in_dims=(None, 0)))(x[:, 0], x))
    show(vmap(lambda a, k=1: a * k)(x, k=2))
    show(vmap(lambda a: a + 1, chunk_size=2)(x))
    show(vmap(lambda a: a)(torch.zeros(0, 3)))
    show(vmap(lambda a, i: a[i])(x, torch.tensor([0, 1, 2])))
    show(vmap(lambda a: a.clone().add_(1).mul_(a))(x))
    show(vmap(lambda a: a.reshape(2, 2).t().contiguous().view(-1))(x))
    show(vmap(lambda a: torch.where(a > 0, a, 0.0))(x))
    show(vmap(lambda a: a.shape, out_dims=None)(x), vmap(lambda a: print(a.dim()) or a)(x).dim())


def refusals_of_vmap(torch, show):
    vmap = torch.vmap
    x = matrix(torch, 3, 4)
    for wrong in (
        lambda: vmap(lambda a: a[a > 0])(x),
        lambda: vmap(lambda a: a.nonzero())(x),
        lambda: vmap(lambda a: torch.masked_select(a, a > 0))(x),
        lambda: vmap(lambda a: torch.unique(a))(x),
        lambda: vmap(lambda a: a.sum().item())(x),
        lambda: vmap(lambda a: bool(a.sum() > 0))(x),
        lambda: vmap(lambda a: a.tolist())(x),
        lambda: vmap(lambda a: a.numpy())(x),
        lambda: vmap(lambda a: torch.rand(3) + a[:3])(x),
        lambda: vmap(lambda a: torch.zeros(4, dtype=torch.float64).copy_(a))(x),
        lambda: vmap(lambda a: torch.add(a, a, out=torch.empty(4)))(x),
        lambda: vmap(lambda a: a.backward())(x),
        lambda: vmap(lambda a: 3)(x),
        lambda: vmap(lambda a: None)(x),
        lambda: vmap(lambda a: (a, 3))(x),
        lambda: vmap(lambda a, b: a)(x, matrix(torch, 2, 4)),
        lambda: vmap(lambda a, b: a, in_dims=(0,))(x, x),
        lambda: vmap(lambda a: a, in_dims=2)(x),
        lambda: vmap(lambda a: a, in_dims=None)(x),
        lambda: vmap(lambda a: a, in_dims="a")(x),
        lambda: vmap(lambda a: a, in_dims=0)(),
        lambda: vmap(lambda a: a, in_dims=0)(3),
        lambda: vmap(lambda a: a, in_dims=[0])([x]),
        lambda: vmap(lambda a: a, out_dims=3)(x),
        lambda: vmap(lambda a: a, out_dims=(0, 0))(x),
        lambda: vmap(lambda a: a, out_dims="x")(x),
        lambda: vmap(lambda a: a.sum(), out_dims=None)(x),
        lambda: vmap(lambda a: a, randomness="foo")(x),
        lambda: vmap(lambda a: a, chunk_size=0)(x),
        lambda: vmap(lambda a: a.requires_grad_())(x),
        lambda: torch.func.functionalize(lambda a: a, remove="foo")(x),
    ):
        show.failure(wrong)


def randomness(torch, show):
    vmap = torch.vmap
    x = torch.zeros(3, 4)
    same = vmap(lambda a: a + torch.randn(4), randomness="same")(x)
    show(bool((same[0] == same[1]).all()))
    apart = vmap(lambda a: a + torch.randn(4), randomness="different")(x)
    show(bool((apart[0] == apart[1]).any()))
    drop = torch.nn.functional.dropout
    same = vmap(lambda a: drop(a + 1, 0.5), randomness="same")(x)
    show(bool((same[0] == same[1]).all()))
    same = vmap(lambda a: a.clone().normal_(), randomness="same")(x)
    show(bool((same[0] == same[1]).all()))
    apart = vmap(lambda a: a.clone().normal_(), randomness="different")(x)
    show(bool((apart[0] == apart[1]).any()))
    apart = vmap(lambda a: torch.randperm(50), randomness="different")(x)
    show(bool((apart[0] == apart[1]).all()), apart.sort(1)[0][0, -1])
    apart = vmap(lambda a: torch.rand_like(a), randomness="different")(x)
    show(bool((apart[0] == apart[1]).any()))
    show.failure(lambda: vmap(lambda a: torch.bernoulli(a), randomness="same")(x))
    show.failure(lambda: vmap(lambda a: torch.zeros(2).normal_(), randomness="different")(x))


def dropout_by_sample(torch, show):
    """Noise that C++ draws for mapped tensors differs by sample, with PyTorch's numbers."""
    F = torch.nn.functional
    x = torch.ones(4, 3)
    for drop in (
        lambda a: F.dropout(a, 0.5),
        lambda a: F.dropout(a.clone(), 0.5, True, True),
        lambda a: F.alpha_dropout(a, 0.5, True),
        lambda a: F.dropout1d(a[None] + 0, 0.5),
        lambda a: F.feature_alpha_dropout(a[None], 0.5, True),
    ):
        for how in ("same", "different"):
            torch.manual_seed(1)
            show(torch.vmap(drop, randomness=how)(x))
            gradient = torch.func.grad(lambda a, drop=drop: (drop(a) * a).sum())
            torch.manual_seed(1)
            show(torch.vmap(gradient, randomness=how)(x))


def distributions_by_sample(torch, show):
    D = torch.distributions
    x = torch.ones(4, 3)
    show(torch.vmap(lambda a: D.Normal(a, 1.0).log_prob(a))(x))
    show(torch.vmap(lambda a: D.Categorical(logits=a).log_prob(torch.tensor(1)))(x))
    try:
        torch.vmap(lambda a: D.Normal(a, -a))(x)
    except ValueError as error:
        show(str(error).partition("\n")[0])


def modes_around(torch, show):
    """Derivatives of all orders are the same within no_grad and inference_mode."""
    f, fw = torch.func, torch.autograd.forward_ad
    x, w = vector(torch), torch.tensor(2.0, requires_grad=True)

    def cube(a):
        return (a**3).sum()

    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            made = torch.ones(3, dtype=torch.float64)
            show(f.grad(lambda a, made=made: (a * a * made).sum())(x), f.grad(cube)(made))
            show(f.grad_and_value(lambda a: cube(a) * w)(x))
            for outer in (f.jacfwd, f.jacrev):
                for inner in (f.jacfwd, f.jacrev):
                    show(outer(inner(cube))(x))
            show(torch.vmap(f.hessian(cube))(torch.stack([x, made])))
            show(f.jvp(f.grad(cube), (x,), (made,)))
            show(f.vjp(f.grad(cube), x)[1](made))
            show(f.grad(lambda a, made=made: f.jvp(cube, (a,), (made,))[1])(x))
            show.failure(lambda: f.grad(lambda a: a)(x))
            show(torch.is_inference_mode_enabled(), torch.is_grad_enabled())
    with fw.dual_level():
        show(fw.unpack_dual(f.grad(cube)(fw.make_dual(x, x))).tangent)


def values_of_samples(torch, show):
    """What reads values, where each sample has its own."""
    vmap, x = torch.vmap, vector(torch)

    def write(a):
        a.data = a * 2

    for f in (
        lambda a: torch.equal(a, a),
        lambda a: torch.allclose(a, a),
        lambda a: a.data,
        write,
        lambda a: vmap(lambda b: torch.equal(a, a), out_dims=None)(a.expand(2)),
    ):
        show.failure(lambda f=f: vmap(f, out_dims=None)(x))
    # The second sample is the singular one.
    show.failure(lambda: vmap(torch.linalg.inv)(torch.stack([torch.eye(2), torch.zeros(2, 2)])))
    show.failure(lambda: vmap(torch.linalg.cholesky)(torch.stack([torch.eye(2), -torch.eye(2)])))


def no_samples(torch, show):
    x = torch.ones(0, 3)
    for f in (
        lambda a: a.sum(),
        lambda a: a.mean(),
        lambda a: a.max(),
        lambda a: a.prod(),
        lambda a: a.std(),
        lambda a: a.argmax(),
        lambda a: torch.nn.functional.embedding(a.long(), torch.ones(2, 2)),
        lambda a: torch.nn.functional.linear(a, torch.ones(2, 3)),
        torch.func.grad(lambda a: (a**2).sum()),
        torch.func.grad(lambda a: torch.nn.functional.linear(a, torch.ones(2, 3)).sum()),
    ):
        show(torch.vmap(f)(x).shape)


def of_numbers(torch, show):
    """Functions of tensors without dimensions."""
    f, x = torch.func, torch.tensor(3.0)
    for jacobian in (f.jacrev, f.jacfwd, f.hessian):
        show(jacobian(lambda a: a**2)(x), torch.vmap(jacobian(lambda a: a**2))(torch.ones(2)))
    show(f.jacrev(lambda a, b: a * b, argnums=(0, 1))(x, x))


def results_refused(torch, show):
    f, x = torch.func, vector(torch)
    z = torch.ones(2, dtype=torch.complex64)
    show.failure(lambda: f.grad(lambda a: (a.sum(), 5), has_aux=True)(x))
    show.failure(lambda: f.grad(lambda a: (a.sum(), ["s", a]), has_aux=True)(x))
    show.failure(lambda: f.grad(lambda a: (a * a).sum())(z))
    for j in (f.jacrev, f.jacfwd, f.hessian):
        show.failure(lambda j=j: j(lambda a: a * a)(z))
        show.failure(lambda j=j: j(lambda a: ())(x))
    for wrong in (None, (), 3):
        show.failure(lambda wrong=wrong: f.vjp(lambda a: wrong, x))
        show.failure(lambda wrong=wrong: f.jvp(lambda a: wrong, (x,), (x,)))
    show.failure(lambda: f.vjp(lambda a: a.long(), x))
    back = f.vjp(lambda a: a * a, x)[1]
    for wrong in (3, None, "a"):
        show.failure(lambda wrong=wrong: back(wrong))
    show.failure(lambda: f.grad(lambda a: (a * a).retain_grad())(x))


def replaced_attributes(torch, show):
    """functional_call puts tensors in the place of tensors only, and puts back what was there."""

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.factor = 3

        def forward(self, x):
            return self.linear(x) * self.factor

    model, x = Scaled(), torch.ones(2)
    for given in (
        {"factor": torch.tensor(2.0)},
        {"factor": 5},
        {"linear": torch.ones(2)},
        {"fresh": torch.ones(2)},
        {"absent.weight": torch.ones(2)},
        {"linear.bias": 3},
        {"": torch.ones(2)},
    ):
        show.failure(lambda given=given: torch.func.functional_call(model, given, x).shape)
        show(model.factor, model.linear, hasattr(model, "fresh"), sorted(model.__dict__)[:1])


def per_sample_gradients(torch, show):
    f = torch.func
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.LayerNorm(5), torch.nn.Linear(5, 3)
    ).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(matrix(torch, *p.shape) + 0.3)
    x, y = matrix(torch, 6, 4), torch.arange(6) % 3
    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss(params, x, y):
        out = f.functional_call(model, params, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, y.unsqueeze(0))

    grads = torch.vmap(f.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for name, g in grads.items():
        show(name, tuple(g.shape), [round(v, 6) for v in g.sum((1,)).reshape(-1).tolist()[:6]])


def ensembles(torch, show):
    f = torch.func
    models = []
    for k in range(3):
        m = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
        m = m.double()
        with torch.no_grad():
            for p in m.parameters():
                p.copy_(matrix(torch, *p.shape) + k / 4)
        models.append(m)
    params, buffers = f.stack_module_state(models)

    def call(params, buffers, x):
        return f.functional_call(models[0], (params, buffers), (x,))

    show(torch.vmap(call, in_dims=(0, 0, None))(params, buffers, matrix(torch, 2, 4)))
    show(torch.vmap(call)(params, buffers, matrix(torch, 3, 2, 4)))


def convolutions_by_sample(torch, show):
    f = torch.func
    x, w = matrix(torch, 3, 2, 6, 6), matrix(torch, 4, 2, 3, 3)
    conv = torch.nn.functional.conv2d
    g = torch.vmap(f.grad(lambda w, x: conv(x[None], w, padding=1).square().sum()), (None, 0))(w, x)
    show(tuple(g.shape), [round(v, 6) for v in g.reshape(-1).tolist()[::31]])
    many = torch.vmap(lambda w, x: conv(x[None], w), (0, None))(torch.stack([w, w + 1]), x[0])
    show(tuple(many.shape), [round(v, 6) for v in many.reshape(-1).tolist()[::13]])


# ---- Custom functions


def _cube(torch, **more):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    for name, value in more.items():
        setattr(Cube, name, value)
    return Cube


def custom_functions(torch, show):
    f = torch.func
    x = vector(torch)
    generated = _cube(torch, generate_vmap_rule=True)
    show(torch.vmap(generated.apply)(x))
    show(torch.vmap(f.grad(lambda a: generated.apply(a)))(x))
    show(f.grad(lambda a: torch.vmap(generated.apply)(a).sum())(x))
    show(f.grad(f.grad(lambda a: generated.apply(a)))(x[1]))

    def rule(info, in_dims, x):
        show(info, in_dims, tuple(x.shape))
        return x**3, in_dims[0]

    own = _cube(torch, vmap=staticmethod(rule))
    show(torch.vmap(own.apply)(x))
    show(torch.vmap(f.grad(lambda a: own.apply(a)))(x))

    def push(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t

    forward = _cube(torch, jvp=staticmethod(push))
    show(f.jvp(forward.apply, (x,), (x + 1,)))
    plain = _cube(torch)
    show(f.grad(lambda a: plain.apply(a).sum())(x))
    show.failure(lambda: torch.vmap(plain.apply)(x))
    show.failure(lambda: f.jvp(plain.apply, (x,), (x,)))
    both = _cube(torch, generate_vmap_rule=True, vmap=staticmethod(rule))
    show.failure(lambda: torch.vmap(both.apply)(x))
    lone = _cube(torch, vmap=staticmethod(lambda info, in_dims, x: x))
    show.failure(lambda: torch.vmap(lone.apply)(x))

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    show.failure(lambda: torch.vmap(Old.apply)(x))
    show.failure(lambda: f.grad(lambda a: Old.apply(a).sum())(x))
    show.failure(lambda: f.jvp(Old.apply, (x,), (x,)))


# ---- forward_ad


def dual_tensors(torch, show):
    from importlib import import_module

    ad = import_module(f"{torch.__name__}.autograd.forward_ad")
    x, t = vector(torch), vector(torch) + 1
    show.failure(lambda: ad.make_dual(x, t))
    with ad.dual_level():
        d = ad.make_dual(x, t)
        show(d)
        show(ad.unpack_dual(d), ad.unpack_dual(d.sin()), ad.unpack_dual(x))
        show(ad.unpack_dual((d * x).sum()).tangent, ad.unpack_dual(d.detach()).tangent is None)
        y = torch.zeros(3, dtype=torch.float64)
        y[1] = d[0]
        y.add_(d)
        show(ad.unpack_dual(y))
        w = vector(torch).requires_grad_()
        out = ad.make_dual(w, t) ** 3
        (g,) = torch.autograd.grad(out.sum(), w)
        show(ad.unpack_dual(g))
        tangent = ad.unpack_dual(ad.make_dual(x, t) * w**2).tangent
        show(torch.autograd.grad(tangent.sum(), w))
        show.failure(lambda: ad.make_dual(d, t))
        show.failure(lambda: ad.make_dual(x, vector(torch, 4)))
        show.failure(lambda: ad.make_dual(x.long(), t))
        show.failure(ad.enter_dual_level)
    show(ad.unpack_dual(x))
    show.failure(ad.exit_dual_level)
    show(d + 1)


# ---- autograd.functional


def products(torch, show):
    F = torch.autograd.functional
    x, y = vector(torch), vector(torch) + 1
    show(F.vjp(lambda a, b: a * b, (x, y), x))
    show(F.jvp(lambda a, b: (a * b, a.sum()), (x, y), (y, x)))
    show(F.vhp(lambda a, b: (a**2 * b).sum(), (x, y), (y, x)))
    show(F.hvp(lambda a, b: (a**2 * b).sum(), (x, y), (y, x)))
    show(F.jacobian(lambda a, b: (a * b, a.sum()), (x, y)))
    show(F.jacobian(lambda a, b: (a * b, a.sum()), (x, y), vectorize=True))
    show(F.jacobian(lambda a: a**2, x, vectorize=True, strategy="forward-mode"))
    show(F.hessian(lambda a, b: (a**2 * b).sum(), (x, y)))
    show(F.hessian(lambda a: (a**3).sum(), x, vectorize=True))
    show(F.hessian(lambda a: (a**3).sum(), x.reshape(1, 3)).shape)
    w = x.clone().requires_grad_()
    show(F.jacobian(lambda a: a**2, w, create_graph=True).requires_grad)
    show(F.jacobian(lambda a: a**2, w).requires_grad)
    show(torch.autograd.grad(w * 2, w, torch.eye(3, dtype=torch.float64), is_grads_batched=True))


def strictness(torch, show):
    F = torch.autograd.functional
    x, y = vector(torch), vector(torch) + 1
    half, none = (lambda a, b: a * 2), (lambda a, b: torch.ones(3))
    for fn in (F.vjp, F.jvp, F.jacobian, F.hessian, F.vhp, F.hvp):
        scalar = fn in (F.hessian, F.vhp, F.hvp)
        v = () if fn in (F.jacobian, F.hessian) else (x,) if fn is F.vjp else ((x, y),)
        for f in (half, none, lambda a, b: a * b):
            g = (lambda a, b, f=f: f(a, b).sum()) if scalar else f
            show.failure(lambda fn=fn, g=g, v=v: fn(g, (x, y), *v, strict=True))
        show.failure(lambda fn=fn: fn(lambda a: 3, x))
        show.failure(lambda fn=fn: fn(half, 3))
        show.failure(lambda fn=fn: fn(half, (x, 3)))
        if v:
            one = (lambda a: a.sum()) if scalar else (lambda a: a)
            show.failure(lambda fn=fn, one=one: fn(one, x, vector(torch, 4)))
            show.failure(lambda fn=fn, one=one: fn(one, x, (x, x)))
            show.failure(lambda fn=fn, one=one: fn(one, x, 3))
    for options in (
        {"strategy": "foo"},
        {"strategy": "forward-mode"},
        {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
        {"strategy": "forward-mode", "vectorize": True, "strict": True},
        {"vectorize": True, "strict": True},
    ):
        show.failure(lambda options=options: F.jacobian(lambda a: a, x, **options))
    show.failure(lambda: F.hessian(torch.sum, x, outer_jacobian_strategy="foo"))


def checked_forward(torch, show):
    from importlib import import_module

    check = import_module(f"{torch.__name__}.autograd").gradcheck
    x = vector(torch).requires_grad_()
    show(check(lambda a: a**3, (x,), check_forward_ad=True))
    show(check(lambda a: a**3, (x,), check_forward_ad=True, check_backward_ad=False))
    show(check(lambda a: a**3, (x,), check_batched_grad=True))

    def push(ctx, t):
        return t * 3

    wrong = _cube(torch, jvp=staticmethod(push))
    show.failure(lambda: check(wrong.apply, (x,), check_forward_ad=True))


def jacobians_of_numbers(torch, show):
    f, x = torch.func, torch.tensor(2.0, dtype=torch.float64)
    for derivative in (f.jacrev, f.jacfwd, f.hessian):
        show(derivative(lambda a: a**3)(x), derivative(lambda a: a.expand(2, 2) ** 3)(x))
        show(derivative(lambda a: (a**3).sum())(vector(torch)))
        show(torch.func.vmap(derivative(lambda a: a**3))(vector(torch)))


def no_grad_between_transforms(torch, show):
    """What is cut inside an inner function, and what is cut around an inner transform."""
    f, x = torch.func, torch.tensor(2.0, dtype=torch.float64)

    def constant(a, context=torch.no_grad):
        def inner(b):
            with context():
                c = (a * b) ** 2
            return b**3 * c

        return f.grad(inner)(a)

    def constant_outside(a):
        with torch.no_grad():
            d = a**2
        return f.grad(lambda b: b * d * a)(a) * a

    def whole(a):
        with torch.no_grad():
            return f.grad(lambda b: b**2 * a)(a)

    def detached(a):
        pull = f.vjp(lambda b: (b**2).detach() * b * a, a)[1]
        return pull(torch.ones_like(a))[0]

    def mapped(a):
        def inner(b):
            with torch.no_grad():
                c = f.vmap(lambda q: q * a * b)(vector(torch)).sum()
            return b * c * a

        return f.grad(inner)(a)

    y = x.clone().requires_grad_()
    for function in (constant, constant_outside, whole, detached, mapped):
        show(function(x), f.grad(function)(x), function(y).requires_grad)
        show(f.jvp(function, (x,), (torch.ones_like(x),)))
    show.failure(lambda: constant(x, torch.inference_mode))


# ---- No samples, and tensors that outlive their transform


def losses_of_no_samples(torch, show):
    """Where PyTorch's own sizes are those that one sample would have."""
    f, F = torch.func, torch.nn.functional
    logits, targets = torch.zeros(0, 2, 3), torch.zeros(0, 2, dtype=torch.int64)
    show(f.vmap(F.cross_entropy)(logits, targets).shape)
    show(f.vmap(lambda x, y: F.cross_entropy(x, y, reduction="none"))(logits, targets).shape)
    show(f.vmap(F.cross_entropy)(logits[:, 0], targets[:, 0]).shape)
    show(f.vmap(F.nll_loss)(logits, targets).shape)
    show(f.vmap(torch.mm)(logits, torch.zeros(0, 3, 2)).shape)
    show(f.vmap(torch.sort)(logits)[1].shape)


def escaped(torch, show):
    f = torch.func
    kept = []

    def keep(x):
        kept.append(x)
        return x.sum()

    f.vmap(keep)(torch.ones(2, 3))
    f.grad(keep)(torch.ones(3))
    f.jvp(keep, (torch.ones(3),), (torch.ones(3),))
    of_vmap, of_grad, of_jvp = kept
    show(of_vmap.shape, of_vmap.dtype, of_grad.shape)
    for call in (
        lambda t: t + 1, lambda t: t.sum(), lambda t: torch.ones(3) * t, lambda t: t.clone(),
        lambda t: t[0], lambda t: t.detach(),
    ):  # fmt: skip
        try:
            show(call(of_vmap))
        except RuntimeError as error:
            show(str(error).partition(", or there is")[0])
    show(of_grad.detach() + 1, of_jvp + 1)


def all_programs():
    """The programs of this file, with their names."""
    for name, value in list(globals().items()):
        code = getattr(value, "__code__", None) if callable(value) else None
        if code is not None and code.co_varnames[:2] == ("torch", "show"):
            yield name, value
