// Linear systems: with any square matrix, with a triangular one.
#include "ops/linalg.h"
#include "ops/transform.h"

namespace rl::ops {
namespace {

// Whether B holds vectors: one dimension, or A's batch of them.
bool is_vector_case(const Tensor& A, const Tensor& B) {
  if (B.dim() == 1) return true;
  if (A.dim() - 1 != B.dim()) return false;
  return B.sizes() == Ints(A->sizes, size_t(A.dim() - 1));
}

Tensor as_matrix(const Tensor& B, bool vector) { return vector ? unsqueeze(B, -1) : B; }

struct Spread {
  Dims a, b;
};
Spread spread_both(const Tensor& A, const Tensor& B) {
  const Dims batch = broadcast(batch_sizes(A), batch_sizes(B));
  return {with_matrix(batch, rows(A), columns(A)), with_matrix(batch, rows(B), columns(B))};
}

Tensor repeated(const Tensor& t, Ints sizes) {
  return t.sizes() == sizes ? t : alias(t, sizes, broadcast_strides(t.sizes(), t.strides(), sizes),
                                        t.offset());
}

// x, of B's sizes and column-major, becomes op(LU)^-1 B or B op(LU)^-1.
void solve_into(const Tensor& x, const Tensor& lu, const Tensor& pivots, const Tensor& B,
                bool left, bool adjoint) {
  const int64_t n = rows(lu), count = batch_count(x);
  const Tensor right = repeated(B, x.sizes());
  const Dims batch(batch_sizes(x));
  Tensor factors = repeated(lu, with_matrix(batch, n, n));
  Tensor exchanges = repeated(pivots, with_vector(batch, n));
  factors = column_major(factors);
  if (!exchanges.is_contiguous()) {
    const Tensor dense = empty(exchanges.sizes(), DType::Int32);
    copy_data(dense, exchanges);
    exchanges = dense;
  }
  const bool complex = lu.is_complex();
  if (left && !is_column_major(x)) {
    const Tensor columns_first = column_empty(x.sizes(), x.dtype());
    solve_into(columns_first, lu, pivots, B, left, adjoint);
    copy_data(x, columns_first);
    return;
  }
  if (left) {
    copy_data(x, right);
    kernels::lu_solve(lu.dtype(), count, n, columns(x), factors.data(), ints_of(exchanges),
                      x.data(), !adjoint ? 'N' : complex ? 'C' : 'T');
    return;
  }
  // X A = B is A^T X^T = B^T; X A^H = B is conj(A) X^T = B^T, so X^H = A^-1 B^H.
  const Tensor flat = column_empty(with_matrix(batch, columns(x), rows(x)), lu.dtype());
  NoGrad quiet;
  copy_data(flat, adjoint && complex ? resolve_conj(adjoint_of(right)) : Tensor(turned(right)));
  kernels::lu_solve(lu.dtype(), count, n, columns(flat), factors.data(), ints_of(exchanges),
                    flat.data(), adjoint ? 'N' : 'T');
  copy_data(x, adjoint && complex ? resolve_conj(adjoint_of(flat)) : Tensor(turned(flat)));
}

}  // namespace

const Op<Four(Tensor, Tensor, bool, bool)> linalg_solve_factored =
    define<Four(Tensor, Tensor, bool, bool)>(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"
    " -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)")
  .doc("Solutions of linear systems, with the factors of their matrices.")
  .forms(Hidden)
  .nondiff("LU")
  .infer([](Infer& r, const Tensor& A, const Tensor& B, bool left, bool) {
    const char* const name = "linalg.solve";
    check_float(name, A);
    check(A.dtype() == B.dtype(), name, ": Expected A and B to have the same dtype, but found A of "
          "type ", type_name_of(A.dtype()), " and B of type ", type_name_of(B.dtype()),
          " instead");
    check_matrix_shape(name, A);
    const bool vector = is_vector_case(A, B);
    NoGrad quiet;
    const Tensor b = as_matrix(detached(B), vector);
    check_equation(name, A, b, left);
    check_same_device(name, A, B, "A", "B");
    check_lapack("lu_cpu", A);
    const Spread s = spread_both(A, b);
    Dims sizes = s.b;
    if (vector) sizes.pop_back();
    r.result(sizes, left ? column_strides(sizes) : contiguous_strides(sizes), A.dtype(),
             A.device());
    infer_columns(r, A.sizes(), A.dtype(), A.device());
    r.result({A->sizes, size_t(A.dim() - 1)}, DType::Int32, A.device());
    r.result(batch_sizes(A), DType::Int32, A.device());
  })
  .kernel([](Tensor& result, Tensor& lu, Tensor& pivots, Tensor& info, const Tensor& A,
             const Tensor& B, bool left, bool check_errors) {
    const int64_t n = rows(A);
    copy_data(lu, A);
    kernels::lu_factor(A.dtype(), batch_count(A), n, n, lu.data(), ints_of(pivots), ints_of(info));
    if (check_errors) check_infos("torch.linalg.solve_ex", info, A.dim() == 2);
    NoGrad quiet;
    const bool vector = is_vector_case(A, B);
    solve_into(as_matrix(result, vector), lu, pivots, as_matrix(B, vector), left, false);
  })
  .grad("A, B", "grad.result, A, B.layout, result, LU, pivots, left, needs",
        [](const Tensor& grad, const Tensor& A, const Tensor& B, const Tensor& result,
           const Tensor& lu, const Tensor& pivots, bool left, Needs needs) -> Two {
    if (!grad) return {};
    const bool vector = is_vector_case(A, B);
    const Tensor g = as_matrix(grad, vector);
    const bool again = grad_enabled() || has_tangent(A);   // by what has derivatives
    const Tensor right = again ? Tensor(linalg_solve(adjoint_of(A), g, left))
                               : Tensor(lu_solve_op(lu, pivots, g, left, true));
    Two made;
    if (needs[0]) {
      const Tensor x = as_matrix(result, vector);
      made.first = left ? -matmul(right, adjoint_of(x)) : -matmul(adjoint_of(x), right);
    }
    if (needs[1]) made.second = vector ? Tensor(squeeze_dim(right, -1)) : right;
    return made;
  });

const auto solve_ex = define<Two(Tensor, Tensor, bool, bool)>(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"
    " -> (Tensor result, Tensor info)")
  .doc(R"(
    Solutions of `A @ X = B` (or `X @ A = B` if not `left`), and for each matrix the number of the
    first zero on the diagonal of U, or 0. Raises only if `check_errors`.

    >>> torch.linalg.solve_ex(torch.eye(2) * 2, torch.tensor([2., 4.])).result
    tensor([1., 2.])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, const Tensor& B, bool left, bool check_errors) {
    const Four made = linalg_solve_factored(A, B, left, check_errors);
    return Two{std::get<0>(made), std::get<3>(made)};
  });

