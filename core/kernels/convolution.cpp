// Convolutions: implicit matrix products over packed pixels, divided among threads.
#include "kernels/convolution.h"

#include <algorithm>

#include "base/level.h"
#include "base/parallel.h"
#include "kernels/convolution_bfloat16.h"
#include "kernels/direct_convolution.h"
#include "kernels/half_copies.h"
#include "kernels/levels/convolution_level.h"
#include "kernels/levels/gemm_level.h"
#include "kernels/scratch.h"

namespace rl::kernels {
namespace {

constexpr double kChunkNs = 8000;       // least work that is worth a thread
constexpr int64_t kDepth = 320;         // rows of packed pixels at a time
constexpr int64_t kPackedBytes = 160 * 1024;
constexpr int64_t kFewChannels = 12;    // fewer cannot pay for packing pixels

template <class T> T* buffer(Scratch use, int64_t elements) {
  return static_cast<T*>(scratch(use, size_t(elements + 64) * sizeof(T)));
}

int64_t grain_of(double ns_per_item) {
  return std::max<int64_t>(1, int64_t(kChunkNs / std::max(ns_per_item, 1.0)));
}

// Every output pixel reads just its own input pixel.
bool pixelwise(const Convolution& c) {
  for (int d = 0; d < 3; ++d) {
    if (c.kernel[d] != 1 || c.stride[d] != 1 || c.padding[d] != 0) return false;
  }
  return true;
}

// Without neighbours to read, the spatial dimensions are one long row.
Convolution flattened(const Convolution& c) {
  Convolution f = c;
  if (!pixelwise(c)) return f;
  f.in[2] = f.out[2] = c.in_size();
  f.in[0] = f.in[1] = f.out[0] = f.out[1] = 1;
  return f;
}

bool depthwise(const Convolution& c) { return c.group_in() == 1 && c.groups > 1; }

// Channels per block of depth: whole channels, so that a block holds all taps of each.
int64_t block_channels(const Convolution& c) {
  const int64_t most = std::max<int64_t>(1, kDepth / c.taps());
  const int64_t blocks = (c.group_in() + most - 1) / most;
  return (c.group_in() + blocks - 1) / blocks;
}

// The weight as packed panels: per group, per block of channels.
template <class T> struct PackedWeight {
  const T* data;
  int64_t group_step, channel_step;  // channel_step: elements per channel of one group
};
template <class T> PackedWeight<T> pack_weight(const Convolution& c, const T* weight) {
  const GemmLevel<T>& gemm = gemm_level<T>();
  const int64_t m = c.group_out(), depth = c.group_in() * c.taps(), cb = block_channels(c);
  const int64_t rows = (m + gemm.mr - 1) / gemm.mr * gemm.mr;
  PackedWeight<T> p{nullptr, rows * depth, rows * c.taps()};
  T* to = buffer<T>(Scratch::PackA, p.group_step * c.groups);
  p.data = to;
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t ch = 0; ch < c.group_in(); ch += cb) {
      const int64_t kb = std::min(cb, c.group_in() - ch) * c.taps();
      gemm.pack_a(to + g * p.group_step + ch * p.channel_step,
                  weight + g * m * depth + ch * c.taps(), depth, 1, m, kb);
    }
  }
  return p;
}

template <class T>
void forward_block(const Convolution& c, const PackedWeight<T>& weight, T* output, const T* image,
                   const T* bias, bool relu, int64_t group, int64_t begin, int64_t end) {
  const GemmLevel<T>& gemm = gemm_level<T>();
  const int64_t cb = block_channels(c), panels = (end - begin + gemm.nr - 1) / gemm.nr;
  T* packed = buffer<T>(Scratch::PackB, panels * gemm.nr * cb * c.taps());
  for (int64_t ch = 0; ch < c.group_in(); ch += cb) {
    const int64_t channels = std::min(cb, c.group_in() - ch);
    convolution_level<T>().gather(packed, c, image + ch * c.in_size(), channels, begin, end);
    Tile<T> t{};
    t.m = c.group_out();
    t.n = end - begin;
    t.k = channels * c.taps();
    t.c = output + begin;
    t.c_row = c.out_size();
    t.c_col = 1;
    t.alpha = 1;
    t.beta = T(ch > 0);
    t.bias = ch == 0 && bias ? bias + group * c.group_out() : nullptr;
    t.bias_per_row = true;
    t.relu = relu && ch + channels == c.group_in();
    gemm.packed(t, weight.data + group * weight.group_step + ch * weight.channel_step, packed);
  }
}

