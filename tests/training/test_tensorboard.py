"""Event files: their records are whole and say what was added."""

import struct
import zlib

import pytest

import rushlight as torch
from rushlight.utils.tensorboard import SummaryWriter, _event_file


def records(path):
    """The messages of an event file, whose checksums must be right."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        body = data[at + 12 : at + 12 + length]
        assert _event_file.record(body) == data[at : at + 16 + length]
        yield message(body)
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data):
    """Fields by number, each a list; nested ones are bytes."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def written(folder):
    (path,) = [p for p in folder.iterdir() if p.name.startswith("events.out.tfevents.")]
    first, *rest = records(path)
    assert first[3] == [b"brain.Event:2"]
    return [(event.get(2, [None])[0], message(message(event[5][0])[1][0])) for event in rest]


def test_the_checksum():
    # The check value of CRC-32C, unmasked: 0xE3069283.
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert _event_file._masked_crc(b"123456789") == masked


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(0.5), 3, walltime=7.0)
        writer.add_scalar("loss", 2, 2**40)
        writer.add_scalar("new", 0.25, new_style=True)
        assert writer.get_logdir() == tmp_path
    (step, value), (later, _), (none, new) = written(tmp_path)
    assert (step, value) == (3, {1: [b"loss"], 2: [0.5]})
    assert later == 2**40
    assert none is None
    assert message(new[8][0])[4] == [struct.pack("<f", 0.25)]
    writer.add_scalar("more", 1)  # a closed writer starts another file
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(AssertionError):
        SummaryWriter(tmp_path / "x").add_scalar("two", torch.ones(2))


def test_several_scalars(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalars("run/loss", {"train": 1.0, "test": 2.0}, 1)
    assert written(tmp_path / "run_loss_train") == [(1, {1: [b"run/loss"], 2: [1.0]})]
    assert written(tmp_path / "run_loss_test") == [(1, {1: [b"run/loss"], 2: [2.0]})]


def test_other_kinds(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", torch.arange(10.0), 1, bins=5)
        writer.add_text("t", "hello", 2)
        writer.add_image("i", torch.tensor([[[0.0, 1.0]], [[0.5, 1.0]], [[0.0, 0.0]]]), 3)
        writer.add_images("n", torch.zeros(2, 1, 4, 4), 4)
    (_, h), (_, t), (_, i), (_, n) = written(tmp_path)
    histogram = message(h[5][0])
    assert [histogram[k] for k in (1, 2, 3, 4)] == [[0.0], [9.0], [10.0], [45.0]]
    assert struct.unpack("<6d", histogram[7][0]) == (0.0, *[2.0] * 5)  # an empty bin below
    assert t[1] == [b"t/text_summary"]
    assert message(t[8][0])[8] == [b"hello"]
    picture = message(i[4][0])
    assert (picture[1], picture[2], picture[3]) == ([1], [2], [3])
    png = picture[4][0]
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    data = png[png.index(b"IDAT") + 4 : png.index(b"IEND") - 8]
    assert zlib.decompress(data) == bytes([0, 0, 127, 0, 255, 255, 0])
    assert message(n[4][0])[2] == [8]


def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "a", "flag": True}, {"loss": 2.0}, run_name="r")
    values = [value for _, value in written(tmp_path / "r")]
    assert [v[1][0] for v in values] == [
        b"_hparams_/experiment", b"_hparams_/session_start_info", b"_hparams_/session_end_info",
        b"loss",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="should be a dictionary"):
        SummaryWriter(tmp_path / "y").add_hparams([], {})
