// Direct convolutions: packing of the weight, and what each thread does.
#include "kernels/direct_convolution.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/levels/direct_convolution.h"
#include "kernels/levels/gemm_level.h"
#include "kernels/scratch.h"

namespace rl::kernels {
namespace {

constexpr double kChunkNs = 8000;            // least work that is worth a thread
constexpr int64_t kPlaneBytes = 384 * 1024;  // of planes that are worked on: in the second cache
constexpr int64_t kMostTaps = 256;
constexpr int64_t kPixels = 192;             // of small images that are worked on together

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

// The same with blocks of whole vectors of channels, zeros beyond the last channel.
template <class T> int64_t padded(int64_t channels) {
  const int64_t lanes = direct<T>().lanes;
  return (channels + lanes - 1) / lanes * lanes;
}
template <class T> const T* pack_vectors(const Convolution& c, const T* weight) {
  const DirectLevel<T>& level = direct<T>();
  const int64_t depth = c.group_in() * c.taps(), out = c.group_out(), all = padded<T>(out);
  const int64_t vectors = all / level.lanes, blocks = (vectors + level.vectors - 1) / level.vectors;
  T* const packed = buffer<T>(Scratch::PackA, c.groups * all * depth);
  parallel_for(0, c.groups * blocks, grain_of(double(all / blocks * depth)),
               [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t g = i / blocks, b = i % blocks;
      const int64_t first = vectors * b / blocks * level.lanes;
      const int64_t size = vectors * (b + 1) / blocks * level.lanes - first;
      level.turn(packed + (g * all + first) * depth, size, weight + (g * out + first) * depth,
                 depth, std::min(size, out - first), depth, size);
    }
  });
  return packed;
}

double work_ns(const Convolution& c, int64_t outputs, size_t item) {
  return double(outputs) * double(c.group_in() * c.taps()) * double(item) / 160;
}

// Costs of the ways to compute the output, per multiplication of a full register, as measured.
struct Costs { double packed, pixels, channels; };
template <class T> Costs costs(const Convolution& c) {
  const int64_t lanes = direct<T>().lanes;
  const DirectPlanes p = direct<T>().planes(c, 1, c.out[1]);
  const auto filled = [](int64_t n, int64_t unit) { return double((n + unit - 1) / unit * unit); };
  const double go = double(c.group_out()), pixels = double(c.out_size());
  const bool strided = c.stride[1] * c.stride[2] > 1;
  // Without AVX-512's registers a tile is half as large, and loads weigh more.
  const double narrow = lanes * sizeof(T) == 64 ? 0 : 1;
  Costs costs;
  costs.packed = filled(c.out_size(), gemm_level<T>().nr) / pixels * (1 + 5 / go);
  costs.pixels = filled((c.out[1] - 1) * p.pitch + c.out[2], lanes) / pixels *
                 (1 + 0.06 * narrow + (strided && c.taps() <= 16 ? 0.08 : 0));
  costs.channels = filled(c.group_out(), lanes) / go *
                   (0.98 + 20 / double(c.group_in() * c.taps())) *
                   (1 + 0.08 * narrow + (strided ? 0.1 : 0));
  return costs;
}

}  // namespace

bool takes_direct(const Convolution& c) {
  const bool flat = c.in[0] == 1 && c.padding[0] == 0 && c.out[0] == 1 && c.kernel[0] == 1;
  return flat && c.taps() > 1 && c.taps() <= kMostTaps;
}

template <class T> bool direct_forward_pays(const Convolution& c) {
  if (!takes_direct(c)) return false;
  const Costs cost = costs<T>(c);
  return std::min(cost.pixels, cost.channels) <= cost.packed;
}

template <class T>
void direct_forward(const Convolution& c, T* output, const T* input, const T* weight,
                    const T* bias, bool relu) {
  const DirectLevel<T>& level = direct<T>();
  const Costs cost = costs<T>(c);
  const bool by_channels = cost.channels < cost.pixels;
  const T* packed = by_channels ? pack_vectors(c, weight) : pack(c, weight);
  const int64_t gi = c.group_in(), go = c.group_out(), depth = gi * c.taps();
  const int64_t group_weight = (by_channels ? padded<T>(go) : go) * depth;
  const DirectPlanes one = level.planes(c, 1, 1), two = level.planes(c, 1, 2);
  const int64_t row_bytes = gi * (two.channel - one.channel) * int64_t(sizeof(T));
  const int64_t threads = num_threads();
  // Small images together use the weight several times while it is in the cache.
  int64_t together = 1;
  if (by_channels) {
    const int64_t most = std::min(kPixels / c.out_size(), kPlaneBytes / (c.out[1] * row_bytes));
    together = std::clamp<int64_t>(most, 1, std::max<int64_t>(1, c.batch * c.groups / 2 / threads));
  }
  const int64_t sets = (c.batch + together - 1) / together;
  int64_t parts = (together * c.out[1] * row_bytes + kPlaneBytes - 1) / kPlaneBytes;
  if (sets * c.groups < 2 * threads) {
    parts = std::max<int64_t>(parts, 2 * threads / (sets * c.groups));
  }
  parts = std::min(parts, c.out[1]);
  const double ns = work_ns(c, c.out_size() * go * together / parts, sizeof(T));
  parallel_for(0, sets * c.groups * parts, grain_of(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts, group = i / parts % c.groups, set = i / parts / c.groups;
      const int64_t y = c.out[1] * part / parts, rows = c.out[1] * (part + 1) / parts - y;
      const int64_t n = set * together, images = std::min(together, c.batch - n);
      const DirectPlanes planes = level.planes(c, images, rows);
      T* space = buffer<T>(Scratch::Image, gi * planes.channel);
      for (int64_t j = 0; j < images; ++j) {
        level.spread(space, c, planes,
                     input + ((n + j) * c.in_channels + group * gi) * c.in_size(), gi, j, y);
      }
      T* to = output + (n * c.out_channels + group * go) * c.out_size();
      const T* factors = packed + group * group_weight;
      const T* own_bias = bias ? bias + group * go : nullptr;
      if (by_channels) {
        const int64_t room = images * rows * c.out[2] * level.vectors * level.lanes;
        T* sums = buffer<T>(Scratch::Column, room);
        level.channels_forward(to, c.out_channels * c.out_size(), c, planes, space, factors,
                               own_bias, relu, y, rows, sums);
      } else {
        level.forward(to, c, planes, space, factors, own_bias, relu, y, rows);
      }
    }
  });
}

