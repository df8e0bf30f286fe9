"""Small programs and expressions about nn: what they return, raise and warn is recorded."""

from __future__ import annotations

import importlib
import warnings

EXPRESSIONS = """
F.dropout(g(3), p=1.5)
F.dropout1d(g(2, 2, 2, 2))
F.dropout2d(g(2, 3), 0.0)
F.dropout2d(g(2, 3, 4), 0.0)
F.dropout3d(g(2, 3), 0.0)
nn.Dropout(-0.1)
F.glu(torch.tensor(1.0))
F.hardtanh(g(3), 1.0, -1.0)
nn.Hardtanh(2.0, 1.0)
nn.Hardtanh(min_value=-0.5, max_value=0.5)(g(4))
F.softmax(g(3))
F.log_softmax(g(2, 3))
F.softmin(g(2, 3, 4))
F.softmax(g(2, 3), 1, dtype=torch.float64)
F.gumbel_softmax(g(2, 3), eps=1e-9).shape
F.batch_norm(g(1, 3), None, None, training=True)
F.batch_norm(g(2, 3), None, None, training=True, eps=0.0)
F.batch_norm(g(2, 3), torch.zeros(3), torch.ones(3), eps=-1.0)
F.instance_norm(g(2, 3, 1))
F.group_norm(g(3), 1)
F.group_norm(g(1, 2), 2)
F.local_response_norm(g(2, 3), 2)
F.normalize(g(2, 3))
F.normalize(g(2, 3), p=1.0, dim=0)
F.normalize(torch.zeros(2, 3), out=torch.empty(2, 3))
F.cosine_similarity(g(2, 3), g(2, 3).cos())
F.pairwise_distance(g(2, 3), g(2, 3).cos(), p=1.0, keepdim=True)
F.embedding(i(3, 4), g(3, 2), padding_idx=5)
F.embedding(i(3, 4), g(3, 2), padding_idx=-4)
F.embedding(i(3, 4), g(3, 2), padding_idx=-1, max_norm=0.5)
F.embedding_bag(i(3, 4), g(3, 2))
F.embedding_bag(i(3, 2, 2), g(3, 2), torch.tensor([0]))
F.embedding_bag(i(3, 2, 2, 1), g(3, 2))
F.embedding_bag(i(3, 2, 2), g(3))
F.embedding_bag(i(3, 2, 2), g(3, 2), mode='median')
F.embedding_bag(i(3, 2, 2), g(3, 2), mode='max', scale_grad_by_freq=True)
F.embedding_bag(i(3, 2, 2), g(3, 2), per_sample_weights=g(2, 2))
F.embedding_bag(i(3, 2, 2), g(3, 2), per_sample_weights=g(2, 3), mode='sum')
F.embedding_bag(i(3, 2, 2), g(3, 2), per_sample_weights=g(2, 2), mode='sum')
F.mse_loss(g(3, 4), g(4))
F.mse_loss(g(3), g(3).cos(), size_average=False)
F.mse_loss(g(3), g(3).cos(), reduce=False)
F.mse_loss(g(3), g(3).cos(), reduction='median')
F.mse_loss(g(3), g(3).cos(), reduction='elementwise_mean')
F.mse_loss(g(3), g(3).cos(), weight=g(3))
F.mse_loss(g(3), g(3).cos(), weight=g(2))
F.mse_loss(g(3), g(3).cos(), weight=g(3), reduction='none')
F.l1_loss(g(3, 4), g(4), reduction='sum')
F.l1_loss(g(3), g(3).cos(), weight=g(3), reduction='sum')
F.smooth_l1_loss(g(3), g(3).cos(), beta=0.0)
F.smooth_l1_loss(g(2, 3), g(3).cos())
F.huber_loss(g(3), g(3).cos(), weight=g(3))
F.huber_loss(g(2, 3), g(3).cos())
F.binary_cross_entropy(g(3).sigmoid(), g(4).sigmoid())
F.binary_cross_entropy(g(2, 3).sigmoid(), g(2, 3).sigmoid(), weight=g(3).abs())
F.binary_cross_entropy_with_logits(g(3), g(4))
F.kl_div(g(3), g(3).cos())
F.poisson_nll_loss(g(3), g(3), reduction='median')
F.gaussian_nll_loss(g(3), g(3).cos(), -g(3))
F.gaussian_nll_loss(g(3), g(3).cos(), -1.0)
F.gaussian_nll_loss(g(3), g(3).cos(), 0.5)
F.gaussian_nll_loss(g(3), g(3).cos(), g(4).abs())
F.gaussian_nll_loss(g(3), g(3).cos(), g(3).abs(), reduction='median')
F.margin_ranking_loss(g(3), g(1, 3), g(3))
F.multi_margin_loss(g(2, 3), i(3, 2), p=3)
F.multi_margin_loss(g(2, 3), i(3, 2), weight=g(1, 3))
F.multilabel_soft_margin_loss(g(2, 3), i(2, 2, 3), reduction='median')
F.multilabel_soft_margin_loss(g(2, 3), i(2, 2, 3), weight=g(3))
F.triplet_margin_loss(g(2, 3), g(2, 3), g(2, 3), margin=0)
F.triplet_margin_with_distance_loss(g(2, 3), g(3), g(2, 3))
F.triplet_margin_with_distance_loss(g(2, 3), g(2, 3).cos(), g(2, 3) * 2, swap=True)
F.interpolate(g(1, 2, 4), 2, mode='nearest', align_corners=True)
F.interpolate(g(1, 2, 4))
F.interpolate(g(1, 2, 4), 2, 2)
F.interpolate(g(1, 2, 4), (2, 3))
F.interpolate(g(1, 2, 4), (2.5,))
F.interpolate(g(1, 2, 4), scale_factor=(2, 3))
F.interpolate(g(1, 2, 4), 2, mode='bilinear')
F.interpolate(g(1, 2, 4, 4), 2, mode='linear')
F.interpolate(g(1, 2), 2)
F.interpolate(g(1, 2, 4), 2, recompute_scale_factor=True)
F.interpolate(g(1, 2, 4), scale_factor=1.6, recompute_scale_factor=True, mode='linear')
F.interpolate(g(1, 2, 4), 2, antialias=True)
F.interpolate(g(1, 1, 6, 6), 3, mode='bilinear', antialias=True)
F.interpolate(g(1, 1, 6, 6), 4, mode='bicubic', antialias=True)
F.interpolate(g(1, 1, 6), scale_factor=0.5, mode='area')
F.interpolate(g(1, 1, 5), 3, mode='nearest-exact')
F.upsample(g(1, 1, 2), 4)
F.upsample_nearest(g(1, 1, 2), 4)
F.upsample_bilinear(g(1, 1, 2, 2), 4)
F.grid_sample(g(1, 1, 3, 3), g(1, 2, 2, 2))
F.grid_sample(g(1, 1, 3, 3), g(1, 2, 2, 2), 'linear')
F.grid_sample(g(1, 1, 3, 3), g(1, 2, 2, 2), padding_mode='ones')
F.grid_sample(g(1, 1, 3, 3), g(1, 2, 2, 2), 'bicubic', 'reflection', True)
F.affine_grid(g(1, 2, 3), (1, 1, 2, 3))
F.affine_grid(g(1, 2, 3), (1, 1, 2), align_corners=False)
F.affine_grid(g(1, 2, 2), (1, 1, 2, 3), align_corners=False)
F.affine_grid(i(3, 1, 2, 3), (1, 1, 2, 3), align_corners=False)
F.max_unpool1d(g(1, 1, 2), i(2, 1, 1, 2), 2, output_size=[9])
F.max_unpool1d(g(1, 1, 2), i(2, 1, 1, 2), 2, output_size=[1, 2, 3, 4])
F.max_unpool2d(g(1, 1, 1, 1), i(1, 1, 1, 1, 1), 2, output_size=(1, 1, 3, 3))
F.fractional_max_pool2d(g(1, 1, 4, 4), 2)
F.fractional_max_pool2d(g(1, 1, 5, 5), 2, output_ratio=0.6)
F.fractional_max_pool2d(g(1, 1, 5, 5), 2, 3, _random_samples=torch.full((1, 1, 2), 0.3))
F.fractional_max_pool3d(g(1, 1, 4, 4, 4), 2, 2, _random_samples=torch.full((1, 1, 3), 0.6))
F.fold(g(1, 4, 4), (3, 3), 2)
F.unfold(g(1, 1, 3, 3), (2, 2), stride=2)
F.one_hot(i(3, 4))
F.adaptive_avg_pool2d(g(3, 4), (1, 1, 1))
F.lp_pool1d(g(1, 1, 6), 2, 3, stride=1)
F.lp_pool2d(g(1, 1, 4, 4), 2, (2, 1))
nn.MultiheadAttention(8, 3)
nn.MultiheadAttention(0, 1)
nn.MultiheadAttention(4, 2)(g(2, 1, 4), g(2, 1, 4), g(2, 1, 4), attn_mask=g(3, 2))
nn.MultiheadAttention(4, 2)(g(2, 1, 4), g(2, 1, 4), g(2, 1, 4), attn_mask=g(3, 2, 2))
nn.MultiheadAttention(4, 2)(g(2, 1, 4), g(2, 1, 4), g(2, 1, 4), attn_mask=i(2, 2, 2))
nn.Transformer(8, 2, 1, 1, 8)(g(2, 1, 8), g(2, 2, 8))
nn.Transformer(8, 2, 1, 1, 8)(g(2, 1, 6), g(2, 1, 6))
nn.Transformer.generate_square_subsequent_mask(3)
nn.TransformerEncoderLayer(8, 2, activation='tanh')
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(4, 3, 3, groups=2)
nn.Conv2d(4, 4, 3, groups=0)
nn.Conv2d(4, 4, 3, padding='same', stride=2)
nn.ConvTranspose2d(4, 4, 3, padding_mode='circular')
nn.ConvTranspose1d(4, 4, 3, stride=2)(g(1, 4, 5), [40])
nn.ConvTranspose1d(4, 4, 3, stride=2)(g(1, 4, 5), [1, 2, 3, 4])
nn.Bilinear(0, 2, 3)
nn.BatchNorm1d(3)(g(2))
nn.BatchNorm2d(3)(g(2, 3))
nn.BatchNorm3d(3)(g(2, 3))
nn.BatchNorm2d(3)(g(1, 3, 1, 1))
nn.InstanceNorm1d(3)(g(2))
nn.InstanceNorm2d(3, affine=True)(g(1, 4, 2, 2))
nn.InstanceNorm2d(3)(g(1, 4, 2, 2)).shape
nn.SyncBatchNorm(3)
nn.GroupNorm(2, 3)
nn.CircularPad1d(1)(g(3))
nn.CircularPad2d(1)(g(3, 3))
nn.Softmax2d()(g(2, 2))
nn.Unflatten(1, 3)
nn.Unflatten(1, (2, 'a'))
nn.Unflatten('a', (2, 2))
nn.Unflatten(2.5, (2, 2))
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 3, 0.5)
nn.FractionalMaxPool2d(2, output_ratio=1.5)
nn.FractionalMaxPool3d(0, 2)
nn.FractionalMaxPool3d((2, 2, 3), output_ratio=0.5)
nn.Embedding(3, 2, padding_idx=3)
nn.Embedding(3, 2, _weight=g(2, 2))
nn.Embedding(3, 2, padding_idx=-2).padding_idx
nn.Embedding.from_pretrained(g(3))
nn.Embedding.from_pretrained(g(3, 2))(i(3, 2))
nn.Embedding.from_pretrained(g(3, 2)).weight.requires_grad
nn.EmbeddingBag(3, 2, padding_idx=5)
nn.EmbeddingBag.from_pretrained(g(3, 2))(i(3, 1, 2))
nn.Embedding(5, 3, padding_idx=1, max_norm=1.0, norm_type=3.0, scale_grad_by_freq=True, sparse=True)
nn.EmbeddingBag(5, 3, 1.0, 3.0, True, 'sum', True, padding_idx=0)
nn.HuberLoss(delta='a')
nn.MultiMarginLoss(p=3)
nn.MultiMarginLoss(weight=g(2, 2))
nn.TripletMarginLoss(margin=-1)
nn.TripletMarginWithDistanceLoss(margin=0)
nn.MSELoss(size_average=False).reduction
nn.L1Loss(reduce=False).reduction
nn.NLLLoss2d()
nn.RNN(3, 4, dropout=2)
nn.RNN(3, 4, dropout=0.5)
nn.RNN(3.0, 4)
nn.RNN(3, 0)
nn.RNN(3, 4, 0)
nn.RNN(3, 4, nonlinearity='gelu')
nn.RNN(3, 4, proj_size=2)
nn.RNN(3, 4, 1, 'relu').mode
nn.LSTM(3, 4, proj_size=4)
nn.LSTM(3, 4, proj_size=-1)
nn.LSTM(3, 4, bias=1)
nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2, bias=False)
nn.LSTM(3, 4)(g(2))
nn.LSTM(3, 4)(g(2, 1, 4))
nn.LSTM(3, 4)(g(2, 1, 3).double())
nn.LSTM(3, 4)(g(2, 1, 3), (g(1, 4), g(1, 4)))
nn.LSTM(3, 4)(g(2, 3), (g(1, 1, 4), g(1, 1, 4)))
nn.LSTM(3, 4)(g(2, 1, 3), (g(1, 2, 4), g(1, 1, 4)))
nn.GRU(3, 4)(g(2, 1, 3), g(1, 4))
nn.GRU(3, 4)(g(2, 3), g(1, 1, 4))
nn.GRU(3, 4)(g(2))
nn.RNN(3, 4)(g(2))
nn.RNNCell(3, 4)(g(1, 1, 3))
nn.RNNCell(3, 4, nonlinearity='gelu')(g(1, 3))
nn.LSTMCell(3, 4)(g(1, 3), (g(1, 1, 4), g(1, 4)))
nn.GRUCell(3, 4)(g(1, 3), g(1, 1, 4))
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [])
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3])
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])(g(2, 4), i(3, 3))
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])(g(4), i(3, 3))
nn.init.calculate_gain('relu')
nn.init.calculate_gain('leaky_relu', 0.2)
nn.init.calculate_gain('leaky_relu', True)
nn.init.calculate_gain('tanh')
nn.init.calculate_gain('selu')
nn.init.calculate_gain('gelu')
nn.init.xavier_uniform_(torch.empty(3))
nn.init.kaiming_uniform_(torch.empty(0, 3))
nn.init.kaiming_normal_(torch.empty(2, 3), mode='fan')
nn.init.trunc_normal_(torch.empty(3), mean=9.0).shape
nn.init.eye_(torch.empty(2, 3))
nn.init.eye_(torch.empty(3))
nn.init.dirac_(torch.empty(4, 2, 3), 2)
nn.init.dirac_(torch.empty(2, 2))
nn.init.dirac_(torch.empty(3, 2, 3), 2)
nn.init.orthogonal_(torch.empty(3))
nn.init.sparse_(torch.empty(3), 0.5)
nn.init.constant_(torch.empty(2), 1.5)
nn.init.normal(torch.empty(2)).shape
nn.init.xavier_normal(torch.empty(2, 2)).shape
nn.Module(3)
nn.Module(a=3)
nn.Module()(1)
nn.Linear(2, 3).foo
nn.Linear(2, 3).register_buffer(3, None)
nn.Linear(2, 3).register_buffer('a.b', None)
nn.Linear(2, 3).register_buffer('', None)
nn.Linear(2, 3).register_buffer('weight', None)
nn.Linear(2, 3).register_buffer('a', 3)
nn.Linear(2, 3).register_parameter(3, None)
nn.Linear(2, 3).register_parameter('a.b', None)
nn.Linear(2, 3).register_parameter('', None)
nn.Linear(2, 3).register_parameter('forward', None)
nn.Linear(2, 3).register_parameter('a', g(2))
nn.Linear(2, 3).register_parameter('a', 3)
nn.Linear(2, 3).register_parameter('a', nn.Parameter(g(2)) * 2)
nn.Linear(2, 3).add_module('a', 3)
nn.Linear(2, 3).add_module(3, None)
nn.Linear(2, 3).add_module('a.b', None)
nn.Linear(2, 3).add_module('', None)
nn.Linear(2, 3).add_module('forward', None)
setattr(nn.Linear(2, 3), 'weight', g(2))
setattr(nn.Linear(2, 3), 'weight', 3)
setattr(nn.BatchNorm1d(3), 'running_mean', 3)
setattr(nn.Sequential(nn.ReLU()), '0', 3)
delattr(nn.Linear(2, 3), 'foo')
nn.Sequential(nn.ReLU()).get_submodule('1')
nn.Sequential(nn.ReLU()).get_submodule('0.inplace')
nn.Sequential(nn.ReLU()).get_submodule('0')
nn.Sequential(nn.Linear(2, 3)).get_parameter('0.weigh')
nn.Sequential(nn.Linear(2, 3)).get_parameter('0.in_features')
nn.Sequential(nn.Linear(2, 3)).get_parameter('0.weight').shape
nn.Sequential(nn.BatchNorm1d(2)).get_buffer('0.weight')
nn.Sequential(nn.BatchNorm1d(2)).get_buffer('0.foo')
nn.Sequential(nn.BatchNorm1d(2)).get_buffer('0.running_var')
nn.Sequential(nn.ReLU()).set_submodule('', nn.ReLU())
nn.Sequential(nn.ReLU()).set_submodule('0', 3)
nn.Sequential(nn.ReLU()).set_submodule('0.x', nn.ReLU(), strict=True)
nn.Sequential(nn.ReLU()).set_submodule('0.inplace', nn.ReLU())
nn.Linear(2, 3).to(torch.int64)
nn.Linear(2, 3).to(torch.complex64)
nn.Linear(2, 3).to('meta').weight
nn.Linear(2, 3, device='meta').to('cpu')
nn.Linear(2, 3, device='meta').to_empty(device='cpu').weight.shape
nn.Linear(2, 3).to(g(2).double()).weight.dtype
nn.Linear(2, 3).double().half().bfloat16().float().weight.dtype
nn.Linear(2, 3).type(torch.float64).bias.dtype
nn.Linear(2, 3).train('yes')
nn.Linear(2, 3).load_state_dict(3)
nn.Linear(2, 3).load_state_dict({})
nn.Linear(2, 3).load_state_dict({'weight': g(3, 2), 'bias': g(3), 'x': g(1), 'y.z': g(1)})
nn.Linear(2, 3).load_state_dict({'weight': g(3, 3), 'bias': g(2)})
nn.Linear(2, 3).load_state_dict({'weight': 3, 'bias': g(3)})
nn.Linear(2, 3).load_state_dict({'weight': g(3, 2), 'x': g(1)}, strict=False)
nn.Linear(2, 3).load_state_dict({'weight': g(3, 2), 'bias': g(3)})
nn.Linear(2, 3, device='meta').load_state_dict({'weight': g(3, 2), 'bias': g(3)})
nn.Sequential(nn.Linear(2, 1), nn.ELU()).load_state_dict({'0.weight': g(1, 2), '1.q': g(1)})
nn.BatchNorm1d(2, affine=False).load_state_dict({'running_mean': g(2), 'running_var': g(2)})
nn.InstanceNorm1d(2).load_state_dict({'running_mean': g(2), 'running_var': g(2)})
nn.Sequential(nn.ReLU())[1]
nn.Sequential(nn.ReLU())[-2]
nn.Sequential(nn.ReLU()).insert(3, nn.ReLU())
nn.Sequential(nn.ReLU()).insert(0, 3)
nn.Sequential(nn.ReLU()) + [nn.ReLU()]
nn.Sequential(nn.ReLU()) * 0
nn.Sequential(nn.ReLU()) * 'a'
nn.Sequential(nn.ReLU(), nn.Tanh()) * 2
2 * nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
nn.Sequential(nn.ReLU(), nn.Tanh(), nn.GELU())[1:]
nn.ModuleList([nn.ReLU()])[3]
nn.ModuleList([nn.ReLU()])(3)
nn.ModuleList(3)
nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.Linear(2, 2), nn.Linear(2, 2)])
nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Tanh())] * 3)
nn.ModuleList([nn.ReLU()]) + [nn.Tanh()]
nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.GELU()])[::2]
nn.ModuleList()
nn.ModuleDict(3)
nn.ModuleDict([3])
nn.ModuleDict([(1, 2, 3)])
nn.ModuleDict({'a': nn.ReLU(), 'b': nn.Tanh()})
nn.ModuleDict([['x', nn.ReLU()]])['x']
nn.ModuleDict({'a': nn.ReLU()})['b']
nn.ParameterList([g(2), nn.Parameter(g(3, 2)), 'text', 7])
nn.ParameterList([g(2)])[1]
nn.ParameterList(3)
nn.ParameterList([g(2)])(3)
nn.ParameterList([g(2), g(3)])[1:]
nn.ParameterDict({'b': g(2), 'a': nn.Parameter(g(3, 2)), 'c': 'text'})
nn.ParameterDict({'a': g(2)})(3)
nn.ParameterDict(3)
nn.ParameterDict([3])
nn.ParameterDict({3: g(2)})
nn.ParameterDict({'a': g(2)}) | nn.ParameterDict({'b': g(1)})
nn.Container(a=nn.ReLU())
nn.Parameter(g(2))
nn.Parameter(g(2), requires_grad=False).requires_grad
nn.Parameter()
nn.Buffer(g(2), persistent=False).persistent
isinstance(nn.Buffer(g(2)), nn.Buffer)
nn.utils.rnn.pack_padded_sequence(g(4, 3, 2), [4, 2, 1])
nn.utils.rnn.pack_padded_sequence(g(4, 3, 2), [1, 4, 2])
nn.utils.rnn.pack_padded_sequence(g(4, 3, 2), [4, 2, 0])
nn.utils.rnn.pack_padded_sequence(g(4, 3, 2), [4, 2])
nn.utils.rnn.pack_padded_sequence(g(4, 3, 2), [1, 4, 2], enforce_sorted=False)
nn.utils.rnn.pack_padded_sequence(g(3, 4, 2), [4, 2, 1], batch_first=True)
nn.utils.rnn.pad_sequence([g(2, 2), g(3, 2)])
nn.utils.rnn.pad_sequence([g(2), g(3)], batch_first=True, padding_value=-1, padding_side='left')
nn.utils.rnn.pad_sequence([])
nn.utils.rnn.pack_sequence([g(1), g(3), g(2)], enforce_sorted=False)
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([g(3), g(1)]), total_length=5)
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([g(3), g(1)]), total_length=1)
nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([g(1), g(3)], enforce_sorted=False))
nn.utils.rnn.unpad_sequence(g(3, 2), torch.tensor([3, 1]))
nn.utils.clip_grad_norm_([], 1.0)
nn.utils.clip_grad_norm_((p for p in []), 1.0)
nn.utils.clip_grad_norm(nn.Parameter(g(2)), 1.0)
nn.utils.get_total_norm([g(3), g(2)])
nn.utils.get_total_norm(g(3), float('inf'))
nn.utils.get_total_norm([g(3) / 0], error_if_nonfinite=True)
nn.utils.parameters_to_vector([g(2), g(2, 2)])
nn.utils.vector_to_parameters([1.0], [g(2)])
nn.utils.skip_init(nn.Linear, 2, 3).weight.shape
nn.utils.skip_init(nn.ReLU)
sorted(nn.factory_kwargs({'device': 'cpu', 'dtype': torch.float64}))
nn.factory_kwargs({'devic': 'cpu'})
nn.Upsample(scale_factor=(2, 3), mode='nearest')
nn.LazyLinear(3)
nn.LazyConv2d(3, 2)
nn.LazyBatchNorm1d()
nn.modules.utils._pair(3)
nn.modules.utils._reverse_repeat_tuple((1, 2), 2)
"""

