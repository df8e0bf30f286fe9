// Direct convolution: planes, register tiles over neighbouring outputs, sums for the weight.
#include "kernels/levels/direct_convolution.h"

#include "kernels/levels/registers.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace tiles {
namespace {

// A tile's sums and what it loads fill the registers.
constexpr int kChannels = RL_LEVEL == 2 ? 6 : 4;  // output channels
constexpr int kVectors = RL_LEVEL == 2 ? 4 : 3;   // of neighbouring outputs, or streams
constexpr int64_t kMostTaps = 256;

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
                         (kVectors + 1) * Lanes<T>::count;
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

// Every second element; the last vector read begins one element early, not to pass the end.
#if RL_LEVEL > 0
template <class T, int... L>
RL_INLINE Vec<T> every_second(const T* from, std::integer_sequence<int, L...>) {
  constexpr int w = Lanes<T>::count;
  using Index = typename Lanes<T>::Index;
  return __builtin_shuffle(load(from), load(from + w - 1),
                           Index{(2 * L < w ? 2 * L : 2 * L + 1)...});
}
#endif
template <class T> RL_INLINE void copy_every(T* to, const T* from, int64_t step, int64_t n) {
  int64_t i = 0;
#if RL_LEVEL > 0
  constexpr int w = Lanes<T>::count;
  for (; step == 2 && i + w <= n; i += w) {
    store(to + i, every_second<T>(from + 2 * i, std::make_integer_sequence<int, w>()));
  }
#endif
  for (; i < n; ++i) to[i] = from[i * step];
}

// One row of a phase; `from` is the image's row, null for padding.
template <class T>
RL_INLINE void spread_row(T* to, const Convolution& c, int64_t pitch, int64_t phase,
                          const T* from) {
  const int64_t step = c.stride[2], pad = c.padding[2];
  int64_t low = phase >= pad ? 0 : (pad - phase + step - 1) / step;
  int64_t high = least(pitch, (c.in[2] + pad - phase + step - 1) / step);
  if (!from || high < low) low = high = 0;
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

template <class T>
void spread_grad(T* to, const Convolution& c, const DirectPlanes& p, const T* grad,
                 int64_t channels, int64_t number) {
  const int64_t size = p.rows * p.pitch, width = c.out[2];
  for (int64_t ch = 0; ch < channels; ++ch, grad += c.out_size()) {
    T* plane = to + ch * p.phase + number * size;
    for (int64_t r = 0; r < c.out[1]; ++r) {
      copy(plane + r * p.pitch, grad + r * width, width);
      set_zero(plane + r * p.pitch + width, p.pitch - width);
    }
    const int64_t end = number == p.images - 1 ? p.phase - number * size : size;
    set_zero(plane + c.out[1] * p.pitch, end - c.out[1] * p.pitch);
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

// Sums of M output channels for V vectors of neighbouring outputs, from bias on.
template <class T, int M, int V>
RL_INLINE void slide(Vec<T> (&sum)[M][V], const T* x, const int64_t* at, int64_t taps,
                     int64_t channels, int64_t step, const T* weight, const T* bias) {
  constexpr int w = Lanes<T>::count;
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) sum[i][j] = bias ? splat(bias[i]) : zero<T>();
  }
  for (int64_t ch = 0; ch < channels; ++ch, x += step) {
    for (int64_t t = 0; t < taps; ++t, weight += M) {
      const T* p = x + at[t];
      Vec<T> v[V];
#pragma GCC unroll 8
      for (int j = 0; j < V; ++j) v[j] = load(p + j * w);
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) {
        const Vec<T> factor = splat(weight[i]);
#pragma GCC unroll 8
        for (int j = 0; j < V; ++j) sum[i][j] = fma(factor, v[j], sum[i][j]);
      }
    }
  }
}

// The lanes of a vector of results that are outputs, not beyond a row's width or the end.
struct Kept {
  unsigned bits;
  int count;
};
RL_INLINE Kept kept(int64_t q, int64_t end, int64_t pitch, int64_t width, int lanes) {
  const auto below = [](int64_t n) { return n <= 0 ? 0u : (1u << n) - 1; };
  unsigned bits = 0;
  for (int64_t row = -(q % pitch); row < lanes; row += pitch) {
    bits |= below(least(row + width, lanes)) & ~below(row);
  }
  bits &= below(least(end - q, lanes));
  return {bits, __builtin_popcount(bits)};
}

// The outputs among the lanes, side by side.
RL_INLINE void put(float* to, Vec<float> v, Kept k) {
  constexpr int w = Lanes<float>::count;
  if (k.count == w) return store<float>(to, v);
#if RL_LEVEL == 2
  store(to, Vec<float>(_mm512_maskz_compress_ps(__mmask16(k.bits), v)), first<float>(k.count));
#else
  float lanes[w];
  store(lanes, v);
  for (int i = 0; i < w; ++i) if (k.bits >> i & 1) *to++ = lanes[i];
#endif
}
RL_INLINE void put(double* to, Vec<double> v, Kept k) {
  constexpr int w = Lanes<double>::count;
  if (k.count == w) return store<double>(to, v);
#if RL_LEVEL == 2
  store(to, Vec<double>(_mm512_maskz_compress_pd(__mmask8(k.bits), v)), first<double>(k.count));
#else
  double lanes[w];
  store(lanes, v);
  for (int i = 0; i < w; ++i) if (k.bits >> i & 1) *to++ = lanes[i];
#endif
}

// What the tiles of one call share.
template <class T> struct Request {
  const Convolution& conv;
  const DirectPlanes& planes;
  const int64_t* at;
  int64_t taps, channels, width, end;  // end: results, dropped ones included
  bool relu;
};

template <class T, int M, int V>
void tile(const Request<T>& r, T* output, const T* x, const T* weight, const T* bias, int64_t q,
          int64_t done) {
  constexpr int w = Lanes<T>::count;
  Vec<T> sum[M][V];
  slide<T, M, V>(sum, x + q, r.at, r.taps, r.channels, r.planes.channel, weight, bias);
#pragma GCC unroll 8
  for (int j = 0; j < V; ++j) {
    const Kept k = kept(q + j * w, r.end, r.planes.pitch, r.width, w);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      const Vec<T> v = r.relu ? positive_part(sum[i][j]) : sum[i][j];
      put(output + i * r.conv.out_size() + done, v, k);
    }
    done += k.count;
  }
}

