"""ExportedProgram: a graph, what its inputs stand for, and the tensors that they are."""

from __future__ import annotations

import contextlib
import copy
import dataclasses

import rushlight as torch
from rushlight import fx
from rushlight.fx.graph import _PyTreeCodeGen, _PyTreeInfo
from rushlight.utils import _pytree as pytree

from ._constraints import UNBOUNDED
from .graph_signature import InputKind

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called: the structure of its arguments and results."""

    inputs: list
    outputs: list
    in_spec: object
    out_spec: object
    forward_arg_names: list | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the program by its name."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclasses.dataclass
class CallSpec:
    """The structure of arguments and results."""

    in_spec: object
    out_spec: object


# All that guards call; the core imports by the builtins of its caller.
_GUARD_NAMES = {"__builtins__": {"__import__": __import__, "max": max, "min": min}}


class GuardsFn(torch.nn.Module):
    """Checks the arguments against what the program was traced for."""

    def __init__(self, names: list, checks: list):
        super().__init__()
        self._names = names
        self._checks = [(text, compile(text, "guard", "eval")) for text in checks]

    def forward(self, *args):
        """Raises AssertionError where an argument does not fit."""
        known = dict(zip(self._names, args, strict=True))
        for text, code in self._checks:
            if not eval(code, _GUARD_NAMES, known):
                raise AssertionError(f"Guard failed: {text}")


class ExportedProgram:
    """What torch.export.export gives; ``module()`` makes it a module that can be called."""

    def __init__(
        self, root, graph, graph_signature, state_dict, range_constraints, module_call_graph,
        example_inputs=None, constants=None, *, verifiers=None,
    ):  # fmt: skip
        graph._codegen = fx.graph.CodeGen()
        self._graph_module = fx.GraphModule(root, graph)
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._range_constraints = range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._constants = constants or {}
        self._guards: list = []

    @property
    def graph_module(self):
        """The graph as a module whose arguments are all its inputs."""
        return self._graph_module

    @property
    def graph(self):
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self):
        """What its inputs and outputs stand for."""
        return self._graph_signature

    @property
    def state_dict(self):
        """Parameters and persistent buffers by name."""
        return self._state_dict

    @property
    def constants(self):
        """Tensors that are neither, by name."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self):
        """Per dynamic size, the values it may have."""
        return self._range_constraints

    @property
    def module_call_graph(self):
        """The module's call."""
        return self._module_call_graph

    @property
    def example_inputs(self):
        """The sample inputs: args and kwargs."""
        return self._example_inputs

    @property
    def call_spec(self):
        """The structure of arguments and results."""
        signature = self._module_call_graph[0].signature
        return CallSpec(signature.in_spec, signature.out_spec)

    @property
    def dialect(self) -> str:
        """"TRAINING": the operators are those that the program calls."""
        return "TRAINING"

    def named_parameters(self):
        """Names and parameters."""
        for name in self.graph_signature.parameters:
            yield name, self._state_dict[name]

    def parameters(self):
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self):
        """Names and buffers."""
        absent = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, (self._constants if name in absent else self._state_dict)[name]

    def buffers(self):
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def validate(self) -> None:
        """Raises where the graph is not well-formed."""
        self.graph.lint()

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops: bool = False):
        """Refused, but for a table without entries that leaves the operators as they are."""
        raise NotImplementedError(
            "ExportedProgram.run_decompositions is not supported: the graph holds the operators "
            "that the program calls."
        )

    def module(self, check_guards: bool = True):
        """A module with the original names of parameters, whose graph is this program's."""
        root = torch.nn.Module()
        signature = self._module_call_graph[0].signature
        graph = fx.Graph()
        copied: dict = {}
        placeholders = [n for n in self.graph.nodes if n.op == "placeholder"]
        user: list = []
        for node, spec in zip(placeholders, self.graph_signature.input_specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                copied[node] = graph.placeholder(node.target)
                copied[node].meta = dict(node.meta)
                user.append(node)
                continue
            self._install(root, spec)
            with graph.inserting_before(copied[user[0]]) if user else contextlib.nullcontext():
                name = spec.target.replace(".", "_")
                made = graph.create_node("get_attr", spec.target, name=name)
            made.meta = dict(node.meta)
            copied[node] = made
        if check_guards and user:
            root.add_module("_guards_fn", GuardsFn([n.target for n in user], self._guards))
            graph.call_module("_guards_fn", tuple(copied[n] for n in user))
        for node in self.graph.nodes:
            if node.op == "output":
                graph.output(fx.node.map_arg(node.args[0], lambda n: copied[n]))
            elif node.op != "placeholder":
                copied[node] = graph.node_copy(node, lambda n: copied[n])
        names = signature.forward_arg_names
        graph.set_codegen(
            _PyTreeCodeGen(_PyTreeInfo(names, signature.in_spec, signature.out_spec))
        )
        made = fx.GraphModule(root, graph)
        made.register_forward_pre_hook(_Checked(signature.in_spec, names), with_kwargs=True)
        made.train = _refuse_mode("train")
        made.eval = _refuse_mode("eval")
        return made

    def _install(self, root, spec) -> None:
        """Puts a parameter, a buffer or a constant where its name says."""
        home, _, last = spec.target.rpartition(".")
        place = root
        for part in home.split(".") if home else ():
            if not hasattr(place, part):
                place.add_module(part, torch.nn.Module())
            place = getattr(place, part)
        stored = self._state_dict.get(spec.target)
        tensor = self._constants[spec.target] if stored is None else stored
        if spec.kind is InputKind.PARAMETER:
            place.register_parameter(last, tensor)
        else:
            persistent = spec.kind is InputKind.BUFFER and spec.persistent is not False
            place.register_buffer(last, tensor, persistent=persistent)

    def __str__(self):
        code = self.graph_module.print_readable(print_output=False)
        text = code.replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {text}\nGraph signature: {signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )

    def __deepcopy__(self, memo):
        made = copy.copy(self)
        made._state_dict = copy.deepcopy(self._state_dict, memo)
        made._constants = copy.deepcopy(self._constants, memo)
        return made


class _Checked:
    """Raises PyTorch's errors for a call whose arguments have another structure."""

    def __init__(self, in_spec, names):
        self.in_spec, self.names = in_spec, names

    def __call__(self, module, args, kwargs):
        expected = list(self.in_spec.children()[1].context)
        if set(kwargs) != set(expected):
            raise ValueError(
                f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but "
                f"expected {expected}"
            )
        kwargs = {name: kwargs[name] for name in expected}
        _, found = pytree.tree_flatten((args, kwargs))
        if found != self.in_spec:
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: \n"
                f"{self.in_spec}\nbut actually got inputs with tree spec of: \n{found}.\nPlease "
                "check that the inputs have the same number and type of args and kwargs as the "
                "ones you used when tracing."
            )
        return (*args, *kwargs.values()), {}


