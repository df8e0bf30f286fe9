"""Module's base: its state, attributes, subclasses and copies, as PyTorch has them."""

import copy
import gc
import pickle
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


# state


def test_state_in_the_instance_dict():
    module = nn.Module()
    assert list(vars(module)) == STATE
    assert module.training is True and module._is_full_backward_hook is None
    for name in STATE:
        value = vars(module)[name]
        if name.endswith(("_hooks", "_kwargs", "_always_called")):
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
    seen = []

    class Counting(Net):
        def __getattribute__(self, name):
            seen.append(name)
            return super().__getattribute__(name)

    net = Counting()
    assert net.weight is net._parameters["weight"]
    assert "weight" in seen
    x = torch.zeros(1)
    assert net(x) is x
    assert "forward" in seen


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
        ("weight", 3.0, "'float' as parameter 'weight' (torch.nn.Parameter or None expected)"),
        ("weight", [1], "'list' as parameter 'weight' (torch.nn.Parameter or None expected)"),
        ("inner", "a", "'str' as child module 'inner' (torch.nn.Module or None expected)"),
        ("steps", 5, "'int' as buffer 'steps' (torch.nn.Buffer, torch.Tensor or None expected)"),
    ],
)
def test_wrong_kinds(name, value, message):
    net = Net()
    before = getattr(net, name)
    with pytest.raises(TypeError) as error:
        setattr(net, name, value)
    assert str(error.value) == f"cannot assign {message}"
    assert getattr(net, name) is before


def test_plain_tensor_is_no_parameter():
    net = Net()
    said = r"cannot assign 'torch\.FloatTensor' as parameter 'weight'"
    with pytest.raises(TypeError, match=said):
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


def test_a_parametrized_weight_is_swapped_through_its_setter():
    net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    before, given = net.weight.detach().clone(), torch.tensor([[3.0, 4.0]])
    made = torch.func.functional_call(net, {"weight": given}, torch.eye(2))
    assert torch.allclose(made, given.t())
    assert torch.allclose(net.weight, before) and "weight" not in net.__dict__
    plain = nn.utils.parametrize.register_parametrization(nn.Linear(2, 1), "weight", nn.Identity())
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        torch.func.functional_call(plain, {"weight": given}, torch.eye(2))
