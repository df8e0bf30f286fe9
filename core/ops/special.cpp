// Special functions: errors, gamma and its kin, Bessel functions of imaginary arguments, entropy.
#include <cmath>

#include "base/interrupt.h"
#include "ops/elementwise.h"
#include "ops/promotion.h"

namespace rl::ops {
namespace {

constexpr double kTwoOverRootPi = 1.12837916709551257390, kRootPiOver2 = 0.88622692545275801365;

// A function of torch.special alone; integers become floats.
Op<Tensor(Tensor)> special(const char* name, const kernels::Pointwise& kernel, const char* doc) {
  return define<Tensor(Tensor)>(text(name, "(Tensor self) -> Tensor"))
      .doc(doc)
      .forms(Special | Out)
      .pointwise(kernel, Promote::Float);
}

// PyTorch has no halves for these.
template <const kernels::Pointwise& kernel>
constexpr auto refuse_halves = [](Infer& r, const Tensor& self) {
  check(!is_half(r[0].dtype) || self.is_meta(), ErrorKind::NotImplemented, "\"", kernel.name,
        "\" not implemented for '", type_name_of(r[0].dtype), "'");
};

}  // namespace

const auto erf = unary("erf", kernels::erf_, R"(
    The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.

    >>> torch.erf(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8427])
  )")
  .alias("special.erf")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return exp(-square(self)) * Scalar(kTwoOverRootPi) * grad;
  });

const auto erfc = unary("erfc", kernels::erfc_, R"(
    1 - erf(x), accurate for large x, too.

    >>> torch.erfc(torch.tensor([0., 1.]))
    tensor([1.0000, 0.1573])
  )")
  .alias("special.erfc")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return exp(-square(self)) * Scalar(-kTwoOverRootPi) * grad;
  });

const Op<Tensor(Tensor)> erfinv = unary("erfinv", kernels::erfinv, R"(
    The number whose error function is the input.

    >>> torch.erfinv(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.4769])
  )")
  .alias("special.erfinv")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return exp(square(erfinv(self))) * Scalar(kRootPiOver2) * grad;
  });

const Op<Tensor(Tensor)> erfcx = special("erfcx", kernels::erfcx, R"(
    exp(x^2) erfc(x), without overflow on the way.

    >>> torch.special.erfcx(torch.tensor([0., 1.]))
    tensor([1.0000, 0.4276])
  )")
  .node("SpecialErfcxBackward0")
  .infer(refuse_halves<kernels::erfcx>)
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return (self * result * Scalar(2) - Scalar(kTwoOverRootPi)) * grad;
  });

const auto ndtr = define<Tensor(Tensor)>("ndtr(Tensor self) -> Tensor")
  .doc(R"(
    The probability that a standard normal number is at most x.

    >>> torch.special.ndtr(torch.tensor([0., 1.]))
    tensor([0.5000, 0.8413])
  )")
  .node("MulBackward1")
  .forms(Special | Out)
  .produce([](const Tensor& self) {
    NoGrad quiet;
    const Tensor x = self * Scalar(M_SQRT1_2);
    if (is_half(x.dtype())) return (erf(x) + Scalar(1)) * Scalar(0.5);
    const Tensor tail = erfc(abs(x)) * Scalar(0.5);
    const Tensor middle = (erf(x) + Scalar(1)) * Scalar(0.5);
    return Tensor(where(lt(x, Scalar(-1)), tail, middle));
  })
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * exp(square(self) * Scalar(-0.5)) * Scalar(1 / std::sqrt(2 * M_PI));
  });

const auto ndtri = special("ndtri", kernels::ndtri, R"(
    The number that a standard normal number is below with this probability.

    >>> torch.special.ndtri(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 1.2816])
  )")
  .node("SpecialNdtriBackward0")
  .infer(refuse_halves<kernels::ndtri>)
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * Scalar(std::sqrt(2 * M_PI)) * exp(square(result) * Scalar(0.5));
  });

