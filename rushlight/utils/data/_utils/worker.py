"""What runs in a DataLoader's worker process."""

from __future__ import annotations

import os
import queue

import rushlight as torch

from ...._utils import ExceptionWrapper
from . import MP_STATUS_CHECK_INTERVAL, fetch


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
    from importlib.util import find_spec

    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    if find_spec("numpy") is not None:
        import numpy

        words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))
    return seed


def _tensor_bytes(tensor):
    tensor = tensor.detach().contiguous()
    start = tensor.storage_offset() * tensor.element_size()
    view = torch.storage.raw_view(tensor.untyped_storage())
    return bytes(view[start : start + tensor.numel() * tensor.element_size()])


def _tensor_from_bytes(data: bytes, dtype, shape, requires_grad: bool):
    untyped = torch.UntypedStorage(len(data))
    torch.storage.raw_view(untyped)[:] = data
    tensor = torch.storage.as_tensor(untyped, dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _reduce_tensor(tensor):
    if tensor.device.type != "cpu" or getattr(tensor, "__dict__", None):
        return tensor.__reduce_ex__(2)
    data, shape = _tensor_bytes(tensor.resolve_conj().resolve_neg()), tuple(tensor.shape)
    return _tensor_from_bytes, (data, tensor.dtype, shape, tensor.requires_grad)


def register_tensors() -> None:
    """Lets queues between processes carry tensors as their bytes alone."""
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(torch.Tensor, _reduce_tensor)


class _Worker:
    """One worker's loop: requests in, batches out, until a None or the parent's end."""

    def __init__(self, iterable, fetcher_args, worker_id, data_queue, done_event):
        self.iterable = iterable
        self.fetcher_args = fetcher_args
        self.worker_id = worker_id
        self.data_queue = data_queue
        self.done_event = done_event
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

    def run(self, index_queue) -> None:
        """Serves requests."""
        parent = os.getppid()
        while os.getppid() == parent:
            try:
                request = index_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if request is None:
                return
            if isinstance(request, _ResumeIteration):
                self.data_queue.put((request, None))
                self.restart()
            elif not (self.done_event.is_set() or self.ended):
                position, index = request
                self.data_queue.put((position, self.answer(index)))


def _worker_loop(
    iterable, fetcher_args, index_queue, data_queue, done_event, base_seed, init_fn,
    worker_id, num_workers,
):  # fmt: skip
    """A worker process from start to end."""
    global _worker_info
    try:
        register_tensors()
        torch.set_num_threads(1)
        seed = _seed(base_seed, worker_id)
        _worker_info = WorkerInfo(
            id=worker_id, num_workers=num_workers, seed=seed, dataset=fetcher_args[0]
        )
        worker = _Worker(iterable, fetcher_args, worker_id, data_queue, done_event)
        worker.start(init_fn)
        worker.run(index_queue)
    except KeyboardInterrupt:
        pass  # the main process raises it
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
