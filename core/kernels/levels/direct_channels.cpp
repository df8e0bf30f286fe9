// Direct convolution with output channels side by side: no lane is lost to short rows.
#include "kernels/levels/direct_channels.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles {
namespace {

// Sums, the vectors that they share and a broadcast factor fill the registers.
constexpr int kPixels = RL_LEVEL == 2 ? 7 : 6;

template <class T, int N, int V> RL_INLINE void clear(Vec<T> (&sum)[N][V]) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) sum[i][j] = zero<T>();
  }
}
template <class T, int N, int V>
RL_INLINE void add_to(T* to, int64_t step, const Vec<T> (&sum)[N][V]) {
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) {
      T* p = to + i * step + j * Lanes<T>::count;
      store(p, load(p) + sum[i][j]);
    }
  }
}

// Adds to P rows of sums, one per pixel, what `channels` channels and all taps give.
template <class T, int P, int V>
void add_pixels(T* sums, const T* x, const int64_t* at, int64_t taps, int64_t channels,
                int64_t step, const T* weight) {
  constexpr int w = Lanes<T>::count;
  Vec<T> sum[P][V];
  clear<T, P, V>(sum);
  for (int64_t ch = 0; ch < channels; ++ch, x += step) {
    for (int64_t t = 0; t < taps; ++t, weight += V * w) {
      add_products<T, P, V>(sum, x + at[t], weight);
    }
  }
  add_to<T, P, V>(sums, V * w, sum);
}

// Where gradients lie, and what they meet.
struct Rows {
  int64_t images, rows, width;
  int64_t row_step, image_step;  // of a stream, in elements
  int64_t grad_step;             // from pixel to pixel
};

// Adds to S rows of sums, one per stream, the products with V vectors of gradients per pixel.
template <class T, int S, int V>
void add_streams(T* sums, int64_t sums_step, const Rows& r, const T* const* streams,
                 const T* grads) {
  constexpr int w = Lanes<T>::count;
  Vec<T> sum[S][V];
  clear<T, S, V>(sum);
  int64_t terms = 0;
  for (int64_t n = 0; n < r.images; ++n) {
    for (int64_t y = 0; y < r.rows; ++y) {
      const int64_t at = n * r.image_step + y * r.row_step;
      const T* from[S];
#pragma GCC unroll 8
      for (int i = 0; i < S; ++i) from[i] = streams[i] + at;
      for (int64_t x = 0; x < r.width; ++x, grads += r.grad_step) {
        Vec<T> g[V];
#pragma GCC unroll 8
        for (int j = 0; j < V; ++j) g[j] = load(grads + j * w);
#pragma GCC unroll 8
        for (int i = 0; i < S; ++i) {
          const Vec<T> factor = splat(from[i][x]);
#pragma GCC unroll 8
          for (int j = 0; j < V; ++j) sum[i][j] = fma(factor, g[j], sum[i][j]);
        }
      }
      terms += r.width;
      if (terms < kDepth) continue;
      add_to<T, S, V>(sums, sums_step, sum);
      clear<T, S, V>(sum);
      terms = 0;
    }
  }
  add_to<T, S, V>(sums, sums_step, sum);
}

// The instance for so many pixels or streams, and vectors.
template <class T> struct Forward {
  using F = void (*)(T*, const T*, const int64_t*, int64_t, int64_t, int64_t, const T*);
  template <int N, int V> static constexpr F of() { return add_pixels<T, N, V>; }
};
template <class T> struct Weight {
  using F = void (*)(T*, int64_t, const Rows&, const T* const*, const T*);
  template <int N, int V> static constexpr F of() { return add_streams<T, N, V>; }
};
template <class Kind, int V = kChannelVectors, int N = kPixels>
typename Kind::F instance(int64_t n, int64_t vectors) {
  if (vectors != V) {
    if constexpr (V > 1) return instance<Kind, V - 1, N>(n, vectors);
  }
  if (n != N) {
    if constexpr (N > 1) return instance<Kind, V, N - 1>(n, vectors);
  }
  return Kind::template of<N, V>();
}

