"""torch.fx gives what PyTorch gives: tools/record_fx.py recorded that."""

from __future__ import annotations

import json
import lzma
import threading
from pathlib import Path

import pytest

import rushlight
from rushlight import fx, nn
from rushlight.nn import functional as F

from . import programs

GOLDEN = Path(__file__).parents[1] / "golden" / "fx.json.xz"
EXPECTED = json.loads(lzma.decompress(GOLDEN.read_bytes()))


@pytest.fixture(scope="module")
def found():
    return programs.everything()


def test_the_programs_are_those_recorded(found):
    assert list(found) == list(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_as_pytorch(name, found):
    expected = EXPECTED[name]
    if isinstance(expected, list) and expected and isinstance(expected[0], float):
        assert found[name] == pytest.approx(expected, abs=2e-4)
    else:
        assert found[name] == expected


def test_a_trace_leaves_modules_as_they_were():
    module = rushlight.nn.Linear(2, 2)
    code = rushlight.nn.functional.relu.__code__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(programs.branched)
    assert "__getattr__" not in vars(rushlight.nn.Module)
    assert "__call__" not in vars(rushlight.nn.Module)
    assert rushlight.nn.functional.relu.__code__ is code and module.weight.shape == (2, 2)


def test_an_error_shows_the_generated_line(capsys):
    traced = fx.symbolic_trace(lambda x: rushlight.relu(x) + "s")
    with pytest.raises(TypeError):
        traced(rushlight.ones(2))
    assert "line 6 of the traced Module's generated forward function" in capsys.readouterr().err


def test_a_folder_holds_a_module(tmp_path, monkeypatch):
    net = programs.filled(programs.Net())
    traced = fx.symbolic_trace(net)
    with pytest.warns(UserWarning, match="saved as pickled files"):
        traced.to_folder(tmp_path / "stored_net", "Stored")
    monkeypatch.syspath_prepend(str(tmp_path))
    from stored_net import Stored

    again = Stored().eval()
    assert rushlight.equal(again(programs.batch()), net(programs.batch()))


def test_threads_trace_one_after_the_other():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return F.relu(F.softmax(self.layer(x), 0))

    codes, plain, done = [], [], threading.Event()

    def trace():
        for _ in range(10):
            codes.append(fx.symbolic_trace(Net()).code)

    def compute():
        while not done.is_set():
            plain.append(F.softmax(rushlight.ones(2), 0).tolist())

    tracers = [threading.Thread(target=trace) for _ in range(4)]
    beside = threading.Thread(target=compute)
    for thread in (beside, *tracers):
        thread.start()
    for thread in tracers:
        thread.join()
    done.set()
    beside.join()
    assert len(codes) == 40 and len(set(codes)) == 1
    assert plain and all(values == [0.5, 0.5] for values in plain)
    assert rushlight.is_tensor(F.relu(rushlight.ones(1)))
