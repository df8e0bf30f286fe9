"""Module's call: straight to forward, or with hooks before, after and in backward."""

import threading
import warnings

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.modules import module as module_file


class Identity(nn.Module):
    def forward(self, *args, **kwargs):
        return args[0] if not kwargs else (args, kwargs)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Identity()
        self.weight = nn.Parameter(torch.zeros(2))
        self.register_buffer("steps", torch.zeros(1))
        self.register_buffer("cache", None, persistent=False)
        self.width = 3

    def forward(self, x):
        return self.inner(x)


class Failing(nn.Module):
    def forward(self, x):
        raise ValueError("no")


@pytest.fixture
def no_global_hooks():
    yield
    for name, value in vars(module_file).items():
        if name.startswith("_global_") and isinstance(value, dict):
            value.clear()
    module_file._global_is_full_backward_hook = None


# call


def test_call_passes_arguments():
    module = Identity()
    assert module(1) == 1
    assert module(1, 2, key=3) == ((1, 2), {"key": 3})
    assert module(*range(20), key=1)[0] == tuple(range(20))
    assert module(*(1, 2), a=1) == ((1, 2), {"a": 1})
    assert module.__call__(4) == 4 and nn.Module.__call__(module, 5) == 5
    assert list(map(module, [1, 2])) == [1, 2]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Net()()
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required'):
        nn.Module()(1)


def test_forward_on_the_instance_and_changed_on_the_class():
    module = Identity()
    module.forward = lambda x: ("own", x)
    assert module(1) == ("own", 1)
    del module.forward
    assert module(1) == 1

    class Changing(nn.Module):
        def forward(self, x):
            return "first"

    module = Changing()
    assert module(1) == "first"
    Changing.forward = lambda self, x: "second"
    assert module(1) == "second"
    Changing.forward = staticmethod(lambda x: ("static", x))
    assert module(1) == ("static", 1)
    module._parameters["forward"] = None
    assert module(1) == ("static", 1)


def test_own_call():
    class Double(Identity):
        def __call__(self, x):
            return 2 * super().__call__(x)

    assert Double()(4) == 8
    module = Identity()
    assert module(1) == 1
    before = Identity.__call__
    Identity.__call__ = lambda self, x: "patched"
    try:
        assert module(1) == "patched" and Identity()(1) == "patched"
    finally:
        del Identity.__call__
    assert Identity.__call__ == before
    assert module(1) == 1 and Identity()(1) == 1


def test_call_patched_on_module():
    module, before = Identity(), nn.Module.__call__
    assert module(1) == 1
    seen = []

    def patched(self, *args, **kwargs):
        seen.append(type(self).__name__)
        return before(self, *args, **kwargs)

    nn.Module.__call__ = patched
    try:
        assert module(2) == 2 and Net()(3) == 3
    finally:
        nn.Module.__call__ = before
    assert seen == ["Identity", "Net", "Identity"]
    assert module(4) == 4 and len(seen) == 3


def test_own_call_impl():
    class Wrapped(Identity):
        def _call_impl(self, *args, **kwargs):
            return ("wrapped", super()._call_impl(*args, **kwargs))

    module = Wrapped()
    assert module(1) == ("wrapped", 1) and module(1) == ("wrapped", 1)


def test_compiled_call():
    module = Identity()
    module._compiled_call_impl = lambda *args, **kwargs: ("compiled", args, kwargs)
    assert module(1, k=2) == ("compiled", (1,), {"k": 2})
    assert Identity()(1) == 1
    module._compiled_call_impl = None
    assert module(1) == 1


def test_exceptions_are_the_same_object():
    error = KeyError("it")

    class Raises(nn.Module):
        def forward(self):
            raise error

    with pytest.raises(KeyError) as caught:
        Raises()()
    assert caught.value is error
    module = Identity()
    module.register_forward_hook(lambda *a: (_ for _ in ()).throw(error))
    with pytest.raises(KeyError) as caught:
        module(1)
    assert caught.value is error


# forward hooks


def test_order_of_forward_hooks(no_global_hooks):
    order = []

    class Logged(nn.Module):
        def forward(self, x):
            order.append("forward")
            return x

    def note(text):
        return lambda *args: order.append(text)

    module = Logged()
    module.register_forward_pre_hook(note("pre"))
    module.register_forward_pre_hook(note("first pre"), prepend=True)
    module.register_forward_hook(note("post"))
    module.register_forward_hook(note("first post"), prepend=True)
    module_file.register_module_forward_pre_hook(note("global pre"))
    module_file.register_module_forward_hook(note("global post"))
    module(1)
    assert order == ["global pre", "first pre", "pre", "forward", "global post", "first post",
                     "post"]


def test_hooks_change_arguments_and_results():
    module = Identity()
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_pre_hook(lambda m, args: (args[0] * 10,))
    module.register_forward_hook(lambda m, args, out: (args, out))
    module.register_forward_hook(lambda m, args, out: None)
    assert module(1) == ((20,), 20)


