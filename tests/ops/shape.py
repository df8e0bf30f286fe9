"""Views and moves: reshape, permute, slice, join, repeat, pad."""

from .spec import Family, call, const, fail, i, m, t

row = Family(__name__, exact=True)
A, B = t(2, 3, 4), t(3, 4)

row(
    "reshape",
    [
        call(A, (6, 4)),
        call(A, (-1,)),
        call(t(0, 3), (3, 0)),
        call(t(), (1, 1)),
        call(A, (2, -1, 2)),
    ],
    [fail(A, (5, 5)), fail(A, (-1, -1)), fail(A, (7, -1)), fail(t(0), (-1, 0))],
)
row("Tensor.reshape", [call(A, 6, 4), call(A, -1), call(A, (2, 12))], [fail(A, 5, 5)])
row(
    "Tensor.view",
    [
        call(A, 6, 4),
        call(A, -1),
        call(A, (2, 12)),
        call(t(0, 3), 3, 0),
        call(t(2, 4, dtype="float32"), const("int32")),
        call(t(2, 4, dtype="float32"), const("int16")),
        call(t(2, 4, dtype="int16"), const("int64")),
        call(A, 2, 3, 2, 2),
    ],
    [
        fail(A, 5, 5),
        fail(t(3, 4, layout="transposed"), 12),
        fail(A, -1, -1),
        fail(t(3, dtype="int16"), const("int64")),
    ],
)
row("Tensor.view_as", [call(A, t(6, 4)), call(t(3), t(3, 1))], [fail(A, t(5))])
row("Tensor.reshape_as", [call(A, t(6, 4))], [fail(A, t(5))])
row(
    "transpose",
    [call(A, 0, 1), call(A, -1, 0), call(t(), 0, 0), call(B, 1, 1)],
    [fail(A, 3, 0), fail(A, 0), fail(A, 0, -4)],
    alias=["swapaxes", "swapdims"],
)
row("t", [call(B), call(t(3)), call(t())], [fail(A)])
row("Tensor.T", [call(B), call(t(3))], [])
row("Tensor.mT", [call(A), call(B)], [fail(t(3))])
row("Tensor.H", [call(B)], [fail(t(3))])
row("Tensor.mH", [call(A)], [fail(t(3))])
row("adjoint", [call(A), call(B)], [fail(t(3))])
row(
    "permute",
    [call(A, (2, 0, 1)), call(A, (-1, 0, 1)), call(t(), ())],
    [fail(A, (0, 1)), fail(A, (0, 0, 1)), fail(A, (0, 1, 3))],
)
row("Tensor.permute", [call(A, 2, 0, 1), call(A, (2, 1, 0))], [fail(A, 0, 1)])
row(
    "movedim",
    [call(A, 0, 2), call(A, (0, 1), (1, 2)), call(A, -1, 0)],
    [fail(A, (0, 1), (0,)), fail(A, 4, 0), fail(A, (0, 0), (1, 2))],
    alias=["moveaxis"],
)
row(
    "Tensor.expand",
    [
        call(t(3, 1), 3, 4),
        call(t(3, 1), 2, -1, 4),
        call(t(), 2, 3),
        call(t(1), 0),
        call(t(3, 1), (3, 2)),
    ],
    [fail(t(3), 4), fail(t(3, 1), 3), fail(t(3), -1, 3), fail(t(3, 1), -2, 3, 1)],
)
row("Tensor.expand_as", [call(t(3, 1), B)], [fail(t(2), B)])
row("broadcast_to", [call(t(3, 1), (2, 3, 4)), call(t(), (2,))], [fail(t(3), (4,))])
row("broadcast_tensors", [call(t(3, 1), t(4)), call(t(), t(2, 1), t(3))], [fail(t(3), t(4))])
row(
    "broadcast_shapes", [call((3, 1), (4,)), call((2,), 2)], [fail((3,), (4,))], dtypes=("float32",)
)
row(
    "squeeze",
    [
        call(t(1, 3, 1)),
        call(t(1, 3, 1), 0),
        call(t(1, 3, 1), 1),
        call(t(1, 3, 1), (0, 2)),
        call(t()),
        call(t(), 0),
        call(t(2, 1), -1),
    ],
    [fail(t(3), 1), fail(t(3), (0, 2))],
)
row(
    "unsqueeze",
    [call(B, 0), call(B, 1), call(B, -1), call(B, 2), call(t(), 0)],
    [fail(B, 3), fail(B, -4), fail(B)],
)
row(
    "flatten",
    [call(A), call(A, 1), call(A, 0, 1), call(A, start_dim=1, end_dim=-1), call(t())],
    [fail(A, 2, 1), fail(A, 3)],
)
row("ravel", [call(A), call(t())], [])
row(
    "unflatten",
    [call(B, 1, (2, 2)), call(B, -1, (-1, 2)), call(t(0, 4), 0, (0, 2))],
    [fail(B, 1, (3, 2)), fail(B, 2, (1,)), fail(B, 1, ())],
)
row(
    "narrow",
    [call(A, 1, 1, 2), call(A, -1, 0, 0), call(A, 0, -1, 1)],
    [fail(A, 1, 2, 2), fail(A, 3, 0, 1), fail(A, 0, 0, -1), fail(t(), 0, 0, 1)],
)
row(
    "select",
    [call(A, 1, 2), call(A, -1, -1), call(t(3), 0, 1)],
    [fail(A, 1, 3), fail(A, 3, 0), fail(t(), 0, 0)],
)
row(
    "Tensor.unfold",
    [call(A, 2, 2, 1), call(t(7), 0, 3, 2), call(t(), 0, 1, 1), call(A, -1, 0, 1)],
    [fail(t(3), 0, 4, 1), fail(t(3), 0, 2, 0), fail(t(3), 0, -1, 1)],
)
row(
    "diagonal",
    [call(B), call(B, 1), call(B, -1), call(A, 0, 1, 2), call(A, 0, 0, 2), call(B, 5)],
    [fail(t(3)), fail(B, 0, 0, 0), fail(B, 0, 0, 2)],
)
row("diag", [call(t(3)), call(t(3), 1), call(B), call(B, -1)], [fail(A), fail(t())])
row(
    "diag_embed",
    [call(t(2, 3)), call(t(3), 1), call(t(2, 3), 0, 0, 2), call(t(2, 3), -1)],
    [fail(t(3), 0, 0, 0)],
)
row("diagflat", [call(t(3)), call(t(2, 2), 1)], [])
row(
    "split",
    [call(A, 2, 1), call(t(5), 2), call(t(5), (1, 4)), call(A, (1, 2, 1), 2), call(t(0), 3)],
    [fail(t(5), 0), fail(t(5), -1), fail(t(5), (1, 2)), fail(t(5), 1, 1), fail(t(), 1)],
)
row(
    "split_with_sizes",
    [call(t(5), (1, 4)), call(A, (1, 2), 1)],
    [fail(t(5), (1, 2)), fail(t(5), (-1, 6))],
)
row("chunk", [call(t(7), 3), call(A, 2, -1), call(t(2), 5)], [fail(t(3), 0), fail(t(), 1)])
row(
    "tensor_split",
    [call(t(7), 3), call(t(7), (1, 4)), call(A, 2, 1), call(t(3), 5)],
    [fail(t(3), 0), fail(t(), 1)],
)
row("hsplit", [call(t(4), 2), call(B, (1, 2))], [fail(t(3), 2), fail(t(), 1)])
row("vsplit", [call(t(4, 2), 2), call(B, (1,))], [fail(t(3), 2), fail(B, 2)])
row("dsplit", [call(A, 2), call(A, (1,))], [fail(B, 2)])
row("unbind", [call(A), call(A, 1), call(A, -1), call(t(0, 2))], [fail(t()), fail(A, 3)])
row(
    "cat",
    [
        call([B, t(2, 4)]),
        call([B, t(3, 2)], 1),
        call([B, B], dim=-1),
        call([t(0), B]),
        call([t(3), t(2, dtype="float64")]),
        call([t(3)]),
        call((t(0, 4), B)),
        call([t(2, 1, 3), t(2, 2, 3)], 1),
        call([t(2), i(2, bound=5)]),
    ],
    [
        fail([]),
        fail([t(3), t(3, 1)]),
        fail([B, t(2, 3)]),
        fail([t(), t()]),
        fail([B, B], 2),
        fail(t(3)),
        fail([t(3), 2]),
    ],
    alias=["concat", "concatenate"],
)
row(
    "stack",
    [
        call([t(3), t(3)]),
        call([B, B], 1),
        call([B, B], -1),
        call([t(), t()]),
        call([t(0), t(0)]),
        call([t(2), t(2, dtype="float64")]),
    ],
    [fail([]), fail([t(3), t(4)]), fail([t(3), t(3)], 2)],
)
row("hstack", [call([t(2), t(3)]), call([B, B]), call([t(), t()])], [fail([t(2), B])])
row("vstack", [call([t(3), t(3)]), call([B, B])], [fail([t(3), t(4)])], alias=["row_stack"])
row("dstack", [call([t(3), t(3)]), call([B, B])], [fail([t(3), t(4)])])
row("column_stack", [call([t(3), t(3)]), call([t(3), t(3, 2)])], [fail([t(3), t(4)])])
row("block_diag", [call(t(2, 2), t(1, 3)), call(t(3), t())], [fail(A)])
row("atleast_1d", [call(t()), call(t(3)), call(t(), t(2))], [])
row("atleast_2d", [call(t()), call(t(3))], [])
row("atleast_3d", [call(t()), call(t(3)), call(B)], [])
row("cartesian_prod", [call(t(2), t(3)), call(t(3))], [fail(t(2, 2))])
row(
    "combinations",
    [call(t(4)), call(t(4), 3), call(t(3), with_replacement=True)],
    [fail(B), fail(t(3), -1)],
)
row(
    "meshgrid",
    [
        call(t(2), t(3), indexing="ij"),
        call(t(2), t(3), indexing="xy"),
        call([t(2), t()], indexing="ij"),
    ],
    [fail(t(2), t(3), indexing="zz"), fail(B, B, indexing="ij")],
    apart={"errors fail/1": "other words: the message shows a tensor as C++ does"},
)
row(
    "roll",
    [call(t(5), 2), call(A, 1, 1), call(A, (1, -1), (0, 2)), call(A, 5), call(t(0), 1)],
    [fail(A, (1, 2), (0,)), fail(A, 1, 3)],
)
row(
    "flip",
    [call(A, (0,)), call(A, (0, -1)), call(t(3), (0,)), call(A, ())],
    [fail(A, (0, 0)), fail(A, (3,))],
)
row("fliplr", [call(B)], [fail(t(3))])
row("flipud", [call(B)], [fail(t())])
row(
    "rot90",
    [call(B), call(B, 2), call(A, 3, (1, 2)), call(B, -1, (1, 0))],
    [fail(t(3)), fail(B, 1, (0, 0)), fail(B, 1, (0,))],
)
row(
    "Tensor.repeat",
    [call(t(3), 2), call(B, 2, 1), call(t(3), 2, 2), call(t(3), 0), call(t(), 3)],
    [fail(B, 2), fail(t(3), -1)],
)
row("tile", [call(t(3), (2,)), call(B, (2,)), call(B, (1, 2, 1))], [fail(t(3), (-1,))])
row(
    "repeat_interleave",
    [
        call(t(3), 2),
        call(B, 2, 1),
        call(B, i(3, bound=3), 0),
        call(t(2, 2), 2),
        call(B, i(3, bound=3), dim=0),
    ],
    [fail(B, i(2, bound=3), 0), fail(t(3), -1), fail(t(3), t(3, dtype="float32"))],
)
row(
    "nn.functional.pad",
    [
        call(B, (1, 2)),
        call(B, (1, 0, 0, 2), value=1.0),
        call(A, (1, 1), "reflect"),
        call(A, (2, 1), "replicate"),
        call(A, (1, 2), "circular"),
        call(B, (-1, 1)),
        call(t(1, 2, 3, 3), (1, 1, 1, 1), "reflect"),
        call(t(1, 2, 3, 3), (1, 1, 2, 0), "replicate"),
        call(t(1, 2, 3, 3), (1, 1, 1, 1), "circular"),
    ],
    [
        fail(B, (1,)),
        fail(B, (1, 1, 1, 1, 1, 1)),
        fail(A, (4, 0), "reflect"),
        fail(B, (1, 1), "mirror"),
        fail(B, (-3, -3)),
    ],
    exact=False,
)
row("constant_pad_nd", [call(B, (1, 2), 3)], [])
row(
    "clone",
    [call(A), call(t()), call(t(1, 2, 3, 3), memory_format=const("channels_last"))],
    [fail()],
)
row(
    "Tensor.contiguous",
    [call(A), call(t(1, 2, 3, 3), memory_format=const("channels_last"))],
    [fail(A, memory_format=const("channels_last"))],
)
row(
    "Tensor.is_contiguous", [call(A), call(t(1, 2, 3, 3), memory_format=const("channels_last"))], []
)
row(
    "as_strided",
    [call(t(6), (2, 3), (3, 1)), call(t(6), (2, 2), (1, 2), 1), call(t(4), (3, 2), (1, 1))],
    [
        fail(t(6), (3, 3), (3, 1)),
        fail(t(6), (2,), (-1,)),
        fail(t(6), (2,), (1, 1)),
        fail(t(6), (2,), (1,), -1),
    ],
    layouts=False,
)
row("detach", [call(A)], [])
row("tril", [call(B), call(A, 1), call(B, -1), call(t(0, 3))], [fail(t(3)), fail(t())])
row("triu", [call(B), call(A, 1), call(B, -1), call(t(3, 0))], [fail(t(3))])
row(
    "Tensor.fill_diagonal_", [call(t(3, 3), 2), call(t(5, 2), 1, True)], [fail(t(3), 1), fail(A, 1)]
)
row("diagonal_scatter", [call(B, t(3)), call(B, t(3), 1)], [fail(B, t(4))])
row(
    "select_scatter",
    [call(B, t(4), 0, 1), call(B, t(3), 1, -1)],
    [fail(B, t(3), 0, 1), fail(B, t(4), 0, 5)],
)
row(
    "slice_scatter",
    [call(B, t(3, 2), 1, 1, 3), call(B, t(2, 4), 0, 1)],
    [fail(B, t(3, 3), 1, 1, 3)],
)
# PyTorch reads past its memory here for other layouts and in second derivatives.
row(
    "as_strided_scatter",
    [call(t(6), t(2), (2,), (2,))],
    layouts=False,
    gradcheck=False,
    apart={"gradients *": "the input's gradient is that of the elements replaced, not of the rest"},
)
row(
    "Tensor.__getitem__",
    [
        call(B, 1),
        call(B, -1),
        call(B, slice(1, 3)),
        call(B, slice(None, None, 2)),
        call(B, None),
        call(B, Ellipsis),
        call(B, (Ellipsis, 1)),
        call(B, (slice(None), 1)),
        call(B, m(3, 4)),
        call(B, i(2, bound=3)),
        call(B, (i(2, bound=3), i(2, bound=4))),
        call(B, [0, 2]),
        call(A, (slice(None), i(2, 2, bound=3))),
        call(A, (i(2, bound=2), slice(None), i(2, bound=4))),
        call(B, m(3)),
        call(B, (m(3), 1)),
        call(A, (0, None, slice(1, None), i(2, bound=4))),
        call(B, True),
        call(t(), None),
        call(B, i(bound=3)),
        call(B, slice(2, 1)),
        call(B, [[0, 1], [1, 2]]),
        call(B, (i(2, 1, bound=3), i(3, bound=4))),
        call(B, slice(-100, 100)),
        call(B, m(3, seed=4)),
    ],
    [
        fail(B, 3),
        fail(B, (0, 0, 0)),
        fail(B, m(4)),
        fail(B, t(2, dtype="float32")),
        fail(B, "a"),
        fail(B, slice(None, None, -1)),
        fail(B, t(values=[5], dtype="int64")),
        fail(t(), 0),
        fail(B, (i(2, bound=3), i(3, bound=3))),
        fail(B, 1.5),
        fail(B, slice("a", None)),
        fail(B, (0, 0, Ellipsis, 0)),
    ],
)
# PyTorch's out= checks no element type here and writes past the end.
row("narrow_copy", [call(A, 1, 1, 2)], [fail(A, 1, 2, 2)], outs=False)
for name in (
    "view_copy",
    "expand_copy",
    "permute_copy",
    "squeeze_copy",
    "t_copy",
    "unsqueeze_copy",
    "diagonal_copy",
    "select_copy",
    "transpose_copy",
):
    rest = {
        "view_copy": ((12,),),
        "expand_copy": ((2, 3, 4),),
        "permute_copy": ((1, 0),),
        "unsqueeze_copy": (1,),
        "select_copy": (0, 1),
        "transpose_copy": (0, 1),
    }.get(name, ())
    row(name, [call(B, *rest)], [])
