"""`rushlight.graph(x)`: the graph behind a tensor as text, as DOT for Graphviz and as SVG."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from dataclasses import dataclass, field

from rushlight import _C

from .. import graphs, values
from ..finding import WIDTH
from . import kept
from .names import Names, user_frames

MOST_ROWS = 40
BOX, GAP, HIGH, BELOW = 168, 16, 46, 34  # of the picture, in pixels


@dataclass
class Shown:
    """One node: its number from 1, what it is called, its saved bytes, its line, who follows."""

    number: int
    label: str
    bytes: int = 0
    saved: str = ""
    place: str = ""
    is_leaf: bool = False
    follows: list[int] = field(default_factory=list)
    layer: int = 0
    column: float = 0.0


def graph(*tensors) -> Graph:
    """The graph behind tensors: print it, or take ``.text``, ``.dot``, ``.svg``, ``.save(file)``.

    Args:
        tensors: results that require grad, usually one loss.

    Each node has its saved bytes (a storage that several saved counts where it was saved first,
    weights do not count) and the user's line that made it; leaves have their names.

    Raises:
        ValueError: where no tensor has a graph.
    """
    if not any(t.grad_fn is not None for t in tensors):
        raise ValueError("graph() needs a tensor that a graph hangs on: requires_grad is False")
    return Graph(tensors, Names(user_frames(2)))


class Graph:
    """A graph, drawn: ``nodes`` (newest first), ``bytes`` saved in all, text and pictures."""

    def __init__(self, tensors, names: Names):
        self.name = ", ".join(names.name(t) or values.describe(t) for t in tensors)
        self.nodes = _shown(tensors, names)
        self.bytes = sum(n.bytes for n in self.nodes)

    def __str__(self) -> str:
        return self._table(MOST_ROWS)

    __repr__ = __str__

    @property
    def text(self) -> str:
        """All nodes as a table of 80 columns, newest first; gradients go to higher numbers."""
        return self._table(len(self.nodes))

    def _table(self, most: int) -> str:
        inner = sum(not n.is_leaf for n in self.nodes)
        head = f"{self.name}: {inner} nodes, {len(self.nodes) - inner} leaves, "
        rows = [(str(n.number), n.label, n.saved, n.place, _arrow(n)) for n in self.nodes[:most]]
        lines = [head + f"{kept.in_units(self.bytes)} saved"]
        if rows:
            lines += _columns([("#", "node", "saved", "line", "gradient to"), *rows])
        if len(self.nodes) > most:
            lines.append(f"... and {len(self.nodes) - most} more: .text has all")
        return "\n".join(line[:WIDTH].rstrip() for line in lines)

    @property
    def dot(self) -> str:
        """The graph in Graphviz's language."""
        lines = ["digraph graph_of_tensors {", '  node [shape=box, fontname="sans-serif"];']
        for n in self.nodes:
            text = "\\n".join(_quoted(part) for part in (n.label, n.saved, n.place) if part)
            style = ", style=rounded" if n.is_leaf else ""
            lines.append(f'  n{n.number} [label="{text}"{style}];')
        lines += [f"  n{n.number} -> n{k};" for n in self.nodes for k in n.follows]
        return "\n".join([*lines, "}"])

    @property
    def svg(self) -> str:
        """The graph as a picture of its own: no network, light and dark."""
        return _svg(self.nodes, str(self).split("\n")[0])

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, file) -> None:
        """Writes a file: .svg, .dot, .txt; .png and .pdf where Graphviz's ``dot`` is installed.

        Raises:
            ValueError: for another suffix, or where ``dot`` is missing.
        """
        suffix = os.path.splitext(os.fspath(file))[1].lower()
        if suffix in (".png", ".pdf"):
            program = shutil.which("dot")
            if program is None:
                raise ValueError(f"{suffix} needs Graphviz, which is not installed: use .svg")
            made = subprocess.run(
                [program, f"-T{suffix[1:]}"],
                input=self.dot.encode(),
                capture_output=True,
                check=True,
            )
            with open(file, "wb") as out:
                out.write(made.stdout)
            return
        texts = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".txt": "text"}
        if suffix not in texts:
            raise ValueError(f"graph files end in .svg, .dot, .txt, .png or .pdf, not {suffix!r}")
        with open(file, "w", encoding="utf-8") as out:
            out.write(getattr(self, texts[suffix]) + "\n")


def _arrow(node: Shown) -> str:
    return ", ".join(map(str, node.follows))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _columns(rows: list[tuple]) -> list[str]:
    most = (5, 24, 28, 18)
    widths = [min(max(len(r[i]) for r in rows), most[i]) for i in range(4)]
    return [
        "  ".join([*(c[:w].ljust(w) for c, w in zip(r, widths, strict=False)), r[-1]]) for r in rows
    ]


