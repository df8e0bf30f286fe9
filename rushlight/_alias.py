"""Makes ``torch`` and its submodules other names of ``rushlight`` and its submodules."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder

_OURS, _THEIRS = __package__.partition(".")[0], "torch"


class _Loader:
    """Gives the module of our name; it is imported once and has both names."""

    def __init__(self, name: str, found: ModuleSpec | None):
        self._name, self._found = name, found

    def create_module(self, spec):
        """Our module; the import system must not mark it as loaded under the other name."""
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        """Nothing is run again; the spec that the import system put on the module goes."""
        module.__spec__ = self._spec

    def get_code(self, fullname):
        """Our module's code: ``python -m torch.utils.collect_env`` runs it."""
        return self._found and self._found.loader.get_code(self._name)

    def get_filename(self, fullname):
        """Our module's file."""
        return self._found and self._found.origin

    def get_source(self, fullname):
        """Our module's text."""
        return self._found and self._found.loader.get_source(self._name)

    def is_package(self, fullname):
        """Whether our module is a package."""
        return self._found is None or self._found.submodule_search_locations is not None


class _SpawnLoader:
    """Loads ``multiprocessing.spawn`` so that its children get the alias, too."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        """As usual."""
        return self._loader.create_module(spec)

    def exec_module(self, module):
        """Runs the module, then adds to what it tells a child first."""
        self._loader.exec_module(module)
        _extend_preparation(module)


class _InstallInChild:
    """Unpickled by a spawned child before it imports the program: installs the alias there."""

    def __reduce__(self):
        return (install, ())


def _extend_preparation(spawn) -> None:
    original = spawn.get_preparation_data

    def get_preparation_data(name):
        return {**original(name), "rushlight_alias": _InstallInChild()}

    spawn.get_preparation_data = get_preparation_data


class TorchFinder:
    """Finds ``torch[.x]`` as ``rushlight[.x]``; first on ``sys.meta_path``."""

    def find_spec(self, fullname, path=None, target=None):
        """A spec for ``fullname`` when it is ours, else None."""
        head, dot, tail = fullname.partition(".")
        if head == _THEIRS:
            name = _OURS + dot + tail
            there, found = self._look_up(name)
            if there:
                loader = _Loader(name, found)
                origin = found and found.origin
                package = loader.is_package(fullname)
                return ModuleSpec(fullname, loader, origin=origin, is_package=package)
        elif fullname == "multiprocessing.spawn":
            spec = PathFinder.find_spec(fullname, path, target)
            spec.loader = _SpawnLoader(spec.loader)
            return spec
        return None

    def find_distributions(self, context=None):
        """What ``importlib.metadata`` knows about ``torch``: the version of ``rushlight``."""
        name = getattr(context, "name", None)
        return [_distribution()] if name is None or name.lower() == _THEIRS else []

    @staticmethod
    def _look_up(name: str) -> tuple[bool, ModuleSpec | None]:
        """Whether there is such a module, and its spec if it came from a file."""
        if name in sys.modules:
            return True, getattr(sys.modules[name], "__spec__", None)
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        return found is not None, found


def _distribution():
    from importlib.metadata import Distribution
    from pathlib import Path

    class TorchDistribution(Distribution):
        def read_text(self, filename):
            if filename == "top_level.txt":
                return f"{_THEIRS}\n"
            if filename != "METADATA":
                return None
            stated = importlib.import_module(_OURS).__version__
            return f"Metadata-Version: 2.1\nName: {_THEIRS}\nVersion: {stated}\n"

        def locate_file(self, path):
            return Path(importlib.import_module(_OURS).__file__).parents[1] / path

    return TorchDistribution()


def install() -> None:
    """Makes ``import torch`` mean Rushlight in this process and its children; once is enough."""
    if any(type(finder) is TorchFinder for finder in sys.meta_path):
        return
    import importlib.util  # noqa: F401  (find_spec lives there)

    for name in [n for n in sys.modules if n == _THEIRS or n.startswith(_THEIRS + ".")]:
        del sys.modules[name]
    sys.meta_path.insert(0, TorchFinder())
    sys.modules[_OURS].__name__ = _THEIRS  # libraries that take several frameworks ask for it
    if "multiprocessing.spawn" in sys.modules:
        _extend_preparation(sys.modules["multiprocessing.spawn"])
    _name_pickles_as_pytorch()


def _name_pickles_as_pytorch() -> None:
    # A plain pickle names functions and classes by module: these then load in PyTorch as well.
    from rushlight import _utils, storage

    named = [*_utils.REBUILD_FUNCTIONS, storage._load_from_bytes, *storage.LEGACY_CLASSES.values()]
    for item in named:
        item.__module__ = _THEIRS + item.__module__.removeprefix(_OURS)
