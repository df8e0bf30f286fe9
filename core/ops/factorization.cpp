// LU factors of matrices.
#include "base/parallel.h"
#include "ops/linalg.h"

namespace rl::ops {
namespace {

void check_lu_shape(const char* name, const Tensor& A) {
  check(A.dim() >= 2, name, ": Expected tensor with 2 or more dimensions. Got size: ", A.sizes(),
        " instead");
}
void check_pivoting(bool pivot, const Tensor& A) {
  check(pivot || A.is_meta(),
        "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

// The gradient of A from those of L and U, A = P L U (either may be missing).
Tensor lu_gradient(const Tensor& gl, const Tensor& gu, const Tensor& P, const Tensor& L,
                   const Tensor& U) {
  const int64_t m = rows(L), n = columns(U), k = std::min(m, n);
  const auto add = [](const Tensor& a, const Tensor& b) {
    return a ? b ? Tensor(a + b) : a : b;
  };
  if (!gl && !gu) return Tensor();
  if (m == n) {
    Tensor inner;
    if (gl) inner = tril(matmul(adjoint_of(L), gl), -1);
    if (gu) inner = add(inner, triu(matmul(gu, adjoint_of(U)), 0));
    inner = solve_triangular(adjoint_of(U), inner, false, false, false);
    return matmul(P, solve_triangular(adjoint_of(L), inner, true, true, true));
  }
  if (m < n) {
    const Tensor u1 = narrow(U, -1, 0, k), u2 = narrow(U, -1, k, n - k);
    Tensor inner, beside;
    if (gl) inner = matmul(adjoint_of(L), gl);
    if (gu) {
      beside = narrow(gu, -1, k, n - k);
      const Tensor less = -matmul(beside, adjoint_of(u2));
      inner = tril(add(inner, less), -1) + triu(matmul(narrow(gu, -1, 0, k), adjoint_of(u1)), 0);
    } else {
      inner = tril(inner, -1);
      beside = zeros_like(u2);
    }
    inner = solve_triangular(adjoint_of(u1), inner, false, false, false);
    const Tensor both = cat(Tensors{inner, beside}, -1);
    return matmul(P, solve_triangular(adjoint_of(L), both, true, true, true));
  }
  const Tensor l1 = narrow(L, -2, 0, k), l2 = narrow(L, -2, k, m - k);
  Tensor inner, below;
  if (gu) inner = matmul(gu, adjoint_of(U));
  if (gl) {
    below = narrow(gl, -2, k, m - k);
    const Tensor less = -matmul(adjoint_of(l2), below);
    inner = triu(add(inner, less), 0) + tril(matmul(adjoint_of(l1), narrow(gl, -2, 0, k)), -1);
  } else {
    inner = triu(inner, 0);
    below = zeros_like(l2);
  }
  const Tensor top = solve_triangular(adjoint_of(l1), inner, true, true, true);
  const Tensor both = cat(Tensors{top, below}, -2);
  return matmul(P, solve_triangular(adjoint_of(U), both, false, false, false));
}

// Row exchanges as a permutation: row i of L U is row order[i] of A.
void order_of(const int32_t* pivots, int64_t k, int64_t m, int64_t* order) {
  for (int64_t i = 0; i < m; ++i) order[i] = i;
  for (int64_t i = 0; i < k; ++i) std::swap(order[i], order[pivots[i] - 1]);
}

template <class T> void fill_permutations(const Tensor& P, const Tensor& pivots, int64_t m) {
  const int64_t k = pivots.size(-1), count = batch_count(P);
  set_zero(P);
  Dims order;
  order.resize(size_t(m));
  for (int64_t b = 0; b < count; ++b) {
    order_of(ints_of(pivots) + b * k, k, m, order.data());
    T* const out = P.ptr<T>() + b * m * m;
    for (int64_t i = 0; i < m; ++i) out[order[size_t(i)] * m + i] = T(1);
  }
}

void permutations_into(const Tensor& P, const Tensor& pivots, int64_t m) {
  dispatch(P.dtype(), [&](auto* null) {
    using T = pointee<decltype(null)>;
    if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16>) {
      fill_permutations<T>(P, pivots, m);
    } else {
      const Tensor wide = empty(P.sizes(), DType::Float);
      fill_permutations<float>(wide, pivots, m);
      copy_data(P, wide);
    }
  });
}

void parts_into(const Tensor& L, const Tensor& U, const Tensor& lu) {
  const int64_t k = std::min(rows(lu), columns(lu));
  NoGrad quiet;
  copy_data(L, tril(narrow(lu, -1, 0, k), -1));
  set_value(main_diagonal(L), Scalar(1));
  copy_data(U, triu(narrow(lu, -2, 0, k), 0));
}

}  // namespace

const Op<Three(Tensor, bool, bool)> lu_factor_ex = define<Three(Tensor, bool, bool)>(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)"
    " -> (Tensor LU, Tensor pivots, Tensor info)")
  .doc(R"(
    L below and U on and above the diagonal of one matrix (..., m, n), the row exchanges (..., k)
    counted from one, and for each matrix the number of the first zero on U's diagonal, or 0.
  )")
  .forms(Linalg | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& A, bool pivot, bool) {
    check_lu_shape("torch.lu_factor", A);
    check_lapack("lu_cpu", A);
    check_pivoting(pivot, A);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
    r.result(with_vector(batch_sizes(A), std::min(rows(A), columns(A))), DType::Int32, A.device());
    r.result(batch_sizes(A), DType::Int32, A.device());
  })
  .kernel([](Tensor& lu, Tensor& pivots, Tensor& info, const Tensor& A, bool, bool check_errors) {
    copy_data(lu, A);
    kernels::lu_factor(A.dtype(), batch_count(A), rows(A), columns(A), lu.data(), ints_of(pivots),
                       ints_of(info));
    if (check_errors) check_infos("torch.linalg.lu_factor_ex", info, A.dim() == 2);
  })
  .grad("A", "grad.LU, LU, pivots, pivot",
        [](const Tensor& grad, const Tensor& lu, const Tensor& pivots, bool) -> Tensor {
    if (!grad) return Tensor();
    const Three f = lu_unpack(lu, pivots);
    const int64_t k = std::min(rows(lu), columns(lu));
    return lu_gradient(narrow(grad, -1, 0, k), narrow(grad, -2, 0, k), std::get<0>(f),
                       std::get<1>(f), std::get<2>(f));
  });

