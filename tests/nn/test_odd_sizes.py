"""Layers given no samples, states of the wrong size, and indices that are not there."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0), (0, 3, 2, 2)])
def test_no_samples_leave_running_statistics_alone(shape):
    norm = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(3)
    x = torch.randn(shape, requires_grad=True)
    result = norm(x)
    result.square().sum().backward()
    assert result.shape == shape and x.grad.shape == shape
    assert torch.equal(norm.running_mean, torch.zeros(3))
    assert torch.equal(norm.running_var, torch.ones(3))
    assert norm.num_batches_tracked == 1
    for parameter in norm.parameters():
        assert torch.equal(parameter.grad, torch.zeros(3))


def test_statistics_of_nothing_are_refused():
    with pytest.raises(RuntimeError, match=r"at least one element, but got input_sizes = \[0, 3\]"):
        torch.native_batch_norm(torch.randn(0, 3), None, None, None, None, True, 0.1, 1e-5)


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_cells_refuse_states_of_other_sizes(cell):
    m = cell(3, 4)

    def refused(x, hidden, words):
        state = (torch.zeros(x.shape[0], 4), hidden) if cell is nn.LSTMCell else hidden
        label = 1 if cell is nn.LSTMCell else 0
        with pytest.raises(RuntimeError) as caught:
            m(x, state)
        assert str(caught.value) == words.format(label)

    x = torch.randn(2, 3)
    refused(x, torch.zeros(1, 4), "Input batch size 2 doesn't match hidden{} batch size 1")
    refused(x, torch.zeros(2, 5), "hidden{} has inconsistent hidden_size: got 5, expected 4")
    with pytest.raises(RuntimeError, match="inconsistent input_size: got 4 expected 3"):
        m(torch.randn(2, 4))


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_packed_batches_lie_in_the_data_and_do_not_grow(layer):
    def packed(rows, sizes):
        return nn.utils.rnn.PackedSequence(torch.ones(rows, 1), torch.tensor(sizes))

    m = layer(1, 2)
    for given, words in (
        (packed(2, [1, 5]), r"start \(1\) \+ length \(5\) exceeds dimension size \(2\)"),
        (packed(4, [1, 3]), "must not grow, but 3 comes after 1"),
        (packed(2, [2, 1]), r"start \(2\) \+ length \(1\) exceeds"),
        (packed(4, [1, -1]), "length must be non-negative"),
    ):
        with pytest.raises(RuntimeError, match=words):
            m(given)
    assert m(packed(3, [2, 1]))[0].data.shape == (3, 2)


def test_attention_over_no_samples():
    attention = nn.MultiheadAttention(4, 2)
    for shape in (0, 3, 4), (2, 0, 4):
        x = torch.randn(shape, requires_grad=True)
        for wanted in (True, False):
            result, weights = attention(x, x, x, need_weights=wanted)
            assert result.shape == shape
            assert weights is None or weights.shape == (shape[1], shape[0], shape[0])
        result.sum().backward()


def test_attention_refuses_what_it_cannot_do():
    q = torch.randn(1, 4, 2, 3)
    k = torch.randn(1, 3, 2, 3)
    with pytest.raises(RuntimeError, match="heads in key and value must divide"):
        F.scaled_dot_product_attention(q, k, k, enable_gqa=True)
    with pytest.raises(RuntimeError, match="between 0 and 1, but got 2"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=2.0)
    # Keys and values may have different numbers of heads.
    few, one = torch.randn(1, 2, 2, 3), torch.randn(1, 1, 2, 3)
    mixed = F.scaled_dot_product_attention(q, few, one, enable_gqa=True)
    plain = F.scaled_dot_product_attention(
        q, few.repeat_interleave(2, 1), one.repeat_interleave(4, 1)
    )
    torch.testing.assert_close(mixed, plain)


def test_bags_name_the_index():
    table, offsets = torch.randn(4, 3), torch.tensor([0])
    for bad, place in (9, 2), (-2, 2):
        index = torch.tensor([1, 2, bad])
        words = f"Index {place} of input takes value {bad} which is not in the valid range [0, 4)"
        for mode in "sum", "mean":
            with pytest.raises(RuntimeError) as caught:
                F.embedding_bag(index, table, offsets, mode=mode)
            assert str(caught.value).splitlines()[0] == words
        for arguments in {"mode": "max"}, {"weight": table.double()}:
            with pytest.raises(RuntimeError, match=f"found idx to be {bad}"):
                F.embedding_bag(index, arguments.pop("weight", table), offsets, **arguments)
    for index in torch.tensor([True]), torch.tensor([1j]):
        name = {torch.bool: "Bool", torch.complex64: "ComplexFloat"}[index.dtype]
        with pytest.raises(RuntimeError, match=f"but got CPU{name}Type instead"):
            F.embedding(index, table)


def test_linear_of_a_number_names_linear():
    with pytest.raises(RuntimeError, match="both arguments to linear need to be at least 1D"):
        nn.Linear(3, 2)(torch.tensor(1.0))


def test_what_cannot_be_allocated_is_said_as_programs_look_for_it():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50, dtype=torch.uint8)
    said = str(caught.value)
    assert "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1125899906" in said


def test_a_module_hook_returns_a_tuple():
    m = nn.Linear(2, 2)
    x = torch.ones(3, 2, requires_grad=True)
    handle = m.register_full_backward_hook(lambda module, grads, outputs: torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 3, but expected 1"):
        m(x).sum().backward()
    handle.remove()
    m.register_full_backward_pre_hook(lambda module, outputs: 5)
    with pytest.raises(TypeError, match="object of type 'int' has no len"):
        m(x).sum().backward()


def test_statistics_forgotten_for_vmap():
    m = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.GroupNorm(1, 2))
    assert torch.func.replace_all_batch_norm_modules_(m) is m
    assert m[1].running_mean is None and not m[1].track_running_stats
    parameters = {k: v.detach() for k, v in m.named_parameters()}

    def loss(parameters, x):
        return torch.func.functional_call(m, parameters, (x[None],)).square().sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, torch.randn(3, 1, 2, 2))
    assert each["1.weight"].shape == (3, 2)


def test_star_import_of_the_tools():
    names = {}
    exec("from rushlight.nn.utils import *", names)
    assert {"fuse_conv_bn_eval", "skip_init", "rnn", "stateless"} <= set(names)


def test_a_context_made_by_hand_has_a_repr():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        context = Twice()
    assert "Twice object at" in repr(context)


def test_losses_of_mixed_dtypes_have_that_of_one_operand():
    x, y = torch.full((3,), 0.25, requires_grad=True), torch.ones(3, dtype=torch.float64)
    assert F.huber_loss(x, y).dtype == torch.float32
    with pytest.raises(RuntimeError, match=r"^Found dtype Double but expected Float$"):
        F.huber_loss(x, y).backward()
    with pytest.raises(RuntimeError, match=r"^result type Float can't be cast to the desired"):
        F.huber_loss(torch.ones(3, dtype=torch.int64), torch.ones(3))
    made = F.binary_cross_entropy_with_logits(x, y.half(), weight=y, reduction="none")
    assert made.dtype == torch.float16
    assert torch.autograd.grad(made.sum(), x)[0].dtype == torch.float32
    with pytest.raises(NotImplementedError, match="\"log_sigmoid_cpu\" not implemented for 'Long'"):
        F.binary_cross_entropy_with_logits(torch.ones(3, dtype=torch.int64), torch.ones(3))


@pytest.mark.parametrize("conv", [F.conv1d, F.conv_transpose1d])
def test_second_gradients_of_convolutions_of_no_samples_are_none(conv):
    x = torch.ones(0, 2, 4, requires_grad=True)
    w = torch.ones(2, 2, 3, requires_grad=True)
    first = torch.autograd.grad(conv(x, w).sum(), (x, w), create_graph=True)
    total = sum(g.sum() for g in first)
    assert torch.autograd.grad(total, (x, w), allow_unused=True) == (None, None)
