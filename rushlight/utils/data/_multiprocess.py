"""A pass over a DataLoader whose batches come from worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import weakref
from multiprocessing.connection import wait

from ..._utils import ExceptionWrapper
from ._utils import MP_STATUS_CHECK_INTERVAL, worker
from .dataloader import _BaseDataLoaderIter, _DatasetKind


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands indices to the workers in turn and gives their batches in the sampler's order."""

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._workers = []
        self._index_queues = []
        worker.register_tensors()
        context = loader.multiprocessing_context or multiprocessing
        self._data_queue = context.Queue()
        self._workers_done_event = context.Event()
        # Unlike __del__, it keeps the queues alive until the workers have read their last word.
        self._finalizer = weakref.finalize(
            self, _stop, os.getpid(), self._workers, self._index_queues, self._workers_done_event
        )
        fetcher_args = (self._dataset, self._auto_collation, self._collate_fn, self._drop_last)
        iterable = self._dataset_kind == _DatasetKind.Iterable
        for worker_id in range(self._num_workers):
            index_queue = context.Queue()
            index_queue.cancel_join_thread()
            process = context.Process(
                target=worker._worker_loop,
                args=(
                    iterable, fetcher_args, index_queue, self._data_queue,
                    self._workers_done_event, self._base_seed, loader.worker_init_fn, worker_id,
                    self._num_workers,
                ),
            )  # fmt: skip
            process.daemon = True
            process.start()
            self._index_queues.append(index_queue)
            self._workers.append(process)
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
        for index_queue in self._index_queues:
            index_queue.put(worker._ResumeIteration())
        waiting = self._num_workers
        while waiting:  # batches of an epoch that was left early are dropped here
            position, _ = self._get_data()
            waiting -= isinstance(position, worker._ResumeIteration)

    def _get_data(self):
        interval = self._timeout or MP_STATUS_CHECK_INTERVAL
        while True:
            sources = [self._data_queue._reader]
            sources += [w.sentinel for w, active in zip(self._workers, self._active) if active]
            ready = wait(sources, timeout=interval)
            if self._data_queue._reader in ready:
                return self._data_queue.get()
            if ready:
                self._report_dead_workers()
            elif self._timeout:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _report_dead_workers(self) -> None:
        if self._data_queue._reader.poll(0.05):
            return  # what a worker sent before it ended counts
        dead = [
            worker_id
            for worker_id, process in enumerate(self._workers)
            if self._active[worker_id] and not process.is_alive()
        ]
        if dead:
            for worker_id in dead:
                self._active[worker_id] = False
            pids = ", ".join(str(self._workers[worker_id].pid) for worker_id in dead)
            raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")

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
            self._index_queues[worker_id].put(None)
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
        self._index_queues[worker_id].put((self._send_idx, index))
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


def _stop(owner: int, workers: list, index_queues: list, done_event) -> None:
    """Lets the workers end; those that do not are terminated."""
    if owner != os.getpid():
        return  # a fork's copy must not stop the workers of its parent
    done_event.set()
    for index_queue in index_queues:
        index_queue.put(None)
    for process in workers:
        process.join(timeout=MP_STATUS_CHECK_INTERVAL)
    for index_queue in index_queues:
        index_queue.close()
    for process in workers:
        if process.is_alive():
            process.terminate()
            process.join(timeout=MP_STATUS_CHECK_INTERVAL)
