"""export: from a module and sample inputs to an ExportedProgram."""

from __future__ import annotations

import rushlight as torch
from rushlight.utils import _pytree as pytree

from .._symbols import _Symbolic
from ._constraints import UNBOUNDED, Again, Constraints, Symbol
from ._errors import ConstraintViolationError, UserError, UserErrorType
from ._expressions import Expression
from ._numbers import NumberNode, wrap
from ._trace import Recording, Trace
from .dynamic_shapes import Dim, _DimHint, check_static, named_inputs, shapes_per_leaf
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, guards_of
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)


def export(
    mod, args, kwargs=None, *, dynamic_shapes=None, strict: bool = False,
    preserve_module_call_signature=(), prefer_deferred_runtime_asserts_over_guards: bool = False,
):  # fmt: skip
    """The program that ``mod(*args, **kwargs)`` runs, as a graph of aten operators.

    The module runs once, on tensors without data that have the shapes of the arguments; what it
    decides by Python is decided for good. ``dynamic_shapes`` says which sizes may differ from call
    to call: per argument, a dictionary from dimensions to Dim, Dim.AUTO or Dim.DYNAMIC.

    Raises UserError where the program binds a size that is said to be dynamic, and
    GuardOnDataDependentSymNode where it decides by the data of a tensor.
    """
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
        )
    if not isinstance(args, tuple):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}",
        )
    kwargs = dict(kwargs or {})
    session = _Session(mod, args, kwargs, shapes_per_leaf(mod, args, kwargs, dynamic_shapes))
    for _ in range(100):
        try:
            return session.traced()
        except Again:
            continue
    raise RuntimeError("torch.export could not find sizes for which the program runs")


