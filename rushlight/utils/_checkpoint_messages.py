"""What torch.utils.checkpoint says when it warns or fails."""

from __future__ import annotations

_HEAD = "torch.utils.checkpoint: "

TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""

NUMBER = (
    _HEAD + "A different number of tensors was saved "
    "during the original forward and recomputation.\n"
    "Number of tensors saved during forward: {}\n"
    "Number of tensors saved during recomputation: {}.\n"
)
MISMATCH = (
    _HEAD + "Recomputed values for the following tensors "
    "have different metadata than during the forward pass.\n{}.\n"
)
TOO_MANY = (
    _HEAD + "trying to save more tensors during "
    "recomputation than during the original forward pass.\n"
)
TWICE = (
    _HEAD + "Unpack is being triggered for a tensor that was already "
    "unpacked once. {}If you are calling ctx.saved_tensors in backward, make sure "
    "to do so only once. Otherwise please open an issue with details on your use case."
)
TWICE_IN_GROUP = (
    "Performing two backward calls that overlap (i.e. require the same "
    "saved activation in order to compute gradients) is not allowed while "
    "under the torch.utils.checkpoint.GraphExecGroup context. "
)
SUPPRESSED = (
    _HEAD + "the forward context provided by context_fn suppressed an exception raised during "
    "the checkpointed forward. This is not supported because checkpoint cannot return a value "
    "for a failed forward."
)
PARTIAL_BACKWARD = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible"
    " with .grad() or passing an `inputs` parameter to .backward()."
    " To resolve this error, you can either set use_reentrant=False,"
    " or call .backward() without passing the `inputs` argument."
)
FEWER_OUTPUTS = "none of output has requires_grad=True, this checkpoint() is not necessary"
UNEXPECTED = (
    "Something went unexpectedly wrong in activation checkpoint. "
    "Please report this bug by filing an issue to PyTorch."
)


def implicit_variant(name: str, calling: str | None) -> str:
    """The warning of a call that leaves ``use_reentrant`` out."""
    change = (
        f"Starting in PyTorch 2.9, {calling} without use_reentrant will raise an exception. "
        if calling
        else "In version 2.9 we will raise an exception if use_reentrant is not passed. "
    )
    return (
        f"{name}: the use_reentrant parameter should be passed explicitly. {change}"
        "use_reentrant=False is recommended, but if you need to preserve the current default "
        "behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants."
    )
