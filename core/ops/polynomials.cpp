// Orthogonal polynomials of torch.special; they have no gradients.
#include "kernels/special_table.h"
#include "ops/elementwise.h"

namespace rl::ops {
namespace {

template <const kernels::Pointwise& kernel> void refuse_halves(const Infer& r, const Tensor& t) {
  check(!is_half(r[0].dtype) || t.is_meta(), ErrorKind::NotImplemented, "\"", kernel.name,
        "\" not implemented for '", type_name_of(r[0].dtype), "'");
}

// Degrees below 0 give 0. A tensor and a number may stand in either place.
template <const kernels::Pointwise& kernel> bool polynomial(const char* name, const char* doc) {
  define<Tensor(Tensor, Tensor)>(text(name, "(Tensor x, Tensor n) -> Tensor"))
      .doc(doc)
      .forms(Special | Out)
      .pointwise(kernel, Promote::Float)
      .infer([](Infer& r, const Tensor& x, const Tensor&) { refuse_halves<kernel>(r, x); });
  define<Tensor(Scalar, Tensor)>(text(name, ".x_scalar(Scalar x, Tensor n) -> Tensor"))
      .doc(doc)
      .forms(Special | Out)
      .number("x")
      .pointwise(kernel, Promote::Float)
      .infer([](Infer& r, const Scalar&, const Tensor& n) { refuse_halves<kernel>(r, n); });
  define<Tensor(Tensor, Scalar)>(text(name, ".n_scalar(Tensor x, Scalar n) -> Tensor"))
      .doc(doc)
      .forms(Special | Out)
      .number("n")
      .pointwise(kernel, Promote::Float)
      .infer([](Infer& r, const Tensor& x, const Scalar&) { refuse_halves<kernel>(r, x); });
  return true;
}

const bool chebyshev_polynomial_t = polynomial<kernels::chebyshev_polynomial_t>(
    "chebyshev_polynomial_t",
    "Chebyshev polynomials of the first kind: of degree n at x.");
const bool chebyshev_polynomial_u = polynomial<kernels::chebyshev_polynomial_u>(
    "chebyshev_polynomial_u",
    "Chebyshev polynomials of the second kind: of degree n at x.");
const bool chebyshev_polynomial_v = polynomial<kernels::chebyshev_polynomial_v>(
    "chebyshev_polynomial_v",
    "Chebyshev polynomials of the third kind: of degree n at x.");
const bool chebyshev_polynomial_w = polynomial<kernels::chebyshev_polynomial_w>(
    "chebyshev_polynomial_w",
    "Chebyshev polynomials of the fourth kind: of degree n at x.");
const bool shifted_chebyshev_polynomial_t = polynomial<kernels::shifted_chebyshev_polynomial_t>(
    "shifted_chebyshev_polynomial_t",
    "Chebyshev polynomials of the first kind, of 2x - 1: of degree n at x.");
const bool shifted_chebyshev_polynomial_u = polynomial<kernels::shifted_chebyshev_polynomial_u>(
    "shifted_chebyshev_polynomial_u",
    "Chebyshev polynomials of the second kind, of 2x - 1: of degree n at x.");
const bool shifted_chebyshev_polynomial_v = polynomial<kernels::shifted_chebyshev_polynomial_v>(
    "shifted_chebyshev_polynomial_v",
    "Chebyshev polynomials of the third kind, of 2x - 1: of degree n at x.");
const bool shifted_chebyshev_polynomial_w = polynomial<kernels::shifted_chebyshev_polynomial_w>(
    "shifted_chebyshev_polynomial_w",
    "Chebyshev polynomials of the fourth kind, of 2x - 1: of degree n at x.");
const bool hermite_polynomial_h = polynomial<kernels::hermite_polynomial_h>(
    "hermite_polynomial_h",
    "Hermite polynomials as physics has them: of degree n at x.");
const bool hermite_polynomial_he = polynomial<kernels::hermite_polynomial_he>(
    "hermite_polynomial_he",
    "Hermite polynomials as probability theory has them: of degree n at x.");
const bool laguerre_polynomial_l = polynomial<kernels::laguerre_polynomial_l>(
    "laguerre_polynomial_l",
    "Laguerre polynomials: of degree n at x.");
const bool legendre_polynomial_p = polynomial<kernels::legendre_polynomial_p>(
    "legendre_polynomial_p",
    "Legendre polynomials: of degree n at x.");

}  // namespace
}  // namespace rl::ops