const auto lu_factor = define<Two(Tensor, bool)>(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)")
  .doc(R"(
    The factors of A = P L U in one matrix, and the row exchanges, as `lu_solve` takes them.

    >>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [2., 2.]])).pivots
    tensor([2, 2], dtype=torch.int32)
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, bool pivot) {
    const Three made = lu_factor_ex(A, pivot);
    check_infos("torch.linalg.lu_factor", std::get<2>(made), A.dim() == 2);
    return Two{std::get<0>(made), std::get<1>(made)};
  });

const auto lu_with_info = define<Three(Tensor, bool, bool)>(
    "_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True)"
    " -> (Tensor LU, Tensor pivots, Tensor info)")
  .doc("What `torch.lu` calls.")
  .composite([](const Tensor& self, bool pivot, bool check_errors) {
    static bool said = false;
    warn_once(said, "torch.lu is deprecated in favor of torch.linalg.lu_factor / "
              "torch.linalg.lu_factor_ex and will be removed in a future PyTorch release.\nLU, "
              "pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
              "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, "
              "compute_pivots, get_infos=True)\nshould be replaced with\nLU, pivots, info = "
              "torch.linalg.lu_factor_ex(A, compute_pivots)");
    return lu_factor_ex(self, pivot, check_errors);
  });

