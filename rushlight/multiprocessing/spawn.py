"""spawn and start_processes: a function in several processes, whose first failure ends all."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import warnings

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"

__all__ = [
    "ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessException", "ProcessExitedException",
    "ProcessRaisedException", "SpawnContext", "spawn", "start_processes",
]  # fmt: skip

log = logging.getLogger(__name__)


class ProcessException(Exception):
    """One of the processes failed: which, and its process id."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised."""


class ProcessExitedException(ProcessException):
    """The process ended by a signal or with an exit code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (*super().__reduce__()[1], self.exit_code, self.signal_name)


def _wrap(fn, i, args, error_file) -> None:
    _end_with_parent()
    try:
        # An interrupt comes from the parent, which is ending.
        with contextlib.suppress(KeyboardInterrupt):
            fn(i, *args)
    except Exception:
        import traceback

        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


def _end_with_parent() -> None:
    """Asks Linux for an interrupt when the parent ends."""
    import ctypes

    pr_set_pdeathsig = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGINT)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes, error_files):
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list:
        """Their process ids."""
        return [int(process.pid) for process in self.processes]

    def _join_procs_with_timeout(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def join(self, timeout=None, grace_period=None) -> bool:
        """Waits for some to end; True when all have.

        When one fails, the others get ``grace_period`` seconds, then are ended, and what went
        wrong is raised.
        """
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(self.sentinels, timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._end_all(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _end_all(self, grace_period) -> None:
        if grace_period is not None:
            self._join_procs_with_timeout(grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._join_procs_with_timeout(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning(
                    "Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL",
                    process.pid,
                )
                process.kill()
            process.join()

    def _failure(self, index: int) -> ProcessException:
        process = self.processes[index]
        if os.access(self.error_files[index], os.R_OK):
            with open(self.error_files[index], "rb") as file:
                trace = pickle.load(file)
            os.unlink(self.error_files[index])
            text = f"\n\n-- Process {index:d} terminated with the following error:\n{trace}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code >= 0:
            text = f"process {index:d} terminated with exit code {code:d}"
            return ProcessExitedException(text, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        text = f"process {index:d} terminated with signal {name}"
        return ProcessExitedException(text, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The former name of ProcessContext."""

    def __init__(self, processes, error_files):
        warnings.warn(
            "SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2
        )
        super().__init__(processes, error_files)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs ``fn(i, *args)`` in ``nprocs`` processes; with ``join``, waits for them."""
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for i in range(nprocs):
        fd, name = tempfile.mkstemp(prefix="pytorch-errorfile-", suffix=".pickle")
        os.close(fd)
        os.unlink(name)  # it exists again only if the process fails
        process = context.Process(target=_wrap, args=(fn, i, args, name), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(name)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """``start_processes`` with fresh interpreters."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
