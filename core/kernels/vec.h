// Vec<float> and Vec<double>: one register of the level being compiled (RL_LEVEL), and masks.
#pragma once
#include <cstdint>

#include "base/scalar.h"

#if RL_LEVEL > 0 || defined(__SSE2__)
#include <immintrin.h>
#endif

#if RL_LEVEL == 0
#define RL_LEVEL_NAMESPACE level0
#elif RL_LEVEL == 1
#define RL_LEVEL_NAMESPACE level1
#else
#define RL_LEVEL_NAMESPACE level2
#endif
#define RL_INLINE inline __attribute__((always_inline))
#define RL_INLINE_LAMBDA __attribute__((always_inline))

// Note [Level namespaces]
// A level's code is compiled for instructions that the CPU may lack, and the linker keeps one copy
// of each inline function. So all that a level instantiates depends on types of its own namespace,
// and nothing here calls std:: templates.
namespace rl::kernels::RL_LEVEL_NAMESPACE {

#if RL_LEVEL == 0
constexpr int kVectorBytes = 16;
#elif RL_LEVEL == 1
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 64;
#endif

// The layout of IEEE numbers, for the functions that take them apart.
template <class T> struct Format;
template <> struct Format<float> {
  using Int = int32_t;
  using UInt = uint32_t;
  typedef float Raw __attribute__((vector_size(kVectorBytes)));
  typedef Int Bits __attribute__((vector_size(kVectorBytes)));
  typedef UInt UBits __attribute__((vector_size(kVectorBytes)));
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
};
template <> struct Format<double> {
  using Int = int64_t;
  using UInt = uint64_t;
  typedef double Raw __attribute__((vector_size(kVectorBytes)));
  typedef Int Bits __attribute__((vector_size(kVectorBytes)));
  typedef UInt UBits __attribute__((vector_size(kVectorBytes)));
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
};

template <class T> struct Vec {
  using Element = T;
  using Int = typename Format<T>::Int;
  using UInt = typename Format<T>::UInt;
  using Raw = typename Format<T>::Raw;
  using Bits = typename Format<T>::Bits;    // integers, and masks: 0 or -1
  using UBits = typename Format<T>::UBits;  // shift right without the sign
  using Mask = Bits;
  static constexpr int size = kVectorBytes / int(sizeof(T));

  Raw raw;

  Vec() = default;
  RL_INLINE Vec(Raw r) : raw(r) {}
  RL_INLINE Vec(T v) : raw(v - Raw{}) {}  // keeps the sign of zero

  static RL_INLINE Vec load(const char* p) {
    Vec v;
    __builtin_memcpy(&v.raw, p, kVectorBytes);
    return v;
  }
  RL_INLINE void store(char* p) const { __builtin_memcpy(p, &raw, kVectorBytes); }
  static Vec load_part(const char* p, int64_t n);  // lanes from n on are zero
  void store_part(char* p, int64_t n) const;       // n < size

  RL_INLINE Bits bits() const { return (Bits)raw; }
  static RL_INLINE Vec of_bits(Bits b) { return Vec((Raw)b); }

  friend RL_INLINE Vec operator+(Vec a, Vec b) { return a.raw + b.raw; }
  friend RL_INLINE Vec operator-(Vec a, Vec b) { return a.raw - b.raw; }
  friend RL_INLINE Vec operator*(Vec a, Vec b) { return a.raw * b.raw; }
  friend RL_INLINE Vec operator/(Vec a, Vec b) { return a.raw / b.raw; }
  friend RL_INLINE Vec operator-(Vec a) { return -a.raw; }
  friend RL_INLINE Mask operator<(Vec a, Vec b) { return a.raw < b.raw; }
  friend RL_INLINE Mask operator<=(Vec a, Vec b) { return a.raw <= b.raw; }
  friend RL_INLINE Mask operator>(Vec a, Vec b) { return a.raw > b.raw; }
  friend RL_INLINE Mask operator>=(Vec a, Vec b) { return a.raw >= b.raw; }
  friend RL_INLINE Mask operator==(Vec a, Vec b) { return a.raw == b.raw; }
  friend RL_INLINE Mask operator!=(Vec a, Vec b) { return a.raw != b.raw; }
  friend RL_INLINE Vec select(Mask m, Vec a, Vec b) { return m ? a.raw : b.raw; }
  friend RL_INLINE Vec number(const Scalar& s, Vec) { return Vec(T(s.to_double())); }

  static constexpr Int sign_bit() { return Int(UInt(1) << (sizeof(T) * 8 - 1)); }
  friend RL_INLINE Vec abs(Vec a) { return of_bits(a.bits() & ~sign_bit()); }
  friend RL_INLINE Vec copysign(Vec a, Vec b) {
    return of_bits((a.bits() & ~sign_bit()) | (b.bits() & sign_bit()));
  }
  friend RL_INLINE Mask signbit(Vec a) { return a.bits() < 0; }
  friend RL_INLINE Mask isnan(Vec a) { return a.raw != a.raw; }
  friend RL_INLINE Mask isinf(Vec a) { return abs(a) == Vec(T(__builtin_inf())); }
  friend RL_INLINE Mask isfinite(Vec a) { return abs(a) < Vec(T(__builtin_inf())); }
  friend RL_INLINE Mask nonzero(Vec a) { return a.raw != 0; }
};

#if RL_LEVEL == 2
// With a full mask: GCC 12 warns of uninitialised values in the plain forms.
RL_INLINE Vec<float> sqrt(Vec<float> a) { return _mm512_maskz_sqrt_ps(__mmask16(-1), a.raw); }
RL_INLINE Vec<double> sqrt(Vec<double> a) { return _mm512_maskz_sqrt_pd(__mmask8(-1), a.raw); }
#elif RL_LEVEL == 1
RL_INLINE Vec<float> sqrt(Vec<float> a) { return _mm256_sqrt_ps(a.raw); }
RL_INLINE Vec<double> sqrt(Vec<double> a) { return _mm256_sqrt_pd(a.raw); }
#elif defined(__SSE2__)
RL_INLINE Vec<float> sqrt(Vec<float> a) { return _mm_sqrt_ps(a.raw); }
RL_INLINE Vec<double> sqrt(Vec<double> a) { return _mm_sqrt_pd(a.raw); }
#else
template <class T> RL_INLINE Vec<T> sqrt(Vec<T> a) {
  for (int i = 0; i < Vec<T>::size; ++i) {
    if constexpr (sizeof(T) == 4) a.raw[i] = __builtin_sqrtf(a.raw[i]);
    else a.raw[i] = __builtin_sqrt(a.raw[i]);
  }
  return a;
}
#endif

// a < b ? a : b and a > b ? a : b: the second operand where one is NaN.
#if RL_LEVEL == 2
RL_INLINE Vec<float> least_of(Vec<float> a, Vec<float> b) {
  return _mm512_maskz_min_ps(__mmask16(-1), a.raw, b.raw);
}
RL_INLINE Vec<double> least_of(Vec<double> a, Vec<double> b) {
  return _mm512_maskz_min_pd(__mmask8(-1), a.raw, b.raw);
}
RL_INLINE Vec<float> most_of(Vec<float> a, Vec<float> b) {
  return _mm512_maskz_max_ps(__mmask16(-1), a.raw, b.raw);
}
RL_INLINE Vec<double> most_of(Vec<double> a, Vec<double> b) {
  return _mm512_maskz_max_pd(__mmask8(-1), a.raw, b.raw);
}
#elif RL_LEVEL == 1
RL_INLINE Vec<float> least_of(Vec<float> a, Vec<float> b) { return _mm256_min_ps(a.raw, b.raw); }
RL_INLINE Vec<double> least_of(Vec<double> a, Vec<double> b) { return _mm256_min_pd(a.raw, b.raw); }
RL_INLINE Vec<float> most_of(Vec<float> a, Vec<float> b) { return _mm256_max_ps(a.raw, b.raw); }
RL_INLINE Vec<double> most_of(Vec<double> a, Vec<double> b) { return _mm256_max_pd(a.raw, b.raw); }
#else
template <class T> RL_INLINE Vec<T> least_of(Vec<T> a, Vec<T> b) { return select(a < b, a, b); }
template <class T> RL_INLINE Vec<T> most_of(Vec<T> a, Vec<T> b) { return select(a > b, a, b); }
#endif

// a * b + c: rounded once where the CPU can, which the baseline of x86 cannot.
#if RL_LEVEL == 2
RL_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return _mm512_fmadd_ps(a.raw, b.raw, c.raw);
}
RL_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm512_fmadd_pd(a.raw, b.raw, c.raw);
}
#elif RL_LEVEL == 1
RL_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return _mm256_fmadd_ps(a.raw, b.raw, c.raw);
}
RL_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm256_fmadd_pd(a.raw, b.raw, c.raw);
}
#else
RL_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return a * b + c; }
RL_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return a * b + c; }
#endif

