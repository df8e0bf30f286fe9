"""Measurements side by side as a table."""

from __future__ import annotations

import enum

from .measurement import Measurement, select_unit, trim_sigfig, unit_to_english

_BEST, _GOOD, _BAD, _END = "\033[92m\033[1m", "\033[34m", "\033[31m", "\033[0m\033[0m"


class Colorize(enum.Enum):
    """What the colours compare with each other."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements: labels title it, sub-labels are rows, descriptions columns.

    Args:
        results: the measurements.
    """

    def __init__(self, results: list[Measurement]):
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def __str__(self):
        return "\n".join(self._render())

    def extend_results(self, results) -> None:
        """Adds measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Shows only digits that the spread leaves certain."""
        self._trim = True

    def colorize(self, rowwise=False) -> None:
        """Marks the best times of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Marks times whose spread is large."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Prints the table."""
        print(str(self))

    def _render(self) -> list[str]:
        groups: dict[str, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.label or m.stmt, []).append(m)
        return [self._table(label, group) for label, group in groups.items()]

    def _table(self, label: str, group: list[Measurement]) -> str:
        unit, size = select_unit(min(m.median for m in group))
        columns = list(dict.fromkeys(m.description or "" for m in group))
        rows = list(dict.fromkeys((m.num_threads, m.env, m.as_row_name) for m in group))
        cells = {(m.num_threads, m.env, m.as_row_name, m.description or ""): m for m in group}
        texts = {key: self._text(m, size) for key, m in cells.items()}
        envs = len({r[1] for r in rows}) > 1
        names = {r: f"({r[1]})  {r[2]}" if envs else r[2] for r in rows}
        left = max([*(len(n) for n in names.values()), len("1 threads: ") - 6]) + 6
        widths = [
            max([len(c), *(len(t) for key, t in texts.items() if key[-1] == c)]) for c in columns
        ]
        head = " " * left + "".join(f"  |  {c:^{w}}" for c, w in zip(columns, widths, strict=True))
        total = len(head)
        out = [f" {label} ".center(total - 2, "-").join("[]"), head]
        threads = None
        for row in rows:
            if row[0] != threads:
                threads = row[0]
                out.append(f"{threads} threads: ".ljust(total, "-"))
            line = f"      {names[row]}".ljust(left)
            for c, w in zip(columns, widths, strict=True):
                text = texts.get((*row, c), "").rjust(w)
                line += f"  |  {self._colored(text, row, c, cells)}"
            out.append(line)
        out += ["", f"Times are in {unit_to_english(unit)} ({unit}).", ""]
        if self._highlight_warnings and any(m.has_warnings for m in group):
            out += [
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.",
                "",
            ]
        return "\n".join(out)

    def _text(self, m: Measurement, size: float) -> str:
        digits = m.significant_figures
        value = m.median / size
        if self._trim:
            value = trim_sigfig(value, digits)
            text = f"{value:.{max(0, digits - len(str(int(value))))}f}"
        else:
            text = f"{value:.1f}"
        if self._highlight_warnings and m.has_warnings:
            text += f" (! {m.iqr / m.median * 100:.0f}%)"
        return text

    def _colored(self, text, row, column, cells) -> str:
        here = cells.get((*row, column))
        if self._colorize is Colorize.NONE or here is None:
            return text
        if self._colorize is Colorize.ROWWISE:
            others = [m.median for key, m in cells.items() if key[:-1] == row]
        else:
            others = [m.median for key, m in cells.items() if key[-1] == column]
        best = min(others)
        color = _BEST if here.median <= best * 1.05 else _GOOD if here.median <= best * 1.5 else ""
        if here.median > best * 2:
            color = _BAD
        return f"{color}{text}{_END}" if color else text