def _refuse_mode(name: str):
    def refused(*args, **kwargs):
        raise NotImplementedError(f"Calling {name}() is not supported yet.")

    return refused


def guards_of(inputs: list, constraints) -> list:
    """Conditions on the arguments: (name, value, per dimension its symbol or None)."""
    static, equal, ranges = [], [], []
    seen: dict = {}
    for name, value, sizes in inputs:
        if not isinstance(value, torch.Tensor):
            if sizes is None and value is None:
                static.append(f"{name} is None")
            elif sizes is None and isinstance(value, (int, float, str, bool)):
                static.append(f"{name} == {value!r}")
            continue
        for dim, expression in enumerate(sizes):
            text = f"{name}.size()[{dim}]"
            if expression is None:
                static.append(f"{text} == {value.shape[dim]}")
            elif expression in seen:
                equal.append(f"{text} == {seen[expression]}")
            else:
                seen[expression] = text
    places = {e.affine()[0]: t for e, t in seen.items() if e.is_symbol()}
    for expression, text in seen.items():
        line = expression.affine()
        if line and not expression.is_symbol() and line[0] in places:
            equal.append(f"{text} == {expression.text(places.get)}")
    for name, symbol in constraints.symbols.items():
        if name in places:
            low = symbol.low if symbol.low > 2 else symbol.user_low
            if low > 0 and (symbol.low > 2 or symbol.kind == "named"):
                ranges.append(f"{places[name]} >= {low}")
            if symbol.high < UNBOUNDED:
                ranges.append(f"{places[name]} <= {symbol.high}")
    for difference, sign, answer in constraints.guards:
        if difference.symbols() <= set(places):
            text = f"{difference.text(places.get)} {sign} 0"
            ranges.append(text if answer else f"not {text}")
    return static + equal + ranges
