"""Runs the programs of this folder; shared by the recorder and the tests."""

from __future__ import annotations

import importlib
import inspect

from autograd.programs import Show

FILES = ["amp", "arguments", "checkpointing", "curves", "families", "foreach", "futures",
         "masks", "normalized", "quasi", "schedules", "segments",
         "trees", "vectors"]  # fmt: skip


def programs(module) -> dict:
    """Programs of a file by name."""
    return {
        name: f
        for name, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__
        and list(inspect.signature(f).parameters) == ["torch", "show"]
    }  # fmt: skip


def shown(torch, program) -> list[str]:
    """The lines that a program shows."""
    importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    show = Show()
    program(torch, show)
    return [line.replace("rushlight.", "torch.") for line in show.lines]


def all_shown(torch, module) -> dict:
    """The lines of every program of a file."""
    return {name: shown(torch, program) for name, program in programs(module).items()}
