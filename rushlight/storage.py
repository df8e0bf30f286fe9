"""Storages: the bytes behind tensors, their typed views, and the legacy names in checkpoints."""

from __future__ import annotations

import functools

import rushlight as torch

_warned = False

# PyTorch's legacy class names (torch/storage.py); checkpoints name element types by them.
_STORAGE_NAMES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
}


def dtype_of_storage_name(name: str):
    """The dtype that ``FloatStorage`` and its kind stand for; KeyError for other names."""
    try:
        return getattr(torch, _STORAGE_NAMES[name])
    except KeyError as error:
        raise KeyError(f'pickle storage type "{name}" is not recognized') from error


@functools.cache
def _named_dtypes() -> dict:
    return {getattr(torch, dtype): name for name, dtype in _STORAGE_NAMES.items()}


def storage_name_of_dtype(dtype) -> str:
    """The legacy class name under which checkpoints store ``dtype``."""
    try:
        return _named_dtypes()[dtype]
    except KeyError as error:
        raise KeyError(f"dtype {dtype} is not recognized") from error


@functools.cache
def _new_dtypes() -> set:
    """The dtypes that no storage class stands for; their tensors are stored with the dtype."""
    names = ["complex32", "uint16", "uint32", "uint64", "float4_e2m1fn_x2"]
    names += [f"float8_{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")]
    return {getattr(torch, name) for name in names}


def element_size(dtype) -> int:
    """Bytes of one element of ``dtype``."""
    return dtype.itemsize


def raw_view(storage) -> memoryview:
    """The bytes of a CPU storage as a flat, writable memoryview."""
    return memoryview(storage).cast("B") if storage.nbytes() else memoryview(bytearray())


def as_tensor(storage, dtype):
    """A flat tensor over all whole elements of ``storage``."""
    count = storage.nbytes() // element_size(dtype)
    return torch.empty(0, dtype=dtype, device=storage.device).set_(storage, 0, (count,), (1,))


def _warn_typed_storage_removal(stacklevel: int = 2) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    import warnings

    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and "
        "UntypedStorage will be the only storage class. This should only matter "
        "to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _load_from_bytes(data: bytes):
    """Unpickles a storage that was pickled outside ``torch.save``."""
    import io

    return torch.load(io.BytesIO(data), weights_only=False)


def _reduce(storage):
    import io

    buffer = io.BytesIO()
    torch.save(storage, buffer, _use_new_zipfile_serialization=False)
    return (_load_from_bytes, (buffer.getvalue(),))


# Methods of UntypedStorage that need no core


def _untyped_repr(self):
    info = f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"
    if self.device.type == "meta":
        return "...\n" + info
    return " " + "\n ".join(map(str, self.tolist())) + "\n" + info


def _untyped_deepcopy(self, memo):
    # Aliasing tensors in one deepcopy must go on sharing one storage.
    copies = memo.setdefault("torch", {})
    if id(self) not in copies:
        copies[id(self)] = (self.clone(), self)
    return copies[id(self)][0]


def _untyped_clone(self):
    """Return a copy of this storage."""
    return type(self)(self.nbytes(), device=self.device).copy_(self)


def _untyped_tolist(self):
    """Return a list containing the elements of this storage."""
    return list(raw_view(self))


def _untyped_byteswap(self, dtype):
    """Swap bytes in underlying data."""
    width = element_size(dtype) // (2 if dtype.is_complex else 1)
    if width > 1:
        view = raw_view(self)
        swapped = bytearray(len(view))
        for byte in range(width):
            swapped[byte::width] = view[width - 1 - byte :: width]
        view[:] = swapped


def _untyped_getitem(self, index):
    view = raw_view(self)
    if not isinstance(index, slice):
        return view[index]
    start, stop, step = index.indices(len(view))
    if step != 1:
        raise RuntimeError(
            f"Trying to slice with a step of {step}, but only a step of 1 is supported"
        )
    return type(self)._from_memory(view[start : max(start, stop)])


def _untyped_setitem(self, index, value):
    view = raw_view(self)
    if isinstance(index, slice):
        view[index] = bytes([value]) * len(range(*index.indices(len(view))))
    else:
        view[index] = value


