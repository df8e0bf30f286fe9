"""Memory that processes share: anonymous files, mapped where they are used."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref

import rushlight as torch

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value
_MAP_POPULATE = getattr(mmap, "MAP_POPULATE", 0)

_files: dict[int, int] = {}  # address of a mapping that is alive -> its file, or -1


def _unmap(address: int, nbytes: int) -> None:
    fd = _files.pop(address, -1)
    _libc.munmap(address, nbytes)
    if fd != -1:
        os.close(fd)


def anonymous_file(nbytes: int) -> int:
    """A file of ``nbytes`` zeros that has no name and goes with its last user."""
    fd = os.memfd_create("rushlight")
    os.ftruncate(fd, nbytes)
    return fd


def mapped(fd: int, nbytes: int, keep: bool = True, at_once: bool = False):
    """A storage over the file; with ``keep`` it owns ``fd``, so that it can be sent on.

    ``at_once`` brings all pages in, which costs less than a fault for each.
    """
    flags = mmap.MAP_SHARED | (_MAP_POPULATE if at_once else 0)
    address = _libc.mmap(None, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    if address == _FAILED:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    memory = (ctypes.c_char * nbytes).from_address(address)
    _files[address] = fd if keep else -1
    weakref.finalize(memory, _unmap, address, nbytes).atexit = False
    return torch.UntypedStorage._from_memory(memory)


def is_shared(storage) -> bool:
    """Whether other processes can see what is written to ``storage``."""
    return storage.data_ptr() in _files


def share(storage) -> None:
    """Moves the bytes of ``storage`` to memory that processes share."""
    nbytes = storage.nbytes()
    if not nbytes or is_shared(storage):
        return
    fd = anonymous_file(nbytes)
    write_all(fd, torch.storage.raw_view(storage))
    storage._replace(mapped(fd, nbytes))


def write_all(fd: int, view) -> None:
    """Writes ``view`` from the file's start; one call takes 2 GiB at most."""
    done = 0
    while done < len(view):
        done += os.write(fd, view[done:])


def file_of(storage) -> int:
    """The file behind a shared storage."""
    fd = _files.get(storage.data_ptr(), -1)
    if fd == -1:  # its memory came without a file: a copy has one
        moved = torch.UntypedStorage(storage.nbytes())
        torch.storage.raw_view(moved)[:] = torch.storage.raw_view(storage)
        share(moved)
        storage._replace(moved)
        fd = _files[storage.data_ptr()]
    return fd
