"""Calls that no program should make end in an exception: no crash, no memory read past its end."""

import subprocess
import sys

import pytest

import rushlight as torch

F = torch.nn.functional
nan = float("nan")


def meta(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.gather(torch.ones(3), 0, meta(3, dtype=torch.int64)),
        lambda: torch.binomial(torch.ones(3), meta(3)),
        lambda: torch.tensor(5).le_(meta()),
        lambda: torch.ones(()).add_(meta()),
        lambda: torch.ones(2).addcmul_(meta(), torch.ones(2)),
        lambda: F.scaled_dot_product_attention(
            torch.ones(2, 3, 4), torch.ones(2, 3, 4), meta(2, 3, 4)
        ),
        lambda: torch.native_batch_norm(
            torch.ones(4, 3), meta(3), None, None, None, True, 0.1, 0.1
        ),
        lambda: torch.instance_norm(
            torch.ones(2, 2, 3), None, None, meta(2), torch.ones(2), False, 0.1, 0.1, False
        ),
        lambda: F.ctc_loss(
            torch.ones(5, 2, 3),
            torch.ones(2, 2, dtype=torch.int64),
            meta(2, dtype=torch.int64),
            torch.ones(2, dtype=torch.int64),
        ),
    ],
)
def test_memory_and_none_do_not_mix(call):
    with pytest.raises(RuntimeError, match="cpu and meta"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.native_batch_norm(x, torch.ones(1), None, None, None, True, 0.1, 0.1),
        lambda x: torch.native_batch_norm(
            x, None, None, torch.ones(7), torch.ones(3), False, 0.1, 0.1
        ),
        lambda x: torch.native_batch_norm(x, None, None, None, None, False, 0.1, 0.1),
        lambda x: torch.native_group_norm(x, None, None, 4, 3, 1, 0, 0.1),
        lambda x: torch.native_group_norm(x, None, None, 400, 3, 1, 3, 0.1),
        lambda x: torch.native_group_norm(x, torch.ones(1), None, 4, 3, 1, 3, 0.1),
        lambda x: torch.instance_norm(x[0], None, None, None, None, True, 0.1, 0.1, False),
        lambda x: torch.embedding_dense_backward(x, torch.tensor([0, 1, 2, 90]), 5, -1, False),
        lambda x: torch.embedding_dense_backward(x, torch.tensor([0, 1, 2, -9]), 5, -1, False),
        lambda x: torch.embedding_dense_backward(x[:1], torch.arange(4), 5, -1, False),
        lambda x: torch._C._boxed_call(
            "nll_loss2d_backward", x, x, torch.arange(3), None, 1, -100, torch.ones(())
        ),
        lambda x: torch.pixel_shuffle(torch.ones(1, 4, 2, 2), 2**33),
        lambda x: torch.empty(2**62, 4),
        lambda x: torch.zeros(2**62, 4, device="meta"),
    ],
)
def test_sizes_are_checked_before_memory_is_touched(call):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        call(torch.ones(4, 3))


def test_statistics_stay_where_one_of_them_does_not_fit():
    mean, var = torch.zeros(3), torch.ones(2)
    with pytest.raises(RuntimeError):
        torch.instance_norm(torch.ones(2, 3, 4), None, None, mean, var, True, 0.1, 0.1, False)
    assert mean.tolist() == [0, 0, 0]


def test_a_convolution_over_no_channels_gives_the_bias():
    made = F.conv1d(torch.ones(2, 0, 4), torch.ones(3, 0, 2), torch.arange(3.0))
    assert made.tolist() == [[[0.0] * 3, [1.0] * 3, [2.0] * 3]] * 2


@pytest.mark.parametrize("size", [0, 16])
def test_views_outlive_a_storage_made_smaller(size):
    x = torch.arange(100_000.0)
    view = x[50_000:]
    x.untyped_storage().resize_(size)
    assert x.untyped_storage().nbytes() == size
    view.add_(1)
    assert view[:3].isfinite().all()
    x.untyped_storage().resize_(400_000)
    assert x[:4].tolist() == ([0, 1, 2, 3] if size else x[:4].tolist())


AT_EXIT = """
import threading, time
import rushlight as torch
x = torch.randn(300, 300, requires_grad=True)
def compute():
    while True:
        (x @ x).relu().sum().backward()
def small():
    y = torch.ones(2, 2, requires_grad=True)
    while True:
        (y * y).sum().backward()
def pause():
    y = x * 2
    y.register_hook(lambda g: time.sleep(0.01))
    while True:
        y.sum().backward(retain_graph=True)
for work in (compute, compute, small, pause):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.4)
print("left")
"""


