"""Saving and loading checkpoints in PyTorch's zip format, readable both ways."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Callable
from enum import Enum

import rushlight as torch

from . import _locations, storage
from . import _weights_only_unpickler as _wo
from ._locations import default_restore_location, location_tag, register_package, restorer
from ._pickled_names import pickled, plain_unpickler
from ._saved_storages import StorageTable, ascii_text, storage_bytes, storage_element
from ._weights_only_unpickler import (
    StorageType,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

__all__ = [
    "LoadEndianness",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_default_load_endianness",
]

DEFAULT_PROTOCOL = 2
# What ``map_location`` may be.
MAP_LOCATION = Callable[[storage.UntypedStorage, str], storage.UntypedStorage] | torch.device | (
    str | dict[str, str] | None
)
FORMAT_VERSION = b"3\n"

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the "
    "file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


class SourceChangeWarning(Warning):
    """Kept for programs that filter it; never raised."""


class LoadEndianness(Enum):
    """Byte order to assume for checkpoints that do not state theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_default_endianness: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for checkpoints without a ``byteorder`` record."""
    return _default_endianness


def set_default_load_endianness(endianness) -> None:
    """Sets the byte order assumed for checkpoints without a ``byteorder`` record."""
    global _default_endianness
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _default_endianness = endianness


def _get_layout(name: str):
    """The layout that ``name`` (``torch.strided``) spells."""
    return getattr(torch, name.rpartition(".")[2])


def normalize_storage_type(storage_type):
    """The public class of a storage's type."""
    return getattr(torch, storage_type.__name__)


# Saving


def save(
    obj: object,
    f,
    pickle_module=pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Saves ``obj`` to ``f``, a path or a writable binary file object.

    Aliasing is kept: tensors that share a storage share it after loading. A file of that name
    is replaced only once the new one is complete.

    Raises:
        AttributeError: ``f`` is neither a path nor has ``write``.
        RuntimeError: the parent directory does not exist, or one storage is seen as two dtypes.
    """
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if _use_new_zipfile_serialization:
        write = _zip_checkpoint(obj, pickle_module, pickle_protocol, _disable_byteorder_record)
    else:
        from ._legacy_serialization import legacy_checkpoint

        write = legacy_checkpoint(obj, pickle_module, pickle_protocol)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        _write_whole_file(path, lambda file: write(file.write, _archive_name(path)))
    else:
        write(f.write, "archive")
        if hasattr(f, "flush"):  # who reads the file by its name finds all of it
            f.flush()


def _archive_name(path: str) -> str:
    name = os.path.basename(path)
    stem = name.rpartition(".")[0] or name
    return stem if stem.isascii() and stem else "archive"


def _zip_checkpoint(obj, pickle_module, protocol, without_byteorder):
    table = StorageTable()

    def persistent_id(item):
        described = table.describe(item)
        return None if described is None else ("storage", *described)

    # Pickled before anything is written: an object that cannot be pickled harms no file.
    data = pickled(obj, pickle_module, protocol, persistent_id)

    def write(sink, name: str) -> None:
        from ._archive import ALIGNMENT, ArchiveWriter

        archive = ArchiveWriter(sink, name)
        archive.add("data.pkl", data)
        archive.add(".format_version", b"1")
        archive.add(".storage_alignment", str(ALIGNMENT).encode())
        if not without_byteorder:
            archive.add("byteorder", sys.byteorder.encode())
        for key, (untyped, _) in table.storages.items():
            on_cpu = untyped if untyped.device.type != "meta" else torch.UntypedStorage(0)
            archive.add(f"data/{key}", storage.raw_view(on_cpu))
        archive.add("version", FORMAT_VERSION)
        archive.add(".data/serialization_id", archive.identity().encode())
        archive.close()

    return write


def _write_whole_file(path: str, write) -> None:
    parent = os.path.dirname(path) or "."
    if not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
    if os.path.isdir(path):
        raise RuntimeError(f"File {path} cannot be opened.")
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:  # a pipe or a device has no half-written state
            write(file)
        return
    temporary = f"{target}.{os.getpid()}.{id(write):x}.part"
    try:
        file = open(temporary, "xb")  # noqa: SIM115  either of two is entered below
    except (PermissionError, OSError) as error:
        if not os.path.exists(target) or not os.access(target, os.W_OK):
            raise RuntimeError(f"File {path} cannot be opened.") from error
        # A directory that takes no further file.
        file, temporary = open(target, "wb"), None  # noqa: SIM115
    try:
        with file:
            write(file)
        if temporary is not None:
            if os.path.exists(target):
                os.chmod(temporary, os.stat(target).st_mode & 0o7777)
            os.replace(temporary, target)
    except BaseException:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise


# Loading


def _refusal(message: str) -> str:
    """PyTorch's text around what the weights_only unpickler said."""
    if "was not an allowed global by default." in message:
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two "
            "options, \033[1mdo those steps only if you trust the source of the checkpoint"
            f"\033[0m. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` "
            "please check the recommended steps in the following error message.\n\t"
            "WeightsUnpickler error: " + message + _DOCS
        )
    text = f"Weights only load failed. {_UNSAFE}\n"
    if not ("whose module " in message and " is blocked" in message):
        text += (
            "Please file an issue with the following so that we can make "
            "`weights_only=True` compatible with your use case: WeightsUnpickler error: "
        )
    return text + "\n\n" + message + _DOCS


