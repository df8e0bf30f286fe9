"""Ops that other ops and their gradients are made of, called as torch.ops.aten.NAME."""

from .spec import FLOATS, WIDE, WIDE_COMPLEX, Family, call, const, fail, i, t

row = Family(__name__, dtypes=FLOATS)
A, B, C = t(2, 3, 4), t(3, 4), t(3, 4)
UNIT = t(3, 4, low=0, high=1)
MEAN, SUM, NONE = 1, 2, 0


def aten(name, *calls, fails=(), **options):
    # PyTorch checks out= in the elementwise ones only.
    outs = True if name in ELEMENTWISE else None
    row(f"aten.{name}", list(calls), list(fails), **{"outs": outs, **options})


ELEMENTWISE = {
    f"{name}_backward"
    for name in "threshold hardtanh elu gelu hardshrink softshrink softplus sigmoid tanh".split()
}


# Gradients of activations: (grad_output, self, ...).
pair = (B, C)
aten("threshold_backward", call(*pair, 0.5), call(t(), t(), 0))
aten("hardtanh_backward", call(*pair, -1.0, 1.5), fails=[fail(B, t(2, 4), 0, 1)])
aten(
    "elu_backward",
    call(B, 1.0, 1.0, 1.0, False, C),
    call(B, 1.5, 1.1, 0.5, True, C),
)
aten("gelu_backward", call(*pair), call(*pair, approximate="tanh"))
for name in ("silu", "mish", "hardsigmoid", "hardswish"):
    aten(f"{name}_backward", call(*pair), call(t(), t()), call(t(0, 2), t(0, 2)),
         grad=name == "hardswish")  # fmt: skip
aten("hardshrink_backward", call(*pair, 0.5))
aten("softshrink_backward", call(*pair, 0.5))
aten("softplus_backward", call(*pair, 1.0, 20.0), call(*pair, 2.0, 1.0))
aten("sigmoid_backward", call(B, UNIT), dtypes=WIDE_COMPLEX)
aten("tanh_backward", call(B, UNIT), dtypes=WIDE_COMPLEX)
aten("logit_backward", call(B, UNIT), call(B, UNIT, 0.2))
aten("_prelu_kernel", call(B, t(1, 4)), call(t(3), t(1)), gradcheck=True)
aten("_softmax", call(A, 1, False), call(B, -1, False), fails=[fail(B, 2, False)], dtypes=WIDE)
aten("_log_softmax", call(A, 1, False), call(B, -1, False), dtypes=WIDE)
aten("_safe_softmax", call(A, 1), call(B, -1), fails=[fail(B, 2)], dtypes=WIDE)
for name in ("_softmax_backward_data", "_log_softmax_backward_data"):
    aten(name, call(A, t(2, 3, 4), 1, const()), call(B, C, -1, const()), dtypes=WIDE)

# Gradients of views: (grad_output, sizes, ...).
aten("select_backward", call(t(2, 4), (2, 3, 4), 1, -1), call(t(), (3,), 0, 1))
aten("slice_backward", call(t(3, 2), (3, 5), 1, 1, 5, 2), call(t(0, 5), (3, 5), 0, 3, 3, 1))
aten("diagonal_backward", call(t(3), (3, 4), 0, 0, 1), call(t(2, 2), (2, 3, 4), 2, 1, 2))
aten("unfold_backward", call(t(3, 2), (4,), 0, 2, 1), call(t(2, 2, 3), (2, 6), 1, 3, 2))
aten("_unsafe_view", call(B, (2, 6)), call(B, (-1,)), layouts=False, fails=[fail(B, (5,))])
aten("slice", call(A), call(A, 1, 1), call(A, 2, -3, None, 2), call(A, 0, 5, 9), fails=[
    fail(A, 3), fail(t()), fail(A, 0, 0, 2, 0), fail(A, 0, 0, 2, -1)])  # fmt: skip
aten("alias", call(A), call(t()))
aten("split", call(A, 2, 1), call(t(5), 2), fails=[fail(A, -1), fail(t(), 1)])
aten("_conj", call(B), dtypes=("complex64", "complex128"))
aten("_neg_view", call(B), dtypes=("float32", "complex64", "int64"))

