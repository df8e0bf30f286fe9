"""Input that is slower than the model: measured waits, and the line that takes the time."""

from __future__ import annotations

import ast
import sys
import threading
import weakref
from collections import Counter
from time import perf_counter, sleep
from typing import ClassVar

from ... import changes, trial
from ...finding import Fix
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

kind(
    "workers-cost-more",
    "Loader workers take longer than the work they were meant to take off",
    """
Each pass over a DataLoader with workers starts processes, and each batch travels between them. For
samples that are cheap to make, an index into a tensor, say, that costs more than making them where
they are used. The check measures one sample in the training process and compares: with
num_workers=0 the pass would have taken less. Workers pay from about a millisecond per sample.
""",
)

LOADING = ("__getitem__", "__getitems__", "collate_fn")
LEAST_SECONDS = 0.1
LEAST_WAIT = 0.005
LEAST_PASSES = 5
LEAST_LOST = 0.4  # seconds spent on workers that save nothing


class Sampler(threading.Thread):
    """Looks every 2 ms at the line of the dataset that the main thread runs while it loads."""

    def __init__(self, thread: int):
        super().__init__(daemon=True)
        self.thread, self.lines, self.loading, self.ended = thread, Counter(), False, False
        self.total = 0

    def run(self):
        while not self.ended:
            sleep(0.002)
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


def _seconds_of_a_sample(dataset) -> float | None:
    """Seconds that one sample takes here, over up to 64 of them; None where that fails."""

    def each() -> float:
        count = min(64, len(dataset))
        began = perf_counter()
        for i in range(count):
            dataset[i]
        return (perf_counter() - began) / count

    return trial.apart(each, 1.0)


@check
class Waiting(Check):
    kinds = ("loader-slower-than-model", "workers-cost-more")
    needs: ClassVar = {
        "*": ("loader", 1, "no DataLoader was used"),
        "workers-cost-more": ("workers", 1, "no loader workers ran"),
    }

    def start(self, doctor):
        self.loaders, self.at, self.sampler = {}, weakref.WeakKeyDictionary(), None
        self.made_at, self.watch = doctor.loaders.made_at, doctor.watch
        watch = doctor.watch
        watch.on("loader", self.loader)
        watch.on("waited", self.waited, always=True)
        watch.on("asked", self.asked, always=True)

    def loader(self, loader):
        if loader.num_workers:
            self.watch.tell("workers", loader)
        if loader.num_workers or not hasattr(loader.dataset, "tensors"):
            site = places.here()
            entry = self.loaders.setdefault(site, {"loader": loader, "site": site, "epochs": []})
            self.at[loader] = site
            entry["epochs"].append([0, 0.0, 0.0])
            if self.sampler is None and not loader.num_workers:
                self.sampler = Sampler(threading.get_ident())
                self.sampler.start()

    def asked(self, loader):
        if self.sampler is not None and loader in self.at:
            self.sampler.loading = True

    def waited(self, loader, seconds, computed):
        site = self.at.get(loader)
        if site is None:
            return
        if self.sampler is not None:
            self.sampler.loading = False
        epoch = self.loaders[site]["epochs"][-1]
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
            idle = self.idle_workers(entry, doctor.seconds)
            if idle is not None:
                out.append(idle)
                continue
            if count == 0 or waited < LEAST_SECONDS or waited / count < LEAST_WAIT:
                continue
            if waited > 2 * computed and computed > 0 and self.watch.count("call"):
                out.append(self.finding(entry, count, waited, computed))
        return out

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
            f"one sample takes {each * 1e3:.2f} ms (num_workers={loader.num_workers})",
        ]
        at, fixes = entry["site"], []
        if self.sampler is not None and self.sampler.lines and not loader.num_workers:
            (file, line), hits = self.sampler.lines.most_common(1)[0]
            at = (file, line)
            if self.sampler.total:
                evidence.append(f"{hits} of {self.sampler.total} looks found it at this line")
            if samples > 1:
                fixes += self.cached(file, line)
        if not loader.num_workers and each >= 1e-3:
            fixes += self.workers(loader, "2", "if they pay: this was tried by running it")
        return found(
            "loader-slower-than-model",
            "time",
            at,
            "the model waits for this line",
            evidence,
            [(entry["site"], "the loop that waits")] if at is not entry["site"] else [],
            fixes,
        )

    def workers(self, loader, number: str, why: str) -> list[Fix]:
        """The loader's call with another number of workers."""
        site = self.made_at(loader)
        call = places.call_at(site) if site is not None else None
        if call is None:
            return []
        text = changes.with_keyword(site.source, call, "num_workers", number)
        return [site.source.fix(call, text, f"num_workers={number}: {why}")]

    def idle_workers(self, entry, seconds):
        """A finding where the samples, made in this process, would have taken less."""
        loader, epochs = entry["loader"], entry["epochs"]
        if not loader.num_workers or len(epochs) < LEAST_PASSES:
            return None
        count, waited, computed = (sum(column) for column in zip(*epochs, strict=True))
        site = self.made_at(loader)
        if site is None or waited < max(LEAST_LOST, 0.2 * seconds, computed):
            return None
        each = _seconds_of_a_sample(loader.dataset)
        samples = count * (loader.batch_size or 1)
        if each is None or 3 * each * samples > waited:
            return None
        evidence = [
            (
                f"{len(epochs)} passes waited {waited:.2f} s for {loader.num_workers} workers; "
                f"their {samples:,} samples take {each * samples:.3f} s here, as measured"
            )
        ]
        fixes = self.workers(loader, "0", "made where they are used")
        title = "workers cost more than they save"
        return found("workers-cost-more", "time", site, title, evidence, [], fixes)

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
            edit = source.instead(statement, lines)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, text = statement.targets[0].id, source.segment(statement.value)
            lines = (
                f'kept = {me}.__dict__.setdefault("kept_samples", {{}})\n'
                f"if {index} not in kept:\n    kept[{index}] = {text}\n{name} = kept[{index}]"
            )
            edit = source.instead(statement, lines)
        else:
            return []
        return [Fix("kept after the first epoch, if a sample is the same in each", [edit])]
