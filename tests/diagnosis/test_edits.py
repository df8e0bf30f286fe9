"""Edits where statements share a line, and changes as they are shown."""

import ast

import pytest

from rushlight.diagnosis import changes
from rushlight.diagnosis.doctor import places
from rushlight.diagnosis.finding import Edit, Finding, Fix, apply_edits
from rushlight.diagnosis.source import Source

TEXT = """\
for i in range(3): a = 1; b = f(a,
      2)  # end
if a: c = 1
else: d = 2
for k in "xy":
    p = 1; q = 2; r = 3
    s = 4
with open(k): u = 1; v = 2
"""
SOURCE = Source("nowhere.py", TEXT)
BY_NAME = {n.targets[0].id: n for n in ast.walk(SOURCE.tree) if isinstance(n, ast.Assign)}


def changed(edit, first, last):
    """Lines of the text with an edit; it is still Python."""
    text = apply_edits(TEXT, [edit])
    ast.parse(text)
    return text.split("\n")[first - 1 : last]


@pytest.mark.parametrize(
    "name, first, lines",
    [
        ("a", 1, ["for i in range(3):", "    g()", "    a = 1", "    b = f(a,"]),
        ("b", 1, ["for i in range(3):", "    a = 1", "    g()", "    b = f(a,", "      2)  # end"]),
        ("d", 4, ["else:", "    g()", "    d = 2"]),
        ("q", 6, ["    p = 1", "    g()", "    q = 2", "    r = 3"]),
        ("s", 6, ["    p = 1; q = 2; r = 3", "    g()", "    s = 4"]),
    ],
)
def test_a_line_before_a_statement(name, first, lines):
    edit = SOURCE.insert_before(BY_NAME[name], "g()")
    assert changed(edit, first, first + len(lines) - 1) == lines


def test_a_line_after_a_statement():
    edit = SOURCE.insert_after(BY_NAME["q"], "g()")
    assert changed(edit, 6, 9) == ["    p = 1", "    q = 2", "    g()", "    r = 3"]


def test_a_block_around_a_statement():
    edit = changes.within(SOURCE, BY_NAME["q"], "with no():")
    assert changed(edit, 6, 9) == ["    p = 1", "    with no():", "        q = 2", "    r = 3"]


def test_a_statement_goes():
    assert changed(SOURCE.remove(BY_NAME["q"]), 6, 7) == ["    p = 1", "    r = 3"]
    assert changed(SOURCE.remove(BY_NAME["d"]), 4, 5) == ["else:", "    pass"]


def test_a_statement_moves():
    edit = places.moved_after(SOURCE, BY_NAME["p"], BY_NAME["r"])
    assert changed(edit, 6, 8) == ["    q = 2", "    r = 3", "    p = 1"]
    edit = places.moved_after(SOURCE, BY_NAME["p"], BY_NAME["s"])
    assert changed(edit, 6, 9) == ["    q = 2", "    r = 3", "    s = 4", "    p = 1"]


def test_a_head_goes():
    edit = places.without_with(SOURCE, BY_NAME["u"].parent)
    assert changed(edit, 8, 9) == ["u = 1", "v = 2"]


@pytest.mark.parametrize(
    "text, less",
    [
        ("a = f(x)", "f(x) - 1"),
        ("a = x + y", "(x + y) - 1"),
        ("a = g(f(x))", "f(x) - 1"),
        ("a = f(x).mean()", "(f(x) - 1)"),
        ("a = f(x)[0]", "(f(x) - 1)"),
    ],
)
def test_a_number_less_is_written_as_a_person_would(text, less):
    source = Source("nowhere.py", text)
    node = source.tree.body[0].value
    inner = [n for n in ast.walk(node) if ast.unparse(n) == "f(x)"]
    node = inner[0] if inner else node
    assert changes.less(source, node, 1) == less


def shown(folder, before, after):
    path = folder / "script.py"
    path.write_text(before)
    edit = Edit(str(path), 1, before.count("\n"), after.rstrip("\n"))
    return Finding("x", "note", str(path), 1, "t", fixes=[Fix("f", [edit])]).lines()[2:]


def test_what_stays_between_changes_is_shown_in_short(tmp_path):
    body = "".join(f"line{i}\n" for i in range(6))
    lines = shown(tmp_path, f"moved\n{body}", f"{body}moved\n")
    assert lines == ["     -moved", "      line0", "      ...", "      line5", "     +moved"]


def test_what_comes_is_shown_whole(tmp_path):
    old, new = "a = " + "x" * 100 + "\n", "b = " + "y" * 100 + "\n"
    goes, *comes = shown(tmp_path, old, new)
    assert len(goes) == 80 and goes.startswith("     -a = xx")
    assert "".join(line[6:] for line in comes) == new.rstrip() and len(comes) == 2


def test_statements_that_an_expression_comes_from():
    source = Source("nowhere.py", "x: int\ny = x + 1\nfor z in [y]:\n    w = z * 2\nw.sum()\n")
    leading = source.leading_to(source.tree.body[-1].value)
    assert [s.lineno for s in leading] == [4, 3, 2]  # the name that was only declared has no value