# Programs on matrix factorizations, and the ops that they wait for.
NEEDS = {
    "initial_orthogonal": ["linalg.qr"],
    "orthogonal_weights": ["geqrf", "linalg.householder_product", "linalg.solve", "matrix_exp"],
}

_PROGRAMS = []


def program(function):
    """Add a function of (torch, nn, F, g, i) to the programs."""
    _PROGRAMS.append((function.__name__, function))
    return function


def all_programs():
    """Yield (name, function) of every expression and program."""
    for line in EXPRESSIONS.strip().splitlines():

        def evaluate(line=line, **names):
            value = eval(line, names)
            return repr(value) if isinstance(value, names["nn"].Module) else value

        yield line, evaluate
    yield from _PROGRAMS


def _net(nn):
    inner = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), inner)


@program
def walking(torch, nn, F, g, i):
    net = _net(nn)
    net.extra = net[0]
    return [
        [name for name, _ in net.named_parameters()],
        [name for name, _ in net.named_parameters(prefix="p", remove_duplicate=False)],
        [name for name, _ in net.named_parameters(recurse=False)],
        [name for name, _ in net.named_buffers()],
        [name for name, _ in net.named_modules()],
        [name for name, _ in net.named_modules(prefix="q", remove_duplicate=False)],
        [name for name, _ in net.named_children()],
        [type(m).__name__ for m in net.modules()],
        len(list(net.parameters())),
        len(list(net.buffers())),
        len(list(net.children())),
        [name for name in dir(net) if name in ("0", "extra", "forward")],
    ]


