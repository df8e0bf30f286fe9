"""How requests and batches travel between a DataLoader and its workers: pipes and shared memory.

Large tensors go through anonymous files that the worker fills and the main process maps. A worker
keeps each file open until a later request says that the batch has arrived.
"""

from __future__ import annotations

import os
from multiprocessing.reduction import ForkingPickler
from pickle import loads

import rushlight as torch

LARGE = 1 << 16  # bytes from which a file costs less than the way through the pipe
_here: Sender | None = None  # the sender that pickles


def _contiguous_bytes(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    start = tensor.storage_offset() * tensor.element_size()
    view = torch.storage.raw_view(tensor.untyped_storage())
    return view[start : start + tensor.numel() * tensor.element_size()]


def _rebuilt(untyped, dtype, shape, requires_grad):
    tensor = torch.storage.as_tensor(untyped, dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _from_bytes(data: bytes, *meta):
    untyped = torch.UntypedStorage(len(data))
    torch.storage.raw_view(untyped)[:] = data
    return _rebuilt(untyped, *meta)


def _from_file(pid: int, number: int, nbytes: int, *meta):
    from ...._shared_memory import mapped

    fd = os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR)
    try:
        untyped = mapped(fd, nbytes, keep=False, at_once=True)
    finally:
        os.close(fd)
    return _rebuilt(untyped, *meta)


def _reduce_tensor(tensor):
    if tensor.device.type != "cpu" or getattr(tensor, "__dict__", None):
        return tensor.__reduce_ex__(2)
    view = _contiguous_bytes(tensor)
    meta = tensor.dtype, tuple(tensor.shape), tensor.requires_grad
    if len(view) < LARGE:
        return _from_bytes, (bytes(view), *meta)
    from ...._shared_memory import anonymous_file, write_all

    fd = anonymous_file(len(view))
    _here.files[-1].append(fd)
    write_all(fd, view)
    return _from_file, (os.getpid(), fd, len(view), *meta)


class _BatchPickler(ForkingPickler):
    def __init__(self, *args):
        super().__init__(*args)
        self.dispatch_table = dict(self.dispatch_table) | {torch.Tensor: _reduce_tensor}


class Sender:
    """The worker's end: sends messages and closes the files of those that have arrived."""

    def __init__(self, connection):
        self.connection = connection
        self.files: list = []  # of each message that may still be on its way, oldest first
        self.arrived = 0

    def send(self, message) -> None:
        """Sends any object that can be pickled."""
        global _here
        _here = self
        self.files.append([])
        try:
            payload = _BatchPickler.dumps(message)
        except Exception:
            self._close(self.files.pop())
            raise
        self.connection.send_bytes(payload)

    def acknowledge(self, arrived: int) -> None:
        """Closes the files of the first ``arrived`` messages."""
        while self.arrived < arrived:
            self._close(self.files.pop(0))
            self.arrived += 1

    @staticmethod
    def _close(files) -> None:
        for fd in files:
            os.close(fd)


class Worker:
    """The main process's view of one worker: its process and both pipes."""

    def __init__(self, context, number: int, others: list, target, args: tuple, room: int):
        requests, self.requests = context.Pipe(duplex=False)
        self.batches, batches = context.Pipe(duplex=False)
        # A forked worker closes what it has of the others' pipes: their ends must be noticed.
        mine = [self.requests, self.batches]
        inherited = mine + [end for other in others for end in other.ends()]
        forked = context.get_start_method() == "fork"
        self.process = context.Process(
            target=target, args=(requests, batches, inherited if forked else [], *args)
        )
        self.process.daemon = True
        self.process.start()
        requests.close()
        batches.close()
        self.number = number
        self.room = room  # bytes of a request that surely fit into the pipe
        self.arrived = 0
        self.thread = None

    def ends(self) -> list:
        """The ends of pipes that this process holds."""
        return [self.requests, self.batches]

    def send(self, request) -> None:
        """Sends a request; a long one from a thread, lest both sides wait for each other."""
        payload = ForkingPickler.dumps((self.arrived, request))
        try:
            if self.thread is None and len(payload) <= self.room:
                self.requests.send_bytes(payload)
            else:
                self._send_later(payload)
        except OSError:
            pass  # the worker is gone: waiting for its batch will say so

    def _send_later(self, payload) -> None:
        import queue
        import threading

        if self.thread is None:
            self.waiting = queue.SimpleQueue()
            self.thread = threading.Thread(target=self._send_waiting, daemon=True)
            self.thread.start()
        self.waiting.put(bytes(payload))

    def _send_waiting(self) -> None:
        try:
            while (payload := self.waiting.get()) is not None:
                self.requests.send_bytes(payload)
        except (OSError, ValueError):
            return

    def receive(self):
        """The next message; EOFError when the worker has ended."""
        payload = self.batches.recv_bytes()
        message = loads(payload)
        self.arrived += 1
        return message

    def close(self) -> None:
        """Closes both pipes, which ends the worker."""
        if self.thread is not None:
            self.waiting.put(None)
        self.requests.close()
        self.batches.close()
