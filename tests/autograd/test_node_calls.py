"""Nodes as Python sees them: calling one runs its backward, and its metadata stays with it."""

import gc

import pytest

import rushlight as torch


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_a_node_is_called_with_the_gradients_of_its_results():
    x = leaf()
    made, none = (x * 3).grad_fn(torch.ones(2))
    assert made.tolist() == [3, 3] and none is None
    assert (x * 3).grad_fn(None) == (None, None)
    assert x.max(0)[0].grad_fn(torch.tensor(1.0)).tolist() == [0, 1]  # the index has no gradient
    one, _ = x.view(2, 1).unbind(0)
    assert one.grad_fn(torch.ones(1), torch.ones(1)).tolist() == [[1], [1]]


def test_a_call_records_and_accumulates_and_hears_no_hooks():
    x = leaf()
    y = x * x
    heard = []
    y.grad_fn.register_hook(lambda *grads: heard.append(grads))
    both = y.grad_fn(torch.ones(2))
    assert [g.tolist() for g in both] == [[1, 2], [1, 2]] and both[0].requires_grad
    with torch.no_grad():
        assert not y.grad_fn(torch.ones(2))[0].requires_grad
    assert not heard
    leaf_node = y.grad_fn.next_functions[0][0]
    assert leaf_node(torch.ones(2)) == () and x.grad.tolist() == [1, 1]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.grad_fn(torch.ones(2))


def test_a_call_of_a_node_checks_its_arguments():
    node = (leaf() * 3).grad_fn
    with pytest.raises(TypeError, match=r"^expected 1 arguments, got 2 instead$"):
        node(torch.ones(2), torch.ones(2))
    with pytest.raises(TypeError, match=r"^argument 0 is not a Variable$"):
        node(1)
    with pytest.raises(TypeError, match=r"^keyword arguments are not supported$"):
        node(grad=torch.ones(2))


def test_metadata_stays_with_its_node():
    y = leaf() * 3
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["seen"] = 1
    gc.collect()
    assert y.grad_fn.metadata == {"seen": 1}
    y.sum().backward()  # what is kept there is no hook
    held = y.grad_fn.metadata
    held["itself"] = y.grad_fn  # a cycle, to be collected
    del y, held
    gc.collect()


def test_weights_of_a_recurrent_layer_may_be_given_as_a_list():
    torch.manual_seed(0)
    layer = torch.nn.GRU(2, 3)
    x = torch.ones(1, 2)
    before = layer(x)[0]
    layer._flat_weights = [torch.zeros_like(w) for w in layer._flat_weights]
    assert not layer(x)[0].any() and len(layer._parameters) == 4
    for name in layer._flat_weights_names:
        setattr(layer, name, torch.nn.Parameter(getattr(layer, name).detach().clone()))
    assert torch.equal(layer(x)[0], before)
    layer._flat_weights = [torch.zeros_like(w) for w in layer._flat_weights]
    assert layer.double()(x.double())[0].dtype == torch.float64  # the registered ones serve again
    assert layer._flat_weights[0] is layer.weight_ih_l0


def test_what_changed_a_part_of_a_base_goes_back_once():
    x = torch.ones(3, requires_grad=True)
    y = x.clone()
    y[0].add_(1)  # saves no tensor, and is freed all the same, as in PyTorch
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
