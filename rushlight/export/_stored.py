"""Exported programs in files: a zip archive of the graph as JSON and of the tensors."""

from __future__ import annotations

import io
import json
import operator
import zipfile

import rushlight as torch
from rushlight import fx
from rushlight.utils import _pytree as pytree

from . import graph_signature as signatures
from ._constraints import UNBOUNDED, ValueRanges
from ._expressions import Expression
from ._trace import exchange_grad_mode
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature

_FORMAT = "rushlight exported program 1"
_OPERATORS = (
    "add", "sub", "mul", "floordiv", "mod", "truediv", "pow", "neg", "abs", "getitem", "lt", "le",
    "gt", "ge", "eq", "ne",
)  # fmt: skip
_NUMBERS = ("sym_int", "sym_float", "sym_not", "sym_max", "sym_min", "sym_sqrt")


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol: int = 2) -> None:
    """Writes an ExportedProgram into a file: its graph, signature, tensors and sample inputs."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}' instead."
        )
    program = json.dumps(_written_program(ep))
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("archive_format", _FORMAT)
        archive.writestr("program.json", program)
        args, kwargs = ep.example_inputs or ((), {})
        parts = {
            "state": dict(ep.state_dict),
            "constants": dict(ep.constants),
            "example": pytree.tree_flatten((args, kwargs))[0],
        }
        for name, value in parts.items():
            stream = io.BytesIO()
            torch.save(value, stream)
            archive.writestr(f"{name}.pt", stream.getvalue())
        for name, text in (extra_files or {}).items():
            archive.writestr(f"extra_files/{name}", text)


def load(f, *, extra_files=None, expected_opset_version=None):
    """The ExportedProgram of a file; no code of the file is run."""
    try:
        with zipfile.ZipFile(f) as archive:
            if archive.read("archive_format").decode() != _FORMAT:
                raise RuntimeError("the archive is not one that torch.export.save wrote here")
            program = json.loads(archive.read("program.json"))
            parts = {
                name: torch.load(io.BytesIO(archive.read(f"{name}.pt")), weights_only=True)
                for name in ("state", "constants", "example")
            }
            for name in extra_files or {}:
                extra_files[name] = archive.read(f"extra_files/{name}").decode()
        return _read_program(program, parts)
    except (zipfile.BadZipFile, KeyError, TypeError, IndexError, AttributeError) as error:
        raise RuntimeError(f"the file holds no exported program: {error}") from error
    except ValueError as error:
        raise RuntimeError(f"the file holds no exported program: {error}") from error


# Values of a graph.


def _written(value):
    if isinstance(value, fx.Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [_written(v) for v in value]}
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return {type(value).__name__: str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, slice):
        return {"slice": [_written(v) for v in (value.start, value.stop, value.step)]}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise NotImplementedError(f"torch.export.save cannot write a {type(value).__name__}")


def _read(value, nodes: dict):
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "node":
        return nodes[held]
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(_read(v, nodes) for v in held)
    if kind == "float":
        return float.fromhex(held)
    if kind == "device":
        return torch.device(held)
    if kind == "slice":
        return slice(*(_read(v, nodes) for v in held))
    found = getattr(torch, held) if kind in ("dtype", "layout", "memory_format") else None
    if type(found).__name__ != kind:
        raise ValueError(f"no {kind} is called {held}")
    return found


def _written_target(target) -> str:
    name = getattr(target, "__name__", str(target))
    if getattr(target, "__module__", "") == "_operator" and name in _OPERATORS:
        return f"operator.{name}"
    if target is exchange_grad_mode:
        return "grad"
    if name in _NUMBERS and getattr(torch, name) is target:
        return f"torch.{name}"
    if hasattr(target, "_schema") and target.namespace == "aten":
        return f"aten.{name}"
    raise NotImplementedError(f"torch.export.save cannot write a call of {target}")


def _read_target(text: str):
    home, _, name = text.partition(".")
    if text == "grad":
        return exchange_grad_mode
    if home == "operator" and name in _OPERATORS:
        return getattr(operator, name)
    if home == "torch" and name in _NUMBERS:
        return getattr(torch, name)
    if home == "aten":
        name, _, overload = name.partition(".")
        return getattr(getattr(torch.ops.aten, name), overload)
    raise ValueError(f"no operator is called {text}")


def _written_spec(spec):
    children = [_written_spec(c) for c in spec.children()]
    if spec.is_leaf():
        return "*"
    if spec.type in (tuple, list):
        return [spec.type.__name__, children]
    if spec.type is dict:
        return ["dict", children, [_written(k) for k in spec.context]]
    name = spec.type.__name__
    if getattr(torch.return_types, name, None) is spec.type:
        return ["results", children, name]
    raise NotImplementedError(f"torch.export.save cannot write a {spec.type.__name__}")


def _read_spec(text):
    """The structure of a sample made as the text says."""
    return pytree.tree_flatten(_sample(text))[1]


def _sample(text):
    if text == "*":
        return 0
    if text[0] == "dict":
        keys = [_read(k, {}) for k in text[2]]
        return dict(zip(keys, map(_sample, text[1]), strict=True))
    if text[0] == "results":
        if not text[2].isidentifier() or text[2].startswith("_"):
            raise ValueError(f"no result is a {text[2]}")
        return getattr(torch.return_types, text[2])([_sample(each) for each in text[1]])
    return {"tuple": tuple, "list": list}[text[0]](map(_sample, text[1]))


# Programs.


def _written_program(ep) -> dict:
    signature = ep.graph_signature
    call = ep.module_call_graph[0].signature
    return {
        "nodes": [
            [n.op, n.name, _written_target(n.target) if n.op == "call_function" else n.target,
             _written(n.args), {k: _written(v) for k, v in n.kwargs.items()}]
            for n in ep.graph.nodes
        ],
        "inputs": [
            [s.kind.name, type(s.arg).__name__, s.arg.name,
             _written(getattr(s.arg, "value", None)), s.target, s.persistent]
            for s in signature.input_specs
        ],
        "outputs": [
            [type(s.arg).__name__, s.arg.name, _written(getattr(s.arg, "value", None))]
            for s in signature.output_specs
        ],
        "ranges": [
            [str(k), r.lower, None if r.upper >= UNBOUNDED else r.upper]
            for k, r in ep.range_constraints.items()
        ],
        "in_spec": _written_spec(call.in_spec),
        "out_spec": _written_spec(call.out_spec),
        "names": call.forward_arg_names,
        "guards": ep._guards,
    }  # fmt: skip


def _argument(kind: str, name: str, value):
    if kind == "ConstantArgument":
        return signatures.ConstantArgument(name, _read(value, {}))
    kinds = ("TensorArgument", "SymIntArgument", "SymFloatArgument", "SymBoolArgument")
    if kind not in kinds:
        raise ValueError(f"no argument is a {kind}")
    return getattr(signatures, kind)(name)


def _read_program(program: dict, parts: dict):
    graph, nodes = fx.Graph(), {}
    for op, name, target, args, kwargs in program["nodes"]:
        if op not in ("placeholder", "call_function", "output"):
            raise ValueError(f"no node is a {op}")
        if op != "output" and not name.isidentifier():
            raise ValueError(f"no node is called {name}")
        target = _read_target(target) if op == "call_function" else target
        if op == "placeholder" and not target.isidentifier():
            raise ValueError(f"no input is called {target}")
        _check_names(kwargs)
        nodes[name] = graph.create_node(
            op, target, _read(args, nodes), {k: _read(v, nodes) for k, v in kwargs.items()}, name
        )
    signature = signatures.ExportGraphSignature(
        [
            signatures.InputSpec(signatures.InputKind[kind], _argument(form, name, value), *rest)
            for kind, form, name, value, *rest in program["inputs"]
        ],
        [
            signatures.OutputSpec(signatures.OutputKind.USER_OUTPUT, _argument(*each), None)
            for each in program["outputs"]
        ],
    )
    for spec in signature.input_specs:
        _check_names(part for part in (spec.target or "0").split(".") if not part.isdigit())
    names = program["names"]
    _check_names(names)
    in_spec = _read_spec(program["in_spec"])
    call = ModuleCallSignature([], [], in_spec, _read_spec(program["out_spec"]), names)
    ranges = {
        Expression.symbol(name): ValueRanges(low, UNBOUNDED if high is None else high)
        for name, low, high in program["ranges"]
    }
    example = pytree.tree_unflatten(parts["example"], in_spec)
    made = ExportedProgram(
        torch.nn.Module(), graph, signature, parts["state"], ranges, [ModuleCallEntry("", call)],
        example, parts["constants"],
    )  # fmt: skip
    for text in program["guards"]:
        _check_guard(text)
    made._guards = program["guards"]
    return made


def _check_names(names) -> None:
    """Raises where a name could be more than a name in the code that is made of the graph."""
    for name in names:
        if not name.isidentifier():
            raise ValueError(f"{name!r} is no name")


def _check_guard(text: str) -> None:
    """Raises where a condition is more than arithmetic on sizes."""
    import ast

    allowed = (
        ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.Load,
        ast.Subscript, ast.operator, ast.cmpop, ast.unaryop,
    )  # fmt: skip
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Call):
            called = node.func
            size = isinstance(called, ast.Attribute) and called.attr == "size" and not node.args
            known = size or (isinstance(called, ast.Name) and called.id in ("max", "min"))
        elif isinstance(node, ast.Attribute):
            known = node.attr == "size"
        else:
            known = isinstance(node, allowed) and not isinstance(node, (ast.Pow, ast.LShift))
        if known:
            continue
        raise ValueError(f"{text!r} is no condition on sizes")
