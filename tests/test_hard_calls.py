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
def pause():
    y = x * 2
    y.register_hook(lambda g: time.sleep(0.01))
    while True:
        y.sum().backward(retain_graph=True)
for work in (compute, pause):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.4)
print("left")
"""


def test_the_interpreter_ends_while_threads_compute():
    ran = subprocess.run(
        [sys.executable, "-P", "-c", AT_EXIT], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (0, "left\n"), ran.stderr[-400:]
