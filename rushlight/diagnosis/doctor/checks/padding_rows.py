"""An embedding whose row for padding was overwritten by an initialisation."""

from __future__ import annotations

from typing import ClassVar

from rushlight import _C, nn, no_grad

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "padding-row-filled",
    "The embedding's row for padding is not zero",
    """
nn.Embedding(n, d, padding_idx=0) begins with zeros in row 0 and passes it no gradient: it stays
what it is. An initialisation of the whole weight (nn.init.normal_(emb.weight)) fills that row with
noise, which is then added wherever a sequence is padded, for good. Zero the row after it.
""",
)


@check
class PaddingRows(Check):
    kinds = ("padding-row-filled",)
    needs: ClassVar = {"*": ("op embedding", 1, "no embedding was read")}

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("forward", self.forward)

    def forward(self, module, args, output):
        row = module.padding_idx if isinstance(module, nn.Embedding) else None
        if row is None or id(module) in self.seen or module.weight.device.type != "cpu":
            return
        with no_grad():
            norm = float(module.weight[row].norm())
        asked = bool((args[0] == row).any()) if args else False
        self.seen[id(module)] = (module, norm, asked, _C._last_writer(module.weight))

    def findings(self, doctor):
        said = (self.finding(*one) for one in self.seen.values() if one[1] > 0 and one[2])
        return [f for f in said if f is not None]

    def finding(self, module, norm, asked, writer):
        spot = upstream.of_place(writer)
        if spot is None or not called(spot.node).endswith("_") or called(spot.node) == "copy_":
            return None
        source, statement, fixes = spot.source, spot.statement, []
        loops = source.loops_around(statement)
        last = loops[-1] if loops else statement
        built = places.built(module)
        target = places.bound_to(built[1]) if built is not None else None
        if target is not None and built[0] is source:
            name = source.segment(target)
            functions = {source.function_of(n) for n in (target, statement)}
            of_one = source.class_of(target) is source.class_of(statement) is not None
            if len(functions) == 1 or (of_one and name.startswith("self.")):
                torch = changes.torch_name(source)
                row = f"{name}.weight[{module.padding_idx}].zero_()"
                edit = source.insert_after(last, f"with {torch}.no_grad():\n    {row}")
                fixes.append(Fix(f"{row} after it", [edit]))
        return found(
            "padding-row-filled", "wrong number", spot.place,
            f"the row of padding, {module.padding_idx}, was filled with other numbers",
            [f"row {module.padding_idx} has norm {norm:.3g} in place of 0, and gets no gradient"],
            [((built[0].file, built[1].lineno), "the embedding")] if built is not None else [],
            fixes,
        )  # fmt: skip
