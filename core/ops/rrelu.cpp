// The randomised leaky ReLU (Xu et al. 2015): random slopes while training, their mean otherwise.
#include "kernels/rrelu.h"

#include <cmath>

#include "ops/activation.h"
#include "ops/dense.h"
#include "ops/random.h"
#include "ops/refusals.h"

namespace rl::ops {

namespace {

double mean_slope(const Scalar& lower, const Scalar& upper) {
  return (lower.to_double() + upper.to_double()) / 2;
}

void check_rrelu(const Tensor& self, const Tensor& noise, bool training) {
  refuse_gradient("rrelu_with_noise", "noise", noise);
  check(self.sizes() == noise.sizes(), "noise tensor shape must match self tensor shape. Got "
        "self.shape = ", self.sizes(), " noise.shape = ", noise.sizes());
  if (self.is_meta()) return;
  const DType t = self.dtype();
  if (!training) {
    if (!self.is_floating()) not_for("leaky_relu_cpu", t);
    return;
  }
  if (t != DType::Float && t != DType::Double) not_for("rrelu_with_noise_out_cpu", t);
  check(noise.dtype() == t, "expected scalar type ", type_name_of(t), " but found ",
        type_name_of(noise.dtype()));
  refuse_internal_overlap(noise);
}

// Fills `out`, and `noise` where it is drawn.
void fill_rrelu(const Tensor& out, const Tensor& self, const Tensor& noise, const Scalar& lower,
                const Scalar& upper, bool training, Generator* generator) {
  NoGrad quiet;
  if (!training) {
    copy_data(out, leaky_relu(detached(self), Scalar(mean_slope(lower, upper))));
    return;
  }
  const Tensor in = dense(self), drawn = dense(noise);
  const Tensor made = out.is_contiguous() ? out : empty(out.sizes(), out.dtype());
  {
    Drawing drawing(generator);
    kernels::rrelu(drawing.generator(), in.dtype(), in.data(), drawn.data(), made.data(),
                   in.numel(), lower.to_double(), upper.to_double());
  }
  if (!made.same(out)) copy_data(out, made);
  if (!drawn.same(noise)) copy_data(noise, drawn);
}

}  // namespace

using RreluBackward = Tensor(Tensor, Tensor, Tensor, Scalar, Scalar, bool, bool);
extern const Op<RreluBackward> rrelu_with_noise_backward;
const Op<RreluBackward> rrelu_with_noise_backward = define<RreluBackward>(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, "
    "Scalar upper, bool training, bool self_is_result) -> Tensor")
  .doc("The gradient of `rrelu_with_noise`: by the slopes drawn, or by their mean.")
  .forms(Hidden)
  .produce([](const Tensor& grad, const Tensor& self, const Tensor& noise, const Scalar& lower,
              const Scalar& upper, bool training, bool self_is_result) {
    NoGrad quiet;
    if (training && upper.to_double() - lower.to_double() > 1e-6)
      return Tensor(detached(grad) * detached(noise));
    const double slope = mean_slope(lower, upper);
    check(!self_is_result || slope >= 0,
          "In-place leakyReLu backward calculation is triggered with a negative slope which is "
          "not supported. This is caused by calling in-place forward function with a negative "
          "slope, please call out-of-place version instead. File an issue at "
          "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
          "backward calculation with negative slope");
    return Tensor(leaky_relu_backward(detached(grad), detached(self), Scalar(slope)));
  })
  .grad("grad_output", "grad, self, noise, lower, upper, training",
        [](const Tensor& grad, const Tensor& self, const Tensor& noise, const Scalar& lower,
           const Scalar& upper, bool training) {
    return rrelu_with_noise_backward(grad, self, noise, lower, upper, training, false);
  })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); });

