# Module's base: state, attributes, call and hooks, with PyTorch's order and messages.
import copy
import gc
import pickle
import threading
import warnings
import weakref
from collections import OrderedDict
from typing import Generic, TypeVar

import pytest
import rushlight as torch
from rushlight import nn
from rushlight.nn.modules import module as module_file

STATE = [
    "training", "_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_pre_hooks",
    "_backward_hooks", "_is_full_backward_hook", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks", "_modules",
]


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


# state


def test_state_in_the_instance_dict():
    module = nn.Module()
    assert list(vars(module)) == STATE
    assert module.training is True and module._is_full_backward_hook is None
    for name in STATE:
        value = vars(module)[name]
        if name.endswith("_hooks") or name.endswith(("_kwargs", "_always_called")):
            if name != "_is_full_backward_hook":
                assert type(value) is OrderedDict
    for name in ("_parameters", "_buffers", "_modules"):
        assert type(vars(module)[name]) is dict
    assert type(module._non_persistent_buffers_set) is set


def test_init_refuses_arguments():
    message = r"Module.__init__\(\) got an unexpected keyword argument 'size'"
    with pytest.raises(TypeError, match=message):
        nn.Module(size=3)
    message = r"Module.__init__\(\) takes 1 positional argument but 3 were given"
    with pytest.raises(TypeError, match=message):
        nn.Module(1, 2)

    class Wide(nn.Module):
        def __init__(self):
            super().__init__(width=1)

    with pytest.raises(TypeError, match=r"Wide.__init__\(\) got an unexpected keyword"):
        Wide()


def test_call_super_init():
    class Mixin:
        def __init__(self, size, *, scale=1):
            self.size, self.scale = size, scale

    class Both(nn.Module, Mixin):
        call_super_init = True

    both = Both(4, scale=2)
    assert (both.size, both.scale, both.training) == (4, 2, True)

    class One(nn.Module, Mixin):
        pass

    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        One(4)


def test_second_init_resets_the_state():
    net = Net()
    net.eval()
    nn.Module.__init__(net)
    assert net.training and not net._parameters and not net._modules and net.width == 3


def test_attributes_before_init():
    class Early(nn.Module):
        def __init__(self, value):
            self.value = value

    assert Early(3).value == 3
    with pytest.raises(AttributeError, match=r"^cannot assign module before Module.__init__\(\)"):
        Early(nn.Module())
    with pytest.raises(AttributeError, match=r"^cannot assign parameters before Module.__init__"):
        Early(nn.Parameter(torch.zeros(1)))
    with pytest.raises(AttributeError, match="'Early' object has no attribute '_backward_hooks'"):
        Early(3)(1)
    with pytest.raises(AttributeError, match="'Early' object has no attribute 'other'"):
        _ = Early(3).other
    with pytest.raises(AttributeError, match="'Early' object has no attribute '_parameters'"):
        del Early(3).value


# look-up


def test_lookup_order():
    net = Net()
    assert net.weight is net._parameters["weight"]
    assert net.inner is net._modules["inner"]
    assert net.steps is net._buffers["steps"]
    assert net.cache is None and net.width == 3
    net._buffers["weight"] = "buffer"
    net._modules["steps"] = "module"
    assert net.weight is net._parameters["weight"] and net.steps is net._buffers["steps"]
    net.__dict__["weight"] = "plain"
    assert net.weight == "plain"


def test_class_attributes_win():
    class Shadow(nn.Module):
        constant = 5

        @property
        def weight(self):
            return "property"

    net = Shadow()
    net._parameters["constant"] = net._parameters["weight"] = nn.Parameter(torch.zeros(1))
    assert net.constant == 5 and net.weight == "property"
    net.__dict__["weight"] = net.__dict__["constant"] = "plain"
    assert net.weight == "property" and net.constant == "plain"


def test_missing_attribute_message():
    net = Net()
    with pytest.raises(AttributeError) as error:
        _ = net.nothing
    assert str(error.value) == "'Net' object has no attribute 'nothing'"
    with pytest.raises(AttributeError) as error:
        net.__getattr__("width")
    assert str(error.value) == "'Net' object has no attribute 'width'"
    assert net.__getattr__("weight") is net.weight
    assert not hasattr(net, "nothing") and getattr(net, "nothing", 1) == 1


