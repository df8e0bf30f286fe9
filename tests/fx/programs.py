"""Programs for torch.fx: what tracing, printing and changing graphs gives, as text."""

from __future__ import annotations

import copy
import enum
import importlib
import math
import operator
import os
import pickle
import re
import typing

torch = importlib.import_module(os.environ.get("RUSHLIGHT_TEST_MODULE", "rushlight"))
fx = importlib.import_module(f"{torch.__name__}.fx")
nn, F = torch.nn, torch.nn.functional

fx.wrap("len")


@fx.wrap
def scaled(x, by=1):
    return x * by


class Pair(typing.NamedTuple):
    first: object
    second: object


class Colour(enum.Enum):
    RED = 1


CONSTANT = torch.ones(3)


def unpacked(x):
    a, b = torch.split(x, 2)
    (c, d), e = a.chunk(2), b
    return c + d + e


def iterated(x):
    return [i for i in x]  # noqa: C416


def branched(x):
    return x if x.sum() > 0 else -x


def spread(x):
    return dict(**x)


def assigned(x):
    x[0] = 1
    return x


def changed(x):
    x.add_(1)
    x += 1
    return x


def varied(x, *rest, k=1, **named):
    return x + k + rest[0] + named["a"]


def annotated(x: torch.Tensor, y: typing.Optional[int] = 3) -> torch.Tensor:  # noqa: UP045
    return x * y


def layers(x):
    y = F.relu(F.dropout(F.linear(x, CONSTANT), training=True)) + F.softmax(x, dim=-1)
    y = y + F.layer_norm(x, (3,)) + F.gelu(x) + F.max_pool2d(x, 2) + F.pad(x, (1, 1))
    y = y + F.interpolate(x, scale_factor=2) + F.conv2d(x, CONSTANT, None, 1) + F.sigmoid(x)
    return y + F.cross_entropy(x, x) + F.scaled_dot_product_attention(x, x, x) + F.normalize(x)


def spectra(x):
    y = torch.einsum("ij,jk->ik", x, x) + torch.norm(x) + torch.where(x > 0, x, 0)
    y = y + torch.max(x, dim=1)[0] + torch.linalg.norm(x) + torch.fft.fft(x)
    return y + torch.special.erf(x) + torch.stack([x, x]).sum((0, 1)) + torch.meshgrid(x, x)[0]


def made(x):
    y = torch.zeros(x.shape[0]) + torch.arange(x.size(1), device=x.device)
    return y + torch.full((2,), x) + torch.ones_like(x).to(torch.float16)[1:2, ..., None]