def _forced(name: str) -> bool:
    return os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")


def _decide_weights_only(weights_only, pickle_module) -> bool:
    force, force_not = map(
        _forced, ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        weights_only = True
    elif force_not and weights_only is None:
        weights_only = False
    elif weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified"
        )
    return weights_only


def load(
    f,
    map_location=None,
    pickle_module=None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args,
):
    """Loads what ``save`` (or PyTorch) wrote to ``f``, a path or a readable binary file object.

    Args:
        map_location: a device, its name, a dict of location tags, or a function
            ``(storage, location) -> storage or None`` that places each storage.
        weights_only: build tensors, numbers, strings and containers only, and call nothing that
            is not listed (``add_safe_globals`` lists more). The default.
        mmap: map the file and read each storage when it is first used.

    Raises:
        pickle.UnpicklingError: the checkpoint names something not allowed.
        RuntimeError: the file is no checkpoint or is damaged.
    """
    weights_only = _decide_weights_only(weights_only, pickle_module)
    if weights_only and pickle_load_args:
        import warnings

        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        with open(path, "rb") as file:
            return _load_file(
                file, path, map_location, pickle_module, weights_only, mmap, pickle_load_args
            )
    _check_seekable(f)
    return _load_file(f, None, map_location, pickle_module, weights_only, mmap, pickle_load_args)


