// Complex numbers between memory, where the parts alternate, and planes; rows turned to columns.
#pragma once
#include "kernels/levels/fft_butterfly.h"
#include "kernels/levels/fft_table.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::fourier {
namespace {

template <class T, int... L>
RL_INLINE Complex<T> parts_of(Vec<T> a, Vec<T> b, std::integer_sequence<int, L...>) {
  using Index = typename tiles::Lanes<T>::Index;
  return {__builtin_shuffle(a, b, Index{2 * L...}), __builtin_shuffle(a, b, Index{2 * L + 1 ...})};
}
// a0 b0 a1 b1 ..., in two vectors.
template <class T, int... L>
RL_INLINE void zip(Vec<T> a, Vec<T> b, Vec<T>& low, Vec<T>& high,
                   std::integer_sequence<int, L...>) {
  constexpr int w = tiles::Lanes<T>::count;
  using Index = typename tiles::Lanes<T>::Index;
  low = __builtin_shuffle(a, b, Index{(L / 2 + (L & 1 ? w : 0))...});
  high = __builtin_shuffle(a, b, Index{(w / 2 + L / 2 + (L & 1 ? w : 0))...});
}
template <class T, int... L>
RL_INLINE Vec<T> reversed_lanes(Vec<T> a, std::integer_sequence<int, L...>) {
  using Index = typename tiles::Lanes<T>::Index;
  return __builtin_shuffle(a, Index{(int(sizeof...(L)) - 1 - L)...});
}
template <class T, int... L>
RL_INLINE Vec<T> reversed_pairs(Vec<T> a, std::integer_sequence<int, L...>) {
  using Index = typename tiles::Lanes<T>::Index;
  return __builtin_shuffle(a, Index{((int(sizeof...(L)) - 1 - L) ^ 1)...});
}
template <class T> using Every = std::make_integer_sequence<int, tiles::Lanes<T>::count>;

template <class T> RL_INLINE Complex<T> load_pairs(const T* p) {
  return parts_of<T>(load(p), load(p + tiles::Lanes<T>::count), Every<T>());
}
template <class T> RL_INLINE void store_pairs(T* p, Vec<T> re, Vec<T> im) {
  Vec<T> low, high;
  zip<T>(re, im, low, high, Every<T>());
  store(p, low);
  store(p + tiles::Lanes<T>::count, high);
}
template <class T> RL_INLINE Vec<T> reversed(Vec<T> a) { return reversed_lanes<T>(a, Every<T>()); }

// Lanes of S: those numbered p of vector k go to to[S (R p + k)], for p < left at least.
template <class T, int R, int S> RL_INLINE void store_parts(T* to, Vec<T>* v, int64_t left) {
  constexpr int w = tiles::Lanes<T>::count;
  if constexpr (S == 1 && (R & (R - 1)) == 0) {
    Vec<T> z[R];
#pragma GCC unroll 4
    for (int half = R / 2; half >= 1; half /= 2) {
      const int length = R / 2 / half;
#pragma GCC unroll 8
      for (int i = 0; i < R / 2; ++i) {
        zip<T>(v[i], v[i + half * length], z[2 * i], z[2 * i + 1], Every<T>());
      }
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) v[i] = z[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) store(to + i * w, v[i]);
  } else {
    T lanes[R][w];
#pragma GCC unroll 16
    for (int k = 0; k < R; ++k) store(lanes[k], v[k]);
    const int64_t parts = left < w / S ? left : w / S;
    for (int64_t p = 0; p < parts; ++p) {
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) {
        __builtin_memcpy(to + S * (R * p + k), &lanes[k][S * p], S * sizeof(T));
      }
    }
  }
}

template <class T> void split(const T* in, int64_t n, T* re, T* im) {
  constexpr int64_t w = tiles::Lanes<T>::count;
  int64_t i = 0;
  for (; i + w <= n; i += w) {
    const Complex<T> z = load_pairs(in + 2 * i);
    store(re + i, z.re);
    store(im + i, z.im);
  }
  for (; i < n; ++i) {
    re[i] = in[2 * i];
    im[i] = in[2 * i + 1];
  }
}

template <class T> void join(const T* re, const T* im, int64_t n, T scale, T* out) {
  constexpr int64_t w = tiles::Lanes<T>::count;
  const Vec<T> by = splat(scale);
  int64_t i = 0;
  for (; i + w <= n; i += w) store_pairs<T>(out + 2 * i, load(re + i) * by, load(im + i) * by);
  for (; i < n; ++i) {
    out[2 * i] = re[i] * scale;
    out[2 * i + 1] = im[i] * scale;
  }
}

template <class T>
void split_block(const T* in, int64_t rows, int64_t pitch, int64_t count, T* re, T* im) {
  constexpr int64_t L = kFftLanes<T>, w = tiles::Lanes<T>::count;
  for (int64_t r = 0; r < rows; ++r, in += pitch, re += L, im += L) {
    if (count == L) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < L; i += w) {
        const Complex<T> z = load_pairs(in + 2 * i);
        store(re + i, z.re);
        store(im + i, z.im);
      }
    } else {
      for (int64_t i = 0; i < L; ++i) {
        re[i] = i < count ? in[2 * i] : T(0);
        im[i] = i < count ? in[2 * i + 1] : T(0);
      }
    }
  }
}

template <class T>
void join_block(const T* re, const T* im, int64_t rows, int64_t pitch, int64_t count, T scale,
                T* out) {
  constexpr int64_t L = kFftLanes<T>, w = tiles::Lanes<T>::count;
  const Vec<T> by = splat(scale);
  for (int64_t r = 0; r < rows; ++r, out += pitch, re += L, im += L) {
    if (count == L) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < L; i += w) {
        store_pairs<T>(out + 2 * i, load(re + i) * by, load(im + i) * by);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        out[2 * i] = re[i] * scale;
        out[2 * i + 1] = im[i] * scale;
      }
    }
  }
}

// Where column c of a block lies.
template <class P> RL_INLINE P* column(P* re, P* im, int64_t c, int64_t lanes) {
  return im ? (c & 1 ? im : re) + (c >> 1) * lanes : re + c * lanes;
}

template <class T>
void turn_in(const T* in, int64_t pitch, int64_t count, int64_t columns, T* re, T* im) {
  constexpr int64_t L = kFftLanes<T>, w = tiles::Lanes<T>::count;
  for (int64_t lane = 0; lane < L; lane += w) {
    for (int64_t c = 0; c < columns; c += w) {
      const int64_t left = columns - c < w ? columns - c : w;
      const auto mask = tiles::first<T>(int(left));
      Vec<T> tile[w];
#pragma GCC unroll 16
      for (int64_t i = 0; i < w; ++i) {  // rows that are missing repeat the last
        const int64_t row = lane + i < count ? lane + i : count - 1;
        tile[i] = left == w ? load(in + row * pitch + c) : load(in + row * pitch + c, mask);
      }
      tiles::transpose<T>(tile);
#pragma GCC unroll 16
      for (int64_t i = 0; i < w; ++i) {
        if (i < left) store(column(re, im, c + i, L) + lane, tile[i]);
      }
    }
  }
}

template <class T>
void turn_out(const T* re, const T* im, int64_t count, int64_t columns, int64_t pitch, T scale,
              T* out) {
  constexpr int64_t L = kFftLanes<T>, w = tiles::Lanes<T>::count;
  const Vec<T> by = splat(scale);
  for (int64_t lane = 0; lane < count; lane += w) {
    for (int64_t c = 0; c < columns; c += w) {
      const int64_t left = columns - c < w ? columns - c : w;
      const auto mask = tiles::first<T>(int(left));
      Vec<T> tile[w];
#pragma GCC unroll 16
      for (int64_t i = 0; i < w; ++i) {
        const int64_t from = i < left ? c + i : c;
        tile[i] = load(column(re, im, from, L) + lane) * by;
      }
      tiles::transpose<T>(tile);
#pragma GCC unroll 16
      for (int64_t i = 0; i < w; ++i) {
        if (lane + i >= count) continue;
        T* to = out + (lane + i) * pitch + c;
        if (left == w) store(to, tile[i]);
        else store(to, tile[i], mask);
      }
    }
  }
}

template <class T> void mirror(T* out, int64_t n) {
  constexpr int64_t w = tiles::Lanes<T>::count, pairs = w / 2;
  const int64_t last = (n - 1) / 2;  // of those that have a partner
  Vec<T> signs = splat(T(1));
  for (int64_t i = 1; i < w; i += 2) signs[i] = T(-1);
  int64_t k = 1;
  for (; k + pairs - 1 <= last; k += pairs) {
    const Vec<T> v = reversed_pairs<T>(load(out + 2 * k), Every<T>()) * signs;
    store(out + 2 * (n - k - pairs + 1), v);
  }
  for (; k <= last; ++k) {
    out[2 * (n - k)] = out[2 * k];
    out[2 * (n - k) + 1] = -out[2 * k + 1];
  }
}

}  // namespace
}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::fourier
