"""Input that is slower than the model: measured waits, and the line that takes the time."""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections import Counter
from typing import ClassVar

from ...finding import Edit, Fix
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..calls import is_user
from ..places import found

kind(
    "loader-slower-than-model",
    "The model waits for its data most of the time",
    """
The time spent in the loader was measured apart from the time between batches. Where the loader
takes most of it, a faster model would change nothing. What helps depends on the cause: keep decoded
samples in memory where they are the same in every epoch, do the work once before training, or
let workers prepare batches (num_workers) when one sample takes long enough, about a millisecond;
for cheap samples workers make it slower.
""",
)

LOADING = ("__getitem__", "__getitems__", "collate_fn")
LEAST_SECONDS = 0.1
LEAST_WAIT = 0.005


class Sampler(threading.Thread):
    """Looks every 2 ms at the line of the dataset that the main thread runs while it loads."""

    def __init__(self, thread: int):
        super().__init__(daemon=True)
        self.thread, self.lines, self.loading, self.ended = thread, Counter(), False, False
        self.total = 0

    def run(self):
        while not self.ended:
            time.sleep(0.002)
            if not self.loading:
                continue
            frame = sys._current_frames().get(self.thread)
            self.total += 1
            while frame is not None:
                code = frame.f_code
                if code.co_name in LOADING and is_user(code):
                    self.lines[code.co_filename, frame.f_lineno] += 1
                    break
                frame = frame.f_back
            del frame


@check
class Waiting(Check):
    kinds = ("loader-slower-than-model",)
    needs: ClassVar = {
        "*": ("loader", 1, "no DataLoader was used"),
    }

    def start(self, doctor):
        self.loaders, self.at, self.sampler = {}, {}, None
        watch = doctor.watch
        watch.on("loader", self.loader)
        watch.on("waited", self.waited)
        watch.on("asked", self.asked)

    def loader(self, loader):
        if loader.num_workers == 0 and not hasattr(loader.dataset, "tensors"):
            site = places.here()
            entry = self.loaders.setdefault(site, {"loader": loader, "site": site, "epochs": []})
            self.at[id(loader)] = site
            entry["epochs"].append([0, 0.0, 0.0])
            if self.sampler is None:
                self.sampler = Sampler(threading.get_ident())
                self.sampler.start()

    def asked(self, loader):
        if self.sampler is not None and id(loader) in self.at:
            self.sampler.loading = True

    def waited(self, loader, seconds, computed):
        if self.sampler is None or id(loader) not in self.at:
            return
        self.sampler.loading = False
        epoch = self.loaders[self.at[id(loader)]]["epochs"][-1]
        epoch[0] += 1
        epoch[1] += seconds
        epoch[2] += computed

    def stop(self, doctor):
        if self.sampler is not None:
            self.sampler.ended = True

    def findings(self, doctor):
        out = []
        for entry in self.loaders.values():
            count, waited, computed = entry["epochs"][-1]
            if count == 0 or waited < LEAST_SECONDS or waited / count < LEAST_WAIT:
                continue
            if waited > 2 * computed and computed > 0:
                out.append(self.finding(entry, count, waited, computed))
        return [f for f in out if f is not None]

    def finding(self, entry, count, waited, computed):
        loader = entry["loader"]
        share = waited / (waited + computed)
        samples = len(entry["epochs"])
        size = loader.batch_size or 1
        each = waited / count / size
        evidence = [
            (
                f"last of {samples} passes: {waited / count * 1e3:.1f} ms waiting per batch, "
                f"{computed / count * 1e3:.1f} ms computing ({share:.0%} waiting)"
            ),
            f"one sample takes {each * 1e3:.2f} ms, in the training process (num_workers=0)",
        ]
        at, fixes = entry["site"], []
        if self.sampler.lines:
            (file, line), hits = self.sampler.lines.most_common(1)[0]
            at = (file, line)
            if self.sampler.total:
                evidence.append(f"{hits} of {self.sampler.total} looks found it at this line")
            if samples > 1:
                fixes += self.cached(file, line)
        return found(
            "loader-slower-than-model",
            "time",
            at,
            "the model waits for this line",
            evidence,
            [(entry["site"], "the loop that waits")] if at is not entry["site"] else [],
            fixes,
        )

    def cached(self, file, line):
        """``return EXPRESSION`` of __getitem__ kept per index; where samples do not change."""
        source = Source.of(file)
        statement = source.statement(line) if source else None
        function = source.function_of(statement) if statement is not None else None
        if function is None or len(function.args.args) != 2:
            return []
        me, index = (a.arg for a in function.args.args)
        if (
            isinstance(statement, ast.Return)
            and statement.value is not None
            and len(function.body) == 1
        ):
            text = source.segment(statement.value)
            lines = (
                f'kept = {me}.__dict__.setdefault("kept_samples", {{}})\n'
                f"if {index} not in kept:\n    kept[{index}] = {text}\nreturn kept[{index}]"
            )
            new = source.indented(statement, lines)
            edit = Edit(file, statement.lineno, statement.end_lineno, new)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, text = statement.targets[0].id, source.segment(statement.value)
            lines = (
                f'kept = {me}.__dict__.setdefault("kept_samples", {{}})\n'
                f"if {index} not in kept:\n    kept[{index}] = {text}\n{name} = kept[{index}]"
            )
            new = source.indented(statement, lines)
            edit = Edit(file, statement.lineno, statement.end_lineno, new)
        else:
            return []
        return [Fix("kept after the first epoch, if a sample is the same in each", [edit])]
