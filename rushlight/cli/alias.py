"""``rushlight alias``: a small ``torch`` distribution that forwards to Rushlight."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

_FORWARDER = '''"""``torch`` means ``rushlight`` here: written by ``rushlight alias install``."""

import sys

try:
    from rushlight._alias import install
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"torch is Rushlight's alias here, and rushlight cannot be imported: {error}. "
        "Install rushlight, or remove the alias with: pip uninstall torch",
        name=error.name,
    ) from None

install()
sys.modules["torch"] = sys.modules["rushlight"]
'''
_METADATA = """\
Metadata-Version: 2.1
Name: torch
Version: {version}
Summary: An alias: import torch gives Rushlight, which runs PyTorch programs
License: MIT
Requires-Python: >=3.11
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: rushlight alias
Root-Is-Purelib: true
Tag: py3-none-any
"""


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "alias",
        help="let 'import torch' mean Rushlight in this environment",
        description="Puts a small distribution named torch into the current environment, or "
        "takes it away: 'import torch' then gives Rushlight, and requirements on torch are met. "
        "A PyTorch that is installed is never touched.",
        allow_abbrev=False,
    )
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.set_defaults(command=lambda options: _ACTIONS[options.action]())


def _version() -> str:
    from rushlight.version import __version__

    return str(__version__)


def _folder() -> Path:
    """Where the environment's own packages are."""
    return Path(sysconfig.get_paths()["purelib"])


def _text(read, *args) -> str:
    """What ``read(*args)`` gives of metadata; nothing where it is broken."""
    try:
        return read(*args) or ""
    except (OSError, UnicodeDecodeError):
        return ""


def _installed():
    """(the distribution named torch or None, whether it is the alias)."""
    for found in metadata.distributions(name="torch"):
        return found, "Generator: rushlight alias" in _text(found.read_text, "WHEEL")
    return None, False


def _is_alias(file: Path) -> bool:
    try:
        return "rushlight alias install" in file.read_text(encoding="utf-8").partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        return False


def _other_torch() -> tuple[str, str] | None:
    """A ``torch`` that is not the alias: where, its version if stated, and what to wait for."""
    found, ours = _installed()
    if found is not None and not ours:
        stated = _text(lambda: found.version)
        if stated:
            return f"torch {stated} in {found.locate_file('')}", "after: pip uninstall torch"
        left = getattr(found, "_path", found.locate_file(""))
        return f"what is left of a torch in {left}", "when that is gone"
    for folder in dict.fromkeys([str(_folder()), *filter(None, sys.path[1:])]):
        package = Path(folder, "torch")
        if package.is_dir() and any(package.iterdir()) and not _is_alias(package / "__init__.py"):
            return f"a package in {package}", "when that is gone"
    return None


def _install() -> int:
    other = _other_torch()
    if other is not None:
        where, when = other
        return _fail(f"there is {where}; the alias takes its place only {when}")
    folder, version = _folder(), _version()
    info = f"torch-{version}.dist-info"
    files = {
        "torch/__init__.py": _FORWARDER,
        f"{info}/METADATA": _METADATA.format(version=version),
        f"{info}/WHEEL": _WHEEL,
        f"{info}/INSTALLER": "rushlight\n",
        f"{info}/top_level.txt": "torch\n",
    }
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    try:
        _write(folder, files)
    except OSError as error:
        return _fail(f"cannot write to {folder}: {error.strerror}")
    print(f"import torch now gives Rushlight ({version}) in {folder}")
    return 0


def _record(files: dict[str, str], itself: str) -> str:
    """What pip reads when it uninstalls: path, checksum and size of each file."""

    def line(path, text):
        data = text.encode()
        checksum = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        return f"{path},sha256={checksum},{len(data)}\n"

    return "".join(line(*item) for item in files.items()) + f"{itself},,\n"


def _write(folder: Path, files: dict[str, str]) -> None:
    """All files or none: they are written aside, then their folders take the places of ours."""
    with tempfile.TemporaryDirectory(prefix=".torch-", dir=folder) as aside:
        for path, text in files.items():
            file = Path(aside, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        made = sorted(os.listdir(aside))
        before = Path(tempfile.mkdtemp(dir=aside))
        for part in _parts(folder):
            os.replace(part, before / part.name)
        for part in made:
            os.replace(Path(aside, part), folder / part)


def _parts(folder: Path) -> list[Path]:
    """The alias' folders."""
    package = folder / "torch"
    parts = [package] if _is_alias(package / "__init__.py") else []
    for info in folder.glob("torch-*.dist-info"):
        wheel = _text((info / "WHEEL").read_text, "utf-8")
        if "Generator: rushlight alias" in wheel:
            parts.append(info)
    return parts


def _remove() -> int:
    found = _parts(_folder())
    try:
        for part in found:
            shutil.rmtree(part)
    except OSError as error:
        return _fail(f"cannot remove it from {_folder()}: {error.strerror}")
    if found:
        print(f"import torch no longer gives Rushlight in {_folder()}")
        return 0
    other = _other_torch()
    return _fail(f"there is {other[0]}, which is not the alias" if other else "it is not installed")


def _status() -> int:
    found, ours = _installed()
    if ours:
        place, ours = found.locate_file(""), _version()
        stale = "" if found.version == ours else f"; rushlight is {ours}: install again"
        print(f"import torch gives Rushlight: torch {found.version} in {place}{stale}")
        return 0
    other = _other_torch()
    print(f"not installed: there is {other[0]}" if other else "not installed")
    return 1


def _fail(message: str) -> int:
    print(f"rushlight alias: {message}", file=sys.stderr)
    return 1


_ACTIONS = {"install": _install, "remove": _remove, "status": _status}