// Rounded to bfloat16, which halves alone ask for: doubles stay.
RL_INLINE Vec<float> as_bfloat16(Vec<float> a) {
  using V = Vec<float>;
  const V::UBits bits = V::UBits(a.bits());
  const V::UBits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  return select(isnan(a), a, V::of_bits(V::Bits(rounded)));
}
RL_INLINE Vec<double> as_bfloat16(Vec<double> a) { return a; }

// Rounding: modes 0 nearest even, 1 down, 2 up, 3 towards zero.
#if RL_LEVEL == 2
template <int mode> RL_INLINE Vec<float> round_to(Vec<float> a) {
  return _mm512_maskz_roundscale_ps(__mmask16(-1), a.raw, mode);
}
template <int mode> RL_INLINE Vec<double> round_to(Vec<double> a) {
  return _mm512_maskz_roundscale_pd(__mmask8(-1), a.raw, mode);
}
#elif RL_LEVEL == 1
template <int mode> RL_INLINE Vec<float> round_to(Vec<float> a) {
  return _mm256_round_ps(a.raw, mode | _MM_FROUND_NO_EXC);
}
template <int mode> RL_INLINE Vec<double> round_to(Vec<double> a) {
  return _mm256_round_pd(a.raw, mode | _MM_FROUND_NO_EXC);
}
#else
template <int mode, class T> RL_INLINE Vec<T> round_to(Vec<T> a) {
  const Vec<T> limit(T(1ull << Format<T>::mantissa));
  const Vec<T> m = abs(a);
  Vec<T> r = copysign((m + limit) - limit, a);
  if constexpr (mode == 1) r = r - select(r > a, Vec<T>(1), Vec<T>(0));
  if constexpr (mode == 2) r = r + select(r < a, Vec<T>(1), Vec<T>(0));
  if constexpr (mode == 3) r = copysign(abs(r) - select(abs(r) > m, Vec<T>(1), Vec<T>(0)), a);
  return select(m < limit, copysign(r, a), a);  // NaN and large numbers are what they are
}
#endif
template <class T> RL_INLINE Vec<T> round(Vec<T> a) { return round_to<0>(a); }
template <class T> RL_INLINE Vec<T> floor(Vec<T> a) { return round_to<1>(a); }
template <class T> RL_INLINE Vec<T> ceil(Vec<T> a) { return round_to<2>(a); }
template <class T> RL_INLINE Vec<T> trunc(Vec<T> a) { return round_to<3>(a); }

