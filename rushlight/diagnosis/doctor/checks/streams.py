"""Streams read by several workers: each of them reads all of it."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from rushlight import _C

from ... import changes, upstream
from ...finding import Edit, Fix
from ...registry import Check, check, kind
from ...values import LEVELS
from ..loaders import Recent
from ..places import found

kind(
    "stream-read-twice",
    "Each worker of a loader reads the whole stream",
    """
An IterableDataset is copied into each worker, and each copy runs __iter__ from the beginning: with
two workers every sample comes twice. Ask torch.utils.data.get_worker_info() in __iter__ and let
worker i of n take every nth sample, beginning with i.
""",
)


@check
class Streams(Check):
    kinds = ("stream-read-twice",)
    needs: ClassVar = {"*": ("workers", 1, "no loader workers ran")}

    def start(self, doctor):
        self.seen = Recent()
        doctor.watch.on("batch", self.batch, always=True)

    def batch(self, loader, batch):
        from rushlight.utils.data import IterableDataset

        if loader.num_workers < 2 or not isinstance(loader.dataset, IterableDataset):
            return
        entry = self.seen.entry(id(loader), lambda: (loader, Counter()))
        if len(entry[1]) < 2000:
            entry[1][_key(batch)] += 1

    def findings(self, doctor):
        out = []
        for loader, counts in self.seen.values():
            workers = loader.num_workers
            if len(counts) > 1 and all(n % workers == 0 for n in counts.values()):
                out.append(self.finding(loader, counts))
        return out

    def finding(self, loader, counts):
        found_ = upstream.class_source(type(loader.dataset))
        if found_ is None:
            return None
        source, owner = found_
        walk = next((f for f in owner.body if getattr(f, "name", "") == "__iter__"), None)
        if walk is None:
            return None
        loop = next((n for n in ast.walk(walk) if isinstance(n, ast.For)), None)
        last = walk.body[-1]
        node = loop.iter if loop is not None else getattr(last, "value", None)
        fixes, statement = [], loop if loop is not None else last
        if node is not None:
            torch = changes.prefix_for(source, "utils.data")
            if torch == "torch.utils.data" and "torch" not in changes.imported(source):
                torch = "data"
            head = "import itertools\n"
            head += "import torch.utils.data as data\n" if torch == "data" else ""
            head += (
                f"worker = {torch}.get_worker_info()\n"
                "first, step = (worker.id, worker.num_workers) if worker else (0, 1)"
            )
            text = f"itertools.islice({source.segment(node)}, first, None, step)"
            edits = _with_lines(source, statement, head, node, text)
            fixes.append(Fix("each worker takes its own share", edits))
        total, distinct = sum(counts.values()), len(counts)
        evidence = [f"{total} batches from {loader.num_workers} workers, {distinct} distinct"]
        return found(
            "stream-read-twice", "wrong result", (source.file, statement.lineno),
            f"each of {loader.num_workers} workers reads the whole stream", evidence, [], fixes,
        )  # fmt: skip


def _with_lines(source, statement, head, node, text):
    changed = source.replace((node, text))
    lines = source.indented(statement, head)
    return [Edit(changed.file, changed.line, changed.end_line, f"{lines}\n{changed.text}")]


def _key(batch, level: int = 0) -> str:
    if isinstance(batch, _C.TensorBase):
        return repr((tuple(batch.shape), batch.flatten()[:64].tolist(), float(batch.sum())))
    if isinstance(batch, (list, tuple)) and level < LEVELS:
        return repr([_key(b, level + 1) for b in batch])
    if isinstance(batch, dict) and level < LEVELS:
        return repr([(k, _key(v, level + 1)) for k, v in batch.items()])
    return repr(batch)[:200]
