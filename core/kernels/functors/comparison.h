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

template <class V> struct Where {
  template <class M> RL_FN V operator()(M condition, V a, V b) const {
    return select(condition, a, b);
  }
};

}  // namespace rl::kernels::fn