const auto log_ndtr = special("log_ndtr", kernels::log_ndtr, R"(
    The logarithm of the probability that a standard normal number is at most x.

    >>> torch.special.log_ndtr(torch.tensor([0., -10.]))
    tensor([ -0.6931, -53.2313])
  )")
  .node("SpecialLogNdtrBackward0")
  .infer(refuse_halves<kernels::log_ndtr>)
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    // NaN at -infinity, as in PyTorch.
    const Tensor slope = grad / erfcx(self * Scalar(-M_SQRT1_2)) * Scalar(std::sqrt(2 / M_PI));
    return where(eq(self, Scalar(-INFINITY)), Scalar(NAN), slope);
  });

// ---- Gamma and its kin

const Op<Tensor(Tensor)> lgamma = unary("lgamma", kernels::lgamma_, R"(
    The logarithm of the absolute value of the gamma function.

    >>> torch.lgamma(torch.tensor([1., 4.]))
    tensor([0.0000, 1.7918])
  )")
  .alias("special.gammaln")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * digamma(self);
  });

namespace {

// The n-th derivative of digamma. As a function n comes first, as a method the tensor does.
const Op<Tensor(int64_t, Tensor)> polygamma = define<Tensor(int64_t, Tensor)>(
    "polygamma(int n, Tensor input) -> Tensor")
  .doc(R"(
    The n-th derivative of the digamma function.

    >>> torch.polygamma(1, torch.tensor([1., 2.]))
    tensor([1.6449, 0.6449])
  )")
  .alias("special.polygamma")
  .forms(Function | Out)
  .choose([](int64_t n, const Tensor&) {
    check(n >= 0, "polygamma(n, x) does not support negative n.");
    return Choice{&kernels::polygamma, Promote::Float, 1, {n}};
  })
  .grad("input", "grad, n, input", [](const Tensor& grad, int64_t n, const Tensor& input) {
    return grad * polygamma(n + 1, input);
  });

}  // namespace

const auto polygamma_method = define<Tensor(Tensor, int64_t)>(
    "polygamma.method(Tensor self, int n) -> Tensor")
  .doc("The n-th derivative of the digamma function at the input.")
  .forms(Method | Inplace)
  .composite([](const Tensor& self, int64_t n) { return polygamma(n, self); });

const Op<Tensor(Tensor)> digamma = unary("digamma", kernels::digamma, R"(
    The derivative of the logarithm of the gamma function.

    >>> torch.digamma(torch.tensor([1., 2.]))
    tensor([-0.5772,  0.4228])
  )")
  .alias("special.digamma")
  .alias("special.psi")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * polygamma(int64_t(1), self);
  });