@program
def state_dict_forms(torch, nn, F, g, i):
    net = _net(nn)
    state = net.state_dict(prefix="m.")
    kept = net.state_dict(keep_vars=True)
    old = net.state_dict({}, "z.")
    return [
        list(state),
        dict(net.state_dict()._metadata),
        kept["0.weight"].requires_grad,
        state["m.0.weight"].requires_grad,
        list(old),
    ]


@program
def state_dict_assign(torch, nn, F, g, i):
    net, other = nn.Linear(2, 3, device="meta"), nn.Linear(2, 3)
    answer = net.load_state_dict(other.state_dict(), assign=True)
    shared = net.weight.data_ptr() == other.weight.data_ptr()
    return [str(answer), shared, type(net.weight).__name__, net.weight.requires_grad]


@program
def state_dict_hooks(torch, nn, F, g, i):
    log = []
    net = nn.Sequential(nn.Linear(1, 1))
    net.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(["pre", prefix, keep]))
    net.register_state_dict_post_hook(
        lambda m, state, prefix, meta: log.append(["post", list(state), prefix, meta])
    )
    net._register_state_dict_hook(lambda m, state, prefix, meta: {"all": 1})
    net.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop("extra", None))
    net.register_load_state_dict_post_hook(
        lambda m, keys: (log.append(list(keys.missing_keys)), keys.missing_keys.clear())[0]
    )
    result = net.state_dict()
    net.load_state_dict({"0.weight": g(1, 1), "extra": 1})
    return [result, log]


