"""Small programs about autograd; what they show is recorded from PyTorch, word for word.

Each takes the package and ``show(*values)``; ``show.failure(f)`` shows what ``f()`` raises.
"""

from __future__ import annotations

import re


class Show:
    """Gathers texts; addresses in them are left out."""

    def __init__(self):
        self.lines: list[str] = []

    def __call__(self, *values):
        text = " | ".join(map(str, values))
        self.lines.append(re.sub(r"0x[0-9a-f]+", "0x", text))

    def failure(self, f):
        """Shows the exception of ``f()``, or its result if there is none."""
        try:
            self("result", f())
        except Exception as error:
            # Where C++ warnings and errors come from is not part of the text.
            self(type(error).__name__, str(error).partition("\nException raised from")[0])


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


# ---- Values that change after their gradient was asked for


def retained_then_changed(torch, show):
    x = leaf(torch)

    def shown(change, part=False):
        x.grad = None
        y = x * 1
        kept = y[:2] if part else y
        kept.retain_grad()
        change(y)
        (y * 5).sum().backward()
        show(kept.grad, x.grad)

    shown(lambda y: y.mul_(2))
    shown(lambda y: y.copy_(x * 3))
    shown(lambda y: y[0].mul_(7))
    shown(lambda y: y.mul_(2), part=True)

    def twice(y):
        y.mul_(2)
        y.retain_grad()
        y.mul_(3)

    shown(twice)


def nodes_in_messages(torch, show):
    x = leaf(torch)

    def changed(first, then):
        y = x * 1
        first(y)
        z = y * y
        then(y)
        return z.sum().backward()

    for then in (lambda y: y[0].add_(1), lambda y: y.copy_(x), lambda y: y.add_(1)):
        show.failure(lambda then=then: changed(lambda y: y[:1].zero_(), then))


def atan2_at_the_origin(torch, show):
    for size in (1, 40):
        a, b = (torch.zeros(size, requires_grad=True) for _ in range(2))
        torch.atan2(a, b).sum().backward()
        show(a.grad[0], b.grad[0])


# ---- Graphs that were freed


def freed_graph(torch, show):
    x = leaf(torch)
    y = (x * x).sum()
    y.backward()
    show(x.grad)
    show.failure(y.backward)
    show.failure(lambda: torch.autograd.grad(y, x))


def retained_graph(torch, show):
    x = leaf(torch)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    show(x.grad)
    show.failure(y.backward)


def sums_save_nothing(torch, show):
    x = leaf(torch)
    y = (x + 1).sum()
    y.backward()
    show.failure(y.backward)
    show(x.grad)


def freed_values_of_nodes(torch, show):
    x = leaf(torch)
    y = x * x
    show(y.grad_fn._saved_self)
    y.sum().backward()
    show.failure(lambda: y.grad_fn._saved_self)