template <class T>
void forward(const Convolution& conv, T* output, const T* input, const T* weight, const T* bias,
             bool relu) {
  const Convolution c = flattened(conv);
  const PackedWeight<T> packed = pack_weight(c, weight);
  const int64_t nr = gemm_level<T>().nr, pixels = c.out_size();
  const int64_t fit = kPackedBytes / int64_t(sizeof(T)) / (block_channels(c) * c.taps());
  const int64_t most = std::max(nr, fit / nr * nr);
  int64_t blocks = (pixels + most - 1) / most;
  const int64_t images = c.batch * c.groups;
  if (images < 2 * num_threads()) blocks = std::max<int64_t>(blocks, 2 * num_threads() / images);
  const int64_t step = ((pixels + blocks - 1) / blocks + nr - 1) / nr * nr;
  blocks = (pixels + step - 1) / step;
  const double ns = double(step * c.group_out() * c.group_in() * c.taps()) * sizeof(T) / 128;
  parallel_for(0, images * blocks, grain_of(ns), [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t image = x / blocks, first = x % blocks * step;
      forward_block(c, packed, output + image * c.group_out() * pixels,
                    input + image * c.group_in() * c.in_size(), bias, relu, image % c.groups,
                    first, std::min(first + step, pixels));
    }
  });
}

template <class T>
void depthwise_forward(const Convolution& c, T* output, const T* input, const T* weight,
                       const T* bias, bool relu) {
  const ConvolutionLevel<T>& level = convolution_level<T>();
  const double ns = double(c.out_size() * c.group_out() * (c.taps() + 4)) * sizeof(T) / 64;
  parallel_for(0, c.batch * c.groups, grain_of(ns), [&](int64_t begin, int64_t end) {
    T* space = buffer<T>(Scratch::Image, level.plane_size(c));
    for (int64_t x = begin; x < end; ++x) {
      level.spread(space, c, input + x * c.in_size());
      for (int64_t j = 0; j < c.group_out(); ++j) {
        const int64_t channel = x % c.groups * c.group_out() + j;
        level.plane_forward(output + (x * c.group_out() + j) * c.out_size(), c, space,
                            weight + channel * c.taps(), bias ? bias[channel] : T(0), relu);
      }
    }
  });
}

template <class T>
void depthwise_backward_input(const Convolution& c, T* grad_input, const T* grad_output,
                              const T* weight) {
  const ConvolutionLevel<T>& level = convolution_level<T>();
  const double ns = double(c.out_size() * c.group_out() * (c.taps() + 4)) * sizeof(T) / 32;
  parallel_for(0, c.batch * c.groups, grain_of(ns), [&](int64_t begin, int64_t end) {
    const int64_t size = level.plane_size(c);
    T* space = buffer<T>(Scratch::Image, size);
    for (int64_t x = begin; x < end; ++x) {
      std::fill(space, space + size, T(0));
      for (int64_t j = 0; j < c.group_out(); ++j) {
        const int64_t channel = x % c.groups * c.group_out() + j;
        level.plane_backward(space, c, grad_output + (x * c.group_out() + j) * c.out_size(),
                             weight + channel * c.taps());
      }
      level.collect(grad_input + x * c.in_size(), c, space);
    }
  });
}