def _shown(tensors, names: Names) -> list[Shown]:
    """Nodes before those that they hand gradients to, newest first."""
    found = sorted(graphs.nodes(*tensors), key=lambda n: -_order(n))
    numbers = {node: i for i, node in enumerate(found, 1)}
    counted: set[int] = {v.untyped_storage().data_ptr() for v in graphs.leaves(*tensors)}
    shown = []
    for node in found:
        leaf = getattr(node, "variable", None)
        one = Shown(numbers[node], kept.short(node), is_leaf=leaf is not None)
        if leaf is not None:
            one.label = names.name(leaf) or "leaf"
            one.saved = values.shape_of(leaf)
        else:
            _weigh(one, node, counted)
            one.place = values.place_of(_C._origin(node)) or ""
        following = (n for n, _ in node.next_functions if n is not None)
        one.follows = list(dict.fromkeys(numbers[n] for n in following if n in numbers))
        shown.append(one)
    return shown


def _order(node) -> int:
    """Leaves last; other nodes by age."""
    return -1 if getattr(node, "variable", None) is not None else node._sequence_nr()


def _weigh(one: Shown, node, counted: set[int]) -> None:
    parts = []
    for name, tensor in kept.saved(node):
        where = tensor.untyped_storage().data_ptr()
        if where in counted:
            continue
        counted.add(where)
        one.bytes += tensor.untyped_storage().nbytes()
        parts.append(name)
    if one.bytes:
        one.saved = " ".join([kept.in_units(one.bytes), *dict.fromkeys(p for p in parts if p)])
    elif (at := _C._freed_by(node)) is not None:
        one.saved = f"freed at {values.place_of(at)}"


# ---- The picture


def _layers(nodes: list[Shown]) -> list[list[Shown]]:
    """Rows: a node stands below all that lead to it; leaves right below the lowest of those."""
    by = {n.number: n for n in nodes}
    for node in nodes:  # those before come first
        for k in node.follows:
            by[k].layer = max(by[k].layer, node.layer + 1)
    rows: list[list[Shown]] = [[] for _ in range(max((n.layer for n in nodes), default=0) + 1)]
    above: dict[int, list[Shown]] = {}
    for node in nodes:
        for k in node.follows:
            above.setdefault(k, []).append(node)
    for node in sorted(nodes, key=lambda n: n.layer):
        rows[node.layer].append(node)
    for row in rows:
        for place, node in enumerate(row):
            over = above.get(node.number, ())
            node.column = sum(n.column for n in over) / len(over) if over else place
        row.sort(key=lambda n: n.column)
        last = None
        for node in row:  # no closer than one box
            node.column = node.column if last is None else max(node.column, last + 1)
            last = node.column
        _under_what_leads_there(row, above)
    return rows


def _under_what_leads_there(row: list[Shown], above: dict[int, list[Shown]]) -> None:
    """Moves a row so that its inner nodes stand below those that lead to them, on average."""
    placed = [n for n in row if n.number in above and not n.is_leaf]
    placed = placed or [n for n in row if n.number in above]
    by = 0.0
    for node in placed:
        over = above[node.number]
        by += sum(n.column for n in over) / len(over) - node.column
    for node in row:
        node.column += by / max(len(placed), 1)


_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1b1b1b }
.more { font-size: 11px; fill: #555 }
rect { fill: #f4f4f4; stroke: #777 }
.leaf { fill: #e2efe4; stroke: #4a7a52 }
path { fill: none; stroke: #777 }
.back { fill: #fff; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #eee } .more { fill: #bbb } rect { fill: #2b2b2b; stroke: #999 }
  .leaf { fill: #243a28; stroke: #7fb08a } path { stroke: #999 } .back { fill: #161616 }
}
"""


def _svg(nodes: list[Shown], title: str) -> str:
    rows = _layers(nodes)
    left = min(n.column for n in nodes)
    wide = max(n.column for n in nodes) - left + 1
    width = int(wide * (BOX + GAP)) + GAP
    height = len(rows) * (HIGH + BELOW) + GAP
    at = {
        n.number: (GAP + (n.column - left) * (BOX + GAP), GAP + n.layer * (HIGH + BELOW))
        for n in nodes
    }
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img"><title>{html.escape(title)}</title>'
            f'<style>{_STYLE}</style><rect class="back" width="{width}" height="{height}"/>'
        )
    ]
    for n in nodes:
        x, y = at[n.number]
        for k in n.follows:
            u, v = at[k]
            a, b, mid = x + BOX / 2, u + BOX / 2, (y + HIGH + v) / 2
            parts.append(
                f'<path d="M{a:.0f} {y + HIGH} C{a:.0f} {mid:.0f} {b:.0f} {mid:.0f} {b:.0f} {v}"/>'
            )
    parts += [_box(n, *at[n.number]) for n in nodes]
    return "\n".join([*parts, "</svg>"])


def _box(n: Shown, x: float, y: float) -> str:
    whole = html.escape(" | ".join(p for p in (n.label, n.saved, n.place) if p))
    rounded = ' rx="10" class="leaf"' if n.is_leaf else ' rx="3"'
    size = n.saved if n.is_leaf or not n.bytes else kept.in_units(n.bytes)
    more = " ".join(part for part in (size, n.place) if part)
    return (
        f'<g><title>{whole}</title><rect x="{x:.0f}" y="{y}" width="{BOX}" height="{HIGH}"'
        f'{rounded}/><text x="{x + 8:.0f}" y="{y + 19}">{html.escape(_cut(n.label, 24))}</text>'
        f'<text class="more" x="{x + 8:.0f}" y="{y + 37}">{html.escape(_cut(more, 28))}</text></g>'
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
