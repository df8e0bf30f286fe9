"""What a module does not know of: layers in plain lists, tensors that are no buffers, repeats."""

from __future__ import annotations

import ast

from rushlight import _C, nn

from ... import changes
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..places import found

kind(
    "modules-in-plain-list",
    "Layers or parameters are kept in a plain list or dict",
    """
A module knows its layers by the attributes that hold them. Layers in a Python list, tuple or dict
are invisible to it: they are missing from parameters(), so the optimizer never trains them, from
state_dict(), so they are not saved, and .to() and .eval() pass them by. The forward pass works, so
nothing fails. Use nn.ModuleList or nn.ModuleDict (nn.ParameterList for parameters).
""",
)
kind(
    "tensor-not-a-buffer",
    "A tensor of a module's state is a plain attribute",
    """
A tensor that a module keeps as a plain attribute is neither in its state_dict nor moved by .to().
A mean, a running statistic or a table that was computed from data is lost when the model is saved
and loaded. Register it: self.register_buffer("name", tensor). Later assignments to the attribute
then change the buffer.
""",
)
kind(
    "layer-repeated",
    "One layer stands several times where several were meant",
    """
[layer] * n is a list that holds the same object n times. A ModuleList or Sequential of it looks n
layers deep but has the weights of one. Build each layer anew: [Layer(...) for _ in range(n)].
Where weights are to be shared on purpose, call one layer several times in forward.
""",
)


@check
class Hidden(Check):
    """Modules and parameters in plain containers; tensors that are not buffers; repeated layers."""

    kinds = ("modules-in-plain-list", "tensor-not-a-buffer", "layer-repeated")

    def start(self, doctor):
        self.roots = {}
        self.had_gradient = set()
        self.repeated, self.lost, self.states = {}, {}, {}
        self.steps = 0
        watch = doctor.watch
        watch.on("call", self.call)
        watch.on("step", self.step)
        watch.on("container", self.container)
        watch.on("state_dict", self.state)
        watch.on("load_state_dict", self.loaded)
        watch.on("optimizer", self.optimizer)
        self.plain = {}

    def call(self, module, output, frame):
        key = id(module)
        if key not in self.roots:
            self.roots[key] = module
            self.look(module)

    def optimizer(self, optimizer):
        for frame in places.user_frames(3)[:2]:
            for value in [*_C._locals(frame).values()]:
                if isinstance(value, nn.Module):
                    self.look(value)

    def look(self, root):
        for module in root.modules():
            for name, value in vars(module).items():
                if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                    continue
                held = list(value.values() if isinstance(value, dict) else value)
                inner = [v for v in held if isinstance(v, (nn.Module, nn.Parameter))]
                if inner and len(inner) == len(held):
                    self.plain[id(module), name] = (root, module, name, value, inner)

    def step(self, optimizer):
        self.steps += 1
        if self.steps > 20 and self.steps % 20:
            return
        for _, module, name, _, inner in self.plain.values():
            if any(p.grad is not None for p in _parameters(inner)):
                self.had_gradient.add((id(module), name))

    def container(self, module):
        children = [c for c in module._modules.values() if c is not None]
        if len(children) > len({id(c) for c in children}):
            site = places.here()
            node = places.call_at(site) if site else None
            for inner in ast.walk(node) if node is not None else ():
                if _is_repetition(inner):
                    self.repeated[site, inner] = (site, inner, children)
            if node is not None and not any(k[0] is site for k in self.repeated):
                self.by_name(site, node, children)

    def by_name(self, site, node, children):
        """``blocks = [layer] * n`` a few lines before the container is made of it."""
        scope = site.source.function_of(node)
        for name in {n.id for a in node.args for n in ast.walk(a) if isinstance(n, ast.Name)}:
            statement = site.source.last_assignment(name, node.lineno + 1, scope)
            for inner in ast.walk(statement) if statement is not None else ():
                if _is_repetition(inner):
                    self.repeated[site, inner] = (site, inner, children)

    def state(self, module, state):
        plain = {}
        for path, inner in module.named_modules():
            for name, value in _plain_tensors(inner):
                plain[path, name] = value
        if plain:
            self.states[tuple(state)] = (module, plain)

    def loaded(self, module, state, strict):
        module_plain = {
            (path, name): value
            for path, inner in module.named_modules()
            for name, value in _plain_tensors(inner)
        }
        saved = self.states.get(tuple(state)) if hasattr(state, "keys") else None
        if saved is None or saved[0] is module or type(saved[0]) is not type(module):
            return
        for key, value in saved[1].items():
            mine = module_plain.get(key)
            if mine is None or not _equal(mine, value):
                inner = module.get_submodule(key[0])
                self.lost.setdefault(
                    (type(inner), key[1]), (inner, key[1], value, mine, places.here())
                )

    def findings(self, doctor):
        out = []
        for key, (root, module, name, value, inner) in self.plain.items():
            known = {id(p) for p in root.parameters()}
            missing = [p for p in _parameters(inner) if id(p) not in known and p.requires_grad]
            if missing and (key in self.had_gradient or any(p.grad is not None for p in missing)):
                out.append(self.plain_list(module, name, value, inner, missing))
        out += [self.repetition(*one) for one in self.repeated.values()]
        out += [self.buffer(*one) for one in self.lost.values()]
        return out

    def plain_list(self, module, name, value, inner, missing):
        statement, source = _attribute(module, name)
        if statement is None:
            return None
        node = statement.value
        kinds = "Module" if isinstance(inner[0], nn.Module) else "Parameter"
        wanted = f"{kinds}{'Dict' if isinstance(value, dict) else 'List'}"
        torch_nn = changes.prefix_for(source, "nn")
        new = f"{torch_nn}.{wanted}"
        count = sum(p.numel() for p in missing)
        evidence = [
            (
                f"{len(missing)} parameters with {count:,} values are missing from parameters() "
                "and state_dict(); no optimizer built from it can change them"
            )
        ]
        edits = [source.replace((node, f"{new}({source.segment(node)})"))]
        edits = _with_appends(source, module, name, statement, edits)
        fixes = [Fix(f"{new}(...) instead of a plain {type(value).__name__}", edits)]
        return found(
            "modules-in-plain-list",
            "wrong result",
            (source.file, statement.lineno),
            f"{type(module).__name__}.{name} is a plain {type(value).__name__}: its "
            f"{len(inner)} {kinds.lower()}s are hidden",
            evidence,
            [],
            fixes,
        )

    def repetition(self, site, node, children):
        source = site.source
        if isinstance(node, ast.BinOp):
            is_left = isinstance(node.left, ast.List)
            listed, count = (node.left, node.right) if is_left else (node.right, node.left)
            part, many = listed.elts[0], f"range({source.segment(count)})"
        else:
            part, many = node.elt, source.segment(node.generators[0].iter)
        made = source.segment(part)
        if isinstance(part, ast.Name):
            statement = source.last_assignment(part.id, node.lineno, source.function_of(node))
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                made = source.segment(statement.value)
            elif statement is None:  # it was handed in
                made = f"copy.deepcopy({part.id})"
        new = f"[{made} for _ in {many}]"
        new = new[1:-1] if isinstance(node, ast.GeneratorExp) else new
        sizes = sum(p.numel() for p in children[0].parameters())
        evidence = [
            (
                f"{len(children)} entries, {len({id(c) for c in children})} object: {sizes:,} "
                f"values instead of {sizes * len(children):,}"
            )
        ]
        if not sizes:
            return None
        return found(
            "layer-repeated",
            "wrong result",
            (source.file, node.lineno),
            f"all {len(children)} layers are one and the same",
            evidence,
            [],
            [source.fix(node, new)],
        )

    def buffer(self, module, name, saved, mine, site):
        statement, source = _attribute(module, name, "__init__")
        if statement is None:
            return None
        text = source.segment(statement.value)
        new = f'self.register_buffer("{name}", {text})'
        edits = [source.replace((statement, new))]
        evidence = [
            (
                f"its {saved.numel():,} values differed when the state was taken; after loading "
                f"it is {'missing' if mine is None else 'what __init__ set'}"
            )
        ]
        return found(
            "tensor-not-a-buffer",
            "wrong result",
            (source.file, statement.lineno),
            f"{type(module).__name__}.{name} is not part of the state_dict",
            evidence,
            [(site, "the state was loaded here, without it")],
            [Fix(new, edits)],
        )


