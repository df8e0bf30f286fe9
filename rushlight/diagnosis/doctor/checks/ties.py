"""Weights that two modules shared, and that something took apart."""

from __future__ import annotations

import ast
import re
import weakref
from itertools import combinations
from typing import ClassVar

from rushlight import _C, nn

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "tied-weights-broken",
    "Two modules were to share one weight and do not",
    """
Modules share a weight when both hold the same Parameter object: head.weight = embed.weight. A copy
(nn.Parameter(embed.weight.clone())) only begins equal and trains apart; two parameters over one
memory (head.weight.data = embed.weight.data) are stepped twice; and a tie is gone as soon as one of
the two is replaced: by a new layer, a new Parameter, deepcopy, to_empty() or
load_state_dict(assign=True). Tie the weights last, and tie them again after such a change.
""",
)

# Ops by which weights are made: one runs between a tie and what breaks it.
MAKING = frozenset(
    "empty empty_like zeros zeros_like ones rand randn randn_like full tensor normal_ uniform_ "
    "from_numpy clone".split()
)
MOST_SEEN = 50_000  # modules looked at in search of ties
MOST_AT_A_SITE = 1000  # ops of one place that are looked at: a program without steps makes many
APART = re.compile(r"(?i)un-?(tie|tying|shar)|separate|independent|\binit|warm|start")


class Tie:
    """Two paths within a module that held one parameter.

    ``places``: when it last held before training, of each of the user's frames that ran, innermost
    first: (site, {name: module}). ``modules``: those on both paths then. ``steps`` since it broke.
    """

    def __init__(self, root, paths, shared):
        self.root, self.paths, self.shared = weakref.ref(root), paths, weakref.ref(shared)
        self.places, self.modules, self.steps = (), (), 0

    @property
    def parameters(self) -> list:
        """What stands at the paths now, None where there is nothing."""
        return [parameter_at(self.root(), path) for path in self.paths]

    def holds(self) -> bool:
        shared = self.shared()
        return shared is not None and all(p is shared for p in self.parameters)


