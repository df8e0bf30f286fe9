"""Settings of deterministic runs."""

fill_uninitialized_memory = True
