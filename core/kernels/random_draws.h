// From draws to numbers: what the random fills share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/generator.h"
#include "kernels/random.h"

namespace rl::kernels {

constexpr double kPi = 3.14159265358979323846;

template <class T, class V> T cast(V v) {
  if constexpr (std::is_same_v<T, Half>) return to_half(float(v));
  else if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(float(v));
  else if constexpr (std::is_same_v<T, bool>) return v != 0;
  else return T(v);
}

// 2^24 and 2^53 steps: what one draw, or two, give in [0, 1).
inline float unit_float(uint32_t bits) { return float(bits & 0xffffffu) * 0x1p-24f; }
inline double unit_double(const uint32_t* bits) {
  const uint64_t whole = uint64_t(bits[0]) << 32 | bits[1];
  return double(whole & ((uint64_t(1) << 53) - 1)) * 0x1p-53;
}

// Calls make(draws, i) for element i, with kDraws draws of its own.
template <class T, int kDraws, class Make> void fill(Generator& g, Run out, Make make) {
  constexpr int64_t kChunk = 512 / kDraws;
  uint32_t bits[512];
  char* p = static_cast<char*>(out.data);
  for (int64_t done = 0; done < out.n; done += kChunk) {
    const int64_t n = std::min(kChunk, out.n - done);
    g.random(bits, n * kDraws);
    for (int64_t i = 0; i < n; ++i, p += out.stride) {
      *reinterpret_cast<T*>(p) = make(bits + i * kDraws, done + i);
    }
  }
}

// f gets a null pointer of the floating dtype's C++ type.
template <class F> void for_floating(DType t, F&& f) {
  switch (t) {
    case DType::Half: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case DType::Float: return f(static_cast<float*>(nullptr));
    case DType::Double: return f(static_cast<double*>(nullptr));
    default: return;
  }
}

inline double draw_double(Generator& g) {
  uint32_t bits[2];
  g.random(bits, 2);
  return unit_double(bits);
}

// A standard normal number by Box-Muller; every second one comes from the generator's cache.
double draw_normal(Generator& g);

template <class T> auto number(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else return v;
}
template <class T> T read(ConstRun run, int64_t i) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(run.data) + i * run.stride);
}
template <class T> void write(Run run, int64_t i, T v) {
  *reinterpret_cast<T*>(static_cast<char*>(run.data) + i * run.stride) = v;
}

}  // namespace rl::kernels
