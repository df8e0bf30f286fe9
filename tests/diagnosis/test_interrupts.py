"""What comes into our code from outside; the exceptions that reach the program are its own."""

import signal
import time

import pytest

import rushlight as torch
from rushlight import _C
from rushlight.diagnosis import interrupts, trial

from .doctor import Report, run

# A handler that raises while the doctor's listeners run, at many moments of a training loop.
HANDLERS = """
import functools, signal, sys, time
import torch
from torch import nn
class Stop({base}):
    pass
def handler(signum, frame):
    raise Stop("time")
class Watchdog:
    def __init__(self, *tags):
        self.tags = tags
    def bark(self, *_):
        raise Stop(*self.tags)
handlers = [handler, Watchdog("a").bark, functools.partial(handler), lambda s, f: handler(s, f)]
model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 4)
lost, contexts, ours = 0, 0, set()
for turn in range(120):
    signal.signal(signal.SIGALRM, handlers[turn % len(handlers)])
    signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.00003 * turn)
    end = time.perf_counter() + 1
    try:
        while time.perf_counter() < end:
            optimizer.zero_grad()
            y = model(x)
            (y[0] + y.sum().relu()).square().mean().backward()
            optimizer.step()
        lost += 1
    except Stop as stop:
        contexts += stop.__context__ is not None
        traceback = stop.__traceback__
        while traceback is not None:
            ours |= {{c for c in [traceback.tb_frame.f_code.co_filename] if "diagnosis" in c}}
            traceback = traceback.tb_next
print(lost, contexts, ours)
"""


@pytest.mark.parametrize("base", ["Exception", "BaseException"])
def test_what_a_signals_handler_raises_reaches_the_program(tmp_path, base):
    report = Report(tmp_path, HANDLERS.format(base=base), "--no-trials")
    assert (report.status, report.stdout) == (0, "0 0 set()\n")
    assert "failed:" not in report.stderr


def test_what_another_thread_throws_in_reaches_the_program(tmp_path):
    script = """
        import ctypes, threading, time
        import torch
        class Stop(Exception):
            pass
        layer, x = torch.nn.Linear(1, 1), torch.ones(1)
        main, lost = ctypes.c_ulong(threading.get_ident()), 0
        throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
        def later(seconds):
            time.sleep(seconds)
            throw(main, ctypes.py_object(Stop))
        for turn in range(60):
            thread = threading.Thread(target=later, args=(0.001 + 0.00005 * turn,))
            try:
                thread.start()
                end = time.perf_counter() + 2
                while time.perf_counter() < end:
                    layer(x).relu().backward()
                lost += 1
            except Stop:
                pass
            thread.join()
        print(lost)
        """
    report = Report(tmp_path, script, "--no-trials")
    assert (report.status, report.stdout) == (0, "0\n")


def test_a_listener_that_fails_is_forgiven_and_one_that_is_interrupted_is_not():
    def fails(*_):
        raise ValueError("ours")

    def interrupted(*_):
        raise KeyboardInterrupt

    heard = _C._heard(len, fails, fails, fails)
    assert heard([1, 2]) == 2
    with pytest.raises(TypeError):
        heard(3)
    assert _C._forgiven(fails)() is None
    assert _C._forgiven(len)("abc") == 3
    for listener in (_C._heard(len, interrupted, None, None), _C._forgiven(interrupted)):
        with pytest.raises(KeyboardInterrupt) as caught:
            listener([1])
        assert caught.value.__traceback__.tb_next is None, "frames of the listener"


def test_an_interrupt_while_a_failure_is_told_has_it_as_its_context():
    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        _C._heard(len, None, None, interrupted)(3)
    assert isinstance(caught.value.__context__, TypeError)
    with pytest.raises(KeyboardInterrupt) as caught:
        _C._heard(next, None, None, interrupted)(iter(()))
    assert caught.value.__context__ is None


