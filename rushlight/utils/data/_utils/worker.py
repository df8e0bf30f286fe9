"""What runs in a DataLoader's worker process."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.util import find_spec
from pickle import loads

import rushlight as torch

from ...._utils import ExceptionWrapper
from . import MP_STATUS_CHECK_INTERVAL, fetch
from .transport import Sender


class WorkerInfo:
    """What ``get_worker_info()`` tells: id, num_workers, seed, dataset."""

    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)
        self.__dict__["_names"] = tuple(kwargs)

    def __setattr__(self, name, value):
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self):
        items = ", ".join(f"{name}={getattr(self, name)}" for name in self._names)
        return f"{type(self).__name__}({items})"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The worker this code runs in, or None in the main process."""
    return _worker_info


class _IterableDatasetStopIteration:
    """Tells the main process that a worker's stream has ended."""

    def __init__(self, worker_id: int):
        self.worker_id = worker_id


class _ResumeIteration:
    """Tells a persistent worker to begin another epoch."""


def _seed(base_seed: int, worker_id: int) -> int:
    import random

    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    if "numpy" in sys.modules:
        _seed_numpy(words)
    else:
        sys.meta_path.insert(0, _SeedOnImport(words))
    return seed


def _seed_numpy(words: list) -> None:
    import numpy

    numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))


class _SeedOnImport:
    """Seeds numpy if the worker ever imports it: the import takes longer than many epochs."""

    def __init__(self, words: list):
        self.words = words

    def find_spec(self, name, path=None, target=None):
        """Numpy's spec, whose loader seeds it; None for all else."""
        if name != "numpy":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                _seed_numpy(self.words)

            spec.loader.exec_module = exec_module
        return spec


class _Worker:
    """One worker's loop: requests in, batches out, until a None or the parent's end."""

    def __init__(self, iterable, fetcher_args, worker_id, requests, sender):
        self.iterable = iterable
        self.fetcher_args = fetcher_args
        self.worker_id = worker_id
        self.requests = requests
        self.sender = sender
        self.ended = False
        self.failure = None

    def _wrapped(self):
        return ExceptionWrapper(where=f"in DataLoader worker process {self.worker_id}")

    def start(self, init_fn) -> None:
        """Runs ``worker_init_fn``; a failure is handed out with the first request."""
        try:
            if init_fn is not None:
                init_fn(self.worker_id)
            self.restart()
        except Exception:
            self.failure = self._wrapped()

    def restart(self) -> None:
        """Begins an epoch."""
        self.ended = False
        self.fetcher = fetch.create_fetcher(self.iterable, *self.fetcher_args)

    def answer(self, index):
        """The batch for ``index``, or what stands for it."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            return failure
        try:
            return self.fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and self.iterable:
                self.ended = True
                return _IterableDatasetStopIteration(self.worker_id)
            return self._wrapped()

    def send(self, position, data) -> None:
        """Sends a batch, or the reason why it cannot be sent."""
        try:
            self.sender.send((position, data))
        except OSError:
            raise  # the pipe: nobody listens any more
        except Exception:
            self.sender.send((position, self._wrapped()))

    def run(self) -> None:
        """Serves requests."""
        parent = os.getppid()
        while os.getppid() == parent:
            if not self.requests.poll(MP_STATUS_CHECK_INTERVAL):
                continue
            arrived, request = loads(self.requests.recv_bytes())
            self.sender.acknowledge(arrived)
            if request is None:
                return
            if isinstance(request, _ResumeIteration):
                self.send(request, None)
                self.restart()
            elif not self.ended:
                position, index = request
                self.send(position, self.answer(index))


def _worker_loop(
    requests, batches, inherited, iterable, fetcher_args, base_seed, init_fn, worker_id,
    num_workers,
):  # fmt: skip
    """A worker process from start to end."""
    global _worker_info
    for end in inherited:
        end.close()
    # The main process raises KeyboardInterrupt; a pipe that is closed means that it is done.
    with contextlib.suppress(KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
        torch.set_num_threads(1)
        seed = _seed(base_seed, worker_id)
        _worker_info = WorkerInfo(
            id=worker_id, num_workers=num_workers, seed=seed, dataset=fetcher_args[0]
        )
        worker = _Worker(iterable, fetcher_args, worker_id, requests, Sender(batches))
        worker.start(init_fn)
        worker.run()
