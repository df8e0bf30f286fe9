// What AVX-512 BF16 offers for products of bfloat16 matrices; one serial call each.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Note [Pairs]
// The CPU's dot product takes two neighbours along k at once, so packed operands are made of
// pairs: elements 2p and 2p + 1 of k in 32 bits, a zero where k ends. A panel holds kPairRows rows
// of A, or kPairCols columns of B, as one group of pairs after the other, zeros where the operand
// ends; the buffer has kPairSlack pairs more than that. An element of C is summed over p in order
// whatever the tiles are: the result does not depend on the number of threads.
constexpr int kPairRows = 12, kPairCols = 32, kPairSlack = 16;

// Part of C = relu(alpha * A @ B + beta * C + bias), its operands packed. A depth that comes in
// several parts is summed in `sums`, dense rows of sums_row floats (whole panels of columns).
struct PairTile {
  int64_t m, n, pairs;
  float* sums;
  int64_t sums_row;
  bool first, last;        // of the parts of the depth
  BFloat16* c;
  int64_t c_row, c_col;
  float alpha, beta;
  const BFloat16* bias;
  bool bias_per_row, relu;
};

struct PairLevel {
  void (*packed)(const PairTile& tile, const uint32_t* a, const uint32_t* b);
  // `step` leads from one row (or column) of the panel to the next, `along` along k.
  void (*pack_a)(uint32_t* to, const BFloat16* from, int64_t step, int64_t along, int64_t rows,
                 int64_t k);
  void (*pack_b)(uint32_t* to, const BFloat16* from, int64_t step, int64_t along, int64_t columns,
                 int64_t k);
  // Pairs of n elements of two dense rows; the second may be null (zeros).
  void (*pack_pairs)(uint32_t* to, const BFloat16* low, const BFloat16* high, int64_t n);
  // One row times B with dense rows, b_row apart, to n floats.
  void (*row)(float* to, const BFloat16* a, int64_t a_col, const BFloat16* b, int64_t b_row,
              int64_t n, int64_t k);
  // One dense row times n columns of B, each dense, b_col apart.
  void (*dots)(float* to, const BFloat16* a, const BFloat16* b, int64_t b_col, int64_t n,
               int64_t k);
  void (*finish)(const PairTile& tile, const float* values);  // one row of `values` into C
};

#if defined(__x86_64__)
namespace level2 {
extern const PairLevel gemm_bf16;  // usable if cpu_has_bf16()
}
#endif

}  // namespace rl::kernels