@program
def state_dict_post_hook_returns(torch, nn, F, g, i):
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda *a: 3)
    return net.state_dict()


@program
def load_post_hook_returns(torch, nn, F, g, i):
    net = nn.Linear(1, 1)
    net.register_load_state_dict_post_hook(lambda *a: 3)
    return net.load_state_dict(net.state_dict())


@program
def extra_state(torch, nn, F, g, i):
    class Extra(nn.Module):
        def get_extra_state(self):
            return {"k": 1}

        def set_extra_state(self, state):
            self.got = state

    net = nn.Sequential(Extra())
    state = net.state_dict()
    net.load_state_dict(state)
    missing = net.load_state_dict({}, strict=False)
    return [list(state), net[0].got, str(missing)]


@program
def extra_state_unexpected(torch, nn, F, g, i):
    return nn.ReLU().load_state_dict({"_extra_state": 1})


@program
def non_persistent_buffer(torch, nn, F, g, i):
    net = nn.Module()
    net.register_buffer("a", g(2))
    net.register_buffer("b", g(2), persistent=False)
    net.c = nn.Buffer(g(1), persistent=False)
    net.d = nn.Buffer(g(1))
    before = [list(net.state_dict()), [n for n, _ in net.named_buffers()]]
    net.register_buffer("b", g(3))
    del net.a
    return [before, list(net.state_dict())]


@program
def training_modes(torch, nn, F, g, i):
    net = _net(nn)
    first = [m.training for m in net.modules()]
    same = net.eval() is net
    second = [m.training for m in net.modules()]
    net[2].train()
    third = [m.training for m in net.modules()]
    net.requires_grad_(False)
    return [first, same, second, third, [p.requires_grad for p in net.parameters()]]


