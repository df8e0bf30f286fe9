// The conversions that AVX2 speeds up, and between floating types those of AVX-512.
#if RL_LEVEL > 0
#include <immintrin.h>

#include <cstdint>

#include "kernels/cast.h"
#include "kernels/vec.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

// `step` moves `count` elements by way of float registers.
#if RL_LEVEL == 2
struct FloatToBFloat16 {  // as integers: the conversion of AVX-512 BF16 takes subnormals as zero
  static constexpr int in = 4, out = 2, count = 32;
  static __m512i rounded(const float* from) {  // in the upper halves
    const __m512 f = _mm512_loadu_ps(from);
    const __m512i u = _mm512_castps_si512(f), one = _mm512_set1_epi32(1);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), one);
    const __m512i up = _mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(f, f, _CMP_UNORD_Q);
    return _mm512_mask_mov_epi32(up, nan, _mm512_set1_epi32(0x7fc00000));
  }
  static void step(char* to, const char* from) {
    alignas(64) static constexpr uint16_t kUpper[32] = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const float* f = (const float*)from;
    const __m512i upper = _mm512_load_si512(kUpper);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(rounded(f), upper, rounded(f + 16)));
  }
};
struct BFloat16ToFloat {
  static constexpr int in = 2, out = 4, count = 16;
  static void step(char* to, const char* from) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from));
    _mm512_storeu_si512(to, _mm512_slli_epi32(wide, 16));
  }
};
struct FloatToHalf {
  static constexpr int in = 4, out = 2, count = 16;
  static void step(char* to, const char* from) {
    const __m512 f = _mm512_loadu_ps((const float*)from);
    const __m256i h = _mm512_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256((__m256i*)to, h);
  }
};
struct HalfToFloat {
  static constexpr int in = 2, out = 4, count = 16;
  static void step(char* to, const char* from) {
    _mm512_storeu_ps((float*)to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)from)));
  }
};
struct FloatToDouble {
  static constexpr int in = 4, out = 8, count = 8;
  static void step(char* to, const char* from) {
    _mm512_storeu_pd((double*)to, _mm512_cvtps_pd(_mm256_loadu_ps((const float*)from)));
  }
};
struct DoubleToFloat {
  static constexpr int in = 8, out = 4, count = 8;
  static void step(char* to, const char* from) {
    _mm256_storeu_ps((float*)to, _mm512_cvtpd_ps(_mm512_loadu_pd((const double*)from)));
  }
};
#else
struct FloatToBFloat16 {
  static constexpr int in = 4, out = 2, count = 8;
  static void step(char* to, const char* from) {
    const __m256 f = _mm256_loadu_ps((const float*)from);
    const __m256i u = _mm256_castps_si256(f);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256 nan = _mm256_cmp_ps(f, f, _CMP_UNORD_Q);
    const __m256i bits = _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), _mm256_set1_epi32(0x7fc0),
                                            _mm256_castps_si256(nan));
    _mm_storeu_si128((__m128i*)to, _mm_packus_epi32(_mm256_castsi256_si128(bits),
                                                    _mm256_extracti128_si256(bits, 1)));
  }
};
struct BFloat16ToFloat {
  static constexpr int in = 2, out = 4, count = 8;
  static void step(char* to, const char* from) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)from));
    _mm256_storeu_si256((__m256i*)to, _mm256_slli_epi32(wide, 16));
  }
};
struct FloatToHalf {
  static constexpr int in = 4, out = 2, count = 8;
  static void step(char* to, const char* from) {
    const __m256 f = _mm256_loadu_ps((const float*)from);
    const __m128i h = _mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128((__m128i*)to, h);
  }
};
struct HalfToFloat {
  static constexpr int in = 2, out = 4, count = 8;
  static void step(char* to, const char* from) {
    _mm256_storeu_ps((float*)to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from)));
  }
};
struct FloatToDouble {
  static constexpr int in = 4, out = 8, count = 8;
  static void step(char* to, const char* from) {
    const __m256 f = _mm256_loadu_ps((const float*)from);
    _mm256_storeu_pd((double*)to, _mm256_cvtps_pd(_mm256_castps256_ps128(f)));
    _mm256_storeu_pd((double*)to + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1)));
  }
};
struct DoubleToFloat {
  static constexpr int in = 8, out = 4, count = 8;
  static void step(char* to, const char* from) {
    _mm_storeu_ps((float*)to, _mm256_cvtpd_ps(_mm256_loadu_pd((const double*)from)));
    _mm_storeu_ps((float*)to + 4, _mm256_cvtpd_ps(_mm256_loadu_pd((const double*)from + 4)));
  }
};
struct ByteToFloat {
  static constexpr int in = 1, out = 4, count = 8;
  static void step(char* to, const char* from) {
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)from));
    _mm256_storeu_ps((float*)to, _mm256_cvtepi32_ps(wide));
  }
};
struct BoolToFloat {  // any byte but 0 is true
  static constexpr int in = 1, out = 4, count = 8;
  static void step(char* to, const char* from) {
    const __m128i one = _mm_set1_epi8(1);
    const __m128i bytes = _mm_min_epu8(_mm_loadl_epi64((const __m128i*)from), one);
    _mm256_storeu_ps((float*)to, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)));
  }
};
template <class To, class From> struct Vectorised {  // conversions that GCC spells well
  static constexpr int in = sizeof(From), out = sizeof(To), count = 8;
  typedef From FromVector __attribute__((vector_size(8 * sizeof(From))));
  typedef To ToVector __attribute__((vector_size(8 * sizeof(To))));
  static void step(char* to, const char* from) {
    FromVector a;
    __builtin_memcpy(&a, from, sizeof a);
    const ToVector b = __builtin_convertvector(a, ToVector);
    __builtin_memcpy(to, &b, sizeof b);
  }
};
struct FloatToBool {
  static constexpr int in = 4, out = 1, count = 8;
  static void step(char* to, const char* from) {
    const __m256 f = _mm256_loadu_ps((const float*)from);
    const __m256i m = _mm256_castps_si256(_mm256_cmp_ps(f, _mm256_setzero_ps(), _CMP_NEQ_UQ));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(m),
                                          _mm256_extracti128_si256(m, 1));
    const __m128i bytes = _mm_packs_epi16(words, words);
    _mm_storel_epi64((__m128i*)to, _mm_and_si128(bytes, _mm_set1_epi8(1)));
  }
};
#endif

