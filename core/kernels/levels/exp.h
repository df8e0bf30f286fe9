// The exponential of a vector of floats (1 ulp) or doubles (1 ulp), subnormal results included.
#pragma once
#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// x = k ln 2 + r with |r| <= ln 2 / 2, then a Taylor polynomial of e^r. 2^k goes in as two
// factors, so that k may leave the range of the exponent. NaN stays NaN.
RL_INLINE Floats exponential(Floats x) {
  const Floats magic = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  Floats c = x < -104.0f ? all(-104.0f) : x;
  c = c > 89.0f ? all(89.0f) : c;
  const Floats shifted = c * 1.44269504088896341f + magic;
  const Floats k = shifted - magic;
  const Floats r = (c - k * 0.693359375f) - k * -2.12194440e-4f;
  Floats p = all(1.0f / 5040);
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  const Ints n = Ints(shifted) - Ints(magic);
  const Ints half = n >> 1;
  const Floats y = p * Floats((half + 127) << 23) * Floats((n - half + 127) << 23);
  return x != x ? x : y;
}

RL_INLINE Doubles exponential(Doubles x) {
  const Doubles magic = all(6755399441055744.0);  // 1.5 * 2^52
  Doubles c = x < -746.0 ? all(-746.0) : x;
  c = c > 710.0 ? all(710.0) : c;
  const Doubles shifted = c * 1.4426950408889634074 + magic;
  const Doubles k = shifted - magic;
  const Doubles r = (c - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  Doubles p = all(1.0 / 6227020800.0);
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * (r * r) + r + 1.0;
  const Longs n = Longs(shifted) - Longs(magic);
  const Longs half = n >> 1;
  const Doubles y = p * Doubles((half + 1023) << 52) * Doubles((n - half + 1023) << 52);
  return x != x ? x : y;
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
