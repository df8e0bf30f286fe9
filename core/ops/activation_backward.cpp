// The fused gradients of activations, each with its own second derivative.
#include "ops/activation.h"

#include <cmath>

#include "ops/elementwise.h"

namespace rl::ops {
namespace {

Op<Tensor(Tensor, Tensor)> backward_of(const char* name, const kernels::Pointwise& kernel,
                                       const char* doc) {
  return define<Tensor(Tensor, Tensor)>(text(name, "(Tensor grad_output, Tensor self) -> Tensor"))
      .doc(doc)
      .forms(Hidden | Out)
      .pointwise(kernel);
}
Op<Tensor(Tensor, Tensor, Scalar)> backward_of(const char* name, const char* number,
                                               const kernels::Pointwise& kernel,
                                               const char* doc) {
  return define<Tensor(Tensor, Tensor, Scalar)>(
             text(name, "(Tensor grad_output, Tensor self, Scalar ", number, ") -> Tensor"))
      .doc(doc)
      .forms(Hidden | Out)
      .pointwise(kernel);
}

Tensor inside(const Tensor& self, double least, double most) {
  return logical_and(Tensor(gt(self, Scalar(least))), Tensor(lt(self, Scalar(most))));
}

}  // namespace

const Op<Tensor(Tensor, Tensor, Scalar)> threshold_backward = backward_of(
    "threshold_backward", "threshold", kernels::threshold_backward,
    "The gradient of `threshold` and `relu`: zero where the input is at most `threshold`.")
  .grad("grad_output", "grad, self, threshold",
        [](const Tensor& grad, const Tensor& self, const Scalar& threshold) {
    return threshold_backward(grad, self, threshold);
  })
  .grad("self", "grad", flat);

const Op<Tensor(Tensor, Tensor, Scalar, Scalar)> hardtanh_backward =
    define<Tensor(Tensor, Tensor, Scalar, Scalar)>(
        "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> "
        "Tensor")
  .doc("The gradient of `hardtanh`: zero outside (min_val, max_val).")
  .forms(Hidden | Out)
  .pointwise(kernels::hardtanh_backward)
  .grad("grad_output", "grad, self, min_val, max_val",
        [](const Tensor& grad, const Tensor& self, const Scalar& least, const Scalar& most) {
    return hardtanh_backward(grad, self, least, most);
  })
  .grad("self", "grad", flat);

const Op<Tensor(Tensor, Tensor, Scalar)> leaky_relu_backward = backward_of(
    "leaky_relu_backward", "negative_slope", kernels::leaky_relu_backward,
    "The gradient of `leaky_relu`.")
  .grad("grad_output", "grad, self, negative_slope",
        [](const Tensor& grad, const Tensor& self, const Scalar& slope) {
    return leaky_relu_backward(grad, self, slope);
  })
  .grad("self", "grad", flat);

const Op<Tensor(Tensor, Scalar, Scalar, Scalar, bool, Tensor)> elu_backward =
    define<Tensor(Tensor, Scalar, Scalar, Scalar, bool, Tensor)>(
        "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, "
        "bool is_result, Tensor self_or_result) -> Tensor")
  .doc("The gradient of `elu`, from its input or from its result.")
  .forms(Hidden | Out)
  .pointwise(kernels::elu_backward)
  .grad("grad_output", "grad, alpha, scale, input_scale, is_result, self_or_result",
        [](const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
           bool is_result, const Tensor& x) {
    return elu_backward(grad, alpha, scale, input_scale, is_result, x);
  })
  .grad("self_or_result", "grad, grad_output, alpha, scale, input_scale, is_result, self_or_result",
        [](const Tensor& grad, const Tensor& grad_output, const Scalar& alpha, const Scalar& scale,
           const Scalar& input_scale, bool is_result, const Tensor& x) {
    const Tensor both = grad * grad_output * input_scale;
    const Tensor slope = is_result
        ? both
        : elu_backward(both, alpha, scale, input_scale, is_result, x);
    return keep_where(lt(x, Scalar(0)), slope);
  });

namespace {

// The second derivative of x Phi(x): (2 - x^2) times the normal density.
Tensor gelu_bend(const Tensor& x) {
  const Tensor density = exp(x * x * Scalar(-0.5)) * Scalar(0.39894228040143267794);
  return density * rsub(x * x, Scalar(2), Scalar(1));
}

// Of x (1 + tanh u) / 2 with u = k (x + c x^3).
Tensor gelu_tanh_bend(const Tensor& x) {
  constexpr double k = 0.79788456080286535588, c = 0.044715;
  const Tensor squared = x * x;
  const Tensor t = tanh((x + squared * x * Scalar(c)) * Scalar(k));
  const Tensor slope = (squared * Scalar(3 * c) + Scalar(1)) * Scalar(k);
  const Tensor fall = rsub(t * t, Scalar(1), Scalar(1));
  const Tensor inner = x * Scalar(6 * k * c) - t * slope * slope * Scalar(2);
  return fall * slope + x * fall * inner * Scalar(0.5);
}

}  // namespace

const Op<Tensor(Tensor, Tensor, std::string_view)> gelu_backward =
    define<Tensor(Tensor, Tensor, std::string_view)>(
        "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor")
  .doc("The gradient of `gelu`.")
  .forms(Hidden | Out)
  .choose([](const Tensor&, const Tensor&, std::string_view approximate) {
    return Choice{by_tanh(approximate) ? &kernels::gelu_tanh_backward : &kernels::gelu_backward};
  })
  .grad("grad_output", "grad, self, approximate",
        [](const Tensor& grad, const Tensor& self, std::string_view approximate) {
    return gelu_backward(grad, self, approximate);
  })
  .grad("self", "grad, grad_output, self, approximate",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self,
           std::string_view approximate) {
    const Tensor bend = by_tanh(approximate) ? gelu_tanh_bend(self) : gelu_bend(self);
    return grad * grad_output * bend;
  });

