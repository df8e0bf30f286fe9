"""NaN: the first op that made one, forward or backward, and its line."""

from __future__ import annotations

import ast
import math
from typing import ClassVar

from rushlight import _C

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "nan-made",
    "An op made NaN from values that had none",
    """
NaN spreads: every number computed from one is NaN, so the place where it shows is seldom the place
where it began. The usual origins are softmax of a row that is masked out completely (all -inf),
0/0, the standard deviation of one value, the logarithm or root of a negative number, and inf minus
inf. The line named here is the first whose operands were free of NaN. Mask with the dtype's
smallest finite number instead of -inf, add a small epsilon under roots and in denominators, or use
correction=0 where one value is possible.
""",
)
kind(
    "nan-gradient",
    "A backward step made NaN although the forward values were fine",
    """
torch.where computes both branches, and gradients flow into both: where the chosen branch hides the
NaN or inf of the other one, backward multiplies the hidden branch's infinite slope by a zero
gradient, and zero times infinity is NaN. The same happens with sqrt, norm and std at exactly zero.
Make the hidden operand harmless before the op (a second where inside it), or add an epsilon.
""",
)

kind(
    "nan-in-data",
    "The data that the model gets holds NaN or infinity",
    """
One NaN in a batch makes the loss NaN, and one step with it makes all weights NaN. Missing values in
files are read as NaN, and a division by a spread of 0 while normalizing makes some. Look for them
where the data comes in: torch.isfinite(x).all(), and fill or drop them there (nan_to_num,
dropping rows).
""",
)

RISKY = frozenset(
    "softmax log_softmax sqrt rsqrt log log2 log10 log1p div pow std var std_mean var_mean mean "
    "exp norm acos asin sub add mul matmul logsumexp cross_entropy_loss nll_loss rsub log_".split()
)
TOLERATING = frozenset("nan_to_num nan_to_num_ nansum nanmean nanmedian".split())
SAMPLES = 24
HOOKED = tuple("Sqrt Rsqrt Log Div Pow Norm Std Var Acos Asin Exp Atan".split())
WALKED = 3000


STEEP = ("Pow", "Sqrt", "Acos", "Asin", "Rsqrt")  # with a slope without bound in their range


def _is_finite(value) -> bool:
    return value is None or not value.is_floating_point() or bool(value.detach().isfinite().all())


