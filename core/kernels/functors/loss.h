// Functors of losses, element by element, and of their derivatives for `self`. `norm` is what the
// reduction divides by, inverted: 1 / numel for the mean, 1 otherwise.
#pragma once
#include "kernels/functors/activation.h"

namespace rl::kernels::fn {

template <class V> struct MseLoss {
  RL_FN V operator()(V a, V b) const { return times(minus(a, b), minus(a, b)); }
};
template <class V> struct MseLossBackward {  // grad, self, target; 2 norm
  V norm;
  explicit RL_FN MseLossBackward(const Scalar* p) : norm(number(p[0], V())) {}
  RL_FN V operator()(V grad, V a, V b) const { return times(times(norm, minus(a, b)), grad); }
};
template <class V> struct SmoothL1Loss {  // beta
  V beta;
  explicit RL_FN SmoothL1Loss(const Scalar* p) : beta(number(p[0], V())) {}
  RL_FN V operator()(V a, V b) const {
    const V z = abs(a - b);
    return select(z < beta, V(0.5) * z * z / beta, z - V(0.5) * beta);
  }
};
template <class V> struct SmoothL1LossBackward {  // grad, self, target; norm, beta
  V norm, beta;
  explicit RL_FN SmoothL1LossBackward(const Scalar* p)
      : norm(number(p[0], V())), beta(number(p[1], V())) {}
  RL_FN V operator()(V grad, V a, V b) const {
    const V x = a - b, g = norm * grad;
    return select(x <= -beta, -g, select(x >= beta, g, norm * x * grad / beta));
  }
};
template <class V> struct HuberLoss {  // delta
  V delta;
  explicit RL_FN HuberLoss(const Scalar* p) : delta(number(p[0], V())) {}
  RL_FN V operator()(V a, V b) const {
    const V z = abs(a - b);
    return select(z <= delta, V(0.5) * z * z, delta * (z - V(0.5) * delta));
  }
};
template <class V> struct HuberLossBackward {  // grad, self, target; norm, delta
  V norm, delta;
  explicit RL_FN HuberLossBackward(const Scalar* p)
      : norm(number(p[0], V())), delta(number(p[1], V())) {}
  RL_FN V operator()(V grad, V a, V b) const {
    const V x = a - b, g = norm * grad * delta;
    return select(x <= -delta, -g, select(x >= delta, g, norm * x * grad));
  }
};
template <class V> struct BinaryCrossEntropy {  // self, target; logarithms are at least -100
  RL_FN V operator()(V x, V t) const {
    const V zero = larger(V(-100), log1p(-x)), one = larger(V(-100), log(x));
    return (t - V(1)) * zero - t * one;
  }
};
template <class V> struct BinaryCrossEntropyBackward {  // grad, self, target
  RL_FN V operator()(V grad, V x, V t) const {
    return grad * (x - t) / larger(V(1e-12), (V(1) - x) * x);
  }
};
template <class V> struct BceWithLogits {  // self, target
  RL_FN V operator()(V x, V t) const { return (V(1) - t) * x - log_sigmoid_of(x); }
};
template <class V> struct BceWithLogitsWeighted {  // self, target, pos_weight
  RL_FN V operator()(V x, V t, V weight) const {
    return (V(1) - t) * x - ((weight - V(1)) * t + V(1)) * log_sigmoid_of(x);
  }
};
template <class V> struct BceWithLogitsBackward {  // grad, self, target
  RL_FN V operator()(V grad, V x, V t) const { return grad * (sigmoid_of(x) - t); }
};
template <class V> struct KlDiv {  // self (log-probabilities), target (probabilities)
  RL_FN V operator()(V x, V t) const {
    const V entropy = select(isnan(t), t, select(t == V(0), V(0), t * log(t)));
    return entropy - t * x;
  }
};
template <class V> struct KlDivLogTarget {  // self, target: both logarithms
  RL_FN V operator()(V x, V t) const { return exp(t) * (t - x); }
};

}  // namespace rl::kernels::fn
