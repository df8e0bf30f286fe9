// Inverses and determinants.
#include <cmath>
#include <limits>

#include "ops/linalg.h"
#include "ops/transform.h"

namespace rl::ops {
namespace {

void fill_identity(const Tensor& t) {
  set_zero(t);
  const Tensor ones = alias(t, with_vector(batch_sizes(t), rows(t)), [&] {
    Dims strides(Ints(t->strides, size_t(t.dim() - 2)));
    strides.push_back(t->strides[t.dim() - 2] + t->strides[t.dim() - 1]);
    return strides;
  }(), t.offset());
  set_value(ones, Scalar(1));
}

}  // namespace

const Op<Two(Tensor, bool)> inv_ex = define<Two(Tensor, bool)>(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)")
  .doc(R"(
    Inverses (..., n, n) of square matrices, and for each the number of the first zero on the
    diagonal of U, or 0 where the inverse exists. Raises only if `check_errors`.

    >>> torch.linalg.inv_ex(torch.tensor([[2., 0.], [0., 4.]])).inverse
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& A, bool) {
    check_square("linalg.inv", A);
    check_float("linalg.inv", A, false);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
    r.result(batch_sizes(A), DType::Int32, A.device());
  })
  .kernel([](Tensor& inverse, Tensor& info, const Tensor& A, bool check_errors) {
    const int64_t n = rows(A), count = batch_count(A);
    const Tensor lu = column_copy(A), pivots = empty({count, n}, DType::Int32);
    fill_identity(inverse);
    kernels::lu_factor(A.dtype(), count, n, n, lu.data(), ints_of(pivots), ints_of(info));
    kernels::lu_solve(A.dtype(), count, n, n, lu.data(), ints_of(pivots), inverse.data());
    if (check_errors) check_infos("linalg.inv_ex", info, A.dim() == 2);
  })
  .grad("A", "grad, inverse", [](const Tensor& grad, const Tensor& inverse) {
    const Tensor h = adjoint_of(inverse);
    return -matmul(h, matmul(grad, h));
  });

const Op<Tensor(Tensor)> linalg_inv = define<Tensor(Tensor)>("linalg_inv(Tensor A) -> Tensor")
  .doc(R"(
    Inverses (..., n, n) of square matrices. Raises LinAlgError for a singular one.

    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A) {
    const Two made = inv_ex(A);
    check_infos("linalg.inv", made.second, A.dim() == 2);
    return made.first;
  });

const auto inverse = define<Tensor(Tensor)>("inverse(Tensor self) -> Tensor")
  .doc("The same as `linalg.inv`.")
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& self) { return linalg_inv(self); });

// ---- Determinants

namespace {

struct LU {
  int64_t n, count;
  const int32_t* pivots;
};

// The sign of the row exchanges.
int exchanges_sign(const int32_t* pivots, int64_t n) {
  int sign = 1;
  for (int64_t i = 0; i < n; ++i)
    if (pivots[i] != i + 1) sign = -sign;
  return sign;
}

LU factor(const Tensor& A, const Tensor& lu, const Tensor& pivots) {
  const int64_t n = rows(A), count = batch_count(A);
  const Tensor info = empty({count}, DType::Int32);
  copy_data(lu, A);
  kernels::lu_factor(A.dtype(), count, n, n, lu.data(), ints_of(pivots), ints_of(info));
  return {n, count, ints_of(pivots)};
}

void determinants(const Tensor& result, const Tensor& lu, const Tensor& pivots) {
  const int64_t n = rows(lu);
  dispatch(lu.dtype(), [&](auto* null) {
    using T = pointee<decltype(null)>;
    if constexpr (is_differentiable(DTypeOf<T>::value) && !is_half(DTypeOf<T>::value)) {
      for (int64_t i = 0; i < result.numel(); ++i) {
        const T* const m = lu.ptr<T>() + i * n * n;
        T product(1);
        for (int64_t k = 0; k < n; ++k) product *= m[k * (n + 1)];
        result.ptr<T>()[i] = product * T(float(exchanges_sign(ints_of(pivots) + i * n, n)));
      }
    }
  });
}

void infer_factors(Infer& r, const Tensor& A) {
  infer_columns(r, A.sizes(), A.dtype(), A.device());
  r.result({A->sizes, size_t(A.dim() - 1)}, DType::Int32, A.device());
}

// A diagonal matrix for each number of `values` (...): (..., n, n).
Tensor multiples_of_identity(const Tensor& values, int64_t n) {
  Dims sizes(values.sizes());
  sizes.push_back(n);
  return diag_embed(expand(unsqueeze(values, -1), sizes, false), 0, -2, -1);
}

}  // namespace

