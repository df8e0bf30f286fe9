"""The default random number generator: seeding it, saving and restoring its state."""

from __future__ import annotations

from ._C import default_generator

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def set_rng_state(new_state) -> None:
    """Puts the default generator into ``new_state``, a tensor from ``get_rng_state``."""
    default_generator.set_state(new_state)


def get_rng_state():
    """The state of the default generator, as a tensor of bytes."""
    return default_generator.get_state()


def manual_seed(seed):
    """Seeds the default generator with ``seed``, an int of at most 64 bits; returns it."""
    seed = int(seed)
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the default generator from the system's entropy; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator last got."""
    return default_generator.initial_seed()


def thread_safe_generator():
    """The generator of a data-loading thread: None, for the default one is safe."""
    return None


class fork_rng:
    """Restores the state of the default generator when the block ends; also a decorator."""

    def __init__(
        self,
        devices=None,
        enabled=True,
        _caller="fork_rng",
        _devices_kw="devices",
        device_type="cuda",
    ):
        self._enabled = enabled

    def __enter__(self):
        self._state = get_rng_state() if self._enabled else None

    def __exit__(self, *error):
        if self._enabled:
            set_rng_state(self._state)

    def __call__(self, function):
        from functools import wraps

        @wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)(enabled=self._enabled):
                return function(*args, **kwargs)

        return wrapped
