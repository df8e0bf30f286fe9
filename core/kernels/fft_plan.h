// How a Fourier transform of a given length is done: its passes and tables, made once and kept.
#pragma once
#include <memory>
#include <vector>

#include "kernels/levels/fft_table.h"

namespace rl::kernels {

template <class T> struct FftPlan {
  enum Kind : uint8_t {
    Passes,        // small factors only, and small enough for the cache
    Convolution,   // a large prime factor: Bluestein's algorithm, by transforms of a longer length
    Steps,         // n = first * second: columns, twiddles, rows
  };
  Kind kind = Passes;
  int64_t n = 1;
  std::vector<FftPass<T>> passes;
  std::vector<std::vector<T>> tables;                // what the passes point into
  std::shared_ptr<const FftPlan> first, second;      // Steps; Convolution: `first`
  // Convolution. chirp: exp(-pi i k^2 / n); kernel: the transform of its conjugate, over the
  // length of `first`. Planes.
  std::vector<T> chirp_re, chirp_im, kernel_re, kernel_im;
  // Steps. exp(-2 pi i (L b + l) k / n) for lane l of block b is lanes[k][l] * base[b][k].
  std::vector<T> lane_re, lane_im, base;

  // Elements that each of the four planes of a transform needs.
  int64_t room() const;
  int64_t steps_pitch() const;   // Steps: between rows of the work planes
};

template <class T> std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// Four planes of plan.room() elements: numbers in re and im, the others for work.
template <class T> struct FftPlanes {
  T *re, *im, *work_re, *work_im;
};
// In place: afterwards the results are in at.re and at.im, which may have changed places with the
// work planes. Long ones run parallel.
template <class T> void fft_in_planes(const FftPlan<T>& plan, FftPlanes<T>& at);

// exp(-2 pi i k / n) for k <= n / 2, in planes.
template <class T> struct FftRoots {
  std::vector<T> cos, sin;
};
template <class T> std::shared_ptr<const FftRoots<T>> fft_roots(int64_t n);

}  // namespace rl::kernels
