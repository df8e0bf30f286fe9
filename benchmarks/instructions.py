"""Instructions of one call of each overhead workload, by valgrind: repeatable where time is not.

    python benchmarks/instructions.py [NAME ...]

Every workload runs in two processes under callgrind, once with FEW calls and once with MANY; the
difference, over the difference in calls, is the count. An empty Python function is counted first
and taken off. Valgrind knows no AVX-512, so kernels take their AVX2 loops.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from workloads import WORKLOADS

FEW, MANY = 200, 1200
CODE = """
import sys
sys.path.insert(0, {folder!r})
import rushlight
from workloads import WORKLOADS
rushlight.set_num_threads(1)
call = WORKLOADS[{name!r}](rushlight) if {name!r} else lambda: None
for _ in range({count}):
    call()
"""


def instructions(name, count):
    code = CODE.format(folder=str(Path(__file__).parent), name=name, count=count)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts",
             sys.executable, "-P", "-c", code],
            capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"},
        )  # fmt: skip
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if done.returncode or not found:
        raise SystemExit(f"valgrind failed on {name}:\n{done.stderr[-2000:]}")
    return int(found[1])


def per_call(name):
    return (instructions(name, MANY) - instructions(name, FEW)) / (MANY - FEW)


def main():
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is not installed")
    names = sys.argv[1:] or [name for name in WORKLOADS if name.startswith("overhead/")]
    nothing = per_call("")
    for name in names:
        print(f"{name:28} {per_call(name) - nothing:9.0f}", flush=True)


if __name__ == "__main__":
    main()
