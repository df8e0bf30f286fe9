"""In long runs the doctor hears a part of the turns: whole ones, and each new part of a program."""

import sys

import pytest

import rushlight as torch
from rushlight.diagnosis.doctor import rests
from rushlight.diagnosis.doctor.rests import (
    BACKWARD,
    CALL,
    LEAST_CALLS,
    LEAST_TURNS,
    STEP,
    WINDOW,
    Rests,
)
from rushlight.diagnosis.doctor.watch import Watch
from rushlight.overrides import TorchFunctionMode, _get_current_function_mode_stack

from .doctored import doctored


@pytest.fixture
def tired(monkeypatch):
    """Rests that begin as soon as they may."""
    monkeypatch.setattr(rests, "LEAST_SECONDS", -1.0)
    return Rests(lambda: 1e9)


def turns(which, count, kind=STEP, owner=1):
    for _ in range(count):
        which.turn(kind, owner)


def test_the_first_turns_are_heard(tired):
    turns(tired, LEAST_TURNS - 1)
    assert not tired.resting
    turns(tired, 1)
    assert tired.resting
    turns(tired, 10)
    assert (tired.turns, tired.missed) == (LEAST_TURNS + 10, 10)


def test_a_rest_ends_behind_the_optimizer_that_it_began_behind(monkeypatch, tired):
    turns(tired, LEAST_TURNS)
    monkeypatch.setattr(tired, "_spent", lambda: -1e9)
    turns(tired, 3, owner=2)
    assert tired.resting
    turns(tired, 1, owner=1)
    assert not tired.resting


def test_a_rest_ends_though_its_optimizer_is_gone(monkeypatch, tired):
    turns(tired, LEAST_TURNS)
    monkeypatch.setattr(tired, "_spent", lambda: -1e9)
    turns(tired, 4 * WINDOW, owner=2)
    assert not tired.resting


def test_steps_end_turns_where_there_are_any(tired):
    turns(tired, 50, kind=CALL)
    assert tired.resting
    turns(tired, 20, kind=BACKWARD)
    assert tired.turns == 20 and not tired.resting
    turns(tired, 1)
    turns(tired, 50, kind=CALL)
    assert tired.turns == 1


def test_a_new_place_of_a_call_is_heard_and_the_turns_behind_it(tired):
    turns(tired, LEAST_TURNS)
    assert tired.is_new(sys._getframe(), tired)
    turns(tired, 1)
    assert not tired.resting
    turns(tired, WINDOW)
    assert tired.resting


def test_calls_are_counted_before_a_rest_too(tired):
    listening, model = Watch(), torch.nn.Linear(1, 1)
    listening.rests = tired
    for number in range(LEAST_CALLS + 1):
        if number == LEAST_CALLS:
            turns(tired, LEAST_TURNS)
            assert tired.resting
        listening._called(model, (), None)
    turns(tired, 1)
    assert tired.resting


LONG = """
    import torch
    from torch import nn
    from torch.overrides import TorchFunctionMode

    torch.manual_seed(0)

    class Counting(TorchFunctionMode):
        count = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.count += getattr(func, "__name__", "") == "mse_loss"
            return func(*args, **(kwargs or {}))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
            self.dropout = nn.Dropout(0.5)

        def forward(self, x):
            return self.head(self.dropout(self.hidden(x).relu()))

    def evaluate(model, x, y):
        with torch.no_grad():
            return nn.functional.mse_loss(model(x), y).item() #!

    x = torch.randn(16, 4)
    y = x.sum(1, keepdim=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with Counting() as counting:
        for step in range(6000):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert counting.count == 6000, "the mode was left"
    assert counting not in torch.overrides._get_current_function_mode_stack()
    assert evaluate(model, x, y) < 100
"""


def test_an_evaluation_after_many_steps_is_seen_and_modes_of_the_program_stay():
    report = doctored({"long": LONG}, fixes=False)["long"]
    (finding,) = report["findings"]
    assert finding["id"] == "dropout-while-evaluating" and finding["line"] == report["marked"][1]
    assert "6,000 turns were looked at" in " ".join(report["text"].split())
    assert report["status"] == 0, report["error"]


def test_a_mode_is_left_from_below_others():
    from rushlight import overrides

    class Quiet(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    below = Quiet()
    with Quiet() as inner:
        overrides._enter_outermost(below)
        assert _get_current_function_mode_stack() == [below, inner]
        assert overrides._leave_wherever(below) and not overrides._leave_wherever(below)
        assert _get_current_function_mode_stack() == [inner]
    assert _get_current_function_mode_stack() == []
    assert torch.ones(2).sum() == 2
