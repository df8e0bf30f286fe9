// Products of bfloat16 matrices by AVX-512 BF16: sums of pairs in float32, packed operands.
#if RL_LEVEL == 2
#include "kernels/levels/gemm_bfloat16_level.h"
#include "kernels/levels/registers.h"

#pragma GCC push_options
#pragma GCC target("avx512bf16")

#define RL_INLINE_LAMBDA __attribute__((always_inline))

namespace rl::kernels::level2 {
namespace {

using tiles::Vec;

RL_INLINE Vec<float> dot_pairs(Vec<float> sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
RL_INLINE float value_of(BFloat16 h) {
  const uint32_t bits = uint32_t(h.bits) << 16;
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
RL_INLINE BFloat16 rounded(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {0x7FC0};
  return {uint16_t((u + 0x7fffu + ((u >> 16) & 1)) >> 16)};
}
// Sixteen halves in the low, or the high, parts of 32 bits. (Masks of all lanes: GCC 12 warns of
// its own unmasked forms.)
RL_INLINE __m512i low_halves(__m256i halves) {
  return _mm512_maskz_cvtepu16_epi32(__mmask16(0xffff), halves);
}
RL_INLINE __m512i high_halves(__m256i halves) {
  return _mm512_maskz_slli_epi32(__mmask16(0xffff), low_halves(halves), 16);
}
RL_INLINE Vec<float> widened(__m256i halves) { return (Vec<float>)high_halves(halves); }
RL_INLINE __m256i narrowed(Vec<float> v) { return (__m256i)_mm512_cvtneps_pbh(v); }

// A row of a tile whose C cannot be written a vector at a time.
void finish_row(const PairTile& t, const float* values, int64_t i, int64_t j, int64_t n) {
  BFloat16* to = t.c + i * t.c_row + j * t.c_col;
  for (int64_t x = 0; x < n; ++x, to += t.c_col) {
    float v = t.alpha * values[x];
    if (t.beta != 0) v += t.beta * value_of(*to);
    if (t.bias) v += value_of(t.bias_per_row ? t.bias[i] : t.bias[j + x]);
    *to = rounded(t.relu && v < 0 ? 0 : v);
  }
}
void finish(const PairTile& t, const float* values) { finish_row(t, values, 0, 0, t.n); }

// R rows by N vectors of C at (i, j), all in registers.
template <int R, int N>
void tile(const PairTile& t, const uint32_t* a, const uint32_t* b, int64_t i, int64_t j) {
  Vec<float> acc[R][N];
  float* sums = t.sums + i * t.sums_row + j;
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int x = 0; x < N; ++x) {
      acc[r][x] = t.first ? tiles::zero<float>() : tiles::load(sums + r * t.sums_row + 16 * x);
    }
  }
  for (int64_t p = t.pairs; p > 0; --p) {
    __m512i bv[N];
#pragma GCC unroll 2
    for (int x = 0; x < N; ++x) bv[x] = _mm512_loadu_si512(b + 16 * x);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const __m512i av = _mm512_set1_epi32(int(a[r]));
#pragma GCC unroll 2
      for (int x = 0; x < N; ++x) acc[r][x] = dot_pairs(acc[r][x], av, bv[x]);
    }
    a += kPairRows;
    b += kPairCols;
  }
  if (!t.last) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int x = 0; x < N; ++x) tiles::store(sums + r * t.sums_row + 16 * x, acc[r][x]);
    }
    return;
  }
  if (t.c_col != 1 || t.beta != 0) {
    alignas(64) float values[R * N * 16];
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int x = 0; x < N; ++x) tiles::store(values + (r * N + x) * 16, acc[r][x]);
    }
    const int64_t cols = t.n - j < 16 * N ? t.n - j : 16 * N;
    for (int r = 0; r < R; ++r) finish_row(t, values + r * N * 16, i + r, j, cols);
    return;
  }
  const Vec<float> alpha = tiles::splat(t.alpha);