def _with_appends(source, module, name, statement, edits):
    return edits


def _is_repetition(node) -> bool:
    """``[layer] * n``, or ``[layer for _ in range(n)]`` of a name that the loop does not bind."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, ast.Name):
        bound = {n.id for g in node.generators for n in ast.walk(g.target)
                 if isinstance(n, ast.Name)}  # fmt: skip
        return len(node.generators) == 1 and node.elt.id not in bound
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    listed = next((s for s in (node.left, node.right) if isinstance(s, ast.List)), None)
    return listed is not None and len(listed.elts) == 1


def _plain_tensors(module):
    for name, value in vars(module).items():
        if (
            isinstance(value, _C.TensorBase)
            and not value.requires_grad
            and not name.startswith("_")
        ):
            yield name, value


def _equal(a, b) -> bool:
    import rushlight as torch

    return a is b or (a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b))


def _parameters(inner):
    for one in inner:
        if isinstance(one, nn.Module):
            yield from one.parameters()
        else:
            yield one


def _attribute(module, name, function="__init__"):
    """The statement ``self.NAME = ...`` in the class of a module, in ``__init__`` before others."""
    import sys

    for cls in type(module).__mro__:
        room = sys.modules.get(cls.__module__)
        file = getattr(room, "__file__", None) or _file_of(cls)
        source = Source.of(file) if file else None
        if source is None or "rushlight" in (cls.__module__ or "").split(".")[0]:
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                found_ = source.attribute_assignments(name, node)
                inside = [s for s in found_ if (f := source.function_of(s)) and f.name == function]
                for statement in inside or found_:
                    if isinstance(statement.targets[0], ast.Attribute):
                        return statement, source
    return None, None


def _file_of(cls):
    for value in vars(cls).values():
        code = getattr(value, "__code__", None)
        if code is not None:
            return code.co_filename
    return None
