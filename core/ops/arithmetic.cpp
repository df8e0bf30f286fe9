// Sums, differences, products and quotients, element by element.
#include "ops/elementwise.h"

namespace rl::ops {
namespace {

// What PyTorch refuses of `alpha`, given the dtype computed in.
void check_alpha(DType compute, const Scalar& alpha) {
  check(!alpha.is_bool() || compute == DType::Bool, "Boolean alpha only supported for Boolean "
        "results.");
  check(is_differentiable(compute) || !(alpha.is_float() || alpha.is_complex()), "For integral "
        "input tensors, argument alpha must not be a floating point number.");
  check(is_complex(compute) || !alpha.is_complex(), "For non-complex input tensors, argument alpha "
        "must not be a complex number.");
}

void check_subtraction(DType compute, const Scalar& alpha, bool first_bool, bool second_bool) {
  check(!(first_bool && second_bool), "Subtraction, the `-` operator, with two bool tensors is not "
        "supported. Use the `^` or `logical_xor()` operator instead.");
  check(!(first_bool || second_bool), "Subtraction, the `-` operator, with a bool tensor is not "
        "supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator "
        "instead.");
  check_alpha(compute, alpha);
}

constexpr auto check_difference = [](Infer& r, const Tensor& self, const Tensor& other,
                                     const Scalar& alpha) {
  check_subtraction(r[0].dtype, alpha, self.dtype() == DType::Bool, other.dtype() == DType::Bool);
};

}  // namespace

const Op<Tensor(Tensor, Tensor, Scalar)> add = define<Tensor(Tensor, Tensor, Scalar)>(
    "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
  .doc(R"(
    Adds `other`, scaled by `alpha`, to the input.

    Shapes broadcast and dtypes promote; `other` may be a Python number.

    >>> torch.add(torch.tensor([1., 2.]), 3, alpha=10)
    tensor([31., 32.])
  )")
  .forms(Function | Method | Inplace | Out)
  .dunder("add", Reflected | Augmented)
  .number("self").number("other")
  .linear()
  .pointwise(kernels::add)
  .infer([](Infer& r, const Tensor&, const Tensor&, const Scalar& alpha) {
    check_alpha(r[0].dtype, alpha);
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("other", "grad, alpha", [](const Tensor& grad, const Scalar& alpha) {
    return alpha.equal(1) ? grad : grad * conj_of(alpha);
  });

const Op<Tensor(Tensor, Tensor, Scalar)> sub = define<Tensor(Tensor, Tensor, Scalar)>(
    "sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
  .doc(R"(
    Subtracts `other`, scaled by `alpha`, from the input.

    >>> torch.sub(torch.tensor([1., 2.]), torch.tensor([2., 2.]))
    tensor([-1.,  0.])
  )")
  .alias("subtract")
  .forms(Function | Method | Inplace | Out)
  .dunder("sub", Augmented)
  .number("self").number("other")
  .linear()
  .pointwise(kernels::sub)
  .infer(check_difference)
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("other", "grad, alpha", [](const Tensor& grad, const Scalar& alpha) {
    return -(alpha.equal(1) ? grad : grad * conj_of(alpha));
  });

const Op<Tensor(Tensor, Tensor, Scalar)> rsub = define<Tensor(Tensor, Tensor, Scalar)>(
    "rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
  .doc(R"(
    Subtracts the input, scaled by `alpha`, from `other`.

    >>> torch.rsub(torch.tensor([1., 2.]), 10)
    tensor([9., 8.])
  )")
  .forms(Function)
  .dunder("rsub")
  .linear()
  .pointwise(kernels::rsub)
  .infer(check_difference)
  .grad("self", "grad, alpha", [](const Tensor& grad, const Scalar& alpha) {
    return -(alpha.equal(1) ? grad : grad * conj_of(alpha));
  })
  .grad("other", "grad", [](const Tensor& grad) { return grad; });

const auto rsub_number = define<Tensor(Tensor, Scalar, Scalar)>(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")
  .doc("Subtracts the input, scaled by `alpha`, from a number.")
  .node("RsubBackward1")
  .number("other")
  .linear()
  .pointwise(kernels::rsub)
  .infer([](Infer& r, const Tensor& self, const Scalar& other, const Scalar& alpha) {
    check_subtraction(r[0].dtype, alpha, self.dtype() == DType::Bool, other.is_bool());
  })
  .grad("self", "grad, alpha", [](const Tensor& grad, const Scalar& alpha) {
    return -(alpha.equal(1) ? grad : grad * conj_of(alpha));
  });

const Op<Tensor(Tensor, Tensor)> mul = define<Tensor(Tensor, Tensor)>(
    "mul(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    Multiplies two tensors element by element.

    Shapes broadcast and dtypes promote; `other` may be a Python number.

    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
  )")
  .alias("multiply")
  .forms(Function | Method | Inplace | Out)
  .dunder("mul", Reflected | Augmented)
  .number("self").number("other")
  .pointwise(kernels::mul)
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    return grad * rl::conj(other);
  })
  .grad("other", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(self);
  });

const Op<Tensor(Tensor, Tensor)> div = define<Tensor(Tensor, Tensor)>(
    "div(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    Divides the input by `other`; integers are divided as floats.

    >>> torch.div(torch.tensor([1, 4]), 2)
    tensor([0.5000, 2.0000])
  )")
  .alias("divide").alias("true_divide")
  .forms(Function | Method | Inplace | Out)
  .dunder("truediv", Augmented)
  .number("self").number("other")
  .pointwise(kernels::div_, Promote::Float)
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    return grad / rl::conj(other);
  })
  .grad("other", "grad, self, other", [](const Tensor& grad, const Tensor& self,
                                         const Tensor& other) {
    return -grad * rl::conj(self / other / other);
  });

namespace {

Choice division(const MaybeText& mode) {
  if (!mode) return {&kernels::div_, Promote::Float};
  if (*mode == "trunc") return {&kernels::div_trunc};
  check(*mode == "floor", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
        "found '", *mode, "'");
  return {&kernels::div_floor};
}

}  // namespace

const Op<Tensor(Tensor, Tensor, MaybeText)> div_mode =
    define<Tensor(Tensor, Tensor, MaybeText)>(
        "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor")
  .doc(R"(
    Divides and rounds the quotient: "trunc" towards zero, "floor" down, None not at all.

    >>> torch.div(torch.tensor([7., -7.]), 2, rounding_mode="floor")
    tensor([ 3., -4.])
  )")
  .alias("divide")
  .node("DivBackward2")
  .forms(kAllForms)
  .number("self").number("other")
  .choose([](const Tensor&, const Tensor&, const MaybeText& mode) {
    return division(mode);
  })
  .grad("self", "grad, other, rounding_mode",
        [](const Tensor& grad, const Tensor& other, const MaybeText& mode) {
    return mode ? flat(grad) : grad / rl::conj(other);
  })
  .grad("other", "grad, self, other, rounding_mode",
        [](const Tensor& grad, const Tensor& self, const Tensor& other,
           const MaybeText& mode) {
    return mode ? flat(grad) : -grad * rl::conj(self / other / other);
  });

const auto floor_divide = define<Tensor(Tensor, Tensor)>(
    "floor_divide(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    Divides and rounds the quotient down.

    >>> torch.floor_divide(torch.tensor([7., -7.]), 2)
    tensor([ 3., -4.])
  )")
  .forms(kAllForms)
  .number("self").number("other")
  .pointwise(kernels::div_floor)
  .dunder("floordiv", Augmented)
  .node("torch::autograd::NotImplemented")
  .no_derivative("derivative for aten::floor_divide is not implemented");

const auto remainder = binary("remainder", kernels::remainder_, R"(
    What division leaves, with the sign of `other`, as Python's %.

    >>> torch.remainder(torch.tensor([-3., 3.]), 2)
    tensor([1., 1.])
  )")
  .dunder("mod", Augmented)
  .node("RemainderBackward1")
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return -grad * div_mode(self, other, "floor");
  });