def get_crc32_options() -> bool:
    """What ``set_crc32_options`` was told."""
    from .utils.serialization import config

    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Remembered only: archives always have their checksums."""
    from .utils.serialization import config

    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """How ``load(..., mmap=True)`` maps a file: ``mmap.MAP_PRIVATE`` at first."""
    from .utils.serialization import config

    return config.load.mmap_flags


class set_default_mmap_options:
    """Maps files by ``flags``, ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``; also for a block."""

    def __init__(self, flags: int) -> None:
        import mmap

        from .utils.serialization import config

        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, config.load.mmap_flags = config.load.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args) -> None:
        from .utils.serialization import config

        config.load.mmap_flags = self.prev


def _check_seekable(f) -> None:
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" not in str(error) and "tell" not in str(error):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable."
            " Please pre-load the data into a buffer like io.BytesIO and"
            " try to load from it instead."
        ) from None


def _load_file(file, path, map_location, pickle_module, weights_only, mmap, load_args):
    start = file.tell()
    is_zip = file.read(4) == b"PK\3\4"
    file.seek(start)
    try:
        if is_zip:
            if mmap and path is None:
                raise ValueError("f must be a file path in order to use the mmap argument")
            return _load_zip(
                file, path if mmap else None, map_location, pickle_module, weights_only, load_args
            )
        if mmap:
            name = f"{path}, " if isinstance(path, str) else ""
            raise RuntimeError(
                "mmap can only be used with files saved with "
                f"`torch.save({name}_use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        from ._legacy_serialization import legacy_load

        return legacy_load(
            file, restorer(map_location), None if weights_only else pickle_module or pickle,
            load_args,
        )  # fmt: skip
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_refusal(str(error))) from None


class _ZipStorages:
    """Reads the storages of an archive, each once."""

    def __init__(self, archive, path, restore, on_meta):
        self._archive = archive
        self._restore = restore
        self._on_meta = on_meta
        self._loaded: dict = {}
        self._map = None
        if path is not None:
            import mmap

            shared = get_default_mmap_options() == mmap.MAP_SHARED
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            with open(path, "r+b" if shared else "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=access)
        order = archive.read("byteorder").decode("latin1") if "byteorder" in archive else None
        if order is not None and order not in ("little", "big"):
            raise ValueError("Unknown endianness type: " + order)
        if order is None and _default_endianness is not LoadEndianness.NATIVE:
            order = "big" if _default_endianness is LoadEndianness.BIG else "little"
        self._swap = order is not None and order != sys.byteorder

    def find(self, saved_id):
        """The typed storage that a persistent id names."""
        if not isinstance(saved_id, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
        typename = ascii_text(saved_id[0])
        if typename != "storage":
            raise AssertionError(
                f"Unknown typename for persistent_load, expected 'storage' but got '{typename}'"
            )
        kind, key, location, count = saved_id[1:]
        dtype, key, location = storage_element(kind), str(key), ascii_text(location)
        if key not in self._loaded:
            untyped = self._read(f"data/{key}", storage_bytes(count, dtype), dtype, location)
            if not self._on_meta:
                untyped = self._restore(untyped, location)
            self._loaded[key] = storage.TypedStorage(
                wrap_storage=untyped, dtype=dtype, _internal=True
            )
        return self._loaded[key]

    def _read(self, name: str, nbytes: int, dtype, location: str):
        if self._on_meta or location == "meta":
            return torch.UntypedStorage(nbytes, device="meta")
        if self._archive.size(name) != nbytes:
            raise RuntimeError(
                f"record {name} holds {self._archive.size(name)} bytes, but its storage "
                f"is said to have {nbytes}"
            )
        if self._map is not None and nbytes:
            view = memoryview(self._map)[self._archive.offset(name) :][:nbytes]
            untyped = torch.frombuffer(view, dtype=torch.uint8).untyped_storage()
        else:
            self._archive.check(name)  # before memory is taken
            untyped = torch.UntypedStorage(nbytes)
            self._archive.read_into(name, storage.raw_view(untyped))
        if self._swap:
            untyped.byteswap(dtype)
        return untyped


def _load_zip(file, map_path, map_location, pickle_module, weights_only, load_args):
    from ._archive import ArchiveReader

    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to "
            "``torch.load``. " + _UNSAFE if weights_only
            else "TorchScript archives cannot be loaded"
        )  # fmt: skip
    on_meta = str(map_location) == "meta" if not callable(map_location) else False
    storages = _ZipStorages(archive, map_path, restorer(map_location), on_meta)
    data = io.BytesIO(archive.read("data.pkl"))
    if weights_only:
        unpickler = _wo.Unpickler(data, encoding=load_args["encoding"])
    else:
        unpickler = plain_unpickler(pickle_module or pickle)(data, **load_args)
    unpickler.persistent_load = storages.find
    _locations.loading_to = map_location
    try:
        return unpickler.load()
    finally:
        _locations.loading_to = None


def get_unsafe_globals_in_checkpoint(f) -> list[str]:
    """The names in a checkpoint that ``weights_only=True`` would refuse."""
    from ._archive import ArchiveReader

    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else _kept_open(f) as file:
        if file.read(4) != b"PK\3\4":
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = ArchiveReader(file)
        if "constants.pkl" in archive:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save "
                "but got a torchscript checkpoint"
            )
        named = _wo.globals_in_pickle(archive.read("data.pkl"))
    safe = {*_wo._allowed_globals(), *_wo._user_allowed_globals()}
    return list(named - safe)


def _kept_open(file):
    import contextlib

    file.seek(0)
    return contextlib.nullcontext(file)


