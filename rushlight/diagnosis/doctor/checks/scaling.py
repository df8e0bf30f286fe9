"""The loss scale of mixed precision, where it falls at each step."""

from __future__ import annotations

from typing import ClassVar

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "loss-scale-falls",
    "The loss scale falls at nearly every step",
    """
GradScaler skips a step and halves its scale when a gradient is infinite or NaN. Now and then that
is how it finds the right scale. At nearly every step it means that gradients overflow for another
reason: a NaN in the forward pass or the data, or a loss that explodes. No step is made while that
lasts.
""",
)


@check
class Scaling(Check):
    kinds = ("loss-scale-falls",)
    needs: ClassVar = {
        "*": ("scaler_update", 6, "no loss scale was used"),
    }

    def start(self, doctor):
        self.seen = {}  # by scaler: [scaler, updates, times it fell, first scale, last scale]
        self.site = None
        doctor.watch.on("scaler_step", self.step)
        doctor.watch.on("scaler_update", self.update)

    def step(self, scaler, optimizer):
        self.site = places.here()

    def update(self, scaler):
        now = scaler.get_scale()
        entry = self.seen.setdefault(id(scaler), [scaler, 0, 0, None, None])
        entry[1] += 1
        if entry[4] is not None and now < entry[4]:
            entry[2] += 1
        entry[3] = entry[3] or now
        entry[4] = now

    def findings(self, doctor):
        out = []
        for scaler, updates, fell, first, last in self.seen.values():
            if self.site is None or not scaler.is_enabled() or fell < 5 or fell < 0.8 * updates - 1:
                continue
            evidence = [
                (
                    f"{fell} of {updates} updates lowered it, from {first:g} to {last:g}: as many "
                    "steps were skipped"
                )
            ]
            title = "the loss scale falls at nearly every step"
            out.append(found("loss-scale-falls", "wrong result", self.site, title, evidence))
        return out
