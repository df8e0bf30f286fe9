"""Parameters that get gradients and that no optimizer was ever given."""

from __future__ import annotations

import ast
from typing import ClassVar

from rushlight import _C

from ... import changes, graphs
from ...finding import Edit, Fix
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..passes import LOSSES
from ..places import found

kind(
    "target-with-gradient",
    "The target of a loss requires grad, and nobody trains what made it",
    """
A teacher's or target network's output is a number to reach. Computed with gradients on, it is a
part of the graph: backward goes through that network as well and leaves gradients that no optimizer
reads. Compute it under torch.no_grad(), or detach it.
""",
)
LOOKED_AT = 4  # calls of a loss at one place


@check
class Unheld(Check):
    """Models that are trained and of which an optimizer holds only a part, or another model's."""

    kinds = ("target-with-gradient",)
    needs: ClassVar = {"*": ("step", 3, "fewer than 3 optimizer steps")}

    def start(self, doctor):
        self.optimizers, self.steps, self.loaded = [], 0, set()
        self.versions, self.passes, self.names = {}, doctor.passes, {}
        watch = doctor.watch
        watch.on("optimizer", self.optimizer)
        watch.on("step", self.step, always=True)
        watch.on("load_state_dict", lambda module, state, strict: self.loaded.add(id(module)))
        self.targets = {}  # by the place of a loss: what its targets were computed from
        watch.on("op", self.loss, LOSSES)

    def loss(self, op):
        entry = self.targets.setdefault(op.site, [0, set()])
        entry[0] += 1
        if entry[0] > LOOKED_AT or len(op.args) < 2:
            return
        scores, target = op.args[:2]
        if isinstance(target, _C.TensorBase) and target.requires_grad:
            reached = {id(p) for p in graphs.leaves(target)}
            entry[1] |= reached - {id(p) for p in graphs.leaves(scores)}

    def optimizer(self, optimizer):
        self.optimizers.append((optimizer, places.here()))

    def step(self, optimizer):
        self.steps += 1
        if self.steps in (2, 3):
            for model in list(self.passes.models.values()):
                for p in model.parameters():
                    if p.grad is not None:
                        self.versions.setdefault(id(p), (p, p._version))
            for frame in places.user_frames(3):
                for room in (_C._locals(frame), frame.f_globals):
                    for name, module in places.modules_in(room):
                        self.names.setdefault(id(module), name)

    def findings(self, doctor):
        if self.steps < 3 or len({site for _, site in self.optimizers if site}) != 1:
            return []
        (optimizer, site), held = self.optimizers[-1], set()
        for one, _ in self.optimizers:
            held |= {id(p) for p in parameters_of(one)}
        mine = [p for p in parameters_of(optimizer) if p.requires_grad]
        reached = [p for p in mine if p.grad is not None]
        for model in list(self.passes.models.values()):
            all_ = [p for p in model.parameters() if p.requires_grad]
            left = [p for p in all_ if id(p) not in held and self.is_still(p)]
            left = [p for p in left if not places.misspelt_switches(p)]  # frozen, it was meant
            if not left or not model.training or id(model) in self.loaded:
                continue
            part = [p for p in all_ if id(p) in held]
            if part and reached:
                return [self.partial(site, model, left, all_)]
            if not part and reached and len(left) == len(all_) and self.is_of_a_model(reached):
                return [self.left_out(site, model, left)]
            if not part and not reached and mine and len(left) == len(all_):
                return [self.another(site, model, optimizer, left)]
        return []

    def is_of_a_model(self, parameters) -> bool:
        """Whether the optimizer trains another model, and not an image or a code."""
        ids = {id(p) for p in parameters}
        return any(id(p) in ids for m in self.passes.models.values() for p in m.parameters())

    def left_out(self, site, model, left):
        """A second model on the way to the loss that no optimizer was given."""
        for loss, (_, reached) in self.targets.items():
            if all(id(p) in reached for p in left):
                return self.target(loss, model, left)
        name = self.names.get(id(model)) or type(model).__name__
        evidence = [
            (
                f"{name} ({sum(p.numel() for p in left):,} values) gets gradients, and none of "
                f"{self.steps} steps changed it: no optimizer was given its parameters"
            )
        ]
        fixes, call = [], places.call_at(site)
        given = call.args[0] if call is not None and call.args else None
        is_call = isinstance(given, ast.Call) and ast.unparse(given.func).endswith(".parameters")
        if is_call and id(model) in self.names:
            text = f"[*{site.source.segment(given)}, *{name}.parameters()]"
            fixes.append(site.source.fix(given, text))
        return found(
            "optimizer-misses-parameters", "wrong result", site,
            f"the optimizer holds nothing of {name}, which is trained, too", evidence, [], fixes,
        )  # fmt: skip

    def target(self, site, model, left):
        """What the loss compares with was computed with gradients on."""
        name, fixes = self.names.get(id(model)) or type(model).__name__, []
        node = places.operand(site, 1)
        if node is not None:
            text = changes.method(site.source, node, "detach()")
            fixes.append(site.source.fix(node, text))
        count = sum(p.numel() for p in left)
        said = f"{count:,} values of {name} get gradients in each of {self.steps} steps"
        return found(
            "target-with-gradient", "time", site,
            f"the target of the loss carries a graph back through {name}",
            [f"{said}; no optimizer holds them"], [], fixes,
        )  # fmt: skip

    def is_still(self, p) -> bool:
        """Whether a parameter had a gradient early on and nothing wrote to it since."""
        known = self.versions.get(id(p))
        return known is not None and known[0] is p and p._version == known[1]

    def partial(self, site, model, left, all_):
        names = [n for n, p in model.named_parameters() if any(p is q for q in left)]
        count, total = sum(p.numel() for p in left), sum(p.numel() for p in all_)
        evidence = [
            (
                f"{', '.join(names[:4])} ({count:,} of {total:,} values) get gradients, and none "
                f"of {self.steps} steps changed them: no optimizer was given them"
            )
        ]
        fixes, call = [], places.call_at(site)
        given = call.args[0] if call is not None and call.args else None
        name = self.names.get(id(model))
        if given is not None and name is not None and not isinstance(given, ast.Name):
            text = f"{self.spelled(given, name)}.parameters()"
            fixes.append(site.source.fix(given, text))
        return found(
            "optimizer-misses-parameters", "wrong result", site,
            f"the optimizer holds only a part of {type(model).__name__}", evidence, [], fixes,
        )  # fmt: skip

    def spelled(self, given, name: str) -> str:
        """The model as the optimizer's line can name it: ``self.net`` of ``self.net.head``."""
        for node in ast.walk(given):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith(
                name.rpartition(".")[2]
            ):
                return ast.unparse(node.value)
        return name

    def another(self, site, model, optimizer, left):
        count = sum(p.numel() for p in left)
        evidence = [
            (
                f"all {count:,} values of the {type(model).__name__} that is called get gradients; "
                f"what {type(optimizer).__name__} holds got none in {self.steps} steps"
            )
        ]
        fixes, related = [], []
        name, source, made = self.names.get(id(model)), site.source, site.statement
        if name is not None and made is not None and "." not in name:
            scope = source.function_of(made)
            statement = source.last_assignment(name, 1 << 30, scope)
            call = places.call_at(site)
            given = call.args[0] if call is not None and call.args else None
            if statement is not None and given is not None and statement.parent is made.parent:
                text = f"{name}.parameters()"
                changed = source.replace((given, text))
                if changed.line == made.lineno and changed.end_line == made.end_lineno:
                    fixes.append(Fix(f"{text}, once {name} is made", [
                        _behind(source, made, statement, changed.text)]))  # fmt: skip
                related.append(((source.file, statement.lineno), f"{name}, which is trained"))
        return found(
            "optimizer-misses-parameters", "wrong result", site,
            "the optimizer holds another model than the one that is trained", evidence, related,
            fixes,
        )  # fmt: skip


def _behind(source, made, statement, text: str) -> Edit:
    """A statement's new text right behind another one that comes later (or where it was)."""
    if statement.lineno < made.lineno:
        return Edit(source.file, made.lineno, made.end_lineno, text)
    lines = source.lines[made.end_lineno : statement.end_lineno]
    return Edit(source.file, made.lineno, statement.end_lineno, "\n".join([*lines, text]))
