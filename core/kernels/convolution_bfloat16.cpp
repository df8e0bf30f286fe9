// Convolutions of bfloat16: products over pairs of channels, gathered as if pairs were floats.
#include "kernels/convolution_bfloat16.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/levels/convolution_level.h"
#include "kernels/levels/gemm_bfloat16_level.h"
#include "kernels/scratch.h"

#if defined(__x86_64__)
namespace rl::kernels {
namespace {

constexpr int64_t kDepth = 640;               // pairs of packed pixels at a time
constexpr int64_t kPackedPairs = 64 * 1024;
constexpr double kChunkNs = 8000;             // least work that is worth a thread

const PairLevel& level() { return level2::gemm_bf16; }

template <class T> T* buffer(Scratch use, int64_t elements) {
  return static_cast<T*>(scratch(use, size_t(elements + 64) * sizeof(T)));
}
int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Neighbouring channels of each group side by side: planes of pairs, the last beside zeros.
uint32_t* pair_channels(const Convolution& c, const BFloat16* input) {
  const int64_t size = c.in_size(), gi = c.group_in(), pairs = (gi + 1) / 2;
  const int64_t planes = c.batch * c.groups * pairs;
  uint32_t* const to = buffer<uint32_t>(Scratch::Convert, planes * size);
  parallel_for(0, planes, 1 + 32768 / (size + 1), [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t pair = x % pairs;
      const BFloat16* low = input + (x / pairs * gi + 2 * pair) * size;
      level().pack_pairs(to + x * size, low, 2 * pair + 1 < gi ? low + size : nullptr, size);
    }
  });
  return to;
}

// The weight in panels of rows, for each group and block of channels; k in the same order.
uint32_t* pack_weight(const Convolution& c, const BFloat16* weight, int64_t block) {
  const int64_t taps = c.taps(), gi = c.group_in(), go = c.group_out(), pairs = (gi + 1) / 2;
  const int64_t rows = pieces(go, kPairRows) * kPairRows, depth = pairs * taps;
  uint32_t* const to = buffer<uint32_t>(Scratch::PackA, c.groups * rows * depth);
  BFloat16* const line = buffer<BFloat16>(Scratch::Planes, go * depth * 2);
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t o = 0; o < go; ++o) {
      const BFloat16* from = weight + (g * go + o) * gi * taps;
      for (int64_t q = 0; q < depth; ++q) {
        const int64_t ch = q / taps * 2, tap = q % taps;
        line[(o * depth + q) * 2] = from[ch * taps + tap];
        line[(o * depth + q) * 2 + 1] = ch + 1 < gi ? from[(ch + 1) * taps + tap] : BFloat16{0};
      }
    }
    for (int64_t p = 0; p < pairs; p += block) {
      const int64_t count = std::min(block, pairs - p);
      level().pack_a(to + (g * depth + p * taps) * rows, line + p * taps * 2, 2 * depth, 1, go,
                     2 * count * taps);
    }
  }
  return to;
}

// Output pixels [begin, end) of one image and group.
void forward_block(const Convolution& c, BFloat16* output, const uint32_t* image,
                   const uint32_t* weight, const BFloat16* bias, bool relu, int64_t block,
                   int64_t begin, int64_t end) {
  const int64_t taps = c.taps(), go = c.group_out(), pairs = (c.group_in() + 1) / 2;
  const int64_t rows = pieces(go, kPairRows) * kPairRows;
  const int64_t width = pieces(end - begin, kPairCols) * kPairCols;
  float* const packed = buffer<float>(Scratch::PackB, width * block * taps);
  PairTile t{};
  t.m = go, t.n = end - begin;
  t.sums = pairs > block ? buffer<float>(Scratch::Result, rows * width) : nullptr;
  t.sums_row = width;
  t.c = output + begin, t.c_row = c.out_size(), t.c_col = 1;
  t.alpha = 1;
  t.bias = bias, t.bias_per_row = true, t.relu = relu;
  for (int64_t p = 0; p < pairs; p += block) {
    const int64_t count = std::min(block, pairs - p);
    const uint32_t* planes = image + p * c.in_size();
    convolution_level<float>().gather(packed, c, reinterpret_cast<const float*>(planes), count,
                                      begin, end);
    t.pairs = count * taps;
    t.first = p == 0, t.last = p + count == pairs;
    level().packed(t, weight + p * taps * rows, reinterpret_cast<const uint32_t*>(packed));
  }
}

}  // namespace

void conv_forward_bfloat16(const Convolution& c, BFloat16* output, const BFloat16* input,
                           const BFloat16* weight, const BFloat16* bias, bool relu) {
  const int64_t taps = c.taps(), go = c.group_out(), pairs = (c.group_in() + 1) / 2;
  const int64_t most = std::max<int64_t>(1, kDepth / taps);
  const int64_t block = pieces(pairs, pieces(pairs, most));
  const uint32_t* const images = pair_channels(c, input);
  const uint32_t* const panels = pack_weight(c, weight, block);
  const int64_t pixels = c.out_size(), count = c.batch * c.groups;
  const int64_t fit = kPackedPairs / (block * taps) / kPairCols * kPairCols;
  int64_t parts = pieces(pixels, std::max<int64_t>(kPairCols, fit));
  if (count < 2 * num_threads()) parts = std::max<int64_t>(parts, 2 * num_threads() / count);
  const int64_t step = pieces(pieces(pixels, parts), kPairCols) * kPairCols;
  parts = pieces(pixels, step);
  const int64_t group_size = pieces(go, kPairRows) * kPairRows * pairs * taps;
  const double ns = double(step * go) * double(pairs * taps) / 50;
  const int64_t grain = std::max<int64_t>(1, int64_t(kChunkNs / std::max(ns, 1.0)));
  parallel_for(0, count * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t image = x / parts, first = x % parts * step, group = image % c.groups;
      forward_block(c, output + image * go * pixels, images + image * pairs * c.in_size(),
                    panels + group * group_size, bias ? bias + group * go : nullptr, relu, block,
                    first, std::min(first + step, pixels));
    }
  });
}

}  // namespace rl::kernels
#else
namespace rl::kernels {
void conv_forward_bfloat16(const Convolution&, BFloat16*, const BFloat16*, const BFloat16*,
                           const BFloat16*, bool) {}
}  // namespace rl::kernels
#endif
