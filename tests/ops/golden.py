"""Reading and writing the recorded answers: one compressed JSON file for each family of rows."""

from __future__ import annotations

import functools
import json
import lzma
import os
import pathlib

# RUSHLIGHT_GOLDEN names another folder of recordings, of another processor say.
FOLDER = pathlib.Path(
    os.environ.get("RUSHLIGHT_GOLDEN")
    or pathlib.Path(__file__).resolve().parent.parent / "golden" / "ops"
)


@functools.cache
def load(family: str) -> dict:
    """The recording of a family: rows by name, outcomes by experiment and key."""
    path = FOLDER / f"{family}.json.xz"
    if not path.exists():
        return {"rows": {}}
    return json.loads(lzma.decompress(path.read_bytes()))


def save(family: str, recording: dict) -> int:
    """Writes a recording with the same bytes for the same content; returns their number."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(recording, separators=(",", ":"), sort_keys=True)
    packed = lzma.compress(text.encode(), preset=6)
    (FOLDER / f"{family}.json.xz").write_bytes(packed)
    return len(packed)


def call_texts(row) -> list[str]:
    """What identifies the samples a recording was made for."""
    head = [",".join(row.dtypes), f"seed={row.seed}"]
    return head + [repr(c) for c in row.calls] + [f"fails {c!r}" for c in row.fails]