// Parts of a register.
#if RL_LEVEL == 2
template <> RL_INLINE Vec<float> Vec<float>::load_part(const char* p, int64_t n) {
  return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p);
}
template <> RL_INLINE Vec<double> Vec<double>::load_part(const char* p, int64_t n) {
  return _mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), p);
}
template <> RL_INLINE void Vec<float>::store_part(char* p, int64_t n) const {
  _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), raw);
}
template <> RL_INLINE void Vec<double>::store_part(char* p, int64_t n) const {
  _mm512_mask_storeu_pd(p, __mmask8((1u << n) - 1), raw);
}
#elif RL_LEVEL == 1
alignas(32) constexpr int32_t kLaneMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                0,  0,  0,  0,  0,  0,  0,  0};
template <> RL_INLINE Vec<float> Vec<float>::load_part(const char* p, int64_t n) {
  const __m256i mask = _mm256_loadu_si256((const __m256i*)(kLaneMasks + 8 - n));
  return _mm256_maskload_ps((const float*)p, mask);
}
template <> RL_INLINE Vec<double> Vec<double>::load_part(const char* p, int64_t n) {
  const __m256i mask = _mm256_loadu_si256((const __m256i*)(kLaneMasks + 8 - 2 * n));
  return _mm256_maskload_pd((const double*)p, mask);
}
// A masked store is slow on AMD's CPUs: halves are stored instead.
template <> RL_INLINE void Vec<float>::store_part(char* p, int64_t n) const {
  __m128 low = _mm256_castps256_ps128(raw);
  if (n & 4) {
    _mm_storeu_ps((float*)p, low);
    low = _mm256_extractf128_ps(raw, 1);
    p += 16;
  }
  if (n & 2) {
    _mm_storel_pi((__m64*)p, low);
    low = _mm_movehl_ps(low, low);
    p += 8;
  }
  if (n & 1) _mm_store_ss((float*)p, low);
}
template <> RL_INLINE void Vec<double>::store_part(char* p, int64_t n) const {
  __m128d low = _mm256_castpd256_pd128(raw);
  if (n & 2) {
    _mm_storeu_pd((double*)p, low);
    low = _mm256_extractf128_pd(raw, 1);
    p += 16;
  }
  if (n & 1) _mm_store_sd((double*)p, low);
}
#else
template <class T> RL_INLINE Vec<T> Vec<T>::load_part(const char* p, int64_t n) {
  Vec v(T(0));
  for (int i = 0; i < size; ++i) {
    if (i < n) __builtin_memcpy((char*)&v.raw + i * sizeof(T), p + i * sizeof(T), sizeof(T));
  }
  return v;
}
template <class T> RL_INLINE void Vec<T>::store_part(char* p, int64_t n) const {
  for (int i = 0; i < size; ++i) {
    if (i < n) __builtin_memcpy(p + i * sizeof(T), (const char*)&raw + i * sizeof(T), sizeof(T));
  }
}
#endif

