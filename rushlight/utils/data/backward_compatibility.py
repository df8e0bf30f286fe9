"""What was the way to start a worker of a graph of data pipes."""

import warnings


def worker_init_fn(worker_id):
    """Nothing: a DataLoader does it itself."""
    warnings.warn(
        "Usage of backward_compatibility.worker_init_fn is deprecated"
        " as DataLoader automatically applies sharding in every worker",
        stacklevel=2,
    )