def _untyped_fill_(self, value: int):
    """Sets every byte to ``value``."""
    raw_view(self)[:] = bytes([value]) * self.nbytes()
    return self


def _untyped_copy_(self, source, non_blocking=None):
    """Copies the bytes of another storage of the same size."""
    source = getattr(source, "_untyped_storage", source)
    if source.nbytes() != self.nbytes():
        raise RuntimeError(
            f"size does not match, self was {self.nbytes()} bytes but src was "
            f"{source.nbytes()} bytes"
        )
    if self.device.type == "cpu" and source.device.type == "cpu":
        raw_view(self)[:] = raw_view(source)
    return self


def _untyped_to(self, *, device, non_blocking=False):
    """A copy on ``device``, or this storage when it is there already."""
    device = torch.device(device)
    if device.type == self.device.type:
        return self
    return type(self)(self.nbytes(), device=device)


def _untyped_from_file(filename, shared: bool = False, nbytes: int = 0):
    """A storage over the first ``nbytes`` of a file; with ``shared``, writes reach the file."""
    import mmap
    import os

    with open(filename, "r+b" if shared else "rb") as file:
        if shared and os.fstat(file.fileno()).st_size < nbytes:
            file.truncate(nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return torch.UntypedStorage._from_memory(mmap.mmap(file.fileno(), nbytes, access=access))


def _untyped_is_shared(self) -> bool:
    """Whether other processes can see what is written here."""
    import sys

    # Nothing is shared before the module that does it is there.
    module = sys.modules.get(f"{__package__}._shared_memory")
    return module is not None and module.is_shared(self)


def _untyped_share_memory_(self):
    """Moves the bytes to memory that processes share."""
    from . import _shared_memory

    _shared_memory.share(self)
    return self


_UNTYPED_ALWAYS = {
    "__repr__": _untyped_repr,
    "__sizeof__": lambda self: object.__sizeof__(self) + self.nbytes(),
    "__str__": _untyped_repr,
    "__copy__": lambda self: self.clone(),
    "__deepcopy__": _untyped_deepcopy,
    "__reduce__": _reduce,
    "__reduce_ex__": lambda self, protocol: self.__reduce__(),
}
_UNTYPED_MISSING = {
    "__iter__": lambda self: iter(self.tolist()),
    "clone": _untyped_clone,
    "tolist": _untyped_tolist,
    "byteswap": _untyped_byteswap,
    "size": lambda self: self.nbytes(),
    "untyped": lambda self: self,
    "element_size": lambda self: 1,
    "cpu": lambda self: self if self.device.type == "cpu" else self.to(device="cpu"),
    "is_cuda": property(lambda self: False),
    "__getitem__": _untyped_getitem,
    "__setitem__": _untyped_setitem,
    "_cdata": property(id),
    "fill_": _untyped_fill_,
    "copy_": _untyped_copy_,
    "to": _untyped_to,
    "from_file": staticmethod(_untyped_from_file),
    "is_shared": _untyped_is_shared,
    "share_memory_": _untyped_share_memory_,
    "is_pinned": lambda self, device=None: False,
    "is_sparse": False,
}


def attach(untyped_storage: type) -> None:
    """Gives the core's UntypedStorage the methods written in Python."""
    for name, method in _UNTYPED_ALWAYS.items():
        setattr(untyped_storage, name, method)
    for name, method in _UNTYPED_MISSING.items():
        if not hasattr(untyped_storage, name):
            setattr(untyped_storage, name, method)


_ARGUMENTS = (
    " received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)"
)


class TypedStorage:
    """An UntypedStorage seen as elements of one dtype (deprecated, as in PyTorch)."""

    is_sparse = False

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if not _internal:
            _warn_typed_storage_removal()
        if cls is TypedStorage:
            return super().__new__(cls)
        # A legacy name constructs a TypedStorage of its dtype.
        if dtype is not None or device is not None:
            which = "dtype" if device is None else "device"
            raise RuntimeError(
                f"{cls}.__new__ received an invalid combination of arguments. "
                f"\nKeyword argument '{which}' cannot be specified"
            )
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        if wrap_storage is not None:
            self._wrap(args, device, dtype, wrap_storage)
            return
        self.dtype = torch.get_default_dtype() if dtype is None else dtype
        device = torch.device("cpu" if device is None else device)
        if len(args) > 1:
            raise RuntimeError(
                "TypedStorage.__init__" + _ARGUMENTS + "\nToo many positional arguments"
            )
        if not args:
            self._untyped_storage = torch.UntypedStorage(0, device=device)
        elif isinstance(args[0], int):
            size = args[0] * element_size(self.dtype)
            self._untyped_storage = torch.UntypedStorage(size, device=device)
        elif isinstance(args[0], (list, tuple, range)):
            values = torch.tensor(args[0], dtype=self.dtype, device=device)
            self._untyped_storage = values.untyped_storage()
        else:
            raise TypeError(
                "TypedStorage.__init__" + _ARGUMENTS
                + f"\nArgument type not recognized: {type(args[0])}"
            )  # fmt: skip

    def _wrap(self, args, device, dtype, storage) -> None:
        problem = None
        if args:
            problem = "No positional arguments should be given when using 'wrap_storage'"
        elif dtype is None:
            problem = "Argument 'dtype' must be specified"
        elif device is not None:
            problem = "Argument 'device' should not be specified when 'wrap_storage' is given"
        if problem:
            raise RuntimeError("TypedStorage.__init__" + _ARGUMENTS + "\n" + problem)
        if not isinstance(storage, torch.UntypedStorage):
            raise TypeError(
                "TypedStorage.__init__" + _ARGUMENTS
                + f"\nArgument 'wrap_storage' must be UntypedStorage, but got {type(storage)}"
            )  # fmt: skip
        self.dtype = dtype
        self._untyped_storage = storage

    def _new_wrapped_storage(self, untyped):
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    @property
    def device(self):
        """Where the bytes are."""
        _warn_typed_storage_removal()
        return self._untyped_storage.device

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    @property
    def is_cuda(self):
        """False: no CUDA storages."""
        return False

    def untyped(self):
        """The UntypedStorage behind this one."""
        _warn_typed_storage_removal()
        return self._untyped_storage

    def _size(self) -> int:
        return self._untyped_storage.nbytes() // element_size(self.dtype)

    def __sizeof__(self):
        return super().__sizeof__() + self.nbytes()

    def __len__(self):
        _warn_typed_storage_removal()
        return self._size()

    def size(self):
        """Elements in this storage."""
        _warn_typed_storage_removal()
        return self._size()

    def nbytes(self):
        """Bytes in this storage."""
        return self._untyped_storage.nbytes()

    def element_size(self):
        """Bytes of one element."""
        return element_size(self.dtype)

    def data_ptr(self):
        """The address of the first byte."""
        return self._untyped_storage.data_ptr()

    def _index(self, index):
        if isinstance(index, slice):
            return index
        if not isinstance(index, int):
            raise TypeError(f"can't index a {type(self)} with {type(index)}")
        size = self._size()
        if not -size <= index < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return index % size

    def __getitem__(self, index):
        _warn_typed_storage_removal()
        index = self._index(index)
        if isinstance(index, slice):
            start, stop, step = index.indices(self._size())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of "
                                   "1 is supported")  # fmt: skip
            width = element_size(self.dtype)
            return self._new_wrapped_storage(
                self._untyped_storage[start * width : max(start, stop) * width]
            )
        return as_tensor(self._untyped_storage, self.dtype)[index].item()

    def __setitem__(self, index, value):
        _warn_typed_storage_removal()
        as_tensor(self._untyped_storage, self.dtype)[self._index(index)] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements as a list."""
        _warn_typed_storage_removal()
        return as_tensor(self._untyped_storage, self.dtype).tolist()

    def fill_(self, value):
        """Sets every element to ``value``."""
        _warn_typed_storage_removal()
        as_tensor(self._untyped_storage, self.dtype).fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies from another storage of as many elements or bytes."""
        _warn_typed_storage_removal()
        if isinstance(source, TypedStorage):
            as_tensor(self._untyped_storage, self.dtype).copy_(
                as_tensor(source._untyped_storage, source.dtype)
            )
        else:
            self._untyped_storage.copy_(source)
        return self

    def clone(self):
        """A copy of this storage."""
        return self._new_wrapped_storage(self._untyped_storage.clone())

    def cpu(self):
        """This storage on the CPU."""
        return self._new_wrapped_storage(self._untyped_storage.cpu())

    def resize_(self, size: int):
        """Changes the number of elements; what is kept keeps its values."""
        _warn_typed_storage_removal()
        self._untyped_storage.resize_(size * element_size(self.dtype))

    def _to(self, dtype):
        values = as_tensor(self._untyped_storage, self.dtype).to(dtype)
        if dtype == self.dtype:
            values = values.clone()
        return TypedStorage(wrap_storage=values.untyped_storage(), dtype=dtype, _internal=True)

    def type(self, dtype=None, non_blocking=False):
        """The legacy type's name, or this storage as another dtype."""
        _warn_typed_storage_removal()
        if dtype is None:
            kind = _named_dtypes().get(self.dtype)
            return f"torch.{kind}" if kind else "torch.storage.TypedStorage"
        if isinstance(dtype, str):
            dtype = dtype_of_storage_name(dtype.rpartition(".")[2])
        return self._to(getattr(dtype, "dtype", dtype))

    def is_shared(self):
        """Whether other processes share the memory."""
        return self._untyped_storage.is_shared()

    def pickle_storage_type(self):
        """The legacy class name of this storage's dtype."""
        _warn_typed_storage_removal()
        return self._pickle_storage_type()

    def _pickle_storage_type(self) -> str:
        return storage_name_of_dtype(self.dtype)

    def _get_legacy_storage_class(self):
        return globals()[self._pickle_storage_type()]

    def __copy__(self):
        return self._new_wrapped_storage(self._untyped_storage.clone())

    def __deepcopy__(self, memo):
        return self._new_wrapped_storage(self._untyped_storage.__deepcopy__(memo))

    def __reduce__(self):
        return _reduce(self)

    def __str__(self):
        _warn_typed_storage_removal()
        info = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, "
            f"device={self._untyped_storage.device}) of size {self._size()}]"
        )
        if self._untyped_storage.device.type == "meta":
            return "...\n" + info
        return " " + "\n ".join(map(str, self.tolist())) + "\n" + info

    __repr__ = __str__


