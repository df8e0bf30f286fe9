"""Programs about torch.utils.checkpoint; what they show is recorded from PyTorch."""

# ruff: noqa: B023  (the functions are called in the same turn)

from __future__ import annotations

import contextlib
import warnings


def _leaf(torch, *shape):
    torch.manual_seed(0)
    return torch.randn(shape or (3,), requires_grad=True)


class _Count:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return (x.sin() * x).exp()


def values(torch, show):
    from_torch = torch.utils.checkpoint
    for reentrant in (True, False):
        x, count = _leaf(torch), _Count()
        y = from_torch.checkpoint(count, x, use_reentrant=reentrant)
        show(y.grad_fn.name(), y.detach().numpy().round(3).tolist())
        y.sum().backward()
        show(count.calls, x.grad.numpy().round(3).tolist())


def kinds_of_backward(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint
    for reentrant in (True, False):
        x, count = _leaf(torch), _Count()
        y = checkpoint(count, x, use_reentrant=reentrant).sum()
        show.failure(lambda: torch.autograd.grad(y, x)[0].numpy().round(3).tolist())
        y = checkpoint(count, x, use_reentrant=reentrant).sum()
        show.failure(lambda: y.backward(inputs=[x]))
        y = checkpoint(count, x, use_reentrant=reentrant).sum()
        y.backward(retain_graph=True)
        y.backward()
        show(count.calls)
        show.failure(lambda: y.backward())
        y = checkpoint(count, x, use_reentrant=reentrant).sum()
        with contextlib.suppress(RuntimeError):
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            (gg,) = torch.autograd.grad(g.sum(), x)
            show(gg.numpy().round(3).tolist())


def inputs_and_outputs(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint
    x = _leaf(torch)

    def several(a, pair, k=2):
        return a * pair[0] * k, "text", None, a.detach()

    for reentrant in (True, False):
        x.grad = None
        if reentrant:
            out = checkpoint(several, x, (x,), use_reentrant=True)
        else:
            out = checkpoint(several, x, pair=(x,), k=3, use_reentrant=False)
        show(len(out), out[1], out[2], out[3].requires_grad)
        out[0].sum().backward()
        show(x.grad.numpy().round(3).tolist())
    show.failure(lambda: checkpoint(several, x, (x,), k=3, use_reentrant=True))
    show.failure(
        lambda: checkpoint(several, x, use_reentrant=True, context_fn=lambda: None)
    )
    show.failure(lambda: checkpoint(several, x, use_reentrant=True, debug=True))
    show.failure(lambda: checkpoint(several, x, use_reentrant=False, determinism_check="all"))
    with torch.no_grad():
        show(checkpoint(lambda a: a * 2, x, use_reentrant=False).requires_grad)
        show(checkpoint(lambda a: a * 2, x, use_reentrant=True).requires_grad)


def warnings_given(torch, show):
    module = torch.utils.checkpoint
    for call in (
        lambda: module.checkpoint(torch.sin, _leaf(torch)),
        lambda: module.checkpoint_sequential([torch.sin, torch.cos], 2, _leaf(torch)),
        lambda: module.checkpoint(torch.sin, torch.ones(2), use_reentrant=True),
        lambda: module.checkpoint(torch.sin, torch.ones(2), use_reentrant=False),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        show(result.requires_grad, [(w.category.__name__, str(w.message)) for w in caught])


def nothing_to_do(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint
    x = _leaf(torch)
    y = checkpoint(lambda a: a.detach() * 2, x, use_reentrant=True)
    show(y.requires_grad)
    show.failure(lambda: y.sum().backward())
    show.failure(lambda: torch.utils.checkpoint.detach_variable([x]))
    show([t.requires_grad for t in torch.utils.checkpoint.detach_variable((x, x.detach()))])


def random_state(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint
    for reentrant in (True, False):
        for preserve in (True, False):
            x = torch.ones(40, requires_grad=True)
            torch.manual_seed(5)
            y = checkpoint(lambda a: torch.nn.functional.dropout(a, 0.5) * a, x,
                           use_reentrant=reentrant, preserve_rng_state=preserve)  # fmt: skip
            after = torch.rand(2)
            y.sum().backward()
            show(after.tolist(), torch.rand(2).tolist(), bool((x.grad == 2 * y.detach()).all()))


def mismatches(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint

    def changing(kinds, **options):
        state = iter(kinds)

        def function(a):
            kind = next(state)
            if kind == "more":
                return a.sin().exp().cos()
            if kind == "shape":
                return torch.stack([a, a]).sin().sum(0).exp()
            if kind == "dtype":
                return a.double().sin().float().exp()
            return a.sin().exp()

        x = _leaf(torch)
        show.failure(
            lambda: checkpoint(function, x, use_reentrant=False, **options).sum().backward()
        )

    changing(["plain", "more"])
    changing(["plain", "more"], early_stop=False)
    changing(["more", "plain"])
    changing(["plain", "shape"])
    changing(["plain", "dtype"])
    changing(["plain", "dtype"], determinism_check="none")
    with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        changing(["plain", "more"])
        changing(["plain", "plain"])


def early_stops(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint
    for stop in (True, False):
        seen = []

        def function(a, seen=seen):
            seen.append("start")
            b = a.sin().exp()
            seen.append("middle")
            b = b + 1
            seen.append("end")
            return b

        with torch.utils.checkpoint.set_checkpoint_early_stop(stop):
            y = checkpoint(function, _leaf(torch), use_reentrant=False)
        y.sum().backward()
        show(seen)


def nested(torch, show):
    checkpoint = torch.utils.checkpoint.checkpoint
    for outer in (True, False):
        for inner in (True, False):
            count, x = _Count(), _leaf(torch)

            def function(a, count=count, inner=inner):
                return checkpoint(count, a * 2, use_reentrant=inner) * a

            y = checkpoint(function, x, use_reentrant=outer)
            y.sum().backward()
            show(outer, inner, count.calls, x.grad.numpy().round(3).tolist())
    count, x = _Count(), _leaf(torch)
    y = checkpoint(lambda a: checkpoint(lambda b: checkpoint(count, b, use_reentrant=False), a,
                                        use_reentrant=False), x, use_reentrant=False)  # fmt: skip
    y.sum().backward()
    show(count.calls, x.grad.numpy().round(3).tolist())


def sequential(torch, show):
    for reentrant in (True, False):
        for segments in (1, 2, 3):
            torch.manual_seed(2)
            model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(5)])
            x = torch.randn(2, 3, requires_grad=True)
            y = torch.utils.checkpoint.checkpoint_sequential(
                model, segments, x, use_reentrant=reentrant
            )
            y.sum().backward()
            show(segments, x.grad.numpy().round(3).tolist(),
                 model[0].weight.grad.numpy().round(3).tolist())  # fmt: skip
    show.failure(
        lambda: torch.utils.checkpoint.checkpoint_sequential(
            [torch.sin], 1, torch.ones(1), use_reentrant=False, k=1
        )
    )


def contexts(torch, show):
    log = []

    class Named(contextlib.AbstractContextManager):
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(f"{self.name} opened")

        def __exit__(self, *error):
            log.append(f"{self.name} closed")
            return self.name == "swallow"

    checkpoint = torch.utils.checkpoint.checkpoint
    y = checkpoint(torch.sin, _leaf(torch), use_reentrant=False,
                   context_fn=lambda: (Named("forward"), Named("again")))  # fmt: skip
    y.sum().backward()
    show(log)

    def failing(a):
        raise KeyError("failing")

    show.failure(lambda: checkpoint(failing, _leaf(torch), use_reentrant=False))
    swallowing = lambda: (Named("swallow"), Named("again"))  # noqa: E731
    show.failure(
        lambda: checkpoint(failing, _leaf(torch), use_reentrant=False, context_fn=swallowing)
    )
    show.failure(lambda: checkpoint(torch.sin, _leaf(torch), use_reentrant=False, debug=True,
                                    context_fn=lambda: (Named("a"), Named("b"))))  # fmt: skip
    show([type(c).__name__ for c in torch.utils.checkpoint.noop_context_fn()])


def autocast_again(torch, show):
    w = torch.ones(3, 3, requires_grad=True)
    for reentrant in (True, False):
        seen = []

        def function(a, seen=seen):
            y = a @ w
            seen.append(y.dtype)
            return y

        x = _leaf(torch, 2, 3)
        with torch.autocast("cpu"):
            y = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant)
        y.float().sum().backward()
        show(seen, x.grad.dtype)


def groups(torch, show):
    module = torch.utils.checkpoint
    for grouped in (False, True):
        count, x = _Count(), _leaf(torch)

        def function(a, count=count):
            count.calls += 1
            return a.sin(), a.cos()

        first, second = module.checkpoint(function, x, use_reentrant=False)
        with module.GraphExecGroup() if grouped else contextlib.nullcontext():
            first.sum().backward(retain_graph=True)
            second.sum().backward(retain_graph=True)
            show(count.calls, x.grad.numpy().round(3).tolist())
            show.failure(lambda: second.sum().backward())
    with module.GraphExecGroup():
        show.failure(lambda: module.GraphExecGroup().__enter__())


def saved_by_hand(torch, show):
    x = _leaf(torch)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            for _ in range(2):
                (_,) = ctx.saved_tensors
            return grad * 2

    y = torch.utils.checkpoint.checkpoint(Twice.apply, x, use_reentrant=False)
    show.failure(lambda: y.sum().backward())
    y = torch.utils.checkpoint.checkpoint(lambda a: a.sin(), x * 1, use_reentrant=False)
    show.failure(lambda: y.grad_fn._saved_self.shape)


def backward_inside(torch, show):
    def function(a):
        b = a.sin()
        (g,) = torch.autograd.grad(b.sum(), a, create_graph=True)
        return g * b

    for stop in (True, False):
        x = _leaf(torch)
        with torch.utils.checkpoint.set_checkpoint_early_stop(stop):
            y = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
        show.failure(lambda: y.sum().backward())
        show(None if x.grad is None else x.grad.numpy().round(3).tolist())


def modules(torch, show):
    torch.manual_seed(3)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.norm = torch.nn.BatchNorm1d(4)

        def forward(self, x):
            return x + self.b(torch.relu(self.norm(self.a(x))))

    block = Block()
    x = torch.randn(6, 4)
    for use in (None, True, False):
        block.zero_grad()
        leaf = x.clone().requires_grad_()
        y = block(leaf) if use is None else torch.utils.checkpoint.checkpoint(
            block, leaf, use_reentrant=use)  # fmt: skip
        y.square().sum().backward()
        grads = leaf.grad, block.a.weight.grad
        show([g.numpy().round(2).tolist()[0] for g in grads])
