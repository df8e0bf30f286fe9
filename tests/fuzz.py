"""Random calls of every op of the live table, in child processes: no crash, no half-done write.

    python -P tests/fuzz.py --calls 2000 --seed 7 [--only NAME ...] [--show NAME:K]

Half of the calls begin as a sample row with some arguments changed, half are drawn from the types
alone. A call is known by seed, op and number; `--show` makes one again and prints it.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # last: the package is the installed one

from tests.ops import ROWS
from tests.ops.build import Builder, positions
from tests.ops.spec import ALL
from tests.ops.under_test import live_table, row_names, torch

MOST_MEMORY = 4 << 30
CPU_SECONDS = 20
EDGES = [-(2**63), 1 - 2**63, -(2**31) - 1, 2**33, 2**40, 2**62, 2**63 - 1]
SMALL = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 7]
ODD_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e308, 1e-320]
TEXTS = [
    "none",
    "tanh",
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "floor",
    "trunc",
    "same",
    "valid",
    "constant",
    "reflect",
    "replicate",
    "circular",
    "linear",
    "nearest",
    "fro",
    "nuc",
    "left",
    "right",
    "",
    "\0",
    "\u00fc",
]
# Not called at random: results are whatever memory held, or the argument is another's memory.
UNINITIALISED = ("empty", "new_empty", "resize", "set_")
# Not called at random: they take as many steps as a number says, as in PyTorch.
ENDLESS = ("laguerre_polynomial_l", "legendre_polynomial_p", "mvlgamma")


class Failure(Exception):
    """A call that ended, and did what no call may do."""


def parameters(entry) -> list[tuple[str, str, bool]]:
    """(type, name, keyword only) of each parameter, read from the signature."""
    text = entry["signature"]
    inside = text[text.index("(") + 1 : text.index(") ->")]
    found, keyword = [], False
    for word in re.split(r", (?![^\[]*\])", inside):
        keyword |= word == "*"
        if word and word != "*":
            kind, name = word.split("=")[0].split(" ", 1)
            found.append((kind, name, keyword))
    return found


class Draw:
    """Draws arguments; remembers the tensors it made with the bytes that they stand on."""

    def __init__(self, rng):
        self.rng, self.tensors = rng, []

    def shape(self):
        rng = self.rng
        if self.tensors and rng.random() < 0.5:
            shape = list(rng.choice(self.tensors).shape)
            if shape and rng.random() < 0.3:
                shape[rng.randrange(len(shape))] = rng.choice([0, 1, 2, 3])
            return shape if rng.random() < 0.8 else shape[1:]
        if rng.random() < 0.02:
            return rng.choice([[0, 2**62, 2**62], [0, 2**40], [0, 2**63 - 1]])
        dims = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6])
        return [rng.choice([0, 1, 1, 2, 2, 3, 4, 5]) for _ in range(dims)]

    def layout(self, shape):
        """Strides and offset within a small storage, and the storage's length."""
        rng, dims = self.rng, len(shape)
        order = list(range(dims))
        if rng.random() < 0.4:
            rng.shuffle(order)
        strides, step = [0] * dims, rng.choice([1, 1, 1, 2])
        for d in reversed(order):
            strides[d] = step
            step *= max(shape[d], 1) if 0 not in shape else 1
        if 0 not in shape:
            for d in range(dims):
                if rng.random() < 0.06:
                    strides[d] = 0
                elif rng.random() < 0.03:
                    strides[d] = 1
        offset = rng.choice([0, 0, 1, 3])
        last = (
            sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
        )
        return strides, offset, offset + last + 1 + rng.choice([0, 0, 2])

    def number(self, dtype):
        rng = self.rng
        if dtype == "bool":
            return rng.random() < 0.5
        if dtype.startswith(("int", "uint")):
            bits = int(re.sub(r"\D", "", dtype))
            low, high = (
                (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            )
            if rng.random() < 0.1:
                return rng.choice([low, high])
            return min(max(rng.choice(SMALL), low), high)
        real = rng.choice(ODD_FLOATS) if rng.random() < 0.15 else rng.uniform(-3, 3)
        if dtype.startswith("complex"):
            return complex(real, rng.uniform(-3, 3))
        return real

    def tensor(self, dtype=None, shape=None):
        rng = self.rng
        if self.tensors and rng.random() < 0.04:
            return rng.choice(self.tensors)
        if self.tensors and rng.random() < 0.04:
            near = rng.choice(self.tensors)
            return (
                near[1:]
                if near.dim() and rng.random() < 0.5
                else near.t()
                if near.dim() == 2
                else near
            )
        if dtype is None:
            dtype = (
                str(rng.choice(self.tensors).dtype)[6:]
                if self.tensors and rng.random() < 0.7
                else rng.choice(["float32", "float32", "float64", "int64", *ALL])
            )
        shape = self.shape() if shape is None else list(shape)
        if len(shape) <= 6 and 0 not in shape and math.prod(shape) > 100_000:
            shape = [min(n, 5) for n in shape]
        strides, offset, length = self.layout(shape)
        if rng.random() < 0.04:
            return self.keep(
                torch.empty_strided(shape, strides, dtype=getattr(torch, dtype), device="meta")
            )
        base = torch.tensor(
            [self.number(dtype) for _ in range(length)], dtype=getattr(torch, dtype)
        )
        made = base.as_strided(shape, strides, offset)
        if made.is_complex() and rng.random() < 0.2:
            made = made.conj()
        if made.is_complex() and made.is_conj() and rng.random() < 0.2:
            made = made.imag
        return self.keep(made)

    def keep(self, made):
        self.tensors.append(made)
        return made

    def integer(self):
        rng = self.rng
        return rng.choice(EDGES) if rng.random() < 0.06 else rng.choice(SMALL)

    def argument(self, kind):
        """A value for a parameter of this type."""
        rng = self.rng
        if kind.endswith("?") and rng.random() < 0.3:
            return None
        kind = kind.removesuffix("?")
        bare = re.sub(r"\(\w!?\)", "", kind)
        if bare == "Tensor":
            return self.tensor()
        if bare in ("Tensor[]", "Tensor?[]"):
            return [
                self.tensor() if rng.random() < 0.9 or "?" not in bare else None
                for _ in range(rng.choice([0, 1, 2, 3]))
            ]
        if bare.startswith("int["):
            if rng.random() < 0.3:
                return list(self.shape())
            return [self.integer() for _ in range(rng.choice([0, 1, 2, 2, 3, 4]))]
        if bare.startswith("float["):
            return [rng.choice(ODD_FLOATS) for _ in range(rng.choice([0, 1, 2, 3]))]
        return {
            "int": self.integer,
            "bool": lambda: rng.random() < 0.5,
            "float": lambda: rng.choice([*ODD_FLOATS, 2.0, -3.5, 0.1]),
            "Scalar": lambda: rng.choice([*ODD_FLOATS, *SMALL, *EDGES, True, 2j]),
            "str": lambda: rng.choice(TEXTS),
            "ScalarType": lambda: getattr(torch, rng.choice(ALL)),
            "Device": lambda: rng.choice(["cpu", "cpu", "meta"]),
            "Generator": lambda: torch.Generator(),
            "MemoryFormat": lambda: rng.choice(
                [
                    torch.contiguous_format,
                    torch.preserve_format,
                    torch.channels_last,
                    torch.channels_last_3d,
                ]
            ),
        }.get(bare, lambda: None)()

    def change(self, value, kind):
        """Another value in the place of a sample's: of the same sort, or near it."""
        rng = self.rng
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype)[6:] if rng.random() < 0.7 else rng.choice(ALL)
            shape = list(value.shape)
            if rng.random() < 0.4 and shape:
                shape[rng.randrange(len(shape))] = rng.choice([0, 1, 2, 3])
            elif rng.random() < 0.1:
                shape = shape[1:]
            return self.tensor(dtype, shape)
        if isinstance(value, (list, tuple)) and value and rng.random() < 0.7:
            items = list(value)
            place = rng.randrange(len(items))
            items[place] = self.change(items[place], kind.replace("[]", ""))
            return items
        if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.9:
            return self.integer()
        return self.argument(kind)


