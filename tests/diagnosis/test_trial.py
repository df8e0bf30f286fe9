"""Trials in the program's own process: what fails in them, what takes long, whose alarm rings."""

import signal
import sys
import time

import pytest

from rushlight.diagnosis import trial
from rushlight.diagnosis.doctor.checks import functions


def frame():
    return sys._getframe()


@pytest.mark.parametrize(
    "text", ["1 / 0", "exit()", "__import__('sys').exit(3)", "1 +", "__import__('time').sleep(5)"]
)
def test_what_fails_or_takes_long_gives_nothing(text):
    assert trial.value(frame(), {}, text, 0.05) is None
    assert not trial.expression(frame(), {}, text, 0.05).good


def test_an_interrupt_is_not_kept_from_the_program():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trial.quietly(interrupted)


def test_an_alarm_of_the_programs_own_rings_when_it_is_due():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        assert trial.quietly(lambda: 7) == 7
        assert not rung
        time.sleep(0.3)
        assert len(rung) == 1 and rung[0] - began == pytest.approx(0.15, abs=0.1)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        trial.quietly(lambda: time.sleep(0.1))
        time.sleep(0.05)
        assert len(rung) == 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_backward_that_takes_long_is_let_go(monkeypatch):
    monkeypatch.setattr(functions, "_compare", lambda *_: time.sleep(5))
    check = functions.Functions()
    check.seen = {object: ()}
    assert check.findings(None) == []
