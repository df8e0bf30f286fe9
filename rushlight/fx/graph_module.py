"""GraphModule: a module whose forward is the code of its graph."""

from __future__ import annotations

import contextlib
import copy
import linecache
import re
import sys
import traceback
import warnings
from pathlib import Path

import rushlight as torch
from rushlight.nn.modules.module import _addindent

from ._source import (  # noqa: F401
    _EvalCacheLoader,
    _exec_with_source,
    _format_import_block,
    _format_import_statement,
    _forward_from_src,
    _loader,
    _method_from_src,
)
from .graph import Graph, PythonCode, _custom_builtins, _PyTreeCodeGen  # noqa: F401

__all__ = ["GraphModule", "reduce_graph_module", "reduce_package_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
# What a copy takes over besides what the graph mentions.
_COPIED = (
    "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    "_non_persistent_buffers_set", "_backward_hooks", "_forward_hooks",
    "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", *_HOOKS,
)  # fmt: skip


class _CodeOnlyModule(torch.nn.Module):
    """A module with given attributes and a given forward, to be traced."""

    def __init__(self, body: dict):
        super().__init__()
        vars(self).update(body)


def reduce_graph_module(body: dict, import_block: str) -> torch.nn.Module:
    """A GraphModule from its attributes, which include its code, and the imports of that."""
    source = body.get("_code") or body["code"]
    forward = _forward_from_src(import_block + source, {})
    return _deserialize_graph_module(forward, body)


def reduce_package_graph_module(importer, body: dict, generated_module_name: str):
    """As :func:`reduce_graph_module`, of a package's module."""
    forward = importer.import_module(generated_module_name).forward
    return _deserialize_graph_module(forward, body)


def _deserialize_graph_module(forward, body: dict, graph_module_cls=None) -> torch.nn.Module:
    from ._symbolic_trace import Tracer

    tracer_cls = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):
        """Calls of modules stay calls."""

        def is_leaf_module(self, _, __) -> bool:
            return True

    stored = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    graph = KeepModules().trace(stored, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = tracer_cls
    made = (graph_module_cls or GraphModule)(stored, graph)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


def _homes(module, path):
    """The submodule of ``module`` at ``path``; missing ones are made."""
    for part in path:
        below = getattr(module, part, None)
        if below is None:
            below = torch.nn.Module()
            setattr(module, part, below)
        module = below
    return module


def _copy_attr(from_module, to_module, target: str) -> None:
    *path, name = target.split(".")
    for part in path:
        source, below = getattr(from_module, part), getattr(to_module, part, None)
        if source is below:
            return
        if below is None:
            below = torch.nn.Module()
            setattr(to_module, part, below)
        from_module, to_module = source, below
    value = getattr(from_module, name)
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


def _assign_attr(from_obj, to_module, target: str) -> None:
    *path, name = target.split(".")
    home = _homes(to_module, path)
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        home.register_buffer(name, from_obj)
    else:
        setattr(home, name, from_obj)


def _get_attr_via_attr_list(model, attr_list):
    for name in attr_list:
        if not hasattr(model, name):
            raise AssertionError(f"Attribute '{name}' not found in model")
        model = getattr(model, name)
    return model


def _get_attr(model, attr_name: str):
    return _get_attr_via_attr_list(model, attr_name.split("."))


def _del_attr(model, attr_name: str) -> None:
    *path, name = attr_name.split(".")
    delattr(_get_attr_via_attr_list(model, path), name)


def _has_attr(model, attr_name: str) -> bool:
    for name in attr_name.split("."):
        if not hasattr(model, name):
            return False
        model = getattr(model, name)
    return True


def _print_readable(
    module, module_name: str, print_output: bool = True, include_stride: bool = False,
    include_device: bool = False, colored: bool = False, expanded_def: bool = False,
    additional_meta=None,
) -> str:  # fmt: skip
    graph = module.graph
    if graph is None or not isinstance(graph, Graph):
        raise AssertionError("print_readable must be used on a module with a graph")
    options = {
        "include_stride": include_stride, "include_device": include_device, "colored": colored,
        "expanded_def": expanded_def, "additional_meta": additional_meta,
    }  # fmt: skip
    code = graph.python_code("self", verbose=True, **options).src.lstrip("\n")
    text = _addindent(f"class {module_name}(torch.nn.Module):\n{code}", 4)
    parts = [""]
    for name, child in module.named_children():
        if hasattr(child, "graph"):
            parts.append(_print_readable(child, name, print_output=False, **options))
    text = re.sub(r"^[ \t]+$", "", text + _addindent("\n".join(parts), 4), flags=re.MULTILINE)
    if print_output:
        print(text)
    return text


class _WrappedCall:
    """A call of a GraphModule: an error in generated code shows the line before it goes on."""

    def __init__(self, cls, cls_call):
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _generate_error_message(frame_summary) -> str:
        """The traceback, and the generated lines around the one that failed."""
        at, length = frame_summary.lineno, len(frame_summary.line)
        lines = linecache.getlines(frame_summary.filename)
        return "\n".join(
            [
                traceback.format_exc(),
                (
                    f"Call using an FX-traced Module, line {at} of the traced Module's "
                    "generated forward function:"
                ),
                "".join(lines[at - 2 : at]),
                "~" * length + "~~~ <--- HERE",
                "\n".join(lines[at : at + 2]),
            ]
        )

    def __call__(self, obj, *args, **kwargs):
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)
        except Exception as error:
            last = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__))[-1]
            if "eval_with_key" in last.filename:
                print(self._generate_error_message(last), file=sys.stderr)
                raise error.with_traceback(None) from None
            raise