const auto mvlgamma = define<Tensor(Tensor, int64_t)>("mvlgamma(Tensor self, int p) -> Tensor")
  .doc(R"(
    The logarithm of the multivariate gamma function of dimension p.

    >>> torch.mvlgamma(torch.tensor([3.]), 2)
    tensor([1.5502])
  )")
  .alias("special.multigammaln")
  .out({.text = "mvlgamma: result type %I can't be cast to the desired output type %W",
        .inplace_text = "mvlgamma: result type %I can't be cast to the desired output type %W"})
  .forms(kAllForms)
  .infer([](Infer& r, const Tensor& self, int64_t p) {
    check(self.dtype() != DType::Bool, "The input tensor may not be a boolean tensor.");
    check(p >= 1, "p has to be greater than or equal to 1");
    check(!self.is_complex(), ErrorKind::NotImplemented, "\"mvlgamma_cpu\" not implemented for '",
          type_name_of(self.dtype()), "'");
    const DType t = self.is_floating() ? self.dtype() : default_dtype();
    r.result(self.sizes(), dense_strides_like(self), t, self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t p) {
    NoGrad quiet;
    Tensor sum = lgamma(self);
    for (int64_t k = 1; k < p; ++k) {
      poll_interrupt();
      sum = sum + lgamma(self - Scalar(double(k) / 2));
    }
    copy_data(result, sum + Scalar(double(p * (p - 1)) / 4 * std::log(M_PI)));
  })
  .grad("self", "grad, self, p", [](const Tensor& grad, const Tensor& self, int64_t p) {
    Tensor sum = digamma(self);
    for (int64_t k = 1; k < p; ++k) sum = sum + digamma(self - Scalar(double(k) / 2));
    return grad * sum;
  });

const Op<Tensor(Tensor, Tensor)> zeta = define<Tensor(Tensor, Tensor)>(
    "zeta(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The Hurwitz zeta function: the sum of (k + other)^-x over k = 0, 1, ...

    >>> torch.special.zeta(torch.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
  )")
  .node("SpecialZetaBackward0")
  .forms(Special | Out)
  .number("other")
  .pointwise(kernels::zeta, Promote::Float)
  .infer([](Infer& r, const Tensor& self, const Tensor&) { refuse_halves<kernels::zeta>(r, self); })
  .grad("self", "grad", [](const Tensor& grad) -> Tensor {
    fail(ErrorKind::NotImplemented, "the derivative for 'zeta' is not implemented.");
    return grad;
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad * -self * zeta(self + Scalar(1), other);
  });

const Op<Tensor(Scalar, Tensor)> zeta_of_number = define<Tensor(Scalar, Tensor)>(
    "zeta.self_scalar(Scalar self, Tensor other) -> Tensor")
  .doc("The Hurwitz zeta function with one exponent.")
  .node("SpecialZetaBackward1")
  .forms(Special | Out)
  .number("self")
  .pointwise(kernels::zeta, Promote::Float)
  .infer([](Infer& r, const Scalar&, const Tensor& other) {
    refuse_halves<kernels::zeta>(r, other);
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Scalar& self, const Tensor& other) {
    return grad * zeta_of_number(Scalar(self.to_double() + 1), other) * -self;
  });

// ---- Modified Bessel functions of the first kind

const Op<Tensor(Tensor)> i0 = unary("i0", kernels::i0, R"(
    The modified Bessel function of the first kind, order 0.

    >>> torch.i0(torch.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
  )")
  .alias("special.i0")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * i1(self);
  });

const Op<Tensor(Tensor)> i0e = special("i0e", kernels::i0e, R"(
    i0(x) times exp(-|x|).

    >>> torch.special.i0e(torch.tensor([0., 1.]))
    tensor([1.0000, 0.4658])
  )")
  .node("SpecialI0EBackward0")
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return grad * (i1e(self) - sgn(self) * result);
  });

namespace {

// i1 and i1e have slope 1/2 at 0, where the general formula divides by 0.
Tensor near_zero(const Tensor& x) {
  const double least = x.dtype() == DType::Double ? 2.220446049250313e-16 : 1.1920929e-07;
  return logical_not(Tensor(gt(abs(x), Scalar(least))));  // NaN counts as near
}

}  // namespace

const Op<Tensor(Tensor)> i1 = special("i1", kernels::i1, R"(
    The modified Bessel function of the first kind, order 1.

    >>> torch.special.i1(torch.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
  )")
  .node("SpecialI1Backward0")
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    const Tensor zero = near_zero(self), x = where(zero, Scalar(1), self);
    return grad * where(zero, Scalar(0.5), i0(x) - result / x);
  });

const Op<Tensor(Tensor)> i1e = special("i1e", kernels::i1e, R"(
    i1(x) times exp(-|x|).

    >>> torch.special.i1e(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2079])
  )")
  .node("SpecialI1EBackward0")
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    const Tensor zero = near_zero(self), x = where(zero, Scalar(1), self);
    return grad * where(zero, Scalar(0.5), i0e(x) - result * (sgn(x) + reciprocal(x)));
  });

// ---- Entropy, odds, products with logarithms

const auto entr = special("entr", kernels::entr, R"(
    -x log(x); 0 at 0, -infinity below.

    >>> torch.special.entr(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.3466])
  )")
  .node("SpecialEntrBackward0")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * -(log(self) + Scalar(1));
  });

