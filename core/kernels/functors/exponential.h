// Functors of exponentials, logarithms, roots, hyperbolic and circular functions, rounding.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

#define RL_UNARY(Name, f) \
  template <class V> struct Name { RL_FN V operator()(V x) const { return f(x); } };
RL_UNARY(Exp, exp) RL_UNARY(Exp2, exp2) RL_UNARY(Expm1, expm1) RL_UNARY(Log, log)
RL_UNARY(Log2, log2) RL_UNARY(Log10, log10) RL_UNARY(Log1p, log1p) RL_UNARY(Sqrt, sqrt)
RL_UNARY(Sin, sin) RL_UNARY(Cos, cos) RL_UNARY(Tan, tan) RL_UNARY(Sinh, sinh)
RL_UNARY(Cosh, cosh) RL_UNARY(Tanh, tanh) RL_UNARY(Erf, erf) RL_UNARY(Sigmoid, sigmoid_of)
#undef RL_UNARY

template <class V> struct Rsqrt {
  RL_FN V operator()(V x) const { return over(V(1), sqrt(x)); }
};
template <class V> struct Sinc {
  RL_FN V operator()(V x) const {
    const V y = x * V(3.14159265358979323846);
    return select(x == V(0), V(1), over(sin(y), y));
  }
};

#define RL_ROUNDING(Name, f)                            \
  template <class V> struct Name {                      \
    RL_FN V operator()(V x) const {                     \
      if constexpr (is_integer<V>) return x;            \
      else return f(x);                                 \
    }                                                   \
  };
RL_ROUNDING(Floor, floor) RL_ROUNDING(Ceil, ceil) RL_ROUNDING(Trunc, trunc)
RL_ROUNDING(Round, round)
#undef RL_ROUNDING
template <class V> struct RoundDecimals {  // decimals: round(x 10^d) / 10^d
  V scale;
  bool divide;
  explicit RL_FN RoundDecimals(const Scalar* p) : scale(1), divide(p[0].to_int() < 0) {
    double s = 1;
    for (int64_t d = p[0].to_int(), k = d < 0 ? -d : d; k > 0 && s < 1e308; --k) s *= 10;
    scale = number(Scalar(s), V());
  }
  RL_FN V operator()(V x) const {
    return divide ? round(x / scale) * scale : round(x * scale) / scale;
  }
};
template <class V> struct Frac { RL_FN V operator()(V x) const { return x - trunc(x); } };
template <class V> struct Deg2rad {
  RL_FN V operator()(V x) const { return x * V(0.017453292519943295769); }
};
template <class V> struct Rad2deg {
  RL_FN V operator()(V x) const { return x * V(57.295779513082320877); }
};

template <class V> struct Xlogy {
  RL_FN V operator()(V x, V y) const {
    return select(isnan(y), y, select(x == V(0), V(0), x * log(y)));
  }
};
template <class V> struct Xlog1py {
  RL_FN V operator()(V x, V y) const {
    return select(isnan(y), y, select(x == V(0), V(0), x * log1p(y)));
  }
};
template <class V> struct Logaddexp {
  RL_FN V operator()(V a, V b) const {
    if constexpr (is_complex_number<V>) {
      const bool first = a.real() > b.real() || std::isnan(a.real());
      const V most = first ? a : b, least = first ? b : a;
      if (std::isinf(most.real()) && most.real() == least.real()) {
        return most.real() < 0 ? most : std::log(std::exp(least) + std::exp(most));
      }
      return most + log1p(std::exp(least - most));
    } else {
      const V sum = larger(a, b) + log1p(exp(-abs(a - b)));
      return select(isinf(a) & (a == b), a, sum);
    }
  }
};
template <class V> struct Logaddexp2 {
  RL_FN V operator()(V a, V b) const {
    const V sum = fma(log1p(exp2(-abs(a - b))), V(1.44269504088896340736), larger(a, b));
    return select(isinf(a) & (a == b), a, sum);
  }
};
template <class V> struct Logit {  // least (negative for none), most
  V least, most;
  explicit RL_FN Logit(const Scalar* p) : least(number(p[0], V())), most(number(p[1], V())) {
    if (p[0].to_double() < 0) {
      least = V(-__builtin_inf());
      most = V(__builtin_inf());
    }
  }
  RL_FN V operator()(V x) const {
    const V z = smaller(most, larger(least, x));
    return log(z / (V(1) - z));
  }
};
template <class V> struct LogitBackward {  // grad, self; eps
  V least, most, outside;
  explicit RL_FN LogitBackward(const Scalar* p)
      : least(number(p[0], V())), most(V(1) - least), outside(0) {
    if (p[0].to_double() < 0) {
      least = V(0);
      most = V(1);
      outside = V(__builtin_nan(""));
    }
  }
  RL_FN V operator()(V grad, V x) const {
    const V inside = grad / (x * (V(1) - x));
    return select((x >= least) & (x <= most), inside, outside);
  }
};

}  // namespace rl::kernels::fn
