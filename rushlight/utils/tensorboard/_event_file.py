"""Event files as TensorBoard reads them: checked records of protocol buffer messages."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time

_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), bits in reverse


def _crc_table() -> list:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and shifted as record files want it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """``data`` with its length and both checksums."""
    length = struct.pack("<Q", len(data))
    checks = [struct.pack("<I", _masked_crc(part)) for part in (length, data)]
    return length + checks[0] + data + checks[1]


# ---- Protocol buffers: a field is its number and kind, then the value


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """An integer field."""
    return _varint(field << 3) + _varint(int(value))


def double(field: int, value: float) -> bytes:
    """A field of eight bytes."""
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    """A field of four bytes."""
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def nested(field: int, value: bytes | str) -> bytes:
    """A field of bytes, text or another message."""
    value = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def doubles(field: int, values) -> bytes:
    """A packed list of doubles."""
    return nested(field, struct.pack(f"<{len(values)}d", *values))


class EventFile:
    """One event file in a folder, which it makes; records are buffered until ``flush``."""

    _count = 0
    _lock = threading.Lock()

    def __init__(self, folder: str, suffix: str = ""):
        os.makedirs(folder, exist_ok=True)
        now = time.time()
        with EventFile._lock:
            number, EventFile._count = EventFile._count, EventFile._count + 1
        name = (
            f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}.{number}{suffix}"
        )
        self.path = os.path.join(folder, name)
        self._file = open(self.path, "ab")  # noqa: SIM115  (closed by `close`)
        self._write_lock = threading.Lock()
        self._write(double(1, now) + nested(3, "brain.Event:2"))
        self.flush()

    def _write(self, event: bytes) -> None:
        with self._write_lock:
            self._file.write(record(event))

    def add_summary(self, values: bytes, step: int | None, walltime: float | None) -> None:
        """Adds a summary of the encoded ``values`` (fields 1 of it)."""
        event = double(1, time.time() if walltime is None else walltime)
        if step is not None:
            event += integer(2, step)
        self._write(event + nested(5, values))

    def add_graph(self, graph: bytes, walltime: float | None = None) -> None:
        """Adds an encoded graph of a model."""
        self._write(double(1, time.time() if walltime is None else walltime) + nested(4, graph))

    def flush(self) -> None:
        """Writes what is buffered."""
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Writes what is buffered and closes the file."""
        self._file.close()
