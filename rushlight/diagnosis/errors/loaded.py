"""What a checkpoint says of the model it was saved from: its numbers, its layers, its buffers."""

from __future__ import annotations

import ast
import re

from rushlight import nn

from .. import changes, construction, decided, upstream, values
from ..finding import Fix
from ..registry import kind
from . import Raised

kind(
    "checkpoint-built-otherwise",
    "A checkpoint was saved from a model that was built otherwise",
    """
The names of a state_dict tell how its model was built: how many layers a list had, which layers had
a bias, which buffers were saved. Build the model in the same way. A buffer with persistent=False,
and a tensor or a list of layers that is a plain attribute, are in no state_dict: what was saved
from such a module lacks them, and what is loaded into it finds no place for them.
""",
)

# Where a tensor's sizes come from: its name, the argument (with its place) and the dimension.
_SIZES = {
    "Linear": (("weight", "out_features", 1, 0), ("weight", "in_features", 0, 1)),
    "Embedding": (("weight", "num_embeddings", 0, 0), ("weight", "embedding_dim", 1, 1)),
    "LayerNorm": (("weight", "normalized_shape", 0, 0),),
    "MultiheadAttention": (("in_proj_weight", "embed_dim", 0, 1),),
    "TransformerEncoderLayer": (
        ("norm1.weight", "d_model", 0, 0),
        ("linear1.weight", "dim_feedforward", 2, 0),
    ),
}
for _rank in "123":
    _SIZES[f"BatchNorm{_rank}d"] = (("weight", "num_features", 0, 0),)
    _SIZES[f"Conv{_rank}d"] = (
        ("weight", "out_channels", 1, 0),
        ("weight", "in_channels", 0, 1),
        ("weight", "kernel_size", 2, 2),
    )
for _name in ("RNN", "LSTM", "GRU"):
    _SIZES[_name] = (("weight_hh_l0", "hidden_size", 1, 1), ("weight_ih_l0", "input_size", 0, 1))


# ---- Other numbers


def numbers(model, differ: list[str], wanted: dict, given: dict) -> list[tuple]:
    """(decision, the checkpoint's number) of all that was decided otherwise."""
    found: dict[tuple, tuple] = {}
    for key in differ:
        for decision, have, saved in _of_shape(model, key, wanted[key], given[key]):
            written = isinstance(decision.node, ast.Constant) and decision.node.value == have
            if decision.keyword or written:
                found.setdefault((*decision.place, decision.name), (decision, saved))
    return list(found.values())


def with_numbers(decisions: list[tuple]) -> list[Fix]:
    """The model as it was saved: all numbers that differ, in one change."""
    if not decisions:
        return []
    says = "as in the checkpoint"
    if len(decisions) == 1:
        decision, number = decisions[0]
        return [decision.fix(str(number), says)]
    edits, shown = [], []
    for place in dict.fromkeys(d.place for d, _ in decisions):
        here = [(d, str(n)) for d, n in decisions if d.place == place]
        if len(here) > 1 and any(d.keyword for d, _ in here):
            return []
        edits.append(here[0][0].source.replace(*((d.node, d.text(n)) for d, n in here)))
        shown += [f"{d.name} = {n}" for d, n in here]
    return [Fix(f"{', '.join(shown)}: {says}", edits)]


def _of_shape(model, key: str, have: tuple, saved: tuple):
    """What decided the sizes in which a tensor differs, each with the checkpoint's size."""
    path, _, name = key.rpartition(".")
    while True:
        layer = model.get_submodule(path)
        for tensor, argument, place, d in _SIZES.get(type(layer).__name__, ()):
            if tensor == name and saved[d : d + 1] != have[d : d + 1]:
                decision = _argument(model, path, layer, place, argument)
                if decision is not None:
                    yield decision, have[d], saved[d]
        if not path:
            break
        path, _, last = path.rpartition(".")
        name = f"{last}.{name}"
    yield from _of_parameter(model, key, have, saved)


def _argument(model, path: str, layer, place: int, name: str):
    """Where an argument of a layer was decided, also of one that a stack of layers repeats."""
    spot = upstream.of_module(layer)
    if spot is not None:  # the user's own call, and none of a layer of the library's around it
        own = upstream.called(spot.node) == type(layer).__name__
        return decided.of_argument(layer, place, name) if own else None
    stack = _submodule(model, ".".join(path.split(".")[:-2]))
    spot = upstream.options_of(stack) if isinstance(stack, nn.TransformerEncoder) else None
    node = construction.argument(spot.node, place, name) if spot is not None else None
    if node is None:
        return None
    return decided.follow(spot.source, node, construction.steps_to(stack)[1:], name)


def _of_parameter(model, key: str, have: tuple, saved: tuple):
    """The sizes of ``nn.Parameter(torch.zeros(1, n, d))`` and of a buffer."""
    path, _, name = key.rpartition(".")
    owner = model.get_submodule(path)
    made = _made(owner, name)
    if made is None:
        return
    for node in ast.walk(made.node):
        sizes = node.args if isinstance(node, ast.Call) else []
        if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple):
            sizes = sizes[0].elts
        if len(sizes) == len(have) and upstream.called(node) != "Parameter":
            for size, a, b in zip(sizes, have, saved, strict=True):
                if a != b:
                    steps = construction.steps_to(owner)
                    yield decided.follow(made.source, size, steps), a, b


