// Vectors of floats or doubles as wide as the level allows, for loops over contiguous rows.
// Only levels/*.cpp include this: everything here lies in the level's own namespace.
#pragma once
#include <cstdint>

#include "kernels/functors/vector_math.h"
#include "kernels/vec.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// The bare vectors of Vec, so that sums and products with numbers need no conversion.
template <class T> using Lanes = typename Vec<T>::Raw;
using Floats = Lanes<float>;
using Doubles = Lanes<double>;
using Ints = Vec<float>::Bits;
using Longs = Vec<double>::Bits;
template <class T> constexpr int64_t kLanes = kVectorBytes / int64_t(sizeof(T));

struct Full {};               // all lanes are there
struct Part { int64_t n; };   // only the first n are: loads fill the rest, stores leave it alone

template <class T> RL_INLINE Lanes<T> all(T v) { return Lanes<T>{} + v; }

template <class T> RL_INLINE Lanes<T> load(const T* p, Full, T = T(0)) {
  Lanes<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T> RL_INLINE void store(T* p, Lanes<T> v, Full) {
  __builtin_memcpy(p, &v, sizeof v);
}

#if RL_LEVEL == 2
RL_INLINE Floats load(const float* p, Part part, float fill = 0) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), __mmask16((1u << part.n) - 1), p);
}
RL_INLINE Doubles load(const double* p, Part part, double fill = 0) {
  return _mm512_mask_loadu_pd(_mm512_set1_pd(fill), __mmask8((1u << part.n) - 1), p);
}
RL_INLINE void store(float* p, Floats v, Part part) {
  _mm512_mask_storeu_ps(p, __mmask16((1u << part.n) - 1), v);
}
RL_INLINE void store(double* p, Doubles v, Part part) {
  _mm512_mask_storeu_pd(p, __mmask8((1u << part.n) - 1), v);
}
#elif RL_LEVEL == 1
RL_INLINE Ints present(int32_t n) { return Ints{0, 1, 2, 3, 4, 5, 6, 7} < n; }
RL_INLINE Longs present(int64_t n) { return Longs{0, 1, 2, 3} < n; }
RL_INLINE Floats load(const float* p, Part part, float fill = 0) {
  const Ints mask = present(int32_t(part.n));
  return mask ? Floats(_mm256_maskload_ps(p, __m256i(mask))) : all(fill);
}
RL_INLINE Doubles load(const double* p, Part part, double fill = 0) {
  const Longs mask = present(part.n);
  return mask ? Doubles(_mm256_maskload_pd(p, __m256i(mask))) : all(fill);
}
RL_INLINE void store(float* p, Floats v, Part part) {
  _mm256_maskstore_ps(p, __m256i(present(int32_t(part.n))), v);
}
RL_INLINE void store(double* p, Doubles v, Part part) {
  _mm256_maskstore_pd(p, __m256i(present(part.n)), v);
}
#else
template <class T> RL_INLINE Lanes<T> load(const T* p, Part part, T fill = T(0)) {
  Lanes<T> v = all(fill);
  for (int64_t i = 0; i < part.n; ++i) v[i] = p[i];
  return v;
}
template <class T> RL_INLINE void store(T* p, Lanes<T> v, Part part) {
  for (int64_t i = 0; i < part.n; ++i) p[i] = v[i];
}
#endif

RL_INLINE Floats square_root(Floats v) { return sqrt(Vec<float>(v)).raw; }
RL_INLINE Doubles square_root(Doubles v) { return sqrt(Vec<double>(v)).raw; }
RL_INLINE Floats exponential(Floats v) { return exp(Vec<float>(v)).raw; }
RL_INLINE Doubles exponential(Doubles v) { return exp(Vec<double>(v)).raw; }
RL_INLINE Floats natural_log(Floats v) { return log(Vec<float>(v)).raw; }
RL_INLINE Doubles natural_log(Doubles v) { return log(Vec<double>(v)).raw; }
template <class V> RL_INLINE V larger(V a, V b) { return a > b ? a : b; }
template <class V> RL_INLINE V absolute(V a) { return a < 0 ? -a : a; }
// PyTorch's maximum: a NaN on either side stays.
template <class V> RL_INLINE V maximum(V a, V b) { return a != a ? a : b != b ? b : larger(a, b); }

template <class T> RL_INLINE T sum_of(Lanes<T> v) {
  return across_lanes(Vec<T>(v), [](Vec<T> a, Vec<T> b) RL_INLINE_LAMBDA { return a + b; }).raw[0];
}
template <class T> RL_INLINE T max_of(Lanes<T> v) {
  return across_lanes(Vec<T>(v), [](Vec<T> a, Vec<T> b) RL_INLINE_LAMBDA {
    return Vec<T>(larger(a.raw, b.raw));
  }).raw[0];
}

// Calls body(i, Full) for each whole vector of n elements and body(i, Part) for what is left.
template <class T, class Body> RL_INLINE void sweep(int64_t n, Body&& body) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) body(i, Full{});
  if (i < n) body(i, Part{n - i});
}

// The same for reductions: body(i, lanes, k) with k in [0, 4) naming one of four accumulators.
template <class T, class Body> RL_INLINE void sweep4(int64_t n, Body&& body) {
  constexpr int64_t W = kLanes<T>;
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    body(i, Full{}, 0);
    body(i + W, Full{}, 1);
    body(i + 2 * W, Full{}, 2);
    body(i + 3 * W, Full{}, 3);
  }
  for (; i + W <= n; i += W) body(i, Full{}, 0);
  if (i < n) body(i, Part{n - i}, 1);
}
template <class V> RL_INLINE V total(const V (&a)[4]) { return (a[0] + a[1]) + (a[2] + a[3]); }

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
