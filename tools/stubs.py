"""Type stubs from the live op table: rushlight/_C.pyi and those of the namespaces of ops.

    python tools/stubs.py            writes them
    python tools/stubs.py --check    exits with 1 where a committed one differs

What is written by hand in C++ or Python (attributes, `to`, `item`) is listed in stub_texts.py; a
public attribute of Tensor that neither gives is an error, so that none is forgotten.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import sys
from pathlib import Path

import stub_texts as texts

import rushlight as torch
from rushlight import _C

PACKAGE = Path(__file__).resolve().parents[1] / "rushlight"
TYPES = {
    "Tensor": "Tensor", "int": "_int", "float": "_float", "bool": "_bool", "Scalar": "_Number",
    "str": "str", "ScalarType": "_dtype", "Device": "_DeviceLike", "Generator": "Generator",
    "MemoryFormat": "_memory_format", "Layout": "_layout",
}  # fmt: skip
PARAMETER = re.compile(
    r"(?P<type>\w+)(?:\([a-z]!?\))?(?P<item>\?)?(?P<list>\[(?P<length>\d*)\])?(?P<optional>\?)? "
    r"(?P<name>\w+)(?:=(?P<default>.*))?"
)
FACTORY = ["layout: _layout | None = None", "pin_memory: _bool | None = False",
           "requires_grad: _bool | None = False"]  # fmt: skip
RESERVED = {"lambda", "from", "in", "is", "class"}
HEADER = '"""{}: written by tools/stubs.py from the op table."""\n\n'


def split_list(text: str) -> list[str]:
    """The items of a list, at the commas outside brackets."""
    items, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            items.append("")
        else:
            items[-1] += c
    return [i.strip() for i in items if i.strip()]


def default_text(text: str, annotation: str) -> str:
    """A default as Python: the number or text itself, an ellipsis for what only C++ can say."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "..."
    opaque = isinstance(value, list) or "memory_format" in annotation or "dtype" in annotation
    return "..." if opaque and value is not None else repr(value)


class Parameter:
    """One parameter of a signature in the words of a stub."""

    def __init__(self, text: str, number: bool):
        found = PARAMETER.fullmatch(text)
        kind = TYPES[found["type"]]
        if number:
            kind = "Tensor | _Number"
        self.ints = bool(found["list"]) and found["type"] == "int"
        if found["list"]:
            item = f"{kind} | None" if found["item"] else kind
            kind = f"Sequence[{item}]"
            if found["length"]:
                kind += f" | {item}"
            elif found["item"] and found["type"] != "Tensor":
                kind += " | None"
        if found["optional"] or (found["item"] and not found["list"]):
            kind += " | None"
        self.name, self.kind, self.default = found["name"], kind, found["default"]
        self.sized = bool(found["length"])

    def text(self, name: str = "") -> str:
        tail = "" if self.default is None else f" = {default_text(self.default, self.kind)}"
        return f"{name or self.name}: {self.kind}{tail}"


class Signature:
    """One record of the op table, taken apart."""

    def __init__(self, entry: dict):
        self.entry = entry
        arguments, _, result = entry["signature"].partition("(")[2].rpartition(") -> ")
        if ") -> (" in entry["signature"]:
            arguments, _, result = entry["signature"].partition("(")[2].partition(") -> ")
        numbers = {p[0] for p in entry["params"] if p[1] == "number"}
        words = split_list(arguments)
        self.positional, self.keyword = [], []
        target = self.positional
        for word in words:
            if word == "*":
                target = self.keyword
            else:
                name = word.split("=")[0].split()[-1]
                target.append(Parameter(word, name in numbers))
        self.returns = self.result_type(result.strip())
        self.count = max(len(split_list(result.strip("()"))), 1)

    def result_type(self, text: str) -> str:
        if text == "()":
            return "None"
        if not text.startswith("("):
            kind = re.sub(r"\([a-z]!?\)", "", text)
            return "tuple[Tensor, ...]" if kind == "Tensor[]" else TYPES[kind]
        parts = [p for p in split_list(text[1:-1]) if not p.startswith("saved ")]
        names = [p.split()[1] for p in parts if " " in p]
        if len(parts) == 1:
            return "Tensor"
        if len(names) < len(parts):
            return f"tuple[{', '.join(['Tensor'] * len(parts))}]"
        RESULTS[self.entry["python"]] = names
        return self.entry["python"] + "_result"

    def lines(self, name: str, form: str, indent: str = "") -> list[str]:
        """The variants of `def name`; form: function, static, method or inplace."""
        given = [p for p in self.positional if p.name not in RESERVED]
        bound = form in ("method", "inplace")
        keyword = [p.text() for p in self.keyword]
        if self.entry["kind"] == "factory":
            keyword += FACTORY
        if not bound and "out" in self.entry["forms"]:
            many = "tuple[Tensor, ...] | list[Tensor]" if self.count > 1 else "Tensor"
            keyword.append(f"out: {many} | None = None")
        first = ["self"] if bound else []
        rest = given[1:] if bound else given
        plain = [p.text("input" if p.name == "self" else "") for p in rest]
        shapes = [first + required_first(plain) + (["*", *keyword] if keyword else [])]
        if len(rest) == 1 and rest[0].ints and not rest[0].sized:
            shapes.append([*first, f"*{rest[0].name}: _int", *keyword])
        returns = "Tensor" if form == "inplace" and self.returns != "None" else self.returns
        return [f"{indent}def {name}({', '.join(s)}) -> {returns}: ..." for s in shapes]


