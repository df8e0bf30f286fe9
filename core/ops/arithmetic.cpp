// Sums, differences, products and quotients, element by element.
#include "kernels/pointwise_table.h"
#include "ops/ops.h"

namespace rl::ops {

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
  .number("other")
  .autocast(Autocast::Promote)
  .linear()
  .pointwise(kernels::add)
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
  .number("other")
  .autocast(Autocast::Promote)
  .linear()
  .pointwise(kernels::sub)
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("other", "grad, alpha", [](const Tensor& grad, const Scalar& alpha) {
    return -(alpha.equal(1) ? grad : grad * conj_of(alpha));
  });

const auto rsub = define<Tensor(Tensor, Tensor, Scalar)>(
    "rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
  .doc(R"(
    Subtracts the input, scaled by `alpha`, from `other`.

    >>> torch.rsub(torch.tensor([1., 2.]), 10)
    tensor([9., 8.])
  )")
  .node("RsubBackward1")
  .dunder("rsub")
  .number("other")
  .linear()
  .pointwise(kernels::rsub)
  .grad("self", "grad, alpha", [](const Tensor& grad, const Scalar& alpha) {
    return -(alpha.equal(1) ? grad : grad * conj_of(alpha));
  })
  .grad("other", "grad", [](const Tensor& grad) { return grad; });

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
  .number("other")
  .autocast(Autocast::Promote)
  .pointwise(kernels::mul)
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    return grad * conj(other);
  })
  .grad("other", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * conj(self);
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
  .number("other")
  .autocast(Autocast::Promote)
  .pointwise(kernels::div_, Promote::Float)
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    return grad / conj(other);
  })
  .grad("other", "grad, self, other", [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return -grad * conj(self / other / other);
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
  .grad("self", "grad", [](const Tensor& grad) { return -grad; });

}  // namespace rl::ops