const auto logit_backward = define<Tensor(Tensor, Tensor, MaybeDouble)>(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor")
  .doc("The gradient of `logit`.")
  .forms(Hidden | Out)
  .choose([](const Tensor&, const Tensor&, const MaybeDouble& eps) {
    return Choice{&kernels::logit_backward, Promote::Default, 1, {eps.value_or(-1)}};
  })
  .no_derivative("derivative for aten::logit_backward is not implemented");

const auto logit = define<Tensor(Tensor, MaybeDouble)>(
    "logit(Tensor self, float? eps=None) -> Tensor")
  .doc(R"(
    log(x / (1 - x)), with x first limited to [eps, 1 - eps] where `eps` is given.

    >>> torch.logit(torch.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
  )")
  .alias("special.logit")
  .forms(kAllForms)
  .choose([](const Tensor& self, const MaybeDouble& eps) {
    double least = eps.value_or(-1), most = 1 - least;
    if (eps && is_half(self.dtype())) {  // PyTorch takes the bounds in the input's own dtype
      const auto round = [&](double x) {
        return double(self.dtype() == DType::Half ? to_float(to_half(float(x)))
                                                  : to_float(to_bfloat16(float(x))));
      };
      least = round(least);
      most = round(1 - least);
    }
    return Choice{&kernels::logit, Promote::Float, 2, {least, most}};
  })
  .grad("self", "grad, self, eps",
        [](const Tensor& grad, const Tensor& self, const MaybeDouble& eps) {
    if (!grad_enabled()) return Tensor(logit_backward(grad, self, eps));
    const double least = eps.value_or(0);
    const Tensor inside = logical_and(Tensor(ge(self, Scalar(least))),
                                      Tensor(le(self, Scalar(1 - least))));
    const Tensor slope = grad / (self * rsub(self, Scalar(1), Scalar(1)));
    return Tensor(where(inside, slope, Scalar(eps ? 0.0 : NAN)));
  });

const Op<Tensor(Tensor, Tensor)> xlogy = define<Tensor(Tensor, Tensor)>(
    "xlogy(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    input * log(other), and 0 where the input is 0.

    >>> torch.xlogy(torch.tensor([0., 2.]), torch.tensor([0., 3.]))
    tensor([0.0000, 2.1972])
  )")
  .alias("special.xlogy")
  .forms(kAllForms)
  .pointwise(kernels::xlogy, Promote::Float)
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    const Tensor limit = logical_and(Tensor(eq(self, Scalar(0))), Tensor(le(other, Scalar(0))));
    return masked_fill(xlogy(grad, other), limit, Scalar(0));
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad * self / other;
  });

const auto xlogy_by_number = with_number("xlogy", kernels::xlogy,
                                         "input * log(other) for one number.", Promote::Float)
  .alias("special.xlogy")
  .node("XlogyBackward2")
  .grad("self", "grad, other", [](const Tensor& grad, const Scalar& other) {
    return Tensor(xlogy.call({Arg(grad), Arg(other)}));
  });

const auto xlogy_of_number = define<Tensor(Scalar, Tensor)>(
    "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor")
  .doc("A number times log(other).")
  .alias("special.xlogy")
  .node("XlogyBackward1")
  .forms(Function | Out)
  .number("self")
  .pointwise(kernels::xlogy, Promote::Float)
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Scalar& self, const Tensor& other) {
    return grad * self / other;
  });

const Op<Tensor(Tensor, Tensor)> xlog1py = define<Tensor(Tensor, Tensor)>(
    "xlog1py(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    input * log(1 + other), and 0 where the input is 0.

    >>> torch.special.xlog1py(torch.tensor([0., 2.]), torch.tensor([-1., 3.]))
    tensor([0.0000, 2.7726])
  )")
  .node("SpecialXlog1PyBackward0")
  .forms(Special | Out)
  .pointwise(kernels::xlog1py, Promote::Float)
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    const Tensor limit = logical_and(Tensor(eq(self, Scalar(0))), Tensor(le(other, Scalar(-1))));
    return zero_where(limit, xlog1py(grad, other));
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad * self / (other + Scalar(1));
  });

const auto xlog1py_by_number = define<Tensor(Tensor, Scalar)>(
    "xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor")
  .doc("The input times log(1 + other) for one number.")
  .node("SpecialXlog1PyBackward2")
  .forms(Special | Out)
  .number("other")
  .pointwise(kernels::xlog1py, Promote::Float)
  .grad("self", "grad, other", [](const Tensor& grad, const Scalar& other) {
    return Tensor(xlog1py.call({Arg(grad), Arg(other)}));
  });

const auto xlog1py_of_number = define<Tensor(Scalar, Tensor)>(
    "xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor")
  .doc("A number times log(1 + other).")
  .node("SpecialXlog1PyBackward1")
  .forms(Special | Out)
  .number("self")
  .pointwise(kernels::xlog1py, Promote::Float)
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Scalar& self, const Tensor& other) {
    return grad * self / (other + Scalar(1));
  });

}  // namespace rl::ops
