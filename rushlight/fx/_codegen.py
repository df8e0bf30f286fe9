"""CodeGen: the text of a function that does what a graph does."""

from __future__ import annotations

import enum
import re
import types
import typing
from dataclasses import dataclass, field

import rushlight as torch

from ._names import is_from_torch, qualified_name, type_repr
from ._namespace import _custom_builtins, _Namespace
from .node import Node

dtype_abbrs = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.float16: "f16", torch.float32: "f32", torch.float64: "f64",
    torch.complex32: "c32", torch.complex64: "c64", torch.complex128: "c128",
    torch.bfloat16: "bf16", torch.bool: "b8", torch.uint16: "u16", torch.uint32: "u32",
    torch.uint64: "u64", torch.float8_e4m3fn: "f8e4m3fn", torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fnuz: "f8e4m3fnuz", torch.float8_e5m2fnuz: "f8e5m2fnuz",
    torch.float8_e8m0fnu: "f8e8m0fnu", torch.float4_e2m1fn_x2: "f4e2m1fnx2",
}  # fmt: skip
reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}",
    "truediv": "{} / {}", "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}",
    "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
    "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}",
    "ge": "{} >= {}", "pos": "+{}", "neg": "-{}", "invert": "~{}", **reflectable_magic_methods,
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}",
    "imod": "{} %= {}", "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}",
    "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
# typing's own names, for annotations that were written with them.
_ALIASES = {
    list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}  # fmt: skip
_COLORS = {
    "yellow": "\033[33m", "cyan": "\033[36m", "green": "\033[32m", "blue": "\033[34m",
    "red": "\033[31m", "dim": "\033[2m", "dim_blue": "\033[2m\033[34m",
    "dim_green": "\033[2m\033[32m",
}  # fmt: skip
_counter = re.compile(r"# COUNTER: (\d+)")
_frame = re.compile(r'^\s*File "(.+)", line (\d+), in (.+)$')


@dataclass
class PythonCode:
    """The text of a function, the globals it needs, and which node each of its lines came from."""

    src: str
    globals: dict
    _lineno_map: dict | None
    _prologue_start: int = 0


@dataclass(frozen=True)
class _ParsedStackTrace:
    """The frame that a node came from."""

    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        """One line: file, line, function and text."""
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


def _parse_stack_trace(stack_trace: str, filter_fn=None):
    if stack_trace is None:
        return None
    lines = stack_trace.strip().split("\n")
    for at in range(len(lines) - 1, -1, -1):
        found = _frame.match(lines[at])
        if not found:
            continue
        code = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if filter_fn is not None and not filter_fn(found.group(1), found.group(3), code):
            continue
        return _ParsedStackTrace(*found.groups(), code)
    return None


def tensor_annotation(value, with_stride: bool, with_device: bool, paint=None) -> str:
    """dtype and shape of a tensor, or of what remembers them: f32[2, 3]."""
    paint = paint or (lambda text, color: text)
    shape = paint(str(list(value.shape)), "blue")
    stride = str(list(value.stride())) if with_stride else ""
    device = str(value.device) if with_device else ""
    kind = paint(dtype_abbrs[value.dtype], "red")
    return f"{kind}{shape}{paint(stride, 'dim_blue')}{paint(device, 'dim_green')}"


def _format_target(base: str, target: str) -> str:
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class CodeGen:
    """Makes the function of a graph; subclasses say what it takes and gives otherwise."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def: bool = False) -> str:
        """The line with ``def``; ``free_vars`` are its parameters as they are written."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return self._fn_def(free_vars, maybe_return_annotation, expanded_def)

    def _fn_def(self, parameters, annotation: str, expanded: bool) -> str:
        if expanded:
            listed = "".join(f"    {each},\n" for each in parameters)
            return f"def {self._func_name}(\n{listed}){annotation}:"
        return f"def {self._func_name}({', '.join(parameters)}){annotation}:"

    def generate_output(self, output_args, *, descs=None, repr_fn=None) -> str:
        """The line with ``return``."""
        return f"return {repr_fn(output_args) if repr_fn else repr(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders, from the arguments of the function."""
        return args

    def process_outputs(self, outputs):
        """What the function returns, from the value of the output."""
        return outputs

    def additional_globals(self) -> list:
        """(name, object) pairs that the code of this class needs."""
        return []

    def _gen_python_code(
        self, nodes, root_module: str, namespace: _Namespace, *, verbose: bool = False,
        include_stride: bool = False, include_device: bool = False, colored: bool = False,
        expanded_def: bool = False, record_func: bool = False, additional_meta=None,
    ) -> PythonCode:  # fmt: skip
        writer = _Writer(
            self, root_module, namespace, verbose, include_stride, include_device, colored,
            record_func, additional_meta or (),
        )  # fmt: skip
        writer.add_names([(name, kept.obj) for name, kept in _custom_builtins.items()])
        writer.add_names(self.additional_globals())
        writer.write(list(nodes))
        body = writer.body or ["pass\n"]
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        return writer.finish(body, expanded_def)


