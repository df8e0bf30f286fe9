"""torch.hub: models from folders, and state dictionaries from URLs, kept in a cache."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from urllib.error import HTTPError, URLError  # noqa: F401
from urllib.parse import unquote, urlparse
from urllib.request import Request, urlopen

__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
    "set_dir",
]  # fmt: skip

# A file name that ends in the first digits of its SHA-256, as in resnet18-f37072fd.pth
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
VAR_DEPENDENCY = "dependencies"
MODULE_HUBCONF = "hubconf.py"
READ_DATA_CHUNK = 128 * 1024

_hub_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of the cache: what ``set_dir`` was told, else ``$TORCH_HOME/hub``."""
    if os.getenv("TORCH_HUB"):
        warnings.warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d) -> None:
    """Sets the folder of the cache."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _hubconf(repo_or_dir: str, source: str):
    from importlib.util import module_from_spec, spec_from_file_location

    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(
            f'Unknown source: "{source}". Allowed values: "github" | "local".'
        )
    if source == "github":
        raise RuntimeError(
            "torch.hub loads from local folders only here: clone the repository and pass its "
            'folder with source="local"'
        )
    path = os.path.join(os.path.expanduser(repo_or_dir), MODULE_HUBCONF)
    spec = spec_from_file_location("hubconf", path)
    module = module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    from importlib.util import find_spec

    missing = [name for name in getattr(module, VAR_DEPENDENCY, []) if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module, name: str):
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return entry


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True,
         source="local"):  # fmt: skip
    """The names of the models that a folder's hubconf.py offers."""
    module = _hubconf(github, source)
    return [n for n, f in vars(module).items() if callable(f) and not n.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None,
         source="local"):  # fmt: skip
    """The docstring of a model of a folder's hubconf.py."""
    return _entry(_hubconf(github, source), model).__doc__


def load(
    repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False,
    verbose=True, skip_validation=False, **kwargs,
):  # fmt: skip
    """The model that a folder's hubconf.py makes (``source="local"``)."""
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix=None, progress: bool = True) -> None:
    """Copies what is at ``url`` to the file ``dst``, which appears only when it is complete.

    Args:
        hash_prefix: the SHA-256 of the content must begin with these digits.
        progress: has no effect.
    """
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    request = Request(url, headers={"User-Agent": "torch.hub"})
    folder = os.path.dirname(dst) or "."
    fd, partial = tempfile.mkstemp(dir=folder, suffix=".partial")
    try:
        with urlopen(request) as source, os.fdopen(fd, "wb") as target:
            while chunk := source.read(READ_DATA_CHUNK):
                target.write(chunk)
                digest.update(chunk)
        found = digest.hexdigest()
        if hash_prefix is not None and found[: len(hash_prefix)] != hash_prefix:
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{found}")'
            )
        shutil.move(partial, dst)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load_state_dict_from_url(
    url: str, model_dir=None, map_location=None, progress: bool = True, check_hash: bool = False,
    file_name=None, weights_only: bool = False,
):  # fmt: skip
    """The object that ``torch.save`` wrote, from the cache or else from ``url``.

    Args:
        model_dir: the cache; ``get_dir()/checkpoints`` if None.
        check_hash: the file's name tells the first digits of its SHA-256.
        file_name: its name in the cache, if not that of the URL.
    """
    from . import load as load_file

    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn(
            "TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2
        )
    if model_dir is None:
        model_dir = os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(unquote(urlparse(url).path))
    cached = os.path.join(model_dir, name)
    if not os.path.exists(cached):
        sys.stdout.write(f'Downloading: "{url}" to {cached}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, found.group(1) if found else None, progress=progress)
    return load_file(cached, map_location=map_location, weights_only=weights_only)


class _Progress:
    """Shows how much of a download is there, where the package tqdm is not installed."""

    def __init__(self, total=None, disable=False, unit=None, *args, **kwargs):
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n) -> None:
        """Adds ``n`` to what is there."""
        if self.disable:
            return
        self.n += n
        done = f"{self.n:.1f} bytes" if self.total is None else f"{100 * self.n / self.total:.1f}%"
        sys.stderr.write(f"\r{done}")
        sys.stderr.flush()

    set_description = close = lambda self, *args, **kwargs: None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if not self.disable:
            sys.stderr.write("\n")


def __getattr__(name: str):
    if name == "tqdm":  # loaded when first asked for
        try:
            from tqdm import tqdm
        except ImportError:
            return _Progress
        return tqdm
    raise AttributeError(f"module 'torch.hub' has no attribute '{name}'")
