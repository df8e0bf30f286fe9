"""Layers as functions: argument checks and dispatch to the native ops."""

from __future__ import annotations

import rushlight as torch
from rushlight import _C

from ._shapes import _list_with_default, _pair, _single, _triple  # noqa: F401
from .activation import *  # noqa: F403
from .activation import _get_softmax_dim  # noqa: F401
from .attention import (  # noqa: F401
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from .dropout import *  # noqa: F403
from .embedding import embedding, embedding_bag  # noqa: F401
from .grouped import *  # noqa: F403
from .loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .normalization import _verify_batch_size, _verify_spatial_size  # noqa: F401
from .pooling import *  # noqa: F403
from .pooling import _unpool_output_size  # noqa: F401
from .vision import *  # noqa: F403

Tensor = torch.Tensor
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._native import *  # noqa: F403

# Where a function is the native op itself, it is the same object: a call adds no Python frame.
_NATIVE = (
    (
        torch,
        ("adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d "
        "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity "
        "hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle "
        "prelu relu_ rrelu_ selu_ threshold_"),
    ),
    (
        _C._nn,
        ("avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot pad "
        "scaled_dot_product_attention softplus softshrink"),
    ),
)
for _home, _names in _NATIVE:
    for _name in _names.split():
        if hasattr(_home, _name):
            globals()[_name] = getattr(_home, _name)
if hasattr(_C._nn, "log_sigmoid"):
    logsigmoid = _C._nn.log_sigmoid
del _home, _names, _name
