// Pseudo-inverses and ranks: what is left of a matrix without its small singular values.
#include <algorithm>
#include <limits>

#include "ops/linalg.h"

namespace rl::ops {
namespace {

using Text = std::string_view;

double epsilon_of(DType t) {
  switch (real_of(t)) {
    case DType::Double: return std::numeric_limits<double>::epsilon();
    case DType::Float: return std::numeric_limits<float>::epsilon();
    default: fail(ErrorKind::Runtime,
                  "This function doesn't handle types other than float and double");
  }
}

// Which singular values count: those above max(atol, rtol * the largest).
Tensor threshold(const char* name, const Tensor& self, const Tensor& largest, Tensor atol,
                 Tensor rtol) {
  const DType real = largest.dtype();
  for (const auto& [t, what] : {std::pair{atol, "atol"}, std::pair{rtol, "rtol"}})
    check(!t || !t.is_complex(), name, ": ", what, " tensor of complex type is not supported. Got ",
          t ? type_name_of(t.dtype()) : "");
  const double usual = epsilon_of(self.dtype()) * double(std::max(rows(self), columns(self)));
  const auto column = [&](const Tensor& t) { return unsqueeze(to_dtype(t, real), -1); };
  Tensor relative;
  if (rtol) {
    relative = column(rtol) * largest;
  } else if (atol) {
    const Tensor a = column(atol);
    relative = where(gt(a, Scalar(0)), Scalar(0), largest * Scalar(usual));
  } else {
    relative = largest * Scalar(usual);
  }
  return atol ? Tensor(maximum(column(atol), relative)) : relative;
}

Tensor number_tensor(MaybeDouble x, const Tensor& self) {
  if (!x) return Tensor();
  return full(Ints(), Scalar(*x), self.is_complex() ? real_of(self.dtype())
              : is_floating(self.dtype()) ? self.dtype() : DType::Float, self.device());
}

Tensor magnitudes_of(const Tensor& self, bool hermitian) {
  return hermitian ? abs(eigvalsh(self, Text("L"))) : Tensor(svdvals(self));
}

Tensor rank_of(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  check_matrix_shape("torch.linalg.matrix_rank", self, "input");
  epsilon_of(self.dtype());
  NoGrad quiet;
  const Tensor a = detached(self);
  if (a.numel() == 0) return zeros(batch_sizes(a), DType::Int64, a.device());
  const Tensor s = magnitudes_of(a, hermitian);
  const Tensor largest = amax(s, Ints{-1}, true);
  const Tensor least = threshold("torch.linalg.matrix_rank", a, largest, atol, rtol);
  return sum_dim(gt(s, least), Ints{-1}, false);
}

Tensor pinv_forward(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (self.numel() == 0)
    return empty(with_matrix(batch_sizes(self), columns(self), rows(self)), self.dtype(),
                 self.device());
  if (hermitian) {
    const Two made = eigh(self, Text("L"));
    const Tensor size = abs(made.first);
    const Tensor least =
        threshold("torch.linalg.pinv", self, amax(size, Ints{-1}, true), atol, rtol);
    const Tensor inverse = where(gt(size, least), reciprocal(made.first), Scalar(0));
    return matmul(made.second * unsqueeze(inverse, -2), adjoint_of(made.second));
  }
  const Three made = linalg_svd(self, false);
  const Tensor& S = std::get<1>(made);
  const Tensor least = threshold("torch.linalg.pinv", self, narrow(S, -1, 0, 1), atol, rtol);
  const Tensor inverse = where(gt(S, least), reciprocal(S), Scalar(0));
  return matmul(adjoint_of(std::get<2>(made)) * unsqueeze(inverse, -2),
                adjoint_of(std::get<0>(made)));
}

}  // namespace

// Golub & Pereyra 1973: the differential of a pseudo-inverse of constant rank.
Tensor pinv_gradient(const Tensor& grad, const Tensor& pinv, const Tensor& A) {
  const Tensor ph = adjoint_of(pinv), gh = adjoint_of(grad);
  const Tensor ghp = matmul(gh, pinv), pgh = matmul(pinv, gh);
  const Tensor left = matmul(ghp - matmul(A, matmul(pinv, ghp)), ph);
  const Tensor right = matmul(ph, pgh - matmul(matmul(pgh, pinv), A));
  return -adjoint_of(matmul(pinv, ghp)) + left + right;
}

const Op<Tensor(Tensor, Tensor, Tensor, bool)> pinv_tensors =
    define<Tensor(Tensor, Tensor, Tensor, bool)>(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None,"
    " bool hermitian=False) -> Tensor")
  .doc(R"(
    Pseudo-inverses (..., n, m) of matrices (..., m, n). Singular values up to
    `max(atol, rtol * the largest)` count as zero.

    >>> torch.linalg.pinv(torch.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
  )")
  .out({.text = "linalg.pinv: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .produce([](const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
    const bool known = self.dim() >= 2 && is_differentiable(self.dtype()) && !is_half(self.dtype());
    check(known, "linalg.pinv(", type_name_of(self.dtype()), "{", self.sizes(), "}): expected a "
          "tensor with 2 or more dimensions of float, double, cfloat or cdouble types");
    NoGrad quiet;
    return pinv_forward(detached(self), atol, rtol, hermitian);
  })
  .grad("self", "grad, result, self",
        [](const Tensor& grad, const Tensor& result, const Tensor& self) {
    return pinv_gradient(grad, result, self);
  });

const auto pinv_numbers =
    define<Tensor(Tensor, MaybeDouble, MaybeDouble, bool)>(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None,"
    " bool hermitian=False) -> Tensor")
  .out({.text = "linalg.pinv: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, MaybeDouble atol, MaybeDouble rtol,
                bool hermitian) {
    return pinv_tensors(self, number_tensor(atol, self), number_tensor(rtol, self), hermitian);
  });

const auto pinv_rcond = define<Tensor(Tensor, double, bool)>(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor")
  .out({.text = "linalg.pinv: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, double rcond, bool hermitian) {
    return pinv_tensors(self, number_tensor(0.0, self), number_tensor(rcond, self), hermitian);
  });

const auto pinv_rcond_tensor = define<Tensor(Tensor, Tensor, bool)>(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor")
  .out({.text = "linalg.pinv: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, const Tensor& rcond, bool hermitian) {
    return pinv_tensors(self, number_tensor(0.0, self), rcond, hermitian);
  });

const auto pinverse = define<Tensor(Tensor, double)>(
    "pinverse(Tensor self, float rcond=1e-15) -> Tensor")
  .doc("Pseudo-inverses; `linalg.pinv` with a tolerance of `rcond` times the largest value.")
  .forms(Function | Method)
  .composite([](const Tensor& self, double rcond) {
    return pinv_tensors(self, number_tensor(0.0, self), number_tensor(rcond, self), false);
  });

const auto rank_numbers =
    define<Tensor(Tensor, MaybeDouble, MaybeDouble, bool)>(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None,"
    " bool hermitian=False) -> Tensor")
  .out({.text = "torch.linalg.matrix_rank: Expected result to be safely castable from %W "
                "dtype, but got result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, MaybeDouble atol, MaybeDouble rtol,
                bool hermitian) {
    return rank_of(self, number_tensor(atol, self), number_tensor(rtol, self), hermitian);
  });

const auto rank_tensors = define<Tensor(Tensor, Tensor, Tensor, bool)>(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None,"
    " bool hermitian=False) -> Tensor")
  .doc(R"(
    Ranks (...) of matrices: how many singular values are above `max(atol, rtol * the largest)`.

    >>> torch.linalg.matrix_rank(torch.tensor([[1., 2.], [2., 4.]]))
    tensor(1)
  )")
  .out({.text = "torch.linalg.matrix_rank: Expected result to be safely castable from %W "
                "dtype, but got result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
    return rank_of(self, atol, rtol, hermitian);
  });

const auto rank_tolerance = define<Tensor(Tensor, double, bool)>(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor")
  .out({.text = "torch.linalg.matrix_rank: Expected result to be safely castable from %W "
                "dtype, but got result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, double tol, bool hermitian) {
    return rank_of(self, number_tensor(tol, self), number_tensor(0.0, self), hermitian);
  });

const auto rank_tolerance_tensor = define<Tensor(Tensor, Tensor, bool)>(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor")
  .out({.text = "torch.linalg.matrix_rank: Expected result to be safely castable from %W "
                "dtype, but got result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, const Tensor& tol, bool hermitian) {
    return rank_of(self, tol, number_tensor(0.0, self), hermitian);
  });

}  // namespace rl::ops
