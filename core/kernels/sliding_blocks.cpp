// Sliding blocks: rows of columns divided among threads, planes on the way back.
#include "kernels/sliding_blocks.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/parallel.h"

namespace rl::kernels {
namespace {

// The blocks [low, high) of a row whose tap (at `first` for block 0) lies in the image.
struct Range {
  int64_t low, high;
};
Range inside(int64_t first, int64_t stride, int64_t size, int64_t count) {
  const int64_t low = first >= 0 ? 0 : std::min(count, (-first + stride - 1) / stride);
  const int64_t high = first >= size ? 0 : std::min(count, (size - first - 1) / stride + 1);
  return {low, std::max(low, high)};
}

// Calls f(row of blocks, row of the image, first column of the tap, the blocks inside) for the
// rows of tap (ky, kx); row -1 of the image: outside.
template <class F> void for_rows(const SlidingBlocks& s, int64_t ky, int64_t kx, F&& f) {
  const int64_t x = kx * s.dilation[1] - s.padding[1];
  const Range r = inside(x, s.stride[1], s.in[1], s.out[1]);
  for (int64_t oy = 0; oy < s.out[0]; ++oy) {
    const int64_t y = oy * s.stride[0] - s.padding[0] + ky * s.dilation[0];
    f(oy, y >= 0 && y < s.in[0] ? y : -1, x, r);
  }
}

template <class T> void to_columns(const SlidingBlocks& s, T* columns, const T* images) {
  const int64_t grain = 1 + 16384 / (s.blocks() + 1);
  parallel_for(0, s.planes * s.block(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* image = images + i / s.block() * s.in[0] * s.in[1];
      T* column = columns + i * s.blocks();
      const int64_t k = i % s.block();
      for_rows(s, k / s.kernel[1], k % s.kernel[1], [&](int64_t oy, int64_t y, int64_t x, Range r) {
        T* to = column + oy * s.out[1];
        if (y < 0) {
          std::memset(static_cast<void*>(to), 0, size_t(s.out[1]) * sizeof(T));
          return;
        }
        const T* from = image + y * s.in[1] + x;
        std::memset(static_cast<void*>(to), 0, size_t(r.low) * sizeof(T));
        if (s.stride[1] == 1) {
          std::memcpy(to + r.low, from + r.low, size_t(r.high - r.low) * sizeof(T));
        } else {
          for (int64_t o = r.low; o < r.high; ++o) to[o] = from[o * s.stride[1]];
        }
        std::memset(static_cast<void*>(to + r.high), 0, size_t(s.out[1] - r.high) * sizeof(T));
      });
    }
  });
}

struct Sixteen { uint64_t low, high; };

inline void add_to(bool& a, bool b) { a = a || b; }
inline void add_to(Half& a, Half b) { a = to_half(to_float(a) + to_float(b)); }
inline void add_to(BFloat16& a, BFloat16 b) { a = to_bfloat16(to_float(a) + to_float(b)); }
template <class T> void add_to(T& a, T b) { a += b; }

template <class T> void to_image(const SlidingBlocks& s, T* images, const T* columns) {
  const int64_t area = s.in[0] * s.in[1];
  const int64_t grain = 1 + 16384 / (s.block() * s.blocks() + area + 1);
  parallel_for(0, s.planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* image = images + p * area;
      std::memset(static_cast<void*>(image), 0, size_t(area) * sizeof(T));
      for (int64_t k = 0; k < s.block(); ++k) {
        const T* column = columns + (p * s.block() + k) * s.blocks();
        for_rows(s, k / s.kernel[1], k % s.kernel[1],
                 [&](int64_t oy, int64_t y, int64_t x, Range r) {
          if (y < 0) return;
          const T* from = column + oy * s.out[1];
          T* to = image + y * s.in[1] + x;
          if (s.stride[1] == 1) {
            for (int64_t o = r.low; o < r.high; ++o) add_to(to[o], from[o]);
          } else {
            for (int64_t o = r.low; o < r.high; ++o) add_to(to[o * s.stride[1]], from[o]);
          }
        });
      }
    }
  });
}

template <class T> void to_image_of(const SlidingBlocks& s, void* images, const void* columns) {
  to_image(s, static_cast<T*>(images), static_cast<const T*>(columns));
}

template <class T> void add_windows_of(const Windows& w, T* out, const T* in) {
  const int64_t work = w.length + w.count * w.size;
  parallel_for(0, w.rows, 32768 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* const row = out + r * w.length;
      std::fill(row, row + w.length, T(0));
      for (int64_t k = 0; k < w.count; ++k) {
        T* __restrict const to = row + k * w.step;
        const T* __restrict const from = in + r * w.in_row + k * w.in_window;
        for (int64_t i = 0; i < w.size; ++i) to[i] += from[i];
      }
    }
  });
}

}  // namespace

void image_to_columns(const SlidingBlocks& s, int64_t item, void* columns, const void* images) {
  const auto move = [&](auto* t) {
    using T = std::remove_pointer_t<decltype(t)>;
    to_columns(s, static_cast<T*>(columns), static_cast<const T*>(images));
  };
  if (item == 4) move(static_cast<uint32_t*>(nullptr));
  else if (item == 8) move(static_cast<uint64_t*>(nullptr));
  else if (item == 2) move(static_cast<uint16_t*>(nullptr));
  else if (item == 1) move(static_cast<uint8_t*>(nullptr));
  else move(static_cast<Sixteen*>(nullptr));
}

void columns_to_image(const SlidingBlocks& s, DType dtype, void* images, const void* columns) {
  switch (dtype) {
    case DType::Float: return to_image_of<float>(s, images, columns);
    case DType::Double: return to_image_of<double>(s, images, columns);
    case DType::Half: return to_image_of<Half>(s, images, columns);
    case DType::BFloat16: return to_image_of<BFloat16>(s, images, columns);
    case DType::ComplexFloat: return to_image_of<std::complex<float>>(s, images, columns);
    case DType::ComplexDouble: return to_image_of<std::complex<double>>(s, images, columns);
    default: return to_image_of<bool>(s, images, columns);
  }
}

void add_windows(const Windows& w, DType dtype, void* out, const void* in) {
  if (dtype == DType::Float)
    return add_windows_of(w, static_cast<float*>(out), static_cast<const float*>(in));
  add_windows_of(w, static_cast<double*>(out), static_cast<const double*>(in));
}

}  // namespace rl::kernels
