// Loops of fast Fourier transforms, one table per vector level and element type.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

// One pass of a transform of length n over planes re and im (Stockham, decimation in frequency):
//   y[q + s (radix p + k)] = w^(p k) sum_j x[q + s (p + m j)] exp(-2 pi i j k / radix)
// for q < s, p < m, with w = exp(-2 pi i / (radix m)). s is the product of the earlier radices,
// and where several transforms lie side by side, times their number.
template <class T> struct FftPass {
  int radix;
  int64_t m, s;
  const T* twiddles;  // m rows of radix - 1 pairs (cos, sin); null: all are 1
  const T* wide;      // the same, a vector of lanes q + s p at a time; null unless s is small
  const T* roots;     // radix pairs (cos, sin) of exp(-2 pi i k / radix), for uncommon radices
};
constexpr int kMostRadix = 61;        // larger primes are for convolutions
constexpr int64_t kFftPadding = 1024; // elements behind each plane that passes may touch

// Transforms side by side: 128 bytes of complex numbers.
template <class T> constexpr int64_t kFftLanes = 64 / int64_t(sizeof(T));

template <class T> struct FftLoops {
  int width;          // elements of a vector
  // All passes; returns whether the result is in the work planes.
  bool (*passes)(const FftPass<T>* pass, int count, int64_t lanes, T* re, T* im, T* work_re,
                 T* work_im);
  // n complex numbers to planes and back, multiplied by `scale`.
  void (*split)(const T* in, int64_t n, T* re, T* im);
  void (*join)(const T* re, const T* im, int64_t n, T scale, T* out);
  // A matrix of `rows` rows of `count` <= kFftLanes complex numbers to and from planes of rows of
  // kFftLanes.
  void (*split_block)(const T* in, int64_t rows, int64_t pitch, int64_t count, T* re, T* im);
  void (*join_block)(const T* re, const T* im, int64_t rows, int64_t pitch, int64_t count, T scale,
                     T* out);
  // `count` rows of `columns` numbers to columns of kFftLanes: even ones in `re`, odd in `im`, or,
  // if `im` is null, all in `re`. And back.
  void (*turn_in)(const T* in, int64_t pitch, int64_t count, int64_t columns, T* re, T* im);
  void (*turn_out)(const T* re, const T* im, int64_t count, int64_t columns, int64_t pitch,
                   T scale, T* out);
  // (re, im) *= (by_re, by_im)
  void (*multiply)(T* re, T* im, const T* by_re, const T* by_im, int64_t n);
  // Row r of kFftLanes is multiplied by lanes[r] * (base_re[r], base_im[r]).
  void (*twist)(T* re, T* im, const T* lane_re, const T* lane_im, const T* base, int64_t rows);
  // From the transform of x[2j] + i x[2j+1] (h numbers) to that of x (h + 1), and the inverse
  // preparation, for begin <= k < end; cos and sin: planes of exp(-2 pi i k / 2h).
  void (*real_after)(const T* re, const T* im, const T* cos, const T* sin, int64_t h, int64_t begin,
                     int64_t end, T scale, T* out);
  void (*real_before)(const T* in, const T* cos, const T* sin, int64_t h, int64_t begin,
                      int64_t end, T* re, T* im);
  // The same for kFftLanes transforms side by side, planes to planes.
  void (*real_after_block)(const T* re, const T* im, const T* cos, const T* sin, int64_t h,
                           T* out_re, T* out_im);
  void (*real_before_block)(const T* in_re, const T* in_im, const T* cos, const T* sin, int64_t h,
                            T* re, T* im);
  // out[n - k] = conj(out[k]) for 0 < k < n / 2.
  void (*mirror)(T* out, int64_t n);
};

RL_LEVEL_TABLES(FftLoops, fft_loops)

}  // namespace rl::kernels
