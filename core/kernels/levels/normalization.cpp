// Loops of layer, RMS, group and batch normalisation.
#include "kernels/levels/normalization.h"

#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

template <class T> void moments(const T* x, int64_t n, T* mean, T* squares) {
  Lanes<T> s[4] = {}, q[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) { s[k] += load(x + i, lanes); });
  const T m = sum_of<T>(total(s)) / T(n);
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    const Lanes<T> d = load(x + i, lanes, m) - m;
    q[k] += d * d;
  });
  *mean = m;
  *squares = sum_of<T>(total(q));
}

template <class T> T sum_squares(const T* x, int64_t n) {
  Lanes<T> q[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    const Lanes<T> v = load(x + i, lanes);
    q[k] += v * v;
  });
  return sum_of<T>(total(q));
}

template <class T>
void normalize(const T* x, T* y, int64_t n, T mean, T rstd, const T* gamma, const T* beta) {
  if (gamma && beta) {
    sweep<T>(n, [&](int64_t i, auto lanes) {
      store(y + i, (load(x + i, lanes) - mean) * rstd * load(gamma + i, lanes) +
                       load(beta + i, lanes), lanes);
    });
    return;
  }
  sweep<T>(n, [&](int64_t i, auto lanes) {
    Lanes<T> v = (load(x + i, lanes) - mean) * rstd;
    if (gamma) v *= load(gamma + i, lanes);
    if (beta) v += load(beta + i, lanes);
    store(y + i, v, lanes);
  });
}

template <class T> void affine(const T* x, T* y, int64_t n, T a, T b) {
  sweep<T>(n, [&](int64_t i, auto lanes) { store(y + i, load(x + i, lanes) * a + b, lanes); });
}

template <class T> void affine_rows(const T* x, T* y, int64_t n, const T* a, const T* b) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(y + i, load(x + i, lanes) * load(a + i, lanes) + load(b + i, lanes), lanes);
  });
}

// With h = (x - mean) rstd and d = grad gamma: dx = rstd (d - mean(d) - h mean(d h)); RMS has no
// mean to take off.
template <class T, bool Centered>
RL_INLINE void row_backward(const T* grad, const T* x, const T* gamma, T mean, T rstd, T* dx,
                            T* dgamma, T* dbeta, int64_t n) {
  if (dx) {
    Lanes<T> s[4] = {}, p[4] = {};
    sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
      Lanes<T> d = load(grad + i, lanes);
      if (gamma) d *= load(gamma + i, lanes);
      if (Centered) s[k] += d;
      p[k] += d * (load(x + i, lanes) - mean);
    });
    const T slope = sum_of<T>(total(p)) * rstd * rstd * rstd / T(n);
    const T shift = Centered ? sum_of<T>(total(s)) * rstd / T(n) : T(0);
    sweep<T>(n, [&](int64_t i, auto lanes) {
      Lanes<T> d = load(grad + i, lanes) * rstd;
      if (gamma) d *= load(gamma + i, lanes);
      store(dx + i, d - (load(x + i, lanes) - mean) * slope - shift, lanes);
    });
  }
  if (!dgamma && !dbeta) return;
  sweep<T>(n, [&](int64_t i, auto lanes) {
    const Lanes<T> g = load(grad + i, lanes);
    if (dgamma)
      store(dgamma + i, load(dgamma + i, lanes) + g * (load(x + i, lanes) - mean) * rstd, lanes);
    if (dbeta) store(dbeta + i, load(dbeta + i, lanes) + g, lanes);
  });
}

template <class T>
void layer_backward(const T* grad, const T* x, const T* gamma, T mean, T rstd, T* dx, T* dgamma,
                    T* dbeta, int64_t n) {
  row_backward<T, true>(grad, x, gamma, mean, rstd, dx, dgamma, dbeta, n);
}

template <class T>
void rms_backward(const T* grad, const T* x, const T* gamma, T rstd, T* dx, T* dgamma,
                  int64_t n) {
  row_backward<T, false>(grad, x, gamma, T(0), rstd, dx, dgamma, nullptr, n);
}

template <class T>
void gradient_sums(const T* grad, const T* x, T mean, int64_t n, T* sum, T* product) {
  Lanes<T> s[4] = {}, p[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    const Lanes<T> g = load(grad + i, lanes);
    s[k] += g;
    p[k] += g * (load(x + i, lanes) - mean);
  });
  *sum = sum_of<T>(total(s));
  *product = sum_of<T>(total(p));
}

template <class T> void combine(const T* grad, const T* x, T* dx, int64_t n, T a, T b, T c) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(dx + i, load(grad + i, lanes) * a + load(x + i, lanes) * b + c, lanes);
  });
}

template <class T>
void combine_rows(const T* grad, const T* x, T* dx, int64_t n, const T* a, const T* b,
                  const T* c) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(dx + i, load(grad + i, lanes) * load(a + i, lanes) +
                      load(x + i, lanes) * load(b + i, lanes) + load(c + i, lanes), lanes);
  });
}

template <class T> void add_squares(const T* x, const T* mean, T* squares, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    const Lanes<T> d = load(x + i, lanes) - load(mean + i, lanes);
    store(squares + i, load(squares + i, lanes) + d * d, lanes);
  });
}

template <class T>
void add_gradient(const T* grad, const T* x, const T* mean, T* sum, T* product, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    const Lanes<T> g = load(grad + i, lanes);
    store(sum + i, load(sum + i, lanes) + g, lanes);
    store(product + i, load(product + i, lanes) +
                           g * (load(x + i, lanes) - load(mean + i, lanes)), lanes);
  });
}

template <class T> constexpr NormalizationLoops<T> table() {
  return {moments<T>, sum_squares<T>, normalize<T>, affine<T>, affine_rows<T>, layer_backward<T>,
          rms_backward<T>, gradient_sums<T>, combine<T>, combine_rows<T>,
          add_squares<T>, add_gradient<T>};
}

}  // namespace

const NormalizationLoops<float> normalization_loops_float = table<float>();
const NormalizationLoops<double> normalization_loops_double = table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
