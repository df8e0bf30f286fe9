"""Samplers: the order in which a DataLoader takes samples."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

import rushlight as torch

_T_co = TypeVar("_T_co", covariant=True)


class Sampler(Generic[_T_co]):
    """Base of samplers: subclasses define ``__iter__`` over indices, mostly ``__len__`` too."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def drawn_seed(generator=None) -> int:
    """A seed drawn as PyTorch draws it: one int64 from ``generator`` or the default one."""
    return torch.empty((), dtype=torch.int64).random_(generator=generator).item()


class RandomSampler(Sampler[int]):
    """Indices at random, each once, or ``num_samples`` of them with replacement.

    Args:
        data_source: anything with a length.
        replacement: draw each index anew.
        num_samples: how many to draw (default: the length).
        generator: the source of randomness; without one, a seed is drawn from the default one.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, "
                f"but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        size, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            seed = drawn_seed()
            generator = torch.Generator()
            generator.manual_seed(seed)
        if self.replacement:
            # 32 at a time, as PyTorch does: the generator's state between draws depends on it.
            for length in [32] * (count // 32) + [count % 32]:
                yield from torch.randint(
                    high=size, size=(length,), dtype=torch.int64, generator=generator
                ).tolist()
            return
        for _ in range(count // size):
            yield from torch.randperm(size, generator=generator).tolist()
        yield from torch.randperm(size, generator=generator).tolist()[: count % size]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices at random, each once."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for position in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices, drawn in proportion to ``weights``, which need not sum to one."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, "
                f"but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = torch.as_tensor(weights, dtype=torch.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given "
                f"weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = torch.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of ``batch_size`` indices from another sampler.

    Args:
        drop_last: leave out a last batch that is shorter.
    """

    def __init__(self, sampler, batch_size, drop_last):
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self):
        if self.drop_last:
            return len(self.sampler) // self.batch_size
        return (len(self.sampler) + self.batch_size - 1) // self.batch_size
