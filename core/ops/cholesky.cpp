// Cholesky's factors of positive-definite matrices, and the factors of indefinite ones.
#include "ops/linalg.h"

namespace rl::ops {
namespace {

// The factor of A in `out`, zero in the other triangle.
void factor_into(const Tensor& out, const Tensor& info, const Tensor& A, bool upper) {
  NoGrad quiet;
  copy_data(out, upper ? triu(A, 0) : tril(A, 0));
  kernels::cholesky(A.dtype(), batch_count(A), rows(A), out.data(), upper, ints_of(info));
}

// Murray 2016, "Differentiation of the Cholesky decomposition", eq. 10, with adjoints.
Tensor cholesky_gradient(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor L = upper ? adjoint_of(factor) : factor;
  const Tensor g = upper ? adjoint_of(grad) : grad;
  const Tensor lower = tril(matmul(adjoint_of(L), g), 0);
  const Tensor both = (lower + adjoint_of(tril(lower, -1))) * Scalar(0.5);
  const Tensor half = solve_triangular(adjoint_of(L), both, true, true, false);
  return solve_triangular(L, half, false, false, false);
}

}  // namespace

const auto cholesky_ex = define<Two(Tensor, bool, bool)>(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False)"
    " -> (Tensor L, Tensor info)")
  .doc(R"(
    Cholesky's factors (..., n, n), A = L L^H (or U^H U if `upper`), and for each matrix the order
    of the first minor that is not positive-definite, or 0. Raises only if `check_errors`.
  )")
  .forms(Linalg | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& A, bool, bool) {
    check_square("linalg.cholesky", A);
    check_float("linalg.cholesky", A);
    check_lapack("cholesky_cpu", A);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
    r.result(batch_sizes(A), DType::Int32, A.device());
  })
  .kernel([](Tensor& L, Tensor& info, const Tensor& A, bool upper, bool check_errors) {
    factor_into(L, info, A, upper);
    if (check_errors) check_infos("linalg.cholesky_ex", info, A.dim() == 2);
  })
  .grad("self", "grad.L, upper, L", [](const Tensor& grad, bool upper, const Tensor& L) -> Tensor {
    return grad ? cholesky_gradient(grad, L, upper) : Tensor();
  });

const auto linalg_cholesky = define<Tensor(Tensor, bool)>(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor")
  .doc(R"(
    Cholesky's factors (..., n, n) of Hermitian positive-definite matrices: A = L L^H. Reads one
    triangle. Raises LinAlgError for a matrix that is not positive-definite.

    >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 2.]]))
    tensor([[2., 0.],
            [1., 1.]])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, bool upper) {
    const Two made = cholesky_ex(A, upper);
    check_infos("linalg.cholesky", made.second, A.dim() == 2);
    return made.first;
  });

const auto cholesky_plain = define<Tensor(Tensor, bool)>(
    "cholesky(Tensor self, bool upper=False) -> Tensor")
  .doc("Cholesky's factors; deprecated in favor of `linalg.cholesky`.")
  .out({.text = "cholesky: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& A, bool) {
    check_square("cholesky", A);
    check_lapack("cholesky_cpu", A);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
  })
  .kernel([](Tensor& result, const Tensor& A, bool upper) {
    static bool said = false;
    warn_once(said, "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be "
              "removed in a future PyTorch release.\nL = torch.cholesky(A)\nshould be replaced "
              "with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\nshould "
              "be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce "
              "equivalent results for all valid (symmetric positive definite) inputs.");
    const Tensor info = empty(batch_sizes(A), DType::Int32);
    factor_into(result, info, A, upper);
    check_infos("cholesky", info, A.dim() == 2);
  })
  .grad("self", "grad, upper, result", [](const Tensor& grad, bool upper, const Tensor& L) {
    return cholesky_gradient(grad, L, upper);
  });

