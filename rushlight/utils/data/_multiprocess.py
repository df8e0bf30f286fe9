"""A pass over a DataLoader whose batches come from worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import weakref
from multiprocessing.connection import wait

from ..._utils import ExceptionWrapper
from ._utils import MP_STATUS_CHECK_INTERVAL, transport, worker
from .dataloader import _BaseDataLoaderIter, _DatasetKind

_PIPE = 60_000  # bytes that a pipe holds while nobody reads


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands indices to the workers in turn and gives their batches in the sampler's order."""

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._workers = []
        self._links = []
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._finalizer = weakref.finalize(self, _stop, os.getpid(), self._links)
        fetcher_args = (self._dataset, self._auto_collation, self._collate_fn, self._drop_last)
        iterable = self._dataset_kind == _DatasetKind.Iterable
        room = _PIPE // (self._prefetch_factor * self._num_workers + 2)
        for worker_id in range(self._num_workers):
            args = (
                iterable, fetcher_args, self._base_seed, loader.worker_init_fn, worker_id,
                self._num_workers,
            )  # fmt: skip
            link = transport.Worker(
                context, worker_id, self._links, worker._worker_loop, args, room
            )
            self._links.append(link)
            self._workers.append(link.process)
        self._reset(loader, first_iter=True)

    def _reset(self, loader, first_iter=False):
        super()._reset(loader, first_iter)
        self._send_idx = 0  # of the next request
        self._rcvd_idx = 0  # of the next batch to give
        self._task_info = {}  # index -> (worker,) or, arrived early, (worker, batch)
        self._active = [True] * self._num_workers
        self._pending = [0] * self._num_workers
        self._turns = itertools.cycle(range(self._num_workers))
        if not first_iter:
            self._resume_workers()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _resume_workers(self) -> None:
        for link in self._links:
            link.send(worker._ResumeIteration())
        waiting = self._num_workers
        while waiting:  # batches of an epoch that was left early are dropped here
            position, _ = self._get_data()
            waiting -= isinstance(position, worker._ResumeIteration)

    def _get_data(self):
        interval = self._timeout or MP_STATUS_CHECK_INTERVAL
        sources = {link.batches: link for link in self._links if self._active[link.number]}
        # The batch that is due comes first, if its worker has it.
        due = self._task_info.get(self._rcvd_idx) if self._task_info else None
        if due is not None and self._in_order and self._links[due[0]].batches.poll():
            return self._receive(self._links[due[0]])
        while True:
            ready = wait(sources, timeout=interval)
            if ready:
                return self._receive(sources[ready[0]])
            if self._timeout:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _receive(self, link):
        try:
            return link.receive()
        except (EOFError, ConnectionResetError) as end:
            self._report_dead_worker(link, end)

    def _report_dead_worker(self, link, end) -> None:
        self._active[link.number] = False
        link.process.join(MP_STATUS_CHECK_INTERVAL)
        pid, code = link.process.pid, link.process.exitcode
        cause = end
        if code is not None and code < 0:
            text = f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-code)}. "
            if -code == signal.SIGBUS:
                text += (
                    "It is possible that dataloader's workers are out of shared memory. "
                    "Please try to raise your shared memory limit."
                )
            cause = RuntimeError(text)
        elif code:
            cause = RuntimeError(
                f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {code}. "
                "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give "
                "better error trace."
            )
        raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly") from cause

    def _skip_ended_workers(self) -> None:
        """Moves on from requests that workers whose stream has ended will not answer."""
        while self._rcvd_idx < self._send_idx:
            info = self._task_info.get(self._rcvd_idx)
            if info is not None:
                if len(info) == 2 or self._active[info[0]]:
                    return
                del self._task_info[self._rcvd_idx]
            self._rcvd_idx += 1
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _next_data(self):
        while True:
            self._skip_ended_workers()
            if len(self._task_info[self._rcvd_idx]) == 2:
                worker_id, data = self._task_info.pop(self._rcvd_idx)
                self._rcvd_idx += 1
                return self._process_data(data, worker_id)
            position, data = self._get_data()
            if isinstance(data, worker._IterableDatasetStopIteration):
                self._end_stream(data.worker_id)
            elif position == self._rcvd_idx or not self._in_order:
                self._rcvd_idx += position == self._rcvd_idx
                return self._process_data(data, self._task_info.pop(position)[0])
            else:
                self._task_info[position] += (data,)

    def _end_stream(self, worker_id: int) -> None:
        self._active[worker_id] = False
        if not self._persistent_workers:
            self._links[worker_id].send(None)
        self._try_put_index()

    def _try_put_index(self) -> None:
        limit = self._prefetch_factor * self._num_workers
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        for worker_id in itertools.islice(self._turns, self._num_workers):
            if self._active[worker_id] and (
                self._in_order or self._pending[worker_id] < limit // sum(self._active)
            ):
                break
        else:
            return
        self._links[worker_id].send((self._send_idx, index))
        self._task_info[self._send_idx] = (worker_id,)
        self._pending[worker_id] += 1
        self._send_idx += 1

    def _process_data(self, data, worker_id: int):
        self._pending[worker_id] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _shutdown_workers(self) -> None:
        self._finalizer()


def _stop(owner: int, links: list) -> None:
    """Lets the workers end; those that do not are terminated."""
    if owner != os.getpid():
        return  # a fork's copy must not stop the workers of its parent
    for link in links:
        link.close()
    for link in links:
        link.process.join(timeout=MP_STATUS_CHECK_INTERVAL)
        if link.process.is_alive():
            link.process.terminate()
            link.process.join(timeout=MP_STATUS_CHECK_INTERVAL)