def created_graph(torch, show):
    x = leaf(torch)
    (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    show(first, first.requires_grad)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    show(second)
    (third,) = torch.autograd.grad(second.sum(), x)
    show(third, third.requires_grad)


def accumulated_graph(torch, show):
    x = leaf(torch)
    (x * x).sum().backward(create_graph=True)
    show(x.grad.requires_grad, x.grad.detach())
    x.grad.sum().backward()
    show(x.grad.detach())


# ---- Arguments of backward and grad


def arguments(torch, show):
    x, unused = leaf(torch), leaf(torch, 5.0)
    y = x * 2
    show.failure(y.backward)
    show.failure(lambda: y.backward(torch.ones(2)))
    show.failure(lambda: y.backward(torch.ones(3, 1)))
    show.failure(lambda: torch.ones(1).backward())
    show.failure(lambda: torch.autograd.backward([y.sum(), torch.ones(1)]))
    show.failure(lambda: torch.autograd.backward([y.sum()], [3]))
    show.failure(lambda: torch.autograd.backward([y.sum(), y.sum()], [None]))
    show.failure(lambda: y.sum().backward(inputs=[]))
    show.failure(lambda: torch.autograd.grad(y.sum(), []))
    show.failure(lambda: torch.autograd.grad(y.sum(), unused))
    show.failure(lambda: torch.autograd.grad(y.sum(), torch.ones(1)))
    show.failure(lambda: torch.autograd.grad(torch.ones(1), x))
    show(torch.autograd.grad(y.sum(), [x, unused], allow_unused=True))
    y = x * 2
    show(torch.autograd.grad(y.sum(), [x, unused], materialize_grads=True))
    show.failure(
        lambda: torch.autograd.grad(
            y.sum(), [x], materialize_grads=True, allow_unused=False
        )
    )
    show.failure(lambda: (x * 2).to(torch.complex64).sum().backward())
    show.failure(lambda: (x * 2).backward(torch.ones(3, dtype=torch.complex64)))


def chosen_inputs(torch, show):
    a, b = leaf(torch), leaf(torch, 4.0, 5.0, 6.0)
    middle = a * b
    y = (middle * b).sum()
    y.backward(inputs=[a], retain_graph=True)
    show(a.grad, b.grad, middle.is_leaf)
    y.backward(inputs=[b, middle], retain_graph=True)
    show(a.grad, b.grad, middle.grad)
    show(torch.autograd.grad(y, [middle, a, b]))


def several_roots(torch, show):
    x = leaf(torch)
    y, z = x * 2, x * 3
    torch.autograd.backward([y, z], [torch.ones(3), torch.tensor([1.0, 10.0, 100.0])])
    show(x.grad)
    w = (x * x).sum()
    torch.autograd.backward([w, w])
    show(x.grad)


def batched_gradients(torch, show):
    x = leaf(torch)
    y = x * x
    eye = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    show(torch.autograd.grad(y, x, eye, is_grads_batched=True))


# ---- In-place: leaves, views, bases, versions


def in_place_on_leaves(torch, show):
    x = leaf(torch)
    show.failure(lambda: x.add_(1))
    show.failure(lambda: x.view(3).add_(1))
    show.failure(lambda: x[0:1].mul_(2))
    show.failure(lambda: x.detach().add_(1))
    with torch.no_grad():
        x.add_(1)
    show(x, x._version)
    x.data.add_(1)
    show(x, x._version)


def in_place_chains(torch, show):
    x = leaf(torch)
    y = x * 1
    y.mul_(3)
    y.add_(x)
    show(y.grad_fn, y._version)
    y.sum().backward()
    show(x.grad)


def versions_of_saved_inputs(torch, show):
    x = leaf(torch)
    y = x * 1
    z = y * y
    y.add_(1)
    show.failure(z.sum().backward)
    y = x * 1
    z = y + y
    y.add_(1)
    z.sum().backward()
    show(x.grad)


def versions_through_views_and_detach(torch, show):
    x = leaf(torch)
    w = torch.ones(3)
    y = x * w
    w[1:2].add_(1)
    show.failure(y.sum().backward)
    w = torch.ones(3)
    y = x * w
    w.detach().add_(1)
    show.failure(y.sum().backward)
    w = torch.ones(3)
    y = x * w
    w.data.add_(1)
    y.sum().backward()
    show(x.grad)


def in_place_on_views(torch, show):
    x = leaf(torch)
    base = x * 1
    part = base[1:]
    part.mul_(10)
    show(base, base.grad_fn, part, part.grad_fn)
    base.sum().backward()
    show(x.grad)


def in_place_on_bases(torch, show):
    x = leaf(torch)
    base = x * 1
    part = base[1:]
    before = part.grad_fn.name()
    base.mul_(5)
    show(before, part.grad_fn.name(), part, part._is_view(), part._base is base)
    part.sum().backward()
    show(x.grad)


def values_written_into_views(torch, show):
    x = leaf(torch)
    total = torch.zeros(2, 3)
    total[0].copy_(x)
    total[1].copy_(x * 2)
    show(total, total.requires_grad)
    (total * total).sum().backward()
    show(x.grad)


def views_of_views(torch, show):
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    base = x * 1
    row = base[0]
    pair = row[1:]
    pair.mul_(2)
    show(row, base, row.grad_fn.name(), pair._base is base)
    (base * base).sum().backward()
    show(x.grad)


def several_views_of_one_op(torch, show):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = x * 1
    first, _ = base.unbind(0)
    show.failure(lambda: first.mul_(2))
    parts = (x * 1).split(1)
    show.failure(lambda: parts[0].add_(1))
    parts = (x * 1).chunk(2)
    show.failure(lambda: parts[1].zero_())
    base = x * 1
    first, _ = base.unbind(0)
    base.mul_(2)
    show.failure(lambda: first.grad_fn)


def views_made_without_recording(torch, show):
    x = leaf(torch)
    base = x * 1
    with torch.no_grad():
        part = base[1:]
    show(part.requires_grad, part.grad_fn, part._is_view())
    show.failure(lambda: part.mul_(2))
    with torch.no_grad():
        part.mul_(2)
    show(base)
    free = torch.ones(3)
    with torch.no_grad():
        part = free[1:]
    show.failure(lambda: part.mul_(x[1:]))


def view_of_tensor_that_needs_later(torch, show):
    x = leaf(torch, 7.0)
    total = torch.zeros(3)
    part = total[1:2]
    part.copy_(x)
    show(total, total.grad_fn.name(), part.grad_fn.name())
    total.sum().backward()
    show(x.grad)


# ---- detach, leaves, requires_grad


def detach_rules(torch, show):
    x = leaf(torch)
    y = (x * 2).detach()
    show(y.requires_grad, y.grad_fn, y.is_leaf, y._is_view(), y.data_ptr() == y.data_ptr())
    z = x * 2
    z.detach_()
    show(z.requires_grad, z.is_leaf)
    show.failure(lambda: (x * 2)[1:].detach_())
    d = x.detach()
    d.requires_grad_()
    (d * d).sum().backward()
    show(x.grad, d.grad)


def flag_rules(torch, show):
    show.failure(lambda: torch.tensor([1, 2], requires_grad=True))
    show.failure(lambda: torch.tensor([1, 2]).requires_grad_())
    x = leaf(torch)

    def switch_off():
        (x * 2).requires_grad = False

    def wrong_kind():
        x.requires_grad = 1

    show.failure(switch_off)
    show.failure(wrong_kind)
    x.requires_grad_(False)
    show(x.requires_grad, (x * 2).requires_grad)


def gradient_attribute(torch, show):
    x = leaf(torch)

    def assign(value):
        x.grad = value

    show.failure(lambda: assign(torch.ones(2)))
    show.failure(lambda: assign(torch.ones(3, dtype=torch.float64)))
    show.failure(lambda: assign(3))
    show.failure(lambda: assign(x))
    assign(torch.ones(3))
    (x * 2).sum().backward()
    show(x.grad)
    assign(None)
    show(x.grad)
    y = x * 2
    y.retain_grad()
    show(y.retains_grad, x.retains_grad)
    (y * y).sum().backward()
    show(y.grad, x.grad)
    show.failure(lambda: torch.ones(1).retain_grad())


def accumulation(torch, show):
    x = leaf(torch)
    grads = []
    for factor in (1.0, 2.0):
        (x * factor).sum().backward()
        grads.append(x.grad)
    show(x.grad, grads[0] is grads[1])
    x.grad = None
    given = torch.ones(3)
    (x * 1).backward(given)
    show(x.grad is given, x.grad.data_ptr() == given.data_ptr())


# ---- Switches


def no_grad_rules(torch, show):
    x = leaf(torch)
    with torch.no_grad():
        y = x * 2
        show(torch.is_grad_enabled(), y.requires_grad, y.grad_fn)
        with torch.enable_grad():
            show(torch.is_grad_enabled(), (x * 2).requires_grad)
        made = torch.ones(1, requires_grad=True)
        show(made.requires_grad)
    show(torch.is_grad_enabled())
    with torch.set_grad_enabled(False):
        show((x * 2).requires_grad)
    torch.set_grad_enabled(False)
    show(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    try:
        with torch.no_grad():
            raise ValueError("x")
    except ValueError:
        show(torch.is_grad_enabled())


def switches_as_decorators(torch, show):
    @torch.no_grad()
    def off(x):
        """Doubles."""
        return x * 2

    @torch.no_grad
    def bare(x):
        return x * 2

    @torch.enable_grad()
    def on(x):
        return (x * 2).requires_grad

    @torch.no_grad()
    def steps(x):
        got = yield torch.is_grad_enabled()
        yield got, torch.is_grad_enabled()
        return "end"

    @torch.set_grad_enabled(False)
    def set_off():
        return torch.is_grad_enabled()

    x = leaf(torch)
    show(off(x).requires_grad, off.__name__, off.__doc__, bare(x).requires_grad)
    with torch.no_grad():
        show(on(x))
    generator = steps(x)
    show(next(generator), torch.is_grad_enabled())
    show(generator.send(5), torch.is_grad_enabled())
    try:
        next(generator)
    except StopIteration as end:
        show(end.value)
    show(set_off(), torch.is_grad_enabled())


def inference_rules(torch, show):
    x = leaf(torch)
    free = torch.ones(3)
    with torch.inference_mode():
        y = x * 2
        show(y.is_inference(), y.requires_grad, torch.is_inference_mode_enabled())
        show(torch.is_grad_enabled())
        part = free[1:]
        show(part.is_inference())
        y.add_(1)
    show(torch.is_inference_mode_enabled())
    show.failure(lambda: y.add_(1))
    show.failure(lambda: y * x)
    show.failure(lambda: y.requires_grad_())
    show.failure(lambda: y._version)
    show((y * 2).is_inference(), y.clone().is_inference())
    with torch.inference_mode(), torch.inference_mode(False):
        show((x * 2).requires_grad)

    @torch.inference_mode()
    def run():
        return torch.is_inference_mode_enabled()

    show(run(), torch.is_inference_mode_enabled())


# ---- Hooks


def tensor_hooks(torch, show):
    x = leaf(torch)
    y = x * 2
    order = []
    y.register_hook(lambda g: order.append(("y first", g.tolist())))
    handle = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: order.append(("y last", g.tolist())))
    x.register_hook(lambda g: order.append(("x", g.tolist())))
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    show(order, x.grad, y.grad)
    handle.remove()
    handle.remove()
    order.clear()
    x.grad = y.grad = None
    y.sum().backward()
    show(order, x.grad, y.grad)
    show.failure(lambda: torch.ones(1).register_hook(print))


def hooks_that_misbehave(torch, show):
    x = leaf(torch)

    def attempt(hook):
        y = x * 2
        y.register_hook(hook)
        y.sum().backward()

    def fails(grad):
        raise KeyError("mine")

    show.failure(lambda: attempt(lambda g: 3))
    show.failure(lambda: attempt(fails))
    show(x.grad)


def results_of_hooks(torch, show):
    """What hooks may return, and what is said of the rest."""
    results = (
        3, "a", [], torch.ones(3), torch.ones(2).double(), torch.ones(2).long(),
        torch.ones(2, dtype=torch.complex64), torch.ones(2, device="meta"), torch.ones(()),
        (torch.ones(2),), (torch.ones(3),), (torch.ones(2).double(),), (1,), (None,), (), {},
        (torch.ones(2), torch.ones(2)), [torch.ones(2)],
    )
    for kind in ("tensor", "leaf", "node", "prehook", "accumulated"):
        for result in results:
            x = leaf(torch, 1.0, 2.0)
            y = x * 2

            def hook(*given, result=result):
                return result

            if kind == "tensor":
                y.register_hook(hook)
            elif kind == "leaf":
                x.register_hook(hook)
            elif kind == "node":
                y.grad_fn.register_hook(hook)
            elif kind == "prehook":
                y.grad_fn.register_prehook(hook)
            else:
                x.register_post_accumulate_grad_hook(hook)
            show.failure(lambda y=y: y.sum().backward())
            show(kind, x.grad)


def node_hooks(torch, show):
    x = leaf(torch)
    y = x * 2
    order = []
    y.register_hook(lambda g: order.append("tensor"))
    y.grad_fn.register_hook(lambda made, given: order.append(("after", made, given)))
    y.grad_fn.register_prehook(lambda given: order.append(("before", given)))
    handle = y.grad_fn.register_hook(lambda made, given: (made[0] * 3, *made[1:]))
    y.sum().backward(retain_graph=True)
    for line in order:
        show(line)
    show(x.grad)
    handle.remove()
    x.grad = None
    y.sum().backward()
    show(x.grad)


def hooks_after_accumulation(torch, show):
    x = leaf(torch)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    show(seen, x.grad)
    show.failure(lambda: (x * 2).register_post_accumulate_grad_hook(print))


def hooks_and_in_place(torch, show):
    x = leaf(torch)
    y = x * 2
    order = []
    y.register_hook(lambda g: order.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: order.append(("after", g.tolist())))
    y.sum().backward()
    show(order, x.grad)


def hooks_over_several_tensors(torch, show):
    graph = torch.autograd.graph
    a, b, c = leaf(torch, 1.0), leaf(torch, 2.0), leaf(torch, 3.0)
    seen = []
    handle = graph.register_multi_grad_hook((a, b, c), lambda grads: seen.append(grads))
    (a * b).sum().backward()
    (a * c).sum().backward()
    handle.remove()
    (a * c).sum().backward()
    show(seen)
    seen.clear()
    graph.register_multi_grad_hook((a, b), seen.append, mode="any")
    (a * b).sum().backward()
    show(len(seen))


# ---- The graph


def names_and_edges(torch, show):
    x, w = leaf(torch), leaf(torch, 2.0, 2.0, 2.0)
    y = ((x * w + 1) * 2 - x).sum()

    def walk(node, depth):
        if node is None:
            show("  " * depth + "None")
            return
        show("  " * depth + node.name())
        for following, _ in node.next_functions:
            walk(following, depth + 1)

    walk(y.grad_fn, 0)
    first = (x * 2).grad_fn
    show(first.next_functions[0][0].variable is x, first.next_functions)
    show(isinstance(first, torch.autograd.graph.Node), type(first).__name__)
    show(y.grad_fn is y.grad_fn, y.grad_fn)


def edges_of_the_graph(torch, show):
    graph = torch.autograd.graph
    x = leaf(torch)
    y = x * 2
    edge = graph.get_gradient_edge(y)
    show(edge.node is y.grad_fn, edge.output_nr)
    z = (y * y).sum()
    show(torch.autograd.grad(z, edge))
    show.failure(lambda: graph.get_gradient_edge(torch.ones(1)))


def hooks_on_saved_tensors(torch, show):
    graph = torch.autograd.graph
    x = leaf(torch)
    order = []

    def pack(t):
        order.append(("pack", t.tolist()))
        return t.tolist()

    def unpack(values):
        order.append(("unpack", values))
        return torch.tensor(values)

    with graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).sum()
    y.backward()
    show(order, x.grad)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        z = (x * x * x).sum()
    (first,) = torch.autograd.grad(z, x, create_graph=True)
    show(torch.autograd.grad(first.sum(), x))

    def forbidden():
        with (
            graph.disable_saved_tensors_hooks("not here"),
            graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        ):
            pass

    show.failure(forbidden)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = (x * x).sum()
    show.failure(y.backward)
    with graph.save_on_cpu():
        y = (x * x).sum()
    x.grad = None
    y.backward()
    show(x.grad)


