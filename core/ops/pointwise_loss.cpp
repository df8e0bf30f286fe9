// Losses element by element, reduced to their mean or sum.
#include "kernels/loss.h"
#include "kernels/pointwise_table.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

using kernels::Reduction;
using Two = std::pair<Tensor, Tensor>;

Tensor reduced(const Tensor& loss, int64_t reduction) {
  switch (Reduction(reduction)) {
    case Reduction::Mean: return mean(loss);
    case Reduction::Sum: return sum(loss);
    default: return loss;
  }
}

// What the mean divides each element's gradient by, inverted.
double norm_of(const Tensor& self, const Tensor& target, int64_t reduction) {
  if (Reduction(reduction) != Reduction::Mean) return 1;
  const Tensor& larger = self.numel() >= target.numel() ? self : target;
  return 1.0 / double(larger.numel());
}

void check_fits(DType made, DType to) {
  check(can_cast(made, to), "result type ", type_name_of(made),
        " can't be cast to the desired output type ", type_name_of(to));
}

Tensor negated(const Tensor& t) { return t ? Tensor(-t) : t; }

}  // namespace

// ---- mse_loss

namespace {

const auto mse_elements = define<Tensor(Tensor, Tensor)>(
    "_mse_elements(Tensor self, Tensor target) -> Tensor")
  .doc("The squared difference of each pair of elements.")
  .forms(Hidden)
  .pointwise(kernels::mse_loss)
  .grad("self", "grad, self, target", [](const Tensor& grad, const Tensor& self,
                                         const Tensor& target) {
    return grad * (self - target) * Scalar(2);
  })
  .grad("target", "grad, self, target", [](const Tensor& grad, const Tensor& self,
                                           const Tensor& target) {
    return grad * (target - self) * Scalar(2);
  });

const auto mse_backward = define<Tensor(Tensor, Tensor, Tensor, Scalar)>(
    "_mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar norm) -> Tensor")
  .doc("The gradient of mse_loss; `norm` is twice what the reduction multiplies by.")
  .node("MseLossBackwardBackward0")
  .forms(Hidden)
  .pointwise(kernels::mse_loss_backward)
  .grad("grad_output", "grad, self, target, norm", [](const Tensor& grad, const Tensor& self,
                                                      const Tensor& target, const Scalar& norm) {
    return grad * (self - target) * norm;
  })
  .grad("self", "grad, grad_output, norm", [](const Tensor& grad, const Tensor& grad_output,
                                              const Scalar& norm) {
    return grad * grad_output * norm;
  })
  .grad("target", "grad, grad_output, norm", [](const Tensor& grad, const Tensor& grad_output,
                                                const Scalar& norm) {
    return -(grad * grad_output * norm);
  });

}  // namespace

const auto mse_loss = define<Tensor(Tensor, Tensor, int64_t)>(
    "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")
  .doc("The squared difference, averaged.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .produce([](const Tensor& self, const Tensor& target, int64_t reduction) {
    NoGrad quiet;
    return reduced(mse_elements(self, target), reduction);
  })
  .grad("self, target", "grad, self, target, reduction, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
           Needs needs) {
    const Tensor g = contiguous(mse_backward(grad, self, target,
                                             Scalar(2 * norm_of(self, target, reduction))));
    return Two(g, needs[1] ? negated(g) : Tensor());
  });

const auto l1_loss = define<Tensor(Tensor, Tensor, int64_t)>(
    "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")
  .doc("The absolute difference, averaged.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& target, int64_t reduction) {
    return reduced(abs(self - target), reduction);
  });

// ---- smooth_l1_loss and huber_loss

