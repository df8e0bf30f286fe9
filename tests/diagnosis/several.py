"""Programs that raise, explained and repaired, many in one process: `explained(programs)`.

Run as a script it reads programs as JSON ({name: {file: text}}) from standard input, runs each
one's script.py in a folder of its own, and writes what the rules say, and how each fix ends.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap

MARK = "# <-"


def explained(programs: dict) -> dict:
    """What the rules say of each program; a program is a text, or texts by file name."""
    files = {
        name: {
            file: textwrap.dedent(text).lstrip("\n")
            for file, text in ({"script.py": p} if isinstance(p, str) else p).items()
        }
        for name, p in programs.items()
    }
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(files),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for name, answer in answers.items():
        answer["marked"] = _marked(files[name])
    return answers


def _marked(files: dict) -> tuple | None:
    """The file and line that a program marks as the one at fault."""
    for file, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if MARK in line:
                return file, number
    return None


def _run(folder: str) -> BaseException | None:
    import rushlight
    from rushlight.cli.program import prepared

    rushlight.set_grad_enabled(True)
    before = set(sys.modules)
    state = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.path[0] = folder
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            script = os.path.join(folder, "script.py")
            prepared(argparse.Namespace(target=script, args=[], flag=None)).run()
    except Exception as error:
        return error
    finally:
        sys.argv, sys.path[:], main = state
        _run.program = sys.modules["__main__"]
        sys.modules["__main__"] = main
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(folder):
                _run.left[name] = sys.modules.pop(name)
    return None


_run.left = {}


def _explain(files: dict) -> dict:
    from rushlight.diagnosis.errors import diagnose
    from rushlight.diagnosis.finding import Edit, apply_edits
    from rushlight.diagnosis.notes import note_text

    gc.collect()  # the loaders of the programs before are none of this one's
    with tempfile.TemporaryDirectory(prefix="program-") as folder:
        _write(folder, files)
        os.chdir(folder)
        error = _run(folder)
        if error is None:
            return {"error": None}
        main = sys.modules["__main__"]
        sys.modules.update(_run.left)
        sys.modules["__main__"] = _run.program
        try:
            finding = diagnose(error)
        finally:
            for name in _run.left:
                sys.modules.pop(name, None)
            _run.left.clear()
            sys.modules["__main__"] = main
        answer = {"error": f"{type(error).__name__}: {error}", "id": None}
        if finding is None:
            return answer
        answer |= finding.as_dict()
        answer["file"] = os.path.basename(finding.file)
        answer["note"] = note_text(finding)
        answer["ends"] = []
        for fix in finding.fixes:
            ends = None
            if fix.edits:
                with tempfile.TemporaryDirectory(prefix="repaired-") as other:
                    changed = dict(files)
                    for file in {e.file for e in fix.edits}:
                        name = os.path.basename(file)
                        edits = [Edit(**e.as_dict()) for e in fix.edits if e.file == file]
                        changed[name] = apply_edits(files[name], edits)
                    _write(other, changed)
                    os.chdir(other)
                    try:
                        failed = _run(other)
                    except SyntaxError as e:
                        failed = e
                    _run.left.clear()
                    ends = "well" if failed is None else f"{type(failed).__name__}: {failed}"[:200]
                os.chdir(folder)
            answer["ends"].append(ends)
        os.chdir("/")
        return answer


def _write(folder: str, files: dict) -> None:
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    import rushlight  # noqa: F401
    from rushlight.diagnosis import kinds

    kinds()
    gc.freeze()
    print(json.dumps({n: _explain(p) for n, p in json.load(sys.stdin).items()}))
