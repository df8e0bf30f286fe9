"""Tensors between processes: shared memory, spawn, and a DataLoader's workers."""

import gc
import os
import signal
import time
from pathlib import Path

import pytest

import rushlight as torch
import rushlight.multiprocessing as mp
from rushlight.utils import data


def _add_one(i, tensor, results, received):
    tensor[i] += i + 1
    results.put((i, tensor))
    received.wait(30)  # as in PyTorch, a process that ends takes what it sent with it


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_a_tensor(method):
    context = mp.get_context(method)
    tensor, results, done = torch.zeros(3), context.Queue(), context.Event()
    tensor.share_memory_()
    assert tensor.is_shared()
    rest = tensor, results, done
    processes = [context.Process(target=_add_one, args=(i, *rest)) for i in range(3)]
    for process in processes:
        process.start()
    received = dict(results.get(timeout=30) for _ in processes)
    done.set()
    for process in processes:
        process.join()
    assert tensor.tolist() == [1.0, 2.0, 3.0]
    received[0][1] = 9.0  # what came back is the same memory
    assert tensor.tolist() == [1.0, 9.0, 3.0]


def _send_back(inbox, outbox, received):
    for _ in range(6):
        outbox.put(inbox.get())
    received.wait(30)


def test_what_a_queue_carries():
    context = mp.get_context("fork")
    inbox, outbox, done = context.SimpleQueue(), context.SimpleQueue(), context.Event()
    process = context.Process(target=_send_back, args=(inbox, outbox, done))
    process.start()
    base = torch.arange(12.0).view(3, 4)
    sent = [
        base.t()[1:], torch.nn.Parameter(torch.ones(2)), torch.empty(0, 3),
        torch.tensor([1 + 2j]).conj(), torch.ones(2, device="meta"),
        torch.ones((), dtype=torch.bool),
    ]  # fmt: skip
    for tensor in sent:
        inbox.put(tensor)
    for tensor in sent:
        got = outbox.get()
        assert type(got) is type(tensor)
        assert (got.dtype, got.shape, got.device) == (tensor.dtype, tensor.shape, tensor.device)
        assert got.requires_grad == tensor.requires_grad
        if not tensor.is_meta:
            assert got.tolist() == tensor.tolist()
            assert got.stride() == tensor.stride()
    done.set()
    process.join()
    assert base.is_shared()
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        inbox.put(leaf * 2)


def test_a_module_is_trained_by_a_fork():
    model = torch.nn.Linear(2, 1)
    model.share_memory()
    assert all(p.is_shared() for p in model.parameters())
    before = model.weight.detach().clone()

    def train():
        with torch.no_grad():
            model.weight.add_(1)

    process = mp.get_context("fork").Process(target=train)
    process.start()
    process.join()
    assert torch.equal(model.weight, before + 1)


