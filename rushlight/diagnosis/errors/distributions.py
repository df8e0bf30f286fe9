"""Errors of distributions: scores where probabilities are wanted, scales that are not positive."""

from __future__ import annotations

from .. import changes, construction, upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "scores-for-probabilities",
    "A distribution got scores, and takes its first argument for probabilities",
    """
Categorical(x), Bernoulli(x) and their like read x as probabilities. A layer's output is scores of
any sign: Categorical(logits=x) takes the softmax by itself, and computes log_prob from the scores
without losing digits. A softmax in the network and Categorical(probs) is the other way.
""",
)
kind(
    "scale-not-positive",
    "A distribution's scale has values that are not positive",
    """
A standard deviation is positive. A layer's output is of any sign: let it be the logarithm
(Normal(mean, out.exp())), or pass it through softplus, which grows more slowly.
""",
)


@explains(
    ValueError, r"Expected parameter (probs|scale) \(\w+ of shape .*\) of distribution (\w+)"
)
def parameter(raised: Raised):
    """The argument by its other name, or made positive."""
    at = raised.innermost
    name, position = raised.match[1], 0 if raised.match[1] == "probs" else 1
    given = construction.argument(at.node, position, name) if at.node is not None else None
    tensor = upstream.value(at, given) if given is not None else None
    if not values.is_tensor(tensor) or bool(tensor.isnan().any()):
        return None
    source, text = at.source, at.source.segment(given)
    least = f"{text} is {values.describe(tensor)}, its least value {tensor.min().item():.3g}"
    if name == "probs":
        part = given.parent if changes.keyword(at.node, name) is given else given
        new = f"logits={text}"
        return raised.finding(
            "scores-for-probabilities",
            f"{raised.match[2]} takes {text} for probabilities",
            (at.file, given.lineno),
            evidence=[least],
            fixes=try_calls(raised, [at.fix_part(part, new, new)]),
        )
    torch = changes.torch_name(source)
    options = [changes.method(source, given, "exp()"), f"{torch}.nn.functional.softplus({text})"]
    return raised.finding(
        "scale-not-positive",
        f"{text} is the scale, and not positive",
        (at.file, given.lineno),
        evidence=[least],
        fixes=try_calls(raised, [at.fix_part(given, option, option) for option in options]),
    )