const auto linalg_lu = define<Three(Tensor, bool)>(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)")
  .doc(R"(
    The factors of A = P L U (..., m, n): exchanges of rows (..., m, m), a lower triangle with ones
    on its diagonal (..., m, k) and an upper one (..., k, n).

    >>> torch.linalg.lu(torch.tensor([[1., 2.], [2., 2.]])).U
    tensor([[2., 2.],
            [0., 1.]])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .nondiff("P")
  .infer([](Infer& r, const Tensor& A, bool pivot) {
    check_lu_shape("linalg.lu", A);
    check_lapack("lu_cpu", A);
    check_pivoting(pivot, A);
    const int64_t m = rows(A), n = columns(A), k = std::min(m, n);
    r.result(with_matrix(batch_sizes(A), m, m), A.dtype(), A.device());
    r.result(with_matrix(batch_sizes(A), m, k), A.dtype(), A.device());
    r.result(with_matrix(batch_sizes(A), k, n), A.dtype(), A.device());
  })
  .kernel([](Tensor& P, Tensor& L, Tensor& U, const Tensor& A, bool) {
    const int64_t count = batch_count(A), k = std::min(rows(A), columns(A));
    const Tensor lu = column_copy(A), info = empty({count}, DType::Int32),
                 pivots = empty(with_vector(batch_sizes(A), k), DType::Int32);
    kernels::lu_factor(A.dtype(), count, rows(A), columns(A), lu.data(), ints_of(pivots),
                       ints_of(info));
    permutations_into(P, pivots, rows(A));
    parts_into(L, U, lu);
  })
  .grad("A", "grad.L, grad.U, P, L, U, pivot",
        [](const Tensor& gl, const Tensor& gu, const Tensor& P, const Tensor& L, const Tensor& U,
           bool) { return lu_gradient(gl, gu, P, L, U); });

namespace {

void pad_rows(Tensor& t, int64_t wanted, int64_t dim) {
  const int64_t missing = wanted - t.size(dim);
  if (missing <= 0) return;
  Dims sizes(t.sizes());
  sizes[size_t(t.dim() + dim)] = missing;
  t = cat(Tensors{t, zeros(sizes, t.dtype(), t.device())}, dim);
}

}  // namespace

const Op<Three(Tensor, Tensor, bool, bool)> lu_unpack = define<Three(Tensor, Tensor, bool, bool)>(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)"
    " -> (Tensor P, Tensor L, Tensor U)")
  .doc(R"(
    What `lu_factor` gave as three matrices, A = P L U; what is not asked for comes empty.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[1., 2.], [2., 2.]]))
    >>> torch.lu_unpack(LU, pivots).U
    tensor([[2., 2.],
            [0., 1.]])
  )")
  .forms(Function | Out)
  .exact_out()
  .nondiff("P")
  .infer([](Infer& r, const Tensor& lu, const Tensor& pivots, bool data, bool exchanges) {
    check_lu_shape("torch.lu_unpack", lu);
    check(!exchanges || pivots.dtype() == DType::Int32, "torch.lu_unpack: LU_pivots is expected to "
          "be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to be "
          "used with the output produced by torch.linalg.lu_factor");
    const int64_t m = rows(lu), n = columns(lu), k = std::min(m, n);
    const auto result = [&](bool wanted, const Dims& sizes) {
      r.result(wanted ? Ints(sizes) : Ints({0}), lu.dtype(), lu.device());
    };
    result(exchanges, with_matrix(batch_sizes(lu), m, m));
    result(data, with_matrix(batch_sizes(lu), m, k));
    result(data, with_matrix(batch_sizes(lu), k, n));
  })
  .kernel([](Tensor& P, Tensor& L, Tensor& U, const Tensor& lu, const Tensor& pivots, bool data,
             bool exchanges) {
    const int64_t m = rows(lu);
    if (exchanges) {
      const Tensor dense = empty(pivots.sizes(), DType::Int32);
      copy_data(dense, pivots);
      for (int64_t i = 0; i < dense.numel(); ++i) {
        const int32_t p = ints_of(dense)[i];
        check(p >= 1 && p <= m, "pivots passed to lu_unpack must be between 1 and LU.size(-2) "
              "inclusive.Did you properly pass the result of lu_factor?");
      }
      const int64_t each = dense.dim() ? dense.size(-1) : 1;
      check(dense.dim() > 0 && each <= m && dense.numel() == each * batch_count(lu),
            "torch.lu_unpack: LU_pivots has not one row of pivots for each matrix");
      permutations_into(P, dense, m);
    }
    if (data) parts_into(L, U, lu);
  })
  .grad("LU_data", "grad.L, grad.U, LU_data.sizes",
        [](const Tensor& gl, const Tensor& gu, Ints sizes) -> Tensor {
    const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1];
    Tensor made;
    if (gl) {
      made = tril(gl, -1);
      pad_rows(made, n, -1);
    }
    if (gu) {
      Tensor upper = triu(gu, 0);
      pad_rows(upper, m, -2);
      made = made ? Tensor(made + upper) : upper;
    }
    return made;
  });

}  // namespace rl::ops
