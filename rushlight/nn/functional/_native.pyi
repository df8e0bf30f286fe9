"""Functions that are native ops: written by tools/stubs.py from the op table."""

from rushlight import _C

adaptive_avg_pool1d = _C.adaptive_avg_pool1d
avg_pool1d = _C.avg_pool1d
avg_pool2d = _C._nn.avg_pool2d
avg_pool3d = _C._nn.avg_pool3d
bilinear = _C.bilinear
celu_ = _C.celu_
channel_shuffle = _C.channel_shuffle
conv1d = _C.conv1d
conv2d = _C.conv2d
conv3d = _C.conv3d
conv_tbc = _C.conv_tbc
conv_transpose1d = _C.conv_transpose1d
conv_transpose2d = _C.conv_transpose2d
conv_transpose3d = _C.conv_transpose3d
cosine_similarity = _C.cosine_similarity
elu_ = _C._nn.elu_
gelu = _C._nn.gelu
hardshrink = _C.hardshrink
hardtanh_ = _C._nn.hardtanh_
leaky_relu_ = _C._nn.leaky_relu_
linear = _C._nn.linear
native_channel_shuffle = _C.native_channel_shuffle
one_hot = _C._nn.one_hot
pad = _C._nn.pad
pairwise_distance = _C.pairwise_distance
pdist = _C.pdist
pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle
prelu = _C.prelu
relu_ = _C.relu_
rrelu_ = _C.rrelu_
scaled_dot_product_attention = _C._nn.scaled_dot_product_attention
selu_ = _C.selu_
softplus = _C._nn.softplus
softshrink = _C._nn.softshrink
threshold_ = _C.threshold_
logsigmoid = _C._nn.log_sigmoid
