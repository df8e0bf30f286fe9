"""Records PyTorch's answers for the sample rows of tests/ops into tests/golden/ops.

    python tools/record_golden.py [family ...]     the families' files anew; without any, all
    python tools/record_golden.py --row NAME ...   these rows only
    python tools/record_golden.py --stale          the rows whose samples are not those recorded

Needs PyTorch 2.13 with numpy.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ["RUSHLIGHT_TEST_MODULE"] = "torch"

import numpy as np
import torch
from ops import FAMILIES, ROWS, assertions, experiments, golden, saved

SHORTEST = {"float32": np.float32, "bfloat16": np.float32, "float16": np.float16}
REAL_OF = {"complex64": "float32", "complex128": "float64"}


def shortened(outcome):
    """The outcome with every float as the shortest text that rounds to it in its own type."""
    if isinstance(outcome, dict):
        return {k: shortened(v) for k, v in outcome.items()}
    if not isinstance(outcome, list):
        return outcome
    if outcome[:1] == ["T"]:
        element = SHORTEST.get(REAL_OF.get(outcome[1], outcome[1]))
        if element and outcome[4]:
            return [*outcome[:4], [shortest(x, element) for x in outcome[4]]]
        return outcome
    return [shortened(v) for v in outcome]


def shortest(number, element):
    """number, shortened: 0.1 in place of 0.10000000149011612; whole numbers lose their point."""
    text = float(str(element(number)))
    return int(text) if text.is_integer() and abs(text) < 1e6 and str(text) != "-0.0" else text


def processor() -> str:
    """The processor's name and the instruction set PyTorch chose."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    name = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


def record(row) -> dict:
    """All experiments of one row; finite differences are kept only where they pass."""
    found = {"calls": golden.call_texts(row)}
    for experiment in experiments.PLAIN:
        outcomes = {key: shortened(outcome) for key, _, outcome in experiment(torch, row)}
        if outcomes:
            found[experiment.__name__] = outcomes
    checks = (torch.autograd.gradcheck, torch.autograd.gradgradcheck)
    for experiment, check in zip(experiments.BY_FINITE_DIFFERENCES, checks, strict=True):
        passed = {key: True for key, _, ok in experiment(torch, row, check) if ok is True}
        if passed:
            found[experiment.__name__] = passed
    return found


def report(row, found) -> None:
    """Says on stderr what looks like a mistake in a row: a call that no element type accepts."""
    values = found.get("values", {})
    for n, call in enumerate(row.calls):
        outcomes = [v for k, v in values.items() if k.split("/")[1] == str(n)]
        if not any(not (isinstance(v, dict) and "raises" in v) for v in outcomes):
            why = outcomes[0]["raises"] if outcomes else "no element type"
            print(f"  {row.name} call {n} {call!r} never runs: {why}", file=sys.stderr)
    for key, outcome in found.get("errors", {}).items():
        if key.startswith("fail") and not (isinstance(outcome, dict) and "raises" in outcome):
            print(f"  {row.name} {key} does not raise: {outcome!r:.150}", file=sys.stderr)


def record_assertions(stamp: dict) -> None:
    """What torch.testing.assert_close says to the pairs of tests/ops/assertions.py."""
    said = assertions.answers(torch, torch.testing.assert_close)
    golden.save("assert_close", {"recorded": stamp, "rows": {"assert_close": said}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", help="families to record; all by default")
    parser.add_argument("--row", nargs="+", help="record these rows only, keeping the others")
    parser.add_argument("--stale", action="store_true", help="record rows that changed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stamp = {"torch": torch.__version__, "processor": processor()}
    wanted = chosen(parser, options)
    if len(wanted) == len(ROWS):
        record_assertions(stamp)
    for family in dict.fromkeys(row.family for row in wanted):
        start = time.perf_counter()
        mine = [row for row in wanted if row.family == family]
        others = {row.name for row in ROWS if row.family == family} - {row.name for row in mine}
        rows = {n: found for n, found in golden.load(family)["rows"].items() if n in others}
        for row in mine:
            rows[row.name] = record(row)
            report(row, rows[row.name])
        size = golden.save(family, {"recorded": stamp, "rows": rows})
        took = time.perf_counter() - start
        print(f"{family}: {len(mine)} of {len(rows)} rows, {size / 1024:.0f} KiB, {took:.1f} s")
    kept = saved.load() if len(wanted) < len(ROWS) else {}
    for node, names in saved.by_node(torch, wanted).items():
        kept[node] = kept.get(node, set()) | names
    saved.save(kept)


def chosen(parser, options) -> list:
    """The rows that the command line asks for."""
    if options.stale:
        return [
            row
            for row in ROWS
            if golden.load(row.family)["rows"].get(row.name, {}).get("calls")
            != golden.call_texts(row)
        ]
    if options.row:
        missing = set(options.row) - {row.name for row in ROWS}
        if missing:
            parser.error(f"no rows are named {' '.join(sorted(missing))}")
        return [row for row in ROWS if row.name in options.row]
    for family in options.families:
        if family not in FAMILIES:
            parser.error(f"no family is named {family}")
    return [row for row in ROWS if row.family in (options.families or FAMILIES)]


if __name__ == "__main__":
    main()
