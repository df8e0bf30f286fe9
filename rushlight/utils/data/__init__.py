"""Datasets, samplers and loaders."""

from . import _utils
from ._utils.collate import default_collate, default_convert
from .dataloader import DataLoader, _DatasetKind, get_worker_info
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

_DATAPIPES = ("DFIterDataPipe", "IterDataPipe", "MapDataPipe", "functional_datapipe")


def __getattr__(name: str):
    if name == "datapipes" or name in _DATAPIPES:  # loaded when first asked for
        from importlib import import_module

        module = import_module(f"{__name__}.datapipes")
        return module if name == "datapipes" else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "_utils",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
