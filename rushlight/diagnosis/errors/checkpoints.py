"""Errors of loading: names that do not pair up, shapes that differ, more than data in a file."""

from __future__ import annotations

import ast
import difflib
import os
import re

from rushlight import nn

from .. import changes, frames, upstream, values
from ..finding import Fix, Related
from ..registry import explains, kind
from . import Raised, loaded

kind(
    "checkpoint-names",
    "A checkpoint's names are not the model's",
    """
load_state_dict pairs tensors by name. DataParallel and DistributedDataParallel put "module."
before every name, torch.compile "_orig_mod."; a Lightning checkpoint says "model.". Save the inner
module's state (wrapper.module.state_dict()), or take the prefix off when loading. A whole
checkpoint ({"model": ..., "optimizer": ...}) has to be opened first:
load_state_dict(checkpoint["model"]). strict=False only skips what does not pair up: with a prefix
that is everything, and the model stays untrained.
""",
)
kind(
    "checkpoint-shapes",
    "A checkpoint's tensors have other shapes than the model's",
    """
The model was built with other numbers than the one that was saved: another count of classes, a
larger vocabulary, another width. Build it with the saved numbers; or, to go on with a new head,
leave out the tensors that differ and load the rest with strict=False.
""",
)
kind(
    "weights-only",
    "A file holds more than tensors, and torch.load reads only those",
    """
torch.load unpickles with weights_only=True: a file from elsewhere then cannot run code. Files with
whole modules or objects of your own classes need weights_only=False, which is safe only for files
that you trust, or torch.serialization.add_safe_globals([TheClass]). Better: save
model.state_dict() and plain values.
""",
)


@explains(RuntimeError, r"Error\(s\) in loading state_dict for (\w+):")
def loading(raised: Raised):
    """Names paired by prefix, then by shape and nearness; or numbers that differ."""
    model = upstream.inner(raised.error, "self")
    state = upstream.inner(raised.error, "state_dict")
    if model is None or state is None:
        return None
    wanted = {k: tuple(v.shape) for k, v in _state(model).items()}
    given = {k: tuple(v.shape) for k, v in state.items() if values.is_tensor(v)}
    missing = [k for k in wanted if k not in given]
    extra = [k for k in given if k not in wanted]
    if not missing and not extra:
        return _shapes(raised, model, wanted, given)
    inner = _inner_state(state, wanted)
    if inner is not None:
        return _opened(raised, inner, state, wanted)
    prefix = _prefix(wanted, given)
    if prefix is not None:
        return _prefixed(raised, prefix, wanted, given)
    built = loaded.elsewhere(raised, _argument(raised)[0], model, wanted, given, missing, extra)
    if built is not None:
        return built
    return _renamed(raised, wanted, given, missing, extra)


def _state(model) -> dict:
    return {name: t for name, t in model.state_dict().items() if values.is_tensor(t)}


def _inner_state(state, wanted):
    """The key of a checkpoint under which the model's own state lies."""
    for key, held in state.items():
        if isinstance(held, dict) and set(wanted) & set(held):
            return key
    return None


def _prefix(wanted: dict, given: dict):
    """(text, whether the checkpoint has it) such that the names pair up without it."""
    for key in list(given)[:20]:
        for name in wanted:
            if key != name and key.endswith("." + name):
                text = key[: len(key) - len(name)]
                if all(text + n in given for n in wanted):
                    return text, True
            if key != name and name.endswith("." + key):
                text = name[: len(name) - len(key)]
                if all(n.removeprefix(text) in given for n in wanted):
                    return text, False
    return None


def _argument(raised: Raised):
    """The user's frame that calls load_state_dict, and its argument."""
    for at in reversed(raised.frames):
        if upstream.called(at.node) == "load_state_dict" and at.node.args:
            return at, at.node.args[0]
    return raised.innermost, None


def _prefixed(raised: Raised, prefix, wanted, given):
    text, theirs = prefix
    at, argument = _argument(raised)
    count = sum((text + n in given) if theirs else (n.removeprefix(text) in given) for n in wanted)
    rows = [((text + n, n) if theirs else (n.removeprefix(text), n)) for n in list(wanted)[:4]]
    same = [
        (f"{a} -> {b}", f"{given[a]}", "same" if given[a] == wanted[b] else f"not {wanted[b]}")
        for a, b in rows
    ]
    evidence = [
        *values.table(same),
        f'{count} of {len(wanted)} pair up {"without" if theirs else "with"} "{text}"',
    ]
    fixes, place = [], at
    spot = upstream.bound(raised, at, argument) if argument is not None else None
    saved = _saved_by(raised, spot, text) if theirs else None
    if saved is not None:
        saver, edit, shown = saved
        place = saver.place
        fixes.append(Fix(shown, [edit]))
        evidence.append(f'"{text}" was added where {saver.text} is saved')
    if argument is not None:
        source = at.source.segment(argument)
        items = f"{changes.atom(at.source, argument)}.items()"
        new = (
            f'{{k.removeprefix("{text}"): v for k, v in {items}}}'
            if theirs
            else f'{{"{text}" + k: v for k, v in {items}}}'
        )
        fixes.append(at.source.fix(argument, new, f"{source} with other names"))
    title = f"the checkpoint's names begin with \"{text}\", the model's do not"
    if not theirs:
        title = f"the model's names begin with \"{text}\", the checkpoint's do not"
    return raised.finding(
        "checkpoint-names",
        title,
        place,
        evidence=evidence,
        related=at.related("the loading that failed"),
        fixes=fixes,
    )


