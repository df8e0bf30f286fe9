"""Parameters that nobody wrote: memory as it was found."""

from __future__ import annotations

import ast
import re
from typing import ClassVar

from rushlight import _C

from ... import changes, upstream
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..places import found

kind(
    "parameter-never-written",
    "A parameter begins with whatever its memory held",
    """
torch.empty(n, m) and torch.Tensor(n, m) ask for memory and write nothing into it. A parameter made
of them has to be initialised: nn.init.xavier_uniform_(self.weight), zeros for a bias. Without that
it begins with zeros, with old values or with NaN, another time with others.
""",
)
MAKING = ("Tensor", "FloatTensor", "DoubleTensor", "empty", "empty_like", "new_empty")


@check
class Unwritten(Check):
    kinds = ("parameter-never-written",)
    needs: ClassVar = {"*": ("step", 1, "no optimizer stepped")}

    def start(self, doctor):
        self.seen, self.watch, self.passes = {}, doctor.watch, doctor.passes
        doctor.watch.on("step", self.step)

    def step(self, optimizer):
        """Before the first step: what no operation has changed in place."""
        self.watch.off("step", self.step)
        for model in self.passes.models.values():
            for name, p in model.named_parameters():
                if p._version == 0 and p.device.type == "cpu" and p.numel():
                    origin = places.origin_node(p)
                    if origin is not None and _asks_for_memory(origin[1]):
                        least, most = p.detach().aminmax()
                        self.seen.setdefault(_C._origin(p), (name, p, float(least), float(most)))

    def findings(self, doctor):
        if not self.seen:
            return []
        sources = upstream.program_sources()
        bare = [one for one in self.seen.values() if not _is_written(sources, one[0])]
        return [self.finding(*one) for one in bare]

    def finding(self, name, p, least, most):
        source, node = places.origin_node(p)
        outer = node.parent if called(node.parent) == "Parameter" else node
        target, fixes = places.bound_to(outer), []
        if target is not None:
            init = "zeros_" if p.dim() < 2 else "xavier_uniform_"
            prefix = changes.prefix_for(source, "nn.init")
            line = f"{prefix}.{init}({source.segment(target)})"
            edit = source.insert_after(source.statement_of(node), line)
            fixes.append(Fix(f"{line} after it", [edit]))
        lay = f"and lay between {least:.3g} and {most:.3g}"
        return found(
            "parameter-never-written", "wrong result", (source.file, node.lineno),
            f"{name} begins with what its memory held",
            [f"its {p.numel():,} values were written 0 times before the first step, {lay}"],
            [], fixes,
        )  # fmt: skip


def _asks_for_memory(node: ast.AST) -> bool:
    """``torch.empty(n, m)``, or ``torch.Tensor(n, m)`` of sizes, not of a list of values."""
    name = called(node)
    if name not in MAKING:
        return False
    sizes = [a for a in node.args if not isinstance(a, ast.Starred)]
    return not name.endswith("Tensor") or len(sizes) > 1 or _is_number(sizes)


def _is_number(nodes: list) -> bool:
    return len(nodes) == 1 and isinstance(nodes[0], ast.Constant) and type(nodes[0].value) is int


def _is_written(sources: list[Source], name: str) -> bool:
    """Whether the program's text has anything that may write a parameter without a trace."""
    last = re.escape(name.rpartition(".")[2])
    writing = re.compile(
        rf"\b{last}\.(data|detach\(\)|\w+_\()|\bload_state_dict\b|\.apply\("
        rf"|init\w*(\.\w+)?\([^)]*\b{last}\b|\.data(\.\w+_\(|\s*=|\[)|_\(p(aram)?\b"
    )
    return any(writing.search(line) for source in sources for line in source.lines)