namespace {

// Before the noise is drawn.
void check_rrelu_out(const Arg* args, const Tensor* targets) {
  const Tensor& self = args[0].as_tensor();
  const Tensor& out = targets[0];
  check(can_cast(self.dtype(), out.dtype()), "result type ", type_name_of(self.dtype()),
        " can't be cast to the desired output type ", type_name_of(out.dtype()));
  check(out.device() == self.device(), "Expected out tensor to have device ",
        name_of(self.device().type), ", but got ", name_of(out.device().type), " instead");
  refuse_internal_overlap(out);
}

}  // namespace

using RreluWithNoise = Tensor(Tensor, Tensor, Scalar, Scalar, bool, Generator*);
const auto rrelu_with_noise = define<RreluWithNoise>(
    "rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, "
    "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor")
  .doc("`rrelu`, whose slopes are left in `noise` while training.")
  .out({.check = check_rrelu_out})
  .forms(NN | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& noise, const Scalar&, const Scalar&,
            bool training, Generator*) {
    check_rrelu(self, noise, training);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& noise, const Scalar& lower,
             const Scalar& upper, bool training, Generator* g) {
    fill_rrelu(result, self, noise, lower, upper, training, g);
  })
  .grad("self", "grad, self, noise, lower, upper, training",
        [](const Tensor& grad, const Tensor& self, const Tensor& noise, const Scalar& lower,
           const Scalar& upper, bool training) {
    return rrelu_with_noise_backward(grad, self, noise, lower, upper, training, false);
  });

const auto rrelu_with_noise_in_place = define<RreluWithNoise>(
    "rrelu_with_noise_(Tensor(a!) self, Tensor noise, Scalar lower=0.125, "
    "Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) "
    "-> Tensor(a!)")
  .doc("`rrelu_with_noise` in place.")
  .node("RreluWithNoiseBackward1")
  .forms(NN)
  .infer([](Infer&, const Tensor& self, const Tensor& noise, const Scalar&, const Scalar&,
            bool training, Generator*) {
    check_rrelu(self, noise, training);
    refuse_internal_overlap(self);
  })
  .effect([](const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
             bool training, Generator* g) {
    fill_rrelu(self, self, noise, lower, upper, training, g);
  })
  .grad("self", "grad, result, noise, lower, upper, training",
        [](const Tensor& grad, const Tensor& result, const Tensor& noise, const Scalar& lower,
           const Scalar& upper, bool training) {
    return rrelu_with_noise_backward(grad, result, noise, lower, upper, training, true);
  });

namespace {

Tensor room_for_noise(const Tensor& self, const Scalar& lower, const Scalar& upper) {
  const double from = lower.to_double(), to = upper.to_double();
  check(std::isfinite(from), "rrelu: lower bound must be finite, got ", from);
  check(std::isfinite(to), "rrelu: upper bound must be finite, got ", to);
  check(from <= to, "Lower bound should be less than or equal to the upper bound");
  return empty(self.sizes(), self.dtype(), self.device());
}

}  // namespace

const auto rrelu = define<Tensor(Tensor, Scalar, Scalar, bool, Generator*)>(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
    "bool training=False, Generator? generator=None) -> Tensor")
  .doc(R"(
    Leaky ReLU; while training each slope is drawn from [lower, upper), otherwise it is their mean.

    >>> torch.rrelu(torch.tensor([-4., 2.]), 0.2, 0.3)
    tensor([-1.,  2.])
  )")
  .composite([](const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
                Generator* g) {
    return rrelu_with_noise(self, room_for_noise(self, lower, upper), lower, upper, training, g);
  });

const auto rrelu_in_place = define<Tensor(Tensor, Scalar, Scalar, bool, Generator*)>(
    "rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, "
    "bool training=False, Generator? generator=None) -> Tensor(a!)")
  .doc("`rrelu` in place.")
  .composite([](const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
                Generator* g) {
    const Tensor noise = room_for_noise(self, lower, upper);
    return rrelu_with_noise_in_place(self, noise, lower, upper, training, g);
  });

}  // namespace rl::ops