# Recursion to the limit by everything that the doctor hears.
RECURSION = """
import sys
import torch
from torch import nn
layer, twice = nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1), nn.ReLU())
optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
x = torch.ones(1)
class Again(nn.Module):
    def forward(self, x):
        return self(x + 1)
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
calls = {
    "layer": lambda: layer(x),
    "op": lambda: x * 2,
    "zero_grad": lambda: optimizer.zero_grad(),
    "backward": lambda: twice(x).sum().backward(),
    "step": lambda: optimizer.step(),
    "eval": lambda: layer.eval(),
    "clip": lambda: nn.utils.clip_grad_norm_(layer.parameters(), 1.0),
    "again": lambda: Again()(x),
    "apply": lambda: Double.apply(x),
    "state": lambda: layer.state_dict(),
}
def dive(call):
    call()
    return dive(call)
def look(name, error, context):
    traceback = error.__traceback__
    while traceback is not None:
        if "diagnosis" in traceback.tb_frame.f_code.co_filename:
            print(name, "shows a frame of ours")
            break
        traceback = traceback.tb_next
    if type(error) is not RecursionError or error.__context__ is not context or error.__cause__:
        print(name, repr(error), repr(error.__context__), repr(error.__cause__))
for limit in range(150, 160):
    for name, call in calls.items():
        for context in (None, ValueError("before")):
            try:
                try:
                    if context is not None:
                        raise context
                finally:
                    sys.setrecursionlimit(limit)
                    dive(call)
            except BaseException as error:
                sys.setrecursionlimit(1000)
                look(name, error, context)
print("done")
"""


def test_an_error_at_the_limit_of_the_stack_is_the_programs_own(tmp_path):
    report = Report(tmp_path, RECURSION, "--no-trials")
    assert (report.status, report.stdout) == (0, "done\n")
    assert run(tmp_path, RECURSION).stdout == "done\n"


def test_a_global_hook_leaves_an_errors_context_alone():
    """Also at the limit of the stack, where handling an error would fail itself."""

    class Again(torch.nn.Module):
        def forward(self, x):
            return self(x)

    handle = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        with pytest.raises(RecursionError) as caught:
            Again()(torch.ones(1))
    finally:
        handle.remove()
    assert caught.value.__context__ is None


# ---- The program's own timer


@pytest.fixture
def rung():
    times = []
    before = signal.signal(signal.SIGALRM, lambda *_: times.append(time.monotonic()))
    yield times
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_timer_that_repeats_goes_on_after_a_trial(rung):
    signal.setitimer(signal.ITIMER_REAL, 0.15, 0.05)
    assert trial.quietly(lambda: time.sleep(0.05) or 7) == 7
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert not rung and 0 < left <= 0.11 and interval == pytest.approx(0.05, abs=0.001)
    time.sleep(0.3)
    assert len(rung) > 2


def test_a_timers_time_stands_still_where_it_is_held(rung):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with interrupts.alarm_held():
        time.sleep(0.1)
    assert not rung
    time.sleep(0.1)
    assert len(rung) == 1


def test_a_trial_in_a_fork_knows_no_timer(rung):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    assert trial.apart(lambda: time.sleep(0.1) or 7, 1.0) == 7
    assert len(rung) == 1, "this process's rang when it was due"


def test_the_alarm_of_a_trial_does_not_ring_behind_it(rung):
    for turn in range(100):
        trial.quietly(lambda: time.sleep(0.0009), 0.0009 + turn * 2e-6)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0) and not rung


def test_an_alarm_that_is_still_set_does_not_end_the_report(tmp_path):
    script = """
        import signal
        import time
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(2, 2)]
                self.out = nn.Linear(2, 1)
            def forward(self, x):
                return self.out(self.layers[0](x))
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(3, 2)).square().mean().backward()
            optimizer.step()
        time.sleep(0.7)  # so that it takes longer to run it again
        signal.setitimer(signal.ITIMER_REAL, 0.8)
        """
    report = Report(tmp_path, script)
    assert report.status == 0 and report.ids == ["modules-in-plain-list"]
    assert report.findings[0]["fixes"][0]["tried"] == "script run again"


def test_an_alarm_that_is_still_set_does_not_end_an_explanation(tmp_path):
    script = """
        import signal
        import time
        import torch
        def slow():
            time.sleep(0.15)
            return torch.ones(2, 3)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        slow() @ torch.ones(4, 3)
        """
    assert "[matmul-shapes]" in run(tmp_path, script).stderr  # then it may ring
