// Panels of integer products: a tile of rows by two registers of columns is summed at once.
#include "kernels/levels/gemm_integer.h"

#include "kernels/vec.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

constexpr int kTileRows = 6;

template <class U, int rows>
void tile(U* sums, const U* a, const U* b, int64_t step, int64_t k) {
  typedef U V __attribute__((vector_size(kVectorBytes)));
  constexpr int lanes = kVectorBytes / int(sizeof(U));
  V sum[rows][2] = {};
  for (int64_t q = 0; q < k; ++q, b += step) {
    V low, high;
    __builtin_memcpy(&low, b, sizeof low);
    __builtin_memcpy(&high, b + lanes, sizeof high);
    for (int i = 0; i < rows; ++i) {
      const U x = a[i * k + q];
      sum[i][0] += x * low;
      sum[i][1] += x * high;
    }
  }
  __builtin_memcpy(sums, sum, sizeof sum);
}

template <class U>
void panel(U* sums, const U* a, const U* b, int64_t step, int64_t m, int64_t k) {
  constexpr int columns = 2 * kVectorBytes / int(sizeof(U));
  int64_t i = 0;
  for (; i + kTileRows <= m; i += kTileRows)
    tile<U, kTileRows>(sums + i * columns, a + i * k, b, step, k);
  for (; i + 2 <= m; i += 2) tile<U, 2>(sums + i * columns, a + i * k, b, step, k);
  if (i < m) tile<U, 1>(sums + i * columns, a + i * k, b, step, k);
}

}  // namespace

extern const WordProduct<uint32_t> words_u32;
extern const WordProduct<uint64_t> words_u64;
const WordProduct<uint32_t> words_u32{2 * kVectorBytes / 4, panel<uint32_t>};
const WordProduct<uint64_t> words_u64{2 * kVectorBytes / 8, panel<uint64_t>};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
