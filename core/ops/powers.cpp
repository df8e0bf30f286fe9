// Powers: of tensors and numbers to tensors and numbers, and in double precision.
#include <cmath>

#include "ops/elementwise.h"

namespace rl::ops {
namespace {

// Exponents that have a quicker kernel; integers take the loop of products for all.
Choice power(const Tensor& self, const Scalar& exponent) {
  if (self.dtype() == DType::Bool && exponent.is_bool()) return {&kernels::ge};
  const bool fraction = is_differentiable(self.dtype());
  if (!fraction || exponent.is_complex()) {
    check(fraction || !exponent.is_int() || exponent.to_int() >= 0 ||
              self.dtype() == DType::Bool,
          "Integers to negative integer powers are not allowed.");
    return {&kernels::pow_};
  }
  const double e = exponent.to_double();
  if (e == 2) return {&kernels::square, Promote::Default};
  if (e == 0.5) return {&kernels::sqrt_, Promote::Default};
  if (e == -0.5) return {&kernels::rsqrt, Promote::Default};
  if (e == -1) return {&kernels::reciprocal, Promote::Default};
  if (self.dtype() == DType::BFloat16) {
    if (e == 3) return {&kernels::cube_bfloat16};
    if (e == -2) return {&kernels::inverse_square_bfloat16};
  } else if (self.dtype() == DType::Float || self.dtype() == DType::Double) {
    if (e == 3) return {&kernels::cube};
    if (e == -2) return {&kernels::inverse_square};
  }
  return {&kernels::pow_};
}

// d x^y / dy = x^y log x; where x = 0 and y >= 0 the limit, 0.
Tensor grad_of_exponent(const Tensor& grad, const Tensor& zero_base, const Tensor& exponent,
                        const Tensor& slope) {
  const Tensor positive = exponent.is_complex()
      ? logical_and(eq(imag(exponent), Scalar(0)), ge(real(exponent), Scalar(0)))
      : ge(exponent, Scalar(0));
  const Tensor flat_there = zero_base ? logical_and(zero_base, positive) : positive;
  return grad * zero_where(flat_there, rl::conj(slope));
}

}  // namespace

const Op<Tensor(Tensor, Tensor)> pow = define<Tensor(Tensor, Tensor)>(
    "pow(Tensor self, Tensor exponent) -> Tensor")
  .doc(R"(
    The input to the power of `exponent`, element by element.

    >>> torch.pow(torch.tensor([2., 3.]), torch.tensor([3., 2.]))
    tensor([8., 9.])
  )")
  .node("PowBackward1")
  .dunder("pow", Augmented)
  .forms(kAllForms)
  .pointwise(kernels::pow_)
  .grad("self", "grad, self, exponent",
        [](const Tensor& grad, const Tensor& self, const Tensor& exponent) {
    const Tensor slope = exponent * pow(self, exponent - Scalar(1));
    return zero_where(eq(exponent, Scalar(0)), grad * rl::conj(slope));
  })
  .grad("exponent", "grad, self, exponent, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
    return grad_of_exponent(grad, eq(self, Scalar(0)), exponent, result * log(self));
  });

