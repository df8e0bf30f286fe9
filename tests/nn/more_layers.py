"""Layers with the arguments that no row of layers.py sets; its rows end with these."""

IMAGE = "g(2, 4, 6, 6)"
SEQ = "g(2, 4, 9)"
VOLUME = "g(1, 4, 4, 5, 4)"
ROW = "g(3, 4)"
PAIR = [ROW, f"{ROW}.cos()"]
SIGNS = "i(2, 3, 4) * 2 - 1"

OF_ROWS = """
BatchNorm1d(4,eps=0.1) GroupNorm(2,4,eps=0.1) GroupNorm(2,4,bias=False) PReLU(init=0.6)
RMSNorm(4,eps=0.1) RMSNorm(4,elementwise_affine=False) Hardtanh(min_value=-0.3,max_value=0.4)
LazyLinear(3) LazyLinear(2,bias=False) LazyBatchNorm1d(eps=0.1,momentum=0.3,bias=False)
LazyBatchNorm1d(affine=False)
"""

OF_SEQUENCES = """
Conv1d(4,3,2,stride=2,dilation=3,bias=False) Conv1d(4,3,3,padding=2,padding_mode='circular')
ConvTranspose1d(4,6,3,stride=3,padding=1,output_padding=2,groups=2,bias=False,dilation=2)
AvgPool1d(2,3,1,ceil_mode=True,count_include_pad=False) AvgPool1d(4,3,ceil_mode=True)
AdaptiveMaxPool1d(4,return_indices=True) MaxPool1d(3,2,padding=1,dilation=2,ceil_mode=True)
LPPool1d(3,2,stride=3,ceil_mode=True) LocalResponseNorm(2,alpha=0.3,beta=0.5,k=2)
InstanceNorm1d(4,eps=0.1,momentum=0.4,track_running_stats=True)
InstanceNorm1d(4,affine=True,bias=False) LazyConv1d(3,2,2,1,2,1,False)
LazyConv1d(2,3,groups=2,padding='same',padding_mode='reflect')
LazyConvTranspose1d(4,3,3,1,1,2,False) LazyConvTranspose1d(2,2,dilation=3)
LazyInstanceNorm1d(0.1,0.2,True,True) LazyInstanceNorm1d(affine=True,bias=False)
LazyBatchNorm1d(track_running_stats=False)
Upsample(scale_factor=1.7,mode='linear',recompute_scale_factor=True) Flatten(0,1)
RNN(9,4,2,batch_first=True,bidirectional=True,bias=False) GRU(9,4,2,dropout=0.4,bidirectional=True)
LSTM(9,6,2,bias=False,batch_first=True,bidirectional=True,proj_size=3)
"""

OF_IMAGES = """
AvgPool2d(4,3,ceil_mode=True) BatchNorm2d(4,affine=False) BatchNorm2d(4,bias=False)
BatchNorm2d(4,track_running_stats=False)
ConvTranspose2d(4,4,(2,3),bias=False,dilation=(2,1)) InstanceNorm2d(4,affine=True,bias=False)
InstanceNorm2d(4,eps=0.1,momentum=0.4,track_running_stats=True) LPPool2d(2,4,3,ceil_mode=True)
Unfold((2,3),dilation=2,stride=2) UpsamplingBilinear2d(scale_factor=1.5)
UpsamplingNearest2d(size=(4,9)) Upsample(scale_factor=(1.3,0.8),recompute_scale_factor=True)
Upsample(size=(3,9),mode='nearest-exact') LazyConv2d(6,(2,3),(1,2),(1,0),1,2,False)
LazyConv2d(2,3,padding=1,padding_mode='replicate',dilation=2)
LazyConvTranspose2d(4,3,2,1,1,2,False) LazyConvTranspose2d(2,2,dilation=2)
LazyBatchNorm2d(0.1,0.2,False) LazyBatchNorm2d(bias=False,track_running_stats=False)
LazyInstanceNorm2d(0.1,0.2,True,True)
LazyInstanceNorm2d(affine=True,bias=False) BatchNorm2d(4,momentum=None)
FractionalMaxPool2d(2,output_size=(3,4),_random_samples=torch.full((2,4,2),0.3))
FractionalMaxPool2d((2,3),output_ratio=0.5,return_indices=True) FractionalMaxPool2d(3,4)
Conv2d(4,2,3,padding=(2,1),padding_mode='circular',stride=(1,2),bias=False)
"""

