"""Weights that were to be shared and are copies, or two parameters over one memory."""

from __future__ import annotations

import ast
import re
import weakref
from itertools import combinations

from rushlight import nn

from ... import upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check
from ...source import Source
from ..places import found
from .ties import APART, comments, difference, end_of, way

COPYING = ("clone", "data", "detach", "copy_")
WRAPPING = ("Parameter", "deepcopy", "clone", "detach", "contiguous")
TIE = re.compile(r"(?i)(?<![a-z])(tie[sd]?|tying|shar(e[sd]?|ing))(?![a-z])")


class Twin:
    """Two parameters of a model that began equal; ``site`` is where one was read to be copied."""

    def __init__(self, model, names, parameters, site):
        self.names, self.parameters, self.site = names, parameters, site
        self.owners = [way(model, name)[-1] for name in names]
        self.norms = []  # of their gradients in the second step

    @property
    def in_one_memory(self) -> bool:
        return self.parameters[0].data_ptr() == self.parameters[1].data_ptr()

    @property
    def is_of_tokens(self) -> bool:
        """Whether one embeds what the other scores."""
        kinds = {k for o in self.owners for k in (nn.Embedding, nn.Linear) if isinstance(o, k)}
        return len(kinds) == 2


@check
class Twins(Check):
    """Compares once, before the first step, what was copied with what a model holds."""

    kinds = ()

    def start(self, doctor):
        self.watch, self.passes = doctor.watch, doctor.passes
        self.copied, self.twins, self.steps = {}, [], 0
        self.watch.on("op", self.op, COPYING)
        self.watch.on("step", self.step)

    def op(self, op):
        for given in op.args[:2]:
            if isinstance(given, nn.Parameter):
                self.copied[op.site] = weakref.ref(given)

    def step(self, optimizer):
        self.steps += 1
        if self.steps == 1:
            self.watch.off("op", self.op)
            for model in list(self.passes.models.values()):
                self.compare(model, optimizer)
        if self.steps == 2:
            self.watch.off("step", self.step)
            for twin in self.twins:
                norms = [float(p.grad.norm()) for p in twin.parameters if p.grad is not None]
                twin.norms = sorted(norms, reverse=True)

    def compare(self, model, optimizer):
        named = [
            (n, p)
            for n, p in model.named_parameters()
            if p.requires_grad and p.numel() > 1 and p.device.type == "cpu"
        ]
        sites = {id(ref()): site for site, ref in self.copied.items() if _copy_at(site)}
        at = {}
        for name, p in named:
            at.setdefault(p.data_ptr(), []).append((name, p))
        for held in at.values():
            for (a, p), (b, q) in combinations(held[:4], 2):
                if p.numel() == q.numel() and _is_stepped_twice(optimizer, p, q):
                    site = sites.get(id(p)) or sites.get(id(q))
                    self.twins.append(Twin(model, (a, b), (p, q), site))
        for a, p in named:
            for b, q in named if id(p) in sites else ():
                apart = q.shape == p.shape and q.data_ptr() != p.data_ptr()
                if apart and bool((p == q).all()):
                    self.twins.append(Twin(model, (a, b), (p, q), sites[id(p)]))

    def findings(self, doctor):
        out, told = [], set()
        for twin in self.twins:
            ids = {id(p) for p in twin.parameters}
            finding = self.finding(twin) if len(twin.norms) == 2 and not ids <= told else None
            if finding is not None:
                told |= ids
                out.append(finding)
        return out

    def finding(self, twin):
        copy = _copy_at(twin.site) if twin.site is not None else _copy_in_source(twin.names)
        if copy is None or APART.search(comments(copy.source, copy.statement)):
            return None
        p, q = twin.parameters
        first, second = twin.names
        if twin.in_one_memory:
            title = f"{second} and {first} share memory, and are two parameters"
            evidence = (
                f"{p.numel():,} values: each step changes them twice, by gradients of norm "
                f"{twin.norms[0]:.3g} and {twin.norms[1]:.3g} that are not summed"
            )
        elif (copy.is_plain and twin.is_of_tokens) or TIE.search(copy.said):
            title = f"{second} is a copy of {first}, and trains apart from it"
            evidence = difference(twin.names, twin.parameters, self.watch.count("step"))
        else:
            return None
        return found(
            "tied-weights-broken", "wrong result", (copy.source.file, copy.statement.lineno),
            title, [evidence], [], copy.fixes if p.shape == q.shape else [],
        )  # fmt: skip


