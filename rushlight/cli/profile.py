"""``rushlight profile``: runs a program and says where its time went and what to try."""

from __future__ import annotations

import json
import os

from . import run
from .program import prepared


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "profile",
        help="run a program and say where its time went",
        usage="rushlight profile [options] script.py [args ...]",
        description="Runs a program and prints to stderr where its time went, what bounds it and "
        "what there is to gain. The exit status is the program's own.",
        allow_abbrev=False,
    )
    parser.add_argument("--all", action="store_true", help="print all rows")
    parser.add_argument(
        "--report", metavar="FILE", default="profile.json", help="where the report goes, as JSON"
    )
    parser.add_argument("--html", metavar="FILE", help="also write the report as a page")
    parser.add_argument("--trace", metavar="FILE", help="also write a trace for Perfetto")
    parser.add_argument(
        "--steps", type=int, default=200, help="optimizer steps to record at most (200)"
    )
    parser.add_argument(
        "--try",
        dest="trials",
        action="store_true",
        help="measure changes (autocast, threads ...) of rushlight.profiler.region(), else of one "
        "optimizer step or the outermost module's call, in copies of the process",
    )
    parser.add_argument("--calibrate", action="store_true", help="measure the machine anew")
    run.add_target(parser)
    parser.set_defaults(command=_profile)


_MOST_EVENTS = 1_000_000


def _profile(options) -> int:
    from rushlight.autograd.profiler import profile
    from rushlight.profiler import calibration
    from rushlight.profiler.trials import Trials

    run.absolute(options, "html", "report", "trace")
    program = prepared(options)
    program.show()
    machine = calibration.machine(options.calibrate)
    session = profile(record_shapes=True, profile_memory=True, with_modules=True)
    watching = [_Stopping(session, options.steps), *([Trials()] if options.trials else [])]
    session.__enter__()
    for watched in watching:
        watched.install()
    status, error = run.ended(program.run)
    for watched in watching:
        watched.remove()
    session.__exit__(None, None, None)
    if error is not None:
        run.show_error(error)
    trials = watching[-1] if options.trials else None
    try:
        with run.reporting():
            _report(options, session, machine, trials, status, error)
    finally:
        if trials is not None:
            trials.close()
    return run.ended_as(status, error)


def _report(options, session, machine, trials, status: int, error) -> None:
    from rushlight.profiler import verdict, verdict_text
    from rushlight.profiler.trials import as_text as trials_text

    recording = session.recording
    found = verdict.judge(recording, machine)
    if found is None:
        run.tell("-- profile: no op ran")
        return
    memory = verdict.memory_report(recording)
    tried = trials.measure() if trials is not None else []
    said = trials_text(trials, tried) if trials is not None else []
    rows = len(found.rows) if options.all else 5
    run.tell(verdict_text.as_text(found, rows, memory, tried, said))
    measured = {"trials": [t.as_dict() for t in tried]}
    with open(options.report, "w", encoding="utf-8") as file:
        json.dump(found.as_dict() | {"memory": memory} | measured, file, indent=1)
        file.write("\n")
    if options.html:
        _write_page(options, recording, found, status, error, measured)
    if options.trace:
        session.export_chrome_trace(options.trace)
    run.tell(f"Report: {os.path.relpath(options.report, options.folder)}")


def _write_page(options, recording, found, status: int, error, measured: dict) -> None:
    from rushlight import pages
    from rushlight.diagnosis.frames import message_of
    from rushlight.profiler.page import page_data

    about = run.described(options) | {"status": status}
    if error is not None:
        about["error"] = f"{type(error).__name__}: {message_of(error)}"[:2000]
    data = page_data(recording, found, **about, **measured)
    pages.write(options.html, "profile", f"profile {about['title']}", data)
    run.tell(f"Page: {os.path.relpath(options.html, options.folder)}")


class _Stopping:
    """Ends a recording when enough steps were seen: at the next one's beginning."""

    def __init__(self, session, most_steps: int):
        self.session, self.most_steps, self.steps = session, most_steps, 0

    def install(self) -> None:
        from rushlight.optim import optimizer

        self.hooks = [
            optimizer.register_optimizer_step_pre_hook(self.check),
            optimizer.register_optimizer_step_post_hook(self.stepped),
        ]

    def stepped(self, *_) -> None:
        self.steps += 1

    def check(self, *_) -> None:
        recorder = self.session.recorder
        full = self.steps >= self.most_steps or recorder.count > _MOST_EVENTS
        if full and recorder.running:
            self.session.__exit__(None, None, None)

    def remove(self) -> None:
        for hook in self.hooks:
            hook.remove()
