"""Parameters that do not train: the optimizer misses them, or their path to the loss is cut."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from rushlight import _C

from ...blocks import block_of
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...values import address_of, describe_module, parameters_of
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "optimizer-misses-parameters",
    "The optimizer does not hold parameters of the model that gets gradients",
    """
An optimizer keeps the parameter objects that it was given. Layers that are replaced, added or made
anew afterwards are not among them: they get gradients and never change, and zero_grad() of the
optimizer does not reach them. Build the optimizer after the model is complete, or give it the new
parameters with add_param_group.
""",
)
kind(
    "parameters-without-gradient",
    "Parameters that the optimizer holds got no gradient in any step",
    """
The path from these parameters to the loss is cut, so they keep their first values while the rest
trains. Typical cuts are a method decorated with torch.no_grad(), a with-block of it that is too
large, and .detach() or .data between two modules. Remove the cut; where it is meant, freeze the
parameters (requires_grad_(False)) and leave them out of the optimizer.
""",
)


MOST_OPS = 4000
COPYING = ("tensor", "as_tensor")
CUTTING = ("detach", "data", "item", "tolist", *COPYING)


@check
class Held(Check):
    """What optimizers hold against what gets gradients."""

    kinds = ("optimizer-misses-parameters", "parameters-without-gradient")
    needs: ClassVar = {
        "*": ("step", 2, "fewer than 2 optimizer steps"),
    }

    def start(self, doctor):
        self.optimizers, self.models, self.replaced = [], {}, {}
        self.passes = doctor.passes
        self.never, self.called, self.cuts, self.outputs = {}, {}, {}, {}
        self.steps, self.seen_ops, self.most = {}, 0, 2000
        self.step_sites, self.backwards, self.reached = {}, 0, set()
        watch = doctor.watch
        watch.on("optimizer", self.optimizer)
        watch.on("forward", self.forward)
        watch.on("step", self.step, always=True)
        watch.on("backward_end", self.backward_end)
        watch.on("op", self.op)
        self.watch = watch

    def backward_end(self, tensor, arguments, error):
        """What got gradients that no step saw is none of those that the loss did not reach."""
        self.backwards += tensor.requires_grad
        for optimizer, *_ in self.optimizers:
            never = self.never[id(optimizer)]
            if id(optimizer) not in self.reached and any(
                p.grad is not None and id(p) in never for p in parameters_of(optimizer)
            ):
                self.reached.add(id(optimizer))

    def optimizer(self, optimizer):
        site = places.here()
        held = parameters_of(optimizer)
        models = {}
        for frame in places.user_frames(3)[:3]:
            for room in (_C._locals(frame), frame.f_globals):
                for _, one in places.modules_in(room):
                    if id(one) not in models:
                        params = {id(p) for p in one.parameters()}
                        if params:
                            models[id(one)] = (one, params)
        ids = {id(p) for p in held}
        whole = [(m, params) for m, params in models.values() if params <= ids]
        self.optimizers.append((optimizer, site, held, whole))
        self.never[id(optimizer)] = {id(p) for p in held if p.requires_grad}

    def forward(self, module, args, output):
        """Which modules ran, and whether gradients were on."""
        import rushlight as torch

        entry = self.called.get(id(module))
        if entry is None:
            holds = next(module.parameters(recurse=False), None) is not None
            entry = self.called[id(module)] = [module, 0, 0, None] if holds else ()
        if not entry:
            return
        if torch.is_grad_enabled():
            entry[1] += 1
        else:
            entry[2] += 1
            if entry[3] is None:
                entry[3] = [site_of(f) for f in places.user_frames(3)]

    def op(self, op):
        """Cuts: detach, or values without history that lie in a storage that has one."""
        if op.name in CUTTING and op.args:
            given = op.args[0]
            if op.name in COPYING:  # of a list of results
                given = given[0] if isinstance(given, (list, tuple)) and given else None
            if isinstance(given, _C.TensorBase) and given.requires_grad:
                if op.site not in self.cuts:
                    what = ".data" if op.name == "data" else op.name
                    self.cuts[op.site] = (what, op.site, _leaves_of(given))
                return
        self.seen_ops += 1
        if self.seen_ops == MOST_OPS:  # several steps were seen: the cuts of each are the same
            self.watch.off("op", self.op)
            self.watch.on("op", self.op, CUTTING)
        if len(self.outputs) > self.most:
            self.outputs = {k: v for k, v in self.outputs.items() if v[0]() is not None}
            self.most = max(2000, 2 * len(self.outputs))
        for a in op.args:
            if not isinstance(a, _C.TensorBase) or not a.is_floating_point() or a.requires_grad:
                continue
            if a.device.type == "cpu" and a.numel() and op.site not in self.cuts:
                self.without_history(op, a)
        result = op.result
        for r in result if isinstance(result, tuple) else (result,):
            if isinstance(r, _C.TensorBase) and _has_graph(r) and r.device.type == "cpu":
                leaves = _leaves_of(r) if self.seen_ops < 300 else None
                self.outputs[address_of(r)] = (weakref.ref(r), leaves)

    def without_history(self, op, a):
        """A tensor that no op made and that lies where one with a history did: ``.data``."""
        known = self.outputs.get(address_of(a))
        if known is None:
            return
        other, made = known[0](), op.calls.made(a)
        if (
            other is not None
            and other is not a
            and (made is None or made.name not in ("detach", "data"))
        ):
            self.cuts[op.site] = (".data", op.site, _leaves_of(other))
        elif other is None and made is None and known[1]:
            self.cuts[op.site] = (".data", op.site, known[1])

    def step(self, optimizer):
        count = self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1
        if count == 1:
            self.step_sites[id(optimizer)] = places.here()
        never = self.never.get(id(optimizer))
        if never:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        never.discard(id(p))
        if count > 10 and count % 10:
            return
        held = {id(p) for o, *_ in self.optimizers for p in parameters_of(o)}
        for made_with, site, _, whole in self.optimizers:
            if made_with is not optimizer:
                continue
            for model, before in whole:
                late = [
                    (n, p)
                    for n, p in model.named_parameters()
                    if id(p) not in held
                    and p.grad is not None
                    and p.requires_grad
                    and id(p) not in before
                ]
                if late:
                    entry = self.replaced.setdefault(id(model), [model, site, late, 0])
                    entry[3] = count

    def findings(self, doctor):
        out = [self.missed(*one) for one in self.replaced.values()]
        return out + self.cut()

    def missed(self, model, site, late, steps):
        names = [n for n, _ in late]
        count = sum(p.numel() for _, p in late)
        total = sum(p.numel() for p in model.parameters())
        norm = sum(float(p.grad.detach().float().square().sum()) for _, p in late) ** 0.5
        owner = model.get_submodule(names[0].rpartition(".")[0])
        built = places.built(owner)
        evidence = [
            (
                f"{', '.join(names[:4])} ({count:,} of {total:,} values) got gradients, and none "
                f"of {steps} steps changed them; their gradients have norm {norm:.3g} by now"
            )
        ]
        related, fixes = [], []
        if built is not None:
            source, call = built
            related.append(((source.file, call.lineno), "made here, after the optimizer"))
            fixes = self.later(site, source, source.statement_of(call))
        return found(
            "optimizer-misses-parameters",
            "wrong result",
            site,
            f"the optimizer was built before {_layer(model, names[0])} was",
            evidence,
            related,
            fixes,
        )

    def later(self, site, source, statement):
        """The optimizer's statement behind the one that made the layer, where both are together."""
        made = site.statement
        if made is None:
            return []
        if source.file == site.file and statement.parent is made.parent:
            target = statement
        else:
            # the layer is made within a call: behind the statement of the same block that calls it
            target = _caller_of(site.source, made, source.function_of(statement))
            if target is None:
                return []
        if target.lineno < made.lineno:
            return []
        return [Fix("the optimizer after it", [places.moved_after(site.source, made, target)])]

    def cut(self):
        out = []
        for optimizer, site, held, _ in self.optimizers:
            never, steps = self.never[id(optimizer)], self.steps.get(id(optimizer), 0)
            if steps < 2 or not never:
                continue
            left = [p for p in held if id(p) in never]
            if len(never) < len([p for p in held if p.requires_grad]):
                out += self.reasons(left, steps)
            elif steps > 2 and self.backwards > 2 and id(optimizer) not in self.reached:
                nearest = self.nearest(self.step_sites[id(optimizer)])
                out += self.reasons(left, steps, nearest)[:1] or self.never_run(site, left, steps)
        return out

    def nearest(self, step):
        """Cuts in an order in which the last one before a step comes first."""

        def distance(cut):
            site = cut[1]
            before = site.file == step.file and site.line <= step.line
            return (not before, abs(step.line - site.line))

        cuts = [c for c in self.cuts.values() if c[0] not in ("item", "tolist")]
        return sorted(cuts, key=distance) if step is not None else cuts

    def never_run(self, site, left, steps):
        """All that an optimizer holds belongs to modules that no call reached."""
        ids, idle = {id(p) for p in left}, []
        for model in self.passes.models.values():
            for name, module in model.named_modules():
                mine = {id(p) for p in module.parameters(recurse=False)}
                if mine and mine <= ids and not self.called.get(id(module)):
                    idle.append((name, module, mine))
        if not idle or set().union(*(mine for *_, mine in idle)) != ids:
            return []
        name, module, _ = idle[0]
        built = places.built(module)
        at = (built[0].file, built[1].lineno) if built is not None else site
        return [
            found(
                "parameters-without-gradient",
                "wrong result",
                at,
                f"{name or describe_module(module)} is never called, and nothing else is trained",
                [f"{steps} steps of {len(left)} parameters, 0 of them with a gradient"],
                [(site, "the optimizer of it alone")],
            )
        ]

    def reasons(self, left, steps, cuts=None):
        ids, out, told = {id(p) for p in left}, [], set()
        evidence = (
            f"{len(left)} parameters ({sum(p.numel() for p in left):,} values) that the optimizer "
            f"holds got no gradient in {steps} steps"
        )
        for module, on, off, frames in filter(None, self.called.values()):
            mine = {id(p) for p in module.parameters(recurse=False)} & ids
            if not mine or on or not off or mine <= told:
                continue
            finding = self.no_grad(module, off, frames, evidence)
            if finding is not None:
                told |= mine
                out.append(finding)
        for what, site, leaves in self.cuts.values() if cuts is None else cuts:
            mine = {i for i in leaves if i in ids} - told
            if mine:
                told |= mine
                out.append(self.detached(what, site, evidence))
        return out

    def no_grad(self, module, off, frames, evidence):
        for site in frames or ():
            if site is None or site.node is None:
                continue
            around = places.no_grad_around(site.source, site.node)
            if around is None:
                continue
            source = site.source
            if isinstance(around, ast.With):
                edit, text = places.without_with(source, around), "without the no_grad block"
            else:
                edit, text = places.without_decorator(source, around), "without the decorator"
            return found(
                "parameters-without-gradient",
                "wrong result",
                (source.file, around.lineno),
                f"{type(module).__name__} runs under no_grad in training",
                [evidence, f"{off} of {off} of its calls ran with gradients off"],
                [(site, "the call in it")],
                [Fix(text, [edit])],
            )
        return None

    def detached(self, what, site, evidence):
        source, statement, changes = site.source, site.statement, []
        name = what.removeprefix(".")
        at = site
        if name in COPYING:
            changes = _stacked(source, site)
            statement = None if changes else statement
        for node in ast.walk(statement) if statement is not None else ():
            if name == "data" and isinstance(node, ast.Attribute) and node.attr == "data":
                changes.append((node, source.segment(node.value)))
            if (
                name != "data"
                and isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == name
            ):
                whole, text = _round_trip(node), source.segment(node.func.value)
                changes.append((whole, text))
        related = []
        if not changes and statement is not None:
            at, changes = _data_before(source, statement)
            at = at or site
            related = [(site, "the values are used here, without their history")]
        text = changes[0][1] if name in COPYING and changes else f"without {what}"
        fixes = [Fix(text, [source.replace(*changes)])] if changes else []
        return found(
            "parameters-without-gradient",
            "wrong result",
            at,
            f"{what} cuts the path to the loss",
            [evidence],
            related,
            fixes,
        )