namespace {

// x where |x| is within the bound: the part of a loss that is quadratic.
Tensor inside(const Tensor& self, const Tensor& target, const Scalar& bound) {
  return to_dtype(lt(abs(self - target), scalar_tensor(bound, DType::Double)), self.dtype());
}

#define RL_ROBUST(TEXT, KERNEL, BACKWARD, NODE, PARAM, SLOPE)                                    \
  const auto KERNEL##_elements = define<Tensor(Tensor, Tensor, Scalar)>(                         \
      "_" TEXT "_elements(Tensor self, Tensor target, Scalar " PARAM ") -> Tensor")              \
    .doc("The loss of each pair of elements.")                                                   \
    .forms(Hidden)                                                                               \
    .no_derivative("derivative for aten::_" TEXT "_elements is not implemented")                 \
    .pointwise(kernels::KERNEL);                                                                 \
  const Op<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)> BACKWARD =                            \
      define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)>(                                    \
      "_" TEXT "_backward(Tensor grad_output, Tensor self, Tensor target, Scalar norm, "         \
      "Scalar " PARAM ") -> Tensor")                                                             \
    .doc("The gradient of " TEXT ".")                                                            \
    .node(NODE "BackwardBackward0")                                                              \
    .forms(Hidden)                                                                               \
    .pointwise(kernels::BACKWARD)                                                                \
    .grad("grad_output", "grad, self, target, norm, " PARAM, [](const Tensor& grad,              \
          const Tensor& self, const Tensor& target, const Scalar& norm, const Scalar& bound) {   \
      return BACKWARD(grad, self, target, norm, bound);                                          \
    })                                                                                           \
    .grad("self, target", "grad, grad_output, self, target, norm, " PARAM ", needs",             \
          [](const Tensor& grad, const Tensor& grad_output, const Tensor& self,                  \
             const Tensor& target, const Scalar& norm, const Scalar& bound, Needs needs) {       \
      const Tensor g = grad * grad_output * inside(self, target, bound) *                        \
                       Scalar(norm.to_double() SLOPE);                                           \
      return Two(g, needs[1] ? negated(g) : Tensor());                                           \
    })
RL_ROBUST("smooth_l1_loss", smooth_l1_loss, smooth_l1_loss_backward, "SmoothL1Loss", "beta",
          / bound.to_double());
RL_ROBUST("huber_loss", huber_loss, huber_loss_backward, "HuberLoss", "delta", );
#undef RL_ROBUST

}  // namespace

const auto smooth_l1_loss = define<Tensor(Tensor, Tensor, int64_t, double)>(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor")
  .doc("Squared difference over 2 beta within beta, absolute difference less beta / 2 beyond.")
  .node("SmoothL1LossBackward0")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .produce([](const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
    NoGrad quiet;
    return reduced(smooth_l1_loss_elements(self, target, Scalar(beta)), reduction);
  })
  .grad("self, target", "grad, self, target, reduction, beta, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
           double beta, Needs needs) {
    const Tensor g = contiguous(smooth_l1_loss_backward(
        grad, self, target, Scalar(norm_of(self, target, reduction)), Scalar(beta)));
    return Two(g, needs[1] ? negated(g) : Tensor());
  });

const auto huber_loss = define<Tensor(Tensor, Tensor, int64_t, double)>(
    "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor")
  .doc("Half the squared difference within delta, linear beyond (Huber 1964).")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .produce([](const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
    check(delta > 0, "huber_loss does not support non-positive values for delta.");
    NoGrad quiet;
    const Tensor loss = huber_loss_elements(self, target, Scalar(delta));
    check_fits(loss.dtype(), self.dtype());
    return reduced(to_dtype(loss, self.dtype()), reduction);
  })
  .grad("self, target", "grad, self, target, reduction, delta, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
           double delta, Needs needs) {
    check(target.dtype() == self.dtype(), "Found dtype ", type_name_of(target.dtype()),
          " but expected ", type_name_of(self.dtype()));
    const Tensor g = contiguous(huber_loss_backward(
        grad, self, target, Scalar(norm_of(self, target, reduction)), Scalar(delta)));
    return Two(g, needs[1] ? negated(g) : Tensor());
  });

// ---- Binary cross entropy

