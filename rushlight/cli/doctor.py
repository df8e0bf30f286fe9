"""``rushlight doctor``: runs a program unchanged and says which traps it fell into."""

from __future__ import annotations

import json

from . import run
from .program import prepared


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="run a program and report the traps it falls into",
        usage="rushlight doctor [options] script.py [args ...]",
        description="Runs a program unchanged and prints findings, most harmful first, to stderr. "
        "The exit status is the program's own.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", metavar="FILE", help="write the findings to a file as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the findings as a page")
    parser.add_argument(
        "--ignore", metavar="ID", action="append", default=[], help="silence a kind of finding"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 on findings if the program ended with 0"
    )
    parser.add_argument(
        "--no-trials", action="store_true", help="do not try fixes by running the script again"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="say of each kind why it was not checked"
    )
    run.add_target(parser)
    parser.set_defaults(command=_doctor)


_REASONS = 2  # why kinds were not checked, told without -v


def _doctor(options) -> int:
    from rushlight.diagnosis import trial
    from rushlight.diagnosis.doctor import Doctor

    run.absolute(options, "html", "json")
    changed = trial.changed_sources()
    program = prepared(options, changed)
    program.show()
    if changed:
        trial.restrict()
    trials = program.repeatable and not options.no_trials
    doctor = Doctor(run.command(options), trials, frozenset(options.ignore))
    status = doctor.run(lambda: run.ended(program.run))
    if doctor.error is not None:
        run.show_error(doctor.error, noted=False)
    with run.reporting():
        findings = doctor.findings()
        if options.strict and findings and status == 0:
            status = 3
        run.tell(report_text(doctor, findings, options.verbose))
        _write(options, doctor, findings, bool(changed))
    return run.ended_as(status, doctor.error)


def _write(options, doctor, findings: list, is_trial: bool) -> None:
    """Writes what was found where the options ask for it."""
    report = {
        "version": 1,
        "findings": [f.as_dict() for f in findings],
        "not_checked": doctor.not_checked(),
    }
    if is_trial:  # whoever tries a change compares how the program ended
        report["raised"] = doctor.raised
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    if options.html:
        _write_page(options, report, doctor.silenced, doctor.status)


def _write_page(options, report: dict, silenced: int, status: int) -> None:
    from rushlight import pages
    from rushlight.diagnosis import kinds
    from rushlight.diagnosis.doctor.page import page_data

    about = run.described(options)
    checked = len(kinds()) - len(report["not_checked"])
    data = page_data(report, **about, status=status, silenced=silenced, checked=checked)
    pages.write(options.html, "doctor", f"doctor {about['title']}", data)


def report_text(doctor, findings, all_reasons: bool = False) -> str:
    """What the terminal shows: findings, worst first, then what was and was not checked."""
    from rushlight.diagnosis.finding import plain, wrapped

    if findings:
        count = f"{len(findings)} finding{'s' if len(findings) > 1 else ''}, worst first"
    else:
        count = "no finding"
    lines = [f"-- doctor: {count} ".ljust(78, "-")]
    for number, finding in enumerate(findings, 1):
        lines.append(plain(f"{number} {finding.severity}  {finding.place}  {finding.id}"))
        lines += finding.lines(untried="not tried")
    lines += wrapped(_checked(doctor, all_reasons))
    if all_reasons and _absent(doctor):
        lines.append("Not in this run:")
        for why, ids in _absent(doctor):
            lines += wrapped(f"{why}: {', '.join(ids)}", "  ", "    ")
    return "\n".join(lines)


def _absent(doctor) -> list[tuple[str, list[str]]]:
    """Why kinds could not be checked, each reason with its kinds; the one with most first."""
    kinds: dict[str, list[str]] = {}
    for absent in doctor.not_checked():
        kinds.setdefault(absent["why"], []).append(absent["id"])
    return sorted(kinds.items(), key=lambda item: -len(item[1]))


def _checked(doctor, all_reasons: bool) -> str:
    """What was looked for, what this run gave no occasion for, and what was left out."""
    reasons = _absent(doctor)
    absent = {id for _, ids in reasons for id in ids}
    count = len({id for check in doctor.checks for id in check.kinds})
    text = f"Checked {count - len(absent)} of {count} kinds."
    if reasons and not all_reasons:
        told = "; ".join(f"{why} ({len(ids)})" for why, ids in reasons[:_REASONS])
        more = len(reasons) - _REASONS
        text += f" Not in this run: {told}{f'; {more} more reasons (-v)' if more > 0 else ''}."
    rests = doctor.watch.rests
    if rests.missed:
        text += f" {rests.turns - rests.missed:,} of {rests.turns:,} turns were looked at."
    if doctor.silenced:
        text += f" Silenced: {doctor.silenced}."
    return text