#pragma GCC unroll 2
  for (int x = 0; x < N; ++x) {
    const int64_t at = j + 16 * x;
    const __mmask16 mask = __mmask16(tiles::first<float>(int(t.n - at)).bits);
    Vec<float> bias = tiles::zero<float>();
    if (t.bias && !t.bias_per_row) bias = widened(_mm256_maskz_loadu_epi16(mask, t.bias + at));
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      if (t.bias && t.bias_per_row) bias = tiles::splat(value_of(t.bias[i + r]));
      Vec<float> v = alpha * acc[r][x];
      if (t.bias) v += bias;
      if (t.relu) v = tiles::positive_part(v);
      _mm256_mask_storeu_epi16(t.c + (i + r) * t.c_row + at, mask, narrowed(v));
    }
  }
}

using TileFunction = void (*)(const PairTile&, const uint32_t*, const uint32_t*, int64_t, int64_t);
struct TileTable { TileFunction at[kPairRows][2]; };
template <int... R> constexpr TileTable make_table(std::integer_sequence<int, R...>) {
  return {{{tile<R + 1, 1>, tile<R + 1, 2>}...}};
}
constexpr TileTable kTiles = make_table(std::make_integer_sequence<int, kPairRows>());

void packed(const PairTile& t, const uint32_t* a, const uint32_t* b) {
  for (int64_t j = 0; j < t.n; j += kPairCols) {
    const bool wide = t.n - j > 16;
    for (int64_t i = 0; i < t.m; i += kPairRows) {
      const int rows = int(t.m - i < kPairRows ? t.m - i : kPairRows);
      kTiles.at[rows - 1][wide](t, a + i * t.pairs, b + j * t.pairs, i, j);
    }
  }
}

// Operand dense along k: squares of pairs are transposed in registers.
template <int P>
void pack_transposing(uint32_t* to, const BFloat16* from, int64_t step, int rows, int64_t k) {
  constexpr int groups = (P + 15) / 16;
  for (int64_t p = 0; p < k; p += 32, to += 16 * P) {
    const __mmask32 mask = k - p >= 32 ? ~0u : (1u << (k - p)) - 1;
    const int pairs = int(k - p >= 32 ? 16 : (k - p + 1) / 2);
    Vec<float> square[groups][16];
#pragma GCC unroll 2
    for (int g = 0; g < groups; ++g) {
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const int row = g * 16 + i;
        square[g][i] = row < P && row < rows
            ? (Vec<float>)_mm512_maskz_loadu_epi16(mask, from + row * step + p)
            : tiles::zero<float>();
        if (row < P && row < rows) __builtin_prefetch(from + row * step + p + 128, 0, 2);
      }
      tiles::transpose<float>(square[g]);
    }
    for (int i = 0; i < pairs; ++i) {
#pragma GCC unroll 2
      for (int g = 0; g < groups; ++g) {
        _mm512_storeu_si512(to + i * P + g * 16, (__m512i)square[g][i]);
      }
    }
  }
}

// Operand dense across the panel: two rows of it are interleaved.
template <int P>
void pack_interleaving(uint32_t* to, const BFloat16* from, int64_t along, int rows, int64_t k) {
  for (int64_t p = 0; p < k; p += 2, to += P, from += 2 * along) {
#pragma GCC unroll 2
    for (int g = 0; g < P; g += 16) {
      const __mmask16 mask = __mmask16(tiles::first<float>(rows - g).bits);
      const __mmask16 odd = p + 1 < k ? mask : __mmask16(0);
      const __m512i low = low_halves(_mm256_maskz_loadu_epi16(mask, from + g));
      const __m512i high = high_halves(_mm256_maskz_loadu_epi16(odd, from + along + g));
      _mm512_storeu_si512(to + g, low | high);
    }
  }
}

