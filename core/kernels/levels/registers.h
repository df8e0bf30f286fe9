// Bare vectors for register tiles: masks of a count, multiply-add, transposes in registers.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/vec.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles {

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float V __attribute__((vector_size(kVectorBytes)));
  typedef float Any __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
  typedef int32_t Index __attribute__((vector_size(kVectorBytes)));
  static constexpr int count = kVectorBytes / 4;
};
template <> struct Lanes<double> {
  typedef double V __attribute__((vector_size(kVectorBytes)));
  typedef double Any __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
  typedef int64_t Index __attribute__((vector_size(kVectorBytes)));
  static constexpr int count = kVectorBytes / 8;
};
template <class T> using Vec = typename Lanes<T>::V;

template <class T> RL_INLINE Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename Lanes<T>::Any*>(p);
}
template <class T> RL_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename Lanes<T>::Any*>(p) = v;
}
template <class T> RL_INLINE Vec<T> splat(T x) { return x - Vec<T>{}; }
template <class T> RL_INLINE Vec<T> zero() { return Vec<T>{}; }

// The first n lanes are in the mask; n may exceed the width or be negative.
#if RL_LEVEL == 2
template <class T> struct Mask { unsigned bits; };
template <class T> RL_INLINE Mask<T> first(int n) {
  const int w = Lanes<T>::count;
  return {n >= w ? (1u << w) - 1 : n <= 0 ? 0u : (1u << n) - 1};
}
RL_INLINE Vec<float> load(const float* p, Mask<float> m) {
  return _mm512_maskz_loadu_ps(__mmask16(m.bits), p);
}
RL_INLINE Vec<double> load(const double* p, Mask<double> m) {
  return _mm512_maskz_loadu_pd(__mmask8(m.bits), p);
}
RL_INLINE void store(float* p, Vec<float> v, Mask<float> m) {
  _mm512_mask_storeu_ps(p, __mmask16(m.bits), v);
}
RL_INLINE void store(double* p, Vec<double> v, Mask<double> m) {
  _mm512_mask_storeu_pd(p, __mmask8(m.bits), v);
}
RL_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return _mm512_fmadd_ps(a, b, c);
}
RL_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif RL_LEVEL == 1
template <class T> struct Mask {
  typename Lanes<T>::Index lanes;
  int count;
};
template <class T> RL_INLINE Mask<T> first(int n) {
  using Index = typename Lanes<T>::Index;
  Index lane;
  if constexpr (sizeof(T) == 4) lane = Index{0, 1, 2, 3, 4, 5, 6, 7};
  else lane = Index{0, 1, 2, 3};
  return {lane < (n - Index{}), n};
}
RL_INLINE Vec<float> load(const float* p, Mask<float> m) {
  return _mm256_maskload_ps(p, (__m256i)m.lanes);
}
RL_INLINE Vec<double> load(const double* p, Mask<double> m) {
  return _mm256_maskload_pd(p, (__m256i)m.lanes);
}
// Masked stores cost dozens of operations on some CPUs: store by powers of two instead.
RL_INLINE void store(float* p, Vec<float> v, Mask<float> m) {
  if (m.count >= 8) return store<float>(p, v);
  if (m.count <= 0) return;
  __m128 part = _mm256_castps256_ps128(v);
  if (m.count & 4) {
    _mm_storeu_ps(p, part);
    part = _mm256_extractf128_ps(v, 1);
    p += 4;
  }
  if (m.count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
    part = _mm_movehl_ps(part, part);
    p += 2;
  }
  if (m.count & 1) _mm_store_ss(p, part);
}
RL_INLINE void store(double* p, Vec<double> v, Mask<double> m) {
  if (m.count >= 4) return store<double>(p, v);
  if (m.count <= 0) return;
  __m128d part = _mm256_castpd256_pd128(v);
  if (m.count & 2) {
    _mm_storeu_pd(p, part);
    part = _mm256_extractf128_pd(v, 1);
    p += 2;
  }
  if (m.count & 1) _mm_store_sd(p, part);
}
RL_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return _mm256_fmadd_ps(a, b, c);
}
RL_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
#else
template <class T> struct Mask { int count; };
template <class T> RL_INLINE Mask<T> first(int n) {
  return {n > Lanes<T>::count ? Lanes<T>::count : n};
}
template <class T> RL_INLINE Vec<T> load(const T* p, Mask<T> m) {
  Vec<T> v{};
  for (int i = 0; i < m.count; ++i) v[i] = p[i];
  return v;
}
template <class T> RL_INLINE void store(T* p, Vec<T> v, Mask<T> m) {
  for (int i = 0; i < m.count; ++i) p[i] = v[i];
}
template <class V> RL_INLINE V fma(V a, V b, V c) { return a * b + c; }
#endif

// Halves are added to each other until one lane is left.
#if RL_LEVEL == 2
RL_INLINE float lanes_total(Vec<float> v) {
  const auto eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
RL_INLINE double lanes_total(Vec<double> v) {
  const auto four = __builtin_shufflevector(v, v, 0, 1, 2, 3) +
                    __builtin_shufflevector(v, v, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}
template <class T> RL_INLINE T sum_lanes(Vec<T> v) { return lanes_total(v); }
#else
template <class T> RL_INLINE T sum_lanes(Vec<T> v) {
  T part[Lanes<T>::count];
  store(part, v);
  for (int half = Lanes<T>::count / 2; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}
#endif

// max(x, 0) that keeps NaN, as relu does.
template <class V> RL_INLINE V positive_part(V x) { return x < V{} ? V{} : x; }

// Swaps the off-diagonal blocks of size S of two rows: one step of a transpose in registers.
template <class T, int S, int... L>
RL_INLINE void swap_blocks(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, L...>) {
  constexpr int w = Lanes<T>::count;
  using Index = typename Lanes<T>::Index;
  const Vec<T> low = __builtin_shuffle(a, b, Index{((L & S) ? w + L - S : L)...});
  const Vec<T> high = __builtin_shuffle(a, b, Index{((L & S) ? w + L : L + S)...});
  a = low;
  b = high;
}
template <class T, int S> RL_INLINE void transpose_step(Vec<T>* rows) {
  constexpr int w = Lanes<T>::count;
#pragma GCC unroll 16
  for (int i = 0; i < w; ++i) {
    if (!(i & S)) {
      swap_blocks<T, S>(rows[i], rows[i + S], std::make_integer_sequence<int, w>());
    }
  }
  if constexpr (S > 1) transpose_step<T, S / 2>(rows);
}
// Transposes a square of Lanes<T>::count rows.
template <class T> RL_INLINE void transpose(Vec<T>* rows) {
  transpose_step<T, Lanes<T>::count / 2>(rows);
}

// The sums of as many vectors as one has lanes, side by side: half a transpose, adding on the way.
template <class T, int S> RL_INLINE void fold_pairs(Vec<T>* rows) {
#pragma GCC unroll 8
  for (int i = 0; i < S; ++i) {
    swap_blocks<T, S>(rows[i], rows[i + S],
                      std::make_integer_sequence<int, Lanes<T>::count>());
    rows[i] += rows[i + S];
  }
  if constexpr (S > 1) fold_pairs<T, S / 2>(rows);
}
template <class T> RL_INLINE Vec<T> sum_each(Vec<T>* rows) {
  fold_pairs<T, Lanes<T>::count / 2>(rows);
  return rows[0];
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles
