"""Datasets, samplers and loaders against what PyTorch gives."""

import json
import time
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.utils import data
from rushlight.utils.data._utils import collate, fetch

from . import cases

RECORD = json.loads(
    (Path(__file__).parents[1] / "golden" / "data" / "loading.json").read_text()
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases.CASES)
def test_as_pytorch(name):
    assert json.loads(json.dumps(cases.CASES[name](torch))) == RECORD[name]


def both_ways(dataset, monkeypatch, **options):
    """The batches with and without looking whole batches up at once."""
    torch.manual_seed(0)
    at_once = cases.loaded(torch, dataset, **options)
    monkeypatch.setattr(fetch, "_selected_rows", lambda dataset, index: None)
    torch.manual_seed(0)
    return at_once, cases.loaded(torch, dataset, **options)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "float16"])
def test_whole_batches_equal_single_rows(dtype, monkeypatch):
    rows = torch.arange(60).reshape(10, 2, 3).to(getattr(torch, dtype))
    tensors = (rows, rows.transpose(1, 2), rows[:, 0, 0], torch.arange(20)[::2])
    at_once, by_row = both_ways(
        data.TensorDataset(*tensors), monkeypatch, batch_size=3, shuffle=True
    )
    assert at_once == by_row


def test_whole_batches_are_used(monkeypatch):
    seen = []
    selected = fetch._selected_rows

    def spy(dataset, index):
        seen.append(selected(dataset, index) is not None)
        return selected(dataset, index)

    monkeypatch.setattr(fetch, "_selected_rows", spy)
    plain = data.TensorDataset(torch.arange(6))
    list(data.DataLoader(plain, 2))
    list(data.DataLoader(data.random_split(plain, [3, 3])[0], 3))
    assert seen == [True] * 4


class Doubling(data.TensorDataset):
    def __getitem__(self, index):
        return 2 * index


class Batched(data.TensorDataset):
    def __getitems__(self, indices):
        return [-index for index in indices]


class Untouched(data.Subset):
    pass


def test_overridden_look_ups_are_used():
    values = torch.arange(3)
    (batch,) = data.DataLoader(Doubling(values), 3)
    assert batch.tolist() == [0, 2, 4]
    (batch,) = data.DataLoader(Batched(values), 3)
    assert batch.tolist() == [0, -1, -2]
    (batch,) = data.DataLoader(data.Subset(Doubling(values), [2]), 1)
    assert batch.tolist() == [4]
    (batch,) = data.DataLoader(Untouched(data.TensorDataset(values), [2]), 1)
    assert batch[0].tolist() == [2]


def test_changed_collation_is_used(monkeypatch):
    monkeypatch.setitem(
        collate.default_collate_fn_map, torch.Tensor, lambda batch, *, collate_fn_map=None: "mine"
    )
    (batch,) = data.DataLoader(data.TensorDataset(torch.arange(3)), 3)
    assert batch == ["mine"]


def test_patched_getitem_is_used(monkeypatch):
    monkeypatch.setattr(data.TensorDataset, "__getitem__", lambda self, index: "patched")
    (batch,) = data.DataLoader(data.TensorDataset(torch.arange(3)), 3)
    assert batch == ["patched"] * 3


def test_batches_keep_graph_and_own_memory():
    leaf = torch.ones(4, requires_grad=True)
    (batch,) = data.DataLoader(data.TensorDataset(leaf), 4)
    batch[0].sum().backward()
    assert leaf.grad.tolist() == [1.0] * 4
    rows = torch.zeros(4)
    (batch,) = data.DataLoader(data.TensorDataset(rows), 4)
    batch[0].fill_(1)
    assert rows.tolist() == [0.0] * 4


class Two(data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return index


def test_worker_info_is_read_only():
    from rushlight.utils.data._utils import worker

    info = worker.WorkerInfo(id=1, num_workers=2)
    assert repr(info) == "WorkerInfo(id=1, num_workers=2)"
    with pytest.raises(RuntimeError, match="Cannot assign attributes to WorkerInfo objects"):
        info.id = 3
    assert data.get_worker_info() is None


def test_workers_refuse_to_stack_what_has_gradients():
    class Weights(Two):
        def __getitem__(self, index):
            return torch.ones(2, requires_grad=True)

    assert next(iter(data.DataLoader(Weights(), 2))).requires_grad
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        next(iter(data.DataLoader(Weights(), 2, num_workers=1)))


def test_out_of_order():
    class Uneven(cases.Mixed):
        def __getitem__(self, index):
            time.sleep(0.3 if index == 0 else 0)
            return index

    loader = data.DataLoader(Uneven(torch), 1, num_workers=2, in_order=False)
    order = [batch.item() for batch in loader]
    assert sorted(order) == list(range(13))
    assert order[0] != 0


def test_workers_end_with_the_loop():
    iterator = iter(data.DataLoader(Two(), num_workers=2))
    processes = iterator._workers
    next(iterator)
    del iterator
    assert [process.exitcode for process in processes] == [0, 0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_tensors_travel_between_processes(dtype):
    class Tensors(cases.Mixed):
        def __getitem__(self, index):
            values = torch.arange(12).view(3, 4).t().to(getattr(torch, dtype))
            return values[1:, :index]

    loader = data.DataLoader(Tensors(torch), batch_size=None, num_workers=1, sampler=[0, 2])
    for got, columns in zip(loader, [0, 2]):
        assert got.dtype == getattr(torch, dtype)
        assert got.tolist() == Tensors(torch)[columns].tolist()


def test_a_loader_that_changes_itself():
    """Loaders of training scripts put a sampler of their own in place, unlocked by this name."""

    class Repeats(data.DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self._DataLoader__initialized = False
            self.batch_sampler = [[0, 1], [1, 0]]
            self._DataLoader__initialized = True

    loader = Repeats(torch.arange(2.0), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match="should not be set after Repeats is initialized"):
        loader.batch_sampler = []