// to[j][i] = from[i][j], of rows x columns.
template <class T, bool Relu>
void turn_block(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows,
                int64_t columns) {
  constexpr int w = Lanes<T>::count;
  for (int64_t i = 0; i < rows; i += w) {
    const int64_t m = least(w, rows - i);
    for (int64_t j = 0; j < columns; j += w) {
      const int64_t n = least(w, columns - j);
      const Mask<T> of_rows = first<T>(int(m)), of_columns = first<T>(int(n));
      Vec<T> block[w];
#pragma GCC unroll 16
      for (int k = 0; k < w; ++k) {
        block[k] = k < m ? load(from + (i + k) * from_step + j, of_columns) : zero<T>();
      }
      transpose<T>(block);
#pragma GCC unroll 16
      for (int k = 0; k < w; ++k) {
        const Vec<T> v = Relu ? positive_part(block[k]) : block[k];
        if (k < n) store(to + (j + k) * to_step + i, v, of_rows);
      }
    }
  }
}

}  // namespace

template <class T>
void channels_forward(T* output, int64_t image_step, const Convolution& c, const DirectPlanes& p,
                      const T* space, const T* weight, const T* bias, bool relu, int64_t y,
                      int64_t count, T* sums) {
  constexpr int w = Lanes<T>::count;
  int64_t at[kMostTaps];
  tap_places(at, c, p);
  const int64_t width = c.out[2], out = c.group_out(), taps = c.taps(), gi = c.group_in();
  const int64_t vectors = blocks_of(out, w), blocks = blocks_of(vectors, kChannelVectors);
  const int64_t runs = blocks_of(width, kPixels), pixels = count * width;
  const int64_t together = most(1, kDepth / taps);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t begin = vectors * b / blocks, v = vectors * (b + 1) / blocks - begin;
    const int64_t o = begin * w, size = v * w, channels = least(size, out - o);
    for (int64_t i = 0; i < p.images * pixels; ++i) {
      set_zero(sums + i * size, size);
      if (bias) copy(sums + i * size, bias + o, channels);
    }
    for (int64_t ch = 0; ch < gi; ch += together) {
      const int64_t depth = least(together, gi - ch);
      const T* factors = weight + o * gi * taps + ch * taps * size;
      T* to = sums;
      for (int64_t row = 0; row < p.images * count; ++row) {
        const T* x = space + ch * p.channel + (row / count * p.rows + row % count) * p.pitch;
        for (int64_t i = 0; i < runs; ++i) {
          const int64_t left = width * i / runs, n = width * (i + 1) / runs - left;
          instance<Forward<T>>(n, v)(to, x + left, at, taps, depth, p.channel, factors);
          to += n * size;
        }
      }
    }
    for (int64_t n = 0; n < p.images; ++n) {
      T* to = output + n * image_step + o * c.out_size() + y * width;
      const T* from = sums + n * pixels * size;
      if (relu) turn_block<T, true>(to, c.out_size(), from, size, pixels, channels);
      else turn_block<T, false>(to, c.out_size(), from, size, pixels, channels);
    }
  }
}

template <class T>
void turn(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns,
          int64_t padded) {
  turn_block<T, false>(to, to_step, from, from_step, rows, columns);
  for (int64_t i = 0; i < columns && rows < padded; ++i) {
    set_zero(to + i * to_step + rows, padded - rows);
  }
}

template <class T>
void channels_weight(T* sums, int64_t width, const Convolution& c, const DirectPlanes& p,
                     const T* space, const T* grads, int64_t channels) {
  constexpr int w = Lanes<T>::count;
  int64_t at[kMostTaps];
  tap_places(at, c, p);
  const int64_t taps = c.taps(), all = channels * taps, runs = blocks_of(all, kPixels);
  const int64_t vectors = width / w, blocks = blocks_of(vectors, kChannelVectors);
  const Rows rows{p.images, c.out[1], c.out[2], p.pitch, p.rows * p.pitch, width};
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t from = vectors * b / blocks, v = vectors * (b + 1) / blocks - from;
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t s = all * i / runs, n = all * (i + 1) / runs - s;
      const T* streams[kPixels];
      for (int64_t j = 0; j < n; ++j) {
        streams[j] = space + (s + j) / taps * p.channel + at[(s + j) % taps];
      }
      instance<Weight<T>>(n, v)(sums + s * width + from * w, width, rows, streams,
                                grads + from * w);
    }
  }
}

#define RL_CHANNELS(T)                                                                           \
  template void channels_forward(T*, int64_t, const Convolution&, const DirectPlanes&, const T*, \
                                 const T*, const T*, bool, int64_t, int64_t, T*);                \
  template void turn(T*, int64_t, const T*, int64_t, int64_t, int64_t, int64_t);                 \
  template void channels_weight(T*, int64_t, const Convolution&, const DirectPlanes&, const T*,  \
                                const T*, int64_t);
RL_CHANNELS(float)
RL_CHANNELS(double)
#undef RL_CHANNELS

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles
