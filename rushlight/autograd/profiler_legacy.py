"""What was the profiler before ``torch.autograd.profiler``."""

from rushlight import _absent

profile = _absent.refused_class(
    "autograd.profiler_legacy", "profile", "use torch.profiler.profile."
)