def test_failing_property():
    class Lazy(nn.Module):
        @property
        def broken(self):
            return self.absent

        @property
        def wrong(self):
            raise KeyError("wrong")

    lazy = Lazy()
    with pytest.raises(AttributeError, match="'Lazy' object has no attribute 'broken'"):
        _ = lazy.broken
    with pytest.raises(KeyError, match="wrong"):
        _ = lazy.wrong
    lazy._parameters["broken"] = 7
    assert lazy.broken == 7


def test_own_getattr_with_super():
    asked = []

    class Wrapper(nn.Module):
        def __init__(self, wrapped):
            super().__init__()
            self.wrapped = wrapped

        def __getattr__(self, name):
            asked.append(name)
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.wrapped, name)

    wrapper = Wrapper(Net())
    assert wrapper.width == 3 and asked == ["width", "wrapped"]
    assert isinstance(wrapper.wrapped, Net)
    with pytest.raises(AttributeError, match="'Identity' object has no attribute 'gone'"):
        Wrapper(Identity()).gone  # noqa: B018


def test_own_getattribute():
    class Counting(Net):
        seen = []

        def __getattribute__(self, name):
            Counting.seen.append(name)
            return super().__getattribute__(name)

    net = Counting()
    assert net.weight is net._parameters["weight"]
    assert "weight" in Counting.seen
    x = torch.zeros(1)
    assert net(x) is x
    assert "forward" in Counting.seen


def test_getattr_given_to_a_class_later():
    class Later(nn.Module):
        pass

    later = Later()
    assert not hasattr(later, "x")
    Later.__getattr__ = lambda self, name: name
    assert later.x == "x" and Later().y == "y"
    del Later.__getattr__
    assert not hasattr(later, "x") and not hasattr(Later(), "y")


def test_descriptors_without_set_yield_to_the_instance():
    class Reader:
        def __get__(self, instance, owner):
            return "class"

    class Read(nn.Module):
        reader = Reader()

    read = Read()
    assert read.reader == "class"
    read.__dict__["reader"] = "instance"
    assert read.reader == "instance"


# assignment


def test_parameter_replaces_every_other_kind():
    net = Net()
    parameter = nn.Parameter(torch.ones(1))
    for name in ("inner", "steps", "cache", "width"):
        setattr(net, name, parameter)
        assert net._parameters[name] is parameter
    assert not net._modules and not net._buffers and "width" not in vars(net)
    assert not net._non_persistent_buffers_set


def test_module_replaces_every_other_kind():
    net = Net()
    child = Identity()
    for name in ("steps", "cache", "width"):
        setattr(net, name, child)
        assert net._modules[name] is child
    assert not net._buffers and not net._non_persistent_buffers_set and "width" not in vars(net)
    assert list(net._modules) == ["inner", "steps", "cache", "width"]
    with pytest.raises(TypeError, match="Identity' as parameter 'weight'"):
        net.weight = child


def test_none_keeps_the_place():
    net = Net()
    net.weight = None
    net.inner = None
    net.steps = None
    assert (net._parameters["weight"], net._modules["inner"], net._buffers["steps"]) == (None,) * 3
    assert net.weight is None and "weight" not in vars(net)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", 3.0, "cannot assign 'float' as parameter 'weight' "
                        "(torch.nn.Parameter or None expected)"),
        ("weight", [1], "cannot assign 'list' as parameter 'weight' "
                        "(torch.nn.Parameter or None expected)"),
        ("inner", "text", "cannot assign 'str' as child module 'inner' "
                          "(torch.nn.Module or None expected)"),
        ("steps", 5, "cannot assign 'int' as buffer 'steps' "
                     "(torch.nn.Buffer, torch.Tensor or None expected)"),
    ],
)
def test_wrong_kinds(name, value, message):
    net = Net()
    before = getattr(net, name)
    with pytest.raises(TypeError) as error:
        setattr(net, name, value)
    assert str(error.value) == message
    assert getattr(net, name) is before


