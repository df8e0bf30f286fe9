"""Layers and inputs: one row per layer, evaluated by the recorder and by the tests.

A row is (expression of the layer, expressions of its inputs). ``g(*shape)`` makes deterministic
values, ``i(high, *shape)`` integers below ``high``.
"""

import more_layers

IMAGE = "g(2, 4, 6, 6)"
SEQ = "g(2, 4, 9)"
VOLUME = "g(1, 4, 4, 5, 4)"
ROW = "g(3, 4)"

ACTIVATIONS = """
Threshold(0.1, 20) ReLU() ReLU(inplace=False) RReLU(0.1,0.3) Hardtanh() Hardtanh(-2,0.5) ReLU6()
Sigmoid() Hardsigmoid() Tanh() SiLU() Mish() Hardswish() ELU() ELU(alpha=0.5) CELU(2.0) SELU()
GLU() GLU(dim=1) GELU() GELU('tanh') Hardshrink() Hardshrink(0.2) LeakyReLU() LeakyReLU(0.3)
LogSigmoid() Softplus() Softplus(2,0.5) Softshrink() Softshrink(0.1) PReLU() PReLU(4) Softsign()
Tanhshrink() Softmin(dim=1) Softmax(dim=-1) LogSoftmax(dim=0) Identity() Flatten() Flatten(0)
RMSNorm(4) LayerNorm(4) LayerNorm([4],eps=1e-3) LayerNorm(4,elementwise_affine=False)
LayerNorm(4,bias=False) Linear(4,3) Linear(4,3,bias=False) Linear(4,1,dtype=torch.float64)
BatchNorm1d(4) BatchNorm1d(4,momentum=None) BatchNorm1d(4,affine=False)
BatchNorm1d(4,track_running_stats=False) BatchNorm1d(4,bias=False) GroupNorm(2,4)
GroupNorm(4,4,affine=False) Unflatten(1,(2,2)) Dropout(0.0) Dropout() Dropout(0.3,inplace=True)
AlphaDropout(0.0) FeatureAlphaDropout(0.2)
"""

IMAGES = """
Conv2d(4,6,3) Conv2d(4,6,(3,2),stride=2,padding=(1,0)) Conv2d(4,4,3,groups=4,bias=False)
Conv2d(4,2,3,padding='same') Conv2d(4,2,3,padding='valid') Conv2d(4,2,3,dilation=2)
Conv2d(4,2,3,padding=1,padding_mode='circular') Conv2d(4,2,3,padding=1,padding_mode='reflect')
Conv2d(4,2,3,padding='same',padding_mode='replicate') ConvTranspose2d(4,3,3)
ConvTranspose2d(4,2,3,stride=2,padding=1,output_padding=1,groups=2) MaxPool2d(2)
MaxPool2d(3,stride=2,padding=1,ceil_mode=True) MaxPool2d((2,3),dilation=2)
MaxPool2d(2,return_indices=True) AvgPool2d(2) AvgPool2d(3,2,1,count_include_pad=False)
AvgPool2d(3,divisor_override=2) LPPool2d(2,2) LPPool2d(1.5,(2,3),stride=2) AdaptiveAvgPool2d(1)
AdaptiveAvgPool2d((3,None)) AdaptiveMaxPool2d((2,3)) AdaptiveMaxPool2d(2,return_indices=True)
BatchNorm2d(4) BatchNorm2d(4,eps=1e-3,momentum=0.01) InstanceNorm2d(4)
InstanceNorm2d(4,affine=True,track_running_stats=True) GroupNorm(2,4) LocalResponseNorm(2)
Softmax2d() Dropout2d(0.0) Dropout2d(0.4) PixelShuffle(2) PixelUnshuffle(2) ChannelShuffle(2)
Unfold(3,padding=1) Upsample(scale_factor=2) Upsample(size=(9,7),mode='bilinear')
Upsample(scale_factor=2,mode='bicubic',align_corners=True) UpsamplingNearest2d(scale_factor=2)
UpsamplingBilinear2d(size=9) ZeroPad2d(1) ConstantPad2d((1,2,0,1),3.5) ReflectionPad2d(2)
ReplicationPad2d((1,0,2,1)) CircularPad2d(1) Flatten(2) LayerNorm([6,6]) PReLU(4)
CosineSimilarity() PairwiseDistance()
"""

