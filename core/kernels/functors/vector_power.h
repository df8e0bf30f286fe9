// Powers for registers (levels with a fused product only).
#pragma once
#include "kernels/functors/vector_doubles.h"
#include "kernels/functors/vector_math.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// |x|^y for finite floats x other than 0: y log2(x) and its power of two in doubles, with the
// polynomials that a float's precision asks for (fitted as those of vector_math.h, to 2^-43 and
// 2^-34). The result is off by 0.51 units in the last place at most; beyond 2^200 both ends lie
// past a float's.
RL_INLINE Vec<double> power_of_float(Vec<double> x, Vec<double> y) {
  using V = Vec<double>;
  using B = V::Bits;
  constexpr int m = Format<double>::mantissa;
  const B half = V(0.70710678118654752440).bits(), one = V(1.0).bits();
  const B i = (x.bits() & ~V::sign_bit()) + (one - half);
  const V offset(double(1ull << m)), bias(double(1ull << m) + Format<double>::bias);
  const V k = V::of_bits(B(V::UBits(i) >> m) | offset.bits()) - bias;
  const V f = V::of_bits((i & ((V::Int(1) << m) - 1)) + half);  // x = 2^k f, f around 1
  const V s = (f - V(1.0)) / (f + V(1.0));
  const V log2 = fma(s, polynomial(s * s, V(2.885390081777850577), V(0.9617966941123594484),
                                   V(0.5770779426302617985), V(0.4122092273305244418),
                                   V(0.3199066608891474008), V(0.28288718263073564)), k);
  const V t = most_of(V(-200.0), least_of(V(200.0), y * log2));  // NaN stays
  const V magic(Format<double>::magic), shifted = t + magic, r = t - (shifted - magic);
  const V p = polynomial(r, V(0.999999999959496961), V(0.6931471805568274267),
                         V(0.2402265121412005353), V(0.05550410906373737279),
                         V(0.009618025530398208056), V(0.00133334784098653989),
                         V(0.0001546975574492582195), V(0.00001530372113080136507));
  return V::of_bits(p.bits() + ((shifted.bits() - magic.bits()) << m));
}
RL_INLINE Vec<float> power_of_magnitude(Vec<float> x, Vec<float> y) {
  return floats_of(power_of_float(low_doubles(x), low_doubles(y)),
                   power_of_float(high_doubles(x), high_doubles(y)));
}

// |x|^y for finite doubles x other than 0. The logarithm is carried in two numbers, the second
// what rounding took off the first, since y may multiply its error by 1000: T. J. Dekker's sums
// and products (Numer. Math. 18, 1971). The logarithm is off by 2^-65 of itself, the result by
// 1.0 units in the last place at most.
RL_INLINE Vec<double> power_of_magnitude(Vec<double> x, Vec<double> y) {
  using V = Vec<double>;
  const V one(1.0), two(2.0), first(2.8853900817779268), first_low(4.0710547481862064099e-17),
      second(0.9617966939259756), second_low(5.0577616648125906047e-17);
  const Parts<double> a = parts_of(abs(x));  // |x| = 2^k (1 + f)
  const V d = two + a.f, over = one / d;
  const V s = a.f * over;  // f / (2 + f), of which log2(1 + f) is an odd function
  const V s_low = (fma(-s, d, a.f) - s * (a.f - (d - two))) * over;
  const V z = s * s, z_low = fma(s, s, -z) + (s + s) * s_low;
  const V tail = z * z * polynomial(z, V(0.5770780163555853603), V(0.4121985831111438606),
                                    V(0.320598897967159682), V(0.2623081914670211734),
                                    V(0.2219527887059616332), V(0.1923805594571283596),
                                    V(0.1688854671740238894), V(0.1691278758232489216));
  const V u = second * z;
  const V u_low = fma(second, z, -u) + (fma(second, z_low, second_low * z) + tail);
  const V v = first + u, v_low = ((first - v) + u) + (u_low + first_low);
  const V l = s * v, l_low = fma(s, v, -l) + fma(s, v_low, s_low * v);
  const V log2 = a.k + l, log2_low = ((a.k - log2) + l) + l_low;
  const V limit(1100.0), product = y * log2;
  const V t = most_of(-limit, least_of(limit, product));
  const V t_low = select(t == product, fma(y, log2, -product) + y * log2_low, V(0.0));
  const V magic(Format<double>::magic), shifted = t + magic, r = (t - (shifted - magic)) + t_low;
  const V p = polynomial(r, V(0.6931471805599453093), V(0.2402265069591007123),
                         V(0.05550410866482162713), V(0.009618129107628479497),
                         V(0.00133335581464064355), V(0.0001540353039337071599),
                         V(0.00001525273384160181517), V(1.321548680872785772e-6),
                         V(1.01780570645733588e-7), V(7.054897292691627319e-9),
                         V(4.45582202501491514e-10), V(2.572934455378675413e-11));
  return scale_by(fma(r, p, one), shifted.bits() - magic.bits());
}

template <class V> struct VectorPow {
  RL_INLINE V operator()(V x, V y) const {
    const V zero(0), one(1), half(typename V::Element(0.5));
    V r = power_of_magnitude(x, y);
    const auto infinite = isinf(x);
    r = select(infinite | (x == zero), select(infinite ^ (y < zero), infinity_of(x), zero), r);
    const auto whole = trunc(y) == y, odd = whole & (trunc(half * y) != half * y);
    r = select(odd, copysign(r, x), r);
    r = select((x < zero) & ~infinite & ~whole, nan_of(x), r);
    r = select(isnan(x) | isnan(y), nan_of(x), r);
    return select((y == zero) | (x == one) | ((x == -one) & isinf(y)), one, r);
  }
};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