@program
def zero_grad(torch, nn, F, g, i):
    net = nn.Linear(2, 1)
    net(g(3, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    zeroed = [p.grad.tolist() for p in net.parameters()]
    net.zero_grad()
    return [zeroed, [p.grad for p in net.parameters()]]


@program
def conversions(torch, nn, F, g, i):
    net = nn.BatchNorm1d(2)
    net(g(3, 2)).sum().backward()
    weight = net.weight
    net.double()
    return [
        net.weight is weight,
        net.weight.grad.dtype,
        net.running_mean.dtype,
        net.num_batches_tracked.dtype,
        net.to("cpu", torch.float16).weight.dtype,
        net.to(device="meta").weight is weight,
    ]


@program
def apply_order(torch, nn, F, g, i):
    seen = []
    net = _net(nn)
    answer = net.apply(lambda m: seen.append(type(m).__name__))
    return [seen, answer is net]


@program
def forward_hooks(torch, nn, F, g, i):
    log = []
    net = nn.Linear(2, 2)
    with torch.no_grad():
        net.weight.copy_(g(2, 2))
        net.bias.copy_(g(2))
    first = net.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    net.register_forward_pre_hook(lambda m, args: log.append("prepended"), prepend=True)
    net.register_forward_pre_hook(
        lambda m, args, kwargs: log.append(["kwargs", list(kwargs)]), with_kwargs=True
    )
    net.register_forward_hook(lambda m, args, out: out + 1)
    net.register_forward_hook(
        lambda m, args, kwargs, out: log.append(["after", out.shape]), with_kwargs=True
    )
    output = net(g(1, 2))
    first.remove()
    with net.register_forward_hook(lambda m, args, out: out * 0):
        zero = net(g(1, 2))
    return [output, zero, net(input=g(1, 2)), log]


@program
def always_called_hook(torch, nn, F, g, i):
    log = []

    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    net = Broken()
    net.register_forward_hook(lambda *a: log.append("never"))
    net.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    try:
        net(1)
    except ValueError as error:
        return [str(error), log]


@program
def bad_pre_hook(torch, nn, F, g, i):
    net = nn.ReLU()
    net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    return net(g(1))


@program
def backward_hooks(torch, nn, F, g, i):
    log = []
    net = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        net.weight.copy_(g(2, 2))
    net.register_full_backward_pre_hook(lambda m, out: log.append(["pre", out[0].tolist()]))
    net.register_full_backward_hook(
        lambda m, inp, out: (log.append(["full", inp[0].tolist(), out[0].tolist()]),
                             (inp[0] * 10,))[1]
    )  # fmt: skip
    x = g(1, 2).requires_grad_()
    net(x).sum().backward()
    return [x.grad, log]


@program
def backward_hook_without_inputs(torch, nn, F, g, i):
    log = []
    net = nn.Linear(2, 1)
    net.register_full_backward_hook(lambda m, inp, out: log.append([inp, out[0].tolist()]))
    net(g(1, 2)).sum().backward()
    return log


@program
def backward_hook_returns_too_many(torch, nn, F, g, i):
    net = nn.Linear(2, 1)
    net.register_full_backward_hook(lambda m, inp, out: (inp[0], inp[0]))
    net(g(1, 2).requires_grad_()).sum().backward()


@program
def mixed_backward_hooks(torch, nn, F, g, i):
    net = nn.Linear(2, 1)
    net.register_full_backward_hook(lambda *a: None)
    net.register_backward_hook(lambda *a: None)


@program
def legacy_backward_hook(torch, nn, F, g, i):
    log = []
    net = nn.Sigmoid()
    net.register_backward_hook(lambda m, inp, out: log.append([len(inp), out[0].tolist()]))
    net(g(2).requires_grad_() * 1).sum().backward()
    return log


@program
def global_hooks(torch, nn, F, g, i):
    from_module = nn.modules.module
    log = []
    handles = [
        from_module.register_module_forward_pre_hook(lambda m, a: log.append(type(m).__name__)),
        from_module.register_module_forward_hook(lambda m, a, out: out * 2),
        from_module.register_module_full_backward_hook(lambda m, gi, go: log.append(len(gi))),
        from_module.register_module_parameter_registration_hook(
            lambda m, name, p: log.append(name)
        ),
        from_module.register_module_module_registration_hook(lambda m, name, c: log.append(name)),
        from_module.register_module_buffer_registration_hook(lambda m, name, b: log.append(name)),
    ]
    net = nn.Sequential(nn.BatchNorm1d(2), nn.ReLU())
    output = net(g(2, 2))
    output.sum().backward()
    for handle in handles:
        handle.remove()
    return [output, nn.ReLU()(g(2)), log]


@program
def before_init(torch, nn, F, g, i):
    class Early(nn.Module):
        def __init__(self, value):
            self.value = value

    seen = []
    for value in (nn.Parameter(g(1)), nn.ReLU(), 3):
        try:
            seen.append(type(Early(value)).__name__)
        except AttributeError as error:
            seen.append(str(error))
    return seen


@program
def registration_moves(torch, nn, F, g, i):
    net = nn.Module()
    net.a = 3
    net.a = nn.Parameter(g(1))
    first = ["a" in net.__dict__, list(net._parameters)]
    net.a = None
    second = [net.a, list(net._parameters)]
    del net.a
    net.a = nn.ReLU()
    net.a = None
    third = [net.a, list(net._modules), repr(net)]
    net.register_buffer("b", None)
    net.b = g(1)
    return [first, second, third, list(net._buffers), hasattr(net, "zzz")]


@program
def copies(torch, nn, F, g, i):
    import copy
    import pickle

    net = _net(nn).eval()
    net.note = "kept"
    twin = copy.deepcopy(net)
    loaded = pickle.loads(pickle.dumps(net))
    return [
        repr(twin) == repr(net),
        twin[0].weight is net[0].weight,
        torch.equal(twin[0].weight, net[0].weight),
        loaded.note,
        loaded.training,
        torch.equal(loaded(g(2, 3)), net(g(2, 3))),
        type(loaded[0].weight).__name__,
        list(copy.copy(net)._modules) == list(net._modules),
    ]


@program
def containers_change(torch, nn, F, g, i):
    seq = nn.Sequential(nn.ReLU(), nn.Tanh())
    seq.append(nn.GELU()).insert(1, nn.Sigmoid())
    seq[0] = nn.SiLU()
    del seq[2]
    popped = seq.pop(-1)
    seq.extend([nn.ELU(), nn.ELU()])
    seq += nn.Sequential(nn.Mish())
    seq *= 2
    mods = nn.ModuleList([nn.ReLU()])
    mods.append(nn.Tanh()).extend([nn.GELU()])
    mods.insert(0, nn.ELU())
    mods[1] = nn.Mish()
    del mods[0:1]
    last = mods.pop(2)
    table = nn.ModuleDict({"a": nn.ReLU()})
    table["b"] = nn.Tanh()
    table.update(nn.ModuleDict({"c": nn.GELU()}))
    gone = table.pop("a")
    return [
        repr(seq), repr(popped), len(seq), repr(mods), repr(last), len(mods),
        repr(table), repr(gone), list(table), list(table.keys()), "b" in table, len(table),
        [k for k, _ in table.items()], len(list(table.values())),
        [n for n, _ in nn.Sequential(*list(seq)[:2]).named_modules()],
    ]  # fmt: skip


@program
def named_sequential(torch, nn, F, g, i):
    from collections import OrderedDict

    net = nn.Sequential(OrderedDict([("first", nn.Linear(1, 1)), ("second", nn.ReLU())]))
    return [repr(net), list(net.state_dict()), repr(net[:1]), repr(net.first)]


@program
def parameter_containers(torch, nn, F, g, i):
    items = nn.ParameterList([g(1)])
    items.append(g(2)).extend([nn.Parameter(g(3))])
    items[0] = g(4)
    table = nn.ParameterDict({"a": g(1)})
    table["b"] = g(2)
    table.update({"d": g(1), "c": g(1)})
    popped = table.pop("a")
    last = table.popitem()
    table.setdefault("z", g(2))
    return [
        [n for n, _ in items.named_parameters()], len(items), [p.shape for p in items],
        list(table), popped, last[0], table.get("q", 5), [n for n, _ in table.named_parameters()],
        list(table.copy()), list(reversed(table)), list(table.fromkeys(["m"])), "b" in table,
        [type(v).__name__ for v in table.values()],
    ]  # fmt: skip


@program
def reprs(torch, nn, F, g, i):
    class Lines(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Lines()
            self.none = None
            self.register_module("empty", None)

        def extra_repr(self):
            return "three"

    return [repr(Lines()), repr(Both()), repr(nn.Module())]


@program
def initial_values(torch, nn, F, g, i):
    torch.manual_seed(3)
    e = torch.empty
    return [
        nn.init.uniform_(e(4), -1, 2),
        nn.init.normal_(e(4), 1.0, 2.0),
        nn.init.trunc_normal_(e(5), 0.5, 2.0, -1.0, 1.0),
        nn.init.xavier_uniform_(e(2, 3), 2.0),
        nn.init.xavier_normal_(e(2, 3, 2)),
        nn.init.kaiming_uniform_(e(3, 2), 0.1, "fan_out", "relu"),
        nn.init.kaiming_normal_(e(3, 2, 2), nonlinearity="tanh"),
        nn.init.ones_(e(2)),
        nn.init.zeros_(e(2)),
        nn.init.eye_(e(3, 2)),
        nn.init.dirac_(e(3, 2, 3)),
        nn.init.sparse_(e(4, 3), 0.4),
        nn.init.normal_(nn.Parameter(e(2))).requires_grad,
    ]


@program
def initial_orthogonal(torch, nn, F, g, i):
    torch.manual_seed(4)
    wide = nn.init.orthogonal_(torch.empty(2, 3), gain=2.0)
    tall = nn.init.orthogonal_(torch.empty(4, 2))
    return [wide, tall]


@program
def initial_generator(torch, nn, F, g, i):
    source = torch.Generator().manual_seed(5)
    return [
        nn.init.normal_(torch.empty(3), generator=source),
        nn.init.kaiming_uniform_(torch.empty(2, 2), generator=source),
    ]


@program
def dropout_draws(torch, nn, F, g, i):
    torch.manual_seed(6)
    ones = torch.ones(6)
    return [
        F.dropout(ones, 0.4),
        F.dropout(ones, 0.4, training=False),
        F.dropout2d(torch.ones(2, 3, 1, 1)),
        F.alpha_dropout(ones, 0.3, training=True),
        F.feature_alpha_dropout(torch.ones(2, 2, 2), 0.5, training=True),
        F.rrelu(-ones, training=True),
        F.gumbel_softmax(g(2, 3), hard=True),
    ]


@program
def clipping(torch, nn, F, g, i):
    net = nn.Linear(2, 2)
    seen = []
    for act in (
        lambda: nn.utils.clip_grad_norm_(net.parameters(), 0.5),
        lambda: nn.utils.clip_grad_norm_(net.parameters(), 0.5, norm_type="inf"),
        lambda: nn.utils.clip_grad_norm_(net.weight, 100.0, norm_type=1),
        lambda: nn.utils.clip_grad_value_(net.parameters(), 0.3),
        lambda: nn.utils.clip_grads_with_norm_(net.parameters(), 1.0, torch.tensor(4.0)),
    ):
        net.weight.grad, net.bias.grad = g(2, 2), g(2)
        seen.append([act(), net.weight.grad, net.bias.grad])
    return seen


@program
def flat_parameters(torch, nn, F, g, i):
    net = nn.Linear(2, 2)
    nn.utils.vector_to_parameters(g(6), net.parameters())
    return [net.weight, net.bias, nn.utils.parameters_to_vector(net.parameters())]


@program
def packed_recurrence(torch, nn, F, g, i):
    rnn = nn.utils.rnn
    packed = rnn.pack_sequence([g(2, 3), g(4, 3), g(1, 3)], enforce_sorted=False)
    seen = []
    for net in (nn.LSTM(3, 2, bidirectional=True), nn.GRU(3, 2), nn.RNN(3, 2)):
        with torch.no_grad():
            for param in net.parameters():
                param.copy_(g(*param.shape))
        output, hidden = net(packed)
        seen.append([list(rnn.pad_packed_sequence(output, batch_first=True)), hidden])
    return seen


@program
def packed_sequence_parts(torch, nn, F, g, i):
    packed = nn.utils.rnn.pack_sequence([g(1), g(3)], enforce_sorted=False)
    return [
        list(packed), packed.double().data.dtype, packed.is_cuda, packed.to("cpu") is packed,
        type(packed).__name__, len(packed),
    ]  # fmt: skip


@program
def recurrence_with_state(torch, nn, F, g, i):
    seen = []
    for net, state in (
        (nn.LSTM(3, 2), (g(1, 4, 2), g(1, 4, 2))),
        (nn.LSTM(3, 2), None),
        (nn.GRU(3, 2, batch_first=True), g(1, 5, 2)),
    ):
        with torch.no_grad():
            for param in net.parameters():
                param.copy_(g(*param.shape))
        seen.append(net(g(5, 4, 3), state))
        seen.append(net(g(5, 3)))
    return seen


@program
def recurrence_weights(torch, nn, F, g, i):
    net = nn.LSTM(3, 2, 2, bidirectional=True)
    return [
        list(net.state_dict()), [[w.shape for w in layer] for layer in net.all_weights],
        net.flatten_parameters(), len(net._flat_weights), net._flat_weights_names,
    ]  # fmt: skip


@program
def attention_refusals(torch, nn, F, g, i):
    seen = []
    for shapes, embed, heads, options in (
        (((2,), (2,), (2,)), 2, 1, {}),
        (((2, 1, 4), (2, 4), (2, 1, 4)), 4, 1, {}),
        (((2, 1, 4), (2, 1, 4), (2, 1, 4)), 5, 1, {}),
        (((2, 1, 4), (2, 1, 4), (2, 1, 4)), 4, 3, {}),
        (((2, 1, 4), (2, 1, 4), (3, 1, 4)), 4, 2, {}),
        (((2, 1, 4), (2, 1, 4), (2, 1, 4)), 4, 2, {}),
        (((2, 1, 4), (2, 1, 4), (2, 1, 4)), 4, 2, {"is_causal": True}),
        (((2, 1, 4), (2, 1, 4), (2, 1, 4)), 4, 2, {"use_separate_proj_weight": True}),
    ):
        inputs = [g(*shape) for shape in shapes]
        fixed = (None, None, None, None, False, 0.0, None, None)
        try:
            F.multi_head_attention_forward(*inputs, embed, heads, *fixed, **options)
        except Exception as error:
            seen.append([type(error).__name__, str(error)])
    return seen


@program
def attention_masks(torch, nn, F, g, i):
    net = nn.MultiheadAttention(4, 2).eval()
    with torch.no_grad():
        for param in net.parameters():
            param.copy_(g(*param.shape))
    q, k = g(3, 2, 4), g(3, 2, 4).cos()
    hide = torch.tensor([[False, True, False], [False, False, True]])
    causal = nn.Transformer.generate_square_subsequent_mask(3)
    return [
        net(q, k, k, key_padding_mask=hide),
        net(q, q, q, attn_mask=causal),
        net(q, q, q, attn_mask=causal != 0, need_weights=False),
        net(q, q, q, attn_mask=causal, is_causal=True, need_weights=False),
        net(q, k, k, key_padding_mask=hide, attn_mask=causal),
        net(q, k, k, average_attn_weights=False),
        net(q[:, 0], k[:, 0], k[:, 0], key_padding_mask=hide[0]),
        net(q, q, q, attn_mask=causal.expand(4, 3, 3)),
    ]


@program
def transformer_masks(torch, nn, F, g, i):
    net = nn.Transformer(4, 2, 1, 1, 8, 0.0)
    with torch.no_grad():
        for param in net.parameters():
            param.copy_(g(*param.shape) * 0.5)
    src, tgt = g(3, 2, 4), g(2, 2, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(2)
    hide = torch.tensor([[False, True, False], [False, False, True]])
    return [
        net(src, tgt, tgt_mask=mask, tgt_is_causal=True),
        net(src, tgt, src_key_padding_mask=hide.float(), memory_key_padding_mask=hide.float()),
    ]


@program
def lazy_layers(torch, nn, F, g, i):
    net = nn.Sequential(
        nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3)
    )
    before = [repr(net), net[3].has_uninitialized_params(), nn.parameter.is_lazy(net[0].weight)]
    torch.manual_seed(8)
    net(g(2, 1, 5, 5))
    after = [repr(net), [type(m).__name__ for m in net], net.state_dict()]
    loaded = nn.LazyLinear(3)
    loaded.load_state_dict(net[3].state_dict())
    return [before, after, loaded.weight.shape, loaded.weight[0, 0]]


@program
def lazy_shape(torch, nn, F, g, i):
    return nn.LazyLinear(2).weight.shape


@program
def lazy_use(torch, nn, F, g, i):
    return list(nn.LazyInstanceNorm1d(affine=True)(g(2, 3, 4)).shape)


@program
def functional_call(torch, nn, F, g, i):
    from_utils = nn.utils.stateless.functional_call
    net = nn.Linear(2, 1)
    before = net.weight
    weights = {"weight": g(1, 2), "bias": g(1)}
    seen = [from_utils(net, weights, g(3, 2)), net.weight is before]
    for bad in ({"weight": g(1, 2)}, {"weight": g(1, 2), "bias": g(1), "x": g(1)}):
        try:
            seen.append(from_utils(net, bad, (g(3, 2),), strict=True))
        except RuntimeError as error:
            seen.append(str(error))
    return seen


@program
def fused_batch_norm(torch, nn, F, g, i):
    conv, linear, bn = nn.Conv1d(2, 3, 2), nn.Linear(2, 3), nn.BatchNorm1d(3)
    with torch.no_grad():
        for net in (conv, linear, bn):
            for tensor in (*net.parameters(), *list(net.buffers())[:2]):
                tensor.copy_(g(*tensor.shape).abs() + 0.2)
    for net in (conv, linear, bn):
        net.eval()
    fused = nn.utils.fuse_conv_bn_eval(conv, bn)
    flat = nn.utils.fuse_linear_bn_eval(linear, bn)
    return [fused.weight, fused.bias, flat.weight, flat.bias, type(fused).__name__]


@program
def old_weight_norm(torch, nn, F, g, i):
    net = nn.Linear(2, 3)
    with torch.no_grad():
        net.weight.copy_(g(3, 2))
        net.bias.zero_()
    nn.utils.weight_norm(net)
    first = [list(net.state_dict()), net(g(1, 2)), net.weight_g]
    nn.utils.remove_weight_norm(net)
    return [first, list(net.state_dict()), net.weight]


@program
def sync_batch_norm(torch, nn, F, g, i):
    net = nn.SyncBatchNorm.convert_sync_batchnorm(_net(nn))
    return [repr(net), list(net.state_dict())]


@program
def ordering_of_parameters_by_seed(torch, nn, F, g, i):
    torch.manual_seed(0)
    net = nn.Transformer(4, 2, 1, 1, 4)
    return [[name, p.reshape(-1)[:2]] for name, p in net.named_parameters()]


@program
def compile_and_share(torch, nn, F, g, i):
    net = nn.Linear(2, 1)
    return [net.share_memory() is net]


@program
def trained_digits(torch, nn, F, g, i):
    torch.manual_seed(1)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(36, 5),
    )  # fmt: skip
    losses = []
    for _ in range(5):
        loss = nn.CrossEntropyLoss()(net(g(4, 1, 6, 6)), i(5, 4))
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for param in net.parameters():
                param -= 0.1 * param.grad
        losses.append(loss.item())
    return losses


@program
def parametrized(torch, nn, F, g, i):
    import copy

    parametrize = nn.utils.parametrize

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    net = nn.Linear(2, 2)
    original = net.weight
    with torch.no_grad():
        net.weight.copy_(g(2, 2))
        net.bias.zero_()
    parametrize.register_parametrization(net, "weight", Symmetric())
    first = [net.weight, repr(net), list(net.state_dict()), type(net).__name__]
    parametrize.register_parametrization(net, "weight", Doubled())
    net.weight = torch.eye(2)
    second = [net.weight, net.parametrizations.weight.original, net(g(1, 2))]
    with parametrize.cached():
        same = net.weight is net.weight
    twin = copy.deepcopy(net)
    net(g(3, 2)).sum().backward()
    kept = net.parametrizations.weight.original is original
    flags = [
        same, net.weight is net.weight, parametrize.is_parametrized(net),
        parametrize.is_parametrized(net, "bias"), twin.weight,
        parametrize.type_before_parametrizations(net).__name__, original.grad,
    ]  # fmt: skip
    parametrize.remove_parametrizations(net, "weight")
    return [first, second, kept, flags, net.weight, list(net.state_dict()), type(net).__name__]


@program
def parametrization_refusals(torch, nn, F, g, i):
    import pickle

    parametrize = nn.utils.parametrize

    class Grown(nn.Module):
        def forward(self, x):
            return torch.cat([x, x])

    class Double(nn.Module):
        def forward(self, x):
            return x.double()

    class Broken(nn.Module):
        def forward(self, x):
            return 3

    seen = []
    for act in (
        lambda: parametrize.register_parametrization(nn.Linear(2, 2), "weight", Grown()),
        lambda: parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double()),
        lambda: parametrize.register_parametrization(nn.Linear(2, 2), "weight", Broken()),
        lambda: parametrize.register_parametrization(nn.ReLU(), "weight", Broken()),
        lambda: parametrize.remove_parametrizations(nn.ReLU(), "weight"),
        lambda: pickle.dumps(
            parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Identity())
        ),
        lambda: setattr(
            parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.ReLU()),
            "weight",
            g(2, 2),
        ),
    ):
        try:
            act()
            seen.append("accepted")
        except Exception as error:
            seen.append([type(error).__name__, str(error)])
    return seen