# Losses, indices, embeddings.
LOGITS, CLASSES = t(3, 4), i(3, bound=4)
aten(
    "nll_loss_forward",
    *[call(LOGITS, CLASSES, None, r, -100) for r in (MEAN, SUM)],
    call(LOGITS, CLASSES, t(4, low=0, grad=False), MEAN, 2),
    fails=[fail(LOGITS, i(2, bound=4), None, MEAN, -100), fail(LOGITS, t(3), None, MEAN, -100)],
)
AREAS, PLACES = t(2, 3, 2, 2), i(2, 2, 2, bound=3)
aten(
    "nll_loss2d_forward",
    *[call(AREAS, PLACES, None, r, -100) for r in (MEAN, SUM)],
    call(AREAS, PLACES, t(3, low=0, grad=False), MEAN, 1),
    fails=[fail(AREAS, CLASSES, None, MEAN, -100)],
)
aten(
    "nll_loss2d_backward",
    call(t(grad=False), AREAS, PLACES, None, SUM, -100, t(grad=False)),
    call(t(2, 2, 2), AREAS, PLACES, None, NONE, -100, t(grad=False)),
    layouts=False,
)
for name in ("nll_loss2d", "nll_loss_nd"):
    aten(name, call(AREAS, PLACES, None, MEAN), call(AREAS, PLACES, None, SUM, 1))
aten(
    "cross_entropy_loss",
    call(LOGITS, CLASSES, None, MEAN),
    call(LOGITS, CLASSES, t(4, low=0, grad=False), SUM),
    call(LOGITS, CLASSES, None, NONE, 1, 0.1),
    call(AREAS, PLACES, None, MEAN),
)
aten("kl_div", call(B, UNIT, MEAN), call(B, C, SUM, log_target=True), dtypes=WIDE)
aten("margin_ranking_loss", call(t(3), t(3), t(values=[1, -1, 1], grad=False), 0.5, SUM))
aten("poisson_nll_loss", call(B, UNIT, True, False, 1e-8, MEAN))
aten("triplet_margin_loss", call(A, t(2, 3, 4), t(2, 3, 4), 2.0, 2, 1e-6, False, MEAN))
TARGETS = i(2, 2, bound=3, low=1)
SPEECH = t(5, 2, 3, low=-2, high=0)
TENSORS = call(SPEECH, TARGETS, t(values=[5, 4], dtype="int64"), t(values=[2, 1], dtype="int64"))
# PyTorch leaves log_alpha unwritten where a sequence ends early, and misreads strided targets.
for name, LENGTHS in (("ctc_loss", ((5, 4), (2, 1))), ("_ctc_loss", ((5, 5), (2, 2)))):
    aten(
        name,
        call(SPEECH, TARGETS, *LENGTHS),
        call(SPEECH, t(values=[1, 2, 1, 2][: sum(LENGTHS[1])], dtype="int64"), *LENGTHS, 0),
        call(SPEECH, t(2, 2, values=[0, 1, 1, 0], dtype="int64"), *LENGTHS, 2),
        *([TENSORS] if name == "ctc_loss" else []),
        fails=[
            fail(SPEECH, TARGETS, *LENGTHS, 3),
            fail(SPEECH, TARGETS, (5,), (2, 1)),
            fail(SPEECH, TARGETS, (5, 6), (2, 1)),
            fail(SPEECH, TARGETS, (5, -1), (2, 1)),
            fail(SPEECH, TARGETS, (5, 5), (2, 3)),
            fail(t(5, 3) if name == "_ctc_loss" else t(3), TARGETS, *LENGTHS),
        ],
        dtypes=WIDE,
        gradcheck=False,
        layouts=False,
        rtol={"float32": 1e-5},
    )
aten("multi_margin_loss_backward", call(t(), LOGITS, CLASSES, 1, 1.0, None, MEAN),
     call(t(3), LOGITS, CLASSES, 2, 0.5, t(4, low=0, grad=False), NONE), dtypes=WIDE,
     gradcheck=False, meta=False)  # fmt: skip
LABELS = t(3, 4, values=[0, 2, -1, 1, 3, -1, 0, 0, -1, 0, 0, 0], dtype="int64")
aten("multilabel_margin_loss_forward", call(LOGITS, LABELS, MEAN), call(LOGITS, LABELS, NONE),
     fails=[fail(LOGITS, CLASSES, MEAN)], dtypes=WIDE)  # fmt: skip
MARKS = t(3, 4, values=[1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0], grad=False)
aten("multilabel_margin_loss_backward", call(t(), LOGITS, LABELS, MEAN, MARKS),
     call(t(3), LOGITS, LABELS, NONE, MARKS), dtypes=WIDE, gradcheck=False,
     meta=False)  # fmt: skip
aten("index", call(A, [i(2, bound=2)]), call(A, [None, i(2, bound=3)]),
     fails=[fail(A, [t(values=[0, 9], dtype="int64")]),
            fail(t(2), [i(2, bound=2), i(2, bound=2)])])  # fmt: skip
aten("_index_put_impl_", call(B, [i(2, bound=3)], t(2, 4), True), grad=False)
aten("embedding_dense_backward", call(t(2, 3), i(2, bound=4), 4, -1, False))

# Pooling, padding, norms, products.
IMAGE = t(1, 2, 4, 5, distinct=True)
aten("max_pool2d_with_indices", call(IMAGE, (2, 2)), call(IMAGE, (3, 2), (1, 2), (1, 0)))
aten("max_pool3d_with_indices", call(t(1, 2, 3, 4, 4, distinct=True), (2, 2, 2)))
aten("max_pool1d_with_indices", call(t(2, 3, 6, distinct=True), (2,)))
aten("_adaptive_avg_pool2d", call(IMAGE, (2, 3)), call(t(2, 4, 4), (1, 1)))
aten("_adaptive_avg_pool3d", call(t(1, 2, 3, 4, 4), (2, 2, 3)), dtypes=WIDE)
aten("adaptive_max_pool1d", call(t(2, 3, 6, distinct=True), (4,)))
for n, shape in ((1, (2, 3, 5)), (2, (1, 2, 4, 5)), (3, (1, 2, 3, 4, 3))):
    for kind in ("reflection", "replication"):
        aten(f"{kind}_pad{n}d", call(t(*shape), (1, 2) + (1, 0) * (n - 1)))
aten(
    "instance_norm",
    call(IMAGE, t(2), t(2), None, None, True, 0.1, 1e-5, False),
    call(IMAGE, None, None, t(2, grad=False), t(2, low=0, grad=False), False, 0.1, 1e-5, False),
    dtypes=WIDE,
)
aten("linalg_vector_norm", call(B), call(B, 1, (0,), True), call(B, 3, (0, 1)), dtypes=WIDE_COMPLEX)
aten("linalg_matrix_norm", call(B, 1), call(A, "fro", (0, 2), True), dtypes=WIDE)
aten("linalg_norm", call(B), call(B, 2, (1,)), call(B, "fro", (0, 1)), dtypes=WIDE)
for name in ("special_softmax", "special_log_softmax"):
    aten(name, call(B, 1), dtypes=WIDE)
aten("special_logsumexp", call(B, (1,)), call(A, (0, 2), True), dtypes=WIDE)

# Distances, and their gradients from the distances.
FIRST, SECOND, FAR = t(3, 4), t(2, 4), t(3, 2, low=1, high=4, grad=False)
aten("cdist", call(FIRST, SECOND), call(A, t(2, 5, 4), 1.0), call(t(30, 2), t(3, 2), 2.0),
     call(FIRST, SECOND, 2.0, 1), fails=[fail(FIRST, SECOND, 2.0, 3)], dtypes=WIDE,
     gradcheck=False, atol={"float32": 1e-5})  # fmt: skip
aten("_cdist_forward", *[call(FIRST, SECOND, p, None) for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)],
     dtypes=WIDE, gradcheck=False)  # fmt: skip
aten("_cdist_backward", *[call(t(3, 2), FIRST, SECOND, p, FAR) for p in (0.0, 1.0, 1.5, 2.0, 3.0)],
     dtypes=WIDE, gradcheck=False)  # fmt: skip
aten("_euclidean_dist", call(FIRST, SECOND), call(A, t(2, 5, 4)), dtypes=WIDE,
     atol={"float32": 1e-5})  # fmt: skip
aten("_pdist_forward", *[call(FIRST, p) for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)], dtypes=WIDE,
     gradcheck=False)  # fmt: skip
aten("_pdist_backward",
     *[call(t(3), FIRST, p, t(3, low=1, high=4, grad=False)) for p in (0.0, 1.0, 1.5, 2.0, 3.0)],
     dtypes=WIDE, gradcheck=False)  # fmt: skip

# Changes in place that are ops of their own.
row("Tensor.fill_", [call(B, 2), call(B, t(grad=False)), call(t(0), 1)], [fail(B, C), fail(B, "a")])
row("Tensor.square_", [call(t(3, 4, grad=False))], [fail()], grad=False)
row("Tensor.float_power_", [call(t(3, 4, low=0), 2), call(t(3, 4, low=0), t(3, 4))],
    [fail(B, "a")], dtypes=("float64", "complex128"), grad=False)  # fmt: skip

# Randomness: the same draws from the same seed.
for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
    if name != "dropout":
        aten(name, call(A, 0.5, True), call(A, 0.5, False), fails=[fail(A, 1.5, True)],
             dtypes=WIDE, seed=3, gradcheck=False)  # fmt: skip
    aten(f"{name}_", call(A, 0.5, True), fails=[fail(A, 1.5, True)], dtypes=WIDE, seed=3,
         grad=False)  # fmt: skip
PLAIN = t(3, 4, grad=False)
aten("rrelu_", call(PLAIN, 0.1, 0.3, True), call(PLAIN), fails=[fail(PLAIN, 0.5, 0.1)],
     dtypes=WIDE, seed=3, grad=False)  # fmt: skip
for name in ("rrelu_with_noise", "rrelu_with_noise_"):
    aten(name, call(PLAIN, t(3, 4, grad=False), 0.1, 0.3, True), call(PLAIN, t(3, 4, grad=False)),
         fails=[fail(PLAIN, t(3, 3, grad=False), 0.1, 0.3, True)], dtypes=WIDE, seed=3,
         grad=False)  # fmt: skip
aten("rrelu_with_noise_backward", call(B, C, t(3, 4, grad=False), 0.1, 0.3, True, False),
     call(B, C, t(3, 4, grad=False), 0.1, 0.3, False, False), dtypes=WIDE)  # fmt: skip
aten("_standard_gamma", call(t(3, 4, low=0.5)), dtypes=WIDE, seed=5, gradcheck=False,
     apart={"gradients *": "approximates to three digits"})  # fmt: skip
POSITIVE, INSIDE = t(3, 4, low=0.5), t(3, 4, low=0.05, high=0.95)
aten("_standard_gamma_grad", call(POSITIVE, POSITIVE), dtypes=WIDE, grad=False, meta=False,
     rtol={"float32": 5e-3, "float64": 5e-3})  # fmt: skip
aten("_dirichlet_grad", call(INSIDE, t(3, 4, low=0.5), t(3, 4, low=5, high=9)), dtypes=WIDE,
     grad=False, meta=False, rtol={"float32": 5e-3, "float64": 5e-3})  # fmt: skip

# Recurrent layers.
SEQUENCE, STATE = t(3, 2, 4), t(1, 2, 5)
TAIL = (True, 1, 0.0, False, False)
PACKED, SIZES = t(5, 4), t(values=[2, 2, 1], dtype="int64")


def weights(gates):
    return [t(5 * gates, 4), t(5 * gates, 5), t(5 * gates), t(5 * gates)]