const auto det_factored = define<Three(Tensor)>(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)")
  .doc("Determinants (...) of square matrices, with the factors they were found from.")
  .forms(Hidden)
  .nondiff("LU")
  .infer([](Infer& r, const Tensor& A) {
    check_square("linalg.det", A);
    check_float("linalg.det", A);
    check_lapack("lu_cpu", A);
    r.result(batch_sizes(A), A.dtype(), A.device());
    infer_factors(r, A);
  })
  .kernel([](Tensor& result, Tensor& lu, Tensor& pivots, const Tensor& A) {
    factor(A, lu, pivots);
    determinants(result, lu, pivots);
  })
  .grad("A", "grad.result, result, A, LU, pivots",
        [](const Tensor& grad, const Tensor& result, const Tensor& A, const Tensor& lu,
           const Tensor& pivots) -> Tensor {
    if (!grad) return Tensor();
    const Tensor right = multiples_of_identity(grad * rl::conj(result), rows(A));
    if (grad_enabled() || A->is(kWrapped)) return linalg_solve(adjoint_of(A), right);
    // A determinant is smooth: a singular matrix has the gradient of a neighbour.
    const Tensor diagonal_u = main_diagonal(lu);
    const double tiny = real_of(lu.dtype()) == DType::Double ? 2.220446049250313e-16
                                                             : 1.1920928955078125e-07;
    if (!lu.is_meta() && any(eq(diagonal_u, Scalar(0))).ptr<bool>()[0]) {
      const Tensor near = column_copy(lu), values = empty(result.sizes(), lu.dtype());
      copy_data(main_diagonal(near), where(eq(diagonal_u, Scalar(0)), Scalar(tiny), diagonal_u));
      determinants(values, near, pivots);
      const Tensor scaled = multiples_of_identity(grad * rl::conj(values), rows(A));
      return lu_solve_op(near, pivots, scaled, true, true);
    }
    return lu_solve_op(lu, pivots, right, true, true);
  });

const auto det = define<Tensor(Tensor)>("linalg_det(Tensor A) -> Tensor")
  .doc(R"(
    Determinants (...) of square matrices (..., n, n).

    >>> torch.linalg.det(torch.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.0000)
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A) { return std::get<0>(det_factored(A)); });

const auto det_plain = define<Tensor(Tensor)>("det(Tensor self) -> Tensor")
  .doc("The same as `linalg.det`.")
  .forms(Function | Method)
  .composite([](const Tensor& self) { return std::get<0>(det_factored(self)); });

const auto slogdet_factored = define<Four(Tensor)>(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)")
  .doc("Signs and logarithms (...) of determinants, with the factors they were found from.")
  .forms(Hidden)
  .nondiff("LU")
  .infer([](Infer& r, const Tensor& A) {
    check_square("linalg.slogdet", A);
    check_float("linalg.slogdet", A, false);
    r.result(batch_sizes(A), A.dtype(), A.device());
    r.result(batch_sizes(A), real_of(A.dtype()), A.device());
    infer_factors(r, A);
  })
  .kernel([](Tensor& sign, Tensor& logabsdet, Tensor& lu, Tensor& pivots, const Tensor& A) {
    const LU f = factor(A, lu, pivots);
    dispatch(A.dtype(), [&](auto* null) {
      using T = pointee<decltype(null)>;
      if constexpr (is_differentiable(DTypeOf<T>::value) && !is_half(DTypeOf<T>::value)) {
        using R = decltype(std::abs(T()));
        for (int64_t i = 0; i < f.count; ++i) {
          const T* const m = lu.ptr<T>() + i * f.n * f.n;
          T unit = T(float(exchanges_sign(f.pivots + i * f.n, f.n)));
          R sum = 0;
          for (int64_t k = 0; k < f.n; ++k) {
            const T u = m[k * (f.n + 1)];
            const R size = std::abs(u);
            unit *= size == 0 ? T(0) : u / size;
            sum += std::log(size);
          }
          sign.ptr<T>()[i] = unit;
          logabsdet.ptr<R>()[i] = sum;
        }
      }
    });
  })
  .grad("A", "grad.sign, grad.logabsdet, A, sign, LU, pivots",
        [](const Tensor& grad_sign, const Tensor& grad_log, const Tensor& A, const Tensor& sign,
           const Tensor& lu, const Tensor& pivots) -> Tensor {
    const bool turns = A.is_complex() && grad_sign;
    if (!turns && !grad_log) return Tensor();
    // With z = tr(A^-1 dA): d log|det| = Re z, d sign = i sign Im z.
    Tensor g;
    if (grad_log) g = A.is_complex() ? to_dtype(grad_log, A.dtype()) : grad_log;
    if (turns) {
      const Tensor w = rl::conj(grad_sign) * sign;
      const Tensor turn = (rl::conj(w) - w) * Scalar(0.5);  // -i Im(w)
      g = g ? Tensor(g + turn) : turn;
    }
    const Tensor right = multiples_of_identity(g, rows(A));
    if (grad_enabled() || has_tangent(A)) return linalg_solve(adjoint_of(A), right);
    return lu_solve_op(lu, pivots, right, true, true);
  });

const auto slogdet = define<Two(Tensor)>(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)")
  .doc(R"(
    Signs and logarithms of absolute values of determinants (...) of square matrices.

    >>> torch.linalg.slogdet(torch.tensor([[1., 2.], [3., 4.]])).sign
    tensor(-1.)
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A) {
    const Four made = slogdet_factored(A);
    return Two{std::get<0>(made), std::get<1>(made)};
  });

const auto slogdet_plain = define<Two(Tensor)>(
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)")
  .doc("The same as `linalg.slogdet`.")
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& A) {
    const Four made = slogdet_factored(A);
    return Two{std::get<0>(made), std::get<1>(made)};
  });

const auto logdet = define<Tensor(Tensor)>("logdet(Tensor self) -> Tensor")
  .doc(R"(
    Logarithms (...) of determinants: NaN where a real one is negative, -inf where it is zero.

    >>> torch.logdet(torch.eye(2))
    tensor(0.)
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) -> Tensor {
    check_square("logdet", self);
    check_float("logdet", self, false);
    const Four made = slogdet_factored(self);
    const Tensor &sign = std::get<0>(made), &size = std::get<1>(made);
    if (self.is_complex()) return log(sign) + size;
    return where(eq(sign, Scalar(-1)), Scalar(std::numeric_limits<double>::quiet_NaN()), size);
  });

}  // namespace rl::ops
