"""Sizes of gradients and updates against the weights: too large, too small, or lost."""

from __future__ import annotations

import ast
import math
import statistics
from time import perf_counter
from typing import ClassVar

from rushlight import nn

from ... import changes, construction, frames
from ...finding import Fix
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..places import found

kind(
    "updates-lost",
    "Steps leave the weights as they are",
    """
A float32 number has about seven digits: adding something a hundred million times smaller gives the
same number (float16 and bfloat16 lose updates a thousand times as large). With a very small
learning rate, or weights kept in half precision, the optimizer steps and nothing moves. Use a
larger rate, keep the weights in float32 (autocast computes in half precision without that), or
look for a schedule that has run down.
""",
)
kind(
    "learning-rate-too-large",
    "Each step changes the weights by about as much as they are large, and the loss grows",
    """
A step should change weights by a thousandth of their size or so. Where one changes them by a tenth
or more, it jumps over the minimum, the next gradient is larger, and the loss grows until it is
infinite or NaN. Lower the learning rate by a factor of ten until the loss falls; a warm-up helps
where only the first steps are too large.
""",
)
kind(
    "learning-rate-too-small",
    "Steps change the weights by less than a hundred-thousandth, and the loss stays",
    """
A step should change weights by a thousandth of their size or so. Where it is a hundred-thousandth
or less and the loss stays where it is, training is not stuck, it is slow: it would need hundreds
of times as many steps. Raise the learning rate by factors of ten until the loss falls or begins to
jump, and take a tenth of that.
""",
)
kind(
    "gradients-explode",
    "Gradients are thousands of times larger than the weights from the start",
    """
Through many layers or time steps gradients are multiplied by the same kind of factor again and
again; a factor above one gives huge gradients, and one step throws the weights far away. Clip them
(torch.nn.utils.clip_grad_norm_ between backward and step), scale the data, and check the
initialization: normalization layers and residual connections keep the factor near one.
""",
)
kind(
    "gradients-vanish",
    "The first layers get gradients millions of times smaller than the last",
    """
Each sigmoid multiplies the gradient by at most a quarter, each saturated tanh by almost nothing.
Through many layers nothing is left for the first ones: they keep their random values, while the
loss falls a little because the last layers learn. Use ReLU or GELU between layers, normalization,
residual connections, or an initialization that fits the activation.
""",
)

FIRST = 4  # steps that are all looked at; afterwards each 8th, or fewer where looking takes long
MOST_VALUES = 1 << 20
SATURATING = ("sigmoid", "tanh", "hardsigmoid", "hardtanh", "softsign")


class Look:
    """One step: sizes by parameter, (gradient, weight, update), and the loss before it."""

    def __init__(self, number: int, loss: float | None):
        self.number, self.loss = number, loss
        self.sizes: dict[int, tuple[float, float, float]] = {}
        self.still = True  # no weight changed in any digit
        self.kept: list[float] = []  # of weights in half precision: the part that stayed

    @property
    def gradient(self) -> float:
        return math.sqrt(sum(g * g for g, _, _ in self.sizes.values()))

    @property
    def weight(self) -> float:
        return math.sqrt(sum(w * w for _, w, _ in self.sizes.values()))

    @property
    def ratio(self) -> float:
        """The size of the update against that of the weights."""
        update = math.sqrt(sum(u * u for _, _, u in self.sizes.values()))
        return update / self.weight if self.weight else 0.0


class Watched:
    """One optimizer: where it was made and steps, and what was looked at."""

    def __init__(self, optimizer, site):
        self.optimizer, self.site, self.step_site = optimizer, site, None
        self.steps, self.next, self.every, self.spent = 0, 1, 8, 0.0
        self.looks: list[Look] = []
        self.losses: list[float] = []