@dataclass
class _Writer:
    """One function being written."""

    codegen: CodeGen
    root: str
    namespace: _Namespace
    verbose: bool
    with_stride: bool
    with_device: bool
    colored: bool
    record: bool
    more_meta: typing.Sequence
    globals: dict = field(default_factory=dict)
    body: list = field(default_factory=list)
    free_vars: list = field(default_factory=list)
    wrapped: dict = field(default_factory=dict)
    returns: str = ""
    trace: str | None = None  # of the node before
    last_uses: dict = field(default_factory=dict)

    def paint(self, text: str, color: str) -> str:
        """``text``, in color if asked for."""
        return f"{_COLORS[color]}{text}\033[0m" if self.colored else text

    def add_names(self, pairs) -> None:
        """Makes objects known under their names."""
        for name, obj in pairs:
            self.add_global(name, obj)

    def add_global(self, hint: str, obj) -> str:
        """The name by which the code says ``obj``."""
        if is_from_torch(obj) and obj is not torch.device:
            return qualified_name(obj)
        name = self.namespace.create_name(re.sub(r"[^0-9a-zA-Z_]+", "_", hint), obj)
        if self.globals.setdefault(name, obj) is not obj:
            raise AssertionError(f"Global name {name} already assigned to different object")
        return name

    def type_name(self, kind) -> str:
        """An annotation, with the types in it made known."""
        if kind == ():
            return "()"
        arguments = getattr(kind, "__args__", None)
        if isinstance(kind, types.UnionType):
            return "|".join(self.type_name(each) for each in arguments)
        origin = getattr(kind, "__origin__", None)
        if origin is None or (isinstance(kind, type) and not isinstance(kind, types.GenericAlias)):
            return self.add_global(type_repr(kind), kind)
        if not isinstance(kind, types.GenericAlias):
            origin = _ALIASES.get(origin, origin)
        name = self.add_global(type_repr(origin), origin)
        if not arguments:
            return name
        return f"{name}[{','.join(self.type_name(each) for each in arguments)}]"

    def text(self, arg) -> str:
        """An argument as code."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple):
            if hasattr(arg, "_fields"):
                name = self.add_global(type_repr(type(arg)), type(arg))
                return f"{name}({', '.join(self.text(each) for each in arg)})"
            inner = ", ".join(self.text(each) for each in arg)
            return f"({inner},)" if len(arg) == 1 else f"({inner})"
        if isinstance(arg, list):
            return f"[{', '.join(self.text(each) for each in arg)}]"
        if isinstance(arg, slice):
            return f"slice({', '.join(self.text(p) for p in (arg.start, arg.stop, arg.step))})"
        if isinstance(arg, enum.Enum):
            kind = type(arg)
            return f"{self.add_global(kind.__name__, kind)}.{arg.name}"
        if isinstance(arg, torch.Tensor):
            dtype = str(arg.dtype).rpartition(".")[2]
            return f"torch.Tensor(size={list(arg.size())}, dtype={dtype})"
        if type(arg).__name__ == "OpOverload":
            return self.add_global(qualified_name(arg), arg)
        return self.paint(repr(arg), "blue")

    def arguments(self, args, kwargs) -> str:
        """What stands between the parentheses of a call."""
        named = [f"{name} = {self.text(value)}" for name, value in kwargs.items()]
        return ", ".join([*map(self.text, args), *named])

    def write(self, nodes) -> None:
        """Fills the body."""
        last: set = set()
        for node in reversed(nodes):
            for used in node._input_nodes:
                if used not in last:
                    last.add(used)
                    self.last_uses.setdefault(node, []).append(used)
        if self.record:
            self.body.append(_enter_range("_rf", "ENTER_GRAPH_PLACEHOLDER_KEY"))
        for at, node in enumerate(nodes):
            if self.verbose:
                self._say_origin(node)
            self.body.append(f"# COUNTER: {at}\n")
            ranged = self.record and node.op in _CALLS
            if ranged:
                self.body.append(_enter_range(f"_rf_{node.name}", str(at)))
            getattr(self, f"_{node.op}")(node)
            if node.op != "placeholder":
                self._end_line(node)
            if ranged:
                self.body.append(f"_rf_{node.name}.__exit__(None, None, None)\n")
        if self.record:
            self.body.append("_rf.__exit__(None, None, None)\n")

    def _end_line(self, node) -> None:
        """Lets go of what is used no more, itself included."""
        gone = [] if node.op == "output" else list(self.last_uses.get(node, ()))
        if not node.users and node.op != "output":
            gone.append(node)
        ending = " = ".join([*map(repr, gone), "None"])
        self.body.append(f";  {self.paint(ending, 'dim')}\n" if gone else "\n")

    def _say_origin(self, node) -> None:
        if node.op in ("placeholder", "output"):
            return
        trace = node.stack_trace or ""
        if trace == self.trace:
            return
        self.trace = trace
        note = "# No stacktrace found for following nodes"
        if trace:
            parsed = _parse_stack_trace(trace)
            custom = node.meta.get("custom")
            marked = f"Annotation: {custom} " if custom else ""
            note = f"# {marked}{parsed.get_summary_str()}" if parsed else ""
            known = [f"{name}: {node.meta[name]}" for name in self.more_meta if name in node.meta]
            if known:
                note = f"# {', '.join(known)} {note}"
        if note:
            self.body.append(f"\n{self.paint(note, 'dim')}\n")

    def _annotation(self, node) -> str:
        kind = "" if node.type is None else f" : {self.type_name(node.type)}"
        if self.verbose:
            value = node.meta.get(
                "val", node.meta.get("tensor_meta", node.meta.get("example_value"))
            )
            if isinstance(value, torch.Tensor):
                text = tensor_annotation(value, self.with_stride, self.with_device, self.paint)
                text = f"Parameter({text})" if isinstance(value, torch.nn.Parameter) else text
                return f': "{text}"'
            if type(value).__name__ == "TensorMetadata":
                return f': "{dtype_abbrs[value.dtype]}{list(value.shape)}"'
        return kind

    def _assign(self, node, expression: str) -> None:
        self.body.append(f"{node!r}{self._annotation(node)} = {expression}")

    def _placeholder(self, node) -> None:
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{self._annotation(node)}{default}")
        name = node.target.replace("*", "")
        if name != repr(node):
            self.body.append(f"{node!r} = {name}\n")

    def _call_method(self, node) -> None:
        method = _format_target(self.text(node.args[0]), node.target)
        self._assign(node, f"{method}({self.arguments(node.args[1:], node.kwargs)})")

    def _call_module(self, node) -> None:
        module = _format_target(self.root, node.target)
        self._assign(node, f"{module}({self.arguments(node.args, node.kwargs)})")

    def _get_attr(self, node) -> None:
        self._assign(node, _format_target(self.root, node.target))

    def _call_function(self, node) -> None:
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator":
            if name in magic_methods:
                self._assign(node, magic_methods[name].format(*map(self.text, args)))
                return
            if name in inplace_methods:
                change = inplace_methods[name].format(*map(self.text, args))
                self.body.append(f"{change};  ")
                self._assign(node, self.text(args[0]))
                return
        name = self.add_global(qualified_name(target), target)
        if (
            name == "getattr" and len(args) == 2
            and isinstance(args[1], str) and args[1].isidentifier()
        ):  # fmt: skip
            self._assign(node, _format_target(self.text(args[0]), args[1]))
            return
        self._assign(node, f"{name}({self.arguments(args, node.kwargs)})")
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)

    def _output(self, node) -> None:
        if node.type is not None:
            self.returns = f" -> {self.type_name(node.type)}"
        self.body.append(self.codegen.generate_output(node.args[0]))

    def finish(self, body, expanded: bool) -> PythonCode:
        """The whole text, with the lines' nodes."""
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        options = {"expanded_def": True} if expanded else {}  # older subclasses do not take it
        head = self.codegen.gen_fn_def(self.free_vars, self.returns, **options)
        lines: list = []
        came_from: dict = {}
        before = head.count("\n")
        counter = None
        for line in "".join(body).split("\n"):
            found = _counter.search(line)
            if found:
                counter = int(found.group(1))
                continue
            lines.append(line)
            came_from[before + len(lines)] = counter
        text = "\n".join(lines).lstrip("\n")
        text = "\n".join("    " + line for line in text.split("\n"))
        start = 4 + wraps.count("\n")
        return PythonCode(f"\n{wraps}\n\n{head}\n{text}", self.globals, came_from, start)


