"""Checkpoints: loads that load nothing, snapshots that are no copies, whole models pickled."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from rushlight import nn

from ... import changes
from ...finding import Edit, Fix
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "nothing-loaded",
    "load_state_dict(strict=False) loaded nothing",
    """
strict=False skips all keys that the model does not have. When none fits, because the whole
checkpoint was passed instead of its state, or all names carry a prefix, it loads nothing without a
word and the model keeps its random weights. Pass the right dictionary, rename the keys, and keep
strict=True, which tells of every mismatch.
""",
)
kind(
    "snapshot-is-alias",
    "The remembered weights are the live ones",
    """
state_dict() returns references to the parameters, not copies. Kept as the "best" weights, it goes
on changing with every step, and restoring it restores nothing. Copy it:
copy.deepcopy(model.state_dict()), or {k: v.clone() for k, v in model.state_dict().items()}.
""",
)
kind(
    "whole-model-saved",
    "A whole model was pickled instead of its state_dict",
    """
torch.save(model) stores the class by name, with all of its attributes. Loading needs the same
source at the same place, breaks when the class changes, and is refused by weights_only=True, the
default of torch.load. Save model.state_dict() and build the model anew before loading.
""",
)


@check
class Loading(Check):
    kinds = ("nothing-loaded", "whole-model-saved")
    needs: ClassVar = {
        "nothing-loaded": ("load_state_dict", 1, "no state was loaded"),
        "whole-model-saved": ("saved", 1, "nothing was saved"),
    }

    def start(self, doctor):
        self.empty, self.pickled = {}, {}
        doctor.watch.on("load_state_dict", self.loaded)
        doctor.watch.on("saved", self.saved)

    def loaded(self, module, state, strict):
        if strict or not hasattr(state, "keys"):
            return
        own = set(module.state_dict())
        if own and not own & set(state):
            self.empty.setdefault(places.here(), (module, own, _sketch(state)))

    def saved(self, value):
        inner = value.values() if isinstance(value, dict) else [value]
        whole = [v for v in inner if isinstance(v, nn.Module)]
        if whole:
            self.pickled.setdefault(places.here(), whole[0])

    def findings(self, doctor):
        out = [self.nothing(site, *one) for site, one in self.empty.items()]
        for site, module in self.pickled.items():
            out.append(self.whole(site, module))
        return out

    def nothing(self, site, module, own, state):
        keys = list(state)
        evidence = [
            f"0 of {len(own)} keys of {type(module).__name__} are in what was passed: it has "
            + ", ".join(map(repr, keys[:4]))
            + (", ..." if len(keys) > 4 else "")
        ]
        fixes, call = [], places.call_at(site)
        if call is not None and call.args:
            func, given = site.source.segment(call.func), site.source.segment(call.args[0])
            for key, inner in state.items():
                if isinstance(inner, dict) and own & set(inner):
                    whole = own == set(inner)
                    text = f'{func}({given}["{key}"]{"" if whole else ", strict=False"})'
                    fixes.append(site.source.fix(call, text))
                    evidence.append(f"{given}[{key!r}] has {len(own & set(inner))} of them")
            fixes += self.renamed(site, call, func, given, own, keys)
        return found(
            "nothing-loaded",
            "wrong result",
            site,
            "strict=False let a load pass that loaded nothing",
            evidence,
            [],
            fixes,
        )

    def renamed(self, site, call, func, given, own, keys):
        for key in keys:
            for mine in own:
                if key.endswith(f".{mine}"):
                    prefix = key[: -len(mine)]
                    change = f"k.removeprefix({prefix!r})"
                    ok = own <= {k.removeprefix(prefix) for k in keys}
                elif mine.endswith(f".{key}"):
                    prefix = mine[: -len(key)]
                    change, ok = f"{prefix!r} + k", own <= {prefix + k for k in keys}
                else:
                    continue
                if ok:
                    text = f"{func}({{{change}: v for k, v in {given}.items()}})"
                    return [site.source.fix(call, text)]
        return []

    def whole(self, site, module):
        cls, count = type(module), sum(p.numel() for p in module.parameters())
        fixes, call = [], places.call_at(site)
        at = site
        entry = _entry_of(site, call, module)
        if entry is not None:
            text = f"{site.source.segment(entry)}.state_dict()"
            at = (site.file, entry.lineno)
            fixes.append(site.source.fix(entry, text))
        elif call is not None and call.args and not isinstance(call.args[0], ast.Dict):
            text = f"{site.source.segment(call.args[0])}.state_dict()"
            fixes.append(site.source.fix(call.args[0], text))
        return found(
            "whole-model-saved",
            "note",
            at,
            f"the whole {type(module).__name__} is pickled, with its class by name",
            [f"loading its {count:,} values needs {cls.__qualname__} of {cls.__module__} as it is"],
            [],
            fixes,
        )


def _entry_of(site, call, module):
    """The model's name in the dictionary that is saved, written there or a few lines before."""
    given = call.args[0] if call is not None and call.args else None
    if isinstance(given, ast.Name):
        scopes = (site.source.function_of(call), None)
        made = [site.source.last_assignment(given.id, site.line, s) for s in scopes]
        given = next((getattr(m, "value", None) for m in made if m is not None), None)
    if not isinstance(given, ast.Dict):
        return None
    plain = [v for v in given.values if isinstance(v, (ast.Name, ast.Attribute))]
    named = [v for v in plain if any(w in ast.unparse(v).lower() for w in ("model", "net"))]
    return (named or plain or [None])[0]