template <int P>
void pack(uint32_t* to, const BFloat16* from, int64_t step, int64_t along, int64_t rows,
          int64_t k) {
  const int64_t pairs = (k + 1) / 2;
  for (int64_t r = 0; r < rows; r += P, to += P * pairs, from += P * step) {
    const int count = int(rows - r < P ? rows - r : P);
    if (along == 1 && k >= 8) {
      pack_transposing<P>(to, from, step, count, k);
    } else if (step == 1) {
      pack_interleaving<P>(to, from, along, count, k);
    } else {
      for (int64_t p = 0; p < pairs; ++p) {
        for (int i = 0; i < P; ++i) {
          const BFloat16* at = from + i * step + 2 * p * along;
          const uint32_t low = i < count ? at[0].bits : 0;
          const uint32_t high = i < count && 2 * p + 1 < k ? at[along].bits : 0;
          to[p * P + i] = low | high << 16;
        }
      }
    }
  }
}

void pack_pairs(uint32_t* to, const BFloat16* low, const BFloat16* high, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 mask = __mmask16(tiles::first<float>(int(n - i < 16 ? n - i : 16)).bits);
    __m512i v = low_halves(_mm256_maskz_loadu_epi16(mask, low + i));
    if (high) v |= high_halves(_mm256_maskz_loadu_epi16(mask, high + i));
    _mm512_mask_storeu_epi32(to + i, mask, v);
  }
}

// Four rows of B are added to the sums at a time.
void row(float* to, const BFloat16* a, int64_t a_col, const BFloat16* b, int64_t b_row, int64_t n,
         int64_t k) {
  for (int64_t j = 0; j < n; ++j) to[j] = 0;
  for (int64_t p = 0; p < k; p += 4) {
    const int rows = int(k - p < 4 ? k - p : 4);
    const BFloat16* from[4];
    uint32_t bits[4];
    for (int r = 0; r < 4; ++r) {
      const int64_t q = r < rows ? p + r : p;
      from[r] = b + q * b_row;
      bits[r] = r < rows ? a[q * a_col].bits : 0;
    }
    const __m512i first = _mm512_set1_epi32(int(bits[0] | bits[1] << 16));
    const __m512i second = _mm512_set1_epi32(int(bits[2] | bits[3] << 16));
    for (int64_t j = 0; j < n; j += 16) {
      const tiles::Mask<float> mask = tiles::first<float>(int(n - j < 16 ? n - j : 16));
      const auto get = [&](int r) RL_INLINE_LAMBDA {
        const __mmask16 lanes = __mmask16(r < rows ? mask.bits : 0);
        return _mm256_maskz_loadu_epi16(lanes, from[r] + j);
      };
      Vec<float> v = tiles::load(to + j, mask);
      v = dot_pairs(v, first, low_halves(get(0)) | high_halves(get(1)));
      if (rows > 2) v = dot_pairs(v, second, low_halves(get(2)) | high_halves(get(3)));
      tiles::store(to + j, v, mask);
    }
  }
}

template <int C>
void dots_of(float* to, const BFloat16* a, const BFloat16* b, int64_t b_col, int64_t k) {
  Vec<float> acc[C];
#pragma GCC unroll 8
  for (int j = 0; j < C; ++j) acc[j] = tiles::zero<float>();
  for (int64_t p = 0; p < k; p += 32) {
    const __mmask32 mask = k - p >= 32 ? ~0u : (1u << (k - p)) - 1;
    const __m512i av = _mm512_maskz_loadu_epi16(mask, a + p);
#pragma GCC unroll 8
    for (int j = 0; j < C; ++j) {
      acc[j] = dot_pairs(acc[j], av, _mm512_maskz_loadu_epi16(mask, b + j * b_col + p));
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < C; ++j) to[j] = tiles::sum_lanes<float>(acc[j]);
}

void dots(float* to, const BFloat16* a, const BFloat16* b, int64_t b_col, int64_t n, int64_t k) {
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) dots_of<8>(to + j, a, b + j * b_col, b_col, k);
  for (; j < n; ++j) dots_of<1>(to + j, a, b + j * b_col, b_col, k);
}

}  // namespace

extern const PairLevel gemm_bf16 = {packed,     pack<kPairRows>, pack<kPairCols>,
                                    pack_pairs, row,             dots,            finish};

}  // namespace rl::kernels::level2

#pragma GCC pop_options
#endif
