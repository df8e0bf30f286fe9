"""Updates too small to change a weight."""

from __future__ import annotations

from ...registry import Check, check, kind
from .. import places
from ..places import found

kind(
    "updates-lost",
    "Steps leave the weights as they are",
    """
A float32 number has about seven digits: adding something a hundred million times smaller gives the
same number (float16 and bfloat16 lose updates a thousand times as large). With a very small
learning rate, or weights kept in half precision, the optimizer steps and nothing moves. Use a
larger rate, keep the weights in float32 (autocast computes in half precision without that), or
look for a schedule that has run down.
""",
)


@check
class Updates(Check):
    kinds = ("updates-lost",)

    def start(self, doctor):
        self.optimizers, self.before = {}, None
        doctor.watch.on("optimizer", self.optimizer)
        doctor.watch.on("step", self.step)
        doctor.watch.on("stepped", self.stepped)

    def optimizer(self, optimizer):
        self.optimizers[id(optimizer)] = [optimizer, places.here(), 0, 0, 0, 0.0]

    def step(self, optimizer):
        entry = self.optimizers.get(id(optimizer))
        self.before = None
        if entry is None:
            return
        entry[2] += 1
        if entry[2] > 4 and entry[2] % 16:
            return
        self.before = [
            (p, p.detach().clone(), group["lr"])
            for group in optimizer.param_groups
            for p in group["params"][:2]
            if p.grad is not None and p.numel() <= 1 << 16
        ]

    def stepped(self, optimizer):
        entry = self.optimizers.get(id(optimizer))
        if entry is None or not self.before:
            return
        pairs, self.before = self.before, None
        gradient = max(
            float(p.grad.detach().abs().max()) if p.grad is not None else 0 for p, *_ in pairs
        )
        rate = max(float(lr) for *_, lr in pairs)
        if gradient == 0 or gradient != gradient or rate == 0:
            return
        entry[3] += 1
        still = all(bool((p.detach() == old).all()) for p, old, _ in pairs)
        entry[4] += still
        entry[5] = max(entry[5], gradient)

    def findings(self, doctor):
        out = []
        for optimizer, site, _, looked, still, gradient in self.optimizers.values():
            if site is not None and looked >= 3 and still == looked:
                group = optimizer.param_groups[0]
                evidence = [
                    (
                        f"in {still} of {looked} steps looked at no weight changed in any digit, "
                        f"with gradients up to {gradient:.3g} and rate {float(group['lr']):.3g} ("
                        f"{str(group['params'][0].dtype).removeprefix('torch.')} weights)"
                    )
                ]
                title = f"the steps of {type(optimizer).__name__} change nothing"
                out.append(found("updates-lost", "wrong result", site, title, evidence))
        return out
