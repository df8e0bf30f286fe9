"""Damaged and hostile checkpoints raise; they neither crash nor take memory they state."""

import io
import pickle
import random
import struct
import zipfile

import pytest

import rushlight as torch

from . import contents

FAILURES = (
    RuntimeError, ValueError, TypeError, EOFError, KeyError, IndexError, AttributeError,
    AssertionError, OSError, pickle.UnpicklingError, UnicodeError, struct.error,
)  # fmt: skip


def checkpoint(data_pkl: bytes, **records: bytes) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", data_pkl)
        archive.writestr("archive/version", b"3\n")
        for name, data in records.items():
            archive.writestr("archive/data/" + name.strip("_"), data)
    buffer.seek(0)
    return buffer


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def integer(value: int) -> bytes:
    data = pickle.encode_long(value)
    return b"\x8a" + bytes([len(data)]) + data


def storage(count, key="0", kind="FloatStorage") -> bytes:
    name = b"ctorch\n" + kind.encode() + b"\n"
    return b"(" + text("storage") + name + text(key) + text("cpu") + count + b"tQ"


def tensor(pid: bytes, offset=0, size=(3,), stride=(1,)) -> bytes:
    def row(numbers):
        return b"(" + b"".join(map(integer, numbers)) + b"t"

    hooks = b"ccollections\nOrderedDict\n)R"
    args = b"(" + pid + integer(offset) + row(size) + row(stride) + b"\x89" + hooks + b"t"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + args + b"R."


FLOATS = struct.pack("<3f", 1, 2, 3)


def test_the_builder_makes_good_files():
    data = tensor(storage(integer(3)))
    assert torch.load(checkpoint(data, _0=FLOATS)).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "data",
    [
        tensor(storage(integer(10**15))),
        tensor(storage(integer(2))),
        tensor(storage(integer(-3))),
        tensor(storage(b"G" + struct.pack(">d", 3.0))),
        tensor(storage(integer(3), key="9")),
        tensor(storage(integer(3)), size=(10**15,)),
        tensor(storage(integer(3)), offset=1),
        tensor(storage(integer(3)), offset=-1),
        tensor(storage(integer(3)), stride=(2,)),
        tensor(storage(integer(3)), stride=(-1,)),
        tensor(storage(integer(3)), size=(-3,)),
        tensor(storage(integer(3)), size=(2**62, 4), stride=(0, 2**62)),
        tensor(storage(integer(3)), size=(3, 1)),
        tensor(storage(integer(3), kind="Size")),
        tensor(text("no storage")),
        b"\x80\x02cbuiltins\nbytearray\n" + integer(10**15) + b"\x85R.",
        b"\x80\x02ctorch.storage\nUntypedStorage\n" + integer(10**15) + b"\x85R.",
        b"\x80\x02ctorch\nTensor\n" + integer(10**15) + b"\x85R.",
        b"\x80\x02ctorch\nTensor\n" + integer(10**15) + b"\x85\x81.",
        b"\x80\x02cbuiltins\neval\n" + text("1") + b"\x85R.",
        b"\x80\x02cos\nsystem\n" + text("true") + b"\x85R.",
        b"\x80\x02c_codecs\nencode\n" + text("x") + text("rot13") + b"\x86R.",
        b"\x80\x02ccollections\nOrderedDict\n}" + text("x") + b"K\x01sb.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}" + text("__code__") + b"Nsb.",
        b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(cbuiltins\nbytearray\n"
        b"ctorch\nTensor\n" + integer(10**15) + b"\x85}tR.",
        b"\x80\x02X\xff\xff\xff\x7f.",
        b"\x80\x02\x8d" + struct.pack("<Q", 2**62) + b".",
        b"\x80\x02h\x05.",
        b"\x80\x020.",
        b"\x80\x02t.",
        b"\x80\x02K\x01Q.",
        b"\x80\x02ctorch\n",
        b"\x80\x02",
        b"",
    ],
)
def test_hostile_pickle(data):
    with pytest.raises(FAILURES):
        torch.load(checkpoint(data, _0=FLOATS))


@pytest.mark.parametrize("tail", [b"}", b"(", b"cbuiltins\nset\n]"])
def test_deeply_nested_tuples(tail):
    nested = b"\x80\x02" + b")" + b"\x85" * 200_000
    use = {b"}": b"q\x00}h\x00K\x01s.", b"(": b"q\x00.", b"cbuiltins\nset\n]": b"q\x00."}[tail]
    with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
        torch.load(checkpoint(nested + use))


def test_tuples_that_double():
    doubling = b"\x80\x02)" + b"q\x00h\x00\x86" * 80 + b"q\x01}h\x01K\x01s."
    with pytest.raises(pickle.UnpicklingError, match="nested too deeply"):
        torch.load(checkpoint(doubling))


def test_truncated_everywhere():
    buffer = io.BytesIO()
    torch.save({"a": torch.arange(5.0)}, buffer)
    data = buffer.getvalue()
    central = "failed finding central directory"
    for length in range(4, len(data) - 1, 7):
        with pytest.raises(RuntimeError, match=central):
            torch.load(io.BytesIO(data[:length]))


@pytest.mark.parametrize("zip_format", [True, False])
@pytest.mark.parametrize("weights_only", [True])
def test_damaged_bytes(zip_format, weights_only):
    buffer = io.BytesIO()
    value = contents.training_state(torch)
    torch.save(value, buffer, _use_new_zipfile_serialization=zip_format)
    source = random.Random(0)
    failed = 0
    for _ in range(400):
        data = bytearray(buffer.getvalue())
        for _ in range(source.choice([1, 1, 3, 20])):
            data[source.randrange(len(data))] = source.randrange(256)
        try:
            torch.load(io.BytesIO(bytes(data)), weights_only=weights_only)
        except FAILURES:
            failed += 1
    assert failed > 100


def test_legacy_states_more_than_there_is():
    buffer = io.BytesIO()
    torch.save(torch.ones(3), buffer, _use_new_zipfile_serialization=False)
    data = buffer.getvalue()
    with pytest.raises(FAILURES):
        torch.load(io.BytesIO(data[:-4]))
    count = b"K\x03N"  # the storage's elements, then no view
    assert data.count(count) == 1
    huge = data.replace(count, integer(10**15) + b"N")
    with pytest.raises(RuntimeError, match="too short for the storages"):
        torch.load(io.BytesIO(huge))


def test_inflated_size():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N.")
    data = bytearray(buffer.getvalue())
    entry = data.rindex(b"PK\1\2")
    data[entry + 24 : entry + 28] = struct.pack("<I", 2**32 - 2)
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        torch.load(io.BytesIO(bytes(data)))
