// Sine, cosine, tangent and the error function, for registers (included by levels only).
#pragma once
#include "kernels/functors/vector_math.h"

namespace rl::kernels {
// libm over a few numbers, in place: what arguments beyond the registers' reduction take.
void sin_items(float* x, int n);
void sin_items(double* x, int n);
void cos_items(float* x, int n);
void cos_items(double* x, int n);
void tan_items(float* x, int n);
void tan_items(double* x, int n);
}  // namespace rl::kernels

namespace rl::kernels::RL_LEVEL_NAMESPACE {

// pi/2 in parts of few bits, whose products with n are exact; polynomials on [-0.79, 0.79] in z =
// x^2: sin(x) = x + x^3 s(z), cos(x) = 1 - z/2 + z^2 c(z); erf(x) = x + x e(z) for |x| < 0.92 and
// 1 - exp(g) beyond.
template <class T> struct CircularCoefficients;
template <> struct CircularCoefficients<float> {
  using V = Vec<float>;
  static constexpr float largest = 8000.0f;
  static RL_INLINE V rest(V x, V n) {
    x = fma(n, V(-1.5703125f), x);
    x = fma(n, V(-0.0004837512969970703125f), x);
    x = fma(n, V(-7.549533620476722717e-8f), x);
    return fma(n, V(-2.563344151594518788e-12f), x);
  }
  static RL_INLINE V sin_tail(V z) {
    return polynomial(z, V(-0.1666666454f), V(0.008332724733f), V(-0.0001958285585f));
  }
  static RL_INLINE V cos_tail(V z) {
    return polynomial(z, V(0.04166666454f), V(-0.001388827945f), V(2.454289634e-5f));
  }
  static constexpr float erf_split = 0.92f, erf_most = 4.0f;
  static RL_INLINE V erf_small(V z) {
    return polynomial(z, V(0.1283791666f), V(-0.3761263352f), V(0.1128369152f),
                      V(-0.02685915147f), V(0.005200368587f), V(-0.0008134709332f),
                      V(8.334718615e-5f));
  }
  static RL_INLINE V erf_exponent(V a) {
    const V t = (a - V(2.46f)) * V(1.0f / 1.55f);
    return polynomial(t, V(-7.594217579f), V(-8.179693988f), V(-2.264523357f), V(-0.04175001927f),
                      V(0.01299313799f), V(-0.003933414476f), V(0.001126118962f),
                      V(-0.0002914047848f), V(5.36569869e-5f), V(-2.575927493e-6f));
  }
};
template <> struct CircularCoefficients<double> {
  using V = Vec<double>;
  static constexpr double largest = 1e6;
  static RL_INLINE V rest(V x, V n) {
    x = fma(n, V(-1.570796326734125614166), x);
    x = fma(n, V(-6.077100506303965976596e-11), x);
    return fma(n, V(-2.0222662487959507324e-21), x);
  }
  static RL_INLINE V sin_tail(V z) {
    return polynomial(z, V(-0.1666666666666666437), V(0.008333333333330700625),
                      V(-0.0001984126983638734624), V(2.755731591191115913e-6),
                      V(-2.505109250706138589e-8), V(1.591532321227140032e-10));
  }
  static RL_INLINE V cos_tail(V z) {
    return polynomial(z, V(0.04166666666666666523), V(-0.001388888888888724218),
                      V(0.00002480158729853345501), V(-2.755731715246703958e-7),
                      V(2.087612165887115877e-9), V(-1.138087694816971604e-11));
  }
  static constexpr double erf_split = 1.0, erf_most = 6.0;
  static RL_INLINE V erf_small(V z) {
    return polynomial(
        z, V(0.128379167095512574), V(-0.3761263890318375238), V(0.1128379167095512024),
        V(-0.02686617064512984081), V(0.005223977625423298309), V(-0.0008548327021934829596),
        V(0.0001205533290288873541), V(-0.00001492564756751933213), V(1.646204544146841894e-6),
        V(-1.63646421581676153e-7), V(1.4792401209404813e-8), V(-1.216456005728345008e-9),
        V(8.70904512905310669e-11), V(-4.230945824295337817e-12));
  }
  static RL_INLINE V erf_exponent(V a) {
    const V t = (a - V(3.5)) * V(0.4);
    return polynomial(
        t, V(-14.11243740214817376), V(-18.16524897091297716), V(-6.042206592138938711),
        V(-0.08165090971780905598), V(0.03412841107974977222), V(-0.0143845483303334499),
        V(0.005953704476190262758), V(-0.002373997280513563683), V(0.000893576585584579421),
        V(-0.0003078195595139638365), V(0.00009090090217256991497), V(-0.00001847452395376142089),
        V(-1.477503599641089098e-6), V(4.565967120203179378e-6), V(-3.422294334462000892e-6),
        V(1.917889171144331024e-6), V(-9.124365065445988775e-7), V(3.843739416527384798e-7),
        V(-1.361197204319702336e-7), V(2.613145870923956346e-8), V(3.922377494569263678e-9),
        V(1.930550928341464429e-10), V(6.621479020937691298e-10), V(-5.618027658915205024e-9),
        V(3.663099706885392573e-9), V(-2.56688253565794254e-10), V(-2.283670456893157959e-10));
  }
};

// x = n pi/2 + r: the sine and cosine of r, and n's last bits.
template <class T> struct Circle {
  Vec<T> sine, cosine;
  typename Vec<T>::Bits quarter;
};
template <class T> RL_INLINE Circle<T> circle_of(Vec<T> x) {
  using V = Vec<T>;
  using C = CircularCoefficients<T>;
  const V magic(Format<T>::magic);
  const V t = fma(x, V(T(0.63661977236758134308)), magic);
  const V r = C::rest(x, t - magic);
  const V z = r * r;
  const V half = V(T(0.5)) * z, w = V(T(1)) - half;
  return {fma(r * z, C::sin_tail(z), r), w + fma(z * z, C::cos_tail(z), (V(T(1)) - w) - half),
          t.bits()};
}
// The sine with `turn` quarters added: 0 sine, 1 cosine.
template <int turn, class T> RL_INLINE Vec<T> sine_of(const Circle<T>& c) {
  using V = Vec<T>;
  const typename V::Bits q = c.quarter + turn;
  const V y = select((q & 1) != 0, c.cosine, c.sine);
  return V::of_bits(y.bits() ^ ((q & 2) << (sizeof(T) * 8 - 2)));
}
template <class T, class F> RL_INLINE Vec<T> with_large(Vec<T> x, Vec<T> y, F&& libm) {
  using V = Vec<T>;
  const auto large = abs(x) > V(CircularCoefficients<T>::largest);
  if (__builtin_expect(any(large), 0)) {
    T lanes[V::size];
    x.store((char*)lanes);
    libm(lanes, int(V::size));
    y = select(large, V::load((const char*)lanes), y);
  }
  return y;
}
template <class T> RL_INLINE Vec<T> sin(Vec<T> x) {
  const Vec<T> y = select(abs(x) < Vec<T>(T(1e-18)), x, sine_of<0>(circle_of(x)));
  return with_large(x, y, [](T* p, int n) { sin_items(p, n); });
}
template <class T> RL_INLINE Vec<T> cos(Vec<T> x) {
  return with_large(x, sine_of<1>(circle_of(x)), [](T* p, int n) { cos_items(p, n); });
}
template <class T> RL_INLINE Vec<T> tan(Vec<T> x) {
  using V = Vec<T>;
  const Circle<T> c = circle_of(x);
  const auto odd = (c.quarter & 1) != 0;
  const V y = select(odd, -c.cosine, c.sine) / select(odd, c.sine, c.cosine);
  return with_large(x, select(abs(x) < V(T(1e-18)), x, y), [](T* p, int n) { tan_items(p, n); });
}

template <class T> RL_INLINE Vec<T> erf(Vec<T> x) {
  using V = Vec<T>;
  using C = CircularCoefficients<T>;
  const V a = abs(x), most(C::erf_most), split(C::erf_split);
  const V small = fma(x, C::erf_small(x * x), x);
  const V g = C::erf_exponent(select(a < split, split, select(a > most, most, a)));
  const Reduced<T> e = reduce_by_ln2(g);
  const V large = V(T(1)) - exp_of_rest(e.r) * power_of_two<T>(e.whole);
  return select(a < split, small, select(isnan(x), x, copysign(large, x)));
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