class GraphModule(torch.nn.Module):
    """A module made of a :class:`Graph`: its ``forward`` is the graph's code.

    Args:
        root: a module that has what the graph mentions, or a dict of it by dotted name.
        graph: becomes this module's; after a change of it, call :meth:`recompile`.
        class_name: the name that it prints as.
    """

    def __new__(cls, *args, **kwargs):
        # Each has a class of its own: that is where forward and __call__ are.
        cls = vars(cls).get("_shared_class", cls)
        made = type("GraphModuleImpl", (cls,), {"_shared_class": cls})
        return super().__new__(made)

    def __init__(self, root, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, torch.nn.Module):
            self.training = getattr(root, "training", True)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.graph = graph
        self._tracer_cls = None
        tracer = graph._tracer_cls
        if tracer is not None and "<locals>" not in tracer.__qualname__:
            self._tracer_cls = tracer
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict = {}
        for name in _HOOKS:
            setattr(self, name, [])

    def _take(self, root: dict, graph: Graph) -> None:
        wanted = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        "Node " + str(node) + " referenced target " + node.target
                        + " but that target was not provided in ``root``!"
                    )  # fmt: skip
                wanted.append(node.target)
        for target in sorted(wanted, key=lambda t: t.count(".")):
            _assign_attr(root[target], self, target)

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Makes ``forward`` from the graph as it is now."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code, self._lineno_map = made.src, made._lineno_map
        self._prologue_start = made._prologue_start
        cls = type(self)
        cls.forward = _forward_from_src(made.src, made.globals, self._graph._co_fields)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))
            cls.__call__ = _call_wrapped
        return made

    def _recompile_submodules(self) -> list:
        return [
            (name, module.recompile())
            for name, module in self.named_modules()
            if isinstance(module, GraphModule)
        ]

    # Submodules.

    def add_submodule(self, target: str, m) -> bool:
        """Installs ``m`` at a dotted name; False where something else is on the way."""
        *path, name = target.split(".")
        home = self
        for part in path:
            below = getattr(home, part, None)
            if below is None:
                below = torch.nn.Module()
                setattr(home, part, below)
            if not isinstance(below, torch.nn.Module):
                return False
            home = below
        home.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes the module at a dotted name away; False if there is none."""
        *path, name = target.split(".")
        home = self
        for part in path:
            home = getattr(home, part, None)
            if not isinstance(home, torch.nn.Module):
                return False
        if not isinstance(getattr(home, name, None), torch.nn.Module):
            return False
        delattr(home, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes the modules away that no node calls or reads from."""
        used: set = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    below = self.get_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in below.named_modules())
        unused = [name for name, _ in self.named_modules() if name and name not in used]
        for name in unused:
            self.delete_submodule(name)

    # Copies and files.

    def __reduce__(self):
        body = dict(vars(self))
        del body["_graph"]
        code = self._graph.python_code(root_module="self")
        return (reduce_graph_module, (body, _format_import_block(code.globals)))

    def __reduce_package__(self, exporter):
        raise NotImplementedError("torch.package is not supported: use torch.save or pickle.")

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        root = _CodeOnlyModule(copy.deepcopy(vars(self), memo))
        self._deepcopy_init()(made, root, vars(root)["_graph"])
        for name in _COPIED:
            if name in vars(self):
                setattr(made, name, copy.deepcopy(vars(self)[name], memo))
        made.meta = copy.copy(getattr(self, "meta", {}))
        for name in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, ()):
            setattr(made, name, made.meta[_USER_PRESERVED_ATTRIBUTES_KEY][name])
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    def to_folder(self, folder, module_name: str = "FxModule") -> None:
        """Writes a package with a class ``module_name`` that does what this module does."""
        from ._folder import write

        blobs = write(self, Path(folder), module_name)
        if blobs:
            warnings.warn(
                "Was not able to save the following children modules as reprs -saved as pickled "
                f"files instead: {blobs}",
                stacklevel=2,
            )

    # As text.

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False,
        include_device: bool = False, colored: bool = False, *, fast_sympy_print: bool = False,
        expanded_def: bool = False, additional_meta=None,
    ) -> str:  # fmt: skip
        """Prints and returns the code of this module and of those in it that have a graph."""
        return _print_readable(
            self, self._get_name(), print_output, include_stride, include_device, colored,
            expanded_def, additional_meta,
        )  # fmt: skip

    def __str__(self):
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])

    def _replicate_for_data_parallel(self):
        made = self.__copy__()
        return made

    # Who hears of changes.

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        if not callable(f):
            raise AssertionError("Replace hook must be a callable.")
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)


def _call_wrapped(self, *args, **kwargs):
    return self._wrapped_call(self, *args, **kwargs)


def _hook_methods(kind: str, hooks: str, said: str):
    def register(self, f):
        if not callable(f):
            raise AssertionError(f"{said} hook must be a callable.")
        getattr(self, hooks).append(f)

    def unregister(self, f):
        if not callable(f):
            raise AssertionError(f"{said} hook must be a callable.")
        getattr(self, hooks).remove(f)

    setattr(GraphModule, f"_register_{kind}_hook", register)
    setattr(GraphModule, f"_unregister_{kind}_hook", unregister)


_hook_methods("replace_node", "_replace_hooks", "create_node")
_hook_methods("create_node", "_create_node_hooks", "create_node")
_hook_methods("erase_node", "_erase_node_hooks", "erase_node")
_hook_methods("deepcopy", "_deepcopy_hooks", "deepcopy")


def __getattr__(name: str):
    from rushlight import _absent

    return _absent.names("fx.graph_module")(name)