const Op<Tensor(Tensor, Tensor, bool)> cholesky_solve = define<Tensor(Tensor, Tensor, bool)>(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor")
  .doc(R"(
    Solutions of `A @ X = self` (..., n, k) from Cholesky's factors of A.

    >>> torch.cholesky_solve(torch.tensor([[4.]]), torch.tensor([[2.]]))
    tensor([[1.]])
  )")
  .out({.text = "cholesky_solve: Expected result to be safely castable from %W dtype, but "
                "got result with dtype %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& factor, bool) {
    check(self.dim() >= 2, "b should have at least 2 dimensions, but has ", self.dim(),
          " dimensions instead");
    check(factor.dim() >= 2, "u should have at least 2 dimensions, but has ", factor.dim(),
          " dimensions instead");
    check(self.device() == factor.device(), "Expected b and A to be on the same device, but found "
          "b on ", name_of(self.device().type), " and A on ", name_of(factor.device().type),
          " instead.");
    check(self.dtype() == factor.dtype(), "Expected b and A to have the same dtype, but found b of "
          "type ", type_name_of(self.dtype()), " and A of type ", type_name_of(factor.dtype()),
          " instead.");
    check(rows(factor) == columns(factor), "A must be batches of square matrices, but they are ",
          rows(factor), " by ", columns(factor), " matrices");
    check(rows(factor) == rows(self), "Incompatible matrix sizes for cholesky_solve: each A matrix "
          "is ", rows(factor), " by ", rows(factor), " but each b matrix is ", rows(self), " by ",
          columns(self));
    check_lapack("cholesky_solve_cpu", self);
    infer_columns(r, with_matrix(broadcast(batch_sizes(self), batch_sizes(factor)), rows(self),
                                 columns(self)), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& factor, bool upper) {
    NoGrad quiet;
    const Tensor f = expand(detached(factor), with_matrix(batch_sizes(result), rows(factor),
                                                          columns(factor)), false);
    copy_data(result, expand(detached(self), result.sizes(), false));
    kernels::cholesky_solve(self.dtype(), batch_count(result), rows(result), columns(result),
                            column_major(f).data(), upper, result.data());
  })
  .grad("self, input2", "grad, self, input2, result, upper, needs",
        [](const Tensor& grad, const Tensor&, const Tensor& factor, const Tensor& result,
           bool upper, Needs needs) -> Two {
    Two made;
    made.first = cholesky_solve(grad, factor, upper);
    if (needs[1]) {
      const Tensor common = matmul(made.first, adjoint_of(result));
      const Tensor both = common + adjoint_of(common);
      made.second = upper ? -matmul(factor, both) : -matmul(both, factor);
    }
    return made;
  });

const auto cholesky_inverse = define<Tensor(Tensor, bool)>(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor")
  .doc(R"(
    Inverses (..., n, n) of positive-definite matrices from their Cholesky factors.

    >>> torch.cholesky_inverse(torch.tensor([[2.]]))
    tensor([[0.2500]])
  )")
  .out({.text = "cholesky_inverse: Expected result to be safely castable from %W dtype, but "
                "got result with dtype %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& A, bool) {
    check_square("cholesky_inverse", A);
    check_lapack("cholesky_inverse_out_cpu", A);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
  })
  .kernel([](Tensor& result, const Tensor& A, bool upper) {
    const Tensor info = empty(batch_sizes(A), DType::Int32);
    copy_data(result, A);
    kernels::cholesky_inverse(A.dtype(), batch_count(A), rows(A), result.data(), upper,
                              ints_of(info));
    check_infos("cholesky_inverse", info, A.dim() == 2);
  })
  .grad("self", "grad, self, upper, result",
        [](const Tensor& grad, const Tensor& factor, bool upper, const Tensor& inverse) {
    const Tensor common = matmul(matmul(inverse, grad + adjoint_of(grad)), inverse);
    return upper ? -matmul(factor, common) : -matmul(common, factor);
  });

// ---- LDL

const auto ldl_factor_ex = define<Three(Tensor, bool, bool)>(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False)"
    " -> (Tensor LD, Tensor pivots, Tensor info)")
  .doc(R"(
    The factors of symmetric (or Hermitian) matrices, A = L D L^T, in LAPACK's form: `ldl_solve`
    takes them. For each matrix the number of the first zero block of D, or 0.
  )")
  .forms(Linalg | Out)
  .exact_out()
  .no_derivative("derivative for aten::linalg_ldl_factor_ex is not implemented")
  .infer([](Infer& r, const Tensor& A, bool, bool) {
    check_square("torch.linalg.ldl_factor_ex", A);
    check_float("torch.linalg.ldl_factor_ex", A);
    check_lapack("ldl_factor_kernel_cpu", A);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
    r.result({A->sizes, size_t(A.dim() - 1)}, DType::Int32, A.device());
    r.result(batch_sizes(A), DType::Int32, A.device());
  })
  .kernel([](Tensor& ld, Tensor& pivots, Tensor& info, const Tensor& A, bool hermitian,
             bool check_errors) {
    NoGrad quiet;
    copy_data(ld, tril(A, 0));
    kernels::ldl_factor(A.dtype(), batch_count(A), rows(A), ld.data(), hermitian, ints_of(pivots),
                        ints_of(info));
    if (check_errors) check_infos("torch.linalg.ldl_factor_ex", info, A.dim() == 2);
  });

const auto ldl_factor = define<Two(Tensor, bool)>(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)")
  .doc("The factors of symmetric or Hermitian matrices, as `ldl_solve` takes them.")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, bool hermitian) {
    const Three made = ldl_factor_ex(A, hermitian);
    check_infos("torch.linalg.ldl_factor", std::get<2>(made), A.dim() == 2);
    return Two{std::get<0>(made), std::get<1>(made)};
  });