def test_the_interpreter_ends_while_threads_compute():
    command = [sys.executable, "-P", "-c", AT_EXIT]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(4)]  # so that some are late
    for child in running:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (0, "left\n"), err[-400:]


@pytest.mark.parametrize("name", ["view", "add", "permute", "add_", "item"])
@pytest.mark.parametrize("first", [3, "a", None, [1.0]])
def test_methods_of_what_is_no_tensor(name, first):
    said = f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
    with pytest.raises(TypeError, match=f"^{said}'{type(first).__name__}' object"):
        getattr(torch.Tensor, name)(first, 4)


def test_methods_of_nothing():
    with pytest.raises(TypeError, match=r"^unbound method TensorBase.view\(\) needs an argument"):
        torch.Tensor.view()


def boxed(name, *args):
    return torch._C._boxed_call(name, *args)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: boxed("_linear_unsafe_view", x, x[0], None),
        lambda x: boxed("_linear_backward", x[:1], x, torch.ones(9, 9), 7),
        lambda x: boxed("_pool_gather", x, torch.full((4, 3), 90), 2),
        lambda x: boxed("_max_pool_backward", x, torch.full((4, 3), -9), [4, 3], 2, False),
        lambda x: boxed("_adaptive_avg_pool_backward", x, [9, 9], 7, False),
        lambda x: boxed("_lstm_gates", x[:, :2], x),
        lambda x: boxed("_gru_gates", x, x, torch.ones(4, 300)),
        lambda x: boxed("_attention", x, x, x, None, False, 1.0),
        lambda x: boxed("_layer_norm_backward", x, x, [3], x[:1, 0], x[:, 0], None, None, 1),
        lambda x: boxed("_convolution_backward", x, x, x, [0], [0], [0], False, [0], 0, 7),
        lambda x: boxed("_cross_entropy_backward", x, x, torch.full((4,), 7), None, 0, -100, x[0]),
        lambda x: boxed("unfold_backward", x, [2], 0, 90, -1),
        lambda x: boxed("diagonal_backward", x, [2, 2], 0, 0, 1),
        lambda x: boxed("select_backward", x, [4, 3], 0, 90),
        lambda x: F.embedding_bag(torch.tensor([1, 2, 0, 1]), x, torch.tensor([0, 100, 3])),
        lambda x: F.embedding_bag(torch.tensor([1, 2, 0, 1]), x, torch.tensor([0, -100, 3])),
        lambda x: F.layer_norm(x.half(), (3,), torch.ones(3), torch.ones(3).half()),
        lambda x: torch._softmax_backward_data(x[:1], torch.ones(90, 90), 1, torch.float32),
        lambda x: torch._log_softmax_backward_data(x, x.double(), 1, torch.float64),
        lambda x: F.avg_pool1d(x, 2**63 - 1, 3),
        lambda x: F.max_pool1d(x, 2**62, 2**62, 0, 2**62),
        lambda x: torch.unbind(torch.empty(0, 2**40), -1),
        lambda x: torch.tril_indices(2**62, 2**62),
        lambda x: torch.histogram(x.double(), torch.tensor([0, 2, 7], dtype=torch.uint8)),
        lambda x: torch.arange(0, -(2**63), -1),
        lambda x: torch.arange(1, 2**63 - 1, device="meta"),
        lambda x: x[0, 0].expand(2**33).repeat(2**31),
        lambda x: meta(2**33).repeat(2**62),
        lambda x: torch.cat([meta(2**63 - 1), meta(1)]),
        lambda x: torch.diag_embed(x, -(2**63)),
        lambda x: torch.pixel_unshuffle(meta(2**40, 0, 2**22), 2**22),
        lambda x: x.rot90(1, [2**63 - 1, -(2**63)]),
        lambda x: F.pad(meta(2**62), (2**62, 2**62)),
        lambda x: F.pad(x, (-(2**63), -(2**63))),
        lambda x: F.pad(x, (2**63 - 1, 2**63 - 1)),
        lambda x: F.pad(x, (2**63 - 1, 2**63 - 1), mode="replicate"),
        lambda x: F.pad(x, (-(2**63), -(2**63)), mode="circular"),
        lambda x: F.conv1d(x[None, :1], torch.ones(1, 1, 1), padding=2**63 - 1),
        lambda x: F.conv_transpose1d(x[None, :1], torch.ones(1, 1, 1), padding=2**63 - 1),
        lambda x: torch.repeat_interleave(x[0], torch.tensor([2**63 - 1, 2**63 - 1, 5])),
        lambda x: x[0, :1].unflatten(0, (2, 2**63 - 1)),
        lambda x: torch.fft.hfft2(meta(2, 2), (2**62, 2**62)),
        lambda x: torch.pixel_shuffle(meta(0, 4, 2**62), 4),
    ],
)
def test_hidden_ops_and_huge_numbers_are_checked_as_well(call):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        call(torch.ones(4, 3))


