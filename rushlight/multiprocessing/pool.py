"""A pool of processes whose tasks and results may hold tensors."""

from __future__ import annotations

import gc
import multiprocessing.pool

from .queue import SimpleQueue

__all__ = ["Pool", "clean_worker"]


def clean_worker(*args, **kwargs):
    """What a process of the pool runs: its tasks, then the release of the tensors they left."""
    try:
        multiprocessing.pool.worker(*args, **kwargs)
    finally:
        gc.collect()


class Pool(multiprocessing.pool.Pool):
    """``multiprocessing.Pool``; tensors travel in shared memory."""

    def _setup_queues(self):
        self._inqueue, self._outqueue = SimpleQueue(ctx=self._ctx), SimpleQueue(ctx=self._ctx)
        self._quick_put = self._inqueue._writer.send
        self._quick_get = self._outqueue._reader.recv

    def _repopulate_pool(self):
        for _ in range(self._processes - len(self._pool)):
            process = self.Process(
                self._ctx,
                target=clean_worker,
                args=(self._inqueue, self._outqueue, self._initializer, self._initargs,
                      self._maxtasksperchild, self._wrap_exception),
            )  # fmt: skip
            process.name = process.name.replace("Process", "PoolWorker")
            process.daemon = True
            process.start()
            self._pool.append(process)