@program
def normalized_weights(torch, nn, F, g, i):
    norms = nn.utils.parametrizations
    seen = []
    for wrap in (
        norms.weight_norm,
        lambda m: norms.weight_norm(m, dim=None),
        norms.spectral_norm,
        nn.utils.spectral_norm,
    ):
        torch.manual_seed(9)
        net = nn.Linear(3, 2)
        with torch.no_grad():
            net.weight.copy_(g(2, 3))
            net.bias.zero_()
        wrap(net)
        output = net(g(2, 3))
        output.sum().backward()
        seen.append([
            list(net.state_dict()), output, [p.grad for p in net.parameters()],
            net.eval()(g(2, 3)),
        ])  # fmt: skip
    return seen


@program
def spectral_norm_removed(torch, nn, F, g, i):
    torch.manual_seed(9)
    net = nn.utils.spectral_norm(nn.ConvTranspose2d(2, 3, 2), n_power_iterations=3)
    net(g(1, 2, 3, 3))
    nn.utils.remove_spectral_norm(net)
    return [list(net.state_dict()), net.weight]


@program
def pruned(torch, nn, F, g, i):
    prune = importlib.import_module(nn.__name__ + ".utils.prune")

    def layer():
        net = nn.Linear(3, 4)
        with torch.no_grad():
            net.weight.copy_(g(4, 3))
            net.bias.copy_(g(4))
        return net

    seen = []
    torch.manual_seed(10)
    for act in (
        lambda net: prune.l1_unstructured(net, "weight", 0.4),
        lambda net: prune.l1_unstructured(net, "weight", 3, importance_scores=g(4, 3).cos()),
        lambda net: prune.random_unstructured(net, "weight", 5),
        lambda net: prune.ln_structured(net, "weight", 0.5, 2, 0),
        lambda net: prune.random_structured(net, "weight", 1, 1),
        lambda net: prune.identity(net, "bias"),
        lambda net: prune.custom_from_mask(net, "bias", torch.tensor([0, 1, 0, 1])),
        lambda net: prune.l1_unstructured(prune.ln_structured(net, "weight", 1, 1, 0), "weight", 2),
        lambda net: prune.global_unstructured(
            [(net, "weight"), (net, "bias")], prune.L1Unstructured, amount=6
        ),
    ):
        net = layer()
        act(net)
        before = prune.is_pruned(net)
        seen.append([net.state_dict(), net(g(1, 3)), before])
    for name in ("weight", "bias"):
        prune.remove(net, name)
    return [seen, net.state_dict(), prune.is_pruned(net)]