template <class T>
void depthwise_backward_weight(const Convolution& c, T* grad_weight, const T* grad_output,
                               const T* input) {
  const ConvolutionLevel<T>& level = convolution_level<T>();
  const double ns =
      double(c.batch * c.out_size() * c.group_out() * (c.taps() + 4)) * sizeof(T) / 48;
  parallel_for(0, c.groups, grain_of(ns), [&](int64_t begin, int64_t end) {
    T* space = buffer<T>(Scratch::Image, level.plane_size(c));
    std::fill(grad_weight + begin * c.group_out() * c.taps(),
              grad_weight + end * c.group_out() * c.taps(), T(0));
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t n = 0; n < c.batch; ++n) {
        const int64_t x = n * c.groups + g;
        level.spread(space, c, input + x * c.in_size());
        for (int64_t j = 0; j < c.group_out(); ++j) {
          level.plane_weight(grad_weight + (g * c.group_out() + j) * c.taps(), c, space,
                             grad_output + (x * c.group_out() + j) * c.out_size());
        }
      }
    }
  });
}

// With stride 1 the input's gradient is a convolution of the output's with turned weights.
bool unstrided(const Convolution& c) {
  return c.stride[0] == 1 && c.stride[1] == 1 && c.stride[2] == 1;
}
Convolution turned_back(const Convolution& c) {
  Convolution back = c;
  std::swap(back.in_channels, back.out_channels);
  for (int d = 0; d < 3; ++d) {
    back.in[d] = c.out[d];
    back.out[d] = c.in[d];
    back.padding[d] = c.dilation[d] * (c.kernel[d] - 1) - c.padding[d];
  }
  return back;
}

// One or two channels fill few registers: columns with few taps are then quicker.
template <class T> bool direct_pays_backward(const Convolution& c) {
  return (c.group_in() > 2 || c.taps() >= 16) && direct_forward_pays<T>(turned_back(c));
}

// The weight of that convolution: (groups, group_in, group_out), its taps in reverse.
template <class T> T* turned_weight(const Convolution& c, Scratch use, const T* weight) {
  const int64_t taps = c.taps(), gi = c.group_in(), go = c.group_out();
  T* turned = buffer<T>(use, c.groups * gi * go * taps);
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t i = 0; i < gi; ++i) {
      for (int64_t o = 0; o < go; ++o) {
        const T* from = weight + ((g * go + o) * gi + i) * taps;
        T* to = turned + ((g * gi + i) * go + o) * taps;
        for (int64_t t = 0; t < taps; ++t) to[t] = from[taps - 1 - t];
      }
    }
  }
  return turned;
}

template <class T>
void backward_input_unstrided(const Convolution& c, T* grad_input, const T* grad_output,
                              const T* weight) {
  const T* turned = turned_weight(c, Scratch::Planes, weight);
  const Convolution back = turned_back(c);
  if (c.group_in() == 1 && c.group_out() == 1 && c.groups > 1) {
    return depthwise_forward<T>(back, grad_input, grad_output, turned, nullptr, false);
  }
  if (direct_forward_pays<T>(back)) {
    return direct_forward<T>(back, grad_input, grad_output, turned, nullptr, false);
  }
  forward<T>(back, grad_input, grad_output, turned, nullptr, false);
}

template <class T>
void run_forward(const Convolution& c, T* output, const T* input, const T* weight, const T* bias,
                 bool relu);

// Note [Phases of a gradient]
// With stride s, an input pixel i meets the taps t for which i + padding - t is a multiple of s. So
// pixels of one phase (i + padding) % s all meet the same taps, every s-th, and their gradients
// are an unstrided convolution of the output's gradients with those taps in reverse.
struct Phase {
  int64_t first, count;  // pixels first, first + s, ...
  int64_t taps, padding;
};
Phase phase_of(const Convolution& c, int d, int64_t phase) {
  const int64_t s = c.stride[d], p = c.padding[d];
  Phase f;
  f.taps = c.kernel[d] > phase ? (c.kernel[d] - phase + s - 1) / s : 0;
  const int64_t begin = p > phase ? (p - phase + s - 1) / s : 0;
  f.first = begin * s + phase - p;
  f.count = f.first < c.in[d] ? (c.in[d] - f.first + s - 1) / s : 0;
  f.padding = f.taps - 1 - begin;
  return f;
}

