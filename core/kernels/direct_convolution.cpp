// Direct convolutions: packing of the weight, and what each thread does.
#include "kernels/direct_convolution.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/levels/direct_convolution.h"
#include "kernels/levels/gemm_level.h"
#include "kernels/scratch.h"

namespace rl::kernels {
namespace {

constexpr double kChunkNs = 8000;            // least work that is worth a thread
constexpr int64_t kPlaneBytes = 384 * 1024;  // of planes that are worked on: in the second cache
constexpr int64_t kMostTaps = 256;
constexpr int64_t kPlaces = 1500;            // outputs per channel that are worth folding a sum

template <class T> T* buffer(Scratch use, int64_t elements) {
  return static_cast<T*>(scratch(use, size_t(elements + 64) * sizeof(T)));
}
int64_t grain_of(double ns_per_item) {
  return std::max<int64_t>(1, int64_t(kChunkNs / std::max(ns_per_item, 1.0)));
}

// Blocks of output channels, of each (channels, taps, output channels of the block).
template <class T> const T* pack(const Convolution& c, const T* weight) {
  const int64_t depth = c.group_in() * c.taps(), out = c.group_out();
  const int64_t most = direct<T>().channels, blocks = (out + most - 1) / most;
  T* const packed = buffer<T>(Scratch::PackA, c.out_channels * depth);
  T* to = packed;
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = g * out + out * b / blocks, end = g * out + out * (b + 1) / blocks;
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t o = first; o < end; ++o) *to++ = weight[o * depth + k];
      }
    }
  }
  return packed;
}

double work_ns(const Convolution& c, int64_t outputs, size_t item) {
  return double(outputs) * double(c.group_in() * c.taps()) * double(item) / 160;
}

template <class T> bool wide() { return direct<T>().lanes * sizeof(T) == 64; }

// Two spatial dimensions, and neighbours to read.
bool fits(const Convolution& c) {
  return c.in[0] == 1 && c.out[0] == 1 && c.kernel[0] == 1 && c.taps() > 1 && c.taps() <= kMostTaps;
}

}  // namespace

// Costs per multiplication of a full register, as measured. Without AVX-512's registers a tile
// is half as large, and loads weigh more.
template <class T> bool direct_forward_pays(const Convolution& c) {
  if (!fits(c)) return false;
  const int64_t lanes = direct<T>().lanes, columns = gemm_level<T>().nr;
  const DirectPlanes p = direct<T>().planes(c, 1, c.out[1]);
  const auto filled = [](int64_t n, int64_t unit) { return double((n + unit - 1) / unit * unit); };
  const bool sorts = c.stride[1] * c.stride[2] > 1 && c.taps() <= 16;
  const double cost = (sorts ? 1.08 : 1) * (wide<T>() ? 1 : 1.06);
  return cost * filled((c.out[1] - 1) * p.pitch + c.out[2], lanes) <=
         filled(c.out_size(), columns) * (1 + 5.0 / double(c.group_out()));
}

template <class T> bool direct_weight_pays(const Convolution& c) {
  if (!fits(c) || c.group_in() * c.taps() < 16) return false;
  const DirectPlanes p = direct<T>().planes(c, 2, c.out[1]);
  const double share = double(c.out_size()) / double(p.rows * p.pitch);
  return share >= (c.stride[1] * c.stride[2] > 1 ? 0.85 : 0.5) &&
         (wide<T>() ? c.group_in() + c.group_out() <= 320 : c.group_out() <= 32);
}

