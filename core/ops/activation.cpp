// Activations: the functions; their fused gradients are in activation_backward.cpp.
#include "ops/activation.h"

#include "ops/elementwise.h"

namespace rl::ops {
namespace {

constexpr uint32_t kNN = NN | Inplace | Out;

void refuse_complex(const Tensor& self) {
  check(!self.is_complex(), ErrorKind::NotImplemented,
        "clamp is not supported for complex types");
}

}  // namespace

const Op<Tensor(Tensor)> relu = define<Tensor(Tensor)>("relu(Tensor self) -> Tensor")
  .doc(R"(
    Negative elements become 0.

    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
  )")
  .forms(Function | Method | Inplace)
  .pointwise(kernels::relu, Promote::None)
  .infer([](Infer&, const Tensor& self) {
    check(self.dtype() != DType::Bool, "Boolean inputs not supported for relu");
    refuse_complex(self);
  })
  .grad("self", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return threshold_backward(grad, result, Scalar(0));
  });

const auto threshold = define<Tensor(Tensor, Scalar, Scalar)>(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor")
  .doc(R"(
    Elements that are at most `threshold` become `value`.

    >>> torch.threshold(torch.tensor([-1., 2.]), 0, 5)
    tensor([5., 2.])
  )")
  .out({.dtype = OutDType::Exact, .inplace_internal = true})
  .forms(Function | Inplace | Out)
  .pointwise(kernels::threshold, Promote::None)
  .grad("self", "grad, self, threshold",
        [](const Tensor& grad, const Tensor& self, const Scalar& threshold) {
    return threshold_backward(grad, self, threshold);
  });

namespace {

// Integers keep their dtype: the bounds become integers.
Choice hard_bounds(const Tensor& self, Scalar least, Scalar most) {
  check(self.dtype() != DType::Bool, "Bool inputs not supported for hardtanh");
  refuse_complex(self);
  if (!is_differentiable(self.dtype())) {
    least = Scalar(least.to_int());
    most = Scalar(most.to_int());
    check(self.dtype() != DType::UInt8 || (least.to_int() >= 0 && most.to_int() >= 0),
          "cannot do hardtanh on an unsigned type with negative limits");
  }
  return {&kernels::clamp, Promote::None, 2, {least, most}};
}

}  // namespace

const Op<Tensor(Tensor, Scalar, Scalar)> hardtanh = define<Tensor(Tensor, Scalar, Scalar)>(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor")
  .doc(R"(
    Limits elements to [min_val, max_val].

    >>> torch.nn.functional.hardtanh(torch.tensor([-3., 0.5]))
    tensor([-1.0000,  0.5000])
  )")
  .forms(kNN)
  .choose([](const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
    return hard_bounds(self, min_val, max_val);
  })
  .grad("self", "grad, self, min_val, max_val",
        [](const Tensor& grad, const Tensor& self, const Scalar& least, const Scalar& most) {
    return hardtanh_backward(grad, self, least, most);
  });

const auto relu6 = define<Tensor(Tensor)>("relu6(Tensor self) -> Tensor")
  .doc(R"(
    Limits elements to [0, 6].

    >>> torch.nn.functional.relu6(torch.tensor([-3., 7.]))
    tensor([0., 6.])
  )")
  .forms(NN | Inplace)
  .node("HardtanhBackward0")
  .choose([](const Tensor& self) { return hard_bounds(self, Scalar(0), Scalar(6)); })
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return hardtanh_backward(grad, self, Scalar(0), Scalar(6));
  });

const Op<Tensor(Tensor, Scalar)> leaky_relu = define<Tensor(Tensor, Scalar)>(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
  .doc(R"(
    Multiplies negative elements by `negative_slope`.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.5)
    tensor([-0.5000,  2.0000])
  )")
  .forms(kNN)
  .pointwise(kernels::leaky_relu, Promote::None)
  .grad("self", "grad, self, negative_slope",
        [](const Tensor& grad, const Tensor& self, const Scalar& slope) {
    return leaky_relu_backward(grad, self, slope);
  });

const Op<Tensor(Tensor, Scalar, Scalar, Scalar)> elu =
    define<Tensor(Tensor, Scalar, Scalar, Scalar)>(
        "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")
  .doc(R"(
    Negative elements become alpha * (exp(x) - 1).

    >>> torch.nn.functional.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
  )")
  .forms(kNN)
  .pointwise(kernels::elu, Promote::None)
  .grad("self", "grad, alpha, scale, input_scale, self",
        [](const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
           const Tensor& self) {
    return elu_backward(grad, alpha, scale, input_scale, false, self);
  });

constexpr double kSeluAlpha = 1.6732632423543772848, kSeluScale = 1.0507009873554804934;

const auto selu = define<Tensor(Tensor)>("selu(Tensor self) -> Tensor")
  .doc(R"(
    The scaled exponential unit of self-normalizing networks (Klambauer et al., 2017, section 2).

    >>> torch.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
  )")
  .forms(Function | Inplace)
  .node("EluBackward0")
  .choose([](const Tensor&) {
    return Choice{&kernels::elu, Promote::None, 3, {kSeluAlpha, kSeluScale, 1}};
  })
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return elu_backward(grad, Scalar(kSeluAlpha), Scalar(kSeluScale), Scalar(1), false, self);
  });

