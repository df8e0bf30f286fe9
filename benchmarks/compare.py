"""Rushlight beside PyTorch, workload by workload, as ratios of times in one run.

    python benchmarks/compare.py [--python PATH] [--rounds 3] [--threads 2] [NAME ...]

PATH is a Python that has PyTorch; without one, Rushlight's times stand alone. Every round runs
each side in a process of its own; a ratio is PyTorch's least time over Rushlight's. One thread is
measured in CPU time, several by the clock. No ratio fails anything: timing is reported, not tested.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

WORKLOADS = Path(__file__).with_name("workloads.py")


def run(python, module, names, threads):
    done = subprocess.run([python, str(WORKLOADS), module, *names], capture_output=True, text=True,
                          env={**os.environ, "BENCH_THREADS": str(threads)})
    if done.returncode:
        sys.stderr.write(done.stderr[-2000:])
    return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


def has_torch(python):
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def best(rounds, name):
    times = [r[name]["least"] for r in rounds if "least" in r.get(name, {})]
    return min(times) if times else None


def text(seconds):
    if seconds is None:
        return "-"
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of workload names")
    parser.add_argument("--python", default=sys.executable, help="a Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="1: CPU time is measured")
    args = parser.parse_args()
    both = has_torch(args.python)
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(run(sys.executable, "rushlight", args.names, args.threads))
        if both:
            theirs.append(run(args.python, "torch", args.names, args.threads))
    print("CPU time of one thread" if args.threads == 1 else f"{args.threads} threads")
    print(f"{'workload':45} {'Rushlight':>10} {'PyTorch':>10} {'ratio':>7}")
    ratios = {}
    for name, row in ours[0].items():
        mine, other = best(ours, name), best(theirs, name)
        ratio = other / mine if mine and other else None
        if ratio:
            ratios.setdefault(name.split("/")[0], []).append(math.log(ratio))
        print(f"{name:45} {text(mine):>10} {text(other):>10} {f'{ratio:.2f}' if ratio else '-':>7}"
              f"{'  ' + row['error'] if 'error' in row else ''}")
    for group, logs in ratios.items():
        print(f"{group}: {math.exp(sum(logs) / len(logs)):.2f} times as fast (geometric mean)")


if __name__ == "__main__":
    main()