OF_VOLUMES = """
Conv3d(4,2,2,dilation=(1,2,1),bias=False) Conv3d(4,2,3,padding=(0,1,1),padding_mode='replicate')
Conv3d(4,2,3,padding=1,padding_mode='circular') AdaptiveMaxPool3d(2,return_indices=True)
ConvTranspose3d(4,4,2,stride=2,padding=1,output_padding=1,groups=2,bias=False,dilation=2)
AvgPool3d(3,2,1,ceil_mode=True,count_include_pad=False) AvgPool3d(2,1,divisor_override=5)
BatchNorm3d(4,eps=0.1,momentum=0.3) BatchNorm3d(4,affine=False,track_running_stats=False)
BatchNorm3d(4,bias=False) InstanceNorm3d(4,0.1,0.4,True,True)
InstanceNorm3d(4,affine=True,bias=False)
LPPool3d(2,3,stride=1,ceil_mode=True) LPPool3d(3,3,stride=2,ceil_mode=True)
MaxPool3d(3,2,padding=1,dilation=(1,2,1),return_indices=True,ceil_mode=True)
LazyConv3d(4,2,2,1,1,2,False) LazyConv3d(2,3,padding=1,padding_mode='circular',dilation=1)
LazyConvTranspose3d(4,3,2,1,1,2,False) LazyConvTranspose3d(2,2,dilation=2)
LazyBatchNorm3d(0.1,0.2,False) LazyBatchNorm3d(track_running_stats=False,bias=False)
LazyInstanceNorm3d(0.1,0.2,True,True) LazyInstanceNorm3d(affine=True,bias=False)
FractionalMaxPool3d(2,output_size=(2,3,2),_random_samples=torch.full((1,4,3),0.6))
FractionalMaxPool3d((2,1,2),output_ratio=(0.5,0.6,0.5),return_indices=True)
AdaptiveAvgPool3d((None,2,1)) Upsample((2,3,5),mode='trilinear',align_corners=True)
"""

NLL = ["g(3, 4).log_softmax(1)", "i(4, 3)"]
THREE = [ROW, f"{ROW}.cos()", f"{ROW} * 0.5"]
CTC = ["g(6, 2, 5).log_softmax(2)", "i(4, 2, 3)", "torch.tensor([6, 2])", "torch.tensor([3, 3])"]

