"""Forward passes by their place: which of them a backward used, and what they were for."""

from __future__ import annotations

import weakref
from collections import deque

from rushlight import _C, is_grad_enabled, nn

from .calls import site_of

CLASS_LOSSES = ("cross_entropy_loss", "cross_entropy", "nll_loss", "nll_loss_nd")
LOSSES = frozenset(CLASS_LOSSES).union(
    "mse_loss l1_loss smooth_l1_loss "
    "huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div gaussian_nll_loss "
    "poisson_nll_loss soft_margin_loss multilabel_margin_loss ctc_loss".split()
)


class Place:
    """What is known of the passes at one place of the program with one module.

    ``calls`` passes recorded gradients and ``used`` of them were reached by a backward; ``idle``
    were not, and another followed without an optimizer step between; ``losses`` went into a loss.
    """

    def __init__(self, site, module):
        self.site, self.module = site, module
        self.calls = self.used = self.idle = self.losses = self.feeds = 0
        self.last: _Use | None = None
        self.active = ()  # dropout and batch norm in training mode in the last unused pass
        self.arguments = ()  # of a pass that was not used
        self.training = True  # the mode of the module in the last pass

    @property
    def unused(self) -> int:
        """The passes whose graph nobody needed."""
        return self.calls - self.used if not self.used else self.idle

    @property
    def is_evaluation(self) -> bool:
        """Whether passes were made only to be read: several in a row, or for losses only read."""
        if self.feeds:
            return False
        return self.idle >= 4 if self.used else self.idle >= 2 or self.losses >= 2


class _Use:
    """A hook on a pass's results: notes that a backward came by."""

    __slots__ = ("active", "is_idle", "place", "step")

    def __init__(self, place: Place, step: int, active: tuple):
        self.place, self.step, self.active, self.is_idle = place, step, active, False

    def __call__(self, gradient):
        place, self.place = self.place, None
        if place is not None:
            place.used += 1
            place.idle -= self.is_idle


class Passes:
    """Listens to outermost module calls that record gradients; ``places`` by site and module."""

    def __init__(self, watch):
        self.places: dict[tuple, Place] = {}
        self.models: dict[int, object] = {}
        self.steps = self.quiet = 0  # optimizer steps; passes with gradients off
        self._outputs: dict[int, tuple] = {}
        self._most = 500
        self._recent: deque = deque(maxlen=4)  # results kept alive, so that addresses stay theirs
        self._special: dict[int, tuple] = {}
        self.arguments = ()
        watch.on("call", self.call)
        watch.on("forward", self.forward)
        watch.on("stepped", self.stepped)
        watch.on("op", self.op, LOSSES | {"cat", "stack", "concat"})

    @property
    def evaluations(self) -> int:
        """Passes made only to be read: with gradients off, or whose graph nobody used."""
        return self.quiet + sum(p.unused for p in self.places.values() if p.is_evaluation)

    def parameter_names(self) -> dict[int, str]:
        """Parameters' names, by id, in the models that were called."""
        return {id(p): n for m in self.models.values() for n, p in m.named_parameters()}

    def specials(self, module) -> list:
        """Named dropout and batch norm modules of a module."""
        known = self._special.get(id(module))
        if known is None or known[0] is not module:
            known = self._special[id(module)] = (module, special_modules(module))
        return known[1]

    def call(self, module, output, frame):
        self.models.setdefault(id(module), module)
        tensors = _with_graph(output)
        if not tensors:
            self.quiet += not is_grad_enabled()
            return
        site = site_of(frame)
        place = self.places.get((site, id(module)))
        if place is None:
            place = self.places[site, id(module)] = Place(site, module)
        before = place.last
        if before is not None and before.place is not None and before.step == self.steps:
            before.is_idle = True
            place.idle += 1
            place.active = before.active or place.active
        active = tuple((n, m) for n, m in self.specials(module) if m.training)
        place.calls += 1
        place.training = module.training
        place.last = use = _Use(place, self.steps, active)
        if not place.used:
            place.arguments, place.active = self.arguments, active or place.active
        for tensor in tensors[:4]:
            tensor.register_hook(_C._forgiven(use))
            self._outputs[id(tensor)] = (weakref.ref(tensor), place)
        if place.used:
            if any(p is place for _, p in self._recent):
                self._recent = deque((r for r in self._recent if r[1] is not place), maxlen=4)
        elif not isinstance(module, nn.modules.loss._Loss):
            self._recent.append((tensors[0].detach(), place))
        if len(self._outputs) > self._most:
            self._outputs = {k: v for k, v in self._outputs.items() if v[0]() is not None}
            self._most = max(500, 2 * len(self._outputs))

    def forward(self, module, args, output):
        """Notes the arguments, and where a result is what another model is given."""
        self.arguments = args
        if not self._recent:
            return
        for one, place in self._recent:
            if place.module is not module and self._is_given(one, args) and _learns(module):
                place.feeds += 1

    def _is_given(self, one, args) -> bool:
        where = one.data_ptr()
        return any(
            isinstance(a, _C.TensorBase) and a.device.type == "cpu" and a.data_ptr() == where
            for a in args
        )

    def op(self, op):
        if op.name in LOSSES and op.args:
            place = self._place_of(op.args[0])
            if place is not None:
                place.losses += 1
        elif op.name in ("cat", "stack", "concat") and op.args:
            for part in op.args[0] if isinstance(op.args[0], (list, tuple)) else ():
                for one, place in self._recent:
                    if place.training and self._is_given(one, (part,)):
                        place.feeds += 1

    def _place_of(self, tensor) -> Place | None:
        known = self._outputs.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def stepped(self, optimizer):
        self.steps += 1


def _learns(module) -> bool:
    return next(module.parameters(), None) is not None


def special_modules(module) -> list:
    """Dropout with a rate, and normalization that averages over batches."""
    return [
        (n, m)
        for n, m in module.named_modules()
        if type(m).__name__.startswith(("Dropout", "BatchNorm", "AlphaDropout", "FeatureAlpha"))
        and getattr(m, "p", 1)
        and getattr(m, "track_running_stats", True)
    ]


def _with_graph(output, depth: int = 0) -> list:
    if isinstance(output, _C.TensorBase):
        return [output] if output.grad_fn is not None else []
    if isinstance(output, dict):
        output = tuple(output.values())
    if isinstance(output, (list, tuple)) and depth < 2:
        return [t for one in output for t in _with_graph(one, depth + 1)]
    return []
