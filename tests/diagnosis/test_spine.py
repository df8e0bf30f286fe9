"""What all diagnoses stand on: edits, trials, notes on exceptions, the doctor's report."""

import ast

import pytest

from rushlight.diagnosis.finding import Edit, Finding, Fix, Related, apply_edits
from rushlight.diagnosis.source import Source

from .doctor import Report, run, rushlight

TEXT = """\
import torch

def f(x):
    for é in range(3):
        y = torch.add(x, é).view(3); z = 1
    return y
"""

FLOAT64 = """
import numpy as np
import torch
from torch import nn

features = np.linspace(0.0, 1.0, 12).reshape(4, 3)
model = nn.Linear(3, 1)
x = torch.from_numpy(features)
print(model(x).shape)
"""


def source():
    return Source("f.py", TEXT)


def find(s, kind, text):
    return next(n for n in ast.walk(s.tree) if isinstance(n, kind) and s.segment(n) == text)


def applied(*edits):
    return apply_edits(TEXT, list(edits))


class TestSource:
    def test_replaces_nodes_on_lines_with_letters_of_several_bytes(self):
        s = source()
        edit = s.replace((find(s, ast.Call, "torch.add(x, é)"), "x"), (find(s, ast.Name, "z"), "w"))
        assert applied(edit) == TEXT.replace("torch.add(x, é)", "x").replace("z = 1", "w = 1")

    def test_inserts_at_the_indentation_of_the_statement(self):
        s = source()
        loop = find(
            s, ast.For, s.segment(next(n for n in ast.walk(s.tree) if isinstance(n, ast.For)))
        )
        assert applied(s.insert_before(loop, "a = 1\nb = 2")) == TEXT.replace(
            "    for", "    a = 1\n    b = 2\n    for"
        )
        assert applied(s.insert_after(loop, "a = 1")) == TEXT.replace(
            "    return", "    a = 1\n    return"
        )

    def test_finds_statements_loops_and_assignments(self):
        s = source()
        statement = s.statement(5)
        assert s.segment(statement).startswith("y =") and len(s.loops_around(statement)) == 1
        assert s.function_of(statement).name == "f"
        assert s.last_assignment("y", 6, s.function_of(statement)) is statement
        assert s.last_assignment("y", 5, s.function_of(statement)) is None
        assert s.assignments("y") == [], "not bound at the top of the file"

    def test_the_smallest_expression_of_a_range(self):
        s = source()
        call = find(s, ast.Call, "torch.add(x, é)")
        at = s.node_at(call.lineno, call.end_lineno, call.col_offset, call.end_col_offset)
        assert at is call


def test_edits_of_several_lines_do_not_disturb_each_other():
    edits = [Edit("f", 1, 1, ""), Edit("f", 3, 4, "c\nd\ne"), Edit("f", 6, 6, "g")]
    assert apply_edits("1\n2\n3\n4\n5\n6", edits) == "2\nc\nd\ne\n5\ng"


def test_a_finding_fits_the_screen():
    finding = Finding(
        "x", "note", "f.py", 3, "word " * 40, ["evidence " * 30], fixes=[Fix("do " * 50)]
    )
    assert all(len(line) <= 80 for line in finding.lines())


def test_the_line_at_fault_is_not_related_to_itself():
    others = [Related("f.py", 3, "itself"), Related("g.py", 3, "another"), Related("f.py", 4, "so")]
    finding = Finding("x", "note", "f.py", 3, "title", related=others)
    assert [r.role for r in finding.related] == ["another", "so"]