// The numbers of the lanes, for functions of each.
template <int... i> struct LaneNumbers {};
template <class V> RL_INLINE auto lane_numbers() {
  if constexpr (V::size == 2) return LaneNumbers<0, 1>{};
  else if constexpr (V::size == 4) return LaneNumbers<0, 1, 2, 3>{};
  else if constexpr (V::size == 8) return LaneNumbers<0, 1, 2, 3, 4, 5, 6, 7>{};
  else return LaneNumbers<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>{};
}
template <class V, int... i> RL_INLINE typename V::Mask lanes_below(int64_t n, LaneNumbers<i...>) {
  return typename V::Bits{i...} < typename V::Int(n);
}
// A mask of the first n lanes.
template <class V> RL_INLINE typename V::Mask first_lanes(int64_t n) {
  return lanes_below<V>(n, lane_numbers<V>());
}

// Lane i of the result is lane i + width.
template <int width, class T, int... i> RL_INLINE Vec<T> lanes_down(Vec<T> v, LaneNumbers<i...>) {
  constexpr int size = Vec<T>::size;
  return Vec<T>(typename Vec<T>::Raw(
      __builtin_shufflevector(v.raw, v.raw, (i + width) % size...)));
}
// All lanes joined pairwise, the far half with the near one: in lane 0.
template <class T, class F> RL_INLINE Vec<T> across_lanes(Vec<T> v, F join) {
  constexpr auto numbers = lane_numbers<Vec<T>>;
  if constexpr (Vec<T>::size > 8) v = join(v, lanes_down<8>(v, numbers()));
  if constexpr (Vec<T>::size > 4) v = join(v, lanes_down<4>(v, numbers()));
  if constexpr (Vec<T>::size > 2) v = join(v, lanes_down<2>(v, numbers()));
  return join(v, lanes_down<1>(v, numbers()));
}

