"""Settings of torch.fx; the first two are kept and not read."""

disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False