const Op<Tensor(Tensor, Scalar)> pow_number = define<Tensor(Tensor, Scalar)>(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
  .doc(R"(
    The input to one power.

    >>> torch.pow(torch.tensor([2., 3.]), 2)
    tensor([4., 9.])
  )")
  .forms(kAllForms)
  .number("exponent")
  .choose([](const Tensor& self, const Scalar& exponent) { return power(self, exponent); })
  .grad("self", "grad, self, exponent",
        [](const Tensor& grad, const Tensor& self, const Scalar& exponent) {
    if (exponent.equal(0)) return zeros(self.sizes(), grad.dtype(), grad.device());
    if (exponent.is_complex()) {
      const std::complex<double> e = exponent.to_complex();
      return grad * rl::conj(pow_number(self, Scalar(e - 1.0)) * exponent);
    }
    const Scalar less = exponent.is_int() && exponent.to_int() > INT64_MIN
        ? Scalar(exponent.to_int() - 1) : Scalar(exponent.to_double() - 1);
    return grad * rl::conj((less.equal(1) ? self : pow_number(self, less)) * exponent);
  });

const Op<Tensor(Scalar, Tensor)> pow_of_number = define<Tensor(Scalar, Tensor)>(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor")
  .doc(R"(
    A number to the powers in `exponent`.

    >>> torch.pow(2, torch.tensor([1., 3.]))
    tensor([2., 8.])
  )")
  .node("PowBackward2")
  .forms(Function | Out)
  .number("self")
  .pointwise(kernels::pow_)
  .grad("exponent", "grad, self, exponent, result",
        [](const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result) {
    const std::complex<double> base = self.to_complex();
    const Scalar slope = self.is_complex() ? Scalar(std::log(base))
                                           : Scalar(std::log(self.to_double()));
    if (!self.equal(0)) return grad * rl::conj(result * slope);
    return grad_of_exponent(grad, Tensor(), exponent, result * slope);
  });

const auto rpow = define<Tensor(Tensor, Scalar)>("_rpow(Tensor self, Scalar other) -> Tensor")
  .doc("A number to the powers in the input, as the operator does it.")
  .forms(Hidden)
  .dunder("rpow")
  .composite([](const Tensor& self, const Scalar& other) { return pow_of_number(other, self); });

namespace {

DType wide(bool complex) { return complex ? DType::ComplexDouble : DType::Double; }

}  // namespace

const auto float_power = define<Tensor(Tensor, Tensor)>(
    "float_power(Tensor self, Tensor exponent) -> Tensor")
  .doc(R"(
    A power computed in double precision, whatever the inputs' dtypes.

    >>> torch.float_power(torch.tensor([2, 3]), torch.tensor([2, 2]))
    tensor([4., 9.], dtype=torch.float64)
  )")
  .out({.text = "the output given to float_power has dtype %G but the operation's "
                "result requires dtype %W"})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& exponent) {
    const DType t = wide(self.is_complex() || exponent.is_complex());
    return pow(to_dtype(self, t), to_dtype(exponent, t));
  });

const auto float_power_number = define<Tensor(Tensor, Scalar)>(
    "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
  .doc(R"(
    One power in double precision.

    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
  )")
  .out({.text = "the output given to float_power has dtype %G but the operation's "
                "result requires dtype %W"})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Scalar& exponent) {
    const DType t = wide(self.is_complex() || exponent.is_complex());
    return pow_number(to_dtype(self, t), exponent);
  });

namespace {

void check_holds(const Tensor& base, DType wanted) {
  check(base.dtype() == wanted, "the base given to float_power_ has dtype ",
        type_name_of(base.dtype()), " but the operation's result requires dtype ",
        type_name_of(wanted));
}

}  // namespace

const auto float_power_in_place = define<Tensor(Tensor, Tensor)>(
    "float_power_(Tensor(a!) self, Tensor exponent) -> Tensor(a!)")
  .doc("A power in place of the input, which has to be double.")
  .forms(Method)
  .composite([](const Tensor& self, const Tensor& exponent) {
    const DType t = wide(self.is_complex() || exponent.is_complex());
    check_holds(self, t);
    pow.in_place(self, to_dtype(exponent, t));
    return self;
  });

const auto float_power_number_in_place = define<Tensor(Tensor, Scalar)>(
    "float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)")
  .doc("One power in place of the input, which has to be double.")
  .forms(Method)
  .composite([](const Tensor& self, const Scalar& exponent) {
    check_holds(self, wide(self.is_complex() || exponent.is_complex()));
    pow_number.in_place(self, exponent);
    return self;
  });

const auto float_power_of_number = define<Tensor(Scalar, Tensor)>(
    "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor")
  .doc(R"(
    A number's powers in double precision.

    >>> torch.float_power(2, torch.tensor([2, 3]))
    tensor([4., 8.], dtype=torch.float64)
  )")
  .out({.text = "the output given to float_power has dtype %G but the operation's "
                "result requires dtype %W"})
  .forms(Function | Out)
  .composite([](const Scalar& self, const Tensor& exponent) {
    const DType t = wide(self.is_complex() || exponent.is_complex());
    return pow_of_number(self, to_dtype(exponent, t));
  });

}  // namespace rl::ops