// Whether some lane of a mask is set.
template <class Bits> RL_INLINE bool any(Bits m) {
#if RL_LEVEL == 2
  return _mm512_test_epi32_mask((__m512i)m, (__m512i)m) != 0;
#elif RL_LEVEL == 1
  return _mm256_movemask_epi8((__m256i)m) != 0;
#else
  uint64_t words[2];
  __builtin_memcpy(words, &m, 16);
  return (words[0] | words[1]) != 0;
#endif
}

// Masks as bools in memory: one byte a lane, 0 or 1.
#if RL_LEVEL == 2
RL_INLINE void store_mask(char* p, Vec<float>::Bits m) {
  _mm_storeu_si128((__m128i*)p, _mm_maskz_set1_epi8(_mm512_movepi32_mask((__m512i)m), 1));
}
RL_INLINE void store_mask(char* p, Vec<double>::Bits m) {
  _mm_storel_epi64((__m128i*)p, _mm_maskz_set1_epi8(_mm512_movepi64_mask((__m512i)m), 1));
}
#elif RL_LEVEL == 1
// Bit i of m as byte i.
RL_INLINE uint64_t spread_bits(uint64_t m) {
  const uint64_t apart = (m * 0x0101010101010101u) & 0x8040201008040201u;
  return ((apart + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
}
RL_INLINE void store_mask(char* p, Vec<float>::Bits m) {
  const uint64_t bytes = spread_bits(uint64_t(unsigned(_mm256_movemask_ps((__m256)m))));
  __builtin_memcpy(p, &bytes, 8);
}
RL_INLINE void store_mask(char* p, Vec<double>::Bits m) {
  const uint32_t bytes = uint32_t(spread_bits(uint64_t(unsigned(_mm256_movemask_pd((__m256d)m)))));
  __builtin_memcpy(p, &bytes, 4);
}
#else
template <class Bits> RL_INLINE void store_mask(char* p, Bits m) {
  for (int i = 0; i < int(sizeof(Bits) / sizeof(m[0])); ++i) p[i] = char(m[i] & 1);
}
#endif
template <class T> RL_INLINE void store_mask_part(char* p, typename Vec<T>::Bits m, int64_t n) {
  char bytes[Vec<T>::size];
  store_mask(bytes, m);
  for (int64_t i = 0; i < n; ++i) p[i] = bytes[i];
}

#if RL_LEVEL == 2
template <class T> RL_INLINE typename Vec<T>::Bits load_mask(const char* p) {
  if constexpr (sizeof(T) == 4) {
    return (typename Vec<T>::Bits)_mm512_movm_epi32(
        __mmask16(_mm_test_epi8_mask(_mm_loadu_si128((const __m128i*)p), _mm_set1_epi8(-1))));
  } else {
    return (typename Vec<T>::Bits)_mm512_movm_epi64(
        __mmask8(_mm_test_epi8_mask(_mm_loadl_epi64((const __m128i*)p), _mm_set1_epi8(-1))));
  }
}
#elif RL_LEVEL == 1
template <class T> RL_INLINE typename Vec<T>::Bits load_mask(const char* p) {
  if constexpr (sizeof(T) == 4) {
    return (typename Vec<T>::Bits)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)) != 0;
  } else {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return (typename Vec<T>::Bits)_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four)) != 0;
  }
}
#else
template <class T> RL_INLINE typename Vec<T>::Bits load_mask(const char* p) {
  typename Vec<T>::Bits m;
  for (int i = 0; i < Vec<T>::size; ++i) m[i] = -typename Vec<T>::Int(p[i] != 0);
  return m;
}
#endif
template <class T> RL_INLINE typename Vec<T>::Bits load_mask_part(const char* p, int64_t n) {
  char bytes[Vec<T>::size] = {};
  for (int64_t i = 0; i < n; ++i) bytes[i] = p[i];
  return load_mask<T>(bytes);
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