namespace {

const auto bce_elements = define<Tensor(Tensor, Tensor)>(
    "_bce_elements(Tensor self, Tensor target) -> Tensor")
  .doc("The binary cross entropy of each pair of elements.")
  .forms(Hidden)
  .no_derivative("derivative for aten::_bce_elements is not implemented")
  .pointwise(kernels::binary_cross_entropy);

const auto bce_backward = define<Tensor(Tensor, Tensor, Tensor)>(
    "_bce_backward(Tensor grad_output, Tensor self, Tensor target) -> Tensor")
  .doc("The gradient of binary cross entropy, element by element.")
  .node("BinaryCrossEntropyBackwardBackward0")
  .forms(Hidden)
  .pointwise(kernels::binary_cross_entropy_backward)
  .grad("grad_output", "grad, self, target", [](const Tensor& grad, const Tensor& self,
                                                const Tensor& target) {
    return grad * (self - target) / clamp_min(self * (-self + Scalar(1)), Scalar(1e-12));
  })
  .grad("self", "grad, grad_output, self, target",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& self,
           const Tensor& target) {
    const Tensor square_root = clamp_min(self * (-self + Scalar(1)), Scalar(1e-12));
    return grad * grad_output * (self * self - self * target * Scalar(2) + target) /
           (square_root * square_root);
  })
  .grad("target", "grad, grad_output, self", [](const Tensor& grad, const Tensor& grad_output,
                                                const Tensor& self) {
    return -(grad * grad_output) / clamp_min(self * (-self + Scalar(1)), Scalar(1e-12));
  });

}  // namespace

const auto binary_cross_entropy = define<Tensor(Tensor, Tensor, Tensor, int64_t)>(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) "
    "-> Tensor")
  .doc("Cross entropy of probabilities against targets in [0, 1]; logarithms are at least -100.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .produce([](const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
    NoGrad quiet;
    check(self.dtype() == target.dtype(), "Found dtype ", type_name_of(target.dtype()),
          " but expected ", type_name_of(self.dtype()));
    if (!self.is_meta() && self.numel() && self.is_floating()) {
      const Tensor x = detached(self);
      check(item_of(amin(x, Ints(), false)).to_double() >= 0 &&
            item_of(amax(x, Ints(), false)).to_double() <= 1,
            "all elements of input should be between 0 and 1");
      const Tensor y = detached(target);
      check(item_of(amin(y, Ints(), false)).to_double() >= 0 &&
            item_of(amax(y, Ints(), false)).to_double() <= 1,
            "all elements of target should be between 0 and 1");
    }
    const Tensor loss = bce_elements(self, target);
    return reduced(weight ? to_dtype(loss * weight, self.dtype()) : loss, reduction);
  })
  .grad("self, target", "grad, self, target, weight, reduction, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
           int64_t reduction, Needs needs) {
    Tensor g = Reduction(reduction) == Reduction::Mean
             ? Tensor(grad * Scalar(norm_of(self, target, reduction))) : grad;
    if (weight) g = g * weight;
    Two made;
    if (needs[0]) made.first = bce_backward(g, self, target);
    if (needs[1])
      made.second = g * (clamp_min(log(-self + Scalar(1)), Scalar(-100)) -
                         clamp_min(log(self), Scalar(-100)));
    return made;
  });

namespace {

extern const Op<Tensor(Tensor, Tensor, Tensor)> logits_backward;

const auto logits_elements = define<Tensor(Tensor, Tensor)>(
    "_bce_with_logits_elements(Tensor self, Tensor target) -> Tensor")
  .doc("The binary cross entropy of each logit with its target.")
  .forms(Hidden)
  .pointwise(kernels::bce_with_logits)
  .grad("self", "grad, self, target", [](const Tensor& grad, const Tensor& self,
                                         const Tensor& target) {
    return logits_backward(grad, self, target);
  })
  .grad("target", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return -(grad * self);
  });

