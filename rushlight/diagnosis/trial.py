"""Trying a change before it is shown: the failing expression in its frame, or the whole script.

A trial leaves random state as it was, swallows what is printed, and is limited in time. A script
is run again in a process of its own in which files are not written outside temporary folders and
nothing is sent or started: a program that wants to is not tried.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

from .finding import Edit, Fix, apply_edits

CHANGED_SOURCES = "RUSHLIGHT_CHANGED_SOURCES"  # a JSON file: {file: its text}


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: well, with an exception's last line, or not at all (``refused``).

    ``findings`` are those of the run; of a script also its exit ``status`` and what it ``raised``.
    """

    good: bool
    error: str = ""
    refused: str = ""
    stdout: str = ""
    findings: tuple = ()
    status: int = 0
    raised: str | None = None


# ---- The failing expression, in its frame


@contextlib.contextmanager
def undisturbed(seconds: float = 0.2):
    """Random state restored, output swallowed, an alarm after so many seconds."""
    import rushlight as torch

    state = torch.get_rng_state()
    out, err = io.StringIO(), io.StringIO()
    alarm = threading.current_thread() is threading.main_thread()
    before = None
    if alarm:
        before = signal.signal(signal.SIGALRM, _too_long)
        began = time.monotonic()
        left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
        torch._C._all_signals_stop_kernels(True)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        if alarm:
            torch._C._all_signals_stop_kernels(False)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            if left:  # an alarm of the program's own goes on, or rings now if it is due
                left = max(left - (time.monotonic() - began), 1e-6)
                signal.setitimer(signal.ITIMER_REAL, left, interval)
        torch.set_rng_state(state)


class TooLong(BaseException):
    """Raised by the alarm; no ``except Exception`` of the user's catches it."""


# How the user's code may fail in a trial; an interrupt is for the program itself.
FAILURES = (Exception, SystemExit, TooLong)


def _too_long(*_):
    raise TooLong


def expression(frame, names: dict, text: str, seconds: float = 0.2) -> Outcome:
    """Evaluates an expression in a frame with its local names: for changes of one call."""
    try:
        code = compile(text.strip(), "<trial>", "eval")
        with undisturbed(seconds):
            eval(code, frame.f_globals, dict(names))
    except TooLong:
        return Outcome(False, refused=f"took longer than {seconds} s")
    except FAILURES as error:
        return Outcome(False, error=f"{type(error).__name__}: {error}".splitlines()[0])
    return Outcome(True)


def value(frame, names: dict, text: str, seconds: float = 0.2):
    """What an expression gives in a frame with its local names, None where it fails."""
    try:
        code = compile(text.strip(), "<trial>", "eval")
    except (SyntaxError, ValueError):
        return None
    return quietly(lambda: eval(code, frame.f_globals, dict(names)), seconds)


def quietly(call, seconds: float = 0.2):
    """What a call gives, None where it fails or takes long."""
    try:
        with undisturbed(seconds):
            return call()
    except FAILURES:
        return None


# ---- The script, run again


def script(command: list[str], *edits: list[Edit], seconds: float = 20.0) -> Outcome:
    """Runs ``rushlight doctor``'s target again with edits applied, in a process of its own.

    ``command`` is the script (or ``-m``, a module) and its arguments; of several lists of edits
    each is one of the text that those before it leave.
    """
    changed: dict[str, str] = {}
    try:
        for each in edits:
            _apply(changed, each)
    except SyntaxError as error:
        return Outcome(False, error=f"SyntaxError: {error.msg}")
    with tempfile.TemporaryDirectory(prefix="rushlight-trial-") as folder:
        sources, report = os.path.join(folder, "sources.json"), os.path.join(folder, "report.json")
        with open(sources, "w", encoding="utf-8") as opened:
            json.dump(changed, opened)
        environment = {
            **os.environ,
            CHANGED_SOURCES: sources,
            "TMPDIR": folder,
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        run = [sys.executable, "-m", "rushlight", "doctor", "--no-trials", "--json", report]
        try:
            done = subprocess.run(
                [*run, *command],
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(False, refused=f"took longer than {seconds:g} s")
        try:
            with open(report, encoding="utf-8") as opened:
                said = json.load(opened)
        except (OSError, ValueError):
            said = {"findings": ()}
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if "TrialRefused" in done.stderr:
        return Outcome(False, refused="the script writes files or starts programs")
    return Outcome(
        done.returncode == 0,
        last,
        stdout=done.stdout,
        findings=tuple(said["findings"]),
        status=done.returncode,
        raised=said.get("raised"),
    )


def _apply(changed: dict[str, str], edits: list[Edit]) -> None:
    """Applies edits to the texts of ``changed``, or of the files where they are not there yet."""
    for file in {e.file for e in edits}:
        text = changed.get(os.path.abspath(file))
        if text is None:
            with open(file, encoding="utf-8") as opened:
                text = opened.read()
        text = apply_edits(text, [e for e in edits if e.file == file])
        compile(text, file, "exec")
        changed[os.path.abspath(file)] = text


class TrialRefused(BaseException):
    """A script under trial wanted to write, send or start something."""


def changed_sources() -> dict[str, str]:
    """The changed texts that this process is to run, by file; empty outside a trial."""
    path = os.environ.get(CHANGED_SOURCES)
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def restrict() -> None:
    """Within a trial: no writing outside its own folder, no connections, no other programs."""
    allowed = (tempfile.gettempdir(), "/dev/", "/proc/")
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    changing = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "shutil.rmtree", "os.truncate"}
    leaving = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}

    def is_outside(path):
        return isinstance(path, (str, bytes, os.PathLike)) and not os.path.abspath(
            os.fsdecode(path)
        ).startswith(allowed)

    def hook(event, args):
        if event == "open":
            refused = args[2] & writing and is_outside(args[0])
        elif event == "socket.connect":
            refused = isinstance(args[1], tuple)  # not a path: another machine, or a port
        else:
            refused = event in leaving or (event in changing and is_outside(args[0]))
        if refused:
            raise TrialRefused(event)

    sys.addaudithook(hook)


def keep_working(fixes: list[Fix], attempt, said: str, most: int = 3) -> list[Fix]:
    """The fixes whose trial ends well, in their order; ``attempt`` gives an Outcome for one.

    A fix that could not be tried stays only where none works, and says that it was not tried.
    """
    working, unknown = [], []
    for fix in fixes:
        outcome = attempt(fix)
        if outcome.good:
            fix.tried = said
            working.append(fix)
        elif outcome.refused:
            unknown.append(fix)
        if len(working) == most:
            break
    return working or unknown[:most]
