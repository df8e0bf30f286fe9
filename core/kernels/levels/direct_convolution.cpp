// Direct convolution with neighbouring outputs side by side in registers.
#include "kernels/levels/direct_convolution.h"

#include "kernels/levels/direct_channels.h"
#include "kernels/levels/direct_planes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace tiles {
namespace {

// A tile's sums and what it loads fill the registers.
constexpr int kChannels = RL_LEVEL == 2 ? 6 : 4;  // output channels
constexpr int kVectors = RL_LEVEL == 2 ? 4 : 3;   // of neighbouring outputs, or streams
static_assert(kVectors < kVectorsBeyond);

// Sums of M output channels for V vectors of neighbouring outputs, from bias on.
template <class T, int M, int V>
RL_INLINE void slide(Vec<T> (&sum)[M][V], const T* x, const int64_t* at, int64_t taps,
                     int64_t channels, int64_t step, const T* weight, const T* bias) {
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) sum[i][j] = bias ? splat(bias[i]) : zero<T>();
  }
  for (int64_t ch = 0; ch < channels; ++ch, x += step) {
    for (int64_t t = 0; t < taps; ++t, weight += M) {
      add_products<T, M, V>(sum, weight, x + at[t]);
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
RL_INLINE void add_sums(Vec<T> (&to)[M][V], const Vec<T> (&from)[M][V]) {
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) to[i][j] += from[i][j];
  }
}
template <class T, int M, int V>
RL_INLINE void copy_sums(Vec<T> (&to)[M][V], const Vec<T> (&from)[M][V]) {
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < V; ++j) to[i][j] = from[i][j];
  }
}

template <class T, int M, int V>
void tile(const Request<T>& r, T* output, const T* x, const T* weight, const T* bias, int64_t q,
          int64_t done) {
  constexpr int w = Lanes<T>::count;
  Vec<T> sum[M][V];
  const int64_t step = r.planes.channel, part = most(1, kDepth / r.taps);  // Note [Sums]
  slide<T, M, V>(sum, x + q, r.at, r.taps, least(part, r.channels), step, weight, bias);
  if (part < r.channels) {
    Vec<T> total[M][V];
    copy_sums<T, M, V>(total, sum);
    for (int64_t ch = part; ch < r.channels; ch += part) {
      slide<T, M, V>(sum, x + ch * step + q, r.at, r.taps, least(part, r.channels - ch), step,
                     weight + ch * r.taps * M, nullptr);
      add_sums<T, M, V>(total, sum);
    }
    copy_sums<T, M, V>(sum, total);
  }
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

template <class T>
constexpr DirectLevel<T> kDirect = {Lanes<T>::count, kChannels, kChannelVectors, planes<T>,
                                    spread<T>, forward<T>, channels_forward<T>,
                                    channels_weight<T>, turn<T>};

}  // namespace
}  // namespace tiles

extern const DirectLevel<float> direct_float = tiles::kDirect<float>;
extern const DirectLevel<double> direct_double = tiles::kDirect<double>;

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