def _is_stepped_twice(optimizer, p, q) -> bool:
    """Whether two steps of one memory differ from one by the sum of the gradients."""
    held = {id(r): group for group in optimizer.param_groups for r in group["params"]}
    if id(p) not in held or id(q) not in held:
        return id(p) in held or id(q) in held
    plain = type(optimizer).__name__ == "SGD" and not held[id(p)].get("weight_decay")
    return not plain


class Copy:
    """A statement that gives a module's parameter another one's values."""

    def __init__(self, source: Source, statement: ast.stmt, target: ast.expr, value: ast.expr):
        self.source, self.statement, self.target, self.value = source, statement, target, value

    @property
    def is_plain(self) -> bool:
        """Whether it makes a new parameter, and does not write values into one."""
        return isinstance(self.statement, ast.Assign)

    @property
    def said(self) -> str:
        """What its comments, the names of its function and the conditions around it say."""
        words, node = [comments(self.source, self.statement)], self.statement
        while node is not None and not isinstance(node, ast.ClassDef):
            if isinstance(node, ast.If):
                words.append(ast.unparse(node.test))
            words.append(getattr(node, "name", ""))
            node = getattr(node, "parent", None)
        return "\n".join(words)

    @property
    def fixes(self) -> list[Fix]:
        if not isinstance(self.target, ast.Attribute):
            return []
        text = f"{self.source.segment(self.target)} = {self.source.segment(self.value)}"
        return [self.source.fix(self.statement, text)]


def _copy_at(site) -> Copy | None:
    """The statement at a site, or the later one that uses the name it binds, as a copy."""
    source, statement = site.source, site.statement
    if source is None or not isinstance(statement, (ast.Assign, ast.Expr)):
        return None
    copy = _as_copy(source, statement)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if copy is not None or not isinstance(target, ast.Name):
        return copy
    scope = source.function_of(statement) or source.tree
    for later in ast.walk(scope):
        copy = _as_copy(source, later)
        if copy is not None and getattr(copy.value, "id", None) == target.id:
            copy.value = _unwrapped(statement.value)
            return copy
    return None


def _as_copy(source: Source, node: ast.AST) -> Copy | None:
    """``x.weight = nn.Parameter(y.weight.clone())``, ``x.weight.data = y.weight.data``, copy_."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        target, given = node.targets[0], node.value
        if target.attr != "data" and not isinstance(given, ast.Call):
            return None  # a tie
    elif isinstance(node, ast.Expr) and called(node.value) == "copy_" and node.value.args:
        target, given = node.value.func.value, node.value.args[0]
    else:
        return None
    target, value = _unwrapped(target), _unwrapped(given)
    is_named = isinstance(value, (ast.Attribute, ast.Name))
    is_other = is_named and ast.unparse(value) != ast.unparse(target)
    return Copy(source, node, target, value) if is_other else None


def _unwrapped(node: ast.expr) -> ast.expr:
    """``y.weight`` of ``nn.Parameter(y.weight.data.clone())``."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif called(node) in WRAPPING and node.args:
            node = node.args[0]
        elif called(node) in WRAPPING and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return node


def _copy_in_source(names) -> Copy | None:
    """The statement that makes one of two paths of a model a parameter over the other's memory."""
    ends = {end_of(name) for name in names}
    for source in upstream.program_sources():
        for node in ast.walk(source.tree):
            copy = _as_copy(source, node)
            if copy and {end_of(ast.unparse(n)) for n in (copy.target, copy.value)} == ends:
                return copy
    return None