def _saved_by(raised: Raised, spot, prefix: str):
    """The wrapper.state_dict() that put the prefix there: its inner module's instead."""
    inner = prefix.rstrip(".")
    candidates = [spot] if spot is not None else []
    candidates += upstream.calls(upstream.user_sources(raised), "state_dict")
    for found in candidates:
        holder = frames.receiver(found.node)
        if holder is None or frames.called(found.node) != "state_dict":
            continue
        if not _wraps(raised, found, holder, inner):
            continue
        text = f"{changes.atom(found.source, holder)}.{inner}.state_dict()"
        return found, found.source.replace((found.node, text)), text
    return None


def _wraps(raised: Raised, spot, holder, inner: str) -> bool:
    wrappers = {"module": ("DataParallel", "DistributedDataParallel"), "_orig_mod": ("compile",)}
    names = wrappers.get(inner, ())
    if upstream.called(holder) in names:
        return True
    at = next((f for f in raised.frames if f.file == spot.file), None)
    held = at.value(holder, None) if at is not None else None
    if held is not None:
        return type(held).__name__ in names
    if isinstance(holder, ast.Attribute) and spot.source.class_of(holder) is not None:
        owner = spot.source.class_of(holder)
        for statement in spot.source.attribute_assignments(holder.attr, owner):
            if upstream.called(statement.value) in names:
                return True
    if isinstance(holder, ast.Name):
        for statement in spot.source.assignments(holder.id, spot.source.function_of(holder)):
            if upstream.called(getattr(statement, "value", None)) in names:
                return True
    return False


def _opened(raised: Raised, key, state, wanted):
    at, argument = _argument(raised)
    evidence = [
        f"the dict has the keys {', '.join(map(repr, list(state)[:6]))}",
        f"{len(set(wanted) & set(state[key]))} of {len(wanted)} names lie in its {key!r}",
    ]
    fixes = []
    if argument is not None:
        text = f'{changes.atom(at.source, argument)}["{key}"]'
        fixes.append(at.source.fix(argument, text))
    return raised.finding(
        "checkpoint-names",
        f"the model's state lies in the checkpoint's {key!r}",
        at,
        evidence=evidence,
        fixes=fixes,
    )


def _renamed(raised: Raised, wanted, given, missing, extra):
    """Missing and unexpected names paired by shape and nearness."""
    at, argument = _argument(raised)
    pairs, left = {}, list(extra)
    for name in missing:
        same = [k for k in left if given[k] == wanted[name]]
        best = (
            difflib.get_close_matches(name, same, 1, 0.3)
            or [k for k in same if k.rsplit(".", 1)[-1] == name.rsplit(".", 1)[-1]][:1]
        )
        if best:
            pairs[best[0]] = name
            left.remove(best[0])
    rows = [(f"{old} -> {new}", f"{wanted[new]}") for old, new in list(pairs.items())[:6]]
    evidence = values.table(rows) if rows else []
    alone = [n for n in missing if n not in pairs.values()]
    if alone:
        evidence.append(f"missing in the checkpoint: {', '.join(alone[:6])}")
    if left:
        evidence.append(f"unknown to the model: {', '.join(left[:6])}")
    fixes, source = [], at.source
    if argument is not None and pairs and not alone:
        text = changes.atom(source, argument)
        stems = _stems(pairs)
        if stems is not None:
            old, new = stems
            renamed = f'{{k.replace("{old}", "{new}", 1): v for k, v in {text}.items()}}'
        else:
            renamed = f"{{{pairs!r}.get(k, k): v for k, v in {text}.items()}}"
        if left:
            renamed = renamed[:-1] + f" if k not in {left!r}}}"
        fixes.append(source.fix(argument, renamed, "the names as the model has them"))
    if argument is not None:
        text = changes.with_keyword(source, at.node, "strict", "False")
        said = f"{len(alone) + len(pairs)} of {len(wanted)} keep their initial values"
        if not pairs:
            fixes.append(source.fix(at.node, text, f"strict=False: {said}"))
    title = f"{len(missing)} names are missing, {len(extra)} unknown; {len(pairs)} of them pair up"
    return raised.finding("checkpoint-names", title, at, evidence=evidence, fixes=fixes)


