// Convolutions of whole numbers: plain loops over taps, planes divided among threads.
#include "kernels/convolution_integer.h"

#include <algorithm>

#include "base/parallel.h"

namespace rl::kernels {
namespace {

// Calls f(place in the input's plane, place in the output's plane) for each pair that a tap joins.
template <class F> void for_pairs(const Convolution& c, int64_t tap, F&& f) {
  const int64_t k[3] = {tap / (c.kernel[1] * c.kernel[2]), tap / c.kernel[2] % c.kernel[1],
                        tap % c.kernel[2]};
  const auto source = [&](int d, int64_t o) {
    return o * c.stride[d] - c.padding[d] + k[d] * c.dilation[d];
  };
  for (int64_t z = 0; z < c.out[0]; ++z) {
    const int64_t iz = source(0, z);
    if (iz < 0 || iz >= c.in[0]) continue;
    for (int64_t y = 0; y < c.out[1]; ++y) {
      const int64_t iy = source(1, y);
      if (iy < 0 || iy >= c.in[1]) continue;
      for (int64_t x = 0; x < c.out[2]; ++x) {
        const int64_t ix = source(2, x);
        if (ix < 0 || ix >= c.in[2]) continue;
        f((iz * c.in[1] + iy) * c.in[2] + ix, (z * c.out[1] + y) * c.out[2] + x);
      }
    }
  }
}

template <class T> T multiplied(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
template <class T> T added(T a, T b) { return T(uint64_t(a) + uint64_t(b)); }

template <class T>
void forward(const Convolution& c, T* output, const T* input, const T* weight, const T* bias) {
  const int64_t work = c.out_size() * c.taps() * c.group_in();
  const int64_t planes = c.batch * c.out_channels;
  parallel_for(0, planes, 1 + 16384 / (work + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / c.out_channels, o = i % c.out_channels, g = o / c.group_out();
      T* to = output + i * c.out_size();
      std::fill(to, to + c.out_size(), bias ? bias[o] : T(0));
      for (int64_t k = 0; k < c.group_in(); ++k) {
        const T* from = input + (b * c.in_channels + g * c.group_in() + k) * c.in_size();
        for (int64_t tap = 0; tap < c.taps(); ++tap) {
          const T w = weight[(o * c.group_in() + k) * c.taps() + tap];
          for_pairs(c, tap, [&](int64_t in, int64_t out) {
            to[out] = added(to[out], multiplied(w, from[in]));
          });
        }
      }
    }
  });
}

}  // namespace

void conv_forward_integer(DType dtype, const Convolution& c, void* output, const void* input,
                          const void* weight, const void* bias) {
  const auto run = [&](auto* t) {
    using T = std::remove_pointer_t<decltype(t)>;
    forward(c, static_cast<T*>(output), static_cast<const T*>(input),
            static_cast<const T*>(weight), static_cast<const T*>(bias));
  };
  switch (dtype) {
    case DType::Int64: return run(static_cast<int64_t*>(nullptr));
    case DType::Int32: return run(static_cast<int32_t*>(nullptr));
    case DType::Int16: return run(static_cast<int16_t*>(nullptr));
    case DType::Int8: return run(static_cast<int8_t*>(nullptr));
    default: return run(static_cast<uint8_t*>(nullptr));
  }
}

void conv_backward_input_integer(const Convolution& c, int64_t* grad_input,
                                 const int64_t* grad_output, const int64_t* weight) {
  const int64_t work = c.out_size() * c.taps() * c.group_out();
  const int64_t planes = c.batch * c.in_channels;
  parallel_for(0, planes, 1 + 16384 / (work + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / c.in_channels, k = i % c.in_channels, g = k / c.group_in();
      int64_t* to = grad_input + i * c.in_size();
      std::fill(to, to + c.in_size(), int64_t(0));
      for (int64_t o = g * c.group_out(); o < (g + 1) * c.group_out(); ++o) {
        const int64_t* from = grad_output + (b * c.out_channels + o) * c.out_size();
        for (int64_t tap = 0; tap < c.taps(); ++tap) {
          const int64_t w = weight[(o * c.group_in() + k % c.group_in()) * c.taps() + tap];
          for_pairs(c, tap, [&](int64_t in, int64_t out) {
            to[in] = added(to[in], multiplied(w, from[out]));
          });
        }
      }
    }
  });
}

}  // namespace rl::kernels