const Op<Tensor(Tensor, Tensor, bool)> linalg_solve = define<Tensor(Tensor, Tensor, bool)>(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor")
  .doc(R"(
    Solutions of `A @ X = B` (or `X @ A = B` if not `left`) with square matrices A (..., n, n) and
    B (..., n, k), (..., n) or (n). Raises LinAlgError for a singular matrix.

    >>> torch.linalg.solve(torch.eye(2) * 2, torch.tensor([2., 4.]))
    tensor([1., 2.])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, const Tensor& B, bool left) {
    const Four made = linalg_solve_factored(A, B, left);
    check_infos("torch.linalg.solve", std::get<3>(made), A.dim() == 2);
    return std::get<0>(made);
  });

// ---- From factors

namespace {

// The exchanges P, L and U of A = P L U.
struct Parts {
  Tensor p, l, u;
};
Parts parts_of(const Tensor& lu, const Tensor& pivots) {
  const Three made = lu_unpack(lu, pivots);
  return {std::get<0>(made), std::get<1>(made), std::get<2>(made)};
}

// The gradient of the factors: X = op(P L U)^-1 B, both sides brought to the left.
Tensor lu_solve_gradient(Tensor g, const Tensor& lu, const Tensor& pivots, Tensor x, bool left,
                         bool adjoint) {
  if (!left) {
    g = adjoint_of(g);
    x = adjoint_of(x);
    adjoint = !adjoint;
  }
  const Parts f = parts_of(lu, pivots);
  const Tensor lh = adjoint_of(f.l), uh = adjoint_of(f.u);
  if (!adjoint) {
    const Tensor m = -solve_triangular(uh, matmul(g, adjoint_of(x)), false, true, false);
    const Tensor inner = solve_triangular(lh, matmul(m, uh), true, true, true);
    return tril(inner, -1) + triu(m, 0);
  }
  const Tensor y = matmul(turned(f.p), x), h = matmul(turned(f.p), g);
  // -Y h^H L^-H: the strictly lower part is L's gradient.
  const Tensor m = -solve_triangular(lh, matmul(y, adjoint_of(h)), true, false, true);
  const Tensor inner = solve_triangular(uh, matmul(lh, m), false, false, false);
  return tril(m, -1) + triu(inner, 0);
}

void check_pivots(const Tensor& pivots, int64_t n) {
  const Tensor dense = pivots.is_contiguous() ? pivots : [&] {
    const Tensor t = empty(pivots.sizes(), DType::Int32);
    copy_data(t, pivots);
    return t;
  }();
  const int32_t* p = ints_of(dense);
  for (int64_t i = 0; i < dense.numel(); ++i) {
    check(p[i] <= n, "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did "
          "you properly pass the result of lu_factor?");
    check(p[i] >= 1, "Pivots given to lu_solve must all be greater or equal to 1. Did you properly "
          "pass the result of lu_factor?");
  }
}

}  // namespace

