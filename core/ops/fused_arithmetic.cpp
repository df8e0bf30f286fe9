// Several operations in one: products and quotients added, interpolation, hypotenuse, exponents.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/promotion.h"

namespace rl::ops {

const Op<Tensor(Tensor, Tensor, Tensor, Scalar)> addcmul =
    define<Tensor(Tensor, Tensor, Tensor, Scalar)>(
        "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
  .doc(R"(
    Adds `value * tensor1 * tensor2` to the input.

    >>> torch.addcmul(torch.tensor([1., 2.]), torch.tensor([3., 4.]), torch.tensor(2.))
    tensor([ 7., 10.])
  )")
  .forms(kAllForms)
  .pointwise(kernels::addcmul)
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("tensor1", "grad, tensor2, value",
        [](const Tensor& grad, const Tensor& tensor2, const Scalar& value) {
    return grad * rl::conj(tensor2 * value);
  })
  .grad("tensor2", "grad, tensor1, value",
        [](const Tensor& grad, const Tensor& tensor1, const Scalar& value) {
    return grad * rl::conj(tensor1 * value);
  });

const Op<Tensor(Tensor, Tensor, Tensor, Scalar)> addcdiv =
    define<Tensor(Tensor, Tensor, Tensor, Scalar)>(
        "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
  .doc(R"(
    Adds `value * tensor1 / tensor2` to the input.

    >>> torch.addcdiv(torch.tensor([1., 2.]), torch.tensor([3., 4.]), torch.tensor(2.))
    tensor([2.5000, 4.0000])
  )")
  .forms(kAllForms)
  .pointwise(kernels::addcdiv)
  .infer([](Infer&, const Tensor&, const Tensor& tensor1, const Tensor& tensor2, const Scalar&) {
    check(is_differentiable(tensor1.dtype()) || is_differentiable(tensor2.dtype()),
          "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
          "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
          "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
          "integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
          "addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
          "tensor2), for all dtypes.");
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("tensor1", "grad, tensor2, value",
        [](const Tensor& grad, const Tensor& tensor2, const Scalar& value) {
    return grad * rl::conj(reciprocal(tensor2) * value);
  })
  .grad("tensor2", "grad, tensor1, tensor2, value",
        [](const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2,
           const Scalar& value) {
    return -grad * rl::conj(tensor1 * value / (tensor2 * tensor2));
  });

namespace {

void check_lerp_dtype(const Tensor& self, const Tensor& t, const char* name) {
  check(t.dtype() == self.dtype(), "expected dtype ", c_name_of(self.dtype()), " for `", name,
        "` but got dtype ", c_name_of(t.dtype()));
}

}  // namespace

const auto lerp_scalar = define<Tensor(Tensor, Tensor, Scalar)>(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor")
  .doc(R"(
    Interpolates: input + weight * (end - input), with one weight.

    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([4., 20.]), 0.25)
    tensor([ 1.0000, 12.5000])
  )")
  .forms(kAllForms)
  .choose([](const Tensor& self, const Tensor& end, const Scalar&) {
    check_lerp_dtype(self, end, "end");
    return Choice{&kernels::lerp, Promote::None};
  })
  .grad("self", "grad, weight", [](const Tensor& grad, const Scalar& weight) {
    return grad * conj_of(Scalar(weight.is_complex()
                                     ? Scalar(1.0 - weight.to_complex())
                                     : Scalar(1 - weight.to_double())));
  })
  .grad("end", "grad, weight", [](const Tensor& grad, const Scalar& weight) {
    return grad * conj_of(weight);
  });

const Op<Tensor(Tensor, Tensor, Tensor)> lerp = define<Tensor(Tensor, Tensor, Tensor)>(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor")
  .doc(R"(
    Interpolates with a weight of its own for each element.

    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([4., 20.]), torch.tensor([0.5, 1.]))
    tensor([ 2., 20.])
  )")
  .node("LerpBackward1")
  .forms(kAllForms)
  .exact_out()
  .choose([](const Tensor& self, const Tensor& end, const Tensor& weight) {
    check_lerp_dtype(self, end, "end");
    check_lerp_dtype(self, weight, "weight");
    return Choice{&kernels::lerp_tensor, Promote::None};
  })
  .grad("self", "grad, weight", [](const Tensor& grad, const Tensor& weight) {
    return grad * rl::conj(rsub(weight, Scalar(1), Scalar(1)));
  })
  .grad("end", "grad, weight", [](const Tensor& grad, const Tensor& weight) {
    return grad * rl::conj(weight);
  })
  .grad("weight", "grad, self, end",
        [](const Tensor& grad, const Tensor& self, const Tensor& end) {
    return grad * rl::conj(end - self);
  });

namespace {

Op<Tensor(Tensor, Tensor)> tensors_only(const char* name, const kernels::Pointwise& kernel,
                                        const char* doc) {
  return define<Tensor(Tensor, Tensor)>(text(name, "(Tensor self, Tensor other) -> Tensor"))
      .doc(doc)
      .forms(kAllForms)
      .pointwise(kernel);
}

}  // namespace

const auto hypot = tensors_only("hypot", kernels::hypot_, R"(
    The length of the hypotenuse: sqrt(input^2 + other^2), without overflow on the way.

    >>> torch.hypot(torch.tensor([3.]), torch.tensor([4.]))
    tensor([5.])
  )")
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return grad * (self / result);
  })
  .grad("other", "grad, other, result",
        [](const Tensor& grad, const Tensor& other, const Tensor& result) {
    return grad * (other / result);
  });

const auto copysign = binary("copysign", kernels::copysign_, R"(
    The input's magnitude with the sign of `other`.

    >>> torch.copysign(torch.tensor([1., -2.]), -1)
    tensor([-1., -2.])
  )", Promote::Float)
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return grad * zero_where(eq(self, Scalar(0)), result / self);
  })
  .grad("other", "grad", flat);

const auto copysign_number = with_number("copysign", kernels::copysign_,
                                         "The input's magnitude with the sign of a number.",
                                         Promote::Float)
  .node("CopysignBackward1")
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return grad * zero_where(eq(self, Scalar(0)), result / self);
  });