@check
class Magnitudes(Check):
    kinds = (
        "updates-lost",
        "learning-rate-too-large",
        "learning-rate-too-small",
        "gradients-explode",
        "gradients-vanish",
    )
    needs: ClassVar = {
        "*": ("stepped", 3, "fewer than 3 optimizer steps"),
        "learning-rate-too-small": ("stepped", 30, "fewer than 30 optimizer steps"),
    }

    def start(self, doctor):
        self.watched, self.before, self.loss = {}, None, None
        self.began = perf_counter()
        self.passes, self.flat = doctor.passes, {}
        watch = doctor.watch
        watch.on("optimizer", self.optimizer)
        watch.on("backward", self.backward)
        watch.on("step", self.step)
        watch.on("stepped", self.stepped)
        watch.on("op", self.op, SATURATING)

    def op(self, op):
        """Where saturating activations run, in the user's own forward."""
        if op.name in SATURATING and op.site not in self.flat:
            self.flat[op.site] = op.module

    def optimizer(self, optimizer):
        self.watched[id(optimizer)] = Watched(optimizer, places.here())

    def backward(self, tensor, arguments):
        self.loss = tensor.detach().item() if tensor.numel() == 1 else None

    def step(self, optimizer):
        w = self.watched.get(id(optimizer))
        self.before = None
        if w is None:
            return
        w.steps += 1
        if self.loss is not None and (len(w.losses) < 10 or w.steps % 4 == 0):
            w.losses.append(self.loss)
        if w.steps < w.next:
            return
        began = perf_counter()
        w.step_site = w.step_site or places.here()
        self.before, count = [], 0
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None or p.device.type != "cpu" or p.grad.is_sparse:
                    continue
                count += p.numel()
                if count <= MOST_VALUES or not self.before:
                    self.before.append((p, p.detach().clone()))
        w.spent += perf_counter() - began

    def stepped(self, optimizer):
        w = self.watched.get(id(optimizer))
        pairs, self.before = self.before, None
        if w is None or not pairs:
            return
        began = perf_counter()
        look = Look(w.steps, self.loss)
        for p, old in pairs:
            new = p.detach()
            if p.grad is None or new.shape != old.shape:
                continue
            sizes = (p.grad.detach(), old, new - old)
            look.sizes[id(p)] = tuple(float(t.norm()) for t in sizes)
            look.still = look.still and look.sizes[id(p)][2] == 0
            if p.itemsize == 2:
                look.kept.append(float((new == old).float().mean()))
        w.looks.append(look)
        now = perf_counter()
        w.spent += now - began
        if w.spent > 0.02 * (now - self.began):
            w.every = min(2 * w.every, 4096)
        w.next = w.steps + (1 if w.steps < FIRST else w.every)

    # ---- What it means

    def findings(self, doctor):
        out = []
        for w in self.watched.values():
            if w.site is not None and len(w.looks) >= 3:
                finding = (
                    self.lost(w) or self.exploding(w) or self.large(w) or self.small(w)
                    or self.vanishing(w)
                )  # fmt: skip
                out += [finding] if finding else []
        return out

    def lost(self, w: Watched):
        rate = _rate(w.optimizer)
        looks = [k for k in w.looks if k.gradient > 0 and math.isfinite(k.gradient)]
        kept = [statistics.median(k.kept) for k in looks if k.kept]
        if len(kept) >= 3 and statistics.median(kept) > 0.5 and rate:
            return self.rounded(w, kept, rate)
        if len(looks) < 3 or not all(k.still for k in looks):
            return None
        if rate == 0:
            return self.without_rate(w, looks)
        kinds = {str(p.dtype).removeprefix("torch.") for p in parameters_of(w.optimizer)}
        evidence = [
            (
                f"in {len(looks)} of {len(looks)} steps looked at no weight changed at all, with "
                f"gradients up to {max(k.gradient for k in looks):.3g} and rate {rate:.3g} "
                f"({', '.join(sorted(kinds))} weights)"
            )
        ]
        title = f"the steps of {type(w.optimizer).__name__} change nothing"
        fixes = _other_rates(w.site, rate, (1e3, 1e6))
        return found("updates-lost", "wrong result", w.site, title, evidence, [], fixes)

    def without_rate(self, w: Watched, looks):
        """A learning rate of 0 that no schedule raises."""
        if any("initial_lr" in g for g in w.optimizer.param_groups):
            return None
        node, fixes = _written_rate(w.site), []
        if node is not None:
            fixes = [w.site.source.fix(node, "0.001", "lr=0.001")]
        evidence = [f"in {len(looks)} of {len(looks)} steps looked at no weight changed, rate 0"]
        return found(
            "updates-lost", "wrong result", _at(w.site), "the learning rate is 0", evidence, [],
            fixes,
        )  # fmt: skip

    def rounded(self, w: Watched, kept, rate):
        """Weights in half precision: most updates are smaller than the distance between two."""
        evidence = [
            (
                f"{statistics.median(kept):.0%} of the 16-bit weights stayed as they were in a "
                f"step (median of {len(kept)}), rate {rate:.3g}: an update below 1/256 of a "
                "bfloat16 weight is rounded away"
            )
        ]
        at, fixes, source = w.site, [], w.site.source
        for node in ast.walk(source.tree) if source is not None else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            text = ast.unparse(node)
            if node.func.attr in ("bfloat16", "half") or (
                node.func.attr == "to" and text.endswith((".bfloat16)", ".float16)", ".half)"))
            ):
                at = (source.file, node.lineno)
                edit = source.replace((node, source.segment(node.func.value)))
                fixes = [Fix("weights in float32; autocast computes in half precision", [edit])]
                break
        return found(
            "updates-lost", "wrong result", at,
            "16-bit weights lose most of their updates to rounding", evidence,
            [(w.site, "the optimizer")], fixes,
        )  # fmt: skip

    def grew(self, w: Watched) -> str | None:
        """How the loss went where it got worse, None otherwise."""
        losses = w.losses
        if len(losses) < 5:
            return None
        finite = [v for v in losses if math.isfinite(v)]
        first, last = statistics.median(losses[:3]), losses[-3:]
        if not math.isfinite(first) or not finite:
            return None
        if not all(map(math.isfinite, last)):
            return f"the loss went from {first:.4g} over {max(finite):.4g} to no finite number"
        much = 3 if len(losses) >= 10 else 30  # a few noisy losses show no trend
        if statistics.median(last) > much * abs(first) + 1e-6:
            return f"the loss went from {first:.4g} to {statistics.median(last):.4g}"
        return None

    def exploding(self, w: Watched):
        grew = self.grew(w)
        first = w.looks[0]
        if not math.isfinite(first.gradient) or first.gradient < 1e3 * first.weight:
            return None
        if grew is None and first.ratio < 0.5:
            return None
        grew = grew or f"the first step changed the weights by {first.ratio:.3g} times their size"
        named = self.passes.parameter_names()
        worst = max(first.sizes, key=lambda i: first.sizes[i][0])
        evidence = [
            (
                f"at the first step the gradients have norm {first.gradient:.3g}, the weights "
                f"{first.weight:.3g}; largest: {named.get(worst, 'a parameter')}, "
                f"{first.sizes[worst][0]:.3g}"
            ),
            grew,
        ]
        site, fixes = w.step_site, []
        call = places.call_at(site) if site is not None else None
        if call is not None and isinstance(call.func, ast.Attribute) and site.statement is not None:
            torch = changes.torch_name(site.source)
            held = site.source.segment(call.func.value)
            parameters = f'[p for g in {held}.param_groups for p in g["params"]]'
            line = f"{torch}.nn.utils.clip_grad_norm_({parameters}, 1.0)"
            edit = site.source.insert_before(site.statement, line)
            fixes.append(Fix("clip the gradients to norm 1 before the step", [edit]))
        title = "gradients are thousands of times larger than the weights"
        return found(
            "gradients-explode", "wrong result", site or w.site, title, evidence,
            [(w.site, "the optimizer")], fixes,
        )  # fmt: skip

    def large(self, w: Watched):
        grew, rate = self.grew(w), _rate(w.optimizer)
        ratios = [k.ratio for k in w.looks if math.isfinite(k.ratio)]
        if grew is None or len(ratios) < 3 or statistics.median(ratios) < 0.05 or not rate:
            return None
        evidence = [
            (
                f"each step changes the weights by {statistics.median(ratios):.0%} of their size "
                f"(median of {len(ratios)} steps looked at, rate {rate:.3g})"
            ),
            grew,
        ]
        fixes = _other_rates(w.site, rate, (0.1, 0.01, 0.001))
        title = f"the learning rate {rate:.3g} is too large"
        at = _at(w.site)
        related = [(w.site, "the optimizer")] if places.place(at) != places.place(w.site) else []
        return found("learning-rate-too-large", "wrong result", at, title, evidence, related, fixes)

    def small(self, w: Watched):
        rate, losses = _rate(w.optimizer), w.losses
        ratios = [k.ratio for k in w.looks if k.gradient]  # 0 stays 0 at any rate
        if not ratios or w.steps < 30 or len(losses) < 10 or not rate:
            return None
        if not all(map(math.isfinite, [*ratios, *losses])) or max(ratios) >= 1e-5:
            return None
        first, last = statistics.median(losses[:5]), statistics.median(losses[-5:])
        spread = max(losses[:5]) - min(losses[:5])
        if abs(first - last) > max(0.01 * abs(first), spread) or abs(first) < 1e-6:
            return None
        evidence = [
            (
                f"each step changes the weights by at most {max(ratios):.1e} of their size "
                f"({len(ratios)} steps looked at, rate {rate:.3g}); the loss went from "
                f"{first:.5g} to {last:.5g} in {w.steps} steps"
            )
        ]
        fixes = _other_rates(w.site, rate, (1e3, 1e2, 1e4))
        title = f"the learning rate {rate:.3g} is too small"
        at = _at(w.site)
        related = [(w.site, "the optimizer")] if places.place(at) != places.place(w.site) else []
        return found("learning-rate-too-small", "wrong result", at, title, evidence, related, fixes)

    def vanishing(self, w: Watched):
        names = self.passes.parameter_names()
        last = w.looks[-1].sizes
        layers = [p for p in parameters_of(w.optimizer) if p.dim() >= 2 and id(p) in last]
        if len(layers) < 4:
            return None

        def rms(look, p):
            return look.sizes.get(id(p), (0, 0, 0))[0] / math.sqrt(p.numel())

        least = min(layers, key=lambda p: statistics.median(rms(k, p) for k in w.looks))
        for look in w.looks:
            top = max(rms(look, p) for p in layers)
            _g, weight, update = look.sizes.get(id(least), (0, 0, 0))
            if not top or rms(look, least) > 1e-6 * top or update > 1e-6 * weight or not weight:
                return None
            if not math.isfinite(top):
                return None
        look = w.looks[-1]
        shown = sorted(layers, key=lambda p: rms(look, p))
        shown = [shown[0], shown[len(shown) // 2], shown[-1]]
        evidence = [
            "gradients per value: "
            + ", ".join(f"{names.get(id(p), 'a layer')} {rms(look, p):.1e}" for p in shown),
            f"in {len(w.looks)} of {len(w.looks)} steps looked at",
        ]
        at, fixes = self.activation(least)
        title = f"hardly any gradient reaches {names.get(id(least), 'the first layers')}"
        return found(
            "gradients-vanish", "wrong result", at or w.site, title, evidence,
            [(w.site, "the optimizer")], fixes,
        )  # fmt: skip

    def activation(self, parameter):
        """Where the saturating activation of the model is chosen, and the same with ReLU."""
        for model in self.passes.models.values():
            if not any(p is parameter for p in model.parameters()):
                continue
            for module in model.modules():
                if isinstance(module, (nn.Sigmoid, nn.Tanh)):
                    built = places.built(module)
                    if built is not None:
                        source, call = built
                        name = source.segment(call.func)
                        new = name[: len(name) - len(type(module).__name__)] + "ReLU"
                        edit = source.replace((call.func, new))
                        return (source.file, call.lineno), [Fix(f"{new} instead", [edit])]
        for site, module in self.flat.items():
            node = places.call_at(site)
            if module is None and isinstance(node, ast.Call):
                name = site.source.segment(node.func)
                torch = changes.torch_name(site.source)
                edit = site.source.replace((node.func, f"{torch}.relu"))
                fixes = [Fix(f"{torch}.relu instead", [edit])]
                return site, fixes + self.residual(site, node, torch)
        return None, []

    def residual(self, site, node, torch: str) -> list[Fix]:
        """``x = act(f(x))`` as ``x = x + relu(f(x))``: a path past each layer."""
        statement = site.statement
        if not isinstance(statement, ast.Assign) or statement.value is not node:
            return []
        name = site.source.segment(statement.targets[0])
        if not node.args or not any(ast.unparse(n) == name for n in ast.walk(node.args[0])):
            return []
        text = f"{name} + {torch}.relu({site.source.segment(node.args[0])})"
        return [site.source.fix(node, text, f"{text}: a path past the layer")]


def _rate(optimizer) -> float:
    return max(float(g.get("lr", 0)) for g in optimizer.param_groups)


def _written_rate(site):
    """The number that an optimizer's learning rate comes from, or None."""
    call = places.call_at(site)
    if call is None:
        return None
    node = construction.argument(call, 1, "lr")
    if isinstance(node, (ast.Name, ast.Attribute)):
        node = _assigned(site.source, node, call) or node
    return node if isinstance(node, ast.Constant) else None


def _at(site):
    """Where a rate is to be changed: where its number stands, else where the optimizer is made."""
    node = _written_rate(site)
    return (site.file, node.lineno) if node is not None else site


def _other_rates(site, rate: float, factors) -> list[Fix]:
    """The learning rate of an optimizer times some factors, where it stands as a number."""
    node, source = _written_rate(site), site.source
    if node is None:
        return []
    return [source.fix(node, f"{rate * f:.3g}", f"lr={rate * f:.3g}") for f in factors]


def _assigned(source, node, call):
    """The number that a name or ``args.lr`` was given in the same file, or None."""
    name = frames.last_name(node)
    for scope in (source.function_of(call), None):
        statement = source.last_assignment(name, call.lineno, scope)
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Constant):
            return value
    for other in ast.walk(source.tree):  # a default of argparse's
        flag = other.args[0] if isinstance(other, ast.Call) and other.args else None
        flag = getattr(flag, "value", None)
        if isinstance(flag, str) and flag.lstrip("-").replace("-", "_") == name:
            given = changes.keyword(other, "default")
            if isinstance(given, ast.Constant):
                return given
    for other in ast.walk(source.tree):  # lr=... of a call, or a field of a class
        is_keyword = isinstance(other, ast.keyword) and other.arg == name
        targets = getattr(other, "targets", None) or [getattr(other, "target", None)]
        is_field = isinstance(other, (ast.AnnAssign, ast.Assign))
        is_field = is_field and name in (getattr(t, "id", "") for t in targets)
        if (is_keyword or is_field) and isinstance(other.value, ast.Constant):
            return other.value
    return None
