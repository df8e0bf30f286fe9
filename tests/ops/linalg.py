"""Products of vectors and matrices, decompositions and solvers."""

from .spec import FRACTIONAL, WIDE, WIDE_COMPLEX, Family, call, fail, i, t

row = Family(
    __name__,
    rtol={"float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2},
    atol={"float32": 8e-6, "float16": 2e-2, "bfloat16": 1.3e-1},
)
A, B = t(2, 3, 4), t(3, 4)
TRANSPOSED = t(4, 3, layout="transposed")

row(
    "matmul",
    [
        call(t(3), t(3)),
        call(B, t(4)),
        call(t(3), B),
        call(B, t(4, 2)),
        call(A, t(2, 4, 5)),
        call(A, t(4, 5)),
        call(t(3), t(2, 3, 4)),
        call(t(2, 1, 3, 4), t(5, 4, 2)),
        call(A, t(4)),
        call(t(0, 3), t(3, 2)),
        call(t(2, 0), t(0, 3)),
        call(t(3, 4, layout="transposed"), TRANSPOSED),
        call(t(17, 9), t(9, 19)),
    ],
    [
        fail(t(3), t(4)),
        fail(B, B),
        fail(t(), t(3)),
        fail(A, t(3, 4, 5)),
        fail(B, t(4, 2, dtype="int64"), only=("float32",)),
        fail(B),
    ],
    alias=["linalg.matmul", "Tensor.__matmul__"],
    apart={
        "out */2/*": "resizes an out= of the right shape to a row and back, and warns of it",
        "out */[58]/strided": "refuses an out= of the right shape whose rows do not fold",
    },
)
row(
    "mm",
    [
        call(B, t(4, 2)),
        call(t(0, 3), t(3, 2)),
        call(t(2, 0), t(0, 3)),
        call(TRANSPOSED, B),
        call(t(1, 1), t(1, 1)),
    ],
    [fail(B, B), fail(B, t(4)), fail(A, A), fail(B, t(4, 2, dtype="int32"))],
)
row(
    "bmm",
    [call(A, t(2, 4, 5)), call(t(0, 3, 4), t(0, 4, 2)), call(t(2, 3, 0), t(2, 0, 2))],
    [fail(A, t(2, 3, 4)), fail(A, t(3, 4, 5)), fail(B, B)],
)
row("mv", [call(B, t(4)), call(t(3, 0), t(0))], [fail(B, t(3)), fail(B, B), fail(t(3), t(3))])
row(
    "dot",
    [call(t(4), t(4)), call(t(0), t(0))],
    [fail(t(3), t(4)), fail(B, B), fail(t(3), t(3, dtype="int32"))],
)
row("vdot", [call(t(4), t(4))], [fail(t(3), t(4)), fail(B, B)])
row("inner", [call(t(4), t(4)), call(B, t(2, 4)), call(t(), B), call(B, t(4))], [fail(t(3), t(4))])
row("outer", [call(t(3), t(4)), call(t(0), t(2))], [fail(B, t(3))], alias=["ger"])
row(
    "addmm",
    [
        call(t(3, 2), B, t(4, 2)),
        call(t(2), B, t(4, 2)),
        call(t(3, 2), B, t(4, 2), beta=2, alpha=3),
        call(t(), B, t(4, 2), beta=0),
        call(t(3, 2), t(3, 0), t(0, 2)),
    ],
    [fail(t(3, 3), B, t(4, 2)), fail(t(2), B, B), fail(t(2), B, t(4))],
)
row(
    "addmv",
    [call(t(3), B, t(4)), call(t(3), B, t(4), beta=2, alpha=3), call(t(), B, t(4))],
    [fail(t(2), B, t(4)), fail(t(3), B, t(3))],
)
row(
    "addr",
    [call(B, t(3), t(4)), call(B, t(3), t(4), beta=2, alpha=3), call(t(4), t(3), t(4))],
    [fail(B, t(4), t(3))],
)
row(
    "addbmm",
    [call(t(3, 5), A, t(2, 4, 5)), call(t(3, 5), A, t(2, 4, 5), beta=2, alpha=3)],
    [fail(t(3, 5), A, A)],
)
row(
    "baddbmm",
    [
        call(t(2, 3, 5), A, t(2, 4, 5)),
        call(t(5), A, t(2, 4, 5), beta=2, alpha=3),
        call(t(2, 3, 5), A, t(2, 4, 5), beta=0),
    ],
    [fail(t(2, 3, 5), A, A), fail(t(4), A, t(2, 4, 5))],
)
row("chain_matmul", [call(B, t(4, 2), t(2, 5))], [], dtypes=WIDE)
row(
    "linalg.multi_dot",
    [call([B, t(4, 2), t(2, 5)]), call([t(3), B, t(4)])],
    [fail([B]), fail([B, B])],
)
row(
    "einsum",
    [
        call("ij,jk->ik", B, t(4, 2)),
        call("ij->ji", B),
        call("ij->", B),
        call("ii->i", t(3, 3)),
        call("ii", t(3, 3)),
        call("i,j->ij", t(3), t(4)),
        call("bij,bjk->bik", A, t(2, 4, 5)),
        call("...ij,...jk->...ik", A, t(4, 5)),
        call("ij,ij,ij->i", B, t(3, 4), t(3, 4)),
        call("bi,bj,k->ijk", t(2, 3), t(2, 2), t(2)),
        call("ij,jk", B, t(4, 2)),
        call("i...->...", A),
        call("...i,...i->", B, t(3, 4)),
        call("...mb,...nb->mnb", A, A),
        call("...i,j...->ij", B, t(5, 3)),
        call("...i,...j,...->ij", B, t(3, 2), t(3)),
        call("bhqd,bhkd->bhqk", t(1, 2, 3, 2), t(1, 2, 4, 2)),
        call(" i j , j -> i ", B, t(4)),
        call("ij,jk->ik", [B, t(4, 2)]),
    ],
    [
        fail("ij,jk->ik", B, B),
        fail("ij->ijj", B),
        fail("ij,jk->ik", B),
        fail("i->i", B),
        fail("ij->k", B),
        fail("i1->i", B),
        fail("ij-ij", B),
    ],
)
row(
    "tensordot",
    [
        call(A, t(4, 3, 2), 1),
        call(A, t(3, 4, 5), 2),
        call(B, t(4, 3), ([0, 1], [1, 0])),
        call(t(3), t(2), 0),
    ],
    [fail(A, t(5, 3), 1), fail(A, B, -1)],
)
row("kron", [call(t(2, 2), t(2, 3)), call(t(2), t(3)), call(t(2), t(2, 2))], [])
row(
    "cross",
    [call(t(2, 3), t(2, 3)), call(t(3, 2), t(3, 2), 0), call(t(4, 3), t(1, 3), dim=1)],
    [fail(t(2, 4), t(2, 4)), fail(t(2, 3), t(2, 3), 0)],
)
row(
    "linalg.cross",
    [call(t(2, 3), t(2, 3)), call(t(3, 2), t(3, 2), dim=0)],
    [fail(B, B), fail(t(3), t(2, 3))],
)
row("linalg.vecdot", [call(B, t(3, 4)), call(A, t(4)), call(B, t(3, 4), dim=0)], [fail(t(3), t(4))])
row(
    "cdist",
    [
        call(B, t(2, 4)),
        call(A, t(2, 5, 4)),
        call(B, t(2, 4), 1.0),
        call(B, t(2, 4), float("inf")),
        call(B, t(2, 4), 3.0),
        call(B, t(2, 4), compute_mode="donot_use_mm_for_euclid_dist"),
    ],
    [fail(B, t(2, 3)), fail(t(3), B), fail(B, t(2, 4), -1.0)],
    atol={"float32": 1e-5},
    dtypes=FRACTIONAL,
)
row("nn.functional.pdist", [call(B), call(B, 1.0)], [fail(A)], dtypes=WIDE, alias=["pdist"])
row(
    "nn.functional.linear",
    [
        call(t(2, 3), t(4, 3)),
        call(t(2, 3), t(4, 3), t(4)),
        call(t(3), t(4, 3), t(4)),
        call(t(2, 5, 3), t(4, 3), t(4)),
        call(t(0, 3), t(4, 3), t(4)),
        call(t(2, 3), t(3)),
        call(t(2, 5, 3), t(4, 3)),
    ],
    [
        fail(t(2, 3), t(4, 4)),
        fail(t(2, 3), t(4, 3), t(5)),
        fail(t(2, 3), t(4, 3, dtype="float64"), only=("float32",)),
    ],
    apart={
        "out */2/*": "as matmul: resizes an out= of the right shape, and warns of it",
        "out */[36]/strided": "as matmul: refuses an out= whose rows do not fold",
    },
)
row(
    "nn.functional.bilinear",
    [call(t(2, 3), t(2, 4), t(5, 3, 4), t(5)), call(t(2, 3), t(2, 4), t(5, 3, 4))],
    [fail(t(2, 3), t(2, 4), t(5, 4, 3))],
    alias=["bilinear"],
    dtypes=WIDE,
)
row(
    "matrix_power",
    [call(t(3, 3), 2), call(t(3, 3), 0), call(t(2, 3, 3), 3), call(t(3, 3, kind="regular"), -1)],
    [fail(B, 2), fail(t(3), 2)],
    alias=["linalg.matrix_power"],
)
row(
    "matrix_exp",
    [call(t(2, 2, low=-1, high=1)), call(t(2, 3, 3, low=-1, high=1))],
    [fail(B)],
    alias=["linalg.matrix_exp"],
    dtypes=WIDE_COMPLEX,
    rtol={"float32": 1e-5},
)
SOLVE = {"dtypes": WIDE_COMPLEX, "rtol": {"float32": 3e-5}, "atol": {"float32": 1e-5}}
REGULAR, SPD = t(3, 3, kind="regular"), t(3, 3, kind="spd")
row(
    "linalg.inv",
    [call(REGULAR), call(t(2, 3, 3, kind="regular")), call(t(0, 0))],
    [fail(B), fail(t(2, 2, values=[1, 2, 2, 4]))],
    alias=["inverse"],
    **SOLVE,
)
row(
    "linalg.det",
    [call(REGULAR), call(t(2, 3, 3, kind="regular")), call(t(0, 0))],
    [fail(B)],
    alias=["det"],
    **SOLVE,
)
row("linalg.slogdet", [call(REGULAR)], [fail(B)], alias=["slogdet"], **SOLVE)
row("logdet", [call(SPD)], [fail(B)], **SOLVE)
row(
    "linalg.cholesky",
    [call(SPD), call(t(2, 3, 3, kind="spd")), call(SPD, upper=True)],
    [fail(B), fail(t(2, 2, values=[1, 2, 2, 1]))],
    gradcheck=False,
    **SOLVE,
)
row("cholesky", [call(SPD), call(SPD, True)], [fail(B)], gradcheck=False, **SOLVE)
row(
    "linalg.cholesky_ex",
    [call(SPD), call(t(2, 2, values=[1, 2, 2, 1], grad=False))],
    [],
    gradcheck=False,
    **SOLVE,
)
row("cholesky_solve", [call(t(3, 2), t(3, 3, kind="tril"))], [fail(t(3, 2), B)], **SOLVE)
row("cholesky_inverse", [call(t(3, 3, kind="tril"))], [fail(B)], **SOLVE)
row(
    "linalg.solve",
    [
        call(REGULAR, t(3, 2)),
        call(REGULAR, t(3)),
        call(t(2, 3, 3, kind="regular"), t(2, 3, 1)),
        call(REGULAR, t(2, 3), left=False),
    ],
    [fail(B, t(3)), fail(REGULAR, t(2, 2)), fail(t(2, 2, values=[1, 2, 2, 4]), t(2))],
    **SOLVE,
)
row(
    "linalg.solve_triangular",
    [
        call(t(3, 3, kind="triu"), t(3, 2), upper=True),
        call(t(3, 3, kind="tril"), t(3, 2), upper=False),
        call(t(3, 3, kind="triu"), t(2, 3), upper=True, left=False),
    ],
    [fail(B, t(3, 2), upper=True)],
    **SOLVE,
)
row("triangular_solve", [call(t(3, 2), t(3, 3, kind="triu"))], [], **SOLVE)
row(
    "linalg.qr",
    [call(t(4, 3)), call(t(3, 4)), call(t(4, 3), "complete"), call(t(4, 3), "r")],
    [fail(t(3)), fail(B, "x")],
    gradcheck=False,
    alias=["qr"],
    **SOLVE,
)
row("linalg.svdvals", [call(B)], [fail(t(3))], **SOLVE)
row(
    "linalg.svd", [call(B, full_matrices=False)], [fail(t(3))], gradcheck=False, grad=False, **SOLVE
)
row("linalg.eigvalsh", [call(t(3, 3, kind="symmetric"))], [fail(B)], gradcheck=False, **SOLVE)
row(
    "linalg.eigh",
    [call(t(3, 3, kind="symmetric"))],
    [fail(B)],
    gradcheck=False,
    grad=False,
    **SOLVE,
)
row("linalg.eigvals", [call(REGULAR)], [fail(B)], gradcheck=False, grad=False, **SOLVE)
row(
    "linalg.pinv",
    [call(B), call(t(4, 3))],
    [fail(t(3))],
    alias=["pinverse"],
    gradcheck=False,
    dtypes=WIDE_COMPLEX,
    rtol={"float32": 1e-4},
    atol={"float32": 1e-5},
)
row(
    "linalg.lstsq",
    [call(t(4, 2), t(4, 1))],
    [fail(t(3), t(3))],
    gradcheck=False,
    grad=False,
    outs=False,
    **SOLVE,
)
row(
    "linalg.matrix_rank",
    [call(REGULAR), call(t(2, 2, values=[1, 2, 2, 4]))],
    [fail(t(3))],
    dtypes=WIDE_COMPLEX,
)
row("linalg.lu_factor", [call(REGULAR)], [], gradcheck=False, **SOLVE)
row("linalg.lu", [call(REGULAR)], [], gradcheck=False, **SOLVE)
row("linalg.diagonal", [call(A), call(B, offset=1)], [])
row("linalg.vander", [call(t(3)), call(t(3), N=4)], [fail(t())])
# PyTorch's backward finds its own in-place changes: no gradients to compare with.
row("vander", [call(t(3)), call(t(3), 2, True)], [fail(B)], grad=False, gradcheck=False)
row(
    "linalg.tensorinv",
    [call(t(2, 3, 6), ind=2)],
    [fail(t(2, 3))],
    gradcheck=False,
    dtypes=WIDE,
    rtol={"float32": 1e-3},
    atol={"float32": 1e-4},
)
row(
    "linalg.cond",
    [
        call(REGULAR),
        call(REGULAR, -2),
        call(REGULAR, "nuc"),
        # PyTorch's backward of these finds its own in-place changes.
        call(t(3, 3, kind="regular", grad=False), 1),
        call(t(3, 3, kind="regular", grad=False), "fro"),
        call(t(2, 3, 3, kind="regular", grad=False), float("inf")),
    ],
    [fail(t(3)), fail(B, 1), fail(REGULAR, 3), fail(REGULAR, "x")],
    gradcheck=False,
    dtypes=WIDE,
    rtol={"float32": 1e-4},
)
row(
    "linalg.tensorsolve",
    [call(t(6, 2, 3), t(6)), call(t(2, 3, 6), t(6), (0, 1))],
    [fail(t(2, 3), t(3))],
    gradcheck=False,
    dtypes=WIDE,
    rtol={"float32": 1e-3},
    atol={"float32": 1e-4},
)
row(
    "linalg.inv_ex",
    [call(REGULAR), call(t(2, 2, values=[1, 2, 2, 4], grad=False), only=WIDE)],
    [fail(B), fail(t(2, 2, values=[1, 2, 2, 4]), check_errors=True)],
    **SOLVE,
)
row(
    "linalg.solve_ex",
    [call(REGULAR, t(3, 2)), call(t(2, 3, 3, kind="regular"), t(2, 3))],
    [fail(B, t(3)), fail(t(2, 2, values=[1, 2, 2, 4]), t(2), check_errors=True)],
    **SOLVE,
)
row(
    "linalg.lu_factor_ex",
    [call(REGULAR), call(t(4, 3)), call(t(2, 3, 4))],
    [fail(t(3)), fail(REGULAR, pivot=False)],
    gradcheck=False,
    **SOLVE,
)
PIVOTS = i(3, bound=4, low=3, dtype="int32")
row(
    "linalg.lu_solve",
    [
        call(REGULAR, PIVOTS, t(3, 2)),
        call(REGULAR, PIVOTS, t(3, 2), adjoint=True),
        call(REGULAR, PIVOTS, t(2, 3), left=False),
        call(REGULAR, PIVOTS, t(2, 3), left=False, adjoint=True),
    ],
    [fail(B, PIVOTS, t(3, 2)), fail(REGULAR, t(3), t(3, 2)), fail(REGULAR, PIVOTS, t(2, 2))],
    **SOLVE,
)
row("lu_solve", [call(t(3, 2), REGULAR, PIVOTS)], [fail(t(2, 2), REGULAR, PIVOTS)], **SOLVE)
row(
    "lu_unpack",
    [
        call(REGULAR, PIVOTS),
        call(t(4, 3), PIVOTS),
        call(B, PIVOTS),
        call(REGULAR, PIVOTS, unpack_pivots=False),
        call(t(3, 3, grad=False), PIVOTS, unpack_data=False),
    ],
    [fail(t(3), PIVOTS), fail(REGULAR, t(3))],
    **SOLVE,
)
SYMMETRIC = t(3, 3, kind="symmetric", grad=False)
row("linalg.ldl_factor", [call(SYMMETRIC)], [fail(B)], grad=False, gradcheck=False, layouts=False,
    **SOLVE)  # fmt: skip
row("linalg.ldl_factor_ex", [call(SYMMETRIC)], [fail(B)], grad=False, gradcheck=False, **SOLVE)
row(
    "linalg.ldl_solve",
    [call(t(3, 3, kind="tril", grad=False), PIVOTS, t(3, 2, grad=False))],
    [fail(B, PIVOTS, t(3, 2))],
    grad=False,
    gradcheck=False,
    **SOLVE,
)
row(
    "linalg.eig",
    [call(t(3, 3, kind="triu"))],
    [fail(B), fail(t(3))],
    gradcheck=False,
    grad=False,
    **SOLVE,
)
row(
    "svd",
    [call(B), call(B, compute_uv=False)],
    [fail(t(3))],
    gradcheck=False,
    grad=False,
    **SOLVE,
)
row(
    "linalg.householder_product",
    [call(t(4, 3, low=-1, high=1), t(3, low=0, high=1)), call(t(2, 4, 3, low=-1, high=1), t(2, 2))],
    [fail(B, t(3)), fail(t(4, 3), t(4)), fail(t(2, 4, 3), t(3))],
    alias=["orgqr"],
    **SOLVE,
)
row("geqrf", [call(t(4, 3, grad=False)), call(t(3, 4, grad=False))], [fail(t(3))], grad=False,
    gradcheck=False, **SOLVE)  # fmt: skip
HOUSE = (t(4, 3, low=-1, high=1), t(3, low=0, high=1))
row(
    "ormqr",
    [
        call(*HOUSE, t(4, 2)),
        call(*HOUSE, t(4, 2), transpose=True),
        call(*HOUSE, t(2, 4), left=False),
        call(*HOUSE, t(2, 4), left=False, transpose=True),
    ],
    [fail(*HOUSE, t(3, 2)), fail(*HOUSE, t(4)), fail(t(4), t(3), t(4, 2))],
    **SOLVE,
)
row(
    "nn.functional.normalize",
    [
        call(B),
        call(B, 1),
        call(A, dim=1),
        call(t(2, 3), p=3.0, dim=0),
        call(t(2, 2, values=[0, 0, 1, 2])),
    ],
    [fail(B, dim=2)],
)
row(
    "nn.functional.cosine_similarity",
    [call(B, t(3, 4)), call(A, t(3, 4), dim=2), call(B, t(3, 4), 0)],
    [fail(B, t(3, 3))],
    alias=["cosine_similarity"],
)
row(
    "nn.functional.pairwise_distance",
    [call(B, t(3, 4)), call(B, t(3, 4), 1.0), call(B, t(4), keepdim=True)],
    [fail(B, t(3, 3))],
    alias=["pairwise_distance"],
)
row(
    "nn.functional.scaled_dot_product_attention",
    [
        call(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)),
        call(t(2, 3, 4), t(2, 5, 4), t(2, 5, 4)),
        call(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), is_causal=True),
        call(
            t(1, 2, 3, 4),
            t(1, 2, 3, 4),
            t(1, 2, 3, 4),
            t(3, 3, dtype="bool", values=[1, 0, 0, 1, 1, 0, 1, 1, 1]),
        ),
        call(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 3, grad=False)),
        call(t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), scale=0.3),
        call(t(1, 4, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), enable_gqa=True),
    ],
    [
        fail(t(3, 4), t(3, 5), t(3, 4)),
    ],
    dtypes=FRACTIONAL,
)
