// The logistic function and the derivatives by result of it and of tanh.
#include "ops/elementwise.h"

namespace rl::ops {

const Op<Tensor(Tensor)> sigmoid = unary("sigmoid", kernels::sigmoid, R"(
    1 / (1 + exp(-x)).

    >>> torch.sigmoid(torch.tensor([0., 1.]))
    tensor([0.5000, 0.7311])
  )")
  .alias("special.expit")
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return sigmoid_backward(grad, result);
  });

const Op<Tensor(Tensor, Tensor)> sigmoid_backward = define<Tensor(Tensor, Tensor)>(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor")
  .doc("The gradient of `sigmoid`, given its result.")
  .forms(Hidden | Out)
  .pointwise(kernels::sigmoid_backward)
  .grad("grad_output", "grad, output", [](const Tensor& grad, const Tensor& output) {
    return sigmoid_backward(grad, rl::conj(output));
  })
  .grad("output", "grad, grad_output, output",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& output) {
    return rl::conj(grad) * grad_output * (rl::conj(output) * Scalar(-2) + Scalar(1));
  });

const Op<Tensor(Tensor, Tensor)> tanh_backward = define<Tensor(Tensor, Tensor)>(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor")
  .doc("The gradient of `tanh`, given its result.")
  .forms(Hidden | Out)
  .pointwise(kernels::tanh_backward)
  .grad("grad_output", "grad, output", [](const Tensor& grad, const Tensor& output) {
    return tanh_backward(grad, rl::conj(output));
  })
  .grad("output", "grad, grad_output, output",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& output) {
    return rl::conj(grad) * grad_output * rl::conj(output) * Scalar(-2);
  });

}  // namespace rl::ops