# ---- Layers, buffers and attributes that only one of the two has


def elsewhere(raised: Raised, at, model, wanted, given, missing: list[str], extra: list[str]):
    """The one difference in building that explains all names that do not pair up."""
    if missing and extra:
        return None
    keys = missing or extra
    for look in (_repeats, _recurrent, _attribute, _buffer, _hidden_then, _bias):
        found = look(raised, model, keys, bool(missing), given)
        if found is not None:
            place, title, fixes, evidence = found
            shown = ", ".join(keys[:4]) + (", ..." if len(keys) > 4 else "")
            side = "missing in the checkpoint" if missing else "unknown to the model"
            return raised.finding(
                "checkpoint-built-otherwise",
                title,
                place,
                evidence=[f"{side}, {len(keys)}: {shown}", *evidence],
                related=at.related("the loading that failed"),
                fixes=fixes,
            )
    return None


def _repeats(raised, model, keys, missing: bool, given):
    """Another number of layers in a list."""
    for prefix in _prefixes(keys):
        holder = _list_of_layers(model, prefix)
        numbered = [re.match(re.escape(prefix) + r"\.(\d+)\.", k) for k in given]
        saved = max((int(m[1]) + 1 for m in numbered if m), default=0)
        if holder is None or not saved or saved == len(holder):
            continue
        inside = [re.match(re.escape(prefix) + r"\.(\d+)\.", k) for k in keys]
        least = min(saved, len(holder))
        if not all(m and int(m[1]) >= least for m in inside):
            continue
        decision = _count(model, prefix, holder)
        if decision is None:
            return None
        fix = decision.fix(str(saved), "as many layers as in the checkpoint")
        title = f"{prefix} has {len(holder)} layers, and {saved} in the checkpoint"
        return decision.place, title, [fix], []
    return None


def _prefixes(keys: list[str]) -> list[str]:
    """The lists that a name lies in: ``blocks`` of ``blocks.3.fc.weight``, the outermost first."""
    parts = keys[0].split(".")
    return [".".join(parts[:i]) for i, part in enumerate(parts) if part.isdigit() and i]


def _submodule(model, path: str):
    try:
        return model.get_submodule(path)
    except AttributeError:
        return None


def _list_of_layers(model, path: str):
    found = _submodule(model, path)
    return found if isinstance(found, (nn.ModuleList, nn.Sequential)) else None


def _count(model, prefix: str, holder):
    """What decided how many layers a list has."""
    path, _, name = prefix.rpartition(".")
    owner = model.get_submodule(path)
    if isinstance(owner, (nn.TransformerEncoder, nn.TransformerDecoder)):
        return _constant(decided.of_argument(owner, 1, "num_layers"))
    spot = upstream.of_module(holder) or upstream.attribute_of(owner, name)
    steps = construction.steps_to(owner)
    for node in ast.walk(spot.node) if spot is not None else ():
        if upstream.called(node) == "range" and len(node.args) == 1:
            return _constant(decided.follow(spot.source, node.args[0], steps))
    return None


def _constant(decision):
    """A decision that another number can be written in the place of."""
    if decision is None or decision.keyword or isinstance(decision.node, ast.Constant):
        return decision
    return None


def _recurrent(raised, model, keys, missing: bool, given):
    """Layers, or the other direction, of an RNN, LSTM or GRU."""
    path = keys[0].rpartition(".")[0]
    layer = _submodule(model, path)
    names = [k.rpartition(".")[2] for k in given if k.rpartition(".")[0] == path]
    if not isinstance(layer, nn.RNNBase) or any(k.rpartition(".")[0] != path for k in keys):
        return None
    saved = len([n for n in names if re.fullmatch(r"weight_hh_l\d+", n)])
    both = any(n.endswith("_reverse") for n in names)
    biases = any(n.startswith("bias") for n in names)
    for name, place, have, wants in (
        ("num_layers", 2, layer.num_layers, saved),
        ("bidirectional", 6, layer.bidirectional, both),
        ("bias", 3, layer.bias, biases),
    ):
        if have != wants and saved:
            decision = _constant(decided.of_argument(layer, place, name))
            if decision is None:
                return None
            fix = decision.fix(str(wants), "as in the checkpoint")
            title = (
                f"{path or type(layer).__name__} has {name} {have}, and {wants} in the checkpoint"
            )
            return decision.place, title, [fix], []
    return None


def _bias(raised, model, keys, missing: bool, given):
    """bias=False of a layer."""
    layers = {k.rpartition(".")[0] for k in keys}
    if len(layers) != 1 or keys[0].rpartition(".")[2] != "bias":
        return None
    layer = _submodule(model, layers.pop())
    spot = upstream.of_module(layer) if layer is not None else None
    if spot is None or upstream.called(spot.node) != type(layer).__name__:
        return None
    node = changes.keyword(spot.node, "bias")
    if missing:
        text = changes.with_keyword(spot.source, spot.node, "bias", "False")
    elif isinstance(node, ast.Constant):
        text = changes.without_keyword(spot.source, spot.node, "bias")
    else:
        return None
    title = f"{values.describe_module(layer)} has {'a' if missing else 'no'} bias"
    title += f", and {'none' if missing else 'one'} in the checkpoint"
    return spot.place, title, [spot.fix(text)], []