@check
class Nan(Check):
    kinds = ("nan-made", "nan-gradient", "nan-in-data")
    needs: ClassVar = {
        "nan-gradient": ("backward", 1, "no backward ran"),
    }

    def start(self, doctor):
        self.first, self.tolerated, self.counts = {}, set(), {}
        self.gradient, self.backwards = None, 0
        self.data, self.passes = None, doctor.passes
        doctor.watch.on("op", self.op, RISKY | TOLERATING | {"where"})
        doctor.watch.on("backward", self.backward)

    def op(self, op):
        if op.name in TOLERATING:
            if op.source is not None:
                self.tolerated.add(op.source.root.site)
            return
        if op.name == "where" and not _has_nan(op.result):
            made = [op.calls.made(a) for a in op.args[1:]]
            self.tolerated.update(m.root.site for m in made if m is not None)
        if op.name not in RISKY:
            return
        count = op.site.count
        if count > SAMPLES and count % 16:
            return
        result = op.result[0] if isinstance(op.result, tuple) else op.result
        if not _has_nan(result):
            return
        operands = [a for a in op.args if hasattr(a, "grad_fn")]
        if any(_has_nan(a) for a in operands) or op.site in self.first:
            return
        rows = _all_minus_infinity(operands[0]) if "softmax" in op.name and operands else 0
        shape = tuple(operands[0].shape) if operands else ()
        self.first[op.site] = (op.name, op.site, op.source, rows, shape, _nans(result))

    def backward(self, tensor, arguments):
        self.backwards += 1
        if self.gradient or (self.backwards > 10 and self.backwards % 10):
            return
        if tensor.grad_fn is None:
            return
        if _has_nan(tensor):
            if self.data is None and not self.first:
                self.data = self.bad_input() or ()
            return
        seen, stack = set(), [tensor.grad_fn]
        while stack and len(seen) < WALKED:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.name().startswith(HOOKED):
                node.register_hook(self.looker(node.name(), _C._origin(node)))
            stack += [n for n, _ in node.next_functions if n is not None]

    def bad_input(self):
        """(what a model got, its bad values, the line it comes from), or None."""
        for number, a in enumerate(self.passes.arguments):
            if hasattr(a, "grad_fn") and a.is_floating_point() and a.device.type == "cpu":
                bad = int((~a.detach().isfinite()).sum())
                if bad and a.grad_fn is None:
                    writer = _C._last_writer(a) if a._version else None
                    return number, bad, a.numel(), writer or _C._origin(a)
        return None

    def looker(self, name, origin):
        def look(inputs, outputs):
            if self.gradient is None and not any(_has_nan(g) for g in outputs):
                bad = [g for g in inputs if _has_nan(g)]
                if bad:
                    self.gradient = (name, origin, _nans(bad[0]), bad[0].numel())
                elif name.startswith(STEEP) and all(_is_finite(g) for g in outputs):
                    steep = [g for g in inputs if g is not None and not _is_finite(g)]
                    if steep:
                        count = int((~steep[0].detach().isfinite()).sum())
                        self.gradient = (name, origin, count, steep[0].numel(), "infinite values")

        return _C._forgiven(look)

    def findings(self, doctor):
        out = [self.forward(*one) for one in self.first.values() if one[1] not in self.tolerated]
        if self.data and not out and self.data[3] is not None:
            number, bad, count, origin = self.data
            evidence = [
                (
                    f"{bad:,} of {count:,} values of the model's input {number} were not finite "
                    f"at backward call {self.backwards}, when the loss was NaN"
                )
            ]
            title = "the data that the model gets holds NaN"
            at = (origin[0], origin[2])
            out.append(found("nan-in-data", "wrong result", at, title, evidence))
        if self.gradient is not None:
            out.append(self.in_backward(*self.gradient))
        return out

    def forward(self, name, site, source, rows, shape, nans):
        fixes, at, related = [], site, []
        evidence = [f"{name} made {nans} NaN from {shape}, which held none"]
        if rows:
            evidence.append(f"{rows} of its rows are -inf throughout: 0 divided by 0")
        if rows and source is not None and source.root.name in ("masked_fill", "where", "add"):
            at = source.root.site
            related = [(site, "where the NaN is made")] if at.line != site.line else []
        fixes += self.finite_masks(at)
        if name in ("std", "var", "std_mean", "var_mean") and isinstance(site.node, ast.Call):
            evidence.append("the deviation of one value, divided by n - 1 = 0")
            fixes += self.uncorrected(site)
        if name == "div":
            fixes += self.softmax(site)
        if name in ("sqrt", "log", "div", "log2", "log10", "rsqrt"):
            fixes += self.clamped(site, name)
        if name in ("mul", "add", "sub", "rsub"):
            fixes += self.of_logarithms(site)
        if name in ("acos", "asin"):
            fixes += self.bounded(site)
        if name == "mean" and 0 in shape:
            evidence = [f"the mean of 0 values, {shape}: 0 divided by 0"]
            fixes += self.of_none(site)
        if name in ("cross_entropy_loss", "nll_loss"):
            evidence.append("all targets are ignored: a mean of 0 values")
            fixes += self.all_ignored(site)
        return found(
            "nan-made", "wrong result", at, f"{name} made NaN here first", evidence, related, fixes
        )

    def finite_masks(self, site):
        """-inf in the statement becomes the smallest finite number of the scores' dtype."""
        statement = site.statement
        if statement is None:
            return []
        source = site.source
        torch = changes.torch_name(source)
        for node in ast.walk(statement):
            text = ast.unparse(node) if isinstance(node, ast.expr) else ""
            if text in ("float('-inf')", "-float('inf')", "-torch.inf", "-math.inf", "-np.inf"):
                scores = "torch.float32"
                call = node.parent
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    scores = f"{source.segment(call.func.value)}.dtype"
                    if scores.startswith(f"{torch}."):
                        scores = f"{torch}.float32"
                value = f"{torch}.finfo({scores}).min"
                return [source.fix(node, value, f"{value} instead of -inf")]
        return []

    def uncorrected(self, site):
        source, node = site.source, site.node
        for name, value in (("unbiased", "False"), ("correction", "0")):
            given = changes.keyword(node, name)
            if given is not None:
                return [source.fix(given, value, f"{name}={value}")]
        text = source.segment(node)[:-1]
        text += ", correction=0)" if node.args or node.keywords else "correction=0)"
        return [source.fix(node, text, "correction=0: 0 for a single value")]

    def softmax(self, site):
        """``exp(x) / exp(x).sum(d)``: both are infinite; softmax takes the largest away first."""
        node, source = site.node, site.source
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            return []
        top = bottom = node.left
        if isinstance(top, ast.Name):
            made = source.last_assignment(top.id, node.lineno, source.function_of(node))
            top = getattr(made, "value", top)
        inner = _operand_of(source, top) if called(top) == "exp" else None
        total = node.right
        if isinstance(total, ast.Name):
            made = source.last_assignment(total.id, node.lineno, source.function_of(node))
            total = getattr(made, "value", total)
        if inner is None or called(total) != "sum":
            return []
        if ast.unparse(_operand_of(source, total)) not in (ast.unparse(bottom), ast.unparse(top)):
            return []
        numbers = [a for a in total.args if a is not _operand_of(source, total)]
        dim = changes.keyword(total, "dim") or (numbers[0] if numbers else None)
        if dim is None:
            return []
        torch = changes.torch_name(source)
        text = f"{torch}.softmax({source.segment(inner)}, dim={source.segment(dim)})"
        return [source.fix(node, text)]

    def clamped(self, site, name):
        number = 1 if name == "div" else 0
        node = places.operand(site, number)
        if node is None:
            return []
        text = changes.method(site.source, node, "clamp(min=1e-12)")
        return [site.source.fix(node, text)]

    def of_logarithms(self, site):
        """``p * log(p)``: 0 times -inf; the logarithms of the statement kept from 0."""
        changed = []
        for node in ast.walk(site.statement) if site.statement is not None else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("log"):
                inner = _operand_of(site.source, node)
                if inner is not None:
                    text = changes.method(site.source, inner, "clamp(min=1e-12)")
                    changed.append((inner, text))
        return [Fix(changed[0][1], [site.source.replace(*changed)])] if changed else []

    def bounded(self, site):
        """acos and asin of what rounding has put beyond 1."""
        inner = places.operand(site, 0)
        if inner is None:
            return []
        text = changes.method(site.source, inner, "clamp(-1 + 1e-7, 1 - 1e-7)")
        return [site.source.fix(inner, text)]

    def of_none(self, site):
        """The sum over at least one, in place of the mean of nothing."""
        node, inner = site.node, places.operand(site, 0)
        if not isinstance(node, ast.Call) or inner is None or not places.is_method(site):
            return []
        if node.args or node.keywords:
            return []
        text = changes.atom(site.source, inner)
        new = f"{text}.sum() / max({text}.numel(), 1)"
        return [site.source.fix(node, new, f"{new}: 0 for none")]

    def all_ignored(self, site):
        """The sum, divided by the number of targets that count, at least 1."""
        call = places.call_at(site)
        if call is None or len(call.args) < 2:
            return []
        source = site.source
        given = changes.keyword(call, "ignore_index")
        ignored = source.segment(given) if given is not None else "-100"
        text = changes.with_keyword(source, call, "reduction", '"sum"')
        target = changes.atom(source, call.args[1])
        new = f"{text} / ({target} != {ignored}).sum().clamp(min=1)"
        return [source.fix(call, new, "the sum over at least one target")]

    def in_backward(self, name, origin, nans, count, what="NaN"):
        file, _, line, *_ = origin
        spot = upstream.of_place(origin)
        source, node = (spot.source, spot.node) if spot is not None else (None, None)
        op = name.removesuffix("0").removesuffix("Backward").lower()
        evidence = [f"{name} made {nans} {what} of {count} from a gradient that held none"]
        fixes = []
        inner = _operand_of(source, node) if node is not None else None
        if name.startswith(("Acos", "Asin")) and inner is not None:
            text = changes.method(source, inner, "clamp(-1 + 1e-6, 1 - 1e-6)")
            fixes = [source.fix(inner, text)]
        elif node is not None:
            fixes = self.guarded(source, node)
        return found(
            "nan-gradient",
            "wrong result",
            (file, line),
            f"the gradient of {op} is {what.split()[0]}; forward nothing was",
            evidence,
            [],
            fixes,
        )

    def guarded(self, source, node):
        """A second where inside the op; or an epsilon under it."""
        inner = _operand_of(source, node)
        if inner is None:
            return []
        text = source.segment(inner)
        torch = changes.torch_name(source)
        fixes = []
        where = node
        while where is not None and not (
            isinstance(where, ast.Call) and ast.unparse(where.func).endswith("where") and where.args
        ):
            where = getattr(where, "parent", None)
        if where is not None and len(where.args) == 3:
            condition = source.segment(where.args[0])
            other = where.args[1] if _contains(where.args[1], node) else where.args[2]
            first = other is where.args[1]
            chosen = f"{text}, 1.0" if first else f"1.0, {text}"
            new = f"{torch}.where({condition}, {chosen})"
            fixes.append(source.fix(inner, new, f"{new} inside it"))
        new = changes.method(source, inner, "clamp(min=1e-12)")
        fixes.append(source.fix(inner, new, f"{new}: never exactly 0"))
        return fixes


def _operand_of(source, node):
    if isinstance(node, ast.BinOp):
        return node.right if isinstance(node.op, ast.Div) else node.left
    if not isinstance(node, ast.Call):
        return None
    func = node.func
    if isinstance(func, ast.Attribute):
        root = func.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id not in changes.imported(source):
            return func.value
    return node.args[0] if node.args else None


def _contains(outer, node) -> bool:
    return any(n is node for n in ast.walk(outer))


def _has_nan(value) -> bool:
    if not hasattr(value, "grad_fn") or not value.is_floating_point() or not value.numel():
        return False
    if value.device.type != "cpu":
        return False
    total = value.detach().sum(dtype=None).item()
    return not math.isfinite(total) and bool((value != value).any())


def _nans(value) -> int:
    return int((value != value).sum())


def _all_minus_infinity(value) -> int:
    if not value.is_floating_point():
        return 0
    return int((value == -math.inf).all(-1).sum())