RESULTS: dict[str, list[str]] = {}


def required_first(params: list[str]) -> list[str]:
    """Parameters; one without a default after one that has one gets an ellipsis."""
    found, optional = [], False
    for p in params:
        optional = optional or " = " in p
        found.append(p if " = " in p or not optional else f"{p} = ...")
    return found


def block(variants: list[str], indent: str, static: bool = False) -> list[str]:
    """One function: its variants, marked as overloads where there are several."""
    found = []
    variants = list(dict.fromkeys(variants))
    for line in variants:
        if len(variants) > 1:
            found.append(f"{indent}@overload")
        if static:
            found.append(f"{indent}@staticmethod")
        found.append(line)
    return found


def names_of(signature: Signature, space: str) -> list[str]:
    """The names under which a record's function stands in a namespace."""
    entry = signature.entry
    names = []
    if "function" in entry["forms"] and entry["namespace"] == space:
        names.append(entry["python"].removeprefix(f"{space}_"))
        names += [a for a in entry["alias"] if "." not in a]
    if space:
        names += [a[len(space) + 1 :] for a in entry["alias"] if a.startswith(f"{space}.")]
    return names


def functions(signatures, space: str, table: dict, indent="", static=False) -> list[str]:
    """The functions of one namespace in alphabetical order."""
    found: dict[str, list[str]] = {}
    for s in signatures:
        for name in names_of(s, space):
            found.setdefault(name, []).extend(s.lines(name, "function", indent))
            if "inplace" in s.entry["forms"]:
                found.setdefault(f"{name}_", []).extend(s.lines(f"{name}_", "function", indent))
    lines = []
    for name in sorted(n for n in found if n in table and n.isidentifier()):
        lines += block(found[name], indent, static)
    for name in sorted(set(table) - set(found)):
        lines += [f"{indent}@staticmethod"] if static else []
        lines.append(f"{indent}def {name}(*args: Any, **kwargs: Any) -> Any: ...")
    return lines


def methods(signatures) -> dict[str, list[str]]:
    """Tensor's methods that come from records."""
    found: dict[str, list[str]] = {}
    for s in signatures:
        names = [s.entry["python"], *(a for a in s.entry["alias"] if "." not in a)]
        for name in names:
            if "method" in s.entry["forms"]:
                found.setdefault(name, []).extend(s.lines(name, "method", "    "))
            if "inplace" in s.entry["forms"] and hasattr(torch.Tensor, f"{name}_"):
                found.setdefault(f"{name}_", []).extend(s.lines(f"{name}_", "inplace", "    "))
    return found


def python_method(name: str, function) -> str:
    """A method written in Python, its types from texts.RETURNS."""
    params = str(inspect.signature(function))
    return f"    def {name}{params} -> {texts.RETURNS.get(name, 'Any')}: ..."


def tensor_class(signatures) -> list[str]:
    """class Tensor: properties, operators, methods by hand, methods of records."""
    made = methods(signatures)
    by_hand = set(re.findall(r"^    (?:def )?(\w+)[(:]", texts.TENSOR, re.MULTILINE))
    lines = texts.TENSOR.strip("\n").split("\n")
    for name in sorted(made):
        if name not in by_hand and hasattr(torch.Tensor, name):
            lines += block(made[name], "    ")
    have = by_hand | set(made)
    for name in sorted(n for n in dir(torch.Tensor) if not n.startswith("_") and n not in have):
        value = inspect.getattr_static(torch.Tensor, name)
        if name.endswith("_") and name[:-1] in made:  # of a view: x.t_(), x.detach_()
            variants = [v.replace(f"def {name[:-1]}(", f"def {name}(") for v in made[name[:-1]]]
            lines += block(variants, "    ")
            continue
        value = inspect.unwrap(value)
        if not inspect.isfunction(value):
            raise SystemExit(f"tools/stub_texts.py does not list Tensor.{name}")
        lines.append(python_method(name, value))
    return lines