@check
class Ties(Check):
    """Who holds which parameter: whenever weights are made before training, and in each step."""

    kinds = ("tied-weights-broken",)
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.watch = doctor.watch
        self.ties, self.seen, self.looked, self.steps = {}, 0, set(), 0
        self.watch.on("op", self.op, MAKING)
        self.watch.on("load_state_dict", self.event)
        self.watch.on("optimizer", self.event)
        self.watch.on("step", self.step)

    def op(self, op):
        if op.site.count <= MOST_AT_A_SITE:
            self.event()

    def event(self, *_):
        """Before training: which parameters are one, and where that still was so."""
        if self.steps:
            return
        running = [
            (site_of(f), dict(places.modules_in(_C._locals(f)))) for f in places.user_frames(2)[:4]
        ]
        for site, room in running:
            for root in room.values():
                if (id(root), site) not in self.looked and "_modules" in vars(root):
                    self.looked.add((id(root), site))
                    self.search(root)
        whole = [tie for tie in self.ties.values() if tie.holds()]
        if whole:
            now = [(s, {n: weakref.ref(m) for n, m in room.items()}) for s, room in running]
            for tie in whole:
                tie.places = now
                tie.modules = [weakref.ref(m) for p in tie.paths for m in way(tie.root(), p)]

    def search(self, root):
        """Parameters that two modules within one hold both."""
        holders = {}
        for path, owner in root.named_modules():
            self.seen += 1
            if self.seen > MOST_SEEN:
                return
            for name, p in owner._parameters.items():
                if p is not None:
                    full = f"{path}.{name}" if path else name
                    holders.setdefault(id(p), []).append((full, p))
        for held in holders.values():
            for (first, p), (second, _) in combinations(held[:4], 2):
                key = (id(root), first, second)
                if key not in self.ties or self.ties[key].root() is not root:
                    self.ties[key] = Tie(root, (first, second), p)

    def step(self, optimizer):
        self.steps += 1
        if self.steps == 1:
            self.watch.off("op", self.op)
        for tie in self.ties.values():
            if not tie.holds():
                tie.steps += any(p is not None and p.grad is not None for p in tie.parameters)

    def findings(self, doctor):
        out, told = [], set()
        for tie in self.ties.values():
            p, q = tie.parameters
            if tie.steps < 2 or p is None or q is None or p is q or {id(p), id(q)} <= told:
                continue
            finding = self.finding(tie, p, q)
            if finding is not None:
                told |= {id(p), id(q)}
                out.append(finding)
        return out

    def finding(self, tie, p, q):
        shared, root = tie.shared(), tie.root()
        kept = [n for n, r in zip(tie.paths, (p, q), strict=True) if r is shared]
        owners = {path: way(root, path)[-1] for path in tie.paths}
        if p.shape != q.shape and not any(isinstance(owners[n], nn.Linear) for n in kept):
            return None  # a head of its own for another task
        broken = _broken_by(tie, [n for n in tie.paths if n not in kept])
        if broken is None:
            return None
        source, statement, names = broken
        if APART.search(comments(source, statement)) or _copies_itself(source, statement):
            return None
        first, second = sorted(tie.paths, key=lambda n: not isinstance(owners[n], nn.Embedding))
        tied = _tie_in_source(first, second)
        fixes = _tied_again(source, statement, names, root, first, second, tied)
        if p.shape == q.shape:
            fixes += _in_place(source, statement)
        values = [parameter_at(root, n) for n in (first, second)]
        return found(
            "tied-weights-broken", "wrong result", (source.file, statement.lineno),
            f"{second} and {first} were one parameter before this line, and are two after it",
            [difference((first, second), values, tie.steps)],
            [((tied[0].file, tied[1].lineno), "tied here")] if tied is not None else [], fixes,
        )  # fmt: skip


def way(root, path: str) -> list:
    """The modules on the way to a parameter such as ``layers.0.weight``, as far as there are."""
    modules = [root]
    for part in path.split(".")[:-1]:
        if modules[-1] is None:
            break
        modules.append(modules[-1]._modules.get(part))
    return [m for m in modules if m is not None]


def parameter_at(root, path: str):
    """The parameter at a path, None where there is none."""
    modules = way(root, path) if root is not None else []
    whole = len(modules) == path.count(".") + 1
    return modules[-1]._parameters.get(path.rpartition(".")[2]) if whole else None


def comments(source: Source, statement: ast.stmt) -> str:
    """What is said beside a statement, and on the lines of comments right above it."""
    first = statement.lineno - 1
    while first and source.lines[first - 1].lstrip().startswith("#"):
        first -= 1
    lines = source.lines[first : statement.end_lineno]
    return "\n".join(line.partition("#")[2] for line in lines)


def difference(names, parameters, steps: int) -> str:
    """How far two parameters are from each other by now."""
    p, q = (r.detach() for r in parameters)
    if p.shape != q.shape:
        return f"{names[0]} is {tuple(p.shape)} and {names[1]} {tuple(q.shape)} in {steps} steps"
    most, mean = float((p - q).abs().max()), float(p.abs().mean())
    return (
        f"{p.numel():,} values each; after {steps} steps they differ by up to {most:.3g} "
        f"(their mean size is {mean:.3g})"
    )


# ---- The line that broke a tie


def _broken_by(tie: Tie, paths: list[str]):
    """(source, statement, names of modules there) of what replaced what stood at the paths."""
    parts = {part for path in paths for part in path.split(".")}
    for site, names in tie.places:
        if site.source is None or site.statement is None:
            continue
        scope = site.source.function_of(site.statement)
        later = [
            s
            for s in ast.walk(scope or site.source.tree)
            if isinstance(s, ast.stmt)
            and s.lineno > site.line
            and site.source.function_of(s) is scope
        ]
        for s in [site.statement, *sorted(later, key=lambda s: s.lineno)]:
            if _replaces(s, parts, names, tie):
                return site.source, s, names
    return None