// The taps of a phase, turned: (groups, group_in, group_out, taps in reverse).
template <class T>
T* turned_phase(const Convolution& c, const Phase& y, const Phase& x, int64_t phase_y,
                int64_t phase_x, const T* weight) {
  const int64_t gi = c.group_in(), go = c.group_out();
  T* const turned = buffer<T>(Scratch::Planes, c.groups * gi * go * y.taps * x.taps);
  T* to = turned;
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t i = 0; i < gi; ++i) {
      for (int64_t o = 0; o < go; ++o) {
        const T* from = weight + ((g * go + o) * gi + i) * c.taps();
        for (int64_t ty = y.taps - 1; ty >= 0; --ty) {
          for (int64_t tx = x.taps - 1; tx >= 0; --tx) {
            *to++ = from[(phase_y + ty * c.stride[1]) * c.kernel[2] + phase_x + tx * c.stride[2]];
          }
        }
      }
    }
  }
  return turned;
}

constexpr int64_t kPhaseDepth = 200;  // terms of a phase that are worth a pass of their own
bool by_phases(const Convolution& c) {
  return takes_direct(c) && !unstrided(c) && c.dilation[1] == 1 && c.dilation[2] == 1 &&
         c.kernel[1] >= c.stride[1] && c.kernel[2] >= c.stride[2] && c.group_in() >= 4 &&
         c.group_out() * c.taps() >= kPhaseDepth * c.stride[1] * c.stride[2];
}

template <class T>
void backward_input_by_phases(const Convolution& c, T* grad_input, const T* grad_output,
                              const T* weight) {
  const int64_t planes = c.batch * c.in_channels, width = c.in[2];
  for (int64_t fy = 0; fy < c.stride[1]; ++fy) {
    for (int64_t fx = 0; fx < c.stride[2]; ++fx) {
      const Phase y = phase_of(c, 1, fy), x = phase_of(c, 2, fx);
      if (y.count <= 0 || x.count <= 0) continue;
      Convolution back = turned_back(c);
      back.stride[1] = back.stride[2] = 1;
      back.kernel[1] = y.taps, back.kernel[2] = x.taps;
      back.padding[1] = y.padding, back.padding[2] = x.padding;
      back.out[1] = y.count, back.out[2] = x.count;
      const int64_t size = back.out_size();
      T* const part = buffer<T>(Scratch::Result, planes * size);
      const T* taps = turned_phase(c, y, x, fy, fx, weight);
      run_forward<T>(back, part, grad_output, taps, nullptr, false);
      parallel_for(0, planes, grain_of(double(size)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * y.count; i < end * y.count; ++i) {
          const T* from = part + i * x.count;
          T* to = grad_input + i / y.count * c.in_size() +
                  (y.first + i % y.count * c.stride[1]) * width + x.first;
          for (int64_t j = 0; j < x.count; ++j) to[j * c.stride[2]] = from[j];
        }
      });
    }
  }
}