def _stacked(source, site):
    """``torch.stack(losses)`` for ``torch.tensor(losses)``, whose values have no history."""
    call = places.call_at(site)
    if call is None or not call.args or not isinstance(call.func, ast.Attribute):
        return []
    text = f"{source.segment(call.func.value)}.stack({source.segment(call.args[0])})"
    return [(call, text)]


def _round_trip(node: ast.Call) -> ast.AST:
    """For ``torch.from_numpy(z.detach().numpy())`` the whole, else the call of detach itself."""
    at = node.parent
    while isinstance(at, (ast.Attribute, ast.Call)) and _is_handed_on(at):
        at = at.parent
    back = ("from_numpy", "tensor", "as_tensor", "Tensor")
    is_back = called(at) in back
    return at if is_back and at is not node.parent else node


def _is_handed_on(node) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else called(node)
    return name in ("numpy", "cpu", "tolist", "copy", "astype", "item")


def _layer(model, name: str) -> str:
    """``head, Linear(4 -> 2)`` for its parameter ``head.weight``."""
    path = name.rpartition(".")[0]
    if not path:
        return name
    path = f"layer {path}" if path.isdigit() else path
    return f"{path}, {describe_module(model.get_submodule(name.rpartition('.')[0]))},"


def _data_before(source, statement):
    """``z = y.data`` in a statement before the one that uses z."""
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    for name in names:
        before = source.last_assignment(name, statement.lineno, source.function_of(statement))
        for node in ast.walk(before) if before is not None else ():
            if isinstance(node, ast.Attribute) and node.attr == "data":
                return (source.file, before.lineno), [(node, source.segment(node.value))]
    return None, []


def _leaves_of(tensor, most=400) -> set[int]:
    """The ids of the parameters that a tensor's graph ends in."""
    seen, leaves, stack = set(), set(), [tensor.grad_fn]
    while stack and len(seen) < most:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        stack += [n for n, _ in node.next_functions]
    return leaves


def _caller_of(source, made, function):
    """A later statement beside ``made`` that calls a function of that name."""
    if function is None:
        return None
    for statement in block_of(made):
        if statement.lineno <= made.lineno:
            continue
        for node in ast.walk(statement):
            if called(node) == function.name:
                return statement
    return None


def _has_graph(tensor) -> bool:
    """Whether a tensor is a result; a view that was changed in a forbidden way refuses to say."""
    try:
        return tensor.grad_fn is not None
    except RuntimeError:
        return False