_CALLS = ("call_function", "call_method", "call_module")


def _enter_range(name: str, key: str) -> str:
    return f"{name} = torch._C._profiler._RecordFunctionFast('## {key} ##'); {name}.__enter__()\n"


class _BoxedCodeGen(CodeGen):
    """A function of one list, which it empties."""

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def: bool = False) -> str:
        """``def`` and the line that unpacks the list."""
        names = [each.partition(":")[0].partition("=")[0].strip() for each in free_vars]
        head = self._fn_def(["self", "args_list"], maybe_return_annotation, expanded_def)
        if not names:
            return head
        return f"{head}\n    {', '.join(names)}, = args_list\n    args_list.clear()"


class _PyTreeInfo(typing.NamedTuple):
    """Names of the parameters of a function, and how they and its results are made of leaves."""

    orig_args: list
    in_spec: object
    out_spec: object


class _PyTreeCodeGen(CodeGen):
    """A function of nested arguments: the placeholders are their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        """The leaves."""
        from rushlight.utils import _pytree as pytree

        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        """The results as the function returns them."""
        from rushlight.utils import _pytree as pytree

        if not isinstance(out, (list, tuple)):
            out = [out]
        if self.pytree_info.out_spec is None:
            raise AssertionError("pytree_info.out_spec is None")
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def: bool = False) -> str:
        """``def`` with the original parameters and the line that takes the leaves out of them."""
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        parameters = list(self.pytree_info.orig_args)
        if not (parameters and parameters[0] == "self"):
            parameters.insert(0, "self")
        head = self._fn_def(parameters, maybe_return_annotation, expanded_def)
        if free_vars:
            head += self.gen_var_bindings(parameters, free_vars, expanded_def)
        return head

    def gen_var_bindings(self, fn_args, free_vars, expanded_def: bool) -> str:
        """The line that takes the leaves out of the arguments."""
        names = [each.partition(":")[0].partition("=")[0].strip() for each in free_vars]
        given = fn_args[1:]
        spec = self.pytree_info.in_spec
        packed = f"[{', '.join(given)}]"
        children = spec.children()
        if spec.type is tuple and len(children) == 2 and (
            children[0].type is tuple and children[1].type is dict
        ):  # fmt: skip
            count = children[0].num_children
            keys = ", ".join(f"'{key}':{key}" for key in given[count:])
            packed = f"([{', '.join(given[:count])}], {{{keys}}})"
        bound = f"\n    {', '.join(names)}, = fx_pytree.tree_flatten_spec({packed}, self._in_spec)"
        return bound + self._format_annotations(free_vars, expanded_def)

    def _format_annotations(self, free_vars, expanded_def: bool) -> str:
        typed = [each.partition("=")[0].rstrip() for each in free_vars if ":" in each]
        if not typed:
            return ""
        return "".join(f"\n    {each}" for each in typed) if expanded_def else (
            "\n    " + "; ".join(typed)
        )  # fmt: skip

    def generate_output(self, output_args, *, descs=None, repr_fn=None) -> str:
        """``return`` of the results as the function returns them."""
        if not self.pytree_info or not self.pytree_info.out_spec:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        text = repr_fn or repr
        if isinstance(output_args, (list, tuple)):
            listed = ", ".join(text(each) for each in output_args)
            return f"return pytree.tree_unflatten([{listed}], self._out_spec)"
        return f"return pytree.tree_unflatten([{text(output_args)}], self._out_spec)"