const Op<Tensor(Tensor, Tensor, Tensor, bool, bool)> lu_solve_op =
    define<Tensor(Tensor, Tensor, Tensor, bool, bool)>(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)"
    " -> Tensor")
  .doc(R"(
    Solutions of `A @ X = B` (or `X @ A = B`, or with A's adjoint) from what `lu_factor` gave.

    >>> LU, pivots = torch.linalg.lu_factor(torch.eye(2) * 2)
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[2.], [4.]]))
    tensor([[1.],
            [2.]])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& lu, const Tensor& pivots, const Tensor& B, bool left, bool) {
    check_float("torch.linalg.lu_solve", lu);
    check(lu.dtype() == B.dtype(), "linalg.lu_solve: Expected LU and B to have the same dtype, but "
          "found LU of type ", type_name_of(lu.dtype()), " and B of type ",
          type_name_of(B.dtype()), " instead");
    check(pivots.dtype() == DType::Int32,
          "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32");
    check_square("torch.linalg.lu_solve", lu);
    check_equation("linalg.lu_solve", lu, B, left);
    check(pivots.dim() >= 1 && rows(lu) == pivots.size(-1), "linalg.lu_solve: Number of pivots per "
          "batch should be same as the dimension of the matrix");
    check(Ints(lu->sizes, size_t(lu.dim() - 1)) == pivots.sizes(), "linalg.lu_solve: Expected "
          "LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
          pivots.sizes(), " instead");
    check_lapack("linalg.lu_solve_cpu", lu);
    const Dims sizes = spread_both(lu, B).b;
    if (left) infer_columns(r, sizes, B.dtype(), B.device());
    else r.result(sizes, B.dtype(), B.device());
  })
  .kernel([](Tensor& result, const Tensor& lu, const Tensor& pivots, const Tensor& B, bool left,
             bool adjoint) {
    check_pivots(pivots, rows(lu));
    solve_into(result, lu, pivots, B, left, adjoint);
  })
  .grad("LU", "grad, LU, pivots, result, left, adjoint",
        [](const Tensor& grad, const Tensor& lu, const Tensor& pivots, const Tensor& result,
           bool left, bool adjoint) {
    return lu_solve_gradient(grad, lu, pivots, result, left, adjoint);
  })
  .grad("B", "grad, LU, pivots, left, adjoint",
        [](const Tensor& grad, const Tensor& lu, const Tensor& pivots, bool left, bool adjoint) {
    return lu_solve_op(lu, pivots, grad, left, !adjoint);
  });