def _conversion(name: str):
    def convert(self):
        _warn_typed_storage_removal()
        return self._to(getattr(torch, name))

    convert.__doc__ = f"This storage's elements as {name}."
    return convert


for _method, _dtype_name in (
    ("double", "float64"), ("float", "float32"), ("half", "float16"),
    ("bfloat16", "bfloat16"), ("long", "int64"), ("int", "int32"), ("short", "int16"),
    ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
    ("complex_double", "complex128"), ("complex_float", "complex64"),
):  # fmt: skip
    setattr(TypedStorage, _method, _conversion(_dtype_name))


class _LegacyStorageMeta(type):
    @property
    def dtype(cls):
        return dtype_of_storage_name(cls.__name__)

    def __instancecheck__(cls, instance):
        return type(instance) is TypedStorage and instance.dtype == cls.dtype


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """Base of FloatStorage and its kind: a name for a dtype, never an instance's class."""


def _legacy_class(name: str):
    body = {"__module__": "rushlight", "__doc__": f"Storage of {_STORAGE_NAMES[name]} (legacy)."}
    return _LegacyStorageMeta(name, (_LegacyStorage,), body)


DoubleStorage = _legacy_class("DoubleStorage")
FloatStorage = _legacy_class("FloatStorage")
HalfStorage = _legacy_class("HalfStorage")
BFloat16Storage = _legacy_class("BFloat16Storage")
LongStorage = _legacy_class("LongStorage")
IntStorage = _legacy_class("IntStorage")
ShortStorage = _legacy_class("ShortStorage")
CharStorage = _legacy_class("CharStorage")
ByteStorage = _legacy_class("ByteStorage")
BoolStorage = _legacy_class("BoolStorage")
ComplexDoubleStorage = _legacy_class("ComplexDoubleStorage")
ComplexFloatStorage = _legacy_class("ComplexFloatStorage")
LEGACY_CLASSES = {name: globals()[name] for name in _STORAGE_NAMES}


def __getattr__(name: str):
    if name == "UntypedStorage":
        return torch.UntypedStorage
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
