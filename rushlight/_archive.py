"""Zip archives as checkpoints use them: stored records, each aligned, behind one folder name."""

from __future__ import annotations

import struct
import zlib

MAX32 = 0xFFFFFFFF
ALIGNMENT = 64
CORRUPT = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood "
    "that your checkpoint file is corrupted. This can happen if the checkpoint was not saved "
    "properly, was transferred incorrectly, or the file was modified after saving."
)


def corrupt(reason: str) -> RuntimeError:
    """The error PyTorch raises for an archive that cannot be read."""
    return RuntimeError(
        f"PytorchStreamReader failed reading zip archive: {reason}. {CORRUPT}"
    )


class ArchiveWriter:
    """Writes records one after the other to ``write``, which is called with bytes-like parts.

    The layout is the one PyTorch's writer makes (zip with data descriptors, payloads aligned by
    an ``FB`` extra field), because PyTorch can compute the position of a payload from it.
    """

    def __init__(self, write, name: str):
        self._write = write
        self._name = name
        self._position = 0
        self._directory: list[bytes] = []
        self._checksums: list[tuple[bytes, int]] = []

    def _put(self, *parts) -> None:
        for part in parts:
            self._write(part)
            self._position += part.nbytes if isinstance(part, memoryview) else len(part)

    def add(self, name: str, payload) -> None:
        """Adds the record ``name`` with ``payload``, bytes or a flat memoryview of bytes."""
        encoded = f"{self._name}/{name}".encode()
        start, size = self._position, len(payload)
        crc = zlib.crc32(payload)
        large = b""
        if size >= MAX32:
            large += struct.pack("<QQ", size, size)
        if start >= MAX32:
            large += struct.pack("<Q", start)
        if large:
            large = struct.pack("<HH", 1, len(large)) + large
        padding = -(start + 30 + len(encoded) + len(large) + 4) % ALIGNMENT
        extra = large + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        flags = 0x0808 if size else 0x0800
        self._put(
            struct.pack(
                "<4s5H3I2H", b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(encoded), len(extra)
            )
            + encoded
            + extra
        )
        if size:
            self._put(payload)
            width = "QQ" if large else "II"
            self._put(struct.pack("<4sI" + width, b"PK\7\10", crc, size, size))
        sizes = min(size, MAX32)
        self._directory.append(
            struct.pack(
                "<4s6H3I5H2I", b"PK\1\2", 0, 0, flags, 0, 0, 0, crc, sizes, sizes,
                len(encoded), len(large), 0, 0, 0, 0, min(start, MAX32),
            )
            + encoded
            + large
        )  # fmt: skip
        self._checksums.append((encoded, crc))

    def identity(self) -> str:
        """Forty digits that depend on the names and contents written so far."""
        names = zlib.crc32(b"\0".join(name for name, _ in self._checksums))
        crcs = struct.pack(f"<{len(self._checksums)}I", *(crc for _, crc in self._checksums))
        return f"{names:020d}{zlib.crc32(crcs) << 32 | zlib.adler32(crcs):020d}"

    def close(self) -> None:
        """Writes the central directory; nothing may be added afterwards."""
        start, count = self._position, len(self._directory)
        self._put(*self._directory)
        size, end = self._position - start, self._position
        self._put(
            struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 798, 45, 0, 0, count, count, size, start)
            + struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
            + struct.pack(
                "<4s4HIIH", b"PK\5\6", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF),
                min(size, MAX32), min(start, MAX32), 0,
            )
        )  # fmt: skip


class ArchiveReader:
    """Reads records of the archive in ``file`` (seekable, binary); trusts no size it states."""

    def __init__(self, file):
        import zipfile

        self._file = file
        file.seek(0, 2)
        self.length = file.tell()
        try:
            self._zip = zipfile.ZipFile(file)
            entries = self._zip.infolist()
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, OSError):
            raise corrupt("failed finding central directory") from None
        except UnicodeDecodeError:
            raise corrupt("invalid header or archive is corrupted") from None
        if not entries:
            raise corrupt("archive does not contain any files")
        # Entries that share bytes would make a small file take much memory.
        if sum(entry.compress_size for entry in entries) > self.length:
            raise corrupt("invalid header or archive is corrupted")
        folder, slash, _ = entries[0].filename.partition("/")
        if not slash:
            raise RuntimeError("file in archive is not in a subdirectory: " + folder)
        prefix = folder + "/"
        self._entries = {
            entry.filename[len(prefix) :]: entry
            for entry in entries
            if entry.filename.startswith(prefix)
        }

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self) -> list[str]:
        """The records' names without the folder, in the archive's order."""
        return list(self._entries)

    def size(self, name: str) -> int:
        """The bytes of the record ``name`` once read."""
        return self._entry(name).file_size

    def _entry(self, name: str):
        try:
            return self._entries[name]
        except KeyError:
            raise RuntimeError(
                "PytorchStreamReader failed locating file " + name + ": file not found"
            ) from None

    def offset(self, name: str) -> int:
        """Where in the file the bytes of a stored record begin."""
        entry = self._entry(name)
        self._file.seek(entry.header_offset)
        header = self._file.read(30)
        if len(header) != 30 or header[:4] != b"PK\3\4":
            raise corrupt("invalid header or archive is corrupted")
        name_length, extra_length = struct.unpack("<HH", header[26:])
        start = entry.header_offset + 30 + name_length + extra_length
        if entry.compress_type or entry.file_size != entry.compress_size:
            raise RuntimeError(f"record {name} is compressed and has no place in the file")
        if start + entry.file_size > self.length:
            raise corrupt("invalid header or archive is corrupted")
        return start

    def read(self, name: str) -> bytes:
        """The bytes of the record ``name``."""
        entry = self._entry(name)
        if not entry.compress_type:
            start = self.offset(name)
            self._file.seek(start)
            data = self._file.read(entry.file_size)
        else:
            data = self._inflate(name, entry)
        if len(data) != entry.file_size:
            raise corrupt("invalid header or archive is corrupted")
        return data

    def check(self, name: str) -> None:
        """Raises unless the archive is large enough to hold the record ``name``."""
        entry = self._entry(name)
        if not entry.compress_type:
            self.offset(name)
        # Deflate shrinks by 1032 at most: a record that claims more is no record.
        elif entry.file_size > 1032 * entry.compress_size + 64 or entry.compress_type != 8:
            raise corrupt("invalid header or archive is corrupted")

    def _inflate(self, name: str, entry) -> bytes:
        import zipfile

        self.check(name)
        try:
            return self._zip.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise corrupt("invalid header or archive is corrupted") from None

    def read_into(self, name: str, view: memoryview) -> None:
        """Fills ``view`` with the record ``name``, which must be as long."""
        if not view.nbytes:
            return
        entry = self._entry(name)
        readinto = None if entry.compress_type else getattr(self._file, "readinto", None)
        if readinto is None:
            view[:] = self.read(name)
            return
        self._file.seek(self.offset(name))
        done = 0
        while done < view.nbytes:
            count = readinto(view[done:])
            if not count:
                raise corrupt("invalid header or archive is corrupted")
            done += count