const auto lu_solve_plain = define<Tensor(Tensor, Tensor, Tensor)>(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor")
  .doc("`linalg.lu_solve(LU_data, LU_pivots, self)`.")
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& self, const Tensor& lu, const Tensor& pivots) {
    static bool said = false;
    warn_once(said, "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be "
              "removed in a future PyTorch release.\nNote that torch.linalg.lu_solve has its "
              "arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
              "X = torch.linalg.lu_solve(LU, pivots, B)");
    return lu_solve_op(lu, pivots, self);
  });

// ---- Triangular systems

namespace {

void triangular_into(const Tensor& x, const Tensor& A, const Tensor& B, bool left, bool upper,
                     bool unit, char op = 'N') {
  if (!is_column_major(x)) {
    const Tensor columns_first = column_empty(x.sizes(), x.dtype());
    triangular_into(columns_first, A, B, left, upper, unit, op);
    copy_data(x, columns_first);
    return;
  }
  const Dims sizes = with_matrix(batch_sizes(x), rows(A), columns(A));
  Tensor a = repeated(A, sizes);
  copy_data(x, repeated(B, x.sizes()));
  // A row-major matrix is the transpose of a column-major one: nothing to copy.
  const Tensor flipped = alias(a, turned(a).sizes(), turned(a).strides(), a.offset());
  if (op == 'N' && is_column_major(flipped) && !is_column_major(a)) {
    kernels::triangular_solve(x.dtype(), batch_count(x), rows(x), columns(x), flipped.data(),
                              x.data(), left, !upper, 'T', unit);
    return;
  }
  a = column_major(a);
  kernels::triangular_solve(x.dtype(), batch_count(x), rows(x), columns(x), a.data(), x.data(),
                            left, upper, op, unit);
}

Tensor one_triangle(const Tensor& t, bool upper, bool unit) {
  return upper ? triu(t, int64_t(unit)) : tril(t, -int64_t(unit));
}

}  // namespace

const Op<Tensor(Tensor, Tensor, bool, bool, bool)> solve_triangular =
    define<Tensor(Tensor, Tensor, bool, bool, bool)>(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True,"
    " bool unitriangular=False) -> Tensor")
  .doc(R"(
    Solutions of `A @ X = B` (or `X @ A = B`) with triangular matrices: only the upper or lower
    triangle is read, with `unitriangular` not its diagonal, taken for ones.

    >>> A = torch.tensor([[1., 2.], [0., 4.]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[5.], [4.]]), upper=True)
    tensor([[3.],
            [1.]])
  )")
  .out({.text = "expected scalar type %W but found %G"})
  .forms(Linalg | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& A, const Tensor& B, bool, bool left, bool) {
    check_equation("linalg.solve_triangular", A, B, left);
    check_same_device("linalg.solve_triangular", A, B, "A", "B");
    check_lapack("triangular_solve_cpu", A);
    check(A.dtype() == B.dtype(), "linalg.solve_triangular: Expected A and B to have the same "
          "dtype, but found A of type ", type_name_of(A.dtype()), " and B of type ",
          type_name_of(B.dtype()), " instead");
    // The adjoint of a dense matrix is solved as that matrix, from the other side.
    const Dims sizes = spread_both(A, B).b;
    bool turned_over = A.is_conj();
    if (turned_over) {
      NoGrad quiet;
      turned_over = turned(detached(A)).is_contiguous();
    }
    if (turned_over) r.result(sizes, B.dtype(), B.device());
    else infer_columns(r, sizes, B.dtype(), B.device());
  })
  .kernel([](Tensor& result, const Tensor& A, const Tensor& B, bool upper, bool left, bool unit) {
    NoGrad quiet;
    triangular_into(result, A, B, left, upper, unit);
  })
  .grad("self, B", "grad, self, result, upper, left, unitriangular, needs",
        [](const Tensor& grad, const Tensor& A, const Tensor& x, bool upper, bool left, bool unit,
           Needs needs) -> Two {
    const Tensor right = solve_triangular(adjoint_of(A), grad, !upper, left, unit);
    Two made;
    if (needs[0]) {
      const Tensor g = left ? -matmul(right, adjoint_of(x)) : -matmul(adjoint_of(x), right);
      made.first = one_triangle(g, upper, unit);
    }
    made.second = right;
    return made;
  });

