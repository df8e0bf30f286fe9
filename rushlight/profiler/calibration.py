"""What this machine can do at most: measured once, kept with its date in the user's cache."""

from __future__ import annotations

import datetime
import json
import os
import platform
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import rushlight as torch
from rushlight import _C

_VERSION = 2


@dataclass(frozen=True)
class Machine:
    """Limits of a machine with a number of threads.

    gflops: 1e9 floating-point operations per second of a float32 matrix product.
    half_gflops: of a bfloat16 one; double_gflops: of a float64 one.
    gbytes: 1e9 bytes per second of copies that do not fit into a cache, read and written.
    op_ns: nanoseconds that an op costs before it computes anything, and between two ops.
    record_ns: what writing an op down adds.
    """

    gflops: float
    half_gflops: float
    double_gflops: float
    gbytes: float
    op_ns: float
    record_ns: float
    bfloat16: bool
    cpu: str
    threads: int
    date: str
    version: int = _VERSION

    def gflops_of(self, item_size: int) -> float:
        """The limit for products of numbers of so many bytes."""
        return {2: self.half_gflops, 8: self.double_gflops}.get(item_size, self.gflops)


_RATES = ("gflops", "half_gflops", "double_gflops", "gbytes")
_COSTS = ("op_ns", "record_ns")


def better(a: Machine, b: Machine) -> Machine:
    """What two measurements of a machine, either of which may have been disturbed, show of it."""
    best = {name: max(getattr(a, name), getattr(b, name)) for name in _RATES}
    best |= {name: min(getattr(a, name), getattr(b, name)) for name in _COSTS}
    return replace(b, **best)


def cache_file() -> Path:
    """Where the figures are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "rushlight" / "machine.json"


def _cpu() -> tuple[str, set[str]]:
    name, flags = platform.processor() or platform.machine(), set()
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() == "flags":
                flags = set(value.split())
                break
    return name, flags


def _best(call, seconds: float, least: int = 3) -> float:
    """The shortest of several runs, in seconds."""
    best, runs, end = float("inf"), 0, time.perf_counter() + seconds
    while runs < least or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
        runs += 1
    return best


def _product(n: int, dtype) -> float:
    """1e9 operations per second of a product of matrices."""
    a, b = torch.full((n, n), 0.5, dtype=dtype), torch.full((n, n), 0.25, dtype=dtype)
    c = torch.empty(n, n, dtype=dtype)
    return 2e-9 * n**3 / _best(lambda: torch.mm(a, b, out=c), 0.15)


def measure() -> Machine:
    """Measures; takes about half a second, and leaves the random state alone."""
    n, elements, ops = 768, 1 << 23, 2000
    with torch.no_grad():
        products = {t: _product(n, t) for t in (torch.float32, torch.bfloat16, torch.float64)}
        pair = [torch.ones(elements), torch.zeros(elements)]
        copy = _best(lambda: pair[0].copy_(pair[1]), 0.15)
        pair.clear()
        x = torch.ones(4)

        def many():
            for _ in range(ops):
                torch.neg(x)

        bare = _best(many, 0.05)
        recorder = _C.Recorder(tensors=True, nodes=True, modules=True)
        recorder.start()
        written = _best(lambda: (recorder.clear(), many()), 0.05)
        recorder.stop()
    name, flags = _cpu()
    return Machine(
        gflops=products[torch.float32],
        half_gflops=products[torch.bfloat16],
        double_gflops=products[torch.float64],
        gbytes=8e-9 * elements / copy,
        op_ns=bare / ops * 1e9,
        record_ns=max(0.0, (written - bare) / ops * 1e9),
        bfloat16=bool(flags & {"avx512_bf16", "amx_bf16"}),
        cpu=name,
        threads=torch.get_num_threads(),
        date=datetime.date.today().isoformat(),
    )


def machine(refresh: bool = False, known_better: Machine | None = None) -> Machine:
    """This machine's limits: from the cache if it knows them for this CPU and thread count.

    refresh: measures anew. known_better: figures that what was measured is joined with.
    """
    path = cache_file()
    key = f"{_cpu()[0]} / {torch.get_num_threads()} threads / {torch.__version__}"
    known = {}
    with suppress(OSError, ValueError):
        known = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(known, dict):
        known = {}
    entry = known.get(key)
    if not refresh and isinstance(entry, dict) and entry.get("version") == _VERSION:
        with suppress(TypeError):
            return Machine(**entry)
    measured = measure()
    if known_better is not None:
        measured = better(known_better, measured)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({**known, key: asdict(measured)}, indent=1))
        draft.replace(path)
    return measured