const Op<Tensor(Tensor, Tensor)> silu_backward = backward_of(
    "silu_backward", kernels::silu_backward, "The gradient of `silu`.")
  .grad("grad_output", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return silu_backward(grad, self);
  })
  .grad("self", "grad, grad_output, self",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
    const Tensor s = sigmoid(self), rest = rsub(s, Scalar(1), Scalar(1));
    const Tensor bend = s * rest * (self * (rest - s) + Scalar(2));
    return grad * grad_output * bend;
  });

const Op<Tensor(Tensor, Tensor)> mish_backward = backward_of(
    "mish_backward", kernels::mish_backward, "The gradient of `mish`.")
  .grad("grad_output", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return mish_backward(grad, self);
  })
  .grad("self", "grad, grad_output, self",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
    // With t = tanh(softplus(x)), s = sigmoid(x): f' = t + x s (1 - t^2).
    const Tensor s = sigmoid(self);
    const Tensor soft = zero_where(gt(self, Scalar(20)), log1p(exp(clamp_max(self, Scalar(20)))));
    const Tensor t = tanh(where(gt(self, Scalar(20)), self, soft));
    const Tensor fall = s * rsub(t * t, Scalar(1), Scalar(1));
    const Tensor inner = rsub(s, Scalar(1), Scalar(1)) - t * s * Scalar(2);
    return grad * grad_output * fall * (self * inner + Scalar(2));
  });

const Op<Tensor(Tensor, Tensor)> hardsigmoid_backward = backward_of(
    "hardsigmoid_backward", kernels::hardsigmoid_backward, "The gradient of `hardsigmoid`.")
  .grad("grad_output", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return hardsigmoid_backward(grad, self);
  })
  .grad("self", "grad", flat);

const Op<Tensor(Tensor, Tensor)> hardswish_backward = backward_of(
    "hardswish_backward", kernels::hardswish_backward, "The gradient of `hardswish`.")
  .grad("grad_output", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return hardswish_backward(grad, self);
  })
  .grad("self", "grad, grad_output, self",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
    return keep_where(inside(self, -3, 3), grad * grad_output / Scalar(3));
  });

const Op<Tensor(Tensor, Tensor, Scalar)> hardshrink_backward = backward_of(
    "hardshrink_backward", "lambd", kernels::shrink_backward, "The gradient of `hardshrink`.")
  .grad("grad_output", "grad, self, lambd",
        [](const Tensor& grad, const Tensor& self, const Scalar& lambd) {
    return hardshrink_backward(grad, self, lambd);
  })
  .grad("self", "grad", flat);

const Op<Tensor(Tensor, Tensor, Scalar)> softshrink_backward = backward_of(
    "softshrink_backward", "lambd", kernels::shrink_backward, "The gradient of `softshrink`.")
  .grad("grad_output", "grad, self, lambd",
        [](const Tensor& grad, const Tensor& self, const Scalar& lambd) {
    return softshrink_backward(grad, self, lambd);
  })
  .grad("self", "grad", flat);

const Op<Tensor(Tensor, Tensor, Scalar, Scalar)> softplus_backward =
    define<Tensor(Tensor, Tensor, Scalar, Scalar)>(
        "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> "
        "Tensor")
  .doc("The gradient of `softplus`.")
  .forms(Hidden | Out)
  .pointwise(kernels::softplus_backward)
  .grad("grad_output", "grad, self, beta, threshold",
        [](const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
    return softplus_backward(grad, self, beta, threshold);
  })
  .grad("self", "grad, grad_output, self, beta, threshold",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self, const Scalar& beta,
           const Scalar& threshold) {
    const Tensor x = self * beta;
    const Tensor bend = sigmoid_backward(grad * grad_output, sigmoid(x)) * beta;
    return keep_where(lt(x, threshold), bend);
  });

const Op<Tensor(Tensor, Tensor)> log_sigmoid_backward = backward_of(
    "log_sigmoid_backward", kernels::log_sigmoid_backward, "The gradient of `log_sigmoid`.")
  .grad("grad_output", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return log_sigmoid_backward(grad, self);
  })
  .grad("self", "grad, grad_output, self",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
    const Tensor s = sigmoid(self);
    return grad * grad_output * (s - Scalar(1)) * s;
  });

const Op<Tensor(Tensor, Tensor, Tensor)> prelu_backward_input =
    define<Tensor(Tensor, Tensor, Tensor)>(
        "_prelu_backward_input(Tensor grad_output, Tensor self, Tensor weight) -> Tensor")
  .doc("The gradient of `prelu` for its input.")
  .forms(Hidden)
  .pointwise(kernels::prelu_backward_input)
  .grad("grad_output", "grad, self, weight",
        [](const Tensor& grad, const Tensor& self, const Tensor& weight) {
    return prelu_backward_input(grad, self, weight);
  })
  .grad("self", "grad", flat)
  .grad("weight", "grad, grad_output, self",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
    return zero_where(gt(self, Scalar(0)), grad * grad_output);
  });

const Op<Tensor(Tensor, Tensor)> prelu_backward_weight = backward_of(
    "_prelu_backward_weight", kernels::prelu_backward_weight,
    "The gradient of `prelu` for its weight, not yet summed.")
  .grad("grad_output", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return prelu_backward_weight(grad, self);
  })
  .grad("self", "grad, grad_output, self",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
    return zero_where(gt(self, Scalar(0)), grad * grad_output);
  });

}  // namespace rl::ops
