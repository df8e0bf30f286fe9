"""A sampler that gives each of several processes its share of a dataset."""

from __future__ import annotations

import itertools
import math

import rushlight as torch

from .sampler import Sampler


class DistributedSampler(Sampler):
    """The indices of replica ``rank`` of ``num_replicas``; ``set_epoch`` changes the shuffle.

    Args:
        drop_last: leave out the tail instead of repeating samples to make the shares equal.
    """

    def __init__(
        self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False
    ):
        if num_replicas is None or rank is None:
            distributed = getattr(torch, "distributed", None)
            if distributed is None or not distributed.is_available():
                raise RuntimeError("Requires distributed package to be available")
            if num_replicas is None:
                num_replicas = distributed.get_world_size()
            if rank is None:
                rank = distributed.get_rank()
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        if drop_last and size % num_replicas:
            size -= num_replicas - 1
        self.num_samples = math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self):
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(len(self.dataset), generator=generator).tolist()
        else:
            indices = list(range(len(self.dataset)))
        indices = list(itertools.islice(itertools.cycle(indices), self.total_size))
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass shuffle in another order, the same in all processes."""
        self.epoch = epoch