template <class T>
using TileOf = void (*)(const Request<T>&, T*, const T*, const T*, const T*, int64_t, int64_t);

template <class T, int M> RL_INLINE TileOf<T> tile_of(int vectors) {
  if constexpr (kVectors > 3) {
    if (vectors == 4) return tile<T, M, kVectors>;
  }
  return vectors == 3 ? tile<T, M, 3> : vectors == 2 ? tile<T, M, 2> : tile<T, M, 1>;
}
template <class T> TileOf<T> tile_of(int64_t channels, int vectors) {
  if constexpr (kChannels > 4) {
    if (channels == 6) return tile_of<T, kChannels>(vectors);
    if (channels == 5) return tile_of<T, kChannels - 1>(vectors);
  }
  return channels == 4 ? tile_of<T, 4>(vectors) : channels == 3 ? tile_of<T, 3>(vectors)
       : channels == 2 ? tile_of<T, 2>(vectors) : tile_of<T, 1>(vectors);
}

template <class T>
void forward(T* output, const Convolution& c, const DirectPlanes& p, const T* space,
             const T* weight, const T* bias, bool relu, int64_t y, int64_t count) {
  constexpr int w = Lanes<T>::count;
  int64_t at[kMostTaps];
  tap_places(at, c, p);
  const int64_t width = c.out[2], out = c.group_out(), taps = c.taps(), gi = c.group_in();
  const Request<T> r{c, p, at, taps, gi, width, (count - 1) * p.pitch + width, relu};
  const int64_t vectors = blocks_of(r.end, w), runs = blocks_of(vectors, kVectors);
  const int64_t blocks = blocks_of(out, kChannels);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t o = out * b / blocks, m = out * (b + 1) / blocks - o;
    T* to = output + o * c.out_size() + y * width;
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t v = vectors * i / runs, n = vectors * (i + 1) / runs - v, q = v * w;
      const int64_t done = q / p.pitch * width + least(q % p.pitch, width);
      tile_of<T>(m, int(n))(r, to, space, weight + o * gi * taps, bias ? bias + o : nullptr, q,
                            done);
    }
  }
}