template <class C>
void run(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n) {
  constexpr int64_t kCount = C::count;
  const bool dense = out_stride == C::out && in_stride == C::in;
  for (; dense && n >= kCount; n -= kCount, out += kCount * C::out, in += kCount * C::in) {
    C::step(out, in);
  }
  char from[kCount * C::in], to[kCount * C::out];
  while (n > 0) {
    const int64_t count = n < kCount ? n : kCount;
    __builtin_memset(from, 0, sizeof from);
    if (dense) {
      __builtin_memcpy(from, in, size_t(count * C::in));
      C::step(to, from);
      __builtin_memcpy(out, to, size_t(count * C::out));
      return;
    }
    for (int64_t i = 0; i < count; ++i, in += in_stride) {
      __builtin_memcpy(from + i * C::in, in, C::in);
    }
    C::step(to, from);
    for (int64_t i = 0; i < count; ++i, out += out_stride) {
      __builtin_memcpy(out, to + i * C::out, C::out);
    }
    n -= count;
  }
}

}  // namespace

Cast quick_cast(DType from, DType to) {
  if (from == DType::Float) {
    if (to == DType::BFloat16) return &run<FloatToBFloat16>;
    if (to == DType::Half) return &run<FloatToHalf>;
    if (to == DType::Double) return &run<FloatToDouble>;
#if RL_LEVEL == 1
    if (to == DType::Int32) return &run<Vectorised<int32_t, float>>;
    if (to == DType::Bool) return &run<FloatToBool>;
#endif
  } else if (to == DType::Float) {
    if (from == DType::BFloat16) return &run<BFloat16ToFloat>;
    if (from == DType::Half) return &run<HalfToFloat>;
    if (from == DType::Double) return &run<DoubleToFloat>;
#if RL_LEVEL == 1
    if (from == DType::UInt8) return &run<ByteToFloat>;
    if (from == DType::Bool) return &run<BoolToFloat>;
    if (from == DType::Int32) return &run<Vectorised<float, int32_t>>;
  } else if (from == DType::Int64 && to == DType::Int32) {
    return &run<Vectorised<int32_t, int64_t>>;
  } else if (from == DType::Int32 && to == DType::Int64) {
    return &run<Vectorised<int64_t, int32_t>>;
#endif
  }
  return nullptr;
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
#endif
