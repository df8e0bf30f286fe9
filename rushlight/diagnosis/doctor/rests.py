"""When listening rests: in a long run it takes a share of the time, and hears turns as a whole."""

from __future__ import annotations

from time import perf_counter

LEAST_TURNS = 32  # that are heard in full, however slow the machine is, and so are
LEAST_SECONDS = 0.25  # the first ones
WINDOW = 8  # turns that are heard in a row
MOST_SHARE = 0.1  # of the time that listening may take
LEAST_CALLS = 128  # of one model at one place that are always heard
MOST_MODELS = 8  # at one place that are so: a search makes a model anew for each of its trials

CALL, BACKWARD, STEP = range(3)  # what ends a turn: the last of them that a program has


class Rests:
    """Whether the doctor rests now. ``missed`` of ``turns`` went by unheard.

    ``spent()``: the seconds that listening has taken.
    """

    def __init__(self, spent):
        self.resting = False
        self.turns = self.missed = 0
        self._spent, self._began = spent, perf_counter()
        self._until = LEAST_TURNS  # the turn from which on a rest may begin
        self._latest = 0  # the turn at which a rest ends, though its owner was not met again
        self._kind, self._owner, self._woken = CALL, None, False
        self._calls: dict[tuple, dict[int, int]] = {}  # by place, then by model

    def turn(self, kind: int, owner=None) -> None:
        """A turn ends: a rest may begin or end here.

        A rest that began behind a step of one optimizer ends behind one of the same, so that with
        two of them, too, only whole turns are left out.
        """
        if kind < self._kind:
            return
        if kind > self._kind:  # the loop turns out to be another one
            self._kind, self.turns, self.missed = kind, 0, 0
            self.resting, self._until = False, LEAST_TURNS
        self.turns += 1
        self.missed += self.resting
        if self.turns < (self._latest if self.resting and owner != self._owner else self._until):
            return
        passed = perf_counter() - self._began
        late = passed > LEAST_SECONDS and self._spent() > MOST_SHARE * passed
        if late and not self._woken:
            self.resting, self._owner, self._latest = True, owner, self.turns + 4 * WINDOW
        elif self.resting:
            self.resting = self._woken = False
            self._until = self.turns + WINDOW

    def is_new(self, frame, module) -> bool:
        """Whether a model was called at a place only a few times so far.

        Another part of the training begins then, or an evaluation, and the next turns are heard.
        """
        code = frame.f_code
        place = (code.co_filename, code.co_firstlineno, code.co_name, frame.f_lasti)
        counts = self._calls.setdefault(place, {})
        if id(module) not in counts and len(counts) == MOST_MODELS:
            return False
        count = counts[id(module)] = counts.get(id(module), 0) + 1
        self._woken |= self.resting and count <= LEAST_TURNS
        return count <= LEAST_CALLS