template <class T>
void direct_forward(const Convolution& c, T* output, const T* input, const T* weight,
                    const T* bias, bool relu) {
  const DirectLevel<T>& level = direct<T>();
  const T* packed = pack(c, weight);
  const int64_t images = c.batch * c.groups, gi = c.group_in(), go = c.group_out();
  const DirectPlanes one = level.planes(c, 1, 1), two = level.planes(c, 1, 2);
  const int64_t row_bytes = gi * (two.channel - one.channel) * int64_t(sizeof(T));
  int64_t parts = (c.out[1] * row_bytes + kPlaneBytes - 1) / kPlaneBytes;
  if (images < 2 * num_threads()) parts = std::max<int64_t>(parts, 2 * num_threads() / images);
  parts = std::min(parts, c.out[1]);
  const double ns = work_ns(c, c.out_size() * go / parts, sizeof(T));
  parallel_for(0, images * parts, grain_of(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / parts, group = image % c.groups, part = i % parts;
      const int64_t y = c.out[1] * part / parts, rows = c.out[1] * (part + 1) / parts - y;
      const DirectPlanes planes = level.planes(c, 1, rows);
      T* space = buffer<T>(Scratch::Image, gi * planes.channel);
      level.spread(space, c, planes, input + image * gi * c.in_size(), gi, 0, y);
      level.forward(output + image * go * c.out_size(), c, planes, space,
                    packed + group * go * gi * c.taps(), bias ? bias + group * go : nullptr, relu,
                    y, rows);
    }
  });
}

// Threads take slices of the images, whose sums are added in order, or of the output channels.
template <class T>
bool direct_backward_weight(const Convolution& c, T* grad_weight, const T* grad_output,
                            const T* input) {
  const DirectLevel<T>& level = direct<T>();
  const int64_t gi = c.group_in(), go = c.group_out(), depth = gi * c.taps();
  const int64_t threads = num_threads(), slices = std::min(threads, c.batch);
  const int64_t parts =
      std::min<int64_t>(go, std::max<int64_t>(1, threads / (slices * c.groups)));
  const DirectPlanes one = level.planes(c, 1, c.out[1]);
  const int64_t image_bytes = (gi * one.channel + go * one.phase) * int64_t(sizeof(T));
  const int64_t together =
      std::max<int64_t>(1, std::min((kPlaces + c.out_size() - 1) / c.out_size(),
                                    2 * kPlaneBytes / image_bytes));
  const int64_t size = c.out_channels * depth;
  T* const sums = buffer<T>(Scratch::Result, slices * size);
  std::fill(sums, sums + slices * size, T(0));
  const int64_t items = slices * c.groups * parts;
  const double ns = work_ns(c, c.batch * c.out_size() * c.out_channels / items, sizeof(T));
  parallel_for(0, items, grain_of(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t slice = i % slices, group = i / slices % c.groups, part = i / slices / c.groups;
      const int64_t o = group * go + go * part / parts;
      const int64_t out = group * go + go * (part + 1) / parts - o;
      const int64_t stop = c.batch * (slice + 1) / slices;
      for (int64_t n = c.batch * slice / slices; n < stop; n += together) {
        const int64_t images = std::min(together, stop - n);
        const DirectPlanes planes = level.planes(c, images, c.out[1]);
        T* space = buffer<T>(Scratch::Image, gi * planes.channel);
        T* grads = buffer<T>(Scratch::Column, out * planes.phase);
        for (int64_t j = 0; j < images; ++j) {
          level.spread(space, c, planes, input + ((n + j) * c.in_channels + group * gi) *
                       c.in_size(), gi, j, 0);
          level.spread_grad(grads, c, planes,
                            grad_output + ((n + j) * c.out_channels + o) * c.out_size(), out, j);
        }
        level.weight(sums + slice * size + o * depth, c, planes, space, grads, out, gi);
      }
    }
  });
  bool finite = true;
  for (int64_t i = 0; i < size; ++i) {
    T sum = 0;
    for (int64_t s = 0; s < slices; ++s) sum += sums[s * size + i];
    finite &= std::isfinite(sum);
    grad_weight[i] = sum;
  }
  return finite;
}

template bool direct_forward_pays<float>(const Convolution&);
template bool direct_forward_pays<double>(const Convolution&);
template bool direct_weight_pays<float>(const Convolution&);
template bool direct_weight_pays<double>(const Convolution&);
template void direct_forward(const Convolution&, float*, const float*, const float*, const float*,
                             bool);
template void direct_forward(const Convolution&, double*, const double*, const double*,
                             const double*, bool);
template bool direct_backward_weight(const Convolution&, float*, const float*, const float*);
template bool direct_backward_weight(const Convolution&, double*, const double*, const double*);

}  // namespace rl::kernels