def _replaces(statement, parts: set, names: dict, tie: Tie) -> bool:
    """Whether a statement gives a part of the paths a new value, in a module of the tie."""
    held = statement.targets if isinstance(statement, ast.Assign) else []
    pairs = [(t.value, getattr(t, "attr", None) or ast.unparse(t.slice)) for t in held
             if isinstance(t, (ast.Attribute, ast.Subscript))]  # fmt: skip
    call = getattr(statement, "value", None)
    if called(call) == "setattr" and len(call.args) == 3:
        pairs.append((call.args[0], ast.unparse(call.args[1]).strip("'\"")))
    elif called(call) == "to_empty" or changes.keyword(call, "assign") is not None:
        return True
    return any(name in parts and _is_of(base, names, tie) for base, name in pairs)


def _is_of(base: ast.expr, names: dict, tie: Tie) -> bool:
    """Whether an expression is a module that the tie runs through, or lies in."""
    text = ast.unparse(base)
    known = [n for n in names if text == n or text.startswith((f"{n}.", f"{n}["))]
    module = names[max(known, key=len)]() if known else None
    if module is None:
        return False
    return any(ref() is module for ref in tie.modules) or any(
        m is tie.root() for m in module.modules()
    )


def _copies_itself(source, statement) -> bool:
    """``x.weight = nn.Parameter(x.weight.clone())``: taken apart on purpose."""
    if not isinstance(statement, ast.Assign):
        return False
    target, value = source.segment(statement.targets[0]), source.segment(statement.value)
    return f"{target}.clone()" in value or f"{target}.detach().clone()" in value


# ---- Changes that help


def _tied_again(source, statement, names, root, first, second, tied) -> list[Fix]:
    """The tie behind what breaks it: moved there, or written there."""
    is_beside = tied is not None and tied[0] is source and tied[1].parent is statement.parent
    if is_beside and tied[1].lineno < statement.lineno:
        return [Fix("the tie after it", [places.moved_after(source, tied[1], statement)])]
    name = next((n for n, ref in names.items() if ref() is root), None)
    if name is None:
        return []
    text = f"{_spelled(name, second)} = {_spelled(name, first)}"
    return [Fix(f"{text} after it", [source.insert_after(statement, text)])]


def _in_place(source, statement) -> list[Fix]:
    """The new values written into the parameter, and no assignment of a new one."""
    if isinstance(statement, ast.Expr) and changes.keyword(statement.value, "assign") is not None:
        text = changes.without_keyword(source, statement.value, "assign")
        return [source.fix(statement.value, text, "without assign")]
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign) or called(value) != "Parameter" or not value.args:
        return []
    target, given = source.segment(statement.targets[0]), source.segment(value.args[0])
    text = f"{target}.data.copy_({given})"
    return [source.fix(statement, text, f"{text}, into the one both hold")]


def _spelled(name: str, path: str) -> str:
    """A parameter's path as code: ``model.layers[0].weight``."""
    parts = (f"[{p}]" if p.isdigit() else f".{p}" for p in path.split("."))
    return name + "".join(parts)


def _tie_in_source(first: str, second: str) -> tuple[Source, ast.Assign] | None:
    """The statement ``head.weight = embed.weight`` for two paths."""
    ends = {end_of(first), end_of(second)}
    for source in upstream.program_sources():
        for node in ast.walk(source.tree):
            is_tie = isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute)
            if is_tie and {end_of(ast.unparse(n)) for n in (*node.targets, node.value)} == ends:
                return source, node
    return None


def end_of(path: str) -> str:
    """The module's own name and the parameter's: ``head.weight``, also of ``net[0].weight``."""
    return ".".join(path.replace("[", ".").replace("]", "").split(".")[-2:])
