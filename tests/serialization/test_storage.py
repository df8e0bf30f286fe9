"""Storages: bytes, slices that share them, typed views, memory shared with other processes."""

import copy
import os

import pytest

import rushlight as torch


def filled():
    return torch.tensor([1, 2, 3, 4], dtype=torch.uint8).untyped_storage()


def test_bytes():
    storage = filled()
    assert (len(storage), storage.nbytes(), storage.size(), storage.element_size()) == (4, 4, 4, 1)
    assert storage[0] == 1
    assert storage[-1] == 4
    assert storage.tolist() == list(storage) == [1, 2, 3, 4]
    storage[1] = 9
    storage[2:] = 7
    assert storage.tolist() == [1, 9, 7, 7]
    assert storage.fill_(5).tolist() == [5] * 4
    with pytest.raises(IndexError):
        storage[4]


def test_slices_share_memory():
    storage = filled()
    part = storage[1:3]
    part.fill_(0)
    assert storage.tolist() == [1, 0, 0, 4]
    assert part.data_ptr() == storage.data_ptr() + 1
    del storage
    assert part.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="only a step of 1 is supported"):
        part[::2]


def test_copies():
    storage = filled()
    for made in (storage.clone(), copy.copy(storage), copy.deepcopy(storage)):
        made.fill_(0)
        assert storage.tolist() == [1, 2, 3, 4]
    target = torch.UntypedStorage(4).copy_(storage)
    assert target.tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="size does not match"):
        torch.UntypedStorage(3).copy_(storage)


def test_repr():
    assert repr(filled()) == (
        " 1\n 2\n 3\n 4\n[torch.storage.UntypedStorage(device=cpu) of size 4]"
    )


def test_typed():
    typed = torch.IntStorage([1, 2, 3])
    assert (len(typed), typed[1], typed[-1], typed.nbytes()) == (3, 2, 3, 12)
    typed[0] = 7
    assert typed.tolist() == [7, 2, 3]
    assert typed[1:].tolist() == [2, 3]
    assert typed.float().tolist() == [7.0, 2.0, 3.0]
    assert typed.type() == "torch.IntStorage"
    with pytest.raises(IndexError, match="index 3 out of range for storage of size 3"):
        typed[3]
    with pytest.raises(RuntimeError, match="Argument 'dtype' must be specified"):
        torch.TypedStorage(wrap_storage=filled())
    with pytest.raises(TypeError, match="Argument type not recognized"):
        torch.TypedStorage({})


def test_byteswap():
    storage = torch.tensor([1, 256], dtype=torch.int16).untyped_storage()
    storage.byteswap(torch.int16)
    assert storage.tolist() == [0, 1, 1, 0]
    storage = torch.tensor([1 + 2j]).untyped_storage()
    before = storage.tolist()
    storage.byteswap(torch.complex64)
    assert storage.tolist() == before[3::-1] + before[:3:-1]


def test_file(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"abcd")
    private = torch.UntypedStorage.from_file(str(path), False, 4)
    private.fill_(0)
    assert path.read_bytes() == b"abcd"
    shared = torch.UntypedStorage.from_file(str(path), True, 6)
    shared[0] = ord("z")
    assert path.read_bytes() == b"zbcd\0\0"


def test_shared_with_a_fork():
    tensor = torch.zeros(3)
    assert not tensor.is_shared()
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared()
    child = os.fork()
    if not child:
        tensor.fill_(2)
        os._exit(0)
    os.waitpid(child, 0)
    assert tensor.tolist() == [2.0] * 3