@program
def pruning_refusals(torch, nn, F, g, i):
    prune = importlib.import_module(nn.__name__ + ".utils.prune")
    seen = []
    for act in (
        lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", "a"),
        lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", 1.5),
        lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", 7),
        lambda: prune.ln_structured(nn.Linear(2, 2), "bias", 1, 2, 0),
        lambda: prune.ln_structured(nn.Linear(2, 2), "weight", 1, 2, 3),
        lambda: prune.remove(nn.Linear(2, 2), "weight"),
        lambda: prune.custom_from_mask(nn.Linear(2, 2), "weight", torch.ones(3)),
        lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", 1, importance_scores=g(3)),
        lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
    ):
        try:
            act()
            seen.append("accepted")
        except Exception as error:
            seen.append([type(error).__name__, str(error)])
    return seen


@program
def memory_format_of_weights(torch, nn, F, g, i):
    net = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Linear(2, 2))
    nn.utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
    return [net[0].weight.stride(), net[1].weight.stride()]


@program
def padded_encoder_in_evaluation(torch, nn, F, g, i):
    # PyTorch warns that its nested tensors are a prototype; there are none here.
    warnings.simplefilter("ignore")
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    seen = []
    for norm in (None, nn.LayerNorm(4)):
        net = nn.TransformerEncoder(layer, 2, norm)
        with torch.no_grad():
            for param in net.parameters():
                param.copy_(g(*param.shape) * 0.5)
        after = torch.tensor([[False, False, True], [False, False, False]])
        before = after.flip(1)
        for hide in (after, before):
            seen.append(net.train()(g(2, 3, 4), src_key_padding_mask=hide))
            seen.append(net.eval()(g(2, 3, 4), src_key_padding_mask=hide))
            with torch.no_grad():
                seen.append(net(g(2, 3, 4), src_key_padding_mask=hide))
    return seen