def reentrant(torch, show):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                y = x.detach().requires_grad_()
                z = (y * y).sum()
            z.backward()
            return grad * y.grad

    x = leaf(torch)
    Inner.apply(x).sum().backward()
    show(x.grad)


def complex_gradients(torch, show):
    x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * x
    show.failure(lambda: y.sum().backward())
    (y.real.sum() + y.imag.sum()).backward()
    show(x.grad)


def dtypes_meet(torch, show):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    (x * w).sum().backward()
    show(x.grad, w.grad)
    b = torch.tensor([[1.0], [2.0]], requires_grad=True)
    (x * b).sum().backward()
    show(b.grad)


def anomaly(torch, show):
    import warnings

    class NaN(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    x = leaf(torch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            y = NaN.apply(x)
            show(torch.is_anomaly_enabled())
            show.failure(y.sum().backward)
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            NaN.apply(x).sum().backward()
        show(torch.is_anomaly_enabled(), x.grad)
    show([str(w.message).splitlines()[0] for w in caught])


def all_programs():
    """The programs of this file and of functions.py, with their names."""
    from . import functions

    for place in (globals(), vars(functions)):
        for name, value in list(place.items()):
            code = getattr(value, "__code__", None) if callable(value) else None
            if code is not None and code.co_varnames[:2] == ("torch", "show"):
                yield name, value


# ---- Indices that change after their use


def changed_indices(torch, show):
    def indices():
        yield torch.tensor([0, 2])
        yield torch.tensor([True, False, True])
        yield torch.tensor(True)
        yield torch.tensor(1)

    for write in (False, True):
        for index in indices():
            x = leaf(torch)
            y = x * 1
            if write:
                y[index] = x[:1] * 3
            else:
                y = y[index]
            index.zero_()
            show.failure(lambda x=x, y=y: torch.autograd.grad(y.sum(), x))


def names_of_changed_types(torch, show):
    for name in ("bool", "bfloat16", "float16", "complex64", "int16", "float64"):
        x = leaf(torch)
        other = torch.ones(3, dtype=getattr(torch, name))
        y = torch.where(other, x, 2.0) if name == "bool" else x * other
        other.zero_()
        show.failure(lambda x=x, y=y: torch.autograd.grad(abs(y).sum(), x))
