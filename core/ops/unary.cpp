// Functions of one number: magnitudes and signs, rounding, powers, exponentials and logarithms.
#include <cmath>

#include "ops/elementwise.h"

namespace rl::ops {
namespace {

// Rounding of one kind; integers stay as they are.
Op<Tensor(Tensor)> rounding(const char* name, const kernels::Pointwise& kernel, const char* doc) {
  return unary(name, kernel, doc, Promote::Default).exact_out();
}

void refuse_complex(const char* name, const Tensor& self) {
  check(!self.is_complex(), ErrorKind::NotImplemented, name,
        " is not supported for complex inputs");
}

}  // namespace

const Op<Tensor(Tensor)> abs = unary("abs", kernels::abs_, R"(
    The absolute value; of complex numbers, the modulus.

    >>> torch.abs(torch.tensor([-1., 2.]))
    tensor([1., 2.])
  )", Promote::Default)
  .alias("absolute")
  .dunder("abs")
  .exact_out()
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * sgn(self);
  });

const Op<Tensor(Tensor)> sign = unary("sign", kernels::sign, R"(
    1 for positive elements, -1 for negative ones, 0 for zeros.

    >>> torch.sign(torch.tensor([-2., 0., 3.]))
    tensor([-1.,  0.,  1.])
  )", Promote::Default)
  .infer([](Infer&, const Tensor& self) {
    check(!self.is_complex(), ErrorKind::NotImplemented, "Unlike NumPy, torch.sign is not intended "
          "to support complex numbers. Please use torch.sgn instead.");
  })
  .exact_out()
  .grad("self", "grad", flat);

const Op<Tensor(Tensor)> sgn = unary("sgn", kernels::sgn, R"(
    The sign; of complex numbers, the number of modulus 1 in the same direction.

    >>> torch.sgn(torch.tensor([3 + 4j, 0]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
  )", Promote::Default)
  .exact_out()
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    if (!self.is_complex()) return zeros(self.sizes(), grad.dtype(), grad.device());
    const Tensor along = real(grad * rl::conj(result));
    return zero_where(eq(self, Scalar(0)), (grad - result * along) / abs(self));
  });

const Op<Tensor(Tensor)> angle = define<Tensor(Tensor)>("angle(Tensor self) -> Tensor")
  .doc(R"(
    The argument of complex numbers, in radians; of real ones, pi where they are negative, else 0.

    >>> torch.angle(torch.tensor([-1., 1.]))
    tensor([3.1416, 0.0000])
  )")
  .forms(Function | Method | Out)
  .pointwise(kernels::angle, Promote::Float)
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    if (!self.is_complex()) return flat(grad);
    const Tensor turned = self * Scalar(std::complex<double>(0, 1));
    return zero_where(eq(self, Scalar(0)), grad * (turned / square(abs(self))));
  });

const auto signbit = define<Tensor(Tensor)>("signbit(Tensor self) -> Tensor")
  .doc(R"(
    Whether the sign bit is set: for negative numbers and -0.

    >>> torch.signbit(torch.tensor([-1., 0., -0.]))
    tensor([ True, False,  True])
  )")
  .forms(Function | Method | Out)
  .pointwise(kernels::signbit_)
  .exact_out()
  .infer([](Infer&, const Tensor& self) {
    check(!self.is_complex(), ErrorKind::NotImplemented,
          "signbit is not implemented for complex tensors.");
  });

const Op<Tensor(Tensor)> square = define<Tensor(Tensor)>("square(Tensor self) -> Tensor")
  .doc(R"(
    The second power.

    >>> torch.square(torch.tensor([-3., 2.]))
    tensor([9., 4.])
  )")
  .out({.inputs = true})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self) { return pow_number(self, Scalar(2)); });

const auto square_in_place = define<Tensor(Tensor)>("square_(Tensor(a!) self) -> Tensor(a!)")
  .doc("The second power, in place of the input.")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    pow_number.in_place(self, Scalar(2));
    return self;
  });

const Op<Tensor(Tensor)> reciprocal = unary("reciprocal", kernels::reciprocal, R"(
    1 divided by the input.

    >>> torch.reciprocal(torch.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
  )")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return -grad * rl::conj(result * result);
  });

const auto positive = define<Tensor(Tensor)>("positive(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    The input itself; bool is refused.

    >>> torch.positive(torch.tensor([-1., 1.]))
    tensor([-1.,  1.])
  )")
  .forms(Function | Method)
  .dunder("pos")
  .composite([](const Tensor& self) {
    check(self.dtype() != DType::Bool, "The `+` operator, on a bool tensor is not supported.");
    return self;
  });

// ---- Rounding

const auto floor = rounding("floor", kernels::floor_, R"(
    The largest whole number that is not above the input.

    >>> torch.floor(torch.tensor([-1.5, 1.5]))
    tensor([-2.,  1.])
  )")
  .infer([](Infer&, const Tensor& self) { refuse_complex("floor", self); })
  .grad("self", "grad", flat);

