"""Programs about custom functions."""

from __future__ import annotations


def _leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def function_basics(torch, show):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, name=None):
            ctx.save_for_backward(x)
            ctx.factor = factor
            show(ctx.needs_input_grad, ctx.saved_tensors)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            show(x, grad, ctx.factor, ctx.needs_input_grad)
            return grad * ctx.factor, None

    x = _leaf(torch)
    y = Scale.apply(x, 3.0)
    show(y, y.grad_fn.name(), type(y.grad_fn).__name__, y.grad_fn.factor)
    show(len(y.grad_fn.next_functions), isinstance(y.grad_fn, torch.autograd.graph.Node))
    y.sum().backward()
    show(x.grad)
    show.failure(y.sum().backward)
    with torch.no_grad():
        show(Scale.apply(x, 2.0).requires_grad)
    show(Scale.apply(x.detach(), 2.0).requires_grad)


def wrong_gradients(torch, show):
    def function(backward_):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                return x * 2

            backward = staticmethod(backward_)

        return lambda: Wrong.apply(_leaf(torch), 2).sum().backward()

    show.failure(function(lambda ctx, g: g))
    show.failure(function(lambda ctx, g: (g, g)))
    show.failure(function(lambda ctx, g: (g, None, None)))
    show.failure(function(lambda ctx, g: (g, None, g)))
    show.failure(function(lambda ctx, g: (3, None)))
    show.failure(function(lambda ctx, g: (torch.ones(5), None)))
    show.failure(function(lambda ctx, g: (torch.ones(1), None)))
    show.failure(function(lambda ctx, g: (None, None)))
    show.failure(function(lambda ctx: None))

    class Bare(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    show.failure(lambda: Bare.apply(_leaf(torch)).sum().backward())
    show.failure(lambda: torch.autograd.Function.apply(_leaf(torch)))


def several_results(torch, show):
    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, "text", None, y * 3

        @staticmethod
        def backward(ctx, *grads):
            show(grads)
            return grads[0], grads[3]

    x, y = _leaf(torch), _leaf(torch, 1.0)
    results = Several.apply(x, y)
    show(results)
    results[0].sum().backward()
    show(x.grad, y.grad)
    results[3].sum().backward()
    show(x.grad, y.grad)


def missing_gradients(torch, show):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, *grads):
            show(grads)
            return grads[0] if grads[0] is not None else grads[1]

    x = _leaf(torch)
    _, second = Plain.apply(x)
    second.sum().backward()
    show(x.grad)