FUNCTIONS = {
    "wrapped": lambda x: len(x) + scaled(x, by=2),
    "math": lambda x: math.sqrt(x.shape[0]) * x + math.sqrt(4),
    "constant": lambda x: CONSTANT + x + CONSTANT,
    "parameter": lambda x: nn.Parameter(CONSTANT) + x,
    "pair": lambda x: torch.sin(Pair(x, x)),
    "dict": lambda x: {"a": x, "b": [x, (x, 1)]},
    "key": lambda x: {x: 1},
    "object": lambda x: object(),
    "number": lambda x: 1,
    "colour": lambda x: scaled(x, by=Colour.RED),
    "operators": lambda x: abs(x) + (-x) + (~x) + (x // 2) + (2**x) + (x << 1) + (3 - x) + (3 @ x),
    "attributes": lambda x: x.size(0) + x.size()[1] + x.shape[-1] + x.T.H,
    "bool": lambda x: bool(x),
    "and": lambda x: x and 1,
    "not": lambda x: not x,
    "called": lambda x: x(3),
    "len": lambda x: x.__len__(),
    "kinds": lambda x: torch.is_floating_point(x) + torch.is_tensor(x),
    "asserted": lambda x: torch._assert(x.sum() > 0, "no"),
    **{
        f.__name__: f
        for f in (unpacked, iterated, branched, spread, assigned, changed, varied, annotated,
                  layers, spectra, made)
    },
}  # fmt: skip


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("shift", torch.ones(1))

    def forward(self, x):
        return F.relu(self.norm(self.conv(x))) * self.scale * self.scale + self.shift + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.blocks = nn.Sequential(Block(), Block())
        self.heads = nn.ModuleList([nn.Linear(4, 2), nn.Linear(2, 2)])
        self.drop = nn.Dropout()

    def forward(self, x, y=None):
        x = self.blocks[0](self.blocks(self.stem(x))).mean((2, 3))
        for head in self.heads:
            x = head(x)
        return self.drop(x)


def text_of(call) -> str:
    """What a call returns or raises, with PyTorch's names."""
    try:
        result = str(call())
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    result = re.sub(r"0x[0-9a-f]{6,}", "0x", result).replace("rushlight.", "torch.")
    result = re.sub(r"\b(tests[._])?fx([._])programs", r"fx\2programs", result)
    return re.sub(r"(built-in method \w+) of type object at 0x", r"\1", result)


def numbers(value) -> list:
    return [round(x, 4) + 0.0 for x in value.flatten().tolist()]


def filled(module):
    """``module`` in evaluation, with parameters that do not depend on random numbers."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.linspace(-0.5, 0.7, parameter.numel()).view_as(parameter))
    return module.eval()


def batch():
    return torch.linspace(-1, 1, 2 * 3 * 6 * 6).view(2, 3, 6, 6)


def concrete():
    def nested(x, y, z):
        return {"r": x["a"][0] + x["b"], "s": y, "z": z}

    def flagged(x, flag, kind="a", rest=None):
        return x + 1 if flag else x

    given = {"x": {"a": [fx.PH, fx.PH], "b": fx.PH}, "y": 5, "z": fx.PH}
    traced = fx.symbolic_trace(nested, concrete_args=given)
    yield traced.code
    for y in (5, 6):
        yield text_of(lambda y=y: traced({"a": [1, 2], "b": 3}, y, 1))
    for args in ({"flag": True}, {"flag": False, "kind": "b"}, (fx.PH, True, "q", None)):
        yield text_of(lambda args=args: fx.symbolic_trace(flagged, concrete_args=args).code)


def edits():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", default_value=3)
    a = graph.call_function(torch.relu, (x,))
    b = graph.call_method("view", (a, -1), {"k": [y, {"z": x}]})
    c = graph.call_function(operator.getitem, (b, 0))
    graph.output((c, b))
    yield text_of(lambda: graph)
    yield text_of(lambda: graph.erase_node(a))
    yield text_of(lambda: b.kwargs["k"].append(1))
    yield text_of(lambda: (b.all_input_nodes, a.users, x.users, b.next, b.prev))
    with graph.inserting_before(b):
        d = graph.call_function(torch.sigmoid, (a,), name="new")
    with graph.inserting_after(x):
        graph.call_function(torch.sigmoid, (x,), name="new")
    yield text_of(lambda: a.replace_all_uses_with(d))
    yield text_of(graph.lint)
    d.args = (x,)
    b.insert_arg(1, d)
    b.update_arg(2, 5)
    b.update_kwarg("m", y)
    b.replace_input_with(d, x)
    yield text_of(lambda: (b.args, b.kwargs))
    yield text_of(lambda: graph.eliminate_dead_code())
    yield text_of(lambda: graph)
    yield text_of(lambda: copy.deepcopy(graph))
    yield text_of(lambda: pickle.loads(pickle.dumps(graph)))
    yield text_of(lambda: graph.python_code("self").src)
    yield text_of(lambda: graph.create_node("bad", "x"))
    yield text_of(lambda: graph.inserting_before(fx.Graph().placeholder("x")))
    for name in ("1a", "a b", "x", "x_01", "x_01", "class", "None", "device", "a.b.C", ""):
        yield graph.create_node("call_function", torch.relu, (), name=name).name


def modules():
    net = filled(Net())
    traced = fx.symbolic_trace(net)
    yield traced.code
    yield text_of(lambda: traced)
    yield text_of(lambda: traced.print_readable(print_output=False))
    yield numbers(traced(batch()))
    yield numbers(fx.Interpreter(traced).run(batch()))
    yield numbers(pickle.loads(pickle.dumps(traced))(batch()))
    yield sorted(copy.deepcopy(traced).state_dict())
    yield text_of(lambda: fx.Interpreter(traced).run())
    yield text_of(lambda: fx.Tracer(param_shapes_constant=True).trace(Block()))

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Block) or super().is_leaf_module(m, name)

    yield text_of(lambda: Leaves().trace(net))

    class Products(fx.Transformer):
        def call_function(self, target, args, kwargs):
            target = operator.mul if target is operator.add else target
            return super().call_function(target, args, kwargs)

    yield text_of(lambda: Products(traced).transform().code)
    yield text_of(lambda: fx.GraphModule({"stem": net.stem}, traced.graph))
    yield [traced.add_submodule("a.b", nn.ReLU()), traced.delete_submodule("a.c")]
    traced.delete_all_unused_submodules()
    yield [name for name, _ in traced.named_modules()]


def passes():
    def part(name):
        return importlib.import_module(f"{fx.__name__}.{name}")

    rewriter = part("subgraph_rewriter")
    for f, pattern, put in (
        (lambda x: torch.relu(torch.relu(torch.relu(torch.relu(x)))).neg(),
         lambda x: torch.relu(torch.relu(x)), lambda x: torch.sigmoid(x)),
        (lambda x, y: (x + y) * 3 + (y + x) * 4, lambda a, b: a + b, lambda a, b: b.add(a)),
        (lambda x: x * 2 + x * 3, lambda a: a * 2, lambda a: torch.add(a, a)),
        (lambda x: torch.relu(x).neg() + torch.relu(x), lambda a: torch.relu(a).neg(), abs_of),
    ):  # fmt: skip
        traced = fx.symbolic_trace(f)
        found = rewriter.replace_pattern_with_filters(traced, pattern, put)
        yield text_of(lambda: traced.code + str(len(found)) + str(found[0].replacements))  # noqa: B023
    yield text_of(lambda: rewriter.replace_pattern(traced, lambda x, y: x + 1, lambda x: x))
    net = filled(Net())
    traced = fx.symbolic_trace(net)
    part("passes.shape_prop").ShapeProp(traced).propagate(batch())
    yield text_of(lambda: [node.meta["tensor_meta"] for node in traced.graph.nodes
                           if "tensor_meta" in node.meta])  # fmt: skip
    fused = part("experimental.optimization").fuse(net)
    yield fused.code
    yield numbers(fused(batch()))
    yield part("experimental.optimization").remove_dropout(net).code
    split_module = part("passes.split_module").split_module
    order = {node: at // 4 for at, node in enumerate(traced.graph.nodes)}
    for options in ({}, {"partition_affix": "q", "tuple_return": True}):
        split = split_module(traced, net, order.get, **options)
        yield [split.code, *(c.code for c in split.children() if hasattr(c, "code"))]
        yield numbers(split(batch()))
    yield text_of(lambda: split_module(traced, net, lambda n: order[n] % 2))
    managers = part("passes.infra.pass_manager")
    first, second = managers.pass_result_wrapper(abs_of), managers.pass_result_wrapper(len_of)
    before = managers.this_before_that_pass_constraint(second, first)
    manager = managers.PassManager([first, second], [before])
    yield text_of(lambda: manager.validate_constraints())
    manager.solve_constraints()
    yield [each.__name__ for each in manager.passes]
    yield text_of(lambda: managers.PassManager([lambda m: m])(traced))


def arguments():
    schemas = importlib.import_module(f"{fx.__name__}.operator_schemas")
    net = Net()
    for by_name in (False, True):
        for target, given, named in (
            (torch.relu, (1,), {}), (F.relu, (1,), {"inplace": True}), (torch.cat, ([1, 2],), {}),
            (F.layer_norm, (1, 2), {"eps": 3}), (torch.flatten, (1,), {}), (len, (1,), {}),
            (torch.layer_norm, (1, (2,)), {}),
        ):  # fmt: skip
            yield text_of(
                lambda: schemas.normalize_function(target, given, named, None, None, by_name)  # noqa: B023
            )
        yield text_of(lambda: schemas.normalize_module(net, "stem", (1,), {}, by_name))  # noqa: B023
    yield text_of(lambda: schemas.normalize_module(net, "none", (1,)))
    nodes = fx.symbolic_trace(net).graph.nodes
    yield text_of(lambda: [node.normalized_arguments(net) for node in nodes][:3])


def abs_of(x):
    return x.abs()


def len_of(x):
    return None


def everything() -> dict:
    """name -> text or list, as JSON has it."""
    found = {
        f"traced {name}": text_of(lambda f=f: (t := fx.symbolic_trace(f)).code + str(t.graph))
        for name, f in FUNCTIONS.items()
    }
    for make in (concrete, edits, modules, passes, arguments):
        found |= {f"{make.__name__} {i}": value for i, value in enumerate(make())}
    return found
