"""Generated code: run so that tracebacks show its lines, and told how to import what it needs."""

from __future__ import annotations

import builtins
import linecache
import types

from ._names import public_module
from ._namespace import _custom_builtins


class _EvalCacheLoader:
    """Texts that were compiled, by the file name that tracebacks show."""

    def __init__(self):
        self.eval_cache: dict = {}
        self.next_id = 0

    def cache(self, src: str, globals: dict, co_fields=None) -> str:
        """Keeps ``src``; returns its file name, and tells ``globals`` where it is."""
        key = f"<eval_with_key>.{self.next_id}"
        self.next_id += 1
        if co_fields and "co_filename" in co_fields:
            key += (
                f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in "
                f"{co_fields['co_name']}"
            )
        self.eval_cache[key] = src
        globals.update(__name__=key, __file__=key, __loader__=self)
        linecache.lazycache(key, globals)
        return key

    def get_source(self, module_name: str):
        """The text, for linecache."""
        return self.eval_cache.get(module_name)


_loader = _EvalCacheLoader()


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    # Stored code says torch, as PyTorch's does: here that is this package.
    if (name != "torch" and not name.startswith("torch.")) or level:
        return builtins.__import__(name, globals, locals, fromlist, level)
    return builtins.__import__("rushlight" + name[5:], globals, locals, fromlist, 0)


_BUILTINS = {**vars(builtins), "__import__": _import}


def _exec_with_source(src: str, globals: dict, co_fields=None) -> None:
    key = _loader.cache(src, globals, co_fields)
    globals["__builtins__"] = _BUILTINS
    if "import torch." in src:
        import rushlight

        globals.setdefault("torch", rushlight)
    exec(compile(src, key, "exec", dont_inherit=True), globals)


def _method_from_src(method_name: str, src: str, globals: dict, co_fields=None):
    place = dict(globals)
    _exec_with_source(src, place, co_fields)
    return place.pop(method_name)


def _forward_from_src(src: str, globals: dict, co_fields=None):
    return _method_from_src("forward", src, globals, co_fields)


def _format_import_statement(name: str, obj, importer=None) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if isinstance(obj, types.ModuleType):
        known = public_module(obj.__name__)
        return f"import {known} as {name}" if known != name else f"import {name}"
    if type(obj).__module__ == "types" and name == "_":
        return "_ = ..."
    module = getattr(obj, "__module__", None) or "builtins"
    attribute = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    if obj is Ellipsis:
        return f"{name} = ..."
    if attribute is None:
        attribute = getattr(obj, "_name", None) or repr(obj).rpartition(".")[2]
    module = {"_operator": "operator"}.get(module, public_module(module))
    head, _, rest = attribute.partition(".")
    if not rest:
        return f"from {module} import {attribute} as {name}"
    return f"from {module} import {head} as {name}; {name} = {name}.{rest}"


def _format_import_block(globals: dict, importer=None) -> str:
    return "\n".join(
        sorted({_format_import_statement(name, obj, importer) for name, obj in globals.items()})
    )
