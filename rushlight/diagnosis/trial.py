"""Trying a change before it is shown: the failing expression in its frame, or the whole script.

A trial runs in a process of its own, and is limited in time: an expression in a fork of this one, a
script from its beginning. Nothing is written there (by a script, outside its temporary folder), nor
sent or started: what wants to is not tried.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pickle
import selectors
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import warnings
from dataclasses import dataclass
from time import monotonic

from rushlight import _C

from .finding import Edit, Fix, apply_edits
from .interrupts import alarm_held, is_interrupt

_REFUSED = "the script writes files or starts programs"
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


def expression(frame, names: dict, text: str, seconds: float = 0.2) -> Outcome:
    """Evaluates an expression in a frame with its local names: for changes of one call."""
    try:
        code = compile(text.strip(), "<trial>", "eval")
    except (SyntaxError, ValueError) as error:
        return Outcome(False, error=_last_line(error))
    return _apart(lambda: bool([eval(code, frame.f_globals, dict(names))]), seconds)[0]


def apart(call, seconds: float = 0.2):
    """What a call gives in a fork of this process, a copy; None where it fails or takes long.

    Nothing is seen here of what it changes, writes or prints: for calls of the program's code.
    """
    return _apart(call, seconds)[1]


def _apart(call, seconds: float) -> tuple[Outcome, object]:
    reading, writing = os.pipe()
    try:
        child = _fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        return Outcome(False, refused=f"no process for it: {error.strerror}"), None
    if child == 0:
        _answer(call, writing)
    os.close(writing)
    try:
        answer = _read(reading, monotonic() + seconds)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # a handler of the program's waited for all
            os.waitpid(child, 0)
    if not answer:
        return Outcome(False, refused=f"took longer than {seconds} s"), None
    try:
        return pickle.loads(answer)
    except Exception as error:  # of a class of the program's
        return Outcome(False, error=_last_line(error)), None


def _fork() -> int:
    with warnings.catch_warnings():  # that the locks of other threads may stay shut for ever
        warnings.simplefilter("ignore")
        return os.fork()


def _read(pipe: int, until: float) -> bytes:
    """All that comes before its end; nothing where that is not there in time."""
    parts: list[bytes] = []
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while ready.select(max(0.0, until - monotonic())):
            part = os.read(pipe, 1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
    return b""


def _answer(call, pipe: int) -> None:
    """What the fork does: it answers, and ends without the program's own ends."""
    try:
        try:
            _cut_off(pipe)
            said = pickle.dumps((Outcome(True), call()))
        except TrialRefused:
            said = pickle.dumps((Outcome(False, refused=_REFUSED), None))
        except BaseException as error:
            said = pickle.dumps((Outcome(False, error=_last_line(error)), None))
        with os.fdopen(pipe, "wb") as out:
            out.write(said)
    finally:
        os._exit(0)


def _last_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _cut_off(pipe: int) -> None:
    """What is written to open files goes nowhere from here on; those that are read have places of
    their own."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):  # the listing's own is closed by now
            if number in (pipe, nowhere):
                continue
            own, place = nowhere, f"/proc/self/fd/{number}"
            is_read = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if is_read and stat.S_ISREG(os.fstat(number).st_mode):
                own = os.open(place, os.O_RDONLY)
                os.lseek(own, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
            os.dup2(own, number)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    restrict(("/dev/",))


def value(frame, names: dict, text: str, seconds: float = 0.2):
    """What an expression gives in a frame with its local names, None where it fails."""
    try:
        code = compile(text.strip(), "<trial>", "eval")
    except (SyntaxError, ValueError):
        return None
    return quietly(lambda: eval(code, frame.f_globals, dict(names)), seconds)


def quietly(call, seconds: float = 0.2):
    """What a call gives here, an object of this process; None where it fails or takes long.

    Random state is restored, and what is printed is swallowed.
    """
    import rushlight as torch

    state, out, err = torch.get_rng_state(), io.StringIO(), io.StringIO()
    try:
        with (
            alarm_held(counted=True),
            _limited(seconds),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            return call()
    except (Exception, SystemExit, TooLong) as error:
        if is_interrupt(error):
            raise
        return None
    finally:
        torch.set_rng_state(state)


class TooLong(BaseException):
    """Raised by the alarm; no ``except Exception`` of the user's catches it."""


@contextlib.contextmanager
def _limited(seconds: float):
    """TooLong is raised in the block after so many seconds, and not behind it."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGALRM) is None:  # a handler that is not Python's
        yield
        return
    is_on = True

    def ring(*_):
        if is_on:
            raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    try:
        _C._all_signals_stop_kernels(True)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            is_on = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _C._all_signals_stop_kernels(False)
        signal.signal(signal.SIGALRM, before)


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
        return Outcome(False, refused=_REFUSED)
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


def restrict(allowed: tuple[str, ...] | None = None) -> None:
    """Within a trial: no writing but in these folders, or its own; no connections nor programs."""
    allowed = allowed or (tempfile.gettempdir(), "/dev/", "/proc/")
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
