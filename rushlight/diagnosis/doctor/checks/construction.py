"""Layers and parameters made in the wrong place: in forward, at each call, or as plain tensors."""

from __future__ import annotations

import ast
import weakref

from rushlight import _C, nn

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..places import found
from .hidden import _attribute

kind(
    "layer-made-in-forward",
    "A layer is made anew at each call of forward",
    """
A layer that forward makes has new random weights at each call: it is no part of the module, no
optimizer holds it, and it never learns. A dropout made there is always in training mode, because
eval() reaches only what the module holds. Make layers in __init__ and call them in forward; for
dropout there is F.dropout(x, p, training=self.training).
""",
)
kind(
    "tensor-not-a-parameter",
    "A tensor that gets gradients is a plain attribute, no parameter",
    """
A tensor with requires_grad=True as a plain attribute of a module gets gradients, but parameters()
does not give it: the optimizer never changes it, the state_dict lacks it, and .to() leaves it
behind. Wrap it: self.gain = nn.Parameter(torch.ones(n)).
""",
)


@check
class MadeInForward(Check):
    kinds = ("layer-made-in-forward",)

    def start(self, doctor):
        self.known, self.seen = {}, {}
        doctor.watch.on("forward", self.forward)

    def forward(self, module, args, output):
        if type(module).__module__.partition(".")[0] != "rushlight":
            return
        held = self.known.get(id(module))
        if held is not None and held() is module:
            return
        self.known[id(module)] = weakref.ref(module)
        if len(self.known) > 5000:
            self.known = {k: r for k, r in self.known.items() if r() is not None}
        built = next(iter(_C._built(module)), None)
        if built is None or built[1] != "forward":
            return
        learns = next(module.parameters(), None) is not None
        drops = type(module).__name__.startswith(("Dropout", "AlphaDropout")) and module.p > 0
        if not learns and not drops:
            return
        frame = next(iter(places.user_frames(3)), None)
        owner = _C._locals(frame).get("self") if frame is not None else None
        entry = self.seen.setdefault(
            (built[0], built[2], type(module).__name__), [built, 0, learns, False, module, owner]
        )
        entry[1] += 1
        entry[3] = entry[3] or not getattr(owner, "training", True)

    def findings(self, doctor):
        return [
            self.finding(*one) for one in self.seen.values() if one[1] >= 2 and (one[2] or one[3])
        ]

    def finding(self, built, count, learns, evaluated, module, owner):
        spot = upstream.of_place(built)
        source, node = (spot.source, spot.node) if spot is not None else (None, None)
        name, values = type(module).__name__, sum(p.numel() for p in module.parameters())
        evidence = [f"{count} of them were made in {count} calls of forward"]
        evidence[0] += f", each with {values:,} new random values" if learns else ""
        if not learns:
            evidence.append(f"each was in training mode, also while {type(owner).__name__} was not")
        fixes = []
        if isinstance(node, ast.Call):
            fixes = self.moved(source, node, owner) if learns else []
            fixes += self.functional(source, node) if name == "Dropout" else []
        return found(
            "layer-made-in-forward",
            "wrong result" if learns else "wrong number",
            (built[0], built[2]),
            f"{name} is made anew at each call of forward",
            evidence,
            [],
            fixes or self.moved(source, node, owner),
        )

    def functional(self, source, node):
        """``nn.Dropout(p)(x)`` as F.dropout, which is told the mode."""
        outer = node.parent
        if not isinstance(outer, ast.Call) or outer.func is not node or not outer.args:
            return []
        rate = node.args[0] if node.args else next((k.value for k in node.keywords), None)
        rate = source.segment(rate) if rate is not None else "0.5"
        func = changes.prefix_for(source, "nn.functional")
        if func.endswith(".nn.functional"):
            func = f"{changes.prefix_for(source, 'nn')}.functional"
        text = f"{func}.dropout({source.segment(outer.args[0])}, {rate}, training=self.training)"
        return [source.fix(outer, text)]

    def moved(self, source, node, owner):
        """The layer made in __init__ under a name of its own."""
        owner_class = source.class_of(node) if node is not None else None
        if owner_class is None or not isinstance(node, ast.Call):
            return []
        local = {n.id for a in node.args for n in ast.walk(a) if isinstance(n, ast.Name)}
        init = next(
            (
                f
                for f in owner_class.body
                if isinstance(f, ast.FunctionDef) and f.name == "__init__"
            ),
            None,
        )
        function = source.function_of(node)
        names = {a.arg for a in function.args.args} if function is not None else set()
        if init is None or local & (names - {"self"}):
            return []
        name = f"made_{ast.unparse(node.func).rpartition('.')[2].lower()}"
        last = init.body[-1]
        first = source.insert_after(last, f"self.{name} = {source.segment(node)}")
        return [
            Fix(
                f"self.{name} = {source.segment(node)} in __init__",
                [first, source.replace((node, f"self.{name}"))],
            )
        ]