def _owner(model, keys):
    """(the module that all of the first parts of names lie in, its attribute's name)."""
    path, _, name = keys[0].rpartition(".")
    parts = path.split(".") if path else []
    for number in range(len(parts) + 1):
        here = ".".join(parts[:number])
        owner = model.get_submodule(here)
        left = [*parts[number:], name]
        if left[0] not in owner._modules and left[0] not in owner._parameters:
            stem = f"{here}.{left[0]}" if here else left[0]
            same = all(k == stem or k.startswith(stem + ".") for k in keys)
            return (owner, left[0]) if same else (None, "")
    return None, ""


def _attribute(raised, model, keys, missing: bool, given):
    """A tensor, or a list of layers, that is a plain attribute now."""
    owner, name = _owner(model, keys) if not missing else (None, "")
    held = vars(owner).get(name) if owner is not None else None
    spot = upstream.attribute_of(owner, name) if held is not None else None
    if spot is None or not isinstance(spot.statement, ast.Assign):
        return None
    if values.is_tensor(held):
        text = f'self.register_buffer("{name}", {spot.text})'
        if held.requires_grad:
            text = f"self.{name} = {changes.prefix_for(spot.source, 'nn')}.Parameter({spot.text})"
        if ast.unparse(spot.statement.targets[0]) != f"self.{name}":
            return None
        edit = spot.source.replace((spot.statement, text))
        title = f"{name} is a plain attribute: it has no place in the state_dict"
    elif isinstance(held, (list, dict)) and held:
        text = _registered(spot, held)
        edit = spot.source.replace((spot.node, text))
        title = f"{name} is a plain {type(held).__name__}: its layers are not in the state_dict"
    else:
        return None
    return spot.place, title, [Fix(text.splitlines()[0], [edit])], []


def _registered(spot, held) -> str:
    kind_ = "ModuleDict" if isinstance(held, dict) else "ModuleList"
    return f"{changes.prefix_for(spot.source, 'nn')}.{kind_}({spot.text})"


def _registration(owner, name: str):
    """The call ``self.register_buffer("name", ...)`` in a module's class."""
    found = upstream.class_source(type(owner))
    for node in ast.walk(found[1]) if found is not None else ():
        named = upstream.called(node) == "register_buffer" and node.args
        if named and getattr(node.args[0], "value", None) == name:
            return upstream.Spot(found[0], node)
    return None


def _made(owner, name: str):
    """The expression that a parameter or buffer was made by."""
    spot = _registration(owner, name)
    if spot is not None and len(spot.node.args) > 1:
        return upstream.Spot(spot.source, spot.node.args[1])
    return upstream.attribute_of(owner, name)


def _buffer(raised, model, keys, missing: bool, given):
    """A buffer that is saved on one side only."""
    path, _, name = keys[0].rpartition(".")
    owner = _submodule(model, path) if len(keys) == 1 else None
    if owner is None or name not in owner._buffers:
        return None
    spot = _registration(owner, name)
    if spot is None:
        return None
    node = changes.keyword(spot.node, "persistent")
    persistent = name not in owner._non_persistent_buffers_set
    title = f"the buffer {name} is {'saved' if persistent else 'not saved (persistent=False)'} here"
    title += f", and {'is not' if persistent else 'is'} in the checkpoint"
    if node is not None and not isinstance(node, ast.Constant):
        decision = _constant(decided.follow(spot.source, node, construction.steps_to(owner)))
        if decision is None:
            return None
        return decision.place, title, [decision.fix(str(not persistent))], []
    if persistent:
        text = changes.with_keyword(spot.source, spot.node, "persistent", "False")
    else:
        text = changes.without_keyword(spot.source, spot.node, "persistent")
    fix = spot.fix(text, f"{text}: its value is what __init__ gives it" if persistent else text)
    return spot.place, title, [fix], []


def _hidden_then(raised, model, keys, missing: bool, given):
    """Layers that stood in a plain list of the class that was saved."""
    prefix = next(iter(_prefixes(keys)), "")
    holder = _list_of_layers(model, prefix) if prefix else None
    if not missing or holder is None or not all(k.startswith(f"{prefix}.") for k in keys):
        return None
    name = prefix.rpartition(".")[2]
    for source in upstream.user_sources(raised):
        for owner in (n for n in source.tree.body if isinstance(n, ast.ClassDef)):
            for statement in source.attribute_assignments(name, owner):
                value = upstream.attribute_value(statement, name)
                if isinstance(value, (ast.List, ast.ListComp)):
                    spot = upstream.Spot(source, value)
                    text = _registered(spot, [])
                    title = f"{owner.name}.{name} is a plain list: what was saved lacks its layers"
                    fix = source.fix(value, text, text.splitlines()[0])
                    return spot.place, title, [fix], []
    return None
