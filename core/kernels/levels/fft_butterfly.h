// Transforms of a few complex vectors in registers: what the passes of a transform are made of.
#pragma once
#include "kernels/levels/registers.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::fourier {

using tiles::fma;
using tiles::load;
using tiles::splat;
using tiles::store;
using tiles::Vec;

template <class T> struct Complex {
  Vec<T> re, im;
  friend RL_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend RL_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
};
// a * (c + i s)
template <class T> RL_INLINE Complex<T> times(Complex<T> a, Vec<T> c, Vec<T> s) {
  return {fma(a.re, c, -(a.im * s)), fma(a.re, s, a.im * c)};
}
template <class T> RL_INLINE Complex<T> times_minus_i(Complex<T> a) { return {a.im, -a.re}; }

// cos and sin of 2 pi k / n at compile time, by their series about 0.
constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double cosine(int k, int n) {
  long double x = 2 * kPi * k / n, term = 1, sum = 1;
  if (2 * k > n) x = 2 * kPi - x;
  for (int i = 1; i < 40; ++i) {
    term *= -x * x / ((2 * i - 1) * (2 * i));
    sum += term;
  }
  return sum;
}
constexpr long double sine(int k, int n) {
  long double x = 2 * kPi * k / n, sign = 1;
  if (2 * k > n) {
    x = 2 * kPi - x;
    sign = -1;
  }
  long double term = x, sum = x;
  for (int i = 1; i < 40; ++i) {
    term *= -x * x / ((2 * i) * (2 * i + 1));
    sum += term;
  }
  return sign * sum;
}
template <class T, int R> struct Roots {
  T cos[R], sin[R];
  constexpr Roots() : cos(), sin() {
    for (int k = 0; k < R; ++k) {
      cos[k] = T(cosine(k, R));
      sin[k] = T(sine(k, R));
    }
  }
};

// An odd number of points. With a_j = x_j + x_(R-j) and b_j = x_j - x_(R-j), result k is
// x_0 + sum_j a_j cos(2 pi j k / R) - i sum_j b_j sin(2 pi j k / R).
template <class T, int R> struct Butterfly {
  static constexpr int radix = R;
  RL_INLINE explicit Butterfly(const T*) {}
  RL_INLINE void operator()(Complex<T>* x) const {
    static constexpr Roots<T, R> w;
    constexpr int h = R / 2;
    Complex<T> a[h + 1], b[h + 1], total = x[0];
#pragma GCC unroll 8
    for (int j = 1; j <= h; ++j) {
      a[j] = x[j] + x[R - j];
      b[j] = x[j] - x[R - j];
      total = total + a[j];
    }
#pragma GCC unroll 8
    for (int k = 1; k <= h; ++k) {
      Complex<T> even = x[0], odd = {Vec<T>{}, Vec<T>{}};
#pragma GCC unroll 8
      for (int j = 1; j <= h; ++j) {
        const Vec<T> c = splat(w.cos[j * k % R]), s = splat(w.sin[j * k % R]);
        even = {fma(a[j].re, c, even.re), fma(a[j].im, c, even.im)};
        odd = j == 1 ? Complex<T>{b[j].re * s, b[j].im * s}
                     : Complex<T>{fma(b[j].re, s, odd.re), fma(b[j].im, s, odd.im)};
      }
      x[k] = even + times_minus_i(odd);
      x[R - k] = even - times_minus_i(odd);
    }
    x[0] = total;
  }
};

template <class T> struct Butterfly<T, 2> {
  static constexpr int radix = 2;
  RL_INLINE explicit Butterfly(const T*) {}
  RL_INLINE void operator()(Complex<T>* x) const {
    const Complex<T> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  }
};

template <class T> RL_INLINE void four(Complex<T>& a, Complex<T>& b, Complex<T>& c, Complex<T>& d) {
  const Complex<T> s = a + c, e = a - c, u = b + d, f = times_minus_i(b - d);
  a = s + u;
  b = e + f;
  c = s - u;
  d = e - f;
}
template <class T> struct Butterfly<T, 4> {
  static constexpr int radix = 4;
  RL_INLINE explicit Butterfly(const T*) {}
  RL_INLINE void operator()(Complex<T>* x) const { four(x[0], x[1], x[2], x[3]); }
};

template <class T> struct Butterfly<T, 8> {
  static constexpr int radix = 8;
  RL_INLINE explicit Butterfly(const T*) {}
  RL_INLINE void operator()(Complex<T>* x) const {
    const Vec<T> r = splat(T(0.707106781186547524400844362104849039L));
    Complex<T> a = x[0], b = x[2], c = x[4], d = x[6], e = x[1], f = x[3], g = x[5], h = x[7];
    four(a, b, c, d);
    four(e, f, g, h);
    f = {(f.re + f.im) * r, (f.im - f.re) * r};
    g = times_minus_i(g);
    h = {(h.im - h.re) * r, (h.re + h.im) * -r};
    x[0] = a + e;
    x[1] = b + f;
    x[2] = c + g;
    x[3] = d + h;
    x[4] = a - e;
    x[5] = b - f;
    x[6] = c - g;
    x[7] = d - h;
  }
};

// An odd radix known at run time only; as the first, with R and the roots from the pass.
template <class T> RL_INLINE void any_odd(Complex<T>* x, int radix, const T* roots) {
  const int half = radix / 2;
  Complex<T> a[31], b[31], total = x[0];
  for (int j = 1; j <= half; ++j) {
    a[j] = x[j] + x[radix - j];
    b[j] = x[j] - x[radix - j];
    total = total + a[j];
  }
  for (int k = 1; k <= half; ++k) {
    Complex<T> even = x[0], odd = {Vec<T>{}, Vec<T>{}};
    for (int j = 1, at = k; j <= half; ++j) {
      const Vec<T> c = splat(roots[2 * at]), s = splat(-roots[2 * at + 1]);
      even = {fma(a[j].re, c, even.re), fma(a[j].im, c, even.im)};
      odd = {fma(b[j].re, s, odd.re), fma(b[j].im, s, odd.im)};
      at += k;
      if (at >= radix) at -= radix;
    }
    x[k] = even + times_minus_i(odd);
    x[radix - k] = even - times_minus_i(odd);
  }
  x[0] = total;
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::fourier