SAMPLES: dict = {}
for _row in ROWS:
    for _call in _row.calls:
        SAMPLES.setdefault(_row.name, []).append((_row, _call))


def sampled(entry, draw):
    """Arguments of a sample row, bound to the record's parameters, some of them changed."""
    names = [n for n in row_names(entry) if n in SAMPLES]
    if not names:
        return None
    row, call = draw.rng.choice(SAMPLES[draw.rng.choice(names)])
    dtype = draw.rng.choice([d for d in row.dtypes if call.serves(d)])
    builder = Builder(
        torch, dtype, draw.rng.choice(["", "", "transposed", "step", "offset", "expanded"])
    )
    args, kwargs = builder.arguments(call)
    draw.tensors += builder.tensors
    return bind(entry, args, kwargs, draw)


def bind(entry, args, kwargs, draw):
    bound = []
    for place, (kind, name, _) in enumerate(parameters(entry)):
        fallback = entry["params"][place][2]
        if place < len(args):
            value = args[place]
        elif name in kwargs:
            value = kwargs[name]
        elif fallback is not None:
            break
        else:
            value = draw.argument(kind)
        bound.append(draw.change(value, kind) if draw.rng.random() < 0.2 else value)
    return bound


def arguments(entry, draw):
    if draw.rng.random() < 0.6:
        found = sampled(entry, draw)
        if found is not None:
            return found
    found = []
    for (kind, _, _), (_, number, fallback) in zip(parameters(entry), entry["params"], strict=True):
        if fallback is not None and draw.rng.random() < 0.4:
            break
        if number and draw.rng.random() < 0.3:
            kind = "Scalar"
        found.append(draw.argument(kind))
    return found


