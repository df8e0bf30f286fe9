// Bessel and Airy functions, the incomplete gamma functions; none but these has a gradient.
#include "kernels/special_table.h"
#include "ops/elementwise.h"

namespace rl::ops {
namespace {

// A function of torch.special alone, without a gradient; integers become floats.
template <const kernels::Pointwise& kernel>
Op<Tensor(Tensor)> plain(const char* signature, const char* doc) {
  return define<Tensor(Tensor)>(signature)
      .doc(doc)
      .forms(Special | Out)
      .pointwise(kernel, Promote::Float)
      .infer([](Infer& r, const Tensor& self) {
        check(!is_half(r[0].dtype) || self.is_meta(), ErrorKind::NotImplemented, "\"", kernel.name,
              "\" not implemented for '", type_name_of(r[0].dtype), "'");
      });
}

}  // namespace

const auto bessel_j0 = plain<kernels::bessel_j0>(
    "bessel_j0(Tensor self) -> Tensor", R"(
    The Bessel function of the first kind, order 0.

    >>> torch.special.bessel_j0(torch.tensor([0., 1.]))
    tensor([1.0000, 0.7652])
  )");

const auto bessel_j1 = plain<kernels::bessel_j1>(
    "bessel_j1(Tensor self) -> Tensor", R"(
    The Bessel function of the first kind, order 1.

    >>> torch.special.bessel_j1(torch.tensor([0., 1.]))
    tensor([0.0000, 0.4401])
  )");

const auto bessel_y0 = plain<kernels::bessel_y0>(
    "bessel_y0(Tensor self) -> Tensor", R"(
    The Bessel function of the second kind, order 0; NaN for negative numbers.

    >>> torch.special.bessel_y0(torch.tensor([0., 1.]))
    tensor([  -inf, 0.0883])
  )");

const auto bessel_y1 = plain<kernels::bessel_y1>(
    "bessel_y1(Tensor self) -> Tensor", R"(
    The Bessel function of the second kind, order 1; NaN for negative numbers.

    >>> torch.special.bessel_y1(torch.tensor([0., 1.]))
    tensor([   -inf, -0.7812])
  )");

const auto modified_bessel_i0 = plain<kernels::modified_bessel_i0>(
    "modified_bessel_i0(Tensor self) -> Tensor", R"(
    The modified Bessel function of the first kind, order 0.

    >>> torch.special.modified_bessel_i0(torch.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
  )");

const auto modified_bessel_i1 = plain<kernels::modified_bessel_i1>(
    "modified_bessel_i1(Tensor self) -> Tensor", R"(
    The modified Bessel function of the first kind, order 1.

    >>> torch.special.modified_bessel_i1(torch.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
  )");

const auto modified_bessel_k0 = plain<kernels::modified_bessel_k0>(
    "modified_bessel_k0(Tensor self) -> Tensor", R"(
    The modified Bessel function of the second kind, order 0; NaN for negative numbers.

    >>> torch.special.modified_bessel_k0(torch.tensor([0., 1.]))
    tensor([   inf, 0.4210])
  )");

const auto modified_bessel_k1 = plain<kernels::modified_bessel_k1>(
    "modified_bessel_k1(Tensor self) -> Tensor", R"(
    The modified Bessel function of the second kind, order 1; NaN for negative numbers.

    >>> torch.special.modified_bessel_k1(torch.tensor([0., 1.]))
    tensor([   inf, 0.6019])
  )");

const auto scaled_modified_bessel_k0 = plain<kernels::scaled_modified_bessel_k0>(
    "scaled_modified_bessel_k0(Tensor x) -> Tensor", R"(
    modified_bessel_k0(x) times exp(x).

    >>> torch.special.scaled_modified_bessel_k0(torch.tensor([1., 100.]))
    tensor([1.1445, 0.1252])
  )");

const auto scaled_modified_bessel_k1 = plain<kernels::scaled_modified_bessel_k1>(
    "scaled_modified_bessel_k1(Tensor x) -> Tensor", R"(
    modified_bessel_k1(x) times exp(x).

    >>> torch.special.scaled_modified_bessel_k1(torch.tensor([1., 100.]))
    tensor([1.6362, 0.1258])
  )");

const auto spherical_bessel_j0 = plain<kernels::spherical_bessel_j0>(
    "spherical_bessel_j0(Tensor x) -> Tensor", R"(
    The spherical Bessel function of the first kind, order 0: sin(x) / x.

    >>> torch.special.spherical_bessel_j0(torch.tensor([0., 1.]))
    tensor([1.0000, 0.8415])
  )");

const auto airy_ai = plain<kernels::airy_ai>(
    "airy_ai(Tensor x) -> Tensor", R"(
    The Airy function Ai.

    >>> torch.special.airy_ai(torch.tensor([0., 1.]))
    tensor([0.3550, 0.1353])
  )");

namespace {

Tensor refuse_gamma(const char* name) {
  fail(ErrorKind::NotImplemented, "the derivative for '", name, ": input' is not implemented.");
}
// d/dx of P(a, x): x^(a - 1) exp(-x) / gamma(a).
Tensor gamma_slope(const Tensor& a, const Tensor& x) {
  return exp((a - Scalar(1)) * log(x) - x - lgamma(a));
}

}  // namespace

const auto igamma = define<Tensor(Tensor, Tensor)>("igamma(Tensor input, Tensor other) -> Tensor")
  .doc(R"(
    The regularized lower incomplete gamma function P(input, other).

    >>> torch.igamma(torch.tensor([1., 4.]), torch.tensor([1., 4.]))
    tensor([0.6321, 0.5665])
  )")
  .alias("special.gammainc")
  .forms(kAllForms)
  .pointwise(kernels::igamma)
  .grad("input", "grad", [](const Tensor&) { return refuse_gamma("igamma"); })
  .grad("other", "grad, input, other",
        [](const Tensor& grad, const Tensor& input, const Tensor& other) {
    return grad * gamma_slope(input, other);
  });

const auto igammac = define<Tensor(Tensor, Tensor)>("igammac(Tensor input, Tensor other) -> Tensor")
  .doc(R"(
    The regularized upper incomplete gamma function Q(input, other).

    >>> torch.igammac(torch.tensor([1., 4.]), torch.tensor([1., 4.]))
    tensor([0.3679, 0.4335])
  )")
  .alias("special.gammaincc")
  .forms(kAllForms)
  .pointwise(kernels::igammac)
  .grad("input", "grad", [](const Tensor&) { return refuse_gamma("igammac"); })
  .grad("other", "grad, input, other",
        [](const Tensor& grad, const Tensor& input, const Tensor& other) {
    return grad * -gamma_slope(input, other);
  });

}  // namespace rl::ops
