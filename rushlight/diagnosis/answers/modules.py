"""What a module or an optimizer is: parameters, bytes, modes, and what is missing from it."""

from __future__ import annotations

from collections import Counter

from rushlight import _C, nn

from .. import values
from . import kept
from .answer import Answer
from .names import Names, unnamed_holders


def of_module(module, name: str | None, names: Names) -> Answer:
    """The answer for a module."""
    name = names.name(module) or name or "this module"
    parameters = list(module.parameters())
    buffers = list(module.buffers())
    built = _C._built(module)
    facts = {
        "name": name,
        "made": (built[0][0], built[0][2]) if built else None,
        "parameters": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "bytes": sum(t.nbytes for t in [*parameters, *buffers]),
        "training": module.training,
        "hidden": _hidden(module),
        "held_by": [f"{h.name}, {h.role}" for h in names.of(module)],
    }
    made = f", made at {values.place_of(built[0])}" if built else ""
    answer = Answer(f"{name}  {values.describe_module(module)}{made}", [], facts)
    for label, text in (
        ("holds", _holds(module, parameters, buffers, facts)),
        ("mode", _mode(module)),
        ("grads", _gradients(module)),
        ("hooks", _hooks(module)),
        ("hidden", "; ".join(facts["hidden"])),
        ("held by", "; ".join(facts["held_by"]) or "; ".join(unnamed_holders(module, names))),
    ):
        if text:
            answer.sections.append((label, text))
    return answer


def _holds(module, parameters: list, buffers: list, facts: dict) -> str:
    children = len(list(module.modules())) - 1
    text = f"{facts['parameters']:,} values in {len(parameters)} parameters"
    frozen = facts["parameters"] - facts["trainable"]
    text += f" ({frozen:,} of them frozen)" if frozen else ""
    text += f", {len(buffers)} buffers" if buffers else ""
    text += f", {children} modules inside" if children else ""
    text += f"; {kept.in_units(facts['bytes'])}"
    kinds = Counter((values.dtype_name(t.dtype), t.device.type) for t in [*parameters, *buffers])
    return f"{text}; {', '.join(f'{n} {dtype} {device}' for (dtype, device), n in kinds.items())}"


def _mode(module) -> str:
    """Training or eval, and the modules inside that are in the other one."""
    other = [n for n, m in module.named_modules() if m.training != module.training]
    text = "training" if module.training else "eval"
    if other:
        rest = "eval" if module.training else "training"
        text += f"; {len(other)} inside in {rest}: {', '.join(other[:4])}"
    return text


def _gradients(module) -> str:
    trained = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
    without = [n for n, p in trained if p.grad is None]
    if not trained:
        return ""
    if not without:
        return f"all {len(trained)} parameters have one"
    more = ", ..." if len(without) > 4 else ""
    return f"{len(without)} of {len(trained)} parameters have none: {', '.join(without[:4])}{more}"


def _hooks(module) -> str:
    counts = {
        what: len(vars(module).get(table, ()))
        for what, table in (
            ("forward", "_forward_hooks"),
            ("forward pre", "_forward_pre_hooks"),
            ("backward", "_backward_hooks"),
        )
    }
    return ", ".join(f"{n} {what}" for what, n in counts.items() if n)


def _hidden(module) -> list[str]:
    """Attributes whose modules or parameters the module does not know of."""
    found = []
    for path, inner in module.named_modules():
        for key, value in vars(inner).items():
            listed = value.values() if isinstance(value, dict) else value
            if key.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            count = sum(isinstance(v, (nn.Module, nn.Parameter)) for v in listed)
            if count:
                where = f"{path}.{key}" if path else key
                found.append(f"{where}, a plain {type(value).__name__}, holds {count} of them")
    return found


def of_optimizer(optimizer, name: str | None, names: Names) -> Answer:
    """The answer for an optimizer."""
    name = names.name(optimizer) or name or "this optimizer"
    held = values.parameters_of(optimizer)
    state = [
        v for s in optimizer.state.values() for v in s.values() if isinstance(v, _C.TensorBase)
    ]
    ids = {id(p) for p in held}
    facts = {
        "name": name,
        "parameters": sum(p.numel() for p in held),
        "state_bytes": sum(t.nbytes for t in state),
        "missing": _missing(ids, names),
        "strangers": sum(names.name(p) is None for p in held),
    }
    answer = Answer(f"{name}  {type(optimizer).__name__}", [], facts)
    for number, group in enumerate(optimizer.param_groups):
        settings = [
            f"{key} {value:g}"
            for key, value in group.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        ]
        count = sum(p.numel() for p in group["params"])
        text = f"{len(group['params'])} parameters, {count:,} values; {', '.join(settings)}"
        answer.sections.append((f"group {number}", text))
    answer.sections.append(("state", kept.in_units(facts["state_bytes"])))
    if facts["missing"]:
        answer.sections.append(("misses", ", ".join(facts["missing"][:6])))
    if facts["strangers"]:
        text = f"{facts['strangers']} of its parameters belong to nothing that has a name"
        answer.sections.append(("strange", text))
    frozen = [names.name(p) or "?" for p in held if not p.requires_grad]
    if frozen:
        answer.sections.append(("frozen", f"{len(frozen)}: {', '.join(frozen[:6])}"))
    return answer


def _missing(ids: set[int], names: Names) -> list[str]:
    """Parameters of the models it holds a part of, which it does not hold."""
    found = []
    for held in names.modules:
        parameters = list(held.value.named_parameters())
        if any(id(p) in ids for _, p in parameters):
            found += [
                f"{held.name}.{n}" for n, p in parameters if id(p) not in ids and p.requires_grad
            ]
    return list(dict.fromkeys(found))