// Otherwise: columns of gradients by a matrix product, added back to where they came from.
template <class T>
void backward_input_strided(const Convolution& c, T* grad_input, const T* grad_output,
                            const T* weight) {
  const int64_t taps = c.taps(), gi = c.group_in(), go = c.group_out(), pixels = c.out_size();
  const int64_t images = c.batch * c.groups;
  const int64_t split = images >= 2 * num_threads() ? 1 : std::min<int64_t>(gi, 2 * num_threads());
  const int64_t channels = std::min((gi + split - 1) / split,
                                    std::max<int64_t>(1, 2 * kDepth / taps));
  const int64_t parts = (gi + channels - 1) / channels;
  const int64_t fit = kPackedBytes / int64_t(sizeof(T)) / (channels * taps);
  const int64_t step = std::min(pixels, std::max<int64_t>(32, fit));
  const double ns = double(pixels * go * channels * taps) * sizeof(T) / 96;
  parallel_for(0, images * parts, grain_of(ns), [&](int64_t begin, int64_t end) {
    T* rows = buffer<T>(Scratch::Column, channels * taps * step);
    for (int64_t x = begin; x < end; ++x) {
      const int64_t image = x / parts, ch = x % parts * channels, group = image % c.groups;
      const int64_t count = std::min(channels, gi - ch);
      T* to = grad_input + (image * gi + ch) * c.in_size();
      std::fill(to, to + count * c.in_size(), T(0));
      for (int64_t p = 0; p < pixels; p += step) {
        const int64_t n = std::min(step, pixels - p);
        Tile<T> t{};
        t.m = count * taps, t.n = n, t.k = go;
        t.a = weight + (group * go * gi + ch) * taps;
        t.a_row = 1, t.a_col = gi * taps;
        t.b = grad_output + image * go * pixels + p;
        t.b_row = pixels, t.b_col = 1;
        t.c = rows, t.c_row = n, t.c_col = 1;
        t.alpha = 1;
        gemm_level<T>().product(t);
        convolution_level<T>().scatter(to, c, rows, count, p, p + n);
      }
    }
  });
}

// The weight's gradient from images [n0, n1) for some channels of a group, transposed:
// (channels * taps) x group_out.
template <class T>
void weight_part(const Convolution& c, T* result, const T* grad_output, const T* input, int64_t n0,
                 int64_t n1, int64_t group, int64_t ch, int64_t channels) {
  const int64_t taps = c.taps(), rows = channels * taps, pixels = c.out_size();
  const int64_t step =
      std::min(pixels, std::max<int64_t>(64, kPackedBytes / int64_t(sizeof(T)) / rows));
  const bool direct = pixelwise(c);
  T* const columns = direct ? nullptr : buffer<T>(Scratch::Column, rows * step);
  T beta = 0;
  for (int64_t n = n0; n < n1; ++n) {
    const T* image = input + (n * c.in_channels + group * c.group_in() + ch) * c.in_size();
    const T* grad = grad_output + (n * c.out_channels + group * c.group_out()) * pixels;
    for (int64_t p = 0; p < pixels; p += step) {
      const int64_t width = std::min(step, pixels - p);
      if (!direct) convolution_level<T>().columns(columns, c, image, channels, p, p + width);
      Tile<T> t{};
      t.m = rows, t.n = c.group_out(), t.k = width;
      t.a = direct ? image + p : columns;
      t.a_row = direct ? pixels : width, t.a_col = 1;
      t.b = grad + p;
      t.b_row = 1, t.b_col = pixels;
      t.c = result, t.c_row = c.group_out(), t.c_col = 1;
      t.alpha = 1, t.beta = beta;
      gemm_level<T>().product(t);
      beta = 1;
    }
  }
}

