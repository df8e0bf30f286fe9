// Circular and hyperbolic functions, their inverses, and angles in degrees.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/promotion.h"
#include "ops/pointwise.h"

namespace rl::ops {

const Op<Tensor(Tensor)> sin = unary("sin", kernels::sin_, R"(
    The sine of an angle in radians.

    >>> torch.sin(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(cos(self));
  });

const Op<Tensor(Tensor)> cos = unary("cos", kernels::cos_, R"(
    The cosine of an angle in radians.

    >>> torch.cos(torch.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(-sin(self));
  });

const auto tan = unary("tan", kernels::tan_, R"(
    The tangent of an angle in radians.

    >>> torch.tan(torch.tensor([0., 1.]))
    tensor([0.0000, 1.5574])
  )")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * rl::conj(square(result) + Scalar(1));
  });

const Op<Tensor(Tensor)> sinh = unary("sinh", kernels::sinh_, R"(
    The hyperbolic sine.

    >>> torch.sinh(torch.tensor([0., 1.]))
    tensor([0.0000, 1.1752])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(cosh(self));
  });

const Op<Tensor(Tensor)> cosh = unary("cosh", kernels::cosh_, R"(
    The hyperbolic cosine.

    >>> torch.cosh(torch.tensor([0., 1.]))
    tensor([1.0000, 1.5431])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(sinh(self));
  });

const Op<Tensor(Tensor)> tanh = unary("tanh", kernels::tanh_, R"(
    The hyperbolic tangent.

    >>> torch.tanh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
  )")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return tanh_backward(grad, result);
  });

const auto asin = unary("asin", kernels::asin_, R"(
    The angle, in radians, that has this sine.

    >>> torch.asin(torch.tensor([0., 1.]))
    tensor([0.0000, 1.5708])
  )")
  .alias("arcsin")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(rsqrt(-self * self + Scalar(1)));
  });

const auto acos = unary("acos", kernels::acos_, R"(
    The angle, in radians, that has this cosine.

    >>> torch.acos(torch.tensor([0., 1.]))
    tensor([1.5708, 0.0000])
  )")
  .alias("arccos")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(-rsqrt(-self * self + Scalar(1)));
  });

const auto atan = unary("atan", kernels::atan_, R"(
    The angle, in radians, that has this tangent.

    >>> torch.atan(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7854])
  )")
  .alias("arctan")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad / rl::conj(self * self + Scalar(1));
  });

const auto asinh = unary("asinh", kernels::asinh_, R"(
    The number that has this hyperbolic sine.

    >>> torch.asinh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8814])
  )")
  .alias("arcsinh")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(rsqrt(square(self) + Scalar(1)));
  });

const auto acosh = unary("acosh", kernels::acosh_, R"(
    The number, not negative, that has this hyperbolic cosine.

    >>> torch.acosh(torch.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
  )")
  .alias("arccosh")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    if (!self.is_complex()) return grad * rsqrt(self * self - Scalar(1));
    const Tensor below = rsqrt(self - Scalar(1)), above = rsqrt(self + Scalar(1));
    return grad * rl::conj(below * above);
  });

const auto atanh = unary("atanh", kernels::atanh_, R"(
    The number that has this hyperbolic tangent.

    >>> torch.atanh(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
  )")
  .alias("arctanh")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(reciprocal(rsub(square(self), Scalar(1), Scalar(1))));
  });

const auto atan2 = define<Tensor(Tensor, Tensor)>("atan2(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The angle of the points (other, input), in radians, in all four quadrants.

    >>> torch.atan2(torch.tensor([1., -1.]), torch.tensor([0., -1.]))
    tensor([ 1.5708, -2.3562])
  )")
  .alias("arctan2")
  .forms(kAllForms)
  .pointwise(kernels::atan2_, Promote::Float)
  .grad("self, other", "grad, self, other, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& other, Needs needs) {
    const Tensor square = self * self + other * other;
    const Tensor scale = zero_where(eq(square, Scalar(0)), reciprocal(square));  // 0 at the origin
    return std::pair(needs[0] ? grad * other * scale : Tensor(),
                     needs[1] ? grad * -self * scale : Tensor());
  });

const auto sinc = unary("sinc", kernels::sinc, R"(
    sin(pi x) / (pi x), and 1 at 0.

    >>> torch.sinc(torch.tensor([0., 0.5]))
    tensor([1.0000, 0.6366])
  )")
  .alias("special.sinc")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    const Tensor angle = self * Scalar(M_PI), below = self * self * Scalar(M_PI);
    const Tensor slope = (angle * cos(angle) - sin(angle)) / below;
    return zero_where(eq(below, Scalar(0)), grad * rl::conj(slope));
  });

namespace {

// Memory as empty_like gives, also where there are no elements.
void infer_angle(Infer& r, const Tensor& self, const char* name) {
  check(!self.is_complex(), name, " is not supported for complex tensors.");
  r.result(self.sizes(), dense_strides_like(self),
           self.is_floating() ? self.dtype() : default_dtype(), self.device());
}

}  // namespace

const auto deg2rad = define<Tensor(Tensor)>("deg2rad(Tensor self) -> Tensor")
  .doc(R"(
    Degrees in radians.

    >>> torch.deg2rad(torch.tensor([0., 180.]))
    tensor([0.0000, 3.1416])
  )")
  .node("Deg2RadBackward0")
  .forms(kAllForms)
  .out({.inputs = true})
  .infer([](Infer& r, const Tensor& self) { infer_angle(r, self, "deg2rad"); })
  .kernel([](Tensor& result, const Tensor& self) {
    run_kernel(kernels::deg2rad, result, result.dtype(), {self});
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad * Scalar(M_PI / 180); });

const auto rad2deg = define<Tensor(Tensor)>("rad2deg(Tensor self) -> Tensor")
  .doc(R"(
    Radians in degrees.

    >>> torch.rad2deg(torch.tensor([0., 1.]))
    tensor([ 0.0000, 57.2958])
  )")
  .node("Rad2DegBackward0")
  .forms(kAllForms)
  .out({.inputs = true})
  .infer([](Infer& r, const Tensor& self) { infer_angle(r, self, "rad2deg"); })
  .kernel([](Tensor& result, const Tensor& self) {
    run_kernel(kernels::rad2deg, result, result.dtype(), {self});
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad * Scalar(180 / M_PI); });

}  // namespace rl::ops
