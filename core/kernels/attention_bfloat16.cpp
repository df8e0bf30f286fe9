// Attention of bfloat16 by AVX-512 BF16: scores, sums and results are float, and only what goes
// into a product is rounded.
#include "kernels/attention_block.h"
#include "kernels/cast.h"
#include "kernels/levels/gemm_bfloat16_level.h"

namespace rl::kernels {

#if defined(__x86_64__)
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
uint32_t* pairs_buffer(Scratch use, int64_t pairs) {
  return static_cast<uint32_t*>(scratch(use, size_t(pairs + kPairSlack) * sizeof(uint32_t)));
}

// sums (dense rows of whole panels) = A @ B, or added to where they are not new.
void multiply(float* sums, bool fresh, const uint32_t* a, const uint32_t* b, int64_t m, int64_t n,
              int64_t k) {
  PairTile t{};
  t.m = m, t.n = n, t.pairs = (k + 1) / 2;
  t.sums = sums, t.sums_row = round_up(n, kPairCols);
  t.first = fresh, t.last = false;
  level2::gemm_bf16.packed(t, a, b);
}

void attend(const Block<BFloat16>& x, const Stacks& out, float* log_sums) {
  const PairLevel& level = level2::gemm_bf16;
  const Cast narrow = cast(DType::Float, DType::BFloat16);
  const Attention& a = x.a;
  const int64_t most_keys = std::min(kKeys, a.keys), width = a.value_features;
  const int64_t row_step = round_up(width, kPairCols), rows = round_up(x.rows, kPairRows);
  const int64_t depth = std::max(a.features, most_keys) / 2 + 1;
  float* const scores = buffer<float>(Scratch::Column, rows * round_up(most_keys, kPairCols));
  float* const made = buffer<float>(Scratch::Result, rows * row_step);
  BFloat16* const halves = buffer<BFloat16>(Scratch::Convert, x.rows * most_keys);
  uint32_t* const query = pairs_buffer(Scratch::Image, rows * (a.features / 2 + 1));
  uint32_t* const left = pairs_buffer(Scratch::PackA, rows * (most_keys / 2 + 1));
  uint32_t* const right = pairs_buffer(
      Scratch::PackB, depth * std::max(round_up(most_keys, kPairCols), row_step));
  level.pack_a(query, x.query(), a.query.strides[2], a.query.strides[3], x.rows, a.features);
  RunningSoftmax<float> softmax(x.rows);
  for (int64_t key = 0; key < x.limit(); key += kKeys) {
    const int64_t n = std::min(kKeys, x.limit() - key), step = round_up(n, kPairCols);
    level.pack_b(right, row_of<BFloat16>(a.key, x.b, x.key_head(), key), a.key.strides[2],
                 a.key.strides[3], n, a.features);
    multiply(scores, true, query, right, x.rows, n, a.features);
    for (int64_t r = 0; r < x.rows; ++r) {
      float* const row = scores + r * step;
      softmax.add(x, r, key, n, float(a.scale), row, made + r * row_step);
      narrow(reinterpret_cast<char*>(halves + r * n), 2, reinterpret_cast<char*>(row), 4, n);
    }
    level.pack_a(left, halves, n, 1, x.rows, n);
    level.pack_b(right, row_of<BFloat16>(a.value, x.b, x.key_head(), key), a.value.strides[3],
                 a.value.strides[2], width, n);
    multiply(made, key == 0, left, right, x.rows, width, n);
  }
  for (int64_t r = 0; r < x.rows; ++r) {
    float* const row = made + r * row_step;
    softmax.finish(a, r, row, log_sums ? log_sums + r : nullptr);
    narrow(reinterpret_cast<char*>(row_of<BFloat16>(out, x.b, x.h, x.first + r)), 2,
           reinterpret_cast<char*>(row), 4, width);
  }
}

}  // namespace

void attention_bfloat16(const Attention& a, const Stacks& out, float* log_sums) {
  for_blocks<BFloat16>(a, [&](const Block<BFloat16>& x) { attend(x, out, x.of(log_sums)); });
}
#else
void attention_bfloat16(const Attention&, const Stacks&, float*) {}
#endif

}  // namespace rl::kernels