row("slice_copy", [call(B), call(B, 1, 1), call(A, 2, -3, None, 2)], [fail(t())])
row("alias_copy", [call(B), call(t())])
row("detach_copy", [call(B)], grad=False)
row("as_strided_copy", [call(B, (2, 2), (1, 4)), call(B, (3,), (2,), 1)], layouts=False)
row("unfold_copy", [call(t(5), 0, 2, 1), call(A, -1, 3, 1)], [fail(t(5), 0, 6, 1)])
row("unbind_copy", [call(B), call(A, 1)], [fail(t())], outs=None)
row("split_copy", [call(B, 2), call(A, 2, 1)], [fail(B, -1)], outs=None)
row("split_with_sizes_copy", [call(B, (1, 2)), call(A, (1, 3), 2)], [fail(B, (1, 1))], outs=None)
row("view_as_real_copy", [call(B)], dtypes=("complex64", "complex128"))
row("view_as_complex_copy", [call(t(3, 2))], [fail(t(3))], dtypes=("float32", "float64"))
for name, *calls in (
    ("t_", call(B), call(t(3))),
    ("transpose_", call(A, 0, 2), call(B, -1, 0)),
    ("swapaxes_", call(A, 0, 2)),
    ("unsqueeze_", call(B, 1), call(t(), 0), call(B, -1)),
    ("squeeze_", call(t(1, 3, 1)), call(t(1, 3, 1), 0), call(t(1, 3, 1), (0, 2)), call(B, 1)),
    ("as_strided_", call(B, (2, 2), (1, 4)), call(B, (3,), (2,), 1)),
):
    fails = [fail(t(3), 5)] if name in ("unsqueeze_", "squeeze_") else []
    row(f"Tensor.{name}", list(calls), fails, layouts=False)
