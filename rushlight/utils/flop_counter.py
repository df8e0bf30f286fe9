"""FlopCounterMode: the floating-point operations of products, convolutions and attention."""

from __future__ import annotations

from collections import defaultdict

import rushlight as torch
from rushlight import _ops

__all__ = ["FlopCounterMode", "register_flop_formula"]

_PRODUCTS = frozenset(
    "mm addmm bmm baddbmm convolution convolution_backward _scaled_mm "
    "_scaled_dot_product_flash_attention_for_cpu".split()
)
# What is counted under another operator's name, as PyTorch runs it.
_COUNTED_AS = {"linear_backward": "mm", "addmv": "mm", "mv": "mm", "dot": "mm"}
_SUFFIXES = ("", "K", "M", "B", "T")


def register_flop_formula(targets, get_raw=False):
    """A decorator for formulas of further operators; the core's operators know their own."""
    return lambda formula: formula


def _with_suffix(number: int) -> str:
    index = 0
    while number >= 1000 * 1000**index and index < len(_SUFFIXES) - 1:
        index += 1
    return f"{number / 1000**index:.3f}{_SUFFIXES[index]}" if index else str(number)


class FlopCounterMode:
    """Counts in a block, backward passes included, in all and by module.

    Args:
        mods: not needed.
        depth: levels of modules in the table.
        display: print the table at the end.
        custom_mapping: not used: operators count themselves.
    """

    def __init__(self, mods=None, depth: int = 2, display: bool = True, custom_mapping=None):
        if mods is not None:
            import warnings

            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.depth, self.display = depth, display
        self.flop_counts: dict = defaultdict(lambda: defaultdict(int))

    def __enter__(self):
        from rushlight.profiler import profile

        self.flop_counts.clear()
        self._profile = profile(with_flops=True, with_modules=True, record_shapes=True)
        self._profile.__enter__()
        return self

    def __exit__(self, *error):
        self._profile.__exit__(*error)
        names: dict = {}
        for event in self._profile.events():
            self._count(event, names)
        del self._profile
        if self.display:
            print(self.get_table(self.depth))

    def _count(self, event, names: dict) -> None:
        module = event.module
        if event.name.startswith("nn.Module: ") and id(module) not in names:
            for name, part in module.named_modules():
                home = type(module).__name__
                names[id(part)] = f"{home}.{name}" if name else home
        op = event.name.removeprefix("aten::")
        target = _COUNTED_AS.get(op, op)
        if target not in _PRODUCTS or not event.flops:
            return
        while module is None and event.cpu_parent is not None:  # backward: its node has one
            event_above = event.cpu_parent
            module, event = event_above.module, _Seen(event, event_above)
        packet = getattr(torch.ops.aten, target, None) or _ops.packet(f"aten::{target}")
        places = {"Global"}
        if module is not None and id(module) in names:
            parts = names[id(module)].split(".")
            places |= {".".join(parts[: i + 1]) for i in range(len(parts))}
        for place in places:
            self.flop_counts[place][packet] += _products_only(op, event)

    def get_flop_counts(self) -> dict:
        """{module: {operator: count}}; "Global" is all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_total_flops(self) -> int:
        """The sum over all."""
        return sum(self.flop_counts["Global"].values())

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a text, by module down to ``depth`` levels and by operator."""
        depth = 999999 if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = []
        for name in sorted(self.flop_counts, key=lambda n: (n != "Global", n)):
            level = name.count(".") + 1
            if name != "Global" and level > depth:
                continue
            indent = " " * (0 if name == "Global" else level)
            counts = self.flop_counts[name]
            rows.append((indent + name, sum(counts.values())))
            rows += [(f"{indent} - {packet}", count) for packet, count in counts.items()]
        width = max((len(row[0]) for row in rows), default=6)
        lines = [f"{'Module':<{width}}  {'FLOP':>10}  {'% Total':>8}"]
        lines.append("-" * len(lines[0]))
        lines += [
            f"{name:<{width}}  {_with_suffix(count):>10}  {count / total:>8.2%}"
            for name, count in rows
        ]
        return "\n".join(lines)


class _Seen:
    """An op's count and shapes, seen from what it ran in."""

    def __init__(self, event, above):
        self.flops, self.input_shapes = event.flops, event.input_shapes
        self.cpu_parent = above.cpu_parent


def _products_only(op: str, event) -> int:
    """Without the sums that give a bias' gradient: one addition per element of the gradient."""
    if not op.endswith("_backward") or not event.input_shapes:
        return event.flops
    elements = 1
    for size in event.input_shapes[0]:
        elements *= size
    return event.flops - elements if elements and event.flops // elements % 2 else event.flops