// Sums over all places of the products of M rows with S streams: what one block of the weight's
// gradient is made of.
template <class T, int M, int S>
void sum_products(T* to, int64_t to_row, const T* grads, int64_t row, const T* const* streams,
                  int64_t n) {
  constexpr int w = Lanes<T>::count, count = M * S;
  constexpr int size = (count + w - 1) / w * w;
  Vec<T> sum[size];
#pragma GCC unroll 32
  for (int i = 0; i < size; ++i) sum[i] = zero<T>();
  const T* from[S];
#pragma GCC unroll 8
  for (int j = 0; j < S; ++j) from[j] = streams[j];
  for (int64_t q = 0; q < n; q += w) {
    Vec<T> g[M];
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) g[i] = load(grads + i * row + q);
#pragma GCC unroll 8
    for (int j = 0; j < S; ++j) {
      const Vec<T> x = load(from[j] + q);
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) sum[i * S + j] = fma(g[i], x, sum[i * S + j]);
    }
  }
  T values[size];
#pragma GCC unroll 8
  for (int i = 0; i < size; i += w) store(values + i, sum_each<T>(sum + i));
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < S; ++j) to[i * to_row + j] += values[i * S + j];
  }
}

template <class T>
using SumsOf = void (*)(T*, int64_t, const T*, int64_t, const T* const*, int64_t);

template <class T, int M> RL_INLINE SumsOf<T> sums_of(int64_t streams) {
  if constexpr (kVectors > 3) {
    if (streams == 4) return sum_products<T, M, kVectors>;
  }
  return streams == 3 ? sum_products<T, M, 3>
       : streams == 2 ? sum_products<T, M, 2> : sum_products<T, M, 1>;
}
template <class T> SumsOf<T> sums_of(int64_t channels, int64_t streams) {
  if constexpr (kChannels > 4) {
    if (channels == 6) return sums_of<T, kChannels>(streams);
    if (channels == 5) return sums_of<T, kChannels - 1>(streams);
  }
  return channels == 4 ? sums_of<T, 4>(streams) : channels == 3 ? sums_of<T, 3>(streams)
       : channels == 2 ? sums_of<T, 2>(streams) : sums_of<T, 1>(streams);
}

template <class T>
void weight(T* sums, const Convolution& c, const DirectPlanes& p, const T* space, const T* grads,
            int64_t out_channels, int64_t channels) {
  int64_t at[kMostTaps];
  tap_places(at, c, p);
  const int64_t taps = c.taps(), all = channels * taps, runs = blocks_of(all, kVectors);
  const int64_t blocks = blocks_of(out_channels, kChannels);
  const int64_t n = ((p.images - 1) * p.rows + c.out[1]) * p.pitch;
  for (int64_t i = 0; i < runs; ++i) {
    const int64_t s = all * i / runs, streams = all * (i + 1) / runs - s;
    const T* from[kVectors];
    for (int64_t j = 0; j < streams; ++j) {
      from[j] = space + (s + j) / taps * p.channel + at[(s + j) % taps];
    }
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t o = out_channels * b / blocks, m = out_channels * (b + 1) / blocks - o;
      sums_of<T>(m, streams)(sums + o * all + s, all, grads + o * p.phase, p.phase, from, n);
    }
  }
}

template <class T>
constexpr DirectLevel<T> kDirect = {Lanes<T>::count, kChannels, planes<T>, spread<T>, forward<T>,
                                    spread_grad<T>, weight<T>};

}  // namespace
}  // namespace tiles

extern const DirectLevel<float> direct_float = tiles::kDirect<float>;
extern const DirectLevel<double> direct_double = tiles::kDirect<double>;

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
