"""The unpickler behind ``load(weights_only=True)``: it builds data and calls nothing unlisted."""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from pickle import UnpicklingError
from struct import unpack

import rushlight as torch

from . import _utils, storage

# Never allowed, even when the user lists functions of them (PyTorch's list).
_BLOCKED_MODULES = ("sys", "os", "posix", "nt")
# Nested tuples are hashed recursively in C: unbounded ones would exhaust its stack or the day.
_MAX_TUPLE_DEPTH = 500
_MAX_TUPLE_WEIGHT = 10_000_000

_CHUNK = 1 << 24

_user_globals: set = set()
_allowed: dict = {}


class StorageType:
    """Stands for a legacy storage class while a checkpoint is read; carries its dtype."""

    def __init__(self, name: str):
        self.dtype = storage.dtype_of_storage_name(name)

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


def _codecs_encode(text, encoding="latin1", *rest):
    """How protocol 2 stores bytes."""
    if encoding != "latin1" or rest or not isinstance(text, str):
        raise UnpicklingError("only text that stands for bytes can be encoded")
    return text.encode("latin1")


def _bytearray(*args):
    if args and (len(args) > 2 or not isinstance(args[0], (bytes, str, list))):
        raise UnpicklingError("a bytearray can only be built from its bytes")
    return bytearray(*args)


def _rebuild_from_type_v2(func, new_type, args, state):
    if func not in _utils.REBUILD_FUNCTIONS:
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {func}")
    if not (isinstance(new_type, type) and issubclass(new_type, torch.Tensor)):
        raise UnpicklingError(f"Can only rebuild tensors, but got {new_type}")
    return torch._tensor._rebuild_from_type_v2(func, new_type, args, state)


def _allowed_globals() -> dict:
    if _allowed:
        return _allowed
    _allowed.update({
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "torch.nn.parameter.Parameter": torch.nn.Parameter,
        "torch.Size": torch.Size,
        "torch.Tensor": torch.Tensor,
        "torch._tensor.Tensor": torch.Tensor,
        "torch.device": torch.device,
        "torch.serialization._get_layout": torch.serialization._get_layout,
        "torch.storage.UntypedStorage": torch.UntypedStorage,
        "torch.storage.TypedStorage": storage.TypedStorage,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
        "_codecs.encode": _codecs_encode,
        "builtins.bytearray": _bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
    })  # fmt: skip
    for name in storage._STORAGE_NAMES:
        kind = StorageType(name)
        _allowed["torch." + name] = kind
        _allowed[str(kind.dtype)] = kind.dtype
    for dtype in storage._new_dtypes():
        _allowed[str(dtype)] = dtype
    for function in _utils.REBUILD_FUNCTIONS:
        _allowed["torch._utils." + function.__name__] = function
    return _allowed


def _torch_name(path: str) -> str:
    head, dot, tail = path.partition(".")
    return "torch" + dot + tail if head == __package__ else path


def _user_allowed_globals() -> dict:
    listed = {}
    for entry in _user_globals:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), "
                    f"but got tuple of length: {len(entry)}"
                )
            value, path = entry
            if type(path) is not str:
                raise TypeError(
                    "Expected second item in tuple to be str of callable full path, "
                    f"but got: {type(path)}"
                )
        else:
            value, path = entry, f"{entry.__module__}.{entry.__qualname__}"
        listed[path] = listed[_torch_name(path)] = value
    return listed


def add_safe_globals(safe_globals: list) -> None:
    """Allows functions and classes, or (object, "full.path") pairs, in weights_only loads."""
    _user_globals.update(safe_globals)


def get_safe_globals() -> list:
    """What ``add_safe_globals`` allowed."""
    return list(_user_globals)


def clear_safe_globals() -> None:
    """Forgets what ``add_safe_globals`` allowed."""
    _user_globals.clear()


class safe_globals:
    """Context manager that allows functions and classes in weights_only loads."""

    def __init__(self, safe_globals: list):
        self.safe_globals = safe_globals

    def __enter__(self):
        add_safe_globals(self.safe_globals)

    def __exit__(self, type, value, traceback):
        _user_globals.difference_update(self.safe_globals)


def _python3_name(module: str, name: str) -> tuple[str, str]:
    from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[(module, name)]
    return IMPORT_MAPPING.get(module, module), name


def globals_in_pickle(data: bytes) -> set[str]:
    """The full paths of all globals that a pickle names; executes nothing."""
    import pickletools

    found: set[str] = set()
    strings: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            found.add(".".join(_python3_name(*argument.split(" ", 1))))
        elif opcode.name == "STACK_GLOBAL":
            found.add(".".join(strings[-2:]))
        elif isinstance(argument, str):
            strings.append(argument)
    return found


class Unpickler:
    """Reads one pickle from ``file``; set ``persistent_load`` for storages."""

    def __init__(self, file, *, encoding: str = "bytes"):
        self.encoding = encoding
        self.read = file.read
        self.readline = file.readline
        self.memo: dict = {}
        self.stack: list = []
        self.marks: list[list] = []
        self.weights: dict[int, tuple] = {}

    def load(self):
        """The object that the pickle describes."""
        self.user = _user_allowed_globals()
        self.listed = {id(value) for value in _allowed_globals().values()}
        self.listed.update(id(value) for value in self.user.values())
        read, operations = self.read, _OPERATIONS
        while True:
            key = read(1)
            if not key:
                raise EOFError
            if key == b".":
                return self.stack.pop()
            operation = operations.get(key)
            if operation is None:
                raise UnpicklingError(f"Unsupported operand {key[0]}")
            operation(self)

    def persistent_load(self, pid):
        """Called for storages; whoever reads a checkpoint replaces it."""
        raise UnpicklingError("unsupported persistent id encountered")

    def exactly(self, count: int) -> bytes:
        """``count`` bytes; a pickle that ends early is an error, not a shorter value."""
        if count <= _CHUNK:
            data = self.read(count)
        else:  # a stated length may be a lie: memory follows what is there
            parts = []
            while count and (part := self.read(min(count, _CHUNK))):
                parts.append(part)
                count -= len(part)
            data, count = b"".join(parts), count + sum(map(len, parts))
        if len(data) != count:
            raise EOFError("pickle data was truncated")
        return data

    def pop_mark(self) -> list:
        """What was pushed since the last mark."""
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def push_tuple(self, items: tuple) -> None:
        """Pushes a tuple, unless it is nested beyond reason."""
        depth, weight = 0, len(items)
        for item in items:
            if type(item) is tuple:
                inner = self.weights.get(id(item), (1, len(item)))
                depth, weight = max(depth, inner[0]), weight + inner[1]
        if depth:
            if depth > _MAX_TUPLE_DEPTH or weight > _MAX_TUPLE_WEIGHT:
                raise UnpicklingError("tuples are nested too deeply")
            self.weights[id(items)] = (depth + 1, weight, items)
        self.stack.append(items)

    def find_global(self, module: str, name: str):
        """The allowed object of that name."""
        path = f"{module}.{name}"
        if module in _BLOCKED_MODULES:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked."
            )
        allowed = _allowed_globals()
        if path in allowed:
            return allowed[path]
        if path in self.user:
            return self.user[path]
        path = path.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{path}])` or the "
            f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this "
            "global if you trust this class/function."
        )

    def set_items(self, opcode: str, items: list) -> None:
        """Puts alternating keys and values into the mapping on the stack."""
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, "
                f"collections.Counter, but got {type(target)}"
            )
        for position in range(0, len(items), 2):
            target[items[position]] = items[position + 1]

    def text(self, data: bytes):
        """A Python 2 string, decoded as the caller wants."""
        return data if self.encoding == "bytes" else data.decode(self.encoding, "strict")


def _global(vm):
    module = vm.readline()[:-1].decode("utf-8")
    name = vm.readline()[:-1].decode("utf-8")
    vm.stack.append(vm.find_global(*_python3_name(module, name)))


def _stack_global(vm):
    name, module = vm.stack.pop(), vm.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("STACK_GLOBAL requires str")
    vm.stack.append(vm.find_global(module, name))


def _constructible(cls, args) -> bool:
    # Sizes from a file must not decide how much memory is taken.
    sized = cls is torch.UntypedStorage or cls is storage.TypedStorage or cls is torch.Tensor
    return not (sized and args)


def _newobj(vm):
    args, cls = vm.stack.pop(), vm.stack.pop()
    if cls is torch.nn.Parameter:
        vm.stack.append(cls(*args))
    elif isinstance(cls, type) and id(cls) in vm.listed and _constructible(cls, args):
        vm.stack.append(cls.__new__(cls, *args))
    else:
        raise UnpicklingError(
            "Can only create new object for nn.Parameter or classes allowlisted "
            f"via `add_safe_globals` but got {cls}"
        )


def _reduce(vm):
    args, func = vm.stack.pop(), vm.stack[-1]
    if id(func) not in vm.listed or not _constructible(func, args):
        message = f"Trying to call reduce for unrecognized function {func}"
        if hasattr(func, "__self__"):
            message += f" which belongs to {func.__self__}"
        raise UnpicklingError(message)
    vm.stack[-1] = func(*args)


def _build(vm):
    state, instance = vm.stack.pop(), vm.stack[-1]
    kind = type(instance)
    if kind is torch.Tensor:
        untyped = getattr(state[0], "_untyped_storage", state[0])
        _utils._check_bounds(untyped, instance.dtype.itemsize, *state[1:4])
        instance.set_(untyped, *state[1:4])
    elif kind is torch.nn.Parameter:
        instance.__setstate__(state)
    elif kind is OrderedDict:
        instance.__dict__.update(state)
    elif id(kind) in vm.listed:
        if hasattr(instance, "__setstate__"):
            instance.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            instance.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(instance, name, value)
    else:
        raise UnpicklingError(
            "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
            f"via `add_safe_globals`, but got {kind}"
        )


def _append(vm):
    item, target = vm.stack.pop(), vm.stack[-1]
    if type(target) is not list:
        raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
    target.append(item)


def _appends(vm):
    items, target = vm.pop_mark(), vm.stack[-1]
    if type(target) is not list:
        raise UnpicklingError(f"Can only extend lists, but got {type(target)}")
    target.extend(items)


def _add_items(vm):
    items, target = vm.pop_mark(), vm.stack[-1]
    if type(target) is not set:
        raise UnpicklingError(f"Can only add to sets, but got {type(target)}")
    target.update(items)


def _set_item(vm):
    value, key = vm.stack.pop(), vm.stack.pop()
    vm.set_items("SETITEM", [key, value])


def _set_items(vm):
    items = vm.pop_mark()
    vm.set_items("SETITEMS", items)


def _mark(vm):
    vm.marks.append(vm.stack)
    vm.stack = []


def _take_tuple(count: int):
    def take(vm):
        items = tuple(vm.stack[-count:])
        if len(items) != count:
            raise IndexError("pop from empty list")
        del vm.stack[-count:]
        vm.push_tuple(items)

    return take


def _persistent(vm):
    pid = vm.stack.pop()
    if type(pid) is not tuple and type(pid) is not int:
        raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
    if type(pid) is tuple and pid and pid[0] not in ("storage", b"storage"):
        raise UnpicklingError(
            f"Only persistent_load of storage is allowed, but got {type(pid[0])}"
        )
    vm.stack.append(vm.persistent_load(pid))


def _protocol(vm):
    protocol = vm.exactly(1)[0]
    if protocol != 2:
        import warnings

        warnings.warn(
            f"Detected pickle protocol {protocol} in the checkpoint, which was "
            "not the default pickle protocol used by `torch.load` (2). The weights_only "
            "Unpickler might not support all instructions implemented by this protocol, "
            "please file an issue for adding support if you encounter this.",
            stacklevel=2,
        )


def _put_memo(vm, index: int) -> None:
    vm.memo[index] = vm.stack[-1]


def _constant(make):
    return lambda vm: vm.stack.append(make())


def _number(form: str, size: int):
    return lambda vm: vm.stack.append(unpack(form, vm.exactly(size))[0])


def _sized(form: str, width: int, convert):
    return lambda vm: vm.stack.append(
        convert(vm, vm.exactly(unpack(form, vm.exactly(width))[0]))
    )


def _unicode(vm, data: bytes) -> str:
    return str(data, "utf-8", "surrogatepass")


_OPERATIONS = {
    pickle.PROTO: _protocol,
    pickle.FRAME: lambda vm: vm.exactly(8),
    pickle.GLOBAL: _global,
    pickle.STACK_GLOBAL: _stack_global,
    pickle.NEWOBJ: _newobj,
    pickle.REDUCE: _reduce,
    pickle.BUILD: _build,
    pickle.APPEND: _append,
    pickle.APPENDS: _appends,
    pickle.ADDITEMS: _add_items,
    pickle.SETITEM: _set_item,
    pickle.SETITEMS: _set_items,
    pickle.MARK: _mark,
    pickle.POP: lambda vm: vm.stack.pop(),
    pickle.TUPLE: lambda vm: vm.push_tuple(tuple(vm.pop_mark())),
    pickle.TUPLE1: _take_tuple(1),
    pickle.TUPLE2: _take_tuple(2),
    pickle.TUPLE3: _take_tuple(3),
    pickle.NONE: _constant(lambda: None),
    pickle.NEWTRUE: _constant(lambda: True),
    pickle.NEWFALSE: _constant(lambda: False),
    pickle.EMPTY_TUPLE: _constant(tuple),
    pickle.EMPTY_LIST: _constant(list),
    pickle.EMPTY_DICT: _constant(dict),
    pickle.EMPTY_SET: _constant(set),
    pickle.BININT: _number("<i", 4),
    pickle.BININT1: _number("<B", 1),
    pickle.BININT2: _number("<H", 2),
    pickle.BINFLOAT: _number(">d", 8),
    pickle.LONG1: _sized("<B", 1, lambda vm, data: pickle.decode_long(data)),
    pickle.BINUNICODE: _sized("<I", 4, _unicode),
    pickle.SHORT_BINUNICODE: _sized("<B", 1, _unicode),
    pickle.BINUNICODE8: _sized("<Q", 8, _unicode),
    pickle.SHORT_BINSTRING: _sized("<B", 1, lambda vm, data: vm.text(data)),
    pickle.SHORT_BINBYTES: _sized("<B", 1, lambda vm, data: data),
    pickle.BINBYTES: _sized("<I", 4, lambda vm, data: data),
    pickle.BINPERSID: _persistent,
    pickle.BINGET: lambda vm: vm.stack.append(vm.memo[vm.exactly(1)[0]]),
    pickle.LONG_BINGET: lambda vm: vm.stack.append(vm.memo[unpack("<I", vm.exactly(4))[0]]),
    pickle.BINPUT: lambda vm: _put_memo(vm, vm.exactly(1)[0]),
    pickle.LONG_BINPUT: lambda vm: _put_memo(vm, unpack("<I", vm.exactly(4))[0]),
    pickle.MEMOIZE: lambda vm: _put_memo(vm, len(vm.memo)),
}


def load(file, *, encoding: str = "ASCII"):
    """Reads one pickle from ``file`` with nothing but the allowed globals."""
    return Unpickler(file, encoding=encoding).load()
