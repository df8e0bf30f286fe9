// Registers of floats as two of doubles, for floats computed in doubles and rounded once (levels
// with a fused product only).
#pragma once
#include "kernels/vec.h"

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

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
