"""PyTorchFileReader: a checkpoint as an archive of named records."""

from __future__ import annotations

import rushlight as torch

from ._archive import ArchiveReader


class PyTorchFileReader:
    """Reads the records of a checkpoint: a path or an open binary file."""

    def __init__(self, file):
        self._file = open(file, "rb") if isinstance(file, str) else file  # noqa: SIM115
        self._reader = ArchiveReader(self._file)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._reader.read(name)

    def has_record(self, name: str) -> bool:
        """Whether there is such a record."""
        return name in self._reader

    def get_all_records(self) -> list[str]:
        """The names of all."""
        return self._reader.names()

    def get_record_offset(self, name: str) -> int:
        """Where in the file a record's bytes begin."""
        return self._reader.offset(name)

    def get_storage_from_record(self, name: str, numel: int, dtype):
        """A flat tensor over a record's bytes."""
        data = bytearray(self._reader.read(name))
        if len(data) != numel * dtype.itemsize:
            raise RuntimeError(f"record {name} does not hold {numel} elements of {dtype}")
        return torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