class _Session:
    """One export: the inputs and what is said about their sizes."""

    def __init__(self, mod, args, kwargs, shapes):
        self.mod, self.args, self.kwargs, self.shapes = mod, args, kwargs, shapes
        self.constraints = Constraints()
        names = named_inputs(mod, args, kwargs)
        self.leaves: list = []  # (path, leaf)
        for name, value in names.items():
            self._collect((name,), value)
        _, self.in_spec = pytree.tree_flatten((args, kwargs))
        self.arg_names = list(names)

    def _collect(self, path: tuple, value) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                self._collect((*path, key), each)
        elif isinstance(value, (list, tuple)):
            for key, each in enumerate(value):
                self._collect((*path, key), each)
        elif pytree.tree_is_leaf(value):
            self.leaves.append((path, value))
        else:
            for key, each in enumerate(pytree.tree_flatten(value)[0]):
                self._collect((*path, key), each)

    # Sizes.

    def _declare(self) -> dict:
        """Per leaf and dimension, the expression of a dynamic size; None of a static one."""
        self.constraints.restart()
        roots: dict = {}
        found: dict = {}
        for path, leaf in self.leaves:
            spec = self.shapes.get(path)
            source = f"L['{path[0]}']" + "".join(f"[{k!r}]" for k in path[1:])
            if isinstance(leaf, torch.Tensor):
                sizes = [
                    self._size(spec.get(d) if spec else None, n, f"{source}.size()[{d}]", roots,
                               path, d)
                    for d, n in enumerate(leaf.shape)
                ]  # fmt: skip
                found[path] = sizes
            elif isinstance(spec, _DimHint) and spec.type != "STATIC" and type(leaf) is int:
                found[path] = self._size(spec, leaf, source, roots, path, None)
            else:
                found[path] = None
        return found

    def _size(self, spec, size: int, source: str, roots: dict, path, dim):
        check_static(spec, size, source)
        if isinstance(spec, Dim):
            return self._named(spec, size, source, roots)
        if not isinstance(spec, _DimHint) or spec.type == "STATIC":
            return None
        low = 0 if spec.min is None else spec.min
        high = UNBOUNDED if spec.max is None else spec.max
        if dim is not None and size < 2:
            if spec.type == "DYNAMIC":
                raise ValueError(
                    "Found the following conflicts between user-specified ranges and inferred "
                    "ranges from model tracing:\n- Received user-specified dim hint "
                    f"Dim.DYNAMIC(min={spec.min}, max={spec.max}), but export 0/1 specialized due "
                    f"to hint of {size} for dimension inputs{_shown(path)}.shape[{dim}]."
                )
            return None
        return self._symbol(source, size, None, spec.type, low, high)

    def _symbol(self, source: str, hint: int, label, kind: str, low, high):
        if source in self.constraints.fixed:
            return None
        relation = self.constraints.relations.get(source)
        name = self.constraints.symbol_name(source)
        if relation is not None:
            return ("relation", *relation)
        symbol = Symbol(name, source, hint, label, kind, low, high)
        self.constraints.symbols[name] = symbol
        return Expression.symbol(name)

    def _named(self, spec: Dim, size: int, source: str, roots: dict):
        if not spec.min <= size <= spec.max:
            raise ConstraintViolationError(f"{size} not in range [{spec.min}, {spec.max}]")
        root, factor, shift = spec._root(), spec._factor(), spec._constant()
        label = root.__name__
        if label not in roots:
            hint, rest = divmod(size - shift, factor)
            if rest:
                raise ConstraintViolationError(
                    f"Constraints violated ({label}): {size} is not {spec.__name__}"
                )
            expression = self._symbol(source, hint, label, "named", root.min, root.max)
            if expression is not None and hint < 2:
                symbol = self.constraints.symbols[expression.atom()]
                self.constraints._fix(symbol)
                del self.constraints.symbols[symbol.name]
                expression = None
            roots[label] = (expression, hint, source)
        expression, hint, first = roots[label]
        if factor * hint + shift != size:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"Constraints violated ({label})! For more information, run with "
                f'TORCH_LOGS="+dynamic".\n  - The values of {spec.__name__} = {source} and '
                f"{label} = {first} must always be equal.",
            )
        if isinstance(expression, tuple):
            _, other, by = expression
            return ("relation", other, factor * by + shift) if factor == 1 else None
        return None if expression is None else expression * factor + shift

    def _resolve(self, sizes: dict) -> dict:
        """With the sizes that follow from others written as these."""
        by_source = {s.source: Expression.symbol(n) for n, s in self.constraints.symbols.items()}

        def resolved(each):
            if isinstance(each, tuple):
                other = by_source.get(each[1])
                return None if other is None else other + each[2]
            return each

        return {
            path: [resolved(e) for e in found] if isinstance(found, list) else resolved(found)
            for path, found in sizes.items()
        }

    # The trace.

    def traced(self):
        """Traces once; raises Again where a size turned out to be bound."""
        sizes = self._resolve(self._declare())
        trace = Trace(self.constraints)
        trace.choices = self.constraints.choices()
        specs = self._lift(trace)
        inputs, user_specs = self._inputs(trace, sizes)
        _, spec = pytree.tree_flatten((self.args, self.kwargs))
        by_path = [inputs[path] for path, _ in self._in_order()]
        args, kwargs = pytree.tree_unflatten(by_path, spec)
        with _Attributes(self.mod) as attributes, torch.set_grad_enabled(trace.gradient):
            with Recording(trace):
                result = self.mod(*args, **kwargs)
            trace.follow_gradient()
            attributes.write_back(trace)
        leaves, out_spec = pytree.tree_flatten(result)
        outputs = [self._output(trace, leaf) for leaf in leaves]
        trace.graph.output(tuple(o[0] for o in outputs))
        trace.finish()
        self.constraints.check()
        return self._program(trace, specs, user_specs, outputs, out_spec, sizes)

    def _in_order(self) -> list:
        """The leaves as the structure of (args, kwargs) lists them."""
        known = dict(self.leaves)
        count = len(pytree.tree_flatten(self.args)[0])
        positional = self.leaves[:count]
        rest = dict(self.leaves[count:])
        ordered = list(positional)
        for key in self.kwargs:
            ordered += [(p, v) for p, v in rest.items() if p[0] == key]
        return ordered if len(ordered) == len(known) else self.leaves

    def _lift(self, trace) -> list:
        """Placeholders of parameters, buffers and tensors that are attributes."""
        specs = []
        persistent = set(self.mod.state_dict(keep_vars=True))
        for kind, prefix, named in (
            (InputKind.PARAMETER, "p_", self.mod.named_parameters(remove_duplicate=False)),
            (InputKind.BUFFER, "b_", self.mod.named_buffers(remove_duplicate=False)),
        ):
            for name, tensor in named:
                node = trace.placeholder(prefix + name.replace(".", "_"))
                stays = name in persistent if kind is InputKind.BUFFER else None
                specs.append(InputSpec(kind, TensorArgument(node.name), name, stays))
                known = trace.entries.get(id(tensor))
                if known is None:
                    trace.add(tensor, trace.shadows_of(tensor), node)
                else:
                    node.meta["val"] = known.node.meta["val"]
                    known.node = node
        for home, module in self.mod.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, torch.Tensor) and id(value) not in trace.entries:
                    trace.attributes[id(value)] = f"{home}.{name}".lstrip(".")
        return specs

    def _inputs(self, trace, sizes: dict) -> tuple:
        """The arguments of the run, and their specs."""
        made, specs, nodes = {}, [], []
        for path, leaf in self.leaves:
            name = "_".join(str(p) for p in path)
            node = trace.graph.placeholder(name)
            nodes.append(node)
            argument = TensorArgument(name)
            if isinstance(leaf, torch.Tensor):
                made[path] = self._tensor(trace, leaf, sizes[path], node)
            elif sizes[path] is not None:
                values = tuple(sizes[path].value(c) for c in trace.choices)
                made[path] = wrap(NumberNode(trace, values, sizes[path], node))
                trace.by_values[values] = node.meta["val"] = made[path]
                argument = SymIntArgument(name)
            else:
                made[path] = node.meta["val"] = leaf
                argument = ConstantArgument(name, leaf)
            specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
        for (path, leaf), node in zip(self.leaves, nodes, strict=True):
            if isinstance(leaf, torch.Tensor):
                self._size_nodes(trace, sizes[path], node)
        for path, leaf in self.leaves:
            if isinstance(leaf, torch.Tensor):
                entry = trace.entries[id(made[path])]
                entry.node.meta["val"] = trace.described(entry)
        return made, specs

    def _tensor(self, trace, leaf, expressions: list, node):
        known = trace.entries.get(id(leaf))
        if known is not None:
            known.node = node
            return known.tensor
        values = None
        if any(e is not None for e in expressions):
            values = [
                [n if e is None else e.value(c) for c in trace.choices]
                for e, n in zip(expressions, leaf.shape, strict=True)
            ]
        shadows = trace.shadows_of(leaf, values)
        entry = trace.add(shadows[0], shadows, node)
        trace.entries[id(leaf)] = entry
        trace.kept.append((leaf, leaf))
        return shadows[0]

    def _size_nodes(self, trace, expressions: list, node) -> None:
        """Numbers of the dynamic sizes of an input."""
        for dim, expression in enumerate(expressions):
            if expression is None:
                continue
            values = tuple(expression.value(c) for c in trace.choices)
            if values not in trace.by_values and len(set(values)) > 1:
                trace.number(values, expression, (torch.ops.aten.sym_size.int, (node, dim)))

    def _output(self, trace, leaf) -> tuple:
        if isinstance(leaf, torch.Tensor):
            node = trace.entry(leaf).node
            return node, TensorArgument(node.name)
        if isinstance(leaf, _Symbolic):
            return leaf.node.fx_node, SymIntArgument(leaf.node.fx_node.name)
        return leaf, ConstantArgument("", leaf)

    def _program(self, trace, specs, user_specs, outputs, out_spec, sizes):
        lifted = [
            InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node), name)
            for node, (name, _) in trace.constants.items()
        ]
        signature = ExportGraphSignature(
            [*specs, *lifted, *user_specs],
            [OutputSpec(OutputKind.USER_OUTPUT, o[1], None) for o in outputs],
        )
        state = dict(self.mod.state_dict(keep_vars=True))
        constants = dict(trace.constants.values())
        for spec in specs:
            if spec.persistent is False:
                constants[spec.target] = self.mod.get_buffer(spec.target)
        call = ModuleCallSignature([], [], self.in_spec, out_spec, self.arg_names)
        made = ExportedProgram(
            torch.nn.Module(), trace.graph, signature, state, self.constraints.ranges(),
            [ModuleCallEntry("", call)], (self.args, self.kwargs), constants,
        )  # fmt: skip
        named = {s.arg.name for s in user_specs}
        nodes = [n for n in trace.graph.nodes if n.op == "placeholder" and n.target in named]
        made._guards = guards_of(
            [
                (node.target, leaf, sizes[path])
                for node, (path, leaf) in zip(nodes, self.leaves, strict=True)
            ],
            self.constraints,
        )
        return made


def _shown(path: tuple) -> str:
    return "".join(f"[{k!r}]" for k in path)


class _Attributes:
    """After a trace, attributes are as before; buffers that were exchanged are written."""

    def __init__(self, mod):
        self.modules = list(mod.modules())

    def __enter__(self):
        self.before = [(m, dict(vars(m)), dict(m._buffers)) for m in self.modules]
        return self

    def write_back(self, trace) -> None:
        """Adds a copy into each buffer in whose place another tensor was put."""
        for module, _, buffers in self.before:
            for name, buffer in buffers.items():
                now = module._buffers.get(name)
                if buffer is not None and now is not None and now is not buffer:
                    args = (trace.entry(buffer).node, trace.entry(now).node)
                    trace.graph.call_function(
                        torch.ops.aten.copy_.default, args, name="copy__default"
                    )

    def __exit__(self, *error):
        for module, attributes, buffers in self.before:
            module._buffers.clear()
            module._buffers.update(buffers)
            for name, value in list(vars(module).items()):
                if isinstance(value, torch.Tensor) and name not in attributes:
                    del vars(module)[name]
            for name, value in attributes.items():
                if vars(module).get(name) is not value and name != "_buffers":
                    vars(module)[name] = value