def non_differentiable_results(torch, show):
    class Order(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            places = torch.tensor([0, 1, 2])
            plain = x * 5
            ctx.mark_non_differentiable(places, plain)
            return x * 2, places, plain

        @staticmethod
        def backward(ctx, *grads):
            show(grads)
            return grads[0]

    x = _leaf(torch)
    y, places, plain = Order.apply(x)
    show(y.requires_grad, places.requires_grad, plain.requires_grad)
    y.sum().backward()
    show(x.grad)


def inputs_returned(torch, show):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 10

    x = _leaf(torch)
    y = Same.apply(x)
    show(y is x, y._is_view(), y.grad_fn.name(), y.data_ptr() == x.data_ptr())
    y.sum().backward()
    show(x.grad)
    show.failure(lambda: y.mul_(2))
    free = torch.ones(2)
    show(Same.apply(free) is free)
    with torch.no_grad():
        z = Same.apply(x)
    show(z is x, z.requires_grad)


def views_returned(torch, show):
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[1:]

        @staticmethod
        def backward(ctx, grad):
            full = torch.zeros(3)
            full[1:].copy_(grad)
            return full

    x = _leaf(torch)
    y = Part.apply(x)
    show(y, y._is_view())
    show.failure(lambda: y.mul_(2))
    y.sum().backward()
    show(x.grad)


def dirty_inputs(torch, show):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Lost(Double):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

    x = _leaf(torch)
    y = x * 1
    z = Double.apply(y)
    show(z is y, z.grad_fn.name(), z)
    z.sum().backward()
    show(x.grad)
    show.failure(lambda: Double.apply(_leaf(torch)))
    show.failure(lambda: Lost.apply(x * 1))
    x.grad = None
    base = x * 1
    part = base[1:]
    Double.apply(part)
    show(base, base.grad_fn.name())
    base.sum().backward()
    show(x.grad)


def dirty_view_among_results(torch, show):
    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.mul_(2), y * 1

        @staticmethod
        def backward(ctx, g, h):
            return g, h

    x = _leaf(torch)
    show.failure(lambda: Pair.apply((x * 1)[0:1], x))
    show([t.tolist() for t in Pair.apply(x * 1, x)])


def wrong_marks(torch, show):
    def function(mark):
        class Marked(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                mark(ctx)
                return x * 2

        return lambda: Marked.apply(_leaf(torch))

    show.failure(function(lambda ctx: ctx.save_for_backward(3)))
    show.failure(function(lambda ctx: ctx.mark_dirty(3)))
    show.failure(function(lambda ctx: ctx.mark_non_differentiable(3)))
    show(function(lambda ctx: ctx.save_for_backward(None))().grad_fn.saved_tensors)


def contexts_set_up_apart(torch, show):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x, power=3):
            return x * x * x, 2 * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, power = inputs
            show(len(output), power)
            ctx.save_for_backward(x, output[1])
            ctx.power = power

        @staticmethod
        def backward(ctx, grad, other):
            x, _ = ctx.saved_tensors
            return grad * ctx.power * x * x + 2 * other, None

    x = _leaf(torch)
    y, z = Cube.apply(x)
    (y.sum() + z.sum()).backward()
    show(x.grad)
    show.failure(lambda: Cube.apply(x, 3, 4))
    show(Cube.apply(x, power=3)[0])

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, grad):
            return grad

    show.failure(lambda: Same.apply(x))


def second_derivatives(torch, show):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    class Output(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            show(y.requires_grad, y.grad_fn is not None)
            return grad * 2 * y / x

    for kind in (Square, Output):
        x = _leaf(torch)
        (first,) = torch.autograd.grad(kind.apply(x).sum(), x, create_graph=True)
        show(first)
        show(torch.autograd.grad(first.sum(), x))


def once_only(torch, show):
    function = torch.autograd.function

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @function.once_differentiable
        def backward(ctx, grad):
            show(torch.is_grad_enabled())
            return grad * 2

    x = _leaf(torch)
    y = Once.apply(x * x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    show(first.detach(), first.requires_grad)
    total = (Once.apply(x) * x).sum()
    show.failure(lambda: torch.autograd.grad(total, x, create_graph=True)[0].sum().backward())


def other_names_of_backward(torch, show):
    class Vjp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    class Both(Vjp):
        @staticmethod
        def backward(ctx, grad):
            return grad

    x = _leaf(torch)
    Vjp.apply(x).sum().backward()
    show(x.grad)
    show.failure(lambda: Both.apply(x).sum().backward())


def hooks_on_functions(torch, show):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = _leaf(torch)
    y = Twice.apply(x)
    y.grad_fn.register_hook(lambda made, given: show("after", made, given))
    y.grad_fn.register_prehook(lambda given: show("before", given))
    y.register_hook(lambda grad: grad * 5)
    y.sum().backward()
    show(x.grad)


def attributes_of_the_context(torch, show):
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.note = "kept"
            ctx.metadata_of_mine = {"a": 1}
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            show(ctx.note, ctx.metadata_of_mine)
            return grad

    x = _leaf(torch)
    y = Keeps.apply(x)
    show(y.grad_fn.note, y.grad_fn is y.grad_fn)
    node = y.grad_fn
    z = y * 1
    del y
    z.sum().backward()
    show(node.note)


def errors_inside(torch, show):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, where):
            ctx.where = where
            if where == "forward":
                raise KeyError("forward")
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ZeroDivisionError("backward")

    x = _leaf(torch)
    show.failure(lambda: Fails.apply(x, "forward"))
    show.failure(lambda: Fails.apply(x, "backward").sum().backward())
    show(torch.is_grad_enabled(), x.grad)
