"""Pages of one file each: data, script and style in it, so that they open without a network."""

from __future__ import annotations

import html
import json
from pathlib import Path

_FOLDER = Path(__file__).parent
# Nothing is loaded from anywhere; the page's own script and style are all there is.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<noscript>This page draws itself with the script that is in it: please allow that.</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def as_json(data) -> str:
    """JSON for the inside of a script element: nothing in it ends the element or begins another."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page(kind: str, title: str, data: dict) -> str:
    """The text of a page of a kind: ``xray``, ``profile`` or ``doctor``."""
    style = "".join(_read(f"{name}.css") for name in ("page", kind))
    script = "".join(_read(f"{name}.js") for name in ("page", kind))
    return _PAGE.format(
        policy=_POLICY, title=html.escape(title), style=style, script=script, data=as_json(data)
    )


def write(path, kind: str, title: str, data: dict) -> None:
    """Writes a page; a page that stood there stays whole until the new one is."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.part")
    # The name of a file may be no text: half a pair has the same escape in JSON.
    draft.write_text(page(kind, title, data), encoding="utf-8", errors="backslashreplace")
    draft.replace(path)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