def test_plain_tensor_is_no_parameter():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' as parameter 'weight'"):
        net.weight = torch.zeros(2)
    net.plain = torch.zeros(2)
    assert "plain" in vars(net) and "plain" not in net._buffers


def test_buffers():
    net = Net()
    value = torch.ones(1)
    net.steps = value
    net.cache = value
    assert net._buffers["steps"] is value and net._buffers["cache"] is value
    assert net._non_persistent_buffers_set == {"cache"}
    net.made = nn.Buffer(torch.zeros(1), persistent=False)
    assert "made" in net._buffers and net._non_persistent_buffers_set == {"cache", "made"}
    net.made = nn.Buffer(torch.zeros(1))
    assert net._non_persistent_buffers_set == {"cache"}
    del net.cache
    assert "cache" not in net._buffers and not net._non_persistent_buffers_set


def test_buffer_with_overridden_register_buffer():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)
            self.__dict__.setdefault("seen", []).append(name)

    class Renamed(nn.Module):
        def register_buffer(self, name, tensor, persistent=True):
            super().register_buffer(name, tensor, persistent)
            self.__dict__.setdefault("seen", []).append((name, persistent))

    old = Old()
    old.register_buffer("b", torch.zeros(1))
    old.b = torch.ones(1)
    assert old.seen == ["b", "b"]
    with pytest.raises(RuntimeError, match="Registering a non-persistent buffer on a Module"):
        old.c = nn.Buffer(torch.zeros(1), persistent=False)
    renamed = Renamed()
    renamed.c = nn.Buffer(torch.zeros(1), persistent=False)
    renamed.c = torch.ones(1)
    assert renamed.seen == [("c", False), ("c", False)]


def test_register_parameter_override_is_called():
    seen = []

    class Watch(nn.Module):
        def register_parameter(self, name, param):
            seen.append(name)
            super().register_parameter(name, param)

    watch = Watch()
    watch.w = nn.Parameter(torch.zeros(1))
    watch.w = None
    assert seen == ["w", "w"] and watch._parameters == {"w": None}


def test_registration_hooks():
    seen = []
    other = Identity()

    def on_module(module, name, child):
        seen.append((name, child))
        return other if name == "swapped" else None

    handle = module_file.register_module_module_registration_hook(on_module)
    buffers = module_file.register_module_buffer_registration_hook(
        lambda module, name, value: seen.append((name, value))
    )
    try:
        net, child, value = nn.Module(), Identity(), torch.zeros(1)
        net.first = child
        net.swapped = child
        net.register_buffer("b", None)
        net.b = value
    finally:
        handle.remove()
        buffers.remove()
    assert net.first is child and net.swapped is other
    assert seen == [("first", child), ("swapped", child), ("b", None), ("b", value)]


def test_deletion():
    net = Net()
    for name in ("inner", "weight", "steps", "width"):
        delattr(net, name)
        assert not hasattr(net, name)
    with pytest.raises(AttributeError):
        del net.width


def test_object_setattr_does_not_register():
    net, child = nn.Module(), Identity()
    object.__setattr__(net, "hidden", child)
    assert vars(net)["hidden"] is child and not net._modules
    assert object.__getattribute__(net, "hidden") is child


def test_setattr_overrides():
    class Guard(nn.Module):
        def __setattr__(self, name, value):
            super().__setattr__(name, ("set", value) if name == "x" else value)

        def __delattr__(self, name):
            super().__delattr__("x" if name == "alias" else name)

    guard = Guard()
    guard.x = 1
    assert guard.x == ("set", 1)
    del guard.alias
    assert not hasattr(guard, "x")


def test_setters_and_next_class():
    class Below:
        def __setattr__(self, name, value):
            super().__setattr__(name, ("below", value) if name == "x" else value)

    class Both(nn.Module, Below):
        @property
        def twice(self):
            return self.half * 2

        @twice.setter
        def twice(self, value):
            self.half = value / 2

    both = Both()
    both.x = 1
    both.twice = 8
    assert both.x == ("below", 1) and both.half == 4 and "twice" not in vars(both)