OTHERS = [
    ("AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], head_bias=True)", ["g(4, 8)", "i(12, 4)"]),
    ("BCELoss(weight=g(4).abs(), reduction='sum')", ["g(3, 4).sigmoid()", "g(3, 4).cos().abs()"]),
    ("BCEWithLogitsLoss(weight=g(4).abs(), reduction='none')", [ROW, f"{ROW}.cos().abs()"]),
    ("CTCLoss(blank=4, reduction='sum', zero_infinity=True)", CTC),
    ("CTCLoss(blank=4, reduction='none')", CTC),
    ("CosineEmbeddingLoss(reduction='none')", [*PAIR, "i(2, 3) * 2 - 1"]),
    ("CosineSimilarity(dim=0, eps=0.01)", PAIR),
    ("PairwiseDistance(p=3.0, eps=0.1, keepdim=True)", PAIR),
    ("Embedding(5, 3, sparse=False, _weight=g(5, 3), _freeze=True)", ["i(5, 4)"]),
    ("EmbeddingBag(5, 3, max_norm=0.5, norm_type=1.0, include_last_offset=True)",
     ["i(5, 8)", "torch.tensor([0, 3, 8])"]),
    ("EmbeddingBag(5, 3, mode='sum', _weight=g(5, 3))", ["i(5, 2, 4)", "None", "g(2, 4)"]),
    ("Fold((5, 4), (2, 2), dilation=2, padding=1, stride=2)", ["g(2, 8, 6)"]),
    ("GaussianNLLLoss(eps=0.5, reduction='sum')", [*PAIR, "g(3, 4).abs()"]),
    ("HingeEmbeddingLoss(margin=0.4, reduction='none')", [ROW, SIGNS]),
    ("HuberLoss(reduction='none')", PAIR),
    ("SmoothL1Loss(reduction='sum')", PAIR),
    ("LSTMCell(4, 5, bias=False)", [ROW]),
    ("RNNCell(4, 5, bias=False)", [ROW]),
    ("MarginRankingLoss(reduction='sum')", ["g(3)", "g(3).cos()", "i(2, 3) * 2 - 1"]),
    ("MaxUnpool1d(3, stride=2, padding=1)", ["g(1, 2, 2)", "torch.tensor([[[0, 2], [1, 2]]])"]),
    ("MaxUnpool2d(3, stride=2, padding=1)",
     ["g(1, 1, 2, 2)", "torch.tensor([[[[0, 2], [4, 8]]]])"]),
    ("MaxUnpool3d(2, stride=3, padding=1)",
     ["g(1, 1, 1, 2, 2)", "torch.tensor([[[[[0, 2], [4, 5]]]]])", "(2, 3, 3)"]),
    ("MultiLabelMarginLoss(reduction='none')",
     ["g(2, 4)", "torch.tensor([[3, 0, -1, 1], [0, -1, 2, 1]])"]),
    ("MultiLabelSoftMarginLoss(weight=g(4).abs(), reduction='sum')", [ROW, "i(2, 3, 4).float()"]),
    ("MultiMarginLoss(margin=0.4, weight=g(4).abs(), reduction='none')", [ROW, "i(4, 3)"]),
    ("MultiheadAttention(4, 1, dropout=0.5)", ["g(5, 2, 4)", "g(3, 2, 4)", "g(3, 2, 4).cos()"]),
    ("NLLLoss(ignore_index=2, reduction='sum')", NLL),
    ("NLLLoss(weight=g(4).abs(), ignore_index=1, reduction='none')", NLL),
    ("NLLLoss2d(weight=g(4).abs(), ignore_index=1, reduction='none')",
     ["g(2, 4, 3, 2).log_softmax(1)", "i(4, 2, 3, 2)"]),
    ("PoissonNLLLoss(log_input=False, eps=0.1, reduction='sum')", ["g(3, 4).abs()",
                                                                   "g(3, 4).cos().abs() * 4"]),
    ("SoftMarginLoss(reduction='none')", [ROW, SIGNS]),
    ("TripletMarginLoss(margin=0.4, p=3.0, eps=0.1, reduction='none')", THREE),
    (("TripletMarginWithDistanceLoss(distance_function=nn.L1Loss(reduction='none'), margin=0.3, "
     "swap=True, reduction='sum')"), THREE),
    (("LinearCrossEntropyLoss(4, 5, bias=True, weight=g(5).abs(), ignore_index=1, reduction='sum', "
     "label_smoothing=0.2)"), [ROW, "i(5, 3)"]),
    (("Transformer(8, 2, 1, 1, 16, 0.0, 'gelu', layer_norm_eps=0.1, batch_first=True, "
     "norm_first=True, bias=False)"), ["g(2, 3, 8)", "g(2, 4, 8)"]),
    (("Transformer(8, 2, custom_encoder=nn.TransformerEncoder("
     "nn.TransformerEncoderLayer(8, 2, 8, 0.0), 1), custom_decoder=nn.TransformerDecoder("
     "nn.TransformerDecoderLayer(8, 2, 8, 0.0), 1))"), ["g(3, 2, 8)", "g(3, 2, 8)"]),
    ("TransformerDecoderLayer(8, 2, 16, 0.0, 'gelu', 0.1, True, True)",
     ["g(2, 3, 8)", "g(2, 4, 8)"]),
    ("TransformerEncoderLayer(8, 2, 16, 0.0, layer_norm_eps=0.1, bias=False)", ["g(3, 2, 8)"]),
    ("TransformerEncoderLayer(8, 2, 16, 0.3, batch_first=True)", ["g(2, 3, 8)"]),
    (("TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2, "
     "nn.LayerNorm(8), enable_nested_tensor=False, mask_check=False)"), ["g(2, 3, 8)"]),
    ("ModuleDict({'a': nn.Linear(4, 2), 'b': nn.ReLU()})['a']", [ROW]),
]  # fmt: skip