const auto celu = define<Tensor(Tensor, Scalar)>("celu(Tensor self, Scalar alpha=1.0) -> Tensor")
  .doc(R"(
    Negative elements become alpha * (exp(x / alpha) - 1).

    >>> torch.celu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
  )")
  .forms(Function | Inplace)
  .choose([](const Tensor&, const Scalar& alpha) {
    check(alpha.to_double() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return Choice{&kernels::elu, Promote::None, 3, {alpha, 1, 1 / alpha.to_double()}};
  })
  .grad("self", "grad, self, alpha",
        [](const Tensor& grad, const Tensor& self, const Scalar& alpha) {
    return elu_backward(grad, alpha, Scalar(1), Scalar(1 / alpha.to_double()), false, self);
  });

const auto gelu = define<Tensor(Tensor, std::string_view)>(
    "gelu(Tensor self, *, str approximate='none') -> Tensor")
  .doc(R"(
    x times the probability that a standard normal number is below x (Hendrycks and Gimpel, 2016).

    >>> torch.nn.functional.gelu(torch.tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
  )")
  .forms(kNN)
  .exact_out()
  .choose([](const Tensor&, std::string_view approximate) {
    return Choice{by_tanh(approximate) ? &kernels::gelu_tanh : &kernels::gelu, Promote::None};
  })
  .grad("self", "grad, self, approximate",
        [](const Tensor& grad, const Tensor& self, std::string_view approximate) {
    return gelu_backward(grad, self, approximate);
  });

const auto silu = define<Tensor(Tensor)>("silu(Tensor self) -> Tensor")
  .doc(R"(
    x times its logistic function.

    >>> torch.nn.functional.silu(torch.tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
  )")
  .forms(kNN)
  .choose([](const Tensor& self) {
    check(!self.is_complex() || !grad_enabled() || !requires_grad(self), "silu does not support "
          "automatic differentiation for outputs with complex dtype.");
    return Choice{&kernels::silu, Promote::None};
  })
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return silu_backward(grad, self);
  });

const auto mish = define<Tensor(Tensor)>("mish(Tensor self) -> Tensor")
  .doc(R"(
    x * tanh(softplus(x)).

    >>> torch.nn.functional.mish(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
  )")
  .forms(kNN)
  .pointwise(kernels::mish, Promote::None)
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return mish_backward(grad, self);
  });

const auto softplus = define<Tensor(Tensor, Scalar, Scalar)>(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor")
  .doc(R"(
    log(1 + exp(beta * x)) / beta; x itself where beta * x is above `threshold`.

    >>> torch.nn.functional.softplus(torch.tensor([0., 30.]))
    tensor([ 0.6931, 30.0000])
  )")
  .forms(NN | Out)
  .exact_out()
  .pointwise(kernels::softplus, Promote::None)
  .grad("self", "grad, self, beta, threshold",
        [](const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold) {
    return softplus_backward(grad, self, beta, threshold);
  });

const auto hardsigmoid = define<Tensor(Tensor)>("hardsigmoid(Tensor self) -> Tensor")
  .doc(R"(
    x / 6 + 1 / 2, limited to [0, 1].

    >>> torch.nn.functional.hardsigmoid(torch.tensor([-3., 0., 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
  )")
  .forms(kNN)
  .pointwise(kernels::hardsigmoid, Promote::None)
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return hardsigmoid_backward(grad, self);
  });

const auto hardswish = define<Tensor(Tensor)>("hardswish(Tensor self) -> Tensor")
  .doc(R"(
    x times its hardsigmoid.

    >>> torch.nn.functional.hardswish(torch.tensor([-1.5, 1.5]))
    tensor([-0.3750,  1.1250])
  )")
  .forms(kNN)
  .pointwise(kernels::hardswish, Promote::None)
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return hardswish_backward(grad, self);
  });

