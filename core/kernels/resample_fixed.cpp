// Resampling of bytes: weights of 16 bits, sums of 32, rounded to bytes after each dimension.
#include "kernels/resample_fixed.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "kernels/resample_taps.h"

namespace rl::kernels {
namespace {

struct FixedTaps {
  Taps<double> exact;
  std::vector<int16_t> weight;
  int bits = 0;                // behind the binary point

  FixedTaps(const Resampling& r, int d) : exact(taps_of<double>(r, d)) {
    merge();
    double largest = 0;
    for (double w : exact.weight) largest = std::max(largest, w);
    // As many as leave the largest weight, rounded, below 2^15.
    while (bits < 22 && int(0.5 + largest * double(1 << (bits + 1))) < 1 << 15) ++bits;
    for (double w : exact.weight)
      weight.push_back(int16_t(w * double(1 << bits) + (w < 0 ? -0.5 : 0.5)));
  }
  bool identity() const { return exact.identity(); }

 private:
  // At a border several taps have one place: their weights are rounded as one.
  void merge() {
    for (int64_t o = 0; o < exact.out; ++o)
      for (int64_t k = 1; k < exact.width; ++k) {
        const size_t at = size_t(k * exact.out + o), before = at - size_t(exact.out);
        if (exact.index[at] != exact.index[before]) continue;
        exact.weight[at] += exact.weight[before];
        exact.weight[before] = 0;
      }
  }
};

uint8_t rounded(int32_t sum, int bits) {
  return uint8_t(std::min(std::max(sum >> bits, 0), 255));
}

// One dimension: cells of n bytes.
void pass(uint8_t* out, const uint8_t* in, const FixedTaps& taps, int64_t n, int32_t* sums) {
  const Taps<double>& t = taps.exact;
  for (int64_t o = 0; o < t.out; ++o, out += n) {
    std::fill(sums, sums + n, 1 << (taps.bits - 1));
    for (int64_t k = 0; k < t.width; ++k) {
      const size_t at = size_t(k * t.out + o);
      const int32_t w = taps.weight[at];
      const uint8_t* from = in + t.index[at] * n;
      if (w)
        for (int64_t i = 0; i < n; ++i) sums[i] += w * from[i];
    }
    for (int64_t i = 0; i < n; ++i) out[i] = rounded(sums[i], taps.bits);
  }
}

void pass_single(uint8_t* out, const uint8_t* in, const FixedTaps& taps) {
  const Taps<double>& t = taps.exact;
  for (int64_t o = 0; o < t.out; ++o) {
    int32_t sum = 1 << (taps.bits - 1);
    for (int64_t k = 0; k < t.width; ++k) {
      const size_t at = size_t(k * t.out + o);
      sum += taps.weight[at] * in[t.index[at]];
    }
    out[o] = rounded(sum, taps.bits);
  }
}

}  // namespace

void resample_fixed(const Resampling& r, uint8_t* output, const uint8_t* input) {
  const FixedTaps wide(r, 2), high(r, 1);
  const bool same_wide = wide.identity(), same_high = high.identity();
  const int64_t row_in = r.in[2] * r.inner, row_out = r.out[2] * r.inner;
  parallel_for(0, r.planes, 1 + 16384 / (r.out[1] * row_out + 1), [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> kept(size_t(r.in[1] * row_out));
    std::vector<int32_t> sums(static_cast<size_t>(std::max(row_out, r.inner)));
    for (int64_t p = begin; p < end; ++p) {
      const uint8_t* from = input + p * r.in[1] * row_in;
      uint8_t* to = output + p * r.out[1] * row_out;
      if (!same_wide) {
        uint8_t* middle = same_high ? to : kept.data();
        for (int64_t y = 0; y < r.in[1]; ++y) {
          if (r.inner == 1) pass_single(middle + y * row_out, from + y * row_in, wide);
          else pass(middle + y * row_out, from + y * row_in, wide, r.inner, sums.data());
        }
        from = middle;
      }
      if (!same_high) pass(to, from, high, row_out, sums.data());
      else if (same_wide) std::memcpy(to, from, size_t(r.in[1] * row_in));
    }
  });
}

}  // namespace rl::kernels
