// Functors of comparisons, logic, tests and choice.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

template <class V> struct Eq { RL_FN auto operator()(V a, V b) const { return a == b; } };
template <class V> struct Ne { RL_FN auto operator()(V a, V b) const { return a != b; } };
template <class V> struct Lt { RL_FN auto operator()(V a, V b) const { return a < b; } };
template <class V> struct Le { RL_FN auto operator()(V a, V b) const { return a <= b; } };
template <class V> struct Gt { RL_FN auto operator()(V a, V b) const { return a > b; } };
template <class V> struct Ge { RL_FN auto operator()(V a, V b) const { return a >= b; } };

template <class V> struct LogicalAnd {
  RL_FN auto operator()(V a, V b) const { return nonzero(a) & nonzero(b); }
};
template <class V> struct LogicalOr {
  RL_FN auto operator()(V a, V b) const { return nonzero(a) | nonzero(b); }
};
template <class V> struct LogicalXor {
  RL_FN auto operator()(V a, V b) const { return nonzero(a) ^ nonzero(b); }
};
template <class V> struct LogicalNot { RL_FN auto operator()(V a) const { return !nonzero(a); } };

template <class V> struct Signbit { RL_FN auto operator()(V a) const { return signbit(a); } };
template <class V> struct Isnan { RL_FN auto operator()(V a) const { return isnan(a); } };
template <class V> struct Isinf { RL_FN auto operator()(V a) const { return isinf(a); } };
template <class V> struct Isfinite { RL_FN auto operator()(V a) const { return isfinite(a); } };
template <class V> struct Isposinf {
  RL_FN auto operator()(V a) const { return isinf(a) & (a > V(0)); }
};
template <class V> struct Isneginf {
  RL_FN auto operator()(V a) const { return isinf(a) & (a < V(0)); }
};

template <class V> struct Where {
  template <class M> RL_FN V operator()(M condition, V a, V b) const {
    return select(condition, a, b);
  }
};

template <class V> struct NanToNum {  // nan, posinf, neginf
  V nan, high, low;
  explicit RL_FN NanToNum(const Scalar* p)
      : nan(number(p[0], V())), high(number(p[1], V())), low(number(p[2], V())) {}
  RL_FN V operator()(V x) const {
    if constexpr (is_integer<V>) return x;
    else if constexpr (is_complex_number<V>) return V(part(x.real()), part(x.imag()));
    else {
      const V y = select(isinf(x), select(x > V(0), high, low), x);
      return select(isnan(x), nan, y);
    }
  }

 private:
  template <class R> RL_FN R part(R x) const {
    return isnan(x) ? nan.real() : isinf(x) ? (x > 0 ? high.real() : low.real()) : x;
  }
};

}  // namespace rl::kernels::fn
