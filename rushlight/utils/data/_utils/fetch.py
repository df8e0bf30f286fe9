"""Fetchers: from indices to samples to a batch, for both kinds of dataset."""

from __future__ import annotations

import rushlight as torch

from .. import dataset as datasets
from . import collate

_tensor_getitem = datasets.TensorDataset.__getitem__


class _IterableDatasetFetcher:
    """Takes the next samples of a stream."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, index):
        """The next batch: as many samples as ``index`` is long."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        data = []
        for _ in index:
            try:
                data.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(index)):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher:
    """Looks samples up by index."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset = dataset
        self.collate_fn = collate_fn
        self.auto_collation = auto_collation
        self.whole_rows = collate_fn is collate.default_collate

    def fetch(self, index):
        """The batch of the samples at ``index``."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.whole_rows and (batch := _selected_rows(self.dataset, index)) is not None:
            return batch
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


def _selected_rows(dataset, index):
    """The default batch of a plain TensorDataset, tensor by tensor instead of row by row.

    None where the result could differ from collating samples: overridden look-ups, subclasses,
    tensors that need gradients, and indices that are no ints or are out of range.
    """
    while type(dataset) is datasets.Subset:
        if type(index) is not list or type(dataset.indices) is not list:
            return None
        try:
            index, dataset = [dataset.indices[i] for i in index], dataset.dataset
        except (IndexError, TypeError):
            return None
    kind = type(dataset)
    if kind is not datasets.TensorDataset or kind.__getitem__ is not _tensor_getitem:
        return None
    if "__getitems__" in vars(kind) or type(index) is not list or set(map(type, index)) != {int}:
        return None
    if collate.default_collate_fn_map.get(torch.Tensor) is not collate.collate_tensor_fn:
        return None
    tensors = dataset.tensors
    if min(index) < 0 or any(
        type(tensor) is not torch.Tensor or tensor.requires_grad or not tensor.dim()
        for tensor in tensors
    ):
        return None
    try:
        rows = torch.tensor(index)
        return [tensor.index_select(0, rows) for tensor in tensors]
    except (IndexError, RuntimeError):
        return None  # the look-up of the single sample says what is wrong


def create_fetcher(iterable: bool, dataset, auto_collation, collate_fn, drop_last):
    """The fetcher for a dataset of either kind."""
    kind = _IterableDatasetFetcher if iterable else _MapDatasetFetcher
    return kind(dataset, auto_collation, collate_fn, drop_last)