def test_hooks_with_kwargs(no_global_hooks):
    module = Identity()
    module.register_forward_pre_hook(
        lambda m, args, kwargs: ((*args, 9), {**kwargs, "more": 1}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, out: (args, kwargs, out), with_kwargs=True
    )
    expected = ((1, 9), {"k": 2, "more": 1})
    assert module(1, k=2) == (*expected, expected)
    handle = module.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True)
    with pytest.raises(RuntimeError) as error:
        module(1)
    assert str(error.value) == (
        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got 5."
    )
    handle.remove()
    seen = []
    module_file.register_module_forward_hook(
        lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    module(1)
    assert seen == [{"more": 1}]


def test_kwargs_reach_forward_past_plain_hooks():
    module = Identity()
    seen = []
    module.register_forward_pre_hook(lambda m, args: seen.append(args))
    assert module(1, k=2) == ((1,), {"k": 2}) and seen == [(1,)]


def test_removed_and_added_while_running():
    module, seen = Identity(), []
    handles = {}

    def once(m, args, out):
        seen.append("once")
        handles["once"].remove()
        handles["second"].remove()
        m.register_forward_hook(lambda *a: seen.append("late"))

    handles["once"] = module.register_forward_hook(once)
    handles["second"] = module.register_forward_hook(lambda *a: seen.append("second"))
    module(1)
    assert seen == ["once", "second"]
    module(1)
    assert seen == ["once", "second", "late"]


def test_recursive_call_from_a_hook():
    module, depth = Identity(), []

    def again(m, args, out):
        depth.append(args[0])
        return m(args[0] - 1) if args[0] else None

    module.register_forward_hook(again)
    assert module(3) == 0 and depth == [3, 2, 1, 0]


def test_a_pre_hook_that_fails_stops_the_call():
    module, seen = Identity(), []

    def fail(m, args):
        raise RuntimeError("stop")

    module.register_forward_pre_hook(fail)
    module.register_forward_hook(lambda *a: seen.append("post"))
    module.register_forward_hook(lambda *a: seen.append(a[2]), always_call=True)
    with pytest.raises(RuntimeError, match="stop"):
        module(1)
    assert seen == [None]


def test_always_call(no_global_hooks):
    module, seen = Failing(), []
    module.register_forward_hook(lambda *a: seen.append("plain"))
    module.register_forward_hook(lambda m, a, out: seen.append((a, out)) or "x", always_call=True)
    module.register_forward_hook(
        lambda m, a, k, out: seen.append((a, k, out)), always_call=True, with_kwargs=True
    )
    module_file.register_module_forward_hook(
        lambda m, a, out: seen.append("global"), always_call=True
    )
    with pytest.raises(ValueError, match="no"):
        module(x=1)
    assert seen == ["global", ((), None), ((), {"x": 1}, "x")]


def test_always_call_that_fails_warns():
    module = Failing()

    def broken(m, args, out):
        raise KeyError("hidden")

    module.register_forward_hook(broken, always_call=True)
    with (
        pytest.warns(UserWarning, match="silenced as another error was raised in forward: 'hid"),
        pytest.raises(ValueError, match="no"),
    ):
        module(1)


def test_always_called_hooks_run_once():
    module, seen = Identity(), []

    def fail(*args):
        raise ValueError("late")

    module.register_forward_hook(lambda *a: seen.append("always"), always_call=True)
    module.register_forward_hook(fail)
    module.register_forward_hook(lambda *a: seen.append("never run before"), always_call=True)
    with pytest.raises(ValueError, match="late"):
        module(1)
    assert seen == ["always", "never run before"]


def test_interrupts_skip_always_called_hooks():
    seen = []

    class Stops(nn.Module):
        def forward(self):
            raise KeyboardInterrupt

    module = Stops()
    module.register_forward_hook(lambda *a: seen.append(1), always_call=True)
    with pytest.raises(KeyboardInterrupt):
        module()
    assert not seen


# backward hooks


def test_full_backward_hooks(no_global_hooks):
    module, order = Identity(), []
    module.register_full_backward_pre_hook(lambda m, grads: order.append(("pre", grads[0].item())))
    module.register_full_backward_hook(
        lambda m, gi, go: order.append(("post", gi[0].item(), go[0].item()))
    )
    module_file.register_module_full_backward_hook(lambda *a: order.append("global post"))
    module_file.register_module_full_backward_pre_hook(lambda *a: order.append("global pre"))
    x = torch.ones(1, requires_grad=True)
    (module(x) * 3).backward()
    assert order == ["global pre", ("pre", 3.0), "global post", ("post", 3.0, 3.0)]
    assert x.grad.item() == 3.0


def test_full_backward_hook_changes_the_gradient():
    module = Identity()
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 5,))
    x = torch.ones(1, requires_grad=True)
    module(x).backward()
    assert x.grad.item() == 5.0


def test_full_backward_hook_on_an_odd_result():
    class Listed(nn.Module):
        def forward(self, x):
            return [x]

    module = Listed()
    module.register_full_backward_hook(lambda *a: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors "
                                         "but received <class 'list'>"):
        module(torch.ones(1, requires_grad=True))


def test_legacy_backward_hooks(no_global_hooks):
    class Scale(nn.Module):
        def forward(self, x):
            return {"no": 1, "out": x * 2}

    module, seen = Scale(), []
    module.register_backward_hook(lambda m, gi, go: seen.append((m, go[0].item())))
    x = torch.ones(1, requires_grad=True)
    with pytest.warns(FutureWarning, match="Using non-full backward hooks on a Module that does"):
        out = module(x)["out"]
    out.backward()
    assert seen == [(module, 1.0)]
    module_file.register_module_backward_hook(lambda m, gi, go: seen.append("global"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module(x)["out"].backward()
    assert seen[1:] == ["global", (module, 1.0)]


def test_no_backward_hook_without_gradients():
    module, seen = Identity(), []
    module.register_full_backward_hook(lambda *a: seen.append(1))
    x = torch.ones(1)
    assert module(x) is x and not seen


def test_calls_from_several_threads():
    module, failures = Identity(), []

    def work(base):
        for i in range(300):
            handle = module.register_forward_hook(lambda m, a, out: out)
            if module(base + i) != base + i:
                failures.append(base + i)
            handle.remove()

    threads = [threading.Thread(target=work, args=(n * 1000,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and not module._forward_hooks