const auto ceil = rounding("ceil", kernels::ceil_, R"(
    The smallest whole number that is not below the input.

    >>> torch.ceil(torch.tensor([-1.5, 1.5]))
    tensor([-1.,  2.])
  )")
  .infer([](Infer&, const Tensor& self) { refuse_complex("ceil", self); })
  .grad("self", "grad", flat);

const auto trunc = rounding("trunc", kernels::trunc_, R"(
    The whole part: rounded towards zero.

    >>> torch.trunc(torch.tensor([-1.5, 1.5]))
    tensor([-1.,  1.])
  )")
  .alias("fix")
  .infer([](Infer&, const Tensor& self) { refuse_complex("trunc", self); })
  .grad("self", "grad", flat);

const auto round = rounding("round", kernels::round_, R"(
    Rounded to the nearest whole number; halves go to the even one.

    >>> torch.round(torch.tensor([0.5, 1.5, -2.4]))
    tensor([ 0.,  2., -2.])
  )")
  .grad("self", "grad", flat);

const auto round_decimals = define<Tensor(Tensor, int64_t)>(
    "round.decimals(Tensor self, *, int decimals) -> Tensor")
  .doc(R"(
    Rounded to `decimals` places after the point, or before it where that is negative.

    >>> torch.round(torch.tensor([0.126, 1.5]), decimals=2)
    tensor([0.1300, 1.5000])
  )")
  .node("RoundBackward1")
  .out({.dtype = OutDType::Exact})
  .forms(kAllForms)
  .exact_out()
  .choose([](const Tensor&, int64_t decimals) {
    return decimals ? Choice{&kernels::round_decimals}
                    : Choice{&kernels::round_, Promote::Default, 0};
  })
  .grad("self", "grad", flat);

const auto special_round = define<Tensor(Tensor, int64_t)>(
    "special_round(Tensor self, *, int decimals=0) -> Tensor")
  .doc("torch.round with a number of decimals.")
  .node("RoundBackward1")
  .forms(Special | Out)
  .exact_out()
  .choose([](const Tensor&, int64_t decimals) {
    return decimals ? Choice{&kernels::round_decimals}
                    : Choice{&kernels::round_, Promote::Default, 0};
  })
  .infer([](Infer& r, const Tensor& self, int64_t) {
    check(is_differentiable(r[0].dtype) || self.is_meta(), ErrorKind::NotImplemented,
          "\"round_vml_cpu\" not implemented for '", type_name_of(r[0].dtype), "'");
  })
  .grad("self", "grad", flat);

const auto frac = rounding("frac", kernels::frac, R"(
    The part behind the point, with the input's sign.

    >>> torch.frac(torch.tensor([1.25, -1.25]))
    tensor([ 0.2500, -0.2500])
  )")
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

// ---- Exponentials, logarithms, roots

const Op<Tensor(Tensor)> exp = unary("exp", kernels::exp_, R"(
    e to the power of the input.

    >>> torch.exp(torch.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
  )")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * rl::conj(result);
  });

const Op<Tensor(Tensor)> exp2 = unary("exp2", kernels::exp2_, R"(
    2 to the power of the input.

    >>> torch.exp2(torch.tensor([0., 3.]))
    tensor([1., 8.])
  )")
  .alias("special.exp2")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * rl::conj(result) * Scalar(M_LN2);
  });

const auto expm1 = unary("expm1", kernels::expm1_, R"(
    exp(x) - 1, accurate for small x, too.

    >>> torch.expm1(torch.tensor([0., 1.]))
    tensor([0.0000, 1.7183])
  )")
  .alias("special.expm1")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * (rl::conj(result) + Scalar(1));
  });

const Op<Tensor(Tensor)> log = unary("log", kernels::log_, R"(
    The natural logarithm.

    >>> torch.log(torch.tensor([1., 2.7182818]))
    tensor([0., 1.])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad / rl::conj(self);
  });

const auto log2 = unary("log2", kernels::log2_, R"(
    The logarithm to base 2.

    >>> torch.log2(torch.tensor([1., 8.]))
    tensor([0., 3.])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad / (rl::conj(self) * Scalar(M_LN2));
  });

const auto log10 = unary("log10", kernels::log10_, R"(
    The logarithm to base 10.

    >>> torch.log10(torch.tensor([1., 1000.]))
    tensor([0., 3.])
  )")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad / (rl::conj(self) * Scalar(M_LN10));
  });

const Op<Tensor(Tensor)> log1p = unary("log1p", kernels::log1p_, R"(
    log(1 + x), accurate for small x, too.

    >>> torch.log1p(torch.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
  )")
  .alias("special.log1p")
  .node("Log1PBackward0")
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad / rl::conj(self + Scalar(1));
  });

const Op<Tensor(Tensor)> sqrt = unary("sqrt", kernels::sqrt_, R"(
    The square root.

    >>> torch.sqrt(torch.tensor([4., 9.]))
    tensor([2., 3.])
  )")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad / (rl::conj(result) * Scalar(2));
  });

const Op<Tensor(Tensor)> rsqrt = unary("rsqrt", kernels::rsqrt, R"(
    1 divided by the square root.

    >>> torch.rsqrt(torch.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
  )")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * Scalar(-0.5) * rl::conj(result * result * result);
  });

}  // namespace rl::ops
