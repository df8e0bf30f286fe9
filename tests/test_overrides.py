"""__torch_function__: what is asked, with what, and that plain tensors are not."""

import pytest

import rushlight as torch
from rushlight import overrides

HEARD = []


class Listening(torch.Tensor):
    """Notes every call that it is asked about."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        owner = getattr(getattr(func, "__self__", None), "__name__", None)
        HEARD.append((func.__name__, owner, len(args), kwargs))
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture
def x():
    made = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Listening)
    HEARD.clear()
    return made


CALLS = {
    "shape": (lambda x: x.shape, ("__get__", "shape", 1, None)),
    "T": (lambda x: x.T, ("__get__", "T", 1, None)),
    "grad": (lambda x: x.grad, ("__get__", "grad", 1, None)),
    "ndim": (lambda x: x.ndim, ("__get__", "ndim", 1, None)),
    "is_leaf": (lambda x: x.is_leaf, ("__get__", "is_leaf", 1, None)),
    "requires_grad": (
        lambda x: setattr(x, "requires_grad", True),
        ("__set__", "requires_grad", 2, None),
    ),
    "delete": (lambda x: delattr(x, "grad"), ("__delete__", "grad", 1, None)),
    "data": (lambda x: setattr(x, "data", torch.zeros(2, 2)), ("__set__", "data", 2, None)),
    "size": (lambda x: x.size(), ("size", None, 1, None)),
    "size0": (lambda x: x.size(0), ("size", None, 2, None)),
    "numel": (lambda x: x.numel(), ("numel", None, 1, None)),
    "dim": (lambda x: x.dim(), ("dim", None, 1, None)),
    "stride": (lambda x: x.stride(), ("stride", None, 1, None)),
    "tolist": (lambda x: x.tolist(), ("tolist", None, 1, None)),
    "len": (lambda x: len(x), ("__len__", None, 1, None)),
    "to": (lambda x: x.to(torch.float64), ("to", None, 2, None)),
    "float": (lambda x: x.float(), ("float", None, 1, None)),
    "requires_grad_": (lambda x: x.requires_grad_(), ("requires_grad_", None, 1, None)),
    "data_ptr": (lambda x: x.data_ptr(), ("data_ptr", None, 1, None)),
    "is_contiguous": (lambda x: x.is_contiguous(), ("is_contiguous", None, 1, None)),
    "getitem": (lambda x: x[0], ("__getitem__", None, 2, None)),
    "abs": (lambda x: abs(x), ("abs", None, 1, None)),
    "add": (lambda x: torch.add(x, 1), ("add", None, 2, None)),
}


@pytest.mark.parametrize("name", CALLS)
def test_asked(x, name):
    call, heard = CALLS[name]
    call(x)
    assert HEARD[0] == heard


@pytest.mark.parametrize(
    ("kind", "name"), [(bool, "__bool__"), (int, "__int__"), (float, "__float__")]
)
def test_numbers_are_asked(x, kind, name):
    assert kind(x[0, 0]) == 1
    assert [h[0] for h in HEARD] == ["__getitem__", name]


def test_item_backward_and_repr(x):
    x.requires_grad_()
    total = x.sum()
    HEARD.clear()
    assert total.item() == 10
    total.backward()
    assert [h[0] for h in HEARD] == ["item", "backward"]
    HEARD.clear()
    repr(x)
    assert HEARD[0][0] == "__repr__"


def test_results_keep_their_class(x):
    assert type(x.T) is Listening
    assert type(x.float()) is Listening
    assert x.grad is None


def test_getter_is_the_same_object_by_equality(x):
    seen = []

    class Other(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return "answer"

    y = torch.zeros(1).as_subclass(Other)
    assert y.shape == "answer"
    assert y.numel() == "answer"
    assert seen == [torch.Tensor.shape.__get__, torch.Tensor.numel]


def test_disabled(x):
    with torch._C.DisableTorchFunctionSubclass():
        assert x.shape == (2, 2)
        assert type(x + 1) is torch.Tensor
    assert HEARD == []


def test_mode_hears_properties_and_methods():
    names = []

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    t = torch.ones(2)
    with Mode():
        t.shape, t.numel(), len(t), torch.add(t, t)
    assert names == [
        "torch.Tensor.shape.__get__", "torch.Tensor.numel", "torch.Tensor.__len__", "torch.add",
    ]  # fmt: skip


def test_plain_tensors_are_not_asked():
    t = torch.ones(2)
    assert not overrides.has_torch_function((t, 1, None))
    assert not overrides.has_torch_function_unary(t)
    assert overrides.is_tensor_like(t)
    assert not overrides.is_tensor_like(3)


def test_functions_of_python():
    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def joined(a, b):
        return "plain"

    class Foreign:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "foreign", func is joined, args[1]

    assert joined(torch.ones(1), 2) == "plain"
    assert joined(Foreign(), 2) == ("foreign", True, 2)
    assert overrides.has_torch_function_variadic(1, Foreign())
    assert overrides.handle_torch_function(joined, (Foreign(),), 1, 5)[2] == 5


def test_nobody_answers():
    class Silent:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"no implementation found for 'torch\.add'"):
        torch.add(Silent(), 1)


def test_overridable_functions():
    found = overrides.get_overridable_functions()
    assert torch.add in found[torch]
    assert torch.zeros not in found[torch]
    assert torch.Tensor.shape.__get__ in found[torch.Tensor]
    assert torch.Tensor.numel in found[torch.Tensor]
    assert torch.zeros in overrides.get_ignored_functions()
    assert torch.add in overrides.get_testing_overrides()
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert overrides.is_tensor_method_or_property(torch.Tensor.numel)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert overrides.resolve_name(torch.nn.functional.relu) == "torch.nn.functional.relu"