@check
class PlainTensor(Check):
    kinds = ("tensor-not-a-parameter",)

    def start(self, doctor):
        self.models, self.plain, self.held, self.steps = {}, {}, set(), 0
        self.results = {}
        doctor.watch.on("call", self.call)
        doctor.watch.on("step", self.step)
        doctor.watch.on("optimizer", self.optimizer)

    def call(self, module, output, frame):
        if id(module) in self.models:
            return
        self.models[id(module)] = module
        for inner in module.modules():
            for name, value in vars(inner).items():
                is_plain = isinstance(value, _C.TensorBase) and not isinstance(value, nn.Parameter)
                if is_plain and value.requires_grad and value.is_leaf:
                    self.plain[id(inner), name] = (inner, name, value, value._version)
                elif is_plain and value.requires_grad:
                    self.results[type(inner), name] = (inner, value.grad_fn)

    def optimizer(self, optimizer):
        self.held |= {id(p) for p in parameters_of(optimizer)}

    def step(self, optimizer):
        self.steps += 1

    def findings(self, doctor):
        out = []
        for module, name, value, version in self.plain.values():
            if id(value) in self.held or value.grad is None or value._version != version:
                continue
            if self.steps >= 2 and vars(module).get(name) is value:
                out.append(self.finding(module, name, value))
        out += [self.converted(*key, *one) for key, one in self.results.items()]
        return out

    def converted(self, owner, name, module, node):
        """``self.w = nn.Parameter(...).double()``: a result of a parameter that nobody holds."""
        statement, source = _attribute(module, name)
        value = statement.value if statement is not None else None
        inner = value
        while isinstance(inner, ast.Call) and called(inner) != "Parameter":
            inner = getattr(inner.func, "value", None)
        if not isinstance(inner, ast.Call) or inner is value or not inner.args:
            return None
        made = source.segment(inner)
        rest = source.segment(value)[len(made) :]
        first = changes.atom(source, inner.args[0])
        new = f"{source.segment(inner.func)}({first}{rest})"
        held = sum(1 for _ in module.parameters())
        return found(
            "tensor-not-a-parameter", "wrong result", (source.file, statement.lineno),
            f"{owner.__name__}.{name} is computed from a parameter, and is none itself",
            [f"{owner.__name__} has {held} parameters, and {name} is not among them"], [],
            [source.fix(value, new)],
        )  # fmt: skip

    def finding(self, module, name, value):
        statement, source = _attribute(module, name)
        if statement is None:
            return None
        node = statement.value
        text = source.segment(node)
        if changes.keyword(node, "requires_grad") is not None:
            text = changes.without_keyword(source, node, "requires_grad")
        elif called(node) == "requires_grad_" and isinstance(node.func, ast.Attribute):
            text = source.segment(node.func.value)
        new = f"{changes.prefix_for(source, 'nn')}.Parameter({text})"
        evidence = [
            (
                f"its {value.numel():,} values got gradients (norm "
                f"{float(value.grad.detach().norm()):.3g}) and 0 of {self.steps} steps changed them"
            )
        ]
        return found(
            "tensor-not-a-parameter",
            "wrong result",
            (source.file, statement.lineno),
            f"{type(module).__name__}.{name} is a plain tensor, no parameter",
            evidence,
            [],
            [source.fix(node, new)],
        )
