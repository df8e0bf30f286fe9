"""torch.library: operators of one's own, with gradients, fake functions and schemas."""

import pytest

import rushlight as torch
from rushlight import Tensor


@pytest.fixture(scope="module")
def scale():
    @torch.library.custom_op("rushlight_tests::scale", mutates_args=())
    def scale(x: Tensor, factor: float = 2.0) -> Tensor:
        return x * factor

    @scale.register_fake
    def _(x, factor=2.0):
        return torch.empty_like(x)

    def setup(ctx, inputs, output):
        ctx.factor = inputs[1] if len(inputs) > 1 else 2.0

    def backward(ctx, grad):
        return (grad * ctx.factor, None)

    scale.register_autograd(backward, setup_context=setup)
    return scale


def test_calls_and_gradients(scale):
    x = torch.ones(2, requires_grad=True)
    y = scale(x, 3.0)
    assert y.tolist() == [3.0, 3.0]
    assert type(y.grad_fn).__name__ == "GeneratedBackwardFor_rushlight_tests_scale_defaultBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert torch.autograd.gradcheck(lambda t: scale(t, 2.5), x.detach().double().requires_grad_())
    assert scale(torch.ones(2, device="meta"), 1.0).is_meta
    named = torch.ops.rushlight_tests.scale
    assert named(torch.ones(1)).item() == 2 and named.default(torch.ones(1), 4.0).item() == 4
    assert str(named) == "rushlight_tests.scale" and str(named.default) == f"{named}.default"
    assert scale._opoverload._schema == "(Tensor x, float factor=2.0) -> Tensor"
    assert torch.library.opcheck(scale, (torch.ones(2), 2.0))["test_faketensor"] == "SUCCESS"


def test_without_a_formula_backward_says_so():
    @torch.library.custom_op("rushlight_tests::plain", mutates_args=())
    def plain(x: Tensor) -> Tensor:
        return x + 1

    y = plain(torch.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.backward()


def test_results_may_not_be_inputs():
    @torch.library.custom_op("rushlight_tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(torch.ones(1))


def test_changed_arguments():
    @torch.library.custom_op("rushlight_tests::add_in_place", mutates_args={"x"})
    def add_in_place(x: Tensor, n: int) -> None:
        x.add_(n)

    x = torch.zeros(2)
    assert add_in_place(x, 3) is None and x.tolist() == [3.0, 3.0] and x._version > 0
    assert add_in_place._opoverload._schema == "(Tensor(a0!) x, SymInt n) -> ()"


def test_libraries_define_and_implement():
    library = torch.library.Library("rushlight_other", "DEF")
    library.define("foo(Tensor x, int n=1) -> Tensor")
    library.impl("foo", lambda x, n=1: x + n, "CPU")
    assert torch.ops.rushlight_other.foo(torch.ones(1), n=4).item() == 5
    with pytest.raises(NotImplementedError, match="'META' backend"):
        torch.ops.rushlight_other.foo(torch.ones(1, device="meta"))
    torch.library.define("rushlight_other::bar", "(Tensor x) -> Tensor")

    @torch.library.impl("rushlight_other::bar", "cpu")
    def bar(x):
        return x * 5

    assert torch.ops.rushlight_other.bar(torch.ones(1)).item() == 5
    with pytest.raises(AttributeError, match="has no attribute 'baz'"):
        torch.ops.rushlight_other.baz  # noqa: B018
    library._destroy()
    assert not hasattr(torch.ops.rushlight_other, "foo")


@pytest.mark.parametrize("hint", ["x", "x: dict"])
def test_annotations_are_needed(hint):
    space = {}
    exec(f"def function({hint}) -> None: pass", space)
    with pytest.raises(ValueError, match="infer_schema"):
        torch.library.custom_op("rushlight_tests::bad", space["function"], mutates_args=())


def test_operators_of_the_core():
    aten = torch.ops.aten
    assert aten.add.Tensor(torch.ones(1), 2).item() == 3 and aten.relu(torch.ones(1)).item() == 1
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("nothing.so")