def _sketch(state):
    """Keys, and the keys of dictionaries inside: no tensors are kept alive."""
    return {
        k: dict.fromkeys(v) if hasattr(v, "keys") else None for k, v in list(state.items())[:10000]
    }


@check
class Snapshot(Check):
    kinds = ("snapshot-is-alias",)
    needs: ClassVar = {
        "*": ("state_dict", 1, "no state_dict was taken"),
    }

    def start(self, doctor):
        self.taken, self.bad = [], {}
        self.steps = 0
        watch = doctor.watch
        watch.on("state_dict", self.state)
        watch.on("stepped", self.stepped, always=True)
        watch.on("load_state_dict", self.used)

    def state(self, module, state):
        site = places.here()
        name = _remembered(site)
        if name is None:
            return
        try:
            ref = weakref.ref(state)
        except TypeError:
            return
        self.taken = [t for t in self.taken if t[0]() is not None][-50:]
        self.taken.append((ref, site, name, type(module).__name__, self.steps))

    def stepped(self, optimizer):
        self.steps += 1
        if not self.taken:
            return
        for ref, site, name, model, since in self.taken:
            state = ref()
            if state is not None and self.steps - since >= 1:
                entry = self.bad.setdefault(site, [name, model, 0, len(state)])
                entry[2] = self.steps - since
        self.taken = [t for t in self.taken if t[0]() is not None]

    def used(self, module, state, strict):
        """A snapshot that is loaded before the next step has done its work."""
        for taken in self.taken:
            if taken[0]() is state and taken[4] == self.steps:
                self.taken.remove(taken)
                return

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.bad.items()]

    def finding(self, site, name, model, steps, keys):
        source, call = site.source, places.call_at(site)
        statement = site.statement
        new = f"copy.deepcopy({source.segment(call)})"
        edits = [source.replace((call, new))]
        if "copy" not in changes.imported(source):
            line = source.lines[statement.lineno - 1 : statement.end_lineno]
            changed = edits[0].text
            edits = (
                [
                    Edit(
                        source.file,
                        statement.lineno,
                        statement.end_lineno,
                        source.indented(statement, "import copy") + "\n" + changed,
                    )
                ]
                if len(line) == edits[0].text.count("\n") + 1
                else edits
            )
        evidence = [
            (
                f"{name} still held the live {keys} tensors of {model} {steps} steps later: they "
                "changed with it"
            )
        ]
        return found(
            "snapshot-is-alias",
            "wrong result",
            site,
            f"{name} is not a copy: it changes with the model",
            evidence,
            [],
            [Fix(new, edits)],
        )


def _remembered(site) -> str | None:
    """The name a bare state_dict() is kept under for later; None for what is used at once."""
    if site is None or site.node is None:
        return None
    call, statement = places.call_at(site), site.statement
    if not isinstance(statement, ast.Assign):
        return None
    value = statement.value
    direct = value is call
    if isinstance(value, ast.Dict):
        direct = call in value.values
    if isinstance(value, ast.Tuple):
        direct = call in value.elts
    if not direct:
        return None
    name = ast.unparse(statement.targets[0])
    words = (
        "best",
        "snap",
        "backup",
        "before",
        "old",
        "init",
        "start",
        "prev",
        "remember",
        "keep",
        "kept",
        "save",
        "good",
        "copy",
        "orig",
        "checkpoint",
        "ckpt",
    )
    if any(w in name.lower() for w in words) or _is_conditional(site.source, statement):
        return name
    return None


def _is_conditional(source, statement) -> bool:
    """Kept under an ``if`` in a loop: the pattern of a best epoch."""
    node = statement.parent
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        if isinstance(node, ast.If):
            return "Compare" in ast.dump(node.test)
        node = getattr(node, "parent", None)
    return False