def test_numbers_at_the_ends_of_their_range_wrap_around():
    least, most = -(2**63), 2**63 - 1
    x = torch.ones(2, 2)
    assert torch.equal(x.triu(most), 0 * x) and torch.equal(x.triu(least), x)
    assert torch.equal(x.tril(most), x) and torch.equal(x.tril(least), 0 * x)
    cross = torch.cross(torch.tensor([most, 5, 7]), torch.tensor([-3, 9, 2**62]))
    assert cross.tolist() == [5 * 2**62 % 2**64 - 63, 2**62 - 21, 9 * most % 2**64 + 15 - 2**64]
    assert torch.arange(least, least + 3).tolist() == [least, least + 1, least + 2]
    assert torch.var(torch.empty(1).expand(2**62, 0)).isnan()
    assert torch.kron(meta(2**62, 0), meta(4, 1)).shape == (0, 0)
    assert torch.diagonal_copy(x, most).numel() == torch.diagonal_copy(x, least).numel() == 0
    assert F.avg_pool2d(torch.full((1, 1, 1), least), 1, divisor_override=-1).item() == least
    base = torch.arange(3.0, requires_grad=True)
    (base.roll(least) * torch.arange(3.0)).sum().backward()
    assert base.grad.roll(least).tolist() == [0, 1, 2]
    base = torch.ones(2, requires_grad=True)
    (base**least).sum().backward()
    assert base.grad.tolist() == [least, least]


def test_one_tensor_for_two_results_has_the_later_one():
    out = torch.zeros(3)
    torch.histogram(torch.tensor([0.5, -1.0]), torch.tensor([-2.0, 0.0, 1.0]), out=(out, out))
    assert out.tolist() == [-2.0, 0.0, 1.0]


def test_an_op_on_a_number_takes_a_tensor_of_any_size_for_it():
    assert boxed("isin.Scalar_Tensor", torch.arange(300), torch.ones(1)).sum() == 1


def test_what_is_empty_takes_no_time():
    assert torch.triu_indices(2**62, 1).tolist() == [[0], [0]]
    for shape in ((2**40, 0), (2**40, 3, 0), (4, 0)):
        x, n = torch.empty(shape, requires_grad=True), shape[1]
        with pytest.raises(RuntimeError, match="must have at least one element"):
            torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
        y, *_ = torch.native_batch_norm(
            x, None, None, torch.zeros(n), torch.ones(n), False, 0.1, 0.1
        )
        y.sum().backward()
        assert x.grad.shape == shape
    x = torch.empty(0, 4, 3, requires_grad=True)
    w = torch.ones(4, requires_grad=True)
    F.group_norm(x, 2, w, w).sum().backward()
    assert w.grad.tolist() == [0, 0, 0, 0]
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    assert torch.autograd.grad(torch.dist(a, b, 0), (a, b), allow_unused=True) == (None, None)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x: F.layer_norm(x, (4,), meta(4), meta(4)),
        lambda x: F.rms_norm(x, (4,)),
        lambda x: F.group_norm(x, 3),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.linear(x, meta(5, 4).requires_grad_(), meta(5)),
        lambda x: F.conv1d(x, meta(5, 3, 2).requires_grad_(), meta(5)),
        lambda x: F.grid_sample(x[None], meta(1, 2, 2, 2), align_corners=False),
        lambda x: torch.linalg.det(x[:, :, :3]),
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
        lambda x: F.max_pool1d(x, 2),
        lambda x: torch.cumprod(x, 1),
        lambda x: x.amax(1),
    ],
)
def test_backward_without_data(layer):
    x = meta(2, 3, 4).requires_grad_()
    layer(x).sum().backward()
    assert (x.grad.shape, x.grad.device.type) == (x.shape, "meta")


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.int8])
@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: x.remainder_(y),
        lambda x, y: x.fmod_(y),
        lambda x, y: x.floor_divide_(y),
        lambda x, y: x.div_(y, rounding_mode="trunc"),
        lambda x, y: torch.remainder(x, y, out=x),
        lambda x, y: torch.floor_divide(x + 1, y, out=x),
        lambda x, y: x.t().remainder_(y.t()),
        lambda x, y: x.remainder_(0),
        lambda x, y: x.floor_divide_(y[1, 2]),
    ],
)
def test_division_by_zero_changes_nothing(dtype, change):
    x = torch.arange(1, 7, dtype=dtype).reshape(2, 3)
    y = torch.tensor([[1, 2, 3], [4, 5, 0]], dtype=dtype)
    before = x.clone()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        change(x, y)
    assert x.tolist() == before.tolist()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_running_statistics_stay_where_a_result_does_not_fit(place):
    mean, var = torch.zeros(3), torch.ones(3)
    out = [torch.empty(4, 3), torch.empty(3), torch.empty(3)]
    out[place] = out[place].long()
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Long"):
        torch.native_batch_norm(
            torch.rand(4, 3), None, None, mean, var, True, 0.1, 0.1, out=tuple(out)
        )
    assert (mean.tolist(), var.tolist()) == ([0, 0, 0], [1, 1, 1])