class TestNotes:
    def test_an_error_that_reaches_the_top_is_explained(self, tmp_path):
        done = run(tmp_path, FLOAT64)
        assert done.returncode == 1 and done.stdout == ""
        lines = done.stderr.splitlines()
        message = "RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float"
        after = lines[lines.index(message) + 1 :]
        assert any("script.py:7" in line for line in after)
        assert after[-1].endswith("more: rushlight explain dtype-mismatch")
        assert all(len(line) <= 80 and line.isascii() for line in after)

    def test_silence_by_setting(self, tmp_path):
        done = run(tmp_path, FLOAT64, RUSHLIGHT_EXPLAIN="0")
        assert done.returncode == 1 and "explain" not in done.stderr

    def test_an_error_that_is_caught_gets_no_note_and_keeps_its_text(self, tmp_path):
        script = FLOAT64.replace("print(model(x).shape)", "") + (
            "try:\n    model(x)\nexcept RuntimeError as e:\n"
            "    print(str(e), getattr(e, '__notes__', None))\n"
        )
        done = run(tmp_path, script)
        message = "mat1 and mat2 must have the same dtype, but got Double and Float None\n"
        assert done.stdout == message and done.stderr == ""

    def test_a_hook_of_the_users_still_runs(self, tmp_path):
        script = "import sys\ndef mine(kind, error, trace):\n    print('mine', kind.__name__)\n"
        done = run(tmp_path, script + "sys.excepthook = mine\n" + FLOAT64)
        assert done.stdout == "mine RuntimeError\n"


class TestDoctor:
    def test_names_the_line_at_fault_and_fixes_that_work(self, tmp_path):
        report = Report(tmp_path, FLOAT64)
        assert report.status == 1 and report.ids == ["dtype-mismatch"]
        (finding,) = report.findings
        assert finding["line"] == 7 and finding["severity"] == "error"
        assert finding["related"] == [
            {"file": str(report.path), "line": 8, "role": "the call that failed"}
        ]
        for fix in finding["fixes"]:
            assert fix["tried"] == "script run again"
            text = apply_edits(report.path.read_text(), [Edit(**e) for e in fix["edits"]])
            assert run(tmp_path, text).stdout == "torch.Size([4, 1])\n"

    def test_a_clean_program_keeps_its_output_and_its_status(self, tmp_path):
        report = Report(tmp_path, "import sys, torch\nprint(torch.ones(2))\nsys.exit(5)\n")
        assert (report.status, report.stdout) == (5, "tensor([1., 1.])\n")
        assert report.findings == [] and "no finding" in report.stderr

    def test_strict_fails_on_findings_of_a_program_that_ended_well(self, tmp_path):
        caught = FLOAT64 + "\n"
        report = Report(tmp_path, caught, "--strict")
        assert report.status == 1, "the script's own status goes first"

    @pytest.mark.parametrize("how", ["comment", "flag"])
    def test_silence_by_id(self, tmp_path, how):
        script, options = FLOAT64, []
        if how == "comment":
            at = "x = torch.from_numpy(features)"
            script = script.replace(at, at + "  # rushlight: ignore[dtype-mismatch]")
        else:
            options = ["--ignore", "dtype-mismatch"]
        report = Report(tmp_path, script, *options)
        assert report.findings == [] and "Silenced: 1" in report.stderr

    def test_no_fix_is_tried_by_writing_files(self, tmp_path):
        script = "open('mark', 'a').write('x')\n" + FLOAT64
        report = Report(tmp_path, script)
        assert (tmp_path / "mark").read_text() == "x", "the trials did not write"
        assert all(fix["tried"] is None for fix in report.findings[0]["fixes"])

    def test_a_fix_in_an_imported_file_is_tried_there(self, tmp_path):
        data = (
            "import numpy as np, torch\ndef load():\n    return torch.from_numpy(np.ones((4, 3)))\n"
        )
        script = "import torch, data\nprint(torch.nn.Linear(3, 1)(data.load()).shape)\n"
        report = Report(tmp_path, script, files={"data.py": data})
        if report.findings:
            assert all(f["tried"] for f in report.findings[0]["fixes"])


class TestExplain:
    def test_prints_a_kind_in_full(self, tmp_path):
        done = rushlight(tmp_path, "explain", "dtype-mismatch")
        assert done.returncode == 0 and "from_numpy" in done.stdout

    def test_lists_all(self, tmp_path):
        assert "dtype-mismatch" in rushlight(tmp_path, "explain").stdout

    def test_an_unknown_kind_gets_near_ones(self, tmp_path):
        done = rushlight(tmp_path, "explain", "dtype-mismach")
        assert done.returncode == 2 and "dtype-mismatch" in done.stderr
