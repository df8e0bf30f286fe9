"""Marks for compiled code; nothing is compiled, so they change nothing."""

from __future__ import annotations

import contextlib

from rushlight import _absent

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance",
    "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

from rushlight.functional import compile


def is_compiling() -> bool:
    """False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Does nothing."""


def disable(fn=None, recursive: bool = True, *, reason=None):
    """Returns ``fn`` as it is."""
    return fn if fn is not None else lambda decorated: decorated


def allow_in_graph(fn):
    """Returns ``fn`` as it is."""
    return fn


assume_constant_result = wrap_numpy = allow_in_graph


def nested_compile_region(fn=None, options=None):
    """Returns ``fn`` as it is."""
    return fn if fn is not None else lambda decorated: decorated


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False,
                        **options):  # fmt: skip
    """A decorator that returns its function as it is; ``original_fn`` goes on as well."""
    return lambda decorated: decorated


def cudagraph_mark_step_begin() -> None:
    """Does nothing."""


def list_backends(exclude_tags=()) -> list:
    """The names of PyTorch's that ``compile`` takes; all of them run the code as it is."""
    return ["cudagraphs", "inductor", "openxla", "tvm"]


def get_default_backend():
    """The backend that ``compile`` takes by default; all of them run the code as it is."""
    return _default_backend


def set_default_backend(backend) -> None:
    """Remembers a default backend."""
    global _default_backend
    _default_backend = backend


_default_backend = "inductor"


class set_stance:
    """How compiled code shall run: a function, a block and a decorator that change nothing."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __call__(self, fn):
        return fn

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def save_cache_artifacts():
    """None: nothing was compiled."""
    return None


def load_cache_artifacts(serialized_artifacts):
    """None: nothing is compiled."""
    return None


def _keep_guards(guard_entries) -> list:
    return [True for _ in guard_entries]


skip_guard_on_inbuilt_nn_modules_unsafe = skip_guard_on_all_nn_modules_unsafe = _keep_guards
skip_guard_on_globals_unsafe = skip_all_guards_unsafe = _keep_guards
keep_tensor_guards_unsafe = keep_portable_guards_unsafe = _keep_guards
set_enable_guard_collectives = contextlib.nullcontext


config = _absent.settings(
    "compiler.config", job_id=None, cache_key_tag="", dynamic_sources="", unbacked_sources="",
    force_disable_caches=False, recompile_limit=8, verbose=False,
)  # fmt: skip