const auto ldl_solve = define<Tensor(Tensor, Tensor, Tensor, bool)>(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor")
  .doc("Solutions of `A @ X = B` from what `ldl_factor` gave.")
  .forms(Linalg | Out)
  .exact_out()
  .no_derivative("derivative for aten::linalg_ldl_solve is not implemented")
  .infer([](Infer& r, const Tensor& ld, const Tensor& pivots, const Tensor& B, bool) {
    const char* const name = "torch.linalg.ldl_solve";
    check_square(name, ld);
    check_float(name, ld);
    wrap_dim(-2, B.dim());
    check(rows(ld) == rows(B), "Incompatible matrix sizes for ", name, ": each A matrix is ",
          rows(ld), " by ", rows(ld), " but each b matrix is ", rows(B), " by ", columns(B));
    check(ld.dtype() == B.dtype(), "Expected b and A to have the same dtype, but found b of type ",
          type_name_of(B.dtype()), " and A of type ", type_name_of(ld.dtype()), " instead.");
    check(Ints(ld->sizes, size_t(ld.dim() - 1)) == pivots.sizes(), name, ": Expected LD.shape[:-1] "
          "and pivots.shape to be the same, but got pivots with shape ", pivots.sizes(),
          " instead");
    check(is_integral(pivots.dtype()), name, ": Expected pivots to be integers. Got ",
          type_name_of(pivots.dtype()));
    check_lapack("ldl_solve_kernel_cpu", ld);
    infer_columns(r, with_matrix(broadcast(batch_sizes(ld), batch_sizes(B)), rows(B), columns(B)),
                  B.dtype(), B.device());
  })
  .kernel([](Tensor& result, const Tensor& ld, const Tensor& pivots, const Tensor& B,
             bool hermitian) {
    NoGrad quiet;
    const int64_t n = rows(ld);
    const Dims batch(batch_sizes(result));
    const Tensor factors = expand(detached(ld), with_matrix(batch, n, n), false);
    const Tensor exchanges = empty(with_vector(batch, n), DType::Int32);
    copy_data(exchanges, expand(detached(pivots), exchanges.sizes(), false));
    for (int64_t i = 0; i < exchanges.numel(); ++i) {
      const int64_t p = ints_of(exchanges)[i], size = p < 0 ? -p : p;
      check(size >= 1 && size <= n, "torch.linalg.ldl_solve: pivots must be between 1 and ", n,
            " or their negatives. Did you properly pass the result of ldl_factor?");
    }
    copy_data(result, expand(detached(B), result.sizes(), false));
    kernels::ldl_solve(ld.dtype(), batch_count(result), n, columns(result),
                       column_major(factors).data(), ints_of(exchanges), result.data(), hermitian);
  });

}  // namespace rl::ops