const auto remainder_by_number = with_number("remainder", kernels::remainder_,
                                             "What division by a number leaves.")
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

const auto remainder_of_number = define<Tensor(Scalar, Tensor)>(
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor")
  .doc(R"(
    What dividing a number by a tensor leaves.

    >>> torch.remainder(7, torch.tensor([2., 4.]))
    tensor([1., 3.])
  )")
  .node("torch::autograd::NotImplemented")
  .number("self")
  .pointwise(kernels::remainder_)
  .no_derivative("derivative for aten::remainder is not implemented");

const auto fmod = binary("fmod", kernels::fmod_, R"(
    What division leaves, with the sign of the input, as C's fmod.

    >>> torch.fmod(torch.tensor([-3., 3.]), 2)
    tensor([-1.,  1.])
  )")
  .node("FmodBackward1")
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return -grad * div_mode(self, other, "trunc");
  });

const auto fmod_by_number = with_number("fmod", kernels::fmod_,
                                        "What division by a number leaves, as C's fmod.")
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

// The operators with a number on the left.
const auto rtruediv = define<Tensor(Tensor, Tensor)>(
    "_rdiv(Tensor self, Tensor other) -> Tensor")
  .doc("`other` divided by the input, as the operator does it.")
  .forms(Hidden)
  .dunder("rtruediv")
  .number("other")
  .composite([](const Tensor& self, const Tensor& other) { return reciprocal(self) * other; });

const auto rfloordiv = define<Tensor(Tensor, Tensor)>(
    "_rfloordiv(Tensor self, Tensor other) -> Tensor")
  .doc("`other` divided by the input and rounded down.")
  .forms(Hidden)
  .dunder("rfloordiv")
  .number("other")
  .composite([](const Tensor& self, const Tensor& other) { return floor_divide(other, self); });

const auto rmod = define<Tensor(Tensor, Scalar)>("_rmod(Tensor self, Scalar other) -> Tensor")
  .doc("What dividing a number by the input leaves.")
  .forms(Hidden)
  .dunder("rmod")
  .composite([](const Tensor& self, const Scalar& other) {
    return remainder_of_number(other, self);
  });

const Op<Tensor(Tensor)> neg = define<Tensor(Tensor)>("neg(Tensor self) -> Tensor")
  .doc(R"(
    The input with its sign turned.

    >>> torch.neg(torch.tensor([1., -2.]))
    tensor([-1.,  2.])
  )")
  .alias("negative")
  .forms(Function | Method | Inplace | Out)
  .dunder("neg")
  .linear()
  .pointwise(kernels::neg)
  .exact_out()
  .infer([](Infer&, const Tensor& self) {
    check(self.dtype() != DType::Bool, "Negation, the `-` operator, on a bool tensor is not "
          "supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator "
          "instead.");
  })
  .grad("self", "grad", [](const Tensor& grad) { return -grad; });

}  // namespace rl::ops

namespace rl {

Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
Tensor operator+(const Tensor& a, const Scalar& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Scalar& b) { return ops::sub(a, b); }
Tensor operator*(const Tensor& a, const Scalar& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Scalar& b) { return ops::div(a, b); }
Tensor operator-(const Tensor& a) { return ops::neg(a); }

}  // namespace rl
