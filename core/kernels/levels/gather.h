// Vectors of elements that lie apart. Only levels/*.cpp include this.
#pragma once
#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// Positions of a vector's elements: 32 bits each, so half a register for doubles.
template <class T> struct Places {
  typedef int32_t Raw __attribute__((vector_size(kVectorBytes)));
};
template <> struct Places<double> {
  typedef int32_t Raw __attribute__((vector_size(kVectorBytes / 2)));
};

template <class T> RL_INLINE typename Places<T>::Raw load_places(const int32_t* p) {
  typename Places<T>::Raw v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

// Masked, all lanes on: the plain forms begin with an undefined register, which GCC warns of.
#if RL_LEVEL == 2
RL_INLINE Floats gather(const float* p, Places<float>::Raw at) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, __m512i(at), p, 4);
}
RL_INLINE Doubles gather(const double* p, Places<double>::Raw at) {
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, __m256i(at), p, 8);
}
#elif RL_LEVEL == 1
RL_INLINE Floats gather(const float* p, Places<float>::Raw at) {
  const __m256 every = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, __m256i(at), every, 4);
}
RL_INLINE Doubles gather(const double* p, Places<double>::Raw at) {
  const __m256d every = _mm256_castsi256_pd(_mm256_set1_epi32(-1));
  return _mm256_mask_i32gather_pd(_mm256_setzero_pd(), p, __m128i(at), every, 8);
}
#else
template <class T> RL_INLINE Lanes<T> gather(const T* p, typename Places<T>::Raw at) {
  Lanes<T> v;
  for (int64_t i = 0; i < kLanes<T>; ++i) v[i] = p[at[i]];
  return v;
}
#endif

// The same, with zeros where the place is negative.
#if RL_LEVEL == 2
RL_INLINE Floats gather_inside(const float* p, Places<float>::Raw at) {
  const __mmask16 inside = __mmask16(~_mm512_movepi32_mask(__m512i(at)));
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, __m512i(at), p, 4);
}
RL_INLINE Doubles gather_inside(const double* p, Places<double>::Raw at) {
  const __mmask8 inside = __mmask8(~_mm256_movepi32_mask(__m256i(at)));
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), inside, __m256i(at), p, 8);
}
#elif RL_LEVEL == 1
RL_INLINE Floats gather_inside(const float* p, Places<float>::Raw at) {
  const __m256 inside = _mm256_castsi256_ps(__m256i(~at));
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, __m256i(at), inside, 4);
}
RL_INLINE Doubles gather_inside(const double* p, Places<double>::Raw at) {
  const __m256d inside = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(__m128i(~at)));
  return _mm256_mask_i32gather_pd(_mm256_setzero_pd(), p, __m128i(at), inside, 8);
}
#else
template <class T> RL_INLINE Lanes<T> gather_inside(const T* p, typename Places<T>::Raw at) {
  Lanes<T> v;
  for (int64_t i = 0; i < kLanes<T>; ++i) v[i] = at[i] < 0 ? T(0) : p[at[i]];
  return v;
}
#endif

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