for name, gates in (("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
    aten(name, call(SEQUENCE, STATE, weights(gates), *TAIL, False),
         call(t(2, 3, 4), STATE, weights(gates), *TAIL, True),
         call(PACKED, SIZES, STATE, weights(gates), *TAIL), dtypes=WIDE, gradcheck=False,
         layouts=False, meta=False)  # fmt: skip
    aten(f"{name}_cell", call(t(2, 4), t(2, 5), *weights(gates)),
         call(t(2, 4), t(2, 5), *weights(gates)[:2]), dtypes=WIDE, layouts=False)  # fmt: skip
aten("lstm", call(SEQUENCE, [STATE, t(1, 2, 5)], weights(4), *TAIL, False),
     call(PACKED, SIZES, [STATE, t(1, 2, 5)], weights(4), *TAIL), dtypes=WIDE,
     gradcheck=False, layouts=False, meta=False,
     apart={"gradients float32/0": "other words: the node names a vendor's library"})  # fmt: skip
aten("lstm_cell", call(t(2, 4), [t(2, 5), t(2, 5)], *weights(4)), dtypes=WIDE, layouts=False,
     apart={"gradients *": "other words: two nodes, where one op makes both states"})  # fmt: skip

for name in ("lshift", "rshift"):
    row(f"Tensor.__r{name}__", [call(i(3, low=1, bound=4), 9)], [], dtypes=("int64",))
aten("_sample_dirichlet", call(t(3, 4, low=0.5)), dtypes=WIDE, seed=5, grad=False, meta=False)

# Ops of our own: the row, or the file of tests, that runs each.
RUN_BY = {
    name: home
    for home, names in {
        "nn.functional.logsigmoid": "log_sigmoid log_sigmoid_backward",
        "nn.functional.interpolate": "upsample_nearest1d upsample_nearest2d upsample_nearest3d "
        "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d "
        "upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d "
        "_upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa",
        "nn.functional.grid_sample": "grid_sampler grid_sampler_2d grid_sampler_3d "
        "_grid_sampler_backward_backward",
        "nn.functional.affine_grid": "affine_grid_generator",
        "nn.functional.unfold": "im2col",
        "nn.functional.fold": "col2im",
        "nn.functional.max_unpool2d": "max_unpool2d max_unpool3d",
        "nn/test_programs.py": "fractional_max_pool2d fractional_max_pool3d",
        "nn/test_layers.py": "channel_shuffle native_channel_shuffle",
        "nn.functional.leaky_relu": "leaky_relu_backward",
        "nn.functional.prelu": "_prelu_backward_input _prelu_backward_weight",
        "Tensor.__rtruediv__": "_rdiv",
        "Tensor.__rfloordiv__": "_rfloordiv",
        "Tensor.__rmod__": "_rmod",
        "Tensor.__rpow__": "_rpow",
        "Tensor.__rlshift__": "_rlshift",
        "Tensor.__rrshift__": "_rrshift",
        "Tensor.__invert__": "_invert",
        "trapezoid": "mul div",
        "nonzero": "nonzero_numpy",
        "block_diag": "block_diag",
        "Tensor.to": "_to_copy",
        "resolve_conj": "_resolve_bits",
        "unique": "_unique2 unique_dim",
        "unique_consecutive": "unique_consecutive",
        "cumprod": "_recurrence",
        "amax": "_equal_shares",
        "matmul": "_stacked_matmul",
        "nn.functional.dropout": "_dropout_noise",
        "nn.functional.scaled_dot_product_attention": "_attention _attention_backward",
        "linalg.det": "_linalg_det",
        "linalg.eigh": "_linalg_eigh",
        "linalg.eigvals": "_linalg_eigvals",
        "linalg.slogdet": "_linalg_slogdet",
        "linalg.solve": "_linalg_solve_ex",
        "linalg.svd": "_linalg_svd",
        "linalg.lu": "_lu_with_info",
        "chain_matmul": "chain_matmul",
        "reshape": "_reshape_alias",
        "nn.functional.batch_norm": "_batch_norm_backward",
        "nn.functional.group_norm": "_group_norm_backward",
        "nn.functional.layer_norm": "_layer_norm_backward",
        "nn.functional.rms_norm": "_rms_norm_backward _fused_rms_norm",
        "nn.functional.conv2d": "_convolution_backward",
        "nn.functional.embedding_bag": "embedding_bag _embedding_bag _embedding_bag_dense_backward "
        "_embedding_bag_per_sample_weights_backward",
        "nn.functional.linear": "_linear_backward _linear_addmm _linear_mm _linear_view "
        "_linear_unsafe_view _linear_squeeze",
        "nn.functional.cross_entropy": "_cross_entropy_backward _cross_entropy_rows "
        "_cross_entropy_areas _div_number",
        "nn.functional.pairwise_distance": "norm",
        "nn.functional.mse_loss": "_mse_elements _mse_loss_backward",
        "nn.functional.smooth_l1_loss": "_smooth_l1_loss_elements _smooth_l1_loss_backward",
        "nn.functional.huber_loss": "_huber_loss_elements _huber_loss_backward",
        "nn.functional.binary_cross_entropy": "_bce_elements _bce_backward",
        "nn.functional.binary_cross_entropy_with_logits": "_bce_with_logits_elements "
        "_bce_with_logits_backward",
        "nn.functional.kl_div": "_kl_elements",
        "nn.functional.max_pool2d": "_pool_gather _max_pool_backward",
        "nn.functional.avg_pool2d": "_avg_pool_backward",
        "nn.functional.adaptive_avg_pool2d": "_adaptive_avg_pool_backward",
        "aten.lstm": "_lstm_layer _lstm_layer_backward",
        "aten.lstm_cell": "_lstm_gates _lstm_gates_backward",
        "aten.gru_cell": "_gru_gates _gru_gates_backward",
        "nn/programs.py": "_total_norm _scale_list_",
        "optim": "_sgd_step _adam_step _nadam_step _radam_step _adamax_step _adagrad_step "
        "_adadelta_step _rmsprop_step",
    }.items()
    for name in names.split()
}