// Parts by channels where there are enough, else by images, summed in the order of the images.
template <class T>
void backward_weight(const Convolution& c, T* grad_weight, const T* grad_output, const T* input) {
  const int64_t taps = c.taps(), gi = c.group_in(), go = c.group_out();
  const int threads = num_threads();
  const int64_t most = std::max<int64_t>(1, 2 * kDepth / taps);
  int64_t parts = (gi + most - 1) / most;
  if (c.groups * parts < threads && gi >= 8 * threads) parts = threads;
  const int64_t channels = (gi + parts - 1) / parts;
  parts = (gi + channels - 1) / channels;
  const int64_t slices = c.groups * parts >= threads ? 1 : std::min<int64_t>(threads, c.batch);
  const int64_t size = channels * taps * go, items = c.groups * parts * slices;
  T* const results = buffer<T>(Scratch::Result, items * size);
  const double ns =
      double(c.batch * c.out_size()) * double(size) * sizeof(T) / 96 / double(slices);
  parallel_for(0, items, grain_of(ns), [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t slice = x % slices, part = x / slices % parts, group = x / slices / parts;
      const int64_t ch = part * channels;
      weight_part(c, results + x * size, grad_output, input, c.batch * slice / slices,
                  c.batch * (slice + 1) / slices, group, ch, std::min(channels, gi - ch));
    }
  });
  parallel_for(0, c.out_channels, grain_of(double(gi * taps * slices)),
               [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      T* to = grad_weight + o * gi * taps;
      for (int64_t part = 0; part < parts; ++part) {
        const T* from = results + (o / go * parts + part) * slices * size + o % go;
        const int64_t rows = std::min(channels, gi - part * channels) * taps;
        for (int64_t r = 0; r < rows; ++r, from += go) {
          T sum = 0;
          for (int64_t s = 0; s < slices; ++s) sum += from[s * size];
          *to++ = sum;
        }
      }
    }
  });
}

template <class T> void backward_bias(const Convolution& c, T* grad_bias, const T* grad_output) {
  const int64_t pixels = c.out_size();
  parallel_for(0, c.out_channels, grain_of(double(c.batch * pixels) / 4),
               [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      double total = 0;
      for (int64_t n = 0; n < c.batch; ++n) {
        const T* from = grad_output + (n * c.out_channels + o) * pixels;
        T sum[8] = {};
        int64_t i = 0;
        for (; i + 8 <= pixels; i += 8) {
          for (int j = 0; j < 8; ++j) sum[j] += from[i + j];
        }
        for (; i < pixels; ++i) sum[0] += from[i];
        for (T s : sum) total += double(s);
      }
      grad_bias[o] = T(total);
    }
  });
}

int64_t input_count(const Convolution& c) { return c.batch * c.in_channels * c.in_size(); }
int64_t output_count(const Convolution& c) { return c.batch * c.out_channels * c.out_size(); }
int64_t weight_count(const Convolution& c) { return c.out_channels * c.group_in() * c.taps(); }

template <class T>
void run_forward(const Convolution& c, T* output, const T* input, const T* weight, const T* bias,
                 bool relu) {
  if (output_count(c) == 0) return;
  if (depthwise(c)) return depthwise_forward(c, output, input, weight, bias, relu);
  if (direct_forward_pays<T>(c)) return direct_forward(c, output, input, weight, bias, relu);
  forward(c, output, input, weight, bias, relu);
}

template <class T>
void run_backward_input(const Convolution& c, T* grad_input, const T* grad_output,
                        const T* weight) {
  if (output_count(c) == 0) {
    std::fill(grad_input, grad_input + input_count(c), T(0));
  } else if (depthwise(c) && !(unstrided(c) && c.group_out() == 1)) {
    depthwise_backward_input(c, grad_input, grad_output, weight);
  } else if (unstrided(c) && (c.group_in() >= kFewChannels || depthwise(c) ||
                             direct_pays_backward<T>(c))) {
    backward_input_unstrided(c, grad_input, grad_output, weight);
  } else if (by_phases(c)) {
    backward_input_by_phases(c, grad_input, grad_output, weight);
  } else {
    backward_input_strided(c, grad_input, grad_output, weight);
  }
}

template <class T>
void run_backward_weight(const Convolution& c, T* grad_weight, const T* grad_output,
                         const T* input) {
  if (output_count(c) == 0) {
    std::fill(grad_weight, grad_weight + weight_count(c), T(0));
  } else if (depthwise(c)) {
    depthwise_backward_weight(c, grad_weight, grad_output, input);
  } else if (takes_direct(c)) {
    direct_backward_weight(c, grad_weight, grad_output, input);
  } else {
    backward_weight(c, grad_weight, grad_output, input);
  }
}

// Whether bfloat16 goes by the CPU's own products.
bool takes_pairs(const Convolution& c) {
  return cpu_has_bf16() && !depthwise(c) && output_count(c) > 0 && c.group_in() > 0;
}

}  // namespace

