"""Programs under the doctor, many from one process: `doctored(programs)`.

Run as a script it reads programs as JSON ({name: {file: text}}) from standard input and runs each
one's script.py under the doctor in a fork of itself, and again with each fix applied. Standard
output gets {name: report}; a report holds the findings, what was not checked, the text shown, and
for each fix how the repaired program ended and what the doctor found in it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap

MARK = "#!"
SECONDS = 20


def doctored(programs: dict, fixes: bool = True, only_first: bool = False) -> dict:
    """Reports by name; a program is a text, or texts by file name; ``#!`` marks a line at fault."""
    files = {
        name: {
            file: textwrap.dedent(text).lstrip("\n")
            for file, text in ({"script.py": p} if isinstance(p, str) else p).items()
        }
        for name, p in programs.items()
    }
    bare = {n: {f: _without_marks(t) for f, t in p.items()} for n, p in files.items()}
    done = subprocess.run(
        [sys.executable, "-P", __file__, *(["--fixes"] if fixes else []),
         *(["--first"] if only_first else [])],
        input=json.dumps(bare),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    reports = json.loads(done.stdout)
    for name, report in reports.items():
        assert report is not None, f"{name} ended without a report"
        report["marked"] = _marked(files[name])
        report["files"] = bare[name]
    return reports


def _without_marks(text: str) -> str:
    return "\n".join(line.removesuffix(MARK).rstrip() for line in text.split("\n"))


def _marked(files: dict) -> tuple | None:
    for file, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if line.endswith(MARK):
                return file, number
    return None


def _in_fork(work):
    """What ``work()`` returns, computed in a fork of this process; None where that died."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(SECONDS)  # nobody waits for ever
            os.close(reading)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            text = json.dumps(work())
            with os.fdopen(writing, "w") as out:
                out.write(text)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as back:
        text = back.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def _report(files: dict) -> dict:
    from rushlight.cli.doctor import report_text
    from rushlight.cli.program import prepared
    from rushlight.cli.run import ended
    from rushlight.diagnosis.doctor import Doctor

    with tempfile.TemporaryDirectory(prefix="doctored-") as folder:
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chdir(folder)
        sys.path[0] = folder
        script = os.path.join(folder, "script.py")
        doctor = Doctor([script], trials=False)
        options = argparse.Namespace(target=script, args=[], flag=None)
        program = prepared(options)
        status = doctor.run(lambda: ended(program.run))
        findings = doctor.findings()
        report = {
            "status": status,
            "findings": [f.as_dict() for f in findings],
            "not_checked": doctor.not_checked(),
            "text": report_text(doctor, findings),
            "error": repr(doctor.error) if doctor.error is not None else None,
        }
        return json.loads(json.dumps(report).replace(folder + os.sep, ""))


def _with_fixes(files: dict, only_first: bool) -> dict:
    from rushlight.diagnosis.finding import Edit, apply_edits

    report = _in_fork(lambda: _report(files))
    for finding in report["findings"] if report else ():
        for fix in finding["fixes"]:
            if not fix["edits"] or (only_first and finding["fixes"][0] is not fix):
                continue
            edits = [Edit(**e) for e in fix["edits"]]
            changed = {
                name: apply_edits(text, [e for e in edits if e.file == name])
                for name, text in files.items()
            }
            fix["changed"] = changed
            fix["end"] = _in_fork(lambda c=changed: _report(c))
    return report


if __name__ == "__main__":
    import rushlight  # noqa: F401  (once, for all forks)
    from rushlight.diagnosis import kinds

    kinds()
    os.environ["RUSHLIGHT_DOCTOR_DEBUG"] = "1"  # a check that fails leaves no report
    given = json.load(sys.stdin)
    work = (
        (lambda p: _with_fixes(p, "--first" in sys.argv))
        if "--fixes" in sys.argv
        else (lambda p: _in_fork(lambda: _report(p)))
    )
    print(json.dumps({name: work(files) for name, files in given.items()}))
