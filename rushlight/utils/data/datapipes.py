"""Datasets as chains of steps: what iterates, and the functional names of the steps."""

from __future__ import annotations

import itertools
import random

from .dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]


class _Named:
    """Looks steps up by the names that ``functional_datapipe`` gave them."""

    functions: dict

    def __getattr__(self, name):
        kind = type(self).functions.get(name)
        if kind is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return lambda *args, **kwargs: kind(self, *args, **kwargs)

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register, **kwargs) -> None:
        """Makes ``pipe.<function_name>(...)`` mean ``cls_to_register(pipe, ...)``."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.functions[function_name] = cls_to_register

    @classmethod
    def register_function(cls, function_name: str, function) -> None:
        """Makes ``pipe.<function_name>(...)`` call ``function``."""
        cls.functions[function_name] = function


class IterDataPipe(_Named, IterableDataset):
    """A step that iterates."""

    functions: dict = {}

    def reset(self) -> None:
        """Begins anew; steps with a state override it."""

    def __str__(self):
        return type(self).__qualname__


class MapDataPipe(_Named, Dataset):
    """A step that is indexed."""

    functions: dict = {}

    def __str__(self):
        return type(self).__qualname__


DFIterDataPipe = IterDataPipe


class functional_datapipe:
    """A decorator of step classes: ``@functional_datapipe("name")``."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False):
        self.name = name

    def __call__(self, cls):
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.register_datapipe_as_function(self.name, cls)
        return cls


class IterableWrapper(IterDataPipe):
    """Iterates over anything that can be iterated."""

    def __init__(self, iterable, deepcopy: bool = True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        import copy

        yield from copy.deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self):
        return len(self.iterable)


class SequenceWrapper(MapDataPipe):
    """Indexes a sequence."""

    def __init__(self, sequence, deepcopy: bool = True):
        import copy

        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


class _Step(IterDataPipe):
    def __init__(self, datapipe):
        self.datapipe = datapipe

    def __len__(self):
        return len(self.datapipe)


@functional_datapipe("map")
class MapperIterDataPipe(_Step):
    """``fn`` of each item, or of parts of it."""

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        super().__init__(datapipe)
        self.fn, self.input_col, self.output_col = fn, input_col, output_col

    def _of(self, item):
        if self.input_col is None:
            return self.fn(item)
        columns = self.input_col if isinstance(self.input_col, (list, tuple)) else [self.input_col]
        result = self.fn(*(item[column] for column in columns))
        kind, item = type(item), list(item) if isinstance(item, (list, tuple)) else dict(item)
        if self.output_col is None:
            item[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del item[column]
        elif self.output_col == -1:
            item.append(result)
        else:
            item[self.output_col] = result
        return tuple(item) if kind is tuple else item

    def __iter__(self):
        return map(self._of, self.datapipe)


@functional_datapipe("filter")
class FilterIterDataPipe(_Step):
    """The items for which ``filter_fn`` holds."""

    def __init__(self, datapipe, filter_fn, input_col=None):
        super().__init__(datapipe)
        self.filter_fn, self.input_col = filter_fn, input_col

    def __iter__(self):
        for item in self.datapipe:
            if self.filter_fn(item if self.input_col is None else item[self.input_col]):
                yield item

    def __len__(self):
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("batch")
class BatcherIterDataPipe(_Step):
    """Lists of ``batch_size`` items; the last one may be shorter."""

    def __init__(self, datapipe, batch_size: int, drop_last: bool = False, wrapper_class=list):
        super().__init__(datapipe)
        self.batch_size, self.drop_last, self.wrapper_class = batch_size, drop_last, wrapper_class

    def __iter__(self):
        items = iter(self.datapipe)
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self):
        items = len(self.datapipe)
        return items // self.batch_size if self.drop_last else -(-items // self.batch_size)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(_Step):
    """Items in random order, as far as a buffer of ``buffer_size`` allows."""

    def __init__(self, datapipe, *, buffer_size: int = 10000, unbatch_level: int = 0):
        super().__init__(datapipe)
        self.buffer_size, self._enabled = buffer_size, True
        self._random = random.Random()
        self._seed = None

    def set_shuffle(self, shuffle: bool = True):
        """Turns the shuffle on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int):
        """Sets the seed of the next pass."""
        self._seed = seed
        return self

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        import rushlight

        seed = self._seed
        if seed is None:
            seed = int(rushlight.empty((), dtype=rushlight.int64).random_().item())
        self._random.seed(seed)
        self._seed, buffer = None, []
        for item in self.datapipe:
            if len(buffer) == self.buffer_size:
                index = self._random.randint(0, len(buffer) - 1)
                item, buffer[index] = buffer[index], item
                yield item
            else:
                buffer.append(item)
        while buffer:
            yield buffer.pop(self._random.randint(0, len(buffer) - 1))


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """The items of one pipe after those of another."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        return itertools.chain(*self.datapipes)

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(ConcaterIterDataPipe):
    """Tuples of the items of several pipes."""

    def __iter__(self):
        return zip(*self.datapipes)

    def __len__(self):
        return min(map(len, self.datapipes))


def _name_places() -> None:
    # Programs import steps from torch.utils.data.datapipes.iter and its modules.
    from rushlight import _absent

    steps = {
        "IterableWrapper": IterableWrapper, "Mapper": MapperIterDataPipe,
        "Filter": FilterIterDataPipe, "Batcher": BatcherIterDataPipe,
        "Shuffler": ShufflerIterDataPipe, "Concater": ConcaterIterDataPipe,
        "Zipper": ZipperIterDataPipe,
    }  # fmt: skip
    classes = {kind.__name__: kind for kind in steps.values()}
    reason = "rushlight has a few of the data pipes. Use a Dataset and a DataLoader."
    for name in ("iter", "iter.callable", "iter.combinatorics", "iter.combining", "iter.grouping",
                 "iter.selecting", "iter.utils"):  # fmt: skip
        parts = {**steps, **classes} if name == "iter" else classes
        _absent.submodule(f"utils.data.datapipes.{name}", reason, **parts)
    _absent.submodule(
        "utils.data.datapipes.map", reason, SequenceWrapper=SequenceWrapper
    )
    _absent.submodule(
        "utils.data.datapipes.datapipe", reason, IterDataPipe=IterDataPipe, MapDataPipe=MapDataPipe
    )


__path__: list = []
_name_places()
