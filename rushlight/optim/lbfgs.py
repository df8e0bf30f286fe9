"""L-BFGS with an optional line search under the strong Wolfe conditions."""

from __future__ import annotations

import rushlight as torch

from ._stepping import check_lr, rounded
from .optimizer import Optimizer


def _cubic_minimum(a, b, bounds=None):
    """The minimum of the cubic through two trials within bounds (Nocedal and Wright, 3.59)."""
    x1, f1, g1 = a
    x2, f2, g2 = b
    low, high = bounds if bounds is not None else ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        best = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        best = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(best, low), high)


class _Trial:
    """A step length with the loss, the gradient and the slope along the direction there."""

    __slots__ = ("grad", "loss", "slope", "t")

    def __init__(self, t, loss, grad, slope):
        self.t, self.loss, self.grad, self.slope = t, loss, grad, slope

    def cubic(self):
        return self.t, self.loss, self.slope


class _WolfeSearch:
    """A step that meets the strong Wolfe conditions: bracketing, then zooming in.

    Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6.
    """

    def __init__(self, evaluate, direction, start, c1=1e-4, c2=0.9, least_change=1e-9, limit=25):
        self.evaluate, self.direction, self.start = evaluate, direction, start
        self.c1, self.c2, self.least_change, self.limit = c1, c2, least_change, limit
        self.rounds = 0
        self.evaluations = 0

    def run(self, t):
        pair, done = self.bracket(t)
        best = pair[0] if done else self.zoom(pair)
        return best.loss, best.grad, best.t, self.evaluations

    def trial(self, t):
        loss, grad = self.evaluate(t)
        self.evaluations += 1
        return _Trial(t, loss, grad.clone(), grad.dot(self.direction))

    def too_high(self, trial):
        start = self.start
        return trial.loss > start.loss + self.c1 * trial.t * start.slope

    def flat(self, trial):
        return abs(trial.slope) <= -self.c2 * self.start.slope

    def bracket(self, t):
        before, now = self.start, self.trial(t)
        while self.rounds < self.limit:
            if self.too_high(now) or (self.rounds > 1 and now.loss >= before.loss):
                return [before, now], False
            if self.flat(now):
                return [now], True
            if now.slope >= 0:
                return [before, now], False
            bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
            t = _cubic_minimum(before.cubic(), now.cubic(), bounds)
            before, now = now, self.trial(t)
            self.rounds += 1
        return [self.start, now], False

    def zoom(self, pair):
        low, high = (0, 1) if pair[0].loss <= pair[1].loss else (1, 0)
        stuck = False
        norm = self.direction.abs().max()
        done = False
        while not done and self.rounds < self.limit:
            if abs(pair[1].t - pair[0].t) * norm < self.least_change:
                break
            t, stuck = self.inside(pair, stuck)
            now = self.trial(t)
            self.rounds += 1
            if self.too_high(now) or now.loss >= pair[low].loss:
                pair[high] = now
                low, high = (0, 1) if pair[0].loss <= pair[1].loss else (1, 0)
                continue
            if self.flat(now):
                done = True
            elif now.slope * (pair[high].t - pair[low].t) >= 0:
                pair[high] = pair[low]
            pair[low] = now
        return pair[low]

    @staticmethod
    def inside(pair, stuck):
        """The next trial; kept a tenth of the bracket from its ends when it sticks to them."""
        t = _cubic_minimum(pair[0].cubic(), pair[1].cubic())
        least, most = min(pair[0].t, pair[1].t), max(pair[0].t, pair[1].t)
        margin = 0.1 * (most - least)
        if min(most - t, t - least) >= margin:
            return t, False
        if stuck or t >= most or t <= least:
            return (most - margin if abs(t - most) < abs(t - least) else least + margin), False
        return t, True


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, 1989), for one group of parameters.

    Args:
        params: parameters to optimize.
        lr: step length.
        max_iter: iterations per step.
        max_eval: evaluations of the closure per step; None: max_iter * 5 / 4.
        tolerance_grad, tolerance_change: stop below these.
        history_size: corrections kept.
        line_search_fn: None or "strong_wolfe".
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self):
        parts = []
        for p in self._params:
            grad = p.new_zeros(p.shape) if p.grad is None else p.grad
            if grad.is_complex():
                grad = torch.view_as_real(grad)
            parts.append(grad.reshape(-1))
        return torch.cat(parts, 0)

    def _move(self, t, direction):
        offset = 0
        for p in self._params:
            real = torch.view_as_real(p) if p.is_complex() else p
            n = real.numel()
            real.add_(direction[offset : offset + n].view_as(real), alpha=rounded(t, real))
            offset += n

    def _evaluate(self, closure, values, t, direction):
        """Loss and gradient at t along the direction; the parameters stay where they were."""
        self._move(t, direction)
        with torch.enable_grad():
            found = closure()
        loss, grad = float(found), self._flat_grad()
        for p, value in zip(self._params, values):
            p.copy_(value)
        return loss, grad

    def step(self, closure):
        """Run up to ``max_iter`` iterations.

        Args:
            closure: re-evaluates the model and returns the loss.
        """
        with torch.no_grad():
            return self._minimize(closure)

    def _minimize(self, closure):
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with torch.enable_grad():
            first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        t = state.get("t")
        direction = state.get("d")
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = self._direction(state, group, grad, direction, t)
            before = loss
            lr = group["lr"]
            if isinstance(lr, torch.Tensor):
                lr = lr.squeeze()
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            loss, grad, t, count = self._advance(closure, direction, loss, grad, slope, t, last)
            evaluations += count
            state["func_evals"] += count
            if last or evaluations >= group["max_eval"]:
                break
            if grad.abs().max() <= group["tolerance_grad"]:
                break
            if direction.mul(t).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break
        first = "d" not in state
        state["d"], state["t"] = direction, t
        if first:  # the order in which PyTorch saves them
            for key in ("old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad"):
                state[key] = state.pop(key)
        state["prev_loss"] = before
        return first_loss

    @staticmethod
    def _direction(state, group, grad, direction, t):
        """The next direction, by the two-loop recursion over the corrections kept."""
        if state["n_iter"] == 1:
            direction = grad.neg()
            state["old_dirs"], state["old_stps"], state["ro"] = [], [], []
            state["H_diag"] = 1
        else:
            dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
            y = grad.sub(state["prev_flat_grad"])
            s = direction.mul(t)
            ys = y.dot(s)
            if ys > 1e-10:  # else the curvature would turn the direction uphill
                if len(dirs) == group["history_size"]:
                    for kept in (dirs, steps, ro):
                        kept.pop(0)
                dirs.append(y)
                steps.append(s)
                ro.append(1.0 / ys)
                state["H_diag"] = ys / y.dot(y)
            al = state.setdefault("al", [None] * group["history_size"])
            q = grad.neg()
            for i in range(len(dirs) - 1, -1, -1):
                al[i] = steps[i].dot(q) * ro[i]
                q.add_(dirs[i], alpha=-al[i])
            direction = torch.mul(q, state["H_diag"])
            for i in range(len(dirs)):
                back = dirs[i].dot(direction) * ro[i]
                direction.add_(steps[i], alpha=al[i] - back)
        if state.get("prev_flat_grad") is None:
            state["prev_flat_grad"] = grad.clone()
        else:
            state["prev_flat_grad"].copy_(grad)
        return direction

    def _advance(self, closure, direction, loss, grad, slope, t, last):
        """Move the parameters; return loss, gradient, step length and evaluations used."""
        search = self.param_groups[0]["line_search_fn"]
        if search is None:
            self._move(t, direction)
            if last:
                return loss, grad, t, 0
            with torch.enable_grad():
                found = closure()
            return float(found), self._flat_grad(), t, 1
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        values = [p.clone() for p in self._params]
        wolfe = _WolfeSearch(
            lambda length: self._evaluate(closure, values, length, direction),
            direction,
            _Trial(0, loss, grad.clone(), slope),
        )
        loss, grad, t, count = wolfe.run(t)
        self._move(t, direction)
        return loss, grad, t, count
