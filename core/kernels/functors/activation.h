// Functors of activations and of their derivatives.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

template <class V> struct Relu {  // NaN stays NaN
  RL_FN V operator()(V x) const { return select(x < V(0), V(0), x); }
};
template <class V> struct Threshold {  // threshold, value
  V threshold, value;
  explicit RL_FN Threshold(const Scalar* p)
      : threshold(number(p[0], V())), value(number(p[1], V())) {}
  RL_FN V operator()(V x) const { return select(x <= threshold, value, x); }
};
template <class V> struct ThresholdBackward {  // grad, self; threshold
  V threshold;
  explicit RL_FN ThresholdBackward(const Scalar* p) : threshold(number(p[0], V())) {}
  RL_FN V operator()(V grad, V x) const { return select(x <= threshold, V(0), grad); }
};
template <class V> struct HardtanhBackward {  // grad, self; min_val, max_val
  V least, most;
  explicit RL_FN HardtanhBackward(const Scalar* p)
      : least(number(p[0], V())), most(number(p[1], V())) {}
  RL_FN V operator()(V grad, V x) const {
    return select((x <= least) | (x >= most), V(0), grad);
  }
};
template <class V> struct LeakyRelu {  // negative_slope
  V slope;
  explicit RL_FN LeakyRelu(const Scalar* p) : slope(number(p[0], V())) {}
  RL_FN V operator()(V x) const { return select(x > V(0), x, x * slope); }
};
template <class V> struct LeakyReluBackward {  // grad, self; negative_slope
  V slope;
  explicit RL_FN LeakyReluBackward(const Scalar* p) : slope(number(p[0], V())) {}
  RL_FN V operator()(V grad, V x) const { return select(x > V(0), grad, grad * slope); }
};
template <class V> struct Elu {  // alpha, scale, input_scale
  V below, above, input;
  explicit RL_FN Elu(const Scalar* p)
      : below(number(Scalar(p[0].to_double() * p[1].to_double()), V())),
        above(number(p[1], V())), input(number(p[2], V())) {}
  RL_FN V operator()(V x) const {
    return select(x < V(0), expm1(x * input) * below, x * above);
  }
};
template <class V> struct EluBackward {  // grad, self or result; numbers as elu's, is_result
  V below, above, input;
  bool is_result;
  explicit RL_FN EluBackward(const Scalar* p)
      : below(number(Scalar(p[0].to_double() * p[1].to_double()), V())),
        above(number(p[1], V())), input(number(p[2], V())), is_result(p[3].to_bool()) {}
  RL_FN V operator()(V grad, V x) const {
    const V slope = is_result ? x + below : below * exp(x * input);
    return select(x <= V(0), grad * input * slope, grad * above);
  }
};
template <class V> RL_FN V six_clamped(V x) {
  return smaller(V(6), larger(V(0), x + V(3)));
}
template <class V> struct Hardsigmoid {
  RL_FN V operator()(V x) const { return six_clamped(x) * V(1.0 / 6.0); }
};
template <class V> struct HardsigmoidBackward {  // PyTorch's sixth is a float, for double too
  RL_FN V operator()(V grad, V x) const {
    return select((x > V(-3)) & (x < V(3)), grad * V(1.0f / 6.0f), V(0));
  }
};
template <class V> struct Hardswish {
  RL_FN V operator()(V x) const { return x * six_clamped(x) * V(1.0 / 6.0); }
};
template <class V> struct HardswishBackward {
  RL_FN V operator()(V grad, V x) const {
    const V middle = grad * (x * V(1.0 / 3.0) + V(0.5));
    return select(x <= V(-3), V(0), select(x < V(3), middle, grad));
  }
};
template <class V> struct Hardshrink {  // lambd
  V lambd;
  explicit RL_FN Hardshrink(const Scalar* p) : lambd(number(p[0], V())) {}
  RL_FN V operator()(V x) const { return select((x >= -lambd) & (x <= lambd), V(0), x); }
};
template <class V> struct Softshrink {  // lambd; NaN stays NaN
  V lambd;
  explicit RL_FN Softshrink(const Scalar* p) : lambd(number(p[0], V())) {}
  RL_FN V operator()(V x) const {
    return select(x > lambd, x - lambd, select(x < -lambd, x + lambd, select(isnan(x), x, V(0))));
  }
};
template <class V> struct ShrinkBackward {  // grad, self; lambd: of both
  V lambd;
  explicit RL_FN ShrinkBackward(const Scalar* p) : lambd(number(p[0], V())) {}
  RL_FN V operator()(V grad, V x) const {
    return select((x >= -lambd) & (x <= lambd), V(0), grad);
  }
};
template <class V> struct Softplus {  // beta, threshold
  V beta, threshold;
  explicit RL_FN Softplus(const Scalar* p)
      : beta(number(p[0], V())), threshold(number(p[1], V())) {}
  RL_FN V operator()(V x) const {
    const V z = x * beta;
    return select(z > threshold, x, log1p(exp(z)) / beta);
  }
};
template <class V> struct SoftplusBackward {  // grad, self; beta, threshold
  V beta, threshold;
  explicit RL_FN SoftplusBackward(const Scalar* p)
      : beta(number(p[0], V())), threshold(number(p[1], V())) {}
  RL_FN V operator()(V grad, V x) const {
    const V z = x * beta, e = exp(z);
    return select(z > threshold, grad, grad * e / (e + V(1)));
  }
};
template <class V> struct Silu {
  RL_FN V operator()(V x) const { return over(x, V(1) + exp(-x)); }
};
template <class V> struct SiluBackward {
  RL_FN V operator()(V grad, V x) const {
    const V s = sigmoid_of(x);
    return times(times(grad, s), V(1) + times(x, V(1) - s));
  }
};
// tanh(log(1 + e^x)) = (e^2 + 2 e) / (e^2 + 2 e + 2) with e = e^x; beyond 20 it rounds to 1.
template <class V> RL_FN V tanh_of_softplus(V e) {
  const V n = fma(e, e, e + e);
  return n / (n + V(2));
}
template <class V> struct Mish {
  RL_FN V operator()(V x) const {
    return select(x > V(20), x, x * tanh_of_softplus(exp(smaller(V(20), x))));
  }
};
template <class V> struct MishBackward {
  RL_FN V operator()(V grad, V x) const {
    const V e = exp(smaller(V(20), x)), t = tanh_of_softplus(e), s = e / (e + V(1));
    return grad * (t + x * s * (V(1) - t * t));
  }
};
template <class V> struct Gelu {
  RL_FN V operator()(V x) const {
    return x * normal_cdf(x);
  }
};
template <class V> struct GeluBackward {
  RL_FN V operator()(V grad, V x) const {
    const V density = exp(x * x * V(-0.5)) * V(0.39894228040143267794);
    return grad * fma(x, density, normal_cdf(x));
  }
};
template <class V> RL_FN V gelu_inner(V x) {  // sqrt(2 / pi) (x + 0.044715 x^3)
  return V(0.79788456080286535588) * fma(V(0.044715) * x * x, x, x);
}
template <class V> struct GeluTanh {
  RL_FN V operator()(V x) const { return V(0.5) * x * (V(1) + tanh(gelu_inner(x))); }
};
template <class V> struct GeluTanhBackward {
  RL_FN V operator()(V grad, V x) const {
    const V t = tanh(gelu_inner(x));
    const V slope = V(0.79788456080286535588) * fma(V(3 * 0.044715) * x, x, V(1));
    return grad * V(0.5) * ((V(1) + t) + x * (V(1) - t * t) * slope);
  }
};
template <class V> RL_FN V log_sigmoid_of(V x) {
  return smaller(V(0), x) - log1p(exp(-abs(x)));
}
template <class V> struct LogSigmoid {
  RL_FN V operator()(V x) const { return log_sigmoid_of(x); }
};
template <class V> struct LogSigmoidBackward {  // grad, self
  RL_FN V operator()(V grad, V x) const {
    const V z = exp(-abs(x)), part = z / (V(1) + z);
    return grad * select(x < V(0), V(1) - part, part);
  }
};
template <class V> struct SigmoidBackward {  // grad, result
  RL_FN V operator()(V grad, V y) const {
    if constexpr (is_complex_number<V>) return times(grad, conjugate(times(V(1) - y, y)));
    else return grad * (V(1) - y) * y;
  }
};
template <class V> struct TanhBackward {  // grad, result
  RL_FN V operator()(V grad, V y) const { return times(grad, conjugate(V(1) - times(y, y))); }
};
template <class V> struct Prelu {  // self, weight
  RL_FN V operator()(V x, V weight) const { return select(x > V(0), x, weight * x); }
};
template <class V> struct PreluBackwardInput {  // grad, self, weight
  RL_FN V operator()(V grad, V x, V weight) const {
    return select(x > V(0), grad, weight * grad);
  }
};
template <class V> struct PreluBackwardWeight {  // grad, self
  RL_FN V operator()(V grad, V x) const { return select(x > V(0), V(0), x * grad); }
};
template <class V> struct Glu {  // the two halves
  RL_FN V operator()(V a, V b) const { return a / (V(1) + exp(-b)); }
};

}  // namespace rl::kernels::fn
