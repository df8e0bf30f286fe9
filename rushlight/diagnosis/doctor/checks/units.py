"""Units of a ReLU that never fire."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "relu-dead",
    "Nearly all units of a ReLU give 0 for all inputs",
    """
A ReLU whose input is negative for every sample gives 0 and lets no gradient through: its unit can
not come back. One too large step, or a large negative bias, kills units for good, and what is in
front of them stops learning. Lower the learning rate, look at the initialization and the scale of
the inputs, normalize, or use LeakyReLU or GELU, which let a little through.
""",
)


@check
class Dead(Check):
    kinds = ("relu-dead",)
    needs: ClassVar = {
        "*": ("op relu relu_", 5, "fewer than 5 calls of relu"),
    }

    def start(self, doctor):
        self.seen, self.written = {}, {}
        doctor.watch.on("op", self.op, ("relu", "relu_"))

    def op(self, op):
        if not op.result.requires_grad:
            return
        module = op.module
        key = (op.site, id(module)) if module is not None else (op.site, None)
        entry = self.seen.setdefault(key, [op.site, module, 0, []])
        entry[2] += 1
        if entry[2] > 4 and entry[2] % 16:
            return
        out = op.result.detach()
        if out.dim() < 2 or out.shape[0] < 4 or out.numel() > 1 << 22:
            return
        unit = -1 if out.dim() <= 3 else 1
        units = out.shape[unit]
        dead = out.movedim(unit, -1).reshape(-1, units).amax(0) == 0  # NaN is not 0
        entry[3].append((units, int(dead.sum())))
        if key not in self.written:
            self.written[key] = _written(out, op.result.grad_fn)

    def never_fired(self, site, units, dead, evidence, name, writer, values):
        """A bias far below 0, or weights of 0, that a line of the user's set."""
        spot, fixes = upstream.of_place(writer), []
        source, node = (spot.source, spot.node) if spot is not None else (None, None)
        evidence = [evidence[0], f"{name} was set to {values} there, and no input gets past it"]
        if isinstance(node, ast.Call):
            said = called(node)
            numbers = [n for n in node.args if isinstance(n, (ast.Constant, ast.UnaryOp))]
            if said in ("zeros_", "zero_") and node.args:
                func = source.segment(node.func)[: -len(said)] + "normal_"
                text = f"{func}({source.segment(node.args[0])}, std=0.1)"
                fixes.append(source.fix(node, text))
            elif numbers:
                fixes.append(source.fix(numbers[-1], "0.0", "0.0 there"))
        return found(
            "relu-dead", "wrong result", (writer[0], writer[2]),
            f"{dead} of {units} units of a ReLU never fire", evidence,
            [(site, "the ReLU")], fixes,
        )  # fmt: skip

    def findings(self, doctor):
        out = []
        for site, module, count, looks in self.seen.values():
            last = looks[-3:]
            if (
                len(looks) >= 4
                and count >= 5
                and all(units >= 4 and dead >= 0.9 * units for units, dead in last)
            ):
                out.append(self.finding(site, module, count, looks))
        return out

    def finding(self, site, module, count, looks):
        units, dead = looks[-1]
        first = looks[0][1]
        evidence = [
            (
                f"{dead} of {units} units gave 0 for every sample of the last {min(3, len(looks))} "
                f"batches looked at ({count} in all); in the first batch {first} did"
            )
        ]
        died = first < 0.5 * units
        evidence.append(
            "they died while training: the steps are too large"
            if died
            else "they never fired: look at the bias, the initialization and the inputs' scale"
        )
        at, fixes = site, []
        set_ = None if died else self.written.get((site, id(module) if module else None))
        if set_ is not None:
            return self.never_fired(site, units, dead, evidence, *set_)
        built = places.built(module) if module is not None else None
        if built is not None:
            source, call = built
            at = (source.file, call.lineno)
            name = source.segment(call.func)
            new = f"{name.removesuffix('ReLU')}LeakyReLU"
            if name.endswith("ReLU"):
                fixes.append(source.fix(call.func, new, f"{new} instead"))
        elif (call := places.call_at(site)) is not None:
            name = site.source.segment(call.func)
            if name.endswith("relu") and not places.is_method(site):
                prefix = changes.prefix_for(site.source, "nn.functional")
                edit = site.source.replace((call.func, f"{prefix}.leaky_relu"))
                fixes.append(Fix(f"{prefix}.leaky_relu instead", [edit]))
        title = f"{dead} of {units} units of a ReLU are dead"
        return found("relu-dead", "wrong result", at, title, evidence, [], fixes)


def _written(out, grad_fn):
    """(name, writer, values) of a layer's bias or weight that keeps a dead ReLU's inputs down."""
    if bool((out > 0).any()) or grad_fn is None:
        return None
    node, found_ = grad_fn, []
    for _ in range(2):
        following = [n for n, _ in node.next_functions if n is not None]
        for n in following:
            inner = [m for m, _ in n.next_functions if m is not None]
            found_ += [v for m in (n, *inner) if (v := getattr(m, "variable", None)) is not None]
        if found_ or not following:
            break
        node = following[0]
    for p in found_:
        writer = _C._last_writer(p)
        values = p.detach()
        low, high = float(values.min()), float(values.max())
        name = "the bias" if p.dim() == 1 else "the weight"
        if writer is None or not (
            (low == high == 0 and p.dim() > 1) or (p.dim() == 1 and high < -1)
        ):
            continue
        return name, writer, f"{low:g}" if low == high else f"{low:.3g} ... {high:.3g}"
    return None