def _stems(pairs: dict):
    """The part of a name that was changed in all of them: (old, new)."""
    found = set()
    for old, new in pairs.items():
        a, b = old.split("."), new.split(".")
        if len(a) != len(b):
            return None
        differ = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        if len(differ) != 1:
            return None
        found.add(differ[0])
    if len(found) != 1:
        return None
    old, new = found.pop()
    return f"{old}.", f"{new}."


def _shapes(raised: Raised, model, wanted, given):
    at, argument = _argument(raised)
    differ = [k for k in wanted if k in given and given[k] != wanted[k]]
    if not differ:
        return None
    rows = [(k, f"checkpoint {given[k]}", f"model {wanted[k]}") for k in differ[:5]]
    evidence = [*values.table(rows), f"{len(differ)} of {len(wanted)} tensors differ"]
    numbers = loaded.numbers(model, differ, wanted, given)
    fixes = loaded.with_numbers(numbers)
    if argument is not None:
        text = changes.atom(at.source, argument)
        kept = f"{{k: v for k, v in {text}.items() if k not in {differ!r}}}"
        rest = [a for a in changes.arguments(at.source, at.node, ("strict",))[1:] if "=" in a]
        whole = changes.call_text(at.source, at.node, None, [kept, *rest, "strict=False"])
        fixes.append(
            at.fix(whole, f"without the {len(differ)} that differ: they keep their initial values")
        )
    place = numbers[0][0].place if numbers else at
    return raised.finding(
        "checkpoint-shapes",
        f"{differ[0]} is {given[differ[0]]} in the checkpoint",
        place,
        evidence=evidence,
        related=at.related("the loading that failed"),
        fixes=fixes,
    )


@explains(TypeError, r"Expected state_dict to be dict-like, got <class '([\w.]+)'>")
def no_dict(raised: Raised):
    """A whole model in the file, or the file's name: the state itself."""
    at, argument = _argument(raised)
    held = upstream.inner(raised.error, "state_dict")
    if argument is None or at.source is None:
        return None
    torch, text = changes.torch_name(at.source), at.source.segment(argument)
    place, fixes = at, []
    if isinstance(held, nn.Module):
        for spot in upstream.calls(upstream.user_sources(raised), "save"):
            given = spot.node.args[0] if spot.node.args else None
            if isinstance(given, (ast.Name, ast.Attribute)) and _same_file(at, spot):
                whole = changes.method(spot.source, given, "state_dict()")
                fixes.append(spot.source.fix(given, whole, f"{whole} is saved"))
                place = spot.place
        new = changes.method(at.source, argument, "state_dict()")
    elif isinstance(held, (str, os.PathLike)):
        new = f"{torch}.load({text})"
    else:
        return None
    fixes.append(at.source.fix(argument, new))
    return raised.finding(
        "checkpoint-names",
        f"load_state_dict got {_what(held)}, and takes a dict of tensors",
        place,
        evidence=[f"{text} is {values.describe(held)}"],
        related=at.related("the loading that failed"),
        fixes=fixes[:1] if len(fixes) == 2 and place is not at else fixes,
    )


def _what(held) -> str:
    return "a whole model" if isinstance(held, nn.Module) else "a file's name"


# ---- torch.load


@explains(
    Exception,
    r"Weights only load failed.*Unsupported (?:global|class)[^\n]*?(?:GLOBAL|global) ([\w.]+)",
)
def weights_only(raised: Raised):
    """Which class the file holds; weights_only=False, or the state alone."""
    at, name = raised.innermost, raised.match[1]
    if type(raised.error).__name__ != "UnpicklingError":
        return None
    node = at.node
    fixes, related = [], []
    for spot in upstream.calls(upstream.user_sources(raised), "save"):
        if not spot.node.args or not upstream.called(spot.node) or not _same_file(at, spot):
            continue
        related.append(Related(spot.file, spot.line, "the file is written"))
    if isinstance(node, ast.Call):
        text = changes.with_keyword(at.source, node, "weights_only", "False")
        fixes.append(at.source.fix(node, text, f"{text}: only if you trust the file"))
        if "." in name:
            module, cls = name.rsplit(".", 1)
            if module == "__main__":
                torch = changes.torch_name(at.source)
                line = f"{torch}.serialization.add_safe_globals([{cls}])"
                fixes.insert(0, Fix(line, [at.source.insert_before(at.statement, line)]))
    evidence = [f"the file holds {name}, which is more than tensors and plain values"]
    return raised.finding(
        "weights-only",
        f"torch.load reads tensors only; the file holds {re.sub('^.*[.]', '', name)}",
        evidence=evidence,
        related=related,
        fixes=fixes,
    )


def _same_file(at, spot) -> bool:
    return isinstance(spot.node.func, ast.Attribute) and at.node is not None
