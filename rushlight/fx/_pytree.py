"""Leaves of nested arguments in the order of a spec that was made before."""

from __future__ import annotations

SUPPORTED_NODES: dict = {}
SUPPORTED_NODES_EXACT_MATCH: dict = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None) -> None:
    """Lets ``flatten_fn_spec(container, spec)`` give the children of containers of ``cls``."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls) -> None:
    del SUPPORTED_NODES[cls]
    del SUPPORTED_NODES_EXACT_MATCH[cls]


def tree_flatten_spec(pytree, spec) -> list:
    """The leaves of ``pytree`` as ``spec`` has them; more that lists or dicts hold is left out."""
    if spec.is_leaf():
        return [pytree]
    take = SUPPORTED_NODES.get(spec.type)
    if take is None and hasattr(spec.type, "_fields"):
        take = _of_tuple
    if take is None:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register "
            "one with torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your "
            "model, make sure that any custom pytrees have been registered before loading it."
        )
    found: list = []
    for child, below in zip(take(pytree, spec), spec.children(), strict=False):
        found.extend(tree_flatten_spec(child, below))
    return found


def _of_dict(d, spec) -> list:
    return [d[key] for key in spec.context]


def _of_list(values, spec) -> list:
    return [values[i] for i in range(spec.num_children)]


def _of_tuple(values, spec) -> list:
    return [values[i] for i in range(spec.num_children)]


def _same_length(values, spec) -> bool:
    return len(values) == spec.num_children


register_pytree_flatten_spec(dict, _of_dict, _same_length)
register_pytree_flatten_spec(list, _of_list, _same_length)
register_pytree_flatten_spec(tuple, _of_tuple, _same_length)
