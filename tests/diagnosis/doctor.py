"""Running the doctor, or a program whose error is explained, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap


class Report:
    """What `rushlight doctor --json` says of a script, and what the script itself did."""

    def __init__(self, folder, script, *options, files=None, arguments=()):
        self.path = write(folder, "script.py", script)
        for name, text in (files or {}).items():
            write(folder, name, text)
        out = folder / "report.json"
        self.done = rushlight(folder, "doctor", "--json", out, *options, self.path, *arguments)
        self.status, self.stdout, self.stderr = (
            self.done.returncode,
            self.done.stdout,
            self.done.stderr,
        )
        data = json.loads(out.read_text(encoding="utf-8"))
        assert data["version"] == 1
        self.findings, self.not_checked = data["findings"], data["not_checked"]

    @property
    def ids(self):
        return [f["id"] for f in self.findings]


def write(folder, name, text):
    path = folder / name
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return path


def rushlight(folder, *command):
    """Runs a command of the command line in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "rushlight", *map(str, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def run(folder, script, **environment):
    """Runs a script with torch meaning Rushlight."""
    path = write(folder, "script.py", script)
    return subprocess.run(
        [sys.executable, "-m", "rushlight", "run", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )
