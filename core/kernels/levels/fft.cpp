// Fast Fourier transforms: the passes over planes, and the ways in and out of planes.
#include "kernels/levels/fft_table.h"

#include "kernels/levels/fft_butterfly.h"
#include "kernels/levels/fft_moves.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace fourier {
namespace {

template <class T> constexpr int64_t kWidth = tiles::Lanes<T>::count;

template <class T> struct Planes {
  const T *re, *im;
  T *out_re, *out_im;
};

// Each p in turn, vectors over q. The last vector of a row may reach into the next one, which is
// written later: hence q from the end.
template <class T, class B, bool twist>
void pass_over_rows(const FftPass<T>& pass, int64_t s, const Planes<T>& at) {
  constexpr int R = B::radix;
  const B butterfly(pass.roots);
  const int64_t apart = s * pass.m;
  for (int64_t p = 0; p < pass.m; ++p) {
    const T* w = twist ? pass.twiddles + p * 2 * (R - 1) : nullptr;
    const T *re = at.re + s * p, *im = at.im + s * p;
    T *out_re = at.out_re + s * R * p, *out_im = at.out_im + s * R * p;
    for (int64_t q = (s - 1) / kWidth<T> * kWidth<T>; q >= 0; q -= kWidth<T>) {
      Complex<T> x[R];
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) x[k] = {load(re + q + apart * k), load(im + q + apart * k)};
      butterfly(x);
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) {
        if (twist && k > 0) x[k] = times(x[k], splat(w[2 * k - 2]), splat(w[2 * k - 1]));
        store(out_re + q + s * k, x[k].re);
        store(out_im + q + s * k, x[k].im);
      }
    }
  }
}

template <class T, bool twist>
void pass_of_any_radix(const FftPass<T>& pass, int64_t s, const Planes<T>& at) {
  const int R = pass.radix;
  const int64_t apart = s * pass.m;
  for (int64_t p = 0; p < pass.m; ++p) {
    const T* w = twist ? pass.twiddles + p * 2 * (R - 1) : nullptr;
    for (int64_t q = (s - 1) / kWidth<T> * kWidth<T>; q >= 0; q -= kWidth<T>) {
      Complex<T> x[kMostRadix];
      for (int k = 0; k < R; ++k) {
        const int64_t from = q + s * p + apart * k;
        x[k] = {load(at.re + from), load(at.im + from)};
      }
      any_odd(x, R, pass.roots);
      for (int k = 0; k < R; ++k) {
        const int64_t to = q + s * (R * p + k);
        if (twist && k > 0) x[k] = times(x[k], splat(w[2 * k - 2]), splat(w[2 * k - 1]));
        store(at.out_re + to, x[k].re);
        store(at.out_im + to, x[k].im);
      }
    }
  }
}

// Rows shorter than a vector: vectors over q + s p, whose results go to R places of S elements.
template <class T, class B, int S>
void pass_over_parts(const FftPass<T>& pass, const Planes<T>& at) {
  constexpr int R = B::radix;
  constexpr int64_t W = kWidth<T>;
  const B butterfly(pass.roots);
  const int64_t count = S * pass.m;
  const T* w = pass.wide;
  for (int64_t i = 0; i < count; i += W) {
    Complex<T> x[R];
#pragma GCC unroll 16
    for (int k = 0; k < R; ++k) x[k] = {load(at.re + i + count * k), load(at.im + i + count * k)};
    butterfly(x);
    if (w) {
#pragma GCC unroll 16
      for (int k = 1; k < R; ++k, w += 2 * W) x[k] = times(x[k], load(w), load(w + W));
    }
    Vec<T> re[R], im[R];
#pragma GCC unroll 16
    for (int k = 0; k < R; ++k) {
      re[k] = x[k].re;
      im[k] = x[k].im;
    }
    const int64_t left = (count - i) / S;
    store_parts<T, R, S>(at.out_re + i * R, re, left);
    store_parts<T, R, S>(at.out_im + i * R, im, left);
  }
}

template <class T, int R>
void pass_of(const FftPass<T>& pass, int64_t lanes, const Planes<T>& at) {
  using B = Butterfly<T, R>;
  const int64_t s = pass.s * lanes;
  const bool known = pass.wide || pass.m == 1;
  if (s < kWidth<T> && known && lanes == 1) {
    if (s == 1) return pass_over_parts<T, B, 1>(pass, at);
    if constexpr (kWidth<T> > 2) {
      if (s == 2) return pass_over_parts<T, B, 2>(pass, at);
    }
    if constexpr (kWidth<T> > 4) {
      if (s == 4) return pass_over_parts<T, B, 4>(pass, at);
    }
    if constexpr (kWidth<T> > 8) {
      if (s == 8) return pass_over_parts<T, B, 8>(pass, at);
    }
  }
  if (pass.m == 1) pass_over_rows<T, B, false>(pass, s, at);
  else pass_over_rows<T, B, true>(pass, s, at);
}

template <class T>
bool passes(const FftPass<T>* pass, int count, int64_t lanes, T* re, T* im, T* work_re,
            T* work_im) {
  Planes<T> at{re, im, work_re, work_im};
  for (int i = 0; i < count; ++i, ++pass) {
    switch (pass->radix) {
      case 2: pass_of<T, 2>(*pass, lanes, at); break;
      case 3: pass_of<T, 3>(*pass, lanes, at); break;
      case 4: pass_of<T, 4>(*pass, lanes, at); break;
      case 5: pass_of<T, 5>(*pass, lanes, at); break;
      case 7: pass_of<T, 7>(*pass, lanes, at); break;
      case 8: pass_of<T, 8>(*pass, lanes, at); break;
      case 11: pass_of<T, 11>(*pass, lanes, at); break;
      default:
        if (pass->m == 1) pass_of_any_radix<T, false>(*pass, pass->s * lanes, at);
        else pass_of_any_radix<T, true>(*pass, pass->s * lanes, at);
    }
    T *const from_re = const_cast<T*>(at.re), *const from_im = const_cast<T*>(at.im);
    at = {at.out_re, at.out_im, from_re, from_im};
  }
  return count & 1;
}

template <class T>
void multiply(T* re, T* im, const T* by_re, const T* by_im, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) {
    const Complex<T> z = times<T>({load(re + i), load(im + i)}, load(by_re + i), load(by_im + i));
    store(re + i, z.re);
    store(im + i, z.im);
  }
  for (; i < n; ++i) {
    const T a = re[i], b = im[i];
    re[i] = a * by_re[i] - b * by_im[i];
    im[i] = a * by_im[i] + b * by_re[i];
  }
}

template <class T>
void twist(T* re, T* im, const T* lane_re, const T* lane_im, const T* base, int64_t rows) {
  constexpr int64_t L = kFftLanes<T>;
  for (int64_t r = 0; r < rows; ++r) {
    const Vec<T> c = splat(base[2 * r]), s = splat(base[2 * r + 1]);
    for (int64_t i = r * L; i < (r + 1) * L; i += kWidth<T>) {
      const Complex<T> w = times<T>({load(lane_re + i), load(lane_im + i)}, c, s);
      const Complex<T> z = times<T>({load(re + i), load(im + i)}, w.re, w.im);
      store(re + i, z.re);
      store(im + i, z.im);
    }
  }
}

// E = (Z_k + conj Z_(h-k)) / 2, O = (Z_k - conj Z_(h-k)) / 2i; X_k = E + w^k O.
template <class T>
void real_after(const T* re, const T* im, const T* cos, const T* sin, int64_t h, int64_t begin,
                int64_t end, T scale, T* out) {
  constexpr int64_t W = kWidth<T>;
  const T half = scale / 2;
  const Vec<T> halves = splat(half);
  int64_t k = begin ? begin : 1;
  for (; k + W <= end; k += W) {
    const int64_t back = h - k - W + 1;
    const Vec<T> a = load(re + k), b = load(im + k);
    const Vec<T> c = reversed<T>(load(re + back)), d = reversed<T>(load(im + back));
    const Complex<T> even = {(a + c) * halves, (b - d) * halves};
    const Complex<T> odd = {(b + d) * halves, (c - a) * halves};
    const Complex<T> x = even + times<T>(odd, load(cos + k), load(sin + k));
    store_pairs<T>(out + 2 * k, x.re, x.im);
  }
  for (; k < end; ++k) {
    const T a = re[k], b = im[k], c = re[h - k], d = im[h - k];
    const T o_re = (b + d) * half, o_im = (c - a) * half;
    out[2 * k] = (a + c) * half + (o_re * cos[k] - o_im * sin[k]);
    out[2 * k + 1] = (b - d) * half + (o_re * sin[k] + o_im * cos[k]);
  }
  if (begin) return;
  const T first = re[0], second = im[0];
  out[0] = (first + second) * scale;
  out[1] = 0;
  out[2 * h] = (first - second) * scale;
  out[2 * h + 1] = 0;
}

// Z_k = (X_k + conj X_(h-k)) + i w^-k (X_k - conj X_(h-k)); the imaginary parts of X_0 and X_h,
// which a real result has not, count for nothing.
template <class T>
void real_before(const T* in, const T* cos, const T* sin, int64_t h, int64_t begin, int64_t end,
                 T* re, T* im) {
  constexpr int64_t W = kWidth<T>;
  if (begin == 0) {
    re[0] = in[0] + in[2 * h];
    im[0] = in[0] - in[2 * h];
  }
  int64_t k = begin ? begin : 1;
  for (; k + W <= end; k += W) {
    const Complex<T> x = load_pairs(in + 2 * k), y = load_pairs(in + 2 * (h - k - W + 1));
    const Vec<T> c = reversed<T>(y.re), d = reversed<T>(y.im);
    const Complex<T> odd = times<T>({x.re - c, x.im + d}, load(cos + k), -load(sin + k));
    store(re + k, x.re + c - odd.im);
    store(im + k, x.im - d + odd.re);
  }
  for (; k < end; ++k) {
    const T a = in[2 * k], b = in[2 * k + 1], c = in[2 * (h - k)], d = in[2 * (h - k) + 1];
    const T o_re = (a - c) * cos[k] + (b + d) * sin[k], o_im = (b + d) * cos[k] - (a - c) * sin[k];
    re[k] = a + c - o_im;
    im[k] = b - d + o_re;
  }
}

template <class T>
void real_after_block(const T* re, const T* im, const T* cos, const T* sin, int64_t h, T* out_re,
                      T* out_im) {
  constexpr int64_t L = kFftLanes<T>;
  const Vec<T> half = splat(T(0.5));
  for (int64_t i = 0; i < L; i += kWidth<T>) {
    const Vec<T> a = load(re + i), b = load(im + i);
    store(out_re + i, a + b);
    store(out_im + i, Vec<T>{});
    store(out_re + h * L + i, a - b);
    store(out_im + h * L + i, Vec<T>{});
  }
  for (int64_t k = 1; k < h; ++k) {
    const Vec<T> w = splat(cos[k]), s = splat(sin[k]);
    for (int64_t i = 0; i < L; i += kWidth<T>) {
      const Vec<T> a = load(re + k * L + i), b = load(im + k * L + i);
      const Vec<T> c = load(re + (h - k) * L + i), d = load(im + (h - k) * L + i);
      const Complex<T> even = {(a + c) * half, (b - d) * half};
      const Complex<T> x = even + times<T>({(b + d) * half, (c - a) * half}, w, s);
      store(out_re + k * L + i, x.re);
      store(out_im + k * L + i, x.im);
    }
  }
}

template <class T>
void real_before_block(const T* in_re, const T* in_im, const T* cos, const T* sin, int64_t h,
                       T* re, T* im) {
  constexpr int64_t L = kFftLanes<T>;
  for (int64_t i = 0; i < L; i += kWidth<T>) {
    const Vec<T> a = load(in_re + i), b = load(in_re + h * L + i);
    store(re + i, a + b);
    store(im + i, a - b);
  }
  for (int64_t k = 1; k < h; ++k) {
    const Vec<T> w = splat(cos[k]), s = splat(-sin[k]);
    for (int64_t i = 0; i < L; i += kWidth<T>) {
      const Vec<T> a = load(in_re + k * L + i), b = load(in_im + k * L + i);
      const Vec<T> c = load(in_re + (h - k) * L + i), d = load(in_im + (h - k) * L + i);
      const Complex<T> odd = times<T>({a - c, b + d}, w, s);
      store(re + k * L + i, a + c - odd.im);
      store(im + k * L + i, b - d + odd.re);
    }
  }
}

}  // namespace
}  // namespace fourier

#define RL_FFT_LOOPS(T)                                                                      \
  {int(fourier::kWidth<T>), fourier::passes<T>, fourier::split<T>, fourier::join<T>,         \
   fourier::split_block<T>, fourier::join_block<T>, fourier::turn_in<T>,                     \
   fourier::turn_out<T>, fourier::multiply<T>, fourier::twist<T>, fourier::real_after<T>,    \
   fourier::real_before<T>, fourier::real_after_block<T>, fourier::real_before_block<T>,     \
   fourier::mirror<T>}
extern const FftLoops<float> fft_loops_float = RL_FFT_LOOPS(float);
extern const FftLoops<double> fft_loops_double = RL_FFT_LOOPS(double);

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
