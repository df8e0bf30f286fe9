"""Layers by family; the rarely used ones are imported on first use."""

from __future__ import annotations

from .activation import *  # noqa: F403
from .batchnorm import *  # noqa: F403
from .channelshuffle import ChannelShuffle  # noqa: F401
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import CosineSimilarity, PairwiseDistance  # noqa: F401
from .dropout import *  # noqa: F403
from .flatten import Flatten, Unflatten  # noqa: F401
from .fold import Fold, Unfold  # noqa: F401
from .linear import Bilinear, Identity, LazyLinear, Linear  # noqa: F401
from .loss import *  # noqa: F403
from .module import Module  # noqa: F401
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pixelshuffle import PixelShuffle, PixelUnshuffle  # noqa: F401
from .pooling import *  # noqa: F403
from .sparse import Embedding, EmbeddingBag  # noqa: F401
from .upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d  # noqa: F401

__all__ = [  # noqa: PLE0604
    name
    for name, value in globals().items()
    if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_")
]

# Where the layers live that are imported when they are first asked for.
_LATER = {
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d "
    "LazyInstanceNorm2d LazyInstanceNorm3d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
}
_HOME = {name: home for home, names in _LATER.items() for name in names.split()}


def __getattr__(name):
    from importlib import import_module

    if name in _LATER:
        return import_module(f"{__name__}.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOME, *_LATER})