def _fail(i, kind):
    if i == 1 and kind == "raise":
        raise ValueError("no luck")
    if i == 1 and kind == "exit":
        os._exit(7)
    if i == 1 and kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def test_start_processes():
    assert mp.start_processes(_fail, ("nothing",), 2, start_method="fork") is None
    with pytest.raises(mp.ProcessRaisedException) as caught:
        mp.start_processes(_fail, ("raise",), 2, start_method="fork")
    text = str(caught.value)
    assert text.startswith("\n\n-- Process 1 terminated with the following error:\nTraceback")
    assert text.endswith("ValueError: no luck\n")
    assert caught.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="process 1 terminated with exit code 7"):
        mp.start_processes(_fail, ("exit",), 2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as caught:
        mp.start_processes(_fail, ("kill",), 2, start_method="fork")
    assert caught.value.signal_name == "SIGKILL"
    context = mp.start_processes(_fail, ("nothing",), 2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join(timeout=10):
        pass
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        mp.spawn(_fail, ("nothing",), start_method="fork")


class Large(data.Dataset):
    def __init__(self, n=12, deadly=None):
        self.n, self.deadly = n, deadly

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if index == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.full((3, 100, 100), float(index)), torch.full((5,), index)


def _open_files():
    return len(os.listdir("/proc/self/fd"))


def test_large_batches_are_mapped_and_leave_nothing_open():
    list(data.DataLoader(Large(), 2, num_workers=2))
    gc.collect()
    before = _open_files()
    batches = list(data.DataLoader(Large(), 2, num_workers=2))
    assert _open_files() <= before + 1
    for i, (x, y) in enumerate(batches):
        assert x.shape == (2, 3, 100, 100)
        assert x[:, 0, 0, 0].tolist() == [2.0 * i, 2.0 * i + 1]
        assert y[:, 0].tolist() == [2 * i, 2 * i + 1]
        x.add_(1)
    assert "memfd:rushlight" in Path("/proc/self/maps").read_text()
    del batches, x, y
    gc.collect()
    assert "memfd:rushlight" not in Path("/proc/self/maps").read_text()


class Seeds(data.Dataset):
    """Who makes a sample, with what seed, and a number drawn there."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        info = data.get_worker_info()
        return index, info.id, info.seed, torch.randint(0, 10**6, (1,))


def test_spawned_workers_do_as_forked_ones():
    epochs = []
    for method in ("fork", "spawn"):
        torch.manual_seed(4)
        loader = data.DataLoader(
            Seeds(), 2, shuffle=True, num_workers=2, multiprocessing_context=method
        )
        epochs.append([[t.tolist() for t in batch] for batch in loader])
    assert epochs[0] == epochs[1]
    loader = data.DataLoader(Large(4), 2, num_workers=1, multiprocessing_context="spawn")
    batches = list(loader)
    assert [x[0, 0, 0, 0].item() for x, _ in batches] == [0.0, 2.0]
    assert "memfd:rushlight" in Path("/proc/self/maps").read_text()  # not through a pickle


def test_a_killed_worker_is_reported():
    with pytest.raises(RuntimeError, match="exited unexpectedly") as caught:
        list(data.DataLoader(Large(deadly=5), 2, num_workers=2))
    assert "is killed by signal: Killed" in str(caught.value.__cause__)
    del caught
    gc.collect()
    assert not mp.active_children()


def test_an_epoch_left_early_ends_soon():
    start = time.monotonic()
    for _ in data.DataLoader(Large(200), 2, num_workers=2, prefetch_factor=8):
        break
    gc.collect()
    assert time.monotonic() - start < 4
    assert not mp.active_children()


def test_long_requests_do_not_block():
    loader = data.DataLoader(Whole(), 20_000, num_workers=1, prefetch_factor=4)
    assert [len(batch) for batch in loader] == [20_000] * 5


class Whole(data.Dataset):
    def __len__(self):
        return 100_000

    def __getitems__(self, indices):
        return list(torch.tensor(indices))


def test_a_batch_that_cannot_be_pickled_is_reported():
    loader = data.DataLoader(range(4), 2, num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises((AttributeError, TypeError), match=r"(?s)Caught .*pickle"):
        list(loader)


class NumpyDraws(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        import numpy

        return int(numpy.random.randint(0, 10**6))


def test_numpy_is_seeded_when_a_worker_imports_it():
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        runs.append([b.tolist() for b in data.DataLoader(NumpyDraws(), 2, num_workers=2)])
    assert runs[0] == runs[1]
    assert len({n for batch in runs[0] for n in batch}) == 4


def test_persistent_workers_with_large_batches():
    loader = data.DataLoader(Large(), 3, num_workers=2, persistent_workers=True)
    for _ in range(3):
        assert [x[0, 0, 0, 0].item() for x, _ in loader] == [0.0, 3.0, 6.0, 9.0]
    iterator = iter(loader)
    next(iterator)
    assert [x[0, 0, 0, 0].item() for x, _ in loader] == [0.0, 3.0, 6.0, 9.0]