SEQUENCES = """
Conv1d(4,6,3) Conv1d(4,4,3,padding=1,groups=2) Conv1d(4,2,2,padding='same') ConvTranspose1d(4,2,3)
MaxPool1d(3) MaxPool1d(2,1,return_indices=True) AvgPool1d(2) AvgPool1d(3,stride=1,padding=1)
LPPool1d(2,3) AdaptiveAvgPool1d(4) AdaptiveMaxPool1d(3) BatchNorm1d(4) InstanceNorm1d(4)
InstanceNorm1d(4,affine=True) Dropout1d(0.4) ZeroPad1d(2) ConstantPad1d((1,2),0.5)
ReflectionPad1d(2) ReplicationPad1d((2,1)) CircularPad1d(2) Upsample(scale_factor=3)
Upsample(size=5,mode='linear') LocalResponseNorm(3) RNN(9,5) LSTM(9,5,batch_first=True) GRU(9,5)
LSTM(9,5,2,bidirectional=True) GRU(9,4,num_layers=2,bias=False) RNN(9,3,nonlinearity='relu')
LSTM(9,6,proj_size=2) LSTM(9,5,2,dropout=0.5)
"""

VOLUMES = """
Conv3d(4,2,3) Conv3d(4,4,2,stride=2,padding=1,groups=2) ConvTranspose3d(4,2,2) MaxPool3d(2)
MaxPool3d(2,1) AvgPool3d(2) AdaptiveAvgPool3d(2) AdaptiveMaxPool3d((1,2,2)) BatchNorm3d(4)
InstanceNorm3d(4) Dropout3d(0.4) ZeroPad3d(1) ConstantPad3d(1,0.5) ReflectionPad3d(1)
ReplicationPad3d(1) CircularPad3d(1) LPPool3d(2,2) Upsample(scale_factor=2,mode='trilinear')
"""

PAIRED = {"CosineSimilarity", "PairwiseDistance"}

