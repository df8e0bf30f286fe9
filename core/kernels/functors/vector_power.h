// Powers of floats for registers (levels with a fused product only).
#pragma once
#include "kernels/functors/vector_math.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

#if RL_LEVEL == 2
RL_INLINE Vec<double> low_doubles(Vec<float> x) {
  return _mm512_maskz_cvtps_pd(__mmask8(-1), _mm512_maskz_extractf32x8_ps(__mmask8(-1), x.raw, 0));
}
RL_INLINE Vec<double> high_doubles(Vec<float> x) {
  return _mm512_maskz_cvtps_pd(__mmask8(-1), _mm512_maskz_extractf32x8_ps(__mmask8(-1), x.raw, 1));
}
RL_INLINE Vec<float> floats_of(Vec<double> low, Vec<double> high) {
  const __m256 l = _mm512_maskz_cvtpd_ps(__mmask8(-1), low.raw);
  const __m256 h = _mm512_maskz_cvtpd_ps(__mmask8(-1), high.raw);
  return _mm512_maskz_insertf32x8(__mmask16(-1), _mm512_castps256_ps512(l), h, 1);
}
#elif RL_LEVEL == 1
RL_INLINE Vec<double> low_doubles(Vec<float> x) {
  return _mm256_cvtps_pd(_mm256_castps256_ps128(x.raw));
}
RL_INLINE Vec<double> high_doubles(Vec<float> x) {
  return _mm256_cvtps_pd(_mm256_extractf128_ps(x.raw, 1));
}
RL_INLINE Vec<float> floats_of(Vec<double> low, Vec<double> high) {
  return _mm256_set_m128(_mm256_cvtpd_ps(high.raw), _mm256_cvtpd_ps(low.raw));
}
#endif

// |x|^y for finite x other than 0: y log2(x) and its power of two in doubles, with the polynomials
// that a float's precision asks for (fitted as those of vector_math.h, to 2^-43 and 2^-34). The
// result is off by 0.51 units in the last place at most; beyond 2^200 both ends lie past a float's.
RL_INLINE Vec<double> power_of_magnitude(Vec<double> x, Vec<double> y) {
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

template <class V> struct VectorPow {
  RL_INLINE V operator()(V x, V y) const {
    const V zero(0.0f), one(1.0f), half(0.5f);
    V r = floats_of(power_of_magnitude(low_doubles(x), low_doubles(y)),
                    power_of_magnitude(high_doubles(x), high_doubles(y)));
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