def test_training_as_a_property():
    class Frozen(nn.Module):
        @property
        def training(self):
            return False

        @training.setter
        def training(self, value):
            self.__dict__["asked"] = value

    frozen = Frozen()
    assert frozen.training is False and frozen.asked is True and "training" not in vars(frozen)


# classes and objects


def test_multiple_inheritance():
    T = TypeVar("T")

    class Before:
        def hello(self):
            return "before"

    class Kind(Before, nn.Module, Generic[T]):
        def forward(self, x):
            return x

    class WithSlots(nn.Module):
        __slots__ = ("extra",)

    kind = Kind[int]()
    child = Identity()
    kind.child = child
    kind.plain = 1
    assert kind.hello() == "before" and kind(3) == 3 and kind.child is child and kind.plain == 1
    slots = WithSlots()
    slots.extra = 2
    assert slots.extra == 2 and "extra" not in vars(slots)


def test_init_subclass_arguments():
    class Base(nn.Module):
        def __init_subclass__(cls, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            cls.tag = tag

    class Tagged(Base, tag="t"):
        def forward(self, x):
            return x

    assert Tagged.tag == "t" and Tagged()(2) == 2
    with pytest.raises(TypeError):

        class Wrong(nn.Module, tag="t"):
            pass


def test_class_may_change():
    net = Net()

    class Other(Net):
        def forward(self, x):
            return "other"

    net.__class__ = Other
    assert net(1) == "other" and isinstance(net.inner, Identity)


def test_new_without_init():
    net = Net.__new__(Net)
    net.__dict__ = dict(vars(Net()))
    x = torch.zeros(1)
    assert net(x) is x and net(x) is x
    bare = object.__new__(Net)
    bare.__dict__.update(vars(Net()))
    assert bare(x) is x


def test_copies_and_pickles():
    net = Net()
    net.inner.register_forward_hook(print_nothing)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert type(twin) is Net and twin.inner is not net.inner
        assert torch.equal(twin.weight, net.weight) and twin.weight is not net.weight
        assert list(vars(twin)) == list(vars(net))
        assert len(twin.inner._forward_hooks) == 1
        x = torch.zeros(1)
        assert twin(x) is x
    shallow = copy.copy(net)
    assert shallow.inner is net.inner and shallow._modules is net._modules


def print_nothing(module, args, output):
    return None


def test_setstate_fills_what_old_states_lack():
    state = {k: v for k, v in vars(Net()).items() if "pre_hooks" not in k and "kwargs" not in k}
    del state["_non_persistent_buffers_set"], state["_is_full_backward_hook"]
    net = Net.__new__(Net)
    net.__setstate__(state)
    assert set(STATE) <= set(vars(net)) and net._is_full_backward_hook is None
    assert type(net._non_persistent_buffers_set) is set
    assert type(net._forward_pre_hooks) is OrderedDict
    assert net(5) == 5


def test_getstate():
    net = Net()
    state = net.__getstate__()
    assert state is not vars(net) and state == vars(net)
    net._compiled_call_impl = len
    assert "_compiled_call_impl" not in net.__getstate__()


def test_weak_references_and_cycles():
    net = Net()
    net.parent_ref = [net]
    net.inner.owner = {"net": net}
    reference = weakref.ref(net)
    del net
    gc.collect()
    assert reference() is None


def test_finaliser_runs():
    ended = []

    class Ends(nn.Module):
        def __del__(self):
            ended.append(self.training)

    Ends()
    gc.collect()
    assert ended == [True]


def test_deep_nesting_is_freed():
    module = nn.Module()
    for _ in range(20000):
        outer = nn.Module()
        outer._modules["inner"] = module
        module = outer
    del module, outer
    gc.collect()


# call


def test_call_passes_arguments():
    module = Identity()
    assert module(1) == 1
    assert module(1, 2, key=3) == ((1, 2), {"key": 3})
    assert module(*range(20), key=1)[0] == tuple(range(20))
    assert module(*(1, 2), **{"a": 1}) == ((1, 2), {"a": 1})
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
        pytest.warns(UserWarning, match="silenced as another error was raised in forward: 'hidden'"),
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