const Op<Tensor(Tensor, Tensor, Tensor)> logits_backward = define<Tensor(Tensor, Tensor, Tensor)>(
    "_bce_with_logits_backward(Tensor grad_output, Tensor self, Tensor target) -> Tensor")
  .doc("The gradient of binary cross entropy with logits, element by element.")
  .forms(Hidden)
  .pointwise(kernels::bce_with_logits_backward)
  .grad("grad_output", "grad, self, target", [](const Tensor& grad, const Tensor& self,
                                                const Tensor& target) {
    return logits_backward(grad, self, target);
  })
  .grad("self", "grad, grad_output, self", [](const Tensor& grad, const Tensor& grad_output,
                                              const Tensor& self) {
    const Tensor s = sigmoid(self);
    return grad * grad_output * s * (-s + Scalar(1));
  })
  .grad("target", "grad, grad_output", [](const Tensor& grad, const Tensor& grad_output) {
    return -(grad * grad_output);
  });

// log(sigmoid(x)), through the loss of the target 1.
Tensor log_sigmoid_of(const Tensor& x) {
  return -logits_elements(x, full({}, 1, x.dtype(), x.device()));
}

Tensor logits_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                   const Tensor& pos_weight) {
  Tensor loss;
  if (pos_weight) {
    const Tensor factor = (pos_weight - full({}, 1, pos_weight.dtype(), self.device())) * target +
                          Scalar(1);
    loss = (-target + Scalar(1)) * self - factor * log_sigmoid_of(self);
  } else {
    loss = logits_elements(self, target);
  }
  return weight ? Tensor(loss * weight) : loss;
}

}  // namespace

const auto binary_cross_entropy_with_logits =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, int64_t)>(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
    "Tensor? pos_weight=None, int reduction=Mean) -> Tensor")
  .doc("Cross entropy of sigmoid(self) against targets in [0, 1], without overflow.")
  .forms(Function)
  .autocast(Autocast::Float)
  .produce([](const Tensor& self, const Tensor& target, const Tensor& weight,
              const Tensor& pos_weight, int64_t reduction) {
    check(target.dtype() != DType::Bool,
          "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
          "`logical_xor()` operator instead.");
    check_fits(self.dtype(), target.dtype());
    check(is_differentiable(self.dtype()), ErrorKind::NotImplemented,
          "\"log_sigmoid_cpu\" not implemented for '", type_name_of(self.dtype()), "'");
    NoGrad quiet;
    const Tensor loss = logits_loss(self, target, weight, pos_weight);
    return reduced(to_dtype(loss, target.dtype()), reduction);
  })
  .grad("self, target", "grad, self, target, weight, pos_weight, reduction, needs",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
           const Tensor& pos_weight, int64_t reduction, Needs needs) {
    Tensor g = Reduction(reduction) == Reduction::Mean
             ? Tensor(grad * Scalar(norm_of(self, target, reduction))) : grad;
    if (weight) g = g * weight;
    Two made;
    if (needs[0]) {
      if (!pos_weight) {
        made.first = logits_backward(g, self, target);
      } else {
        const Tensor t = pos_weight * target;
        made.first = g * ((t + (-target + Scalar(1))) * sigmoid(self) - t);
      }
    }
    if (needs[1]) {
      made.second = pos_weight ? Tensor(g * (log_sigmoid_of(-self) -
                                             pos_weight * log_sigmoid_of(self)))
                               : Tensor(-(g * self));
    }
    return made;
  });

const auto soft_margin_loss = define<Tensor(Tensor, Tensor, int64_t)>(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor")
  .doc("log(1 + exp(-target * x)), targets being 1 or -1.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .produce([](const Tensor& self, const Tensor& target, int64_t reduction) {
    refuse_gradient("soft_margin_loss", "target", target);
    NoGrad quiet;
    const Tensor loss = reduced(log1p(exp(-self * target)), reduction);
    check_fits(loss.dtype(), self.dtype());
    return to_dtype(loss, self.dtype());
  })
  .grad("self", "grad, self, target, reduction",
        [](const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
    const Tensor z = exp(-target * self);
    return -target * z / (z + Scalar(1)) * grad * Scalar(norm_of(self, target, reduction));
  });