OTHERS = [
    ("Bilinear(4, 3, 2)", ["g(3, 4)", "g(3, 3)"]),
    ("Bilinear(4, 3, 2, bias=False)", ["g(3, 4)", "g(3, 3)"]),
    ("Embedding(7, 3)", ["i(7, 2, 4)"]),
    ("Embedding(7, 3, padding_idx=-1)", ["i(7, 2, 4)"]),
    ("Embedding(7, 3, max_norm=0.5, norm_type=1.0)", ["i(7, 5)"]),
    ("Embedding(7, 3, scale_grad_by_freq=True)", ["i(7, 5)"]),
    ("EmbeddingBag(7, 3)", ["i(7, 2, 4)"]),
    ("EmbeddingBag(7, 3, mode='sum', padding_idx=2)", ["i(7, 8)", "torch.tensor([0, 3])"]),
    ("EmbeddingBag(7, 3, mode='max')", ["i(7, 2, 4)"]),
    ("RNNCell(4, 5)", ["g(3, 4)"]),
    ("RNNCell(4, 5, nonlinearity='relu')", ["g(3, 4)"]),
    ("LSTMCell(4, 5)", ["g(3, 4)"]),
    ("LSTMCell(4, 5)", ["g(4)"]),
    ("GRUCell(4, 5, bias=False)", ["g(3, 4)"]),
    ("MultiheadAttention(8, 2)", ["g(3, 2, 8)"] * 3),
    ("MultiheadAttention(8, 2, batch_first=True)", ["g(2, 3, 8)"] * 3),
    ("MultiheadAttention(8, 4, bias=False, kdim=6, vdim=5)",
     ["g(3, 2, 8)", "g(4, 2, 6)", "g(4, 2, 5)"]),
    ("MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)", ["g(3, 8)"] * 3),
    ("TransformerEncoderLayer(8, 2, 16, dropout=0.0)", ["g(3, 2, 8)"]),
    ("TransformerEncoderLayer(8, 2, 16, 0.0, 'gelu', norm_first=True, batch_first=True)",
     ["g(2, 3, 8)"]),
    ("TransformerDecoderLayer(8, 2, 16, dropout=0.0)", ["g(3, 2, 8)", "g(4, 2, 8)"]),
    ("TransformerEncoder(nn.TransformerEncoderLayer(8, 1, 16, 0.0), 2)", ["g(3, 2, 8)"]),
    (("TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0, bias=False), 2, "
      "nn.LayerNorm(8))"), ["g(3, 2, 8)", "g(4, 2, 8)"]),
    ("Transformer(8, 2, 1, 2, 16, dropout=0.0)", ["g(3, 2, 8)", "g(4, 2, 8)"]),
    ("AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0)", ["g(4, 8)", "i(12, 4)"]),
    ("Fold((4, 5), (2, 2))", ["g(2, 12, 12)"]),
    ("Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))", ["g(3, 4)"]),
    ("ConvTranspose2d(3, 2, 3, stride=2)", ["g(1, 3, 4, 4)", "[10, 10]"]),
    ("MaxUnpool2d(2)", ["g(1, 1, 2, 2)", "torch.tensor([[[[0, 3], [8, 11]]]])"]),
    ("MaxUnpool1d(2)", ["g(1, 2, 2)", "torch.tensor([[[0, 3], [1, 2]]])"]),
    ("L1Loss()", ["g(3, 4)", "g(3, 4).cos()"]),
    ("L1Loss(reduction='none')", ["g(3, 4)", "g(3, 4).cos()"]),
    ("MSELoss()", ["g(3, 4)", "g(3, 4).cos()"]),
    ("MSELoss(reduction='sum')", ["g(3, 4)", "g(3, 4).cos()"]),
    ("SmoothL1Loss(beta=0.3)", ["g(3, 4)", "g(3, 4).cos()"]),
    ("HuberLoss(delta=0.4)", ["g(3, 4)", "g(3, 4).cos()"]),
    ("NLLLoss(weight=g(4).abs())", ["g(3, 4).log_softmax(1)", "i(4, 3)"]),
    ("CrossEntropyLoss()", ["g(3, 4)", "i(4, 3)"]),
    ("CrossEntropyLoss(label_smoothing=0.1, ignore_index=1)", ["g(3, 4)", "i(4, 3)"]),
    ("CrossEntropyLoss(weight=g(4).abs())", ["g(2, 4, 3)", "i(4, 2, 3)"]),
    ("CrossEntropyLoss(reduction='none')", ["g(3, 4)", "g(3, 4).softmax(1)"]),
    ("BCELoss()", ["g(3, 4).sigmoid()", "g(3, 4).cos().abs()"]),
    ("BCEWithLogitsLoss(pos_weight=g(4).abs())", ["g(3, 4)", "g(3, 4).cos().abs()"]),
    ("KLDivLoss(reduction='batchmean')", ["g(3, 4).log_softmax(1)", "g(3, 4).cos().softmax(1)"]),
    ("KLDivLoss(reduction='sum', log_target=True)",
     ["g(3, 4).log_softmax(1)", "g(3, 4).cos().log_softmax(1)"]),
    ("PoissonNLLLoss(full=True)", ["g(3, 4)", "g(3, 4).cos().abs() * 4"]),
    ("GaussianNLLLoss(full=True)", ["g(3, 4)", "g(3, 4).cos()", "g(3, 1).abs() + 0.1"]),
    ("HingeEmbeddingLoss()", ["g(3, 4)", "i(2, 3, 4) * 2 - 1"]),
    ("MultiLabelMarginLoss()", ["g(2, 4)", "torch.tensor([[3, 0, -1, 1], [0, -1, 2, 1]])"]),
    ("MultiLabelSoftMarginLoss()", ["g(3, 4)", "i(2, 3, 4).float()"]),
    ("SoftMarginLoss()", ["g(3, 4)", "i(2, 3, 4) * 2 - 1"]),
    ("CosineEmbeddingLoss(margin=0.2)", ["g(3, 4)", "g(3, 4).cos()", "i(2, 3) * 2 - 1"]),
    ("MarginRankingLoss(margin=0.2)", ["g(3)", "g(3).cos()", "i(2, 3) * 2 - 1"]),
    ("MultiMarginLoss(p=2)", ["g(3, 4)", "i(4, 3)"]),
    ("TripletMarginLoss(swap=True)", ["g(3, 4)", "g(3, 4).cos()", "g(3, 4) * 0.5"]),
    ("TripletMarginWithDistanceLoss()", ["g(3, 4)", "g(3, 4).cos()", "g(3, 4) * 0.5"]),
    ("CTCLoss()", ["g(6, 2, 5).log_softmax(2)", "i(4, 2, 3) + 1", "torch.tensor([6, 5])",
                   "torch.tensor([3, 2])"]),
]  # fmt: skip


def rows():
    """Yield (layer expression, [input expressions])."""
    for text, source in (
        (ACTIVATIONS, ROW), (IMAGES, IMAGE), (SEQUENCES, SEQ), (VOLUMES, VOLUME),
        (more_layers.OF_ROWS, ROW), (more_layers.OF_IMAGES, IMAGE),
        (more_layers.OF_SEQUENCES, SEQ), (more_layers.OF_VOLUMES, VOLUME),
    ):  # fmt: skip
        for layer in _split(text):
            paired = layer.split("(")[0] in PAIRED
            yield layer, [source, f"{source}.cos()"] if paired else [source]
    yield from OTHERS
    yield from more_layers.OTHERS


def _split(text):
    # Blanks and line ends separate, except inside parentheses.
    depth, start = 0, 0
    for position, char in enumerate(text + " "):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and char.isspace():
            if text[start:position].strip():
                yield text[start:position].strip()
            start = position + 1