// Adds up slices of (depth x width), and turns them into (channels x depth).
template <class T>
void turn_sums(T* to, T* sums, int64_t slices, int64_t slice, int64_t depth, int64_t width,
               int64_t channels) {
  constexpr int64_t kBlock = 64;
  parallel_for(0, (channels + kBlock - 1) / kBlock, grain_of(double(kBlock * depth * slices) / 4),
               [&](int64_t begin, int64_t end) {
    const int64_t o = begin * kBlock, n = std::min(end * kBlock, channels) - o;
    for (int64_t s = 1; s < slices; ++s) {
      for (int64_t k = 0; k < depth; ++k) {
        T* sum = sums + k * width + o;
        for (int64_t i = 0; i < n; ++i) sum[i] += sum[s * slice + i];
      }
    }
    direct<T>().turn(to + o * depth, depth, sums + o, width, depth, n, depth);
  });
}

// Threads take slices of the images, whose sums are added in order, or of the input channels.
template <class T>
void direct_backward_weight(const Convolution& c, T* grad_weight, const T* grad_output,
                        const T* input) {
  const DirectLevel<T>& level = direct<T>();
  const int64_t gi = c.group_in(), go = c.group_out(), width = padded<T>(go), taps = c.taps();
  const int64_t threads = num_threads();
  const int64_t parts = std::min(gi, (threads + c.groups - 1) / c.groups);
  const int64_t slices = gi >= 4 * parts ? 1 : std::min(threads, c.batch);
  const int64_t split = slices > 1 ? 1 : parts;
  const DirectPlanes one = level.planes(c, 1, c.out[1]);
  const int64_t image_bytes =
      (gi / split * one.channel + width * c.out_size()) * int64_t(sizeof(T));
  const int64_t together = std::max<int64_t>(1, 2 * kPlaneBytes / image_bytes);
  const int64_t group_size = gi * taps * width, size = c.groups * group_size;
  T* const sums = buffer<T>(Scratch::Result, slices * size);
  std::fill(sums, sums + slices * size, T(0));
  const int64_t items = slices * c.groups * split;
  const double ns = work_ns(c, c.batch * c.out_size() * c.out_channels / items, sizeof(T));
  parallel_for(0, items, grain_of(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t slice = i % slices, group = i / slices % c.groups, part = i / slices / c.groups;
      const int64_t ch = gi * part / split, channels = gi * (part + 1) / split - ch;
      const int64_t stop = c.batch * (slice + 1) / slices;
      for (int64_t n = c.batch * slice / slices; n < stop; n += together) {
        const int64_t images = std::min(together, stop - n);
        const DirectPlanes planes = level.planes(c, images, c.out[1]);
        T* space = buffer<T>(Scratch::Image, channels * planes.channel);
        T* grads = buffer<T>(Scratch::Column, images * c.out_size() * width);
        for (int64_t j = 0; j < images; ++j) {
          const int64_t image = n + j;
          level.spread(space, c, planes,
                       input + (image * c.in_channels + group * gi + ch) * c.in_size(), channels,
                       j, 0);
          level.turn(grads + j * c.out_size() * width, width,
                     grad_output + (image * c.out_channels + group * go) * c.out_size(),
                     c.out_size(), go, c.out_size(), width);
        }
        level.channels_weight(sums + slice * size + group * group_size + ch * taps * width, width,
                              c, planes, space, grads, channels);
      }
    }
  });
  for (int64_t g = 0; g < c.groups; ++g) {
    turn_sums(grad_weight + g * go * gi * taps, sums + g * group_size, slices, size, gi * taps,
              width, go);
  }
}

template bool direct_forward_pays<float>(const Convolution&);
template bool direct_forward_pays<double>(const Convolution&);
template void direct_forward(const Convolution&, float*, const float*, const float*, const float*,
                             bool);
template void direct_forward(const Convolution&, double*, const double*, const double*,
                             const double*, bool);
template void direct_backward_weight(const Convolution&, float*, const float*, const float*);
template void direct_backward_weight(const Convolution&, double*, const double*, const double*);

}  // namespace rl::kernels
