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
// x^2: sin(x) = x + x^3 s(z), cos(x) = 1 - z/2 + z^2 c(z); erf(x) = x + x e(z) up to a split and
// 1 - exp(g(|x| - split)) beyond: g is developed there, where its rounding errors weigh most.
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
  static RL_INLINE V erf_exponent(V t) {
    return polynomial(
        t,
        V(-1.643862292f), V(-2.504890028f), V(-0.8327279842f), V(-0.0449425714f),
        V(0.01094682038f), V(-0.002229963217f), V(0.0003496066856f), V(-3.76581057e-5f),
        V(2.301916049e-6f), V(-4.988251603e-8f));
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
  static RL_INLINE V erf_exponent(V t) {
    return polynomial(
        t,
        V(-1.84960550993324824), V(-2.638967514234793672), V(-0.8431072563583675449),
        V(-0.0415610980488282332), V(0.01003382545840181841), V(-0.001977903177353079914),
        V(0.0002373253938968954), V(0.00002626820510067578625),
        V(-0.00002713597716731436378), V(9.56798726985793299e-6),
        V(-2.005331485267747457e-6), V(8.771565581488071934e-8),
        V(1.404053398081288148e-7), V(-7.764469103812680315e-8),
        V(2.666050431143790813e-8), V(-6.980264698463312032e-9),
        V(1.457570447558680829e-9), V(-2.426604835566708625e-10),
        V(3.115720328429077649e-11), V(-2.795924869211813757e-12),
        V(1.10911595399812286e-13), V(1.286441294903275538e-14),
        V(-2.960434260326810648e-15), V(2.978113776967863864e-16),
        V(-1.805351897219383128e-17), V(6.396074041378350149e-19),
        V(-1.028473741870103653e-20));
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

RL_INLINE Vec<float> tan(Vec<float> x) {
  using V = Vec<float>;
  const V magic(Format<float>::magic);
  const V t = fma(x, V(0.63661977236758134308f), magic);
  const V r = CircularCoefficients<float>::rest(x, t - magic), z = r * r;
  const V p = fma(r * z, polynomial(z, V(0.3333333401f), V(0.1333322718f), V(0.05399528776f),
                                    V(0.02161466421f), V(0.00998475502f), V(0.001149296123f),
                                    V(0.003864462452f)), r);
  const V y = select((t.bits() & 1) != 0, V(-1.0f) / p, p);
  const V near = select(abs(x) < V(1e-18f), x, y);
  return with_large(x, near, [](float* p, int n) { tan_items(p, n); });
}

template <class T> RL_INLINE Vec<T> erf(Vec<T> x) {
  using V = Vec<T>;
  using C = CircularCoefficients<T>;
  const V a = abs(x), split(C::erf_split);
  const V small = fma(x, C::erf_small(x * x), x);
  const V t = least_of(V(C::erf_most - C::erf_split), a - split);
  const V g = C::erf_exponent(most_of(V(T(0)), t));
  const Reduced<T> e = reduce_by_ln2(g);
  const V large = V(T(1)) - exp_of_rest(e.r) * power_of_two<T>(e.whole);
  return select(a < split, small, select(isnan(x), x, copysign(large, x)));
}

// The normal distribution: floats by one exponential, accurate in the lower tail as well, down to
// -6, from where on it counts as nothing (as it does where 1 + erf(x) is rounded). So gelu's error
// is 2.7 units in the last place above -1 and 80 at -6, where the plain formula has no digit right.
RL_INLINE Vec<float> normal_cdf(Vec<float> x) {
  using V = Vec<float>;
  const V a = abs(x);
  const V g = polynomial(least_of(V(6.0f), a),
                         V(-0.6931471357f), V(-0.7978867042f), V(-0.3182932543f),
                         V(-0.03638481223f), V(0.004853712186f), V(-1.789225921e-5f),
                         V(-0.0001938478713f), V(5.658837908e-5f), V(-9.212001086e-6f),
                         V(9.263862089e-7f), V(-5.377135288e-8f), V(1.381681469e-9f));
  const Reduced<float> e = reduce_by_ln2(g);
  const V tail = exp_of_rest(e.r) * power_of_two<float>(e.whole);
  const V below = select(a > V(6.0f), V(0.0f), tail);
  return select(x > V(0.0f), V(1.0f) - below, below);
}
RL_INLINE Vec<double> normal_cdf(Vec<double> x) {
  using V = Vec<double>;
  return V(0.5) * (V(1.0) + erf(x * V(0.70710678118654752440)));
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