def contents(t):
    """The bytes of the storage a tensor stands on."""
    storage = t.untyped_storage()
    return (
        b""
        if t.is_meta or not storage.nbytes()
        else ctypes.string_at(storage.data_ptr(), storage.nbytes())
    )


def outside(t, data: bytes) -> bytes:
    """Those bytes of its storage that are no element of a tensor."""
    size = t.element_size()
    covered = set(positions(t.shape, t.stride(), t.storage_offset()))
    return b"".join(
        data[k * size : (k + 1) * size] for k in range(len(data) // size) if k not in covered
    )


def without_data(value, draw):
    """The same argument on the meta device."""
    if isinstance(value, (list, tuple)):
        return [without_data(v, draw) for v in value]
    if not isinstance(value, torch.Tensor):
        return value
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return draw.keep(made)


class Trial:
    """One call by its number: makes the arguments, calls, and looks at what changed."""

    def __init__(self, entry, seed, k):
        self.rng = random.Random(f"{seed}/{entry['name']}/{k}")
        torch.manual_seed(0)
        self.entry, self.draw = entry, Draw(self.rng)
        self.args = arguments(entry, self.draw)
        self.meta = random.Random(f"{seed}/{entry['name']}/{k}/meta").random() < 0.08
        if self.meta:
            self.draw.tensors = []
            self.args = [without_data(a, self.draw) for a in self.args]
        forms = [f for f in entry["forms"] if f in ("inplace", "out")]
        self.form = self.rng.choice(["boxed", "boxed", *forms])
        self.out = None
        self.gradients = self.rng.random() < 0.4

    def want_gradients(self):
        for t in self.draw.tensors:
            if t.is_floating_point() or t.is_complex():
                t.requires_grad_()

    def function(self):
        e = self.entry
        words = {n: a for (_, n, key), a in zip(parameters(e), self.args, strict=False) if key}
        plain = self.args[: len(self.args) - len(words)]
        if self.form == "inplace":
            return getattr(torch.Tensor, e["python"] + "_", None), plain, words
        table = {
            "nn": "_nn_table",
            "hidden": "_ops_table",
            "linalg": "_linalg_table",
            "special": "_special_table",
            "fft": "_fft_table",
        }
        name = e["python"]
        found = getattr(torch._C, table.get(e["namespace"], "_functions_table"), {}).get(name)
        if self.form == "out" and found is not None:
            n = e["signature"].split("->")[1].count("Tensor")
            outs = [self.draw.tensor() for _ in range(n)]
            outs = [without_data(t, self.draw) for t in outs] if self.meta else outs
            words["out"] = self.out = outs[0] if n == 1 else tuple(outs)
        return found, plain, words

    def call(self):
        name = self.entry["name"]
        if self.form == "boxed":
            return torch._C._boxed_call(name, *self.args)
        function, plain, words = self.function()
        return function(*plain, **words) if function else None

    def written(self):
        """The tensors that the call may write."""
        found = []
        if self.form == "inplace" and self.args:
            found = [self.args[0]]
        else:
            for (kind, name, _), a in zip(parameters(self.entry), self.args, strict=False):
                if "!" in kind or name.startswith(("running_", "noise")):
                    found += a if isinstance(a, (list, tuple)) else [a]
        if self.out is not None:
            found += self.out if isinstance(self.out, tuple) else [self.out]
        return [t for t in found if isinstance(t, torch.Tensor)]

    def run(self):
        if self.gradients:
            self.want_gradients()
        before = [
            (t, contents(t), t.shape, t.stride(), t.storage_offset()) for t in self.draw.tensors
        ]
        try:
            made = self.call()
        except ASKED_FOR:
            made = None
            self.nothing_changed(before)
        else:
            self.only_targets_changed(before)
            self.differentiate(made)
        return made

    def nothing_changed(self, before):
        for t, data, *_ in before:
            if contents(t)[: len(data)] != data:
                raise Failure("raised, and had changed a tensor")

    def only_targets_changed(self, before):
        written = {t.untyped_storage().data_ptr() for t in self.written() if not t.is_meta}
        for t, data, *_ in before:
            now = contents(t)
            if now == data or len(now) != len(data):
                continue
            if not t.is_meta and t.untyped_storage().data_ptr() not in written:
                raise Failure("changed an argument that it may not write")
            sole = self.form != "boxed" and len(self.written()) == 1
            if sole and self.written()[0] is t and outside(t, now) != outside(t, data):
                raise Failure("wrote beside its target")

    def differentiate(self, made):
        outs = made if isinstance(made, (list, tuple)) else [made]
        outs = [
            o
            for o in outs
            if isinstance(o, torch.Tensor) and o.requires_grad and o.is_meta == self.meta
        ]
        ins = [t for t in self.draw.tensors if t.requires_grad and t.is_meta == self.meta]
        if not self.gradients or not outs or not ins:
            return
        try:
            grads = [torch.ones_like(o) for o in outs]
            first = torch.autograd.grad(outs, ins, grads, allow_unused=True, create_graph=True)
            again = [g for g in first if g is not None and g.requires_grad]
            if again:
                torch.autograd.grad(
                    again, ins, [torch.ones_like(g) for g in again], allow_unused=True
                )
        except ASKED_FOR:
            pass

    def __str__(self):
        return f"{self.entry['name']} as {self.form}, gradients={self.gradients}: " + ", ".join(
            map(word, self.args)
        )


ASKED_FOR = (
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    NotImplementedError,
    OverflowError,
    ZeroDivisionError,
    AttributeError,
    MemoryError,
)


def word(a):
    if isinstance(a, torch.Tensor):
        text = f"{a.dtype}{list(a.shape)} strides {list(a.stride())}"
        text += f" offset {a.storage_offset()} {a.device}"
        if not a.is_meta and 0 < a.numel() < 9:
            text += f" {a.detach().tolist()}"
        return f"<{text}{' conj' if a.is_conj() else ''}{' neg' if a.is_neg() else ''}>"
    return "[" + ", ".join(map(word, a)) + "]" if isinstance(a, (list, tuple)) else repr(a)


def entries(only=()):
    table = [e for e in live_table() if not e["name"].startswith(UNINITIALISED + ENDLESS)]
    if only and "/" in only[0]:
        part, parts = map(int, only[0].split("/"))
        return [e for e in table if e["namespace"] != "hidden"][part::parts]
    if not only:
        return [e for e in table if e["namespace"] != "hidden"]
    if only == ["hidden"]:
        return [e for e in table if e["namespace"] == "hidden"]
    return [e for e in table if e["name"] in only]


def child(options):
    """Makes the calls from a place on; says before each where it is."""
    warnings.simplefilter("ignore")
    if not options.sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    torch.set_num_threads(options.threads)
    table = entries(options.only)
    with open(options.child, "r+b", buffering=0) as place:
        for n, k in itertools.product(range(len(table)), range(options.calls)):
            if (n, k) < (options.op, options.call):
                continue
            os.pwrite(place.fileno(), b"%d %d           " % (n, k), 0)
            signal.setitimer(signal.ITIMER_PROF, options.seconds)
            signal.setitimer(signal.ITIMER_REAL, 10 * options.seconds)
            trial = None
            try:
                trial = Trial(table[n], options.seed, k)
                trial.run()
            except Failure as fault:
                print(f"FAULT {table[n]['name']}:{k} {fault}", flush=True)
            except Exception as error:
                where = "call" if trial else "arguments"
                if trial or options.verbose:
                    print(f"ERROR {table[n]['name']}:{k} in {where}: {error!r}"[:300], flush=True)


def parent(options, report=print) -> list[str]:
    """Runs children until all calls were made; the failures, one line each."""
    table, found = entries(options.only), []
    op = call = 0
    with tempfile.NamedTemporaryFile(dir="/tmp") as place:
        while op < len(table):
            place.seek(0)
            place.write(b"0 0      ")
            place.flush()
            words = [
                sys.executable,
                "-P",
                __file__,
                "--child",
                place.name,
                "--op",
                str(op),
                "--call",
                str(call),
            ]
            for name in ("calls", "seed", "threads", "seconds"):
                words += [f"--{name}", str(getattr(options, name))]
            words += ["--sanitized"] if options.sanitized else []
            words += ["--only", *options.only] if options.only else []
            ran = subprocess.run(words, capture_output=True, text=True, errors="replace")
            for line in ran.stdout.splitlines():
                found.append(line)
                report(line)
            if ran.returncode == 0:
                break
            op, call = map(int, os.pread(place.fileno(), 100, 0).split()[:2])
            tail = "\n".join(
                [
                    x
                    for x in ran.stderr.splitlines()
                    if "ERROR" in x or "runtime error" in x or "    #" in x
                ][:14]
            )
            place_text = f"CRASH {table[op]['name']}:{call} ended with {ran.returncode}"
            found.append(f"{place_text}\n{tail or ran.stderr[-500:]}")
            report(found[-1])
            call += 1
            if (
                call >= options.calls
                or sum(f"CRASH {table[op]['name']}:" in f for f in found) >= options.most
            ):
                op, call = op + 1, 0
    return found


def reader():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--calls", type=int, default=1000, help="calls per op")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=int, default=CPU_SECONDS, help="of CPU, for one call")
    p.add_argument("--most", type=int, default=3, help="crashes of an op before the next one")
    p.add_argument("--only", nargs="*", default=[])
    p.add_argument("--show", help="NAME:K: make this call here")
    p.add_argument("--sanitized", action="store_true", help="set no limit on address space")
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--child")
    p.add_argument("--op", type=int, default=0)
    p.add_argument("--call", type=int, default=0)
    return p


def main():
    options = reader().parse_args()
    if options.child:
        return child(options)
    if options.show:
        name, _, k = options.show.rpartition(":")
        trial = Trial(entries([name])[0], options.seed, int(k))
        print(trial, flush=True)
        made = trial.run()
        print("->", [word(m) for m in (made if isinstance(made, (list, tuple)) else [made])])
        return None
    return int(bool(parent(options)))


if __name__ == "__main__":
    sys.exit(main())