@program
def parallel_wrappers(torch, nn, F, g, i):
    net = nn.DataParallel(nn.Identity())
    seen = [net(g(2)), list(nn.DataParallel(nn.Linear(1, 1)).state_dict()), repr(net)]
    try:
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    except ValueError as error:
        seen.append(str(error))
    return [*seen, isinstance(net, nn.parallel.DistributedDataParallel)]


@program
def flexible_attention(torch, nn, F, g, i):
    warnings.simplefilter("ignore")
    flex = importlib.import_module(nn.__name__ + ".attention.flex_attention")

    def causal(b, h, q, kv):
        return q >= kv

    def near(b, h, q, kv):
        return q - kv < 2

    def bias(score, b, h, q, kv):
        return score + (q - kv) * 0.1 - h

    blocks = flex.create_block_mask(causal, 1, 1, 6, 5, device="cpu", BLOCK_SIZE=2)
    window = flex.create_block_mask(
        flex.and_masks(causal, near), None, None, 6, 5, device="cpu", BLOCK_SIZE=4
    )
    q, k, v = g(2, 2, 6, 4), g(2, 2, 5, 4).cos(), g(2, 2, 5, 3) * 0.5
    return [
        blocks.shape, blocks.sparsity(), blocks.to_dense(), blocks.kv_num_blocks,
        blocks.kv_indices, blocks.full_kv_num_blocks, blocks.full_kv_indices,
        blocks.q_num_blocks, blocks.q_indices, blocks.BLOCK_SIZE, blocks.numel(),
        flex.create_mask(flex.or_masks(causal, near), 1, 1, 3, 4, device="cpu"),
        flex.flex_attention(q, k, v),
        flex.flex_attention(q, k, v, bias, blocks),
        flex.flex_attention(q, k, v, block_mask=window, scale=0.3),
        flex.flex_attention(q, k[:, :1], v[:, :1], enable_gqa=True, return_lse=True),
    ]  # fmt: skip


@program
def functions_of_modules(torch, nn, F, g, i):
    func = importlib.import_module(torch.__name__ + ".func")
    net = nn.Linear(2, 1)
    tied = nn.Sequential(net, nn.Linear(1, 2), net)
    models = [nn.BatchNorm1d(2), nn.BatchNorm1d(2)]
    params, buffers = func.stack_module_state(models)
    seen = [
        func.functional_call(net, {"weight": g(1, 2), "bias": g(1)}, g(3, 2)),
        func.functional_call(net, ({"weight": g(1, 2)}, {"bias": g(1)}), (), {"input": g(3, 2)}),
        func.functional_call(
            tied,
            {"0.weight": g(1, 2), "0.bias": g(1), "1.weight": g(2, 1), "1.bias": g(2)},
            g(3, 2),
        ),
        params, buffers, params["weight"].requires_grad,
    ]  # fmt: skip
    for act in (
        lambda: func.functional_call(net, ({"weight": g(1, 2)}, {"weight": g(1, 2)}), g(3, 2)),
        lambda: func.functional_call(net, ({"weight": g(1, 2)}, 3), g(3, 2)),
        lambda: func.functional_call(net, 3, g(3, 2)),
        lambda: func.functional_call(tied, {"0.bias": g(1), "2.bias": g(1)}, g(3, 2)),
        lambda: func.functional_call(net, {}, g(3, 2), tie_weights=3),
        lambda: func.stack_module_state([]),
        lambda: func.stack_module_state([net, models[0]]),
        lambda: func.stack_module_state([nn.ReLU(), nn.ReLU().eval()]),
    ):
        try:
            act()
            seen.append("accepted")
        except Exception as error:
            seen.append([type(error).__name__, str(error)])
    return seen


@program
def orthogonal_weights(torch, nn, F, g, i):
    norms = nn.utils.parametrizations
    seen = []
    for shape, options in (
        ((3, 3), {}),
        ((4, 2), {}),
        ((2, 4), {"orthogonal_map": "cayley"}),
        ((4, 3), {"orthogonal_map": "householder", "use_trivialization": False}),
        ((3, 3), {"orthogonal_map": "matrix_exp", "use_trivialization": False}),
    ):
        net = nn.Linear(shape[1], shape[0])
        with torch.no_grad():
            net.weight.copy_(g(*shape) + torch.eye(*shape))
        torch.manual_seed(12)
        norms.orthogonal(net, **options)
        with torch.no_grad():
            net.parametrizations.weight.original.add_(g(*shape) * 0.1)
        seen.append([net.weight, list(net.state_dict())])
    for bad in (
        lambda: norms.orthogonal(nn.Linear(2, 2), "bias"),
        lambda: norms.orthogonal(nn.Linear(2, 2), "gain"),
        lambda: norms.orthogonal(nn.Linear(2, 2), orthogonal_map="qr"),
    ):
        try:
            bad()
        except ValueError as error:
            seen.append(str(error))
    return seen