STOPPED = """
import rushlight as torch
import rushlight._blas as blas

find = blas.library_path
def stopped():
    blas.library_path = find
    raise KeyboardInterrupt
blas.library_path = stopped
x = torch.eye(3) + 1
for work in (torch.linalg.svd, torch.linalg.inv):
    try:
        work(x)
    except KeyboardInterrupt:
        print("stopped")
print(torch.linalg.svdvals(x).numel())
"""


def test_ctrl_c_in_the_first_call_of_linear_algebra_is_forgotten():
    ran = subprocess.run([sys.executable, "-P", "-c", STOPPED], capture_output=True, text=True)
    assert ran.stdout == "stopped\n3\n", ran.stderr[-400:]


@pytest.mark.parametrize(
    "write",
    [
        lambda b: b[3:].copy_(b[:7]),
        lambda b: b.__setitem__(slice(3, None), b[:7]),
        lambda b: b[:7].copy_(b[3:]),
        lambda b: b.view(5, 2)[1:].copy_(b.view(5, 2)[:4]),
    ],
)
def test_a_copy_within_overlapping_memory_is_refused(write):
    b = torch.arange(10.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(b)
    assert b.tolist() == list(range(10))


def test_a_copy_onto_itself_or_beside_changes_nothing_else():
    b = torch.arange(10.0)
    b.copy_(b)
    b[5:].copy_(b[:5])
    assert b.tolist() == [*range(5), *range(5)]


HALF = "\ud800"  # of a surrogate pair: no text that UTF-8 can say


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.add(x, x, **{HALF: 1}),
        lambda x: torch.zeros(2, **{HALF: 1}),
        lambda x: x.to(**{HALF: 1}),
        lambda x: x.float(**{HALF: 1}),
        lambda x: x.sum(**{HALF: 0}),
        lambda x: torch.div(x, x, rounding_mode=HALF),
        lambda x: torch.device(HALF),
        lambda x: torch.zeros(2, device=HALF),
    ],
)
def test_text_that_is_none(call):
    with pytest.raises(RuntimeError, match=r"^error unpacking string as utf-8$"):
        call(torch.ones(2))


def test_names_of_attributes_that_are_no_text():
    made = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(AttributeError):
        getattr(made.grad_fn, HALF)


def test_more_keywords_than_parameters():
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.add(torch.ones(2), torch.ones(2), **{f"k{i}": 1 for i in range(100)})


def test_ranks_beyond_64_change_in_place():
    x = torch.arange(6.0).view(2, 3, *[1] * 198)
    x.transpose_(0, 1)
    assert x.dim() == 200 and x.shape[:3] == (3, 2, 1) and x.stride()[:2] == (1, 3)
    assert x[2, 1].item() == 5


def test_strides_of_nothing_overflow():
    for make in (torch.empty, torch.zeros, torch.ones):
        with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
            make(0, 2**62, 4)
    assert torch.zeros(2**62, 0, 4).stride() == (4, 4, 1)
    assert torch.empty(0).view(0, 2**62, 4).shape == (0, 2**62, 4)


def test_the_least_integer_as_an_operand():
    least = -(2**63)
    assert (torch.tensor([1]) - least).item() == least + 1
    assert torch.sub(torch.tensor([1]), torch.tensor([1]), alpha=least).item() == least + 1