void conv_forward(DType dtype, const Convolution& c, void* output, const void* input,
                  const void* weight, const void* bias, bool relu) {
  if (dtype == DType::Float) {
    run_forward(c, static_cast<float*>(output), static_cast<const float*>(input),
                static_cast<const float*>(weight), static_cast<const float*>(bias), relu);
  } else if (dtype == DType::Double) {
    run_forward(c, static_cast<double*>(output), static_cast<const double*>(input),
                static_cast<const double*>(weight), static_cast<const double*>(bias), relu);
  } else if (dtype == DType::BFloat16 && takes_pairs(c)) {
    conv_forward_bfloat16(flattened(c), static_cast<BFloat16*>(output),
                          static_cast<const BFloat16*>(input),
                          static_cast<const BFloat16*>(weight),
                          static_cast<const BFloat16*>(bias), relu);
  } else {
    FloatCopy x(dtype, input, input_count(c)), w(dtype, weight, weight_count(c));
    FloatCopy b(dtype, bias, bias ? c.out_channels : 0), y(output_count(c));
    run_forward<float>(c, y.data(), x.data(), w.data(), bias ? b.data() : nullptr, relu);
    y.round(dtype, output);
  }
}

void conv_backward_input(DType dtype, const Convolution& c, void* grad_input,
                         const void* grad_output, const void* weight) {
  if (dtype == DType::Float) {
    run_backward_input(c, static_cast<float*>(grad_input), static_cast<const float*>(grad_output),
                       static_cast<const float*>(weight));
  } else if (dtype == DType::Double) {
    run_backward_input(c, static_cast<double*>(grad_input),
                       static_cast<const double*>(grad_output),
                       static_cast<const double*>(weight));
  } else if (dtype == DType::BFloat16 && takes_pairs(c) && unstrided(c) &&
             c.group_in() >= kFewChannels) {
    conv_forward_bfloat16(flattened(turned_back(c)), static_cast<BFloat16*>(grad_input),
                          static_cast<const BFloat16*>(grad_output),
                          turned_weight(c, Scratch::Image, static_cast<const BFloat16*>(weight)),
                          nullptr, false);
  } else {
    FloatCopy g(dtype, grad_output, output_count(c)), w(dtype, weight, weight_count(c));
    FloatCopy x(input_count(c));
    run_backward_input<float>(c, x.data(), g.data(), w.data());
    x.round(dtype, grad_input);
  }
}

void conv_backward_weight(DType dtype, const Convolution& c, void* grad_weight,
                          const void* grad_output, const void* input) {
  if (dtype == DType::Float) {
    run_backward_weight(c, static_cast<float*>(grad_weight),
                        static_cast<const float*>(grad_output), static_cast<const float*>(input));
  } else if (dtype == DType::Double) {
    run_backward_weight(c, static_cast<double*>(grad_weight),
                        static_cast<const double*>(grad_output),
                        static_cast<const double*>(input));
  } else {
    FloatCopy g(dtype, grad_output, output_count(c)), x(dtype, input, input_count(c));
    FloatCopy w(weight_count(c));
    run_backward_weight<float>(c, w.data(), g.data(), x.data());
    w.round(dtype, grad_weight);
  }
}

void conv_backward_bias(DType dtype, const Convolution& c, void* grad_bias,
                        const void* grad_output) {
  if (dtype == DType::Float) {
    backward_bias(c, static_cast<float*>(grad_bias), static_cast<const float*>(grad_output));
  } else if (dtype == DType::Double) {
    backward_bias(c, static_cast<double*>(grad_bias), static_cast<const double*>(grad_output));
  } else {
    FloatCopy g(dtype, grad_output, output_count(c)), b(c.out_channels);
    backward_bias<float>(c, b.data(), g.data());
    b.round(dtype, grad_bias);
  }
}

}  // namespace rl::kernels