const auto hardshrink = define<Tensor(Tensor, Scalar)>(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
  .doc(R"(
    Elements in [-lambd, lambd] become 0.

    >>> torch.hardshrink(torch.tensor([0.25, 2.]))
    tensor([0., 2.])
  )")
  .forms(Function | Method | Out)
  .exact_out()
  .pointwise(kernels::hardshrink, Promote::None)
  .grad("self", "grad, self, lambd",
        [](const Tensor& grad, const Tensor& self, const Scalar& lambd) {
    return hardshrink_backward(grad, self, lambd);
  });

const auto softshrink = define<Tensor(Tensor, Scalar)>(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
  .doc(R"(
    Elements move towards 0 by `lambd`, and stop there.

    >>> torch.nn.functional.softshrink(torch.tensor([0.25, 2.]))
    tensor([0.0000, 1.5000])
  )")
  .forms(NN | Out)
  .exact_out()
  .choose([](const Tensor& self, const Scalar& lambd) {
    const double most = largest(self.dtype());
    check(lambd.to_double() >= 0 && lambd.to_double() <= most, "lambda must be in range [0, ",
          most, "] for input dtype ", type_name_of(self.dtype()), ", but found ",
          lambd.to_double());
    return Choice{&kernels::softshrink, Promote::None};
  })
  .grad("self", "grad, self, lambd",
        [](const Tensor& grad, const Tensor& self, const Scalar& lambd) {
    return softshrink_backward(grad, self, lambd);
  });

const auto log_sigmoid = define<Tensor(Tensor)>("log_sigmoid(Tensor self) -> Tensor")
  .doc(R"(
    The logarithm of the logistic function.

    >>> torch.nn.functional.logsigmoid(torch.tensor([0., 2.]))
    tensor([-0.6931, -0.1269])
  )")
  .out({.dtype = OutDType::Exact, .quiet = true, .text = "expected scalar type %W but found %G"})
  .forms(NN | Out)
  .infer([](Infer& r, const Tensor& self) {
    check(self.is_floating() || self.is_meta(), ErrorKind::NotImplemented,
          "\"log_sigmoid_cpu\" not "
          "implemented for '", type_name_of(self.dtype()), "'");
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self) {
    run_kernel(kernels::log_sigmoid, result, self.dtype(), {Arg(self)});
  })
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return log_sigmoid_backward(grad, self);
  });

// ---- Units with gates and weights

namespace {

struct Halves { Tensor first, second; };

Halves halves_of(const Tensor& t, int64_t dim) {
  const int64_t n = t.size(dim) / 2;
  return {slice(t, dim, int64_t(0), n, int64_t(1)), slice(t, dim, n, 2 * n, int64_t(1))};
}

}  // namespace

const auto glu = define<Tensor(Tensor, int64_t)>("glu(Tensor self, int dim=-1) -> Tensor")
  .doc(R"(
    The first half of a dimension times the logistic function of the second.

    >>> torch.nn.functional.glu(torch.tensor([2., 4., 0., 0.]))
    tensor([1., 2.])
  )")
  .forms(NN | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim) {
    check(self.dim() > 0, "glu does not support 0-dimensional tensors");
    const int64_t d = wrap_dim(dim, self.dim());
    check(self.size(d) % 2 == 0, "Halving dimension must be even, but dimension ", d, " is size ",
          self.size(d));
    check(self.is_floating(), ErrorKind::NotImplemented, "\"glu_cpu\" not implemented for '",
          type_name_of(self.dtype()), "'");
    NoGrad quiet;
    r.like(slice(detached(self), d, int64_t(0), self.size(d) / 2, int64_t(1)));
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim) {
    const Halves h = halves_of(detached(self), wrap_dim(dim, self.dim()));
    run_kernel(kernels::glu, result, self.dtype(), {Arg(h.first), Arg(h.second)});
  })
  .grad("self", "grad, self, dim", [](const Tensor& grad, const Tensor& self, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.dim());
    const Halves h = halves_of(self, d);
    const Tensor gate = sigmoid(h.second);
    const Tensor parts[] = {grad * gate, sigmoid_backward(grad * h.first, gate)};
    return Tensor(contiguous(cat(TensorList(parts, 2), d)));
  });

const Op<Tensor(Tensor, Tensor)> prelu_kernel = define<Tensor(Tensor, Tensor)>(
    "_prelu_kernel(Tensor self, Tensor weight) -> Tensor")
  .doc("Multiplies negative elements by weights of the same dtype, broadcast.")
  .node("PreluKernelBackward0")
  .forms(Hidden)
  .pointwise(kernels::prelu, Promote::None)
  .grad("self", "grad, self, weight",
        [](const Tensor& grad, const Tensor& self, const Tensor& weight) {
    return prelu_backward_input(grad, self, weight);
  })
  .grad("weight", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return prelu_backward_weight(grad, self);
  });

const auto prelu = define<Tensor(Tensor, Tensor)>("prelu(Tensor self, Tensor weight) -> Tensor")
  .doc(R"(
    Multiplies negative elements by a weight, one for all or one per channel (dimension 1).

    >>> torch.prelu(torch.tensor([-1., 2.]), torch.tensor([0.25]))
    tensor([-0.2500,  2.0000])
  )")
  .forms(Function | Method)
  .autocast(Autocast::Lower)
  .composite([](const Tensor& self, const Tensor& weight) {
    check(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ",
          type_name_of(self.dtype()), " and ", type_name_of(weight.dtype()));
    check(weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: "
          "ndim = ", weight.dim());
    if (weight.numel() != 1) {
      check(self.dim() > 0, "Not allow zero-dim input tensor.");
      const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
      check(weight.numel() == channels, "Mismatch of parameter numbers and input channel size. "
            "Found parameter numbers = ", weight.numel(), " and channel size = ", channels, ".");
    }
    if (self.dim() == weight.dim()) return Tensor(prelu_kernel(self, weight));
    Dims sizes;
    sizes.resize(size_t(self.dim()), 1);
    if (self.dim() > 1) sizes[1] = weight.numel();
    return Tensor(prelu_kernel(self, reshape(weight, sizes)));
  });

}  // namespace rl::ops