const Op<Two(Tensor, Tensor, bool, bool, bool)> triangular_solve_op =
    define<Two(Tensor, Tensor, bool, bool, bool)>(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False,"
    " bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)")
  .doc(R"(
    Solutions of `A @ X = self` with triangular matrices, and a copy of A. Deprecated in favor of
    `linalg.solve_triangular`.
  )")
  .forms(Function | Method | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& self, const Tensor& A, bool, bool, bool) {
    check(self.dim() >= 2, "torch.triangular_solve: Expected b to have at least 2 dimensions, but "
          "it has ", self.dim(), " dimensions instead");
    check(A.dim() >= 2, "torch.triangular_solve: Expected A to have at least 2 dimensions, but it "
          "has ", A.dim(), " dimensions instead");
    check(self.device() == A.device(), "Expected b and A to be on the same device, but found b on ",
          name_of(self.device().type), " and A on ", name_of(A.device().type), " instead.");
    check(self.dtype() == A.dtype(), "Expected b and A to have the same dtype, but found b of "
          "type ",
          type_name_of(self.dtype()), " and A of type ", type_name_of(A.dtype()), " instead.");
    check(rows(A) == columns(A), "A must be batches of square matrices, but they are ", rows(A),
          " by ", columns(A), " matrices");
    check(rows(A) == rows(self), "Incompatible matrix sizes for triangular_solve: each A matrix "
          "is ",
          rows(A), " by ", rows(A), " but each b matrix is ", rows(self), " by ", columns(self));
    check_lapack("triangular_solve_cpu", A);
    const Spread s = spread_both(A, self);
    infer_columns(r, s.b, self.dtype(), self.device());
    infer_columns(r, s.a, A.dtype(), A.device());
  })
  .kernel([](Tensor& solution, Tensor& coefficient, const Tensor& self, const Tensor& A, bool upper,
             bool transpose, bool unit) {
    static bool said = false;
    warn_once(said, "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
              "and will be removed in a future PyTorch release.\ntorch.linalg.solve_triangular has "
              "its arguments reversed and does not return a copy of one of the inputs.\nX = "
              "torch.triangular_solve(B, A).solution\nshould be replaced with\nX = "
              "torch.linalg.solve_triangular(A, B).");
    NoGrad quiet;
    copy_data(coefficient, repeated(A, coefficient.sizes()));
    triangular_into(solution, coefficient, self, true, upper, unit, transpose ? 'T' : 'N');
  })
  .grad("self, A",
        "grad.solution, grad.cloned_coefficient, self, A, solution, upper, transpose, "
        "unitriangular, needs",
        [](const Tensor& grad, const Tensor& copied, const Tensor&, const Tensor& A,
           const Tensor& x, bool upper, bool transposed, bool unit, Needs needs) -> Two {
    Two made;
    Tensor to_a = copied;
    if (grad) {
      const Tensor right = triangular_solve_op(grad, rl::conj(A), upper, !transposed, unit).first;
      if (needs[0]) made.first = right;
      if (needs[1]) {
        Tensor g = transposed ? -matmul(rl::conj(x), turned(right)) : -matmul(right, adjoint_of(x));
        g = one_triangle(g, upper, unit);
        to_a = copied ? Tensor(copied + g) : g;
      }
    }
    if (needs[1]) made.second = to_a;
    return made;
  });

}  // namespace rl::ops
