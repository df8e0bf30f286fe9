// Planes of direct convolutions (Note [Direct convolution]): their sizes, filling, places of taps.
#pragma once
#include "kernels/levels/direct_convolution.h"
#include "kernels/levels/registers.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles {

constexpr int64_t kMostTaps = 256;
constexpr int kVectorsBeyond = 5;  // that a tile may read from its first element on

// Note [Sums]
// A long sum in one register loses digits with every term: a few hundred terms at a time are
// summed, and then the sums. A block of the weight of that depth also stays in the second cache.
constexpr int64_t kDepth = 192;

RL_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
RL_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
RL_INLINE int64_t blocks_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Zeros that rows or columns share with the next, of `reach` that the outputs read; as many are
// left as there are outputs.
RL_INLINE int64_t shared_padding(const Convolution& c, int d, int64_t outputs, int64_t reach) {
  if (c.stride[d] != 1) return 0;
  const int64_t after = reach - c.padding[d] - c.in[d];
  return most(0, least(least(c.padding[d], after), reach - outputs));
}

template <class T> DirectPlanes planes(const Convolution& c, int64_t images, int64_t rows) {
  DirectPlanes p;
  p.images = images;
  const auto shift = [&](int d) { return (c.kernel[d] - 1) * c.dilation[d]; };
  p.pitch = c.out[2] + shift(2) / c.stride[2];
  p.pitch -= shared_padding(c, 2, c.out[2], p.pitch);
  p.rows = rows + shift(1) / c.stride[1];
  if (images > 1) p.rows -= shared_padding(c, 1, rows, p.rows);
  for (int d = 0; d < 2; ++d) p.phases[d] = least(c.stride[d + 1], shift(d + 1) + 1);
  // What is read beyond the last row: the shift of the last tap, and a tile of vectors.
  const int64_t beyond = (shift(1) / c.stride[1] + 1) * p.pitch + shift(2) / c.stride[2] +
                         kVectorsBeyond * Lanes<T>::count;
  p.phase = images * p.rows * p.pitch + beyond;
  p.channel = p.phase * p.phases[0] * p.phases[1];
  return p;
}

template <class T> RL_INLINE void set_zero(T* to, int64_t n) {
  constexpr int w = Lanes<T>::count;
  for (; n >= w; n -= w, to += w) store(to, zero<T>());
  if (n > 0) store(to, zero<T>(), first<T>(int(n)));
}
template <class T> RL_INLINE void copy(T* to, const T* from, int64_t n) {
  constexpr int w = Lanes<T>::count;
  for (; n >= w; n -= w, to += w, from += w) store(to, load(from));
  if (n > 0) {
    const Mask<T> mask = first<T>(int(n));
    store(to, load(from, mask), mask);
  }
}

// n elements, every second one; nothing beyond the last is read.
#if RL_LEVEL > 0
template <class T, int... L>
RL_INLINE Vec<T> every_second(const T* from, int n, std::integer_sequence<int, L...>) {
  constexpr int w = Lanes<T>::count;
  using Index = typename Lanes<T>::Index;
  const int reach = 2 * n - 1;  // the second vector begins at the first's last lane
  return __builtin_shuffle(load(from, first<T>(reach)),
                           load(from + w - 1, first<T>(reach - (w - 1))),
                           Index{(2 * L < w ? 2 * L : 2 * L + 1)...});
}
#endif
template <class T> RL_INLINE void copy_every(T* to, const T* from, int64_t step, int64_t n) {
#if RL_LEVEL > 0
  constexpr int w = Lanes<T>::count;
  if (step == 2) {
    for (int64_t i = 0; i < n; i += w) {
      const int left = int(least(w, n - i));
      const Vec<T> v = every_second<T>(from + 2 * i, left, std::make_integer_sequence<int, w>());
      store(to + i, v, first<T>(left));
    }
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

// One row of a phase; `from` is the image's row, null for padding.
template <class T>
RL_INLINE void spread_row(T* to, const Convolution& c, int64_t pitch, int64_t phase,
                          const T* from) {
  const int64_t step = c.stride[2], pad = c.padding[2];
  int64_t low = phase >= pad ? 0 : (pad - phase + step - 1) / step;
  int64_t high = least(pitch, (c.in[2] + pad - phase + step - 1) / step);
  if (!from || high < low) return set_zero(to, pitch);
  set_zero(to, low);
  const T* line = from + phase - pad;
  if (step == 1) copy(to + low, line + low, high - low);
  else copy_every(to + low, line + low * step, step, high - low);
  set_zero(to + high, pitch - high);
}

template <class T>
void spread(T* to, const Convolution& c, const DirectPlanes& p, const T* image, int64_t channels,
            int64_t number, int64_t y) {
  const bool last = number == p.images - 1;
  for (int64_t ch = 0; ch < channels; ++ch, image += c.in_size()) {
    for (int64_t f = 0; f < p.phases[0] * p.phases[1]; ++f) {
      const int64_t fy = f / p.phases[1], fx = f % p.phases[1];
      T* plane = to + ch * p.channel + f * p.phase + number * p.rows * p.pitch;
      for (int64_t r = 0; r < p.rows; ++r) {
        const int64_t iy = (y + r) * c.stride[1] + fy - c.padding[1];
        const bool inside = iy >= 0 && iy < c.in[1];
        spread_row(plane + r * p.pitch, c, p.pitch, fx, inside ? image + iy * c.in[2] : nullptr);
      }
      if (last) set_zero(plane + p.rows * p.pitch, p.phase - p.images * p.rows * p.pitch);
    }
  }
}

// Where the taps of a channel begin in its planes.
RL_INLINE void tap_places(int64_t* at, const Convolution& c, const DirectPlanes& p) {
  for (int64_t y = 0; y < c.kernel[1]; ++y) {
    for (int64_t x = 0; x < c.kernel[2]; ++x) {
      const int64_t row = y * c.dilation[1], column = x * c.dilation[2];
      const int64_t phase = row % c.stride[1] * p.phases[1] + column % c.stride[2];
      *at++ = phase * p.phase + row / c.stride[1] * p.pitch + column / c.stride[2];
    }
  }
}

// Adds the products of N factors, broadcast, with V vectors to N x V sums.
template <class T, int N, int V>
RL_INLINE void add_products(Vec<T> (&sum)[N][V], const T* factors, const T* vectors) {
  Vec<T> v[V];
#pragma GCC unroll 8
  for (int j = 0; j < V; ++j) v[j] = load(vectors + j * Lanes<T>::count);
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    const Vec<T> factor = splat(factors[i]);
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) sum[i][j] = fma(factor, v[j], sum[i][j]);
  }
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles
