"""Damaged and hostile checkpoints raise; they neither crash nor take memory they state."""

import io
import pickle
import random
import struct
import zipfile

import pytest

import rushlight as torch
from rushlight._weights_only_unpickler import _allowed_globals

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


def test_entries_that_share_bytes():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N.")
        archive.writestr("archive/data/0", bytes(4000))
        for key in range(1, 9):  # the same bytes under other names
            shared = zipfile.ZipInfo(f"archive/data/{key}")
            first = archive.getinfo("archive/data/0")
            for field in ("header_offset", "compress_size", "file_size", "CRC"):
                setattr(shared, field, getattr(first, field))
            archive.filelist.append(shared)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed"):
        torch.load(buffer)


class RandomPickle:
    """Pickles of allowed names, applied to what they were not made for."""

    numbers = (-1, 0, 1, 3, 2**31, 2**62, 10**15, -(2**63), 2**70)
    kinds = ("FloatStorage", "LongStorage", "BoolStorage", "ComplexDoubleStorage")

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = sorted(_allowed_globals())

    def name(self) -> bytes:
        module, _, name = self.random.choice(self.names).rpartition(".")
        return f"c{module}\n{name}\n".encode()

    def several(self, depth, most) -> bytes:
        count = self.random.randrange(most)
        return b"(" + b"".join(self.value(depth + 1) for _ in range(count))

    def tensor(self) -> bytes:
        def row():
            return tuple(self.random.choices(self.numbers, k=self.random.randrange(3)))

        where = storage(integer(3), kind=self.random.choice(self.kinds))
        return tensor(where, self.random.choice(self.numbers), row(), row())[2:-1]

    def atom(self) -> bytes:
        choose = self.random.choice
        return choose(
            [
                lambda: integer(choose(self.numbers)),
                lambda: text(choose(["", "0", "cpu", "storage", "__dict__", "__class__", "meta"])),
                lambda: choose([b"N", b"\x88", b"\x89", b")", b"}", b"]", b"U\x03abc"]),
                lambda: b"G" + struct.pack(">d", choose([0.0, 1.5, float("inf")])),
                lambda: storage(integer(choose(self.numbers)), kind=choose(self.kinds)),
                self.name,
                self.tensor,
            ]
        )()

    def value(self, depth=0) -> bytes:
        kind = self.random.random()
        if depth > 3 or kind < 0.3:
            return self.atom()
        if kind < 0.65:  # called, or made by __new__
            made = self.random.choice([b"R", b"R", b"\x81"])
            return self.name() + self.several(depth, 7) + b"t" + made
        if kind < 0.75:  # given a state
            return self.value(depth + 1) + self.value(depth + 1) + b"b"
        if kind < 0.85:
            return self.several(depth, 4) + self.random.choice([b"t", b"l", b"d"])
        if kind < 0.95:
            return b"]" + self.several(depth, 3) + b"e"
        return self.value(depth + 1) + b"Q"


def test_random_pickles():
    source = RandomPickle(0)
    made = 0
    for _ in range(600):
        data = checkpoint(b"\x80\x02" + source.value() + b".", _0=FLOATS)
        try:
            repr(torch.load(data))
            made += 1
        except (*FAILURES, MemoryError, OverflowError):
            pass
    assert 50 < made < 500