def core_names() -> list[str]:
    """The dtypes, layouts and memory formats, by their types."""
    kinds = (_C.dtype, _C.layout, _C.memory_format)
    found = [(n, type(v).__name__) for n, v in vars(_C).items() if isinstance(v, kinds)]
    return [f"{name}: _{kind}" for name, kind in sorted(found)]


def build() -> dict[Path, str]:
    """Path and text of every stub."""
    signatures = [Signature(e) for e in _C.op_table()]
    public = {n: f for n, f in _C._functions_table.items() if not n.startswith("_")}
    taken = set(re.findall(r"^def (\w+)", texts.CORE, re.MULTILINE))
    public = {n: f for n, f in public.items() if n not in taken}
    ops = functions(signatures, "", public)
    spaces = {n: getattr(_C, f"_{n}_table") for n in ("nn", "linalg", "special", "fft")}
    inner = []
    for space, table in spaces.items():
        inner += ["", f"class _{space}:"]
        inner += functions(signatures, space, table, "    ", static=True) or ["    ..."]
    tensor = tensor_class(signatures)
    results = []
    for name, fields in sorted(RESULTS.items()):
        results += [f"class {name}_result(NamedTuple):", *(f"    {f}: Tensor" for f in fields), ""]
    core = [HEADER.format("The core: tensors, element types, ops") + texts.CORE.strip("\n"), ""]
    lines = [*core, *tensor, "", *results, *core_names(), "", *ops, *inner]
    stubs = {PACKAGE / "_C.pyi": "\n".join(lines) + "\n"}
    for space in ("linalg", "special", "fft"):
        body = functions(signatures, space, spaces[space])
        used = sorted(set(re.findall(r"\w+_result", "\n".join(body))))
        imports = texts.IMPORTS + "".join(f"from ._C import {u}\n" for u in used)
        text = HEADER.format(f"torch.{space}") + imports + "\n" + "\n".join(body) + "\n"
        stubs[PACKAGE / f"{space}.pyi"] = text
    stubs[PACKAGE / "nn" / "functional" / "_native.pyi"] = native_functions()
    stubs[PACKAGE / "_public.pyi"] = public_names()
    return stubs


def public_names() -> str:
    """What `import rushlight` offers, each name said to be public; lazy names included."""
    found = {}
    for node in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module not in ("_C", None, "__future__"):
            found |= {a.name: node.module for a in node.names if not a.asname}
    found |= torch._HOME
    modules = [m for m in torch._LAZY_MODULES if (PACKAGE / f"{m}.py").exists()]
    modules += [m for m in torch._LAZY_MODULES if (PACKAGE / m / "__init__.py").exists()]
    lines = ["from ._C import *", *(f"from . import {m} as {m}" for m in sorted(modules))]
    lines += [f"from .{home} import {n} as {n}" for n, home in sorted(found.items())]
    constants = "e: float\npi: float\ninf: float\nnan: float\nnewaxis: None\n"
    return HEADER.format("The names of torch") + "\n".join(lines) + "\n" + constants


def native_functions() -> str:
    """The names of torch.nn.functional that are native ops, for its TYPE_CHECKING import."""
    import rushlight.nn.functional as F

    lines = []
    for home, names in F._NATIVE:
        prefix = "_C" if home is torch else "_C._nn"
        lines += [f"{n} = {prefix}.{n}" for n in names.split() if hasattr(F, n)]
    text = HEADER.format("Functions that are native ops") + "from rushlight import _C\n\n"
    return text + "\n".join([*sorted(lines), "logsigmoid = _C._nn.log_sigmoid"]) + "\n"


def main() -> int:
    """Writes the stubs, or says what differs."""
    wrong = 0
    for path, text in build().items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif old != text:
            wrong += 1
            difference = difflib.unified_diff(old.split("\n"), text.split("\n"), lineterm="", n=0)
            print(f"{path.name} is stale: run tools/stubs.py", *list(difference)[:20], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