// ---- Composites

namespace {

const auto kl_elements = define<Tensor(Tensor, Tensor)>(
    "_kl_elements(Tensor self, Tensor target) -> Tensor")
  .doc("target * (log(target) - self), element by element.")
  .node("SubBackward0")
  .forms(Hidden)
  .pointwise(kernels::kl_div)
  .grad("self", "grad, target", [](const Tensor& grad, const Tensor& target) {
    return -grad * target;
  })
  .grad("target", "grad, self, target", [](const Tensor& grad, const Tensor& self,
                                           const Tensor& target) {
    return grad * (log(target) + Scalar(1) - self);
  });

}  // namespace

namespace {

// x log(x), the logarithm rounded to the dtype; 0 at 0.
Tensor rounded_xlogx(const Tensor& x) {
  const Tensor zero = full({}, 0, x.dtype(), x.device());
  return where(eq(x, zero), zero, x * log(x));
}

}  // namespace

const auto kl_div = define<Tensor(Tensor, Tensor, int64_t, bool)>(
    "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor")
  .doc("Kullback-Leibler divergence of log-probabilities from a target.")
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
    check(!self.is_complex() && !target.is_complex(), "kl_div: Complex inputs not supported.");
    check(self.is_floating() && target.is_floating(), "kl_div: Integral inputs not supported.");
    if (log_target) return reduced(exp(target) * (target - self), reduction);
    // Halves are rounded after each step, as PyTorch does.
    const bool whole = compute_of(self.dtype()) == self.dtype() && self.dtype() == target.dtype();
    if (!whole) return reduced(rounded_xlogx(target) - target * self, reduction);
    // The order in memory is the target's.
    if (self.strides() != target.strides()) {
      return reduced(xlogy(target, target) - target * self, reduction);
    }
    return reduced(kl_elements(self, target), reduction);
  });

const auto hinge_embedding_loss = define<Tensor(Tensor, Tensor, double, int64_t)>(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) "
    "-> Tensor")
  .doc("x where the target is 1, max(0, margin - x) where it is -1.")
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
    const Tensor zero = full({}, 0, self.dtype(), self.device());
    const Tensor one = full({}, 1, target.dtype(), target.device());
    // The margin is a number of the input's type: whole for whole ones.
    const Scalar bound = is_differentiable(self.dtype()) ? Scalar(margin) : Scalar(int64_t(margin));
    const Tensor hinge = clamp_min(full({}, bound, self.dtype(), self.device()) - self, Scalar(0));
    return reduced(where(ne(target, one), hinge, zero) + where(ne(target, -one), self, zero),
                   reduction);
  });

const auto margin_ranking_loss = define<Tensor(Tensor, Tensor, Tensor, double, int64_t)>(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
    "int reduction=Mean) -> Tensor")
  .doc("max(0, -target * (input1 - input2) + margin).")
  .autocast(Autocast::Float)
  .composite([](const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                int64_t reduction) {
    return reduced(clamp_min(-target * (input1 - input2) + Scalar(margin), Scalar(0)), reduction);
  });

const auto poisson_nll_loss = define<Tensor(Tensor, Tensor, bool, bool, double, int64_t)>(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, "
    "int reduction) -> Tensor")
  .doc("Negative log-likelihood of a Poisson target; `full` adds Stirling's term.")
  .autocast(Autocast::Float)
  .composite([](const Tensor& input, const Tensor& target, bool log_input, bool with_stirling,
                double eps, int64_t reduction) {
    Tensor loss = log_input ? exp(input) - target * input
                            : input - target * log(input + Scalar(eps));
    if (with_stirling) {
      const Tensor stirling = target * log(target) - target +
                              log(target * Scalar(2 * 3.141592653589793)) * Scalar(0.5);
      const Tensor one = full({}, 1, target.dtype(), target.device());
      loss = loss + where(gt(target, one), stirling, full({}, 0, stirling.dtype()));
    }
    return reduced(loss, reduction);
  });

}  // namespace rl::ops
