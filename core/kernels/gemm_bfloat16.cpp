// Products of bfloat16 matrices by AVX-512 BF16: packing, blocks and division among threads.
#include "kernels/gemm_bfloat16.h"

#include <algorithm>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/gemm_simple.h"
#include "kernels/levels/gemm_bfloat16_level.h"
#include "kernels/scratch.h"

#if defined(__x86_64__)
namespace rl::kernels {
namespace {

constexpr int64_t kDepth = 4096;       // a part of k: panels stay in the second cache
constexpr int64_t kBlockRows = 144;    // a block of A of this height does, too
constexpr int64_t kBlockPairs = 1 << 21;  // of B, packed for all threads: in the third
constexpr int64_t kBlockSums = 1 << 22;   // floats held where k comes in parts
constexpr int64_t kFewRows = 48;       // of A: each panel of B is used as soon as it is packed
constexpr int64_t kGroup = 8;          // panels packed at a time then, so that B is read in runs
constexpr int64_t kStretch = 1024;     // columns of a row by a matrix
constexpr double kChunkNs = 8000;      // least work that is worth a thread

const PairLevel& level() { return level2::gemm_bf16; }

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
int64_t pieces(int64_t n, int64_t size) { return std::max<int64_t>(1, (n + size - 1) / size); }
int64_t grain_of(double ns) { return std::max<int64_t>(1, int64_t(kChunkNs / std::max(ns, 1.0))); }

uint32_t* pairs_buffer(Scratch use, int64_t pairs) {
  return static_cast<uint32_t*>(scratch(use, size_t(pairs + kPairSlack) * 4));
}
float* sums_buffer(int64_t floats) {
  return static_cast<float*>(scratch(Scratch::Result, size_t(floats) * 4));
}
const BFloat16* halves(const void* p) { return static_cast<const BFloat16*>(p); }

// The whole result as a tile of one part; rows and columns are narrowed by `narrow`.
PairTile tile_of(const MatrixProduct& p) {
  PairTile t{};
  t.m = p.m, t.n = p.n, t.pairs = (p.k + 1) / 2;
  t.first = t.last = true;
  t.c = static_cast<BFloat16*>(p.c);
  t.c_row = p.c_row, t.c_col = p.c_col;
  t.alpha = p.alpha.to<float>(), t.beta = p.beta.to<float>();
  t.bias = halves(p.bias);
  t.bias_per_row = p.bias_per_row, t.relu = p.relu;
  return t;
}
void narrow(PairTile& t, int64_t i, int64_t m, int64_t j, int64_t n) {
  t.m = m, t.n = n;
  t.c += i * t.c_row + j * t.c_col;
  if (t.bias) t.bias += t.bias_per_row ? i : j;
}
void take_part(PairTile& t, int64_t p, int64_t kb, int64_t k) {
  t.pairs = (kb + 1) / 2;
  t.first = p == 0, t.last = p + kb >= k;
}

// An even part of k, all parts nearly equal.
int64_t part_of_depth(int64_t k, int64_t most) {
  return std::max<int64_t>(2, round_up((k + pieces(k, most) - 1) / pieces(k, most), 2));
}

// One row of A: B is read once, where it lies. False if it lies in neither order.
bool row_by_matrix(const MatrixProduct& p) {
  const bool rows = p.b_col == 1, dense = p.b_row == 1 && p.a_col == 1;
  if (p.k == 0 || (!rows && !dense)) return false;
  const double ns = double(p.k) * (rows ? kStretch / 4 : 1) / 8;
  const int64_t step = rows ? kStretch / 4 : 1, count = pieces(p.n, step);
  parallel_for(0, count, grain_of(ns), [&](int64_t begin, int64_t end) {
    float sums[kStretch];
    const int64_t stop = std::min(end * step, p.n);
    for (int64_t j = begin * step; j < stop; j += kStretch) {
      const int64_t n = std::min(kStretch, stop - j);
      const BFloat16* b = halves(p.b) + j * p.b_col;
      if (rows) level().row(sums, halves(p.a), p.a_col, b, p.b_row, n, p.k);
      else level().dots(sums, halves(p.a), b, p.b_col, n, p.k);
      PairTile t = tile_of(p);
      narrow(t, 0, 1, j, n);
      level().finish(t, sums);
    }
  });
  return true;
}

// A is packed once; threads take columns of B, pack a few panels and use them at once.
void few_rows(const MatrixProduct& p) {
  const int64_t kb = part_of_depth(p.k, 8 * kDepth), panels = pieces(p.n, kPairCols);
  const int64_t group = std::clamp<int64_t>(panels / num_threads(), 1, kGroup);
  const int64_t sums_row = panels * kPairCols;
  float* const sums = kb < p.k ? sums_buffer(p.m * sums_row) : nullptr;
  uint32_t* const a = pairs_buffer(Scratch::PackA, round_up(p.m, kPairRows) * (kb / 2));
  const double ns = double(group * kPairCols * kb) * (0.1 + double(p.m) / 100);
  for (int64_t k0 = 0; k0 < std::max<int64_t>(p.k, 1); k0 += kb) {
    const int64_t depth = std::min(kb, p.k - k0), pairs = (depth + 1) / 2;
    level().pack_a(a, halves(p.a) + k0 * p.a_col, p.a_row, p.a_col, p.m, depth);
    parallel_for(0, pieces(panels, group), grain_of(ns), [&](int64_t begin, int64_t end) {
      uint32_t* const b = pairs_buffer(Scratch::PackB, group * kPairCols * pairs);
      for (int64_t x = begin; x < end; ++x) {
        const int64_t j = x * group * kPairCols, n = std::min(group * kPairCols, p.n - j);
        level().pack_b(b, halves(p.b) + k0 * p.b_row + j * p.b_col, p.b_col, p.b_row, n, depth);
        PairTile t = tile_of(p);
        narrow(t, 0, p.m, j, n);
        take_part(t, k0, depth, p.k);
        t.sums = sums ? sums + j : nullptr;
        t.sums_row = sums_row;
        level().packed(t, a, b);
      }
    });
    poll_interrupt();
  }
}

// What is computed between two packings of B.
struct Block {
  int64_t i, m, j, n, k, depth;
  float* sums;
  int64_t sums_row;
  const uint32_t* b;
};

// Threads take blocks of rows, or columns where there are few rows, and pack their rows of A.
void multiply_block(const MatrixProduct& p, const Block& block) {
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  const int64_t pairs = (block.depth + 1) / 2;
  const bool by_rows = block.m >= 64 * threads;
  const int64_t cols = by_rows ? 1 : std::min(threads, pieces(block.n, kPairCols));
  const int64_t col_step = round_up(pieces(block.n, cols), kPairCols);
  int64_t rows = by_rows ? threads * pieces(block.m, threads * kBlockRows)
                         : pieces(block.m, kBlockRows);
  const int64_t row_step = round_up(pieces(block.m, rows), kPairRows);
  rows = pieces(block.m, row_step);
  const double ns = double(row_step) * double(col_step) * double(block.depth) / 100;
  parallel_for(0, rows * cols, grain_of(ns), [&](int64_t begin, int64_t end) {
    uint32_t* const a = pairs_buffer(Scratch::PackA, row_step * pairs);
    int64_t packed_row = -1;
    for (int64_t x = begin; x < end; ++x) {
      const int64_t i = x % rows * row_step, j = x / rows * col_step;
      const int64_t m = std::min(row_step, block.m - i), n = std::min(col_step, block.n - j);
      if (n <= 0) continue;
      if (i != packed_row) {
        level().pack_a(a, halves(p.a) + (block.i + i) * p.a_row + block.k * p.a_col, p.a_row,
                       p.a_col, m, block.depth);
        packed_row = i;
      }
      PairTile t = tile_of(p);
      narrow(t, block.i + i, m, block.j + j, n);
      take_part(t, block.k, block.depth, p.k);
      t.sums = block.sums ? block.sums + i * block.sums_row + j : nullptr;
      t.sums_row = block.sums_row;
      level().packed(t, a, block.b + j * pairs);
    }
  });
}

void blocked(const MatrixProduct& p) {
  const int64_t kb = part_of_depth(p.k, kDepth);
  const int64_t width =
      std::min(round_up(p.n, kPairCols), std::max<int64_t>(1, kBlockPairs * 2 / kb / kPairCols) *
                                             kPairCols);
  const bool parts = kb < p.k;
  const int64_t height = parts ? std::min(p.m, std::max<int64_t>(kBlockRows, kBlockSums / width))
                               : p.m;
  float* const sums = parts ? sums_buffer(height * width) : nullptr;
  uint32_t* const b = pairs_buffer(Scratch::PackB, width * (kb / 2));
  for (int64_t i = 0; i < p.m; i += height) {
    for (int64_t j = 0; j < p.n; j += width) {
      const int64_t n = std::min(width, p.n - j);
      for (int64_t k = 0; k < std::max<int64_t>(p.k, 1); k += kb) {
        const int64_t depth = std::min(kb, p.k - k), pairs = (depth + 1) / 2;
        parallel_for(0, pieces(n, kPairCols), grain_of(double(depth) * 4),
                     [&](int64_t begin, int64_t end) {
          const int64_t first = begin * kPairCols;
          level().pack_b(b + first * pairs, halves(p.b) + k * p.b_row + (j + first) * p.b_col,
                         p.b_col, p.b_row, std::min(end * kPairCols, n) - first, depth);
        });
        multiply_block(p, {i, std::min(height, p.m - i), j, n, k, depth, sums, width, b});
        poll_interrupt();
      }
    }
  }
}

}  // namespace

void gemm_bfloat16(const MatrixProduct& product) {
  const bool turn = (product.n == 1 && product.m != 1) ||
                    (product.c_col != 1 && product.c_row == 1 && product.n != 1);
  const MatrixProduct p = turn ? turned(product) : product;
  if (p.m == 1 && row_by_matrix(p)) return;
  if (p.m <= kFewRows) return few_rows(p);
  blocked(p);
}

}  // namespace rl::kernels
#else
namespace rl::kernels {
void gemm_bfloat16(const MatrixProduct&) {}
}  // namespace rl::kernels
#endif
