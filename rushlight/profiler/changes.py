"""What ``rushlight profile --try`` changes: one thing each, in a copy of the process."""

from __future__ import annotations

import contextlib
import functools
import os

import rushlight as torch
from rushlight import nn


class Change:
    """One change of how a region runs.

    ``name`` says it in a report; ``part``, of the largest value of the outputs, is how far those
    may lie from the unchanged ones; ``loads`` whether each run begins with a batch of the loader.
    """

    name = "as it is"
    part = 1e-4
    loads = False

    def refused(self, region) -> str:
        """Why it does not apply; empty if it does."""
        return ""

    def apply(self, region):
        """Changes this process; gives what wraps the region's forward part."""
        return contextlib.nullcontext

    def lines(self, region) -> tuple:
        """The lines that it is about."""
        return region.lines

    def keep(self) -> str:
        """What to say where it made things slower."""
        return ""


class InferenceMode(Change):
    name = "inference_mode"

    def refused(self, region) -> str:
        return f"{_lines(region)} train".strip() if region.trains else ""

    def apply(self, region):
        return torch.inference_mode


class Autocast(Change):
    name = "bfloat16 autocast"
    part = 2.0**-5

    def refused(self, region) -> str:
        return "it is on already" if torch.is_autocast_enabled("cpu") else ""

    def apply(self, region):
        return functools.partial(torch.autocast, "cpu", dtype=torch.bfloat16)

    def lines(self, region) -> tuple:
        return getattr(region, "forward_lines", region.lines)


class Threads(Change):
    """Another number of threads: ``count``; None: as many as there are processors."""

    def __init__(self, count: int | None):
        self.count = len(os.sched_getaffinity(0)) if count is None else count
        self.before = torch.get_num_threads()
        self.name = f"set_num_threads({self.count})"

    def refused(self, region) -> str:
        return "that many already" if self.count == self.before else ""

    def apply(self, region):
        torch.set_num_threads(self.count)
        return contextlib.nullcontext

    def keep(self) -> str:
        return f"Keep {self.before}."


class ChannelsLast(Change):
    name = "channels_last"
    part = 1e-3

    def refused(self, region) -> str:
        return "" if any(_convolves(m) for m in self._modules(region)) else "no convolution"

    def apply(self, region):
        for module in self._modules(region):
            module.to(memory_format=torch.channels_last)

        def change(value):
            if isinstance(value, torch.Tensor) and value.dim() == 4 and value.is_leaf:
                return value.contiguous(memory_format=torch.channels_last)
            return value

        region.replace(change)
        return contextlib.nullcontext

    def _modules(self, region) -> list:
        found = [v for v in region.tensors() if isinstance(v, nn.Module)]
        function = getattr(region, "function", None)
        return found + ([function] if isinstance(function, nn.Module) else [])


class Workers(Change):
    """The region's loader with so many worker processes."""

    loads = True

    def __init__(self, count: int):
        self.count = count
        self.name = f"DataLoader(num_workers={count})"

    def refused(self, region) -> str:
        if region.loader is None:
            return "no DataLoader"
        if region.loader.num_workers:
            return f"the DataLoader has {region.loader.num_workers}"
        return ""

    def apply(self, region):
        loader = region.loader
        given = {"batch_sampler": loader.batch_sampler}
        if loader.batch_sampler is None:
            given = {"batch_size": None, "sampler": loader.sampler}
        region.loader = torch.utils.data.DataLoader(
            loader.dataset,
            num_workers=self.count,
            collate_fn=loader.collate_fn,
            worker_init_fn=loader.worker_init_fn,
            **given,
        )
        return contextlib.nullcontext


def changes() -> list[Change]:
    """All that is tried, in order."""
    several = torch.get_num_threads() > 1
    return [
        InferenceMode(),
        Autocast(),
        Threads(1 if several else None),
        ChannelsLast(),
        Workers(2),
    ]


def _convolves(module) -> bool:
    return any(isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)) for m in module.modules())


def _lines(region) -> str:
    return lines_text(region.lines)


def lines_text(lines: tuple) -> str:
    """``lines 24-28``; empty for none."""
    if not lines:
        return ""
    first, last = lines
    return f"line {first}" if first == last else f"lines {first}-{last}"
