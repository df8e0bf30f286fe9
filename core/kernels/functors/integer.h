// Functors of division with remainder, powers of integers, bits, and common divisors.
#pragma once
#include "kernels/functors/scalar.h"

namespace rl::kernels::fn {

template <class T> RL_FN void check_divisor(T b) {
  if (__builtin_expect(b == 0, 0)) throw std::runtime_error("ZeroDivisionError");
}
// Towards zero; the least number over -1 wraps around, where the machine would trap.
template <class T> RL_FN T quotient_of(T a, T b) {
  check_divisor(b);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return minus(T(0), a);
  }
  return T(a / b);
}
template <class T> RL_FN T rest_of(T a, T b) {
  check_divisor(b);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return T(a % b);
}

// fmod, quick for floats whose quotient is below 2^28: in double, the quotient is then not rounded
// to an integer it is not, and its product with b is exact.
template <class T> RL_FN T float_rest(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    const double q = double(a) / double(b);
    if (q > -268435456.0 && q < 268435456.0 && std::isfinite(b)) {
      return std::copysign(float(double(a) - double(int64_t(q)) * double(b)), a);
    }
  }
  return std::fmod(a, b);
}

template <class T> struct DivTrunc {
  RL_FN T operator()(T a, T b) const {
    if constexpr (is_integer<T>) return quotient_of(a, b);
    else return trunc(a / b);
  }
};
template <class T> struct DivFloor {
  RL_FN T operator()(T a, T b) const {
    if constexpr (is_integer<T>) {
      const T q = quotient_of(a, b);
      return (a < 0) != (b < 0) && rest_of(a, b) != 0 ? T(q - 1) : q;
    } else {  // as Python: consistent with remainder, rounded to the nearest floor
      if (b == 0) return a / b;
      const T rest = float_rest(a, b);
      T q = (a - rest) / b;
      if (rest != 0 && (b < 0) != (rest < 0)) q -= 1;
      if (q == 0) return std::copysign(T(0), a / b);
      const T f = std::floor(q);
      return q - f > T(0.5) ? f + 1 : f;
    }
  }
};
template <class T> struct Remainder {  // has the divisor's sign
  RL_FN T operator()(T a, T b) const {
    if constexpr (is_integer<T>) {
      const T r = rest_of(a, b);
      return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
    } else {
      const T r = float_rest(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
  }
};
template <class T> struct Fmod {
  RL_FN T operator()(T a, T b) const {
    if constexpr (is_integer<T>) return rest_of(a, b);
    else return float_rest(a, b);
  }
};

template <class T> RL_FN T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == T(1)) return 1;
      return base == T(-1) ? T(exponent % 2 ? -1 : 1) : T(0);
    }
  }
  T result = 1;
  for (uint64_t e = uint64_t(exponent); e; e >>= 1, base = times(base, base)) {
    if (e & 1) result = times(result, base);
  }
  return result;
}
template <class T> struct Pow {
  RL_FN T operator()(T a, T b) const {
    if constexpr (is_integer<T>) return integer_power(a, b);
    else return std::pow(a, b);
  }
};

template <class T> struct BitwiseAnd { RL_FN T operator()(T a, T b) const { return T(a & b); } };
template <class T> struct BitwiseOr { RL_FN T operator()(T a, T b) const { return T(a | b); } };
template <class T> struct BitwiseXor { RL_FN T operator()(T a, T b) const { return T(a ^ b); } };
template <class T> struct BitwiseNot {
  RL_FN T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>) return !a;
    else return T(~a);
  }
};
// Shifts by a negative number or beyond the width: 0 to the left, the sign to the right.
template <class T> struct Lshift {
  RL_FN T operator()(T a, T b) const {
    if (b < 0 || uint64_t(b) >= sizeof(T) * 8) return 0;
    return T(uint64_t(a) << b);
  }
};
template <class T> struct Rshift {
  RL_FN T operator()(T a, T b) const {
    constexpr int most = int(sizeof(T)) * 8 - std::is_signed_v<T>;
    if (b < 0 || uint64_t(b) >= uint64_t(most)) return T(int64_t(a) >> most);
    return T(a >> b);
  }
};

template <class T> RL_FN T common_divisor(T a, T b) {
  T divisor = abs(b);
  for (T rest = abs(a); rest != 0;) {
    const T next = rest_of(divisor, rest);
    divisor = rest;
    rest = next;
  }
  return divisor;
}
template <class T> struct Gcd {
  RL_FN T operator()(T a, T b) const { return common_divisor(a, b); }
};
template <class T> struct Lcm {
  RL_FN T operator()(T a, T b) const {
    const T g = common_divisor(a, b);
    if (g == 0) return 0;
    if constexpr (sizeof(T) < 4) return T(std::abs(int(quotient_of(a, g)) * int(b)));
    else return abs(times(quotient_of(a, g), b));
  }
};

}  // namespace rl::kernels::fn