const auto logaddexp = tensors_only("logaddexp", kernels::logaddexp, R"(
    log(exp(input) + exp(other)), without overflow on the way.

    >>> torch.logaddexp(torch.tensor([1000.]), torch.tensor([1000.]))
    tensor([1000.6932])
  )")
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad / rl::conj(exp(other - self) + Scalar(1));
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad / rl::conj(exp(self - other) + Scalar(1));
  });

const auto logaddexp2 = tensors_only("logaddexp2", kernels::logaddexp2, R"(
    log2(2^input + 2^other), without overflow on the way.

    >>> torch.logaddexp2(torch.tensor([1000.]), torch.tensor([1000.]))
    tensor([1001.])
  )")
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad / (exp2(other - self) + Scalar(1));
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return grad / (exp2(self - other) + Scalar(1));
  });

const auto gcd = tensors_only("gcd", kernels::gcd, R"(
    The greatest common divisor of integers.

    >>> torch.gcd(torch.tensor([12, 10]), torch.tensor([8, 15]))
    tensor([4, 5])
  )");

const auto lcm = tensors_only("lcm", kernels::lcm, R"(
    The least common multiple of integers.

    >>> torch.lcm(torch.tensor([4, 6]), torch.tensor([6, 4]))
    tensor([12, 12])
  )");

const auto nextafter = tensors_only("nextafter", kernels::nextafter_, R"(
    The next representable number after the input in the direction of `other`.

    >>> torch.nextafter(torch.tensor([1.]), torch.tensor([2.])) > 1
    tensor([True])
  )")
  .choose([](const Tensor& self, const Tensor& other) {
    Promotion p;
    p.add(Arg(self));
    p.add(Arg(other));
    return Choice{&kernels::nextafter_, Promote::Default, 1, {int64_t(p.dtype())}};
  })
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(eq(self, other), grad);
  })
  .grad("other", "grad", flat);

}  // namespace rl::ops
