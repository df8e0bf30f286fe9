"""What the program deletes is gone at once, also where nobody collects cycles."""

import contextlib
import gc
import io
import sys
import weakref

import pytest

import rushlight as torch
from rushlight import _C, nn
from rushlight.diagnosis import notes
from rushlight.profiler import profile


def explained(model, x):
    try:
        model(x)
    except (RuntimeError, ValueError) as error:
        assert notes.finding_of(error) is not None


def twice(model):
    loss = model(torch.ones(2, 3)).sum()
    loss.backward()
    try:
        loss.backward()
    except RuntimeError as error:
        assert notes.finding_of(error) is not None


def strange_state(model):
    try:
        model.load_state_dict({"0.weigth": torch.ones(3)})
    except RuntimeError as error:
        assert notes.finding_of(error) is not None


def profiled(model):
    with profile(record_shapes=True, with_modules=True) as recorded:
        model(torch.ones(2, 3)).sum().backward()
    assert "Linear" in str(recorded.key_averages()) + str(recorded.events())
    assert any(event.module is model for event in recorded.events())


USES = {
    "shapes": lambda model: explained(model, torch.ones(2, 5)),
    "one row": lambda model: explained(model, torch.ones(1, 3)),
    "twice": twice,
    "strange state": strange_state,
    "state": lambda model: model.load_state_dict(model.state_dict()),
    "asked": lambda model: torch.why_no_grad(model, model(torch.ones(2, 3)).detach().sum()),
    "profiled": profiled,
}


@pytest.fixture
def uncollected():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("use", USES)
def test_a_model_dies_when_it_is_deleted(uncollected, use):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    known = weakref.ref(model)
    with contextlib.redirect_stdout(io.StringIO()):
        USES[use](model)
    del model
    assert known() is None


class Thing:
    pass


def outer(given, *more, key=None, **others):
    later, gone = 1, 2
    del gone

    def inner():
        return given, later

    thing = Thing()
    known, frame = weakref.ref(thing), sys._getframe()
    names = _C._locals(frame)
    for name in [n for n in names if n[0] == "@"]:  # of pytest
        del names[name]
    expected = {
        "given": 0, "more": (1, 2), "key": None, "others": {"a": 3}, "later": 1, "inner": inner,
        "thing": thing, "known": known, "frame": frame,
    }  # fmt: skip
    assert names == expected
    del thing, names, expected
    assert known() is None
    return frame


def test_the_names_of_a_frame_are_read_without_a_trace():
    frame = outer(0, 1, 2, a=3)
    assert _C._locals(frame) == frame.f_locals and "thing" not in _C._locals(frame)

    def free():
        return _C._locals(sys._getframe())

    def reads():
        return frame

    reads()
    assert free() == {}
    room, mine = {}, locals()
    exec("import sys; frame = sys._getframe()", room)
    assert _C._locals(room["frame"]) is room
    with pytest.raises(TypeError):
        _C._locals(3)
    _C._locals(sys._getframe())
    assert "room" not in mine, "a dictionary that the program asked for stays as it is"