row("unsafe_chunk", [call(t(7), 3), call(t(0, 2), 3)], [])
row("unsafe_split", [call(t(7), 3)], [])
row("unsafe_split_with_sizes", [call(t(7), (3, 4)), call(A, (1, 2), 1)], [fail(t(5), (1, 2))])
row(
    "nn.functional.pixel_shuffle",
    [call(t(1, 8, 2, 3), 2)],
    [fail(t(3), 2), fail(t(1, 3, 2, 2), 2), fail(t(1, 4, 2, 2), -1)],
    alias=["pixel_shuffle"],
)
row(
    "nn.functional.pixel_unshuffle",
    [call(t(1, 2, 4, 6), 2)],
    [fail(t(3), 2), fail(t(1, 3, 3, 2), 2)],
    alias=["pixel_unshuffle"],
)
row(
    "nn.functional.channel_shuffle",
    [call(t(1, 4, 2, 2), 2)],
    [fail(t(1, 3, 2, 2), 2)],
    alias=["channel_shuffle"],
)
row("Tensor.size", [call(A), call(A, 1), call(A, -1)], [fail(A, 3)])
row("Tensor.stride", [call(A), call(A, 1)], [fail(A, 3)])
row("Tensor.dim", [call(A), call(t())], [])
row("Tensor.storage_offset", [call(A)], [])
row("Tensor.element_size", [call(A)], [])
row("Tensor.__len__", [call(A)], [fail(t())])
row("Tensor.shape", [call(A), call(t())], [])
row("Tensor.ndim", [call(A)], [])
row("Tensor.nbytes", [call(A)], [])
row("Tensor.itemsize", [call(A)], [])
