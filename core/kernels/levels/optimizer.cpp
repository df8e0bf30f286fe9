// Optimizer steps, element by element, each sum and product in the order PyTorch's steps take.
#include "kernels/levels/optimizer.h"

#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

// a b + c with one rounding where the level has it, which is how PyTorch's loops compute it.
template <class T> RL_INLINE Lanes<T> fused(Lanes<T> a, Lanes<T> b, Lanes<T> c) {
  return fma(Vec<T>(a), Vec<T>(b), Vec<T>(c)).raw;
}
template <class T> RL_INLINE Lanes<T> fused(Lanes<T> a, T b, Lanes<T> c) {
  return fused<T>(a, all(b), c);
}

// The running mean of squares: v beta + g^2 rest.
template <class T> RL_INLINE Lanes<T> mean_square(Lanes<T> v, T beta, Lanes<T> g, T rest) {
  return fused<T>(g * rest, g, v * beta);
}

// The gradient with sign and weight decay; p is the parameter, shrunk where the decay is decoupled.
template <class T, class L>
RL_INLINE Lanes<T> gradient(const StepRange<T>& r, const StepNumbers& s, int64_t i, L lanes,
                            Lanes<T>& p) {
  Lanes<T> g = load(r.grad + i, lanes);
  p = load(r.param + i, lanes);
  if (s.maximize) g = -g;
  if (s.decay != 0) g = fused<T>(p, T(s.decay), g);
  if (s.shrink != 1) p *= T(s.shrink);
  return g;
}

// a + weight (b - a), from the nearer end as PyTorch's lerp.
template <class T> RL_INLINE Lanes<T> lerp(Lanes<T> a, Lanes<T> b, T weight) {
  return weight < T(0.5) ? fused<T>(b - a, weight, a) : fused<T>(b - a, weight - T(1), b);
}

template <class T> void sgd(const StepRange<T>& r, const StepNumbers& s) {
  const T minus_lr = T(s.k[0]), momentum = T(s.k[1]), rest = T(s.k[2]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    if (r.a) {
      const Lanes<T> buffer = s.flag2 ? g : fused<T>(g, rest, load(r.a + i, lanes) * momentum);
      store(r.a + i, buffer, lanes);
      g = s.flag ? fused<T>(buffer, momentum, g) : buffer;
    }
    store(r.param + i, fused<T>(g, minus_lr, p), lanes);
  });
}

template <class T> void adam(const StepRange<T>& r, const StepNumbers& s) {
  const T weight = T(s.k[0]), beta2 = T(s.k[1]), rest2 = T(s.k[2]);
  const T correction = T(s.k[3]), eps = T(s.k[4]), minus_step = T(s.k[5]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> m = lerp(load(r.a + i, lanes), g, weight);
    Lanes<T> v = mean_square<T>(load(r.b + i, lanes), beta2, g, rest2);
    store(r.a + i, m, lanes);
    store(r.b + i, v, lanes);
    if (s.flag) {
      v = maximum(load(r.c + i, lanes), v);
      store(r.c + i, v, lanes);
    }
    const Lanes<T> denominator = square_root(v) / correction + eps;
    store(r.param + i, p + m * minus_step / denominator, lanes);
  });
}

template <class T> void nadam(const StepRange<T>& r, const StepNumbers& s) {
  const T weight = T(s.k[0]), beta2 = T(s.k[1]), rest2 = T(1 - s.k[1]);
  const T correction = T(s.k[2]), eps = T(s.k[3]), of_grad = T(s.k[4]), of_avg = T(s.k[5]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> m = lerp(load(r.a + i, lanes), g, weight);
    const Lanes<T> v = mean_square<T>(load(r.b + i, lanes), beta2, g, rest2);
    store(r.a + i, m, lanes);
    store(r.b + i, v, lanes);
    const Lanes<T> denominator = square_root(v / correction) + eps;
    store(r.param + i, p + g * of_grad / denominator + m * of_avg / denominator, lanes);
  });
}

template <class T> void radam(const StepRange<T>& r, const StepNumbers& s) {
  const T weight = T(s.k[0]), beta2 = T(s.k[1]), rest2 = T(1 - s.k[1]);
  const T correction = T(s.k[2]), lr = T(s.k[3]), rectified = T(s.k[4]), eps = T(s.k[5]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> m = lerp(load(r.a + i, lanes), g, weight);
    const Lanes<T> v = mean_square<T>(load(r.b + i, lanes), beta2, g, rest2);
    store(r.a + i, m, lanes);
    store(r.b + i, v, lanes);
    Lanes<T> update = m / correction * lr;
    if (s.flag) update *= rectified / (square_root(v) + eps);
    store(r.param + i, p - update, lanes);
  });
}

template <class T> void adamax(const StepRange<T>& r, const StepNumbers& s) {
  const T weight = T(s.k[0]), beta2 = T(s.k[1]), eps = T(s.k[2]), minus_step = T(s.k[3]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> m = lerp(load(r.a + i, lanes), g, weight);
    const Lanes<T> u = maximum<Lanes<T>>(load(r.b + i, lanes) * beta2, absolute(g) + eps);
    store(r.a + i, m, lanes);
    store(r.b + i, u, lanes);
    store(r.param + i, p + m * minus_step / u, lanes);
  });
}

template <class T> void adagrad(const StepRange<T>& r, const StepNumbers& s) {
  const T eps = T(s.k[0]), minus_step = T(s.k[1]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> sum = fused<T>(g, g, load(r.a + i, lanes));
    store(r.a + i, sum, lanes);
    store(r.param + i, p + g * minus_step / (square_root(sum) + eps), lanes);
  });
}

template <class T> void adadelta(const StepRange<T>& r, const StepNumbers& s) {
  const T rho = T(s.k[0]), rest = T(1 - s.k[0]), eps = T(s.k[1]), minus_lr = T(s.k[2]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> v = mean_square<T>(load(r.a + i, lanes), rho, g, rest);
    const Lanes<T> past = load(r.b + i, lanes);
    const Lanes<T> delta = square_root(past + eps) / square_root(v + eps) * g;
    store(r.a + i, v, lanes);
    store(r.b + i, mean_square<T>(past, rho, delta, rest), lanes);
    store(r.param + i, fused<T>(delta, minus_lr, p), lanes);
  });
}

template <class T> void rmsprop(const StepRange<T>& r, const StepNumbers& s) {
  const T alpha = T(s.k[0]), rest = T(1 - s.k[0]), eps = T(s.k[1]), minus_lr = T(s.k[2]);
  const T momentum = T(s.k[3]);
  sweep<T>(r.n, [&](int64_t i, auto lanes) {
    Lanes<T> p, g = gradient(r, s, i, lanes, p);
    const Lanes<T> v = mean_square<T>(load(r.a + i, lanes), alpha, g, rest);
    store(r.a + i, v, lanes);
    Lanes<T> spread = v;
    if (s.flag) {
      const Lanes<T> mean = lerp(load(r.b + i, lanes), g, rest);
      store(r.b + i, mean, lanes);
      spread = fused<T>(-mean, mean, spread);
    }
    const Lanes<T> denominator = square_root(spread) + eps;
    if (r.c) {
      const Lanes<T> buffer = load(r.c + i, lanes) * momentum + g / denominator;
      store(r.c + i, buffer, lanes);
      store(r.param + i, fused<T>(buffer, minus_lr, p), lanes);
    } else {
      store(r.param + i, p + g * minus_lr / denominator, lanes);
    }
  });
}

template <class T> constexpr OptimizerLoops<T> table() {
  return {sgd<T>, adam<T>, nadam<T>, radam<T>, adamax<T>, adagrad<T>, adadelta<T>, rmsprop<T>};
}

}  // namespace

const OptimizerLoops<float> optimizer_loops_float = table<float>();
const OptimizerLoops<double> optimizer_loops_double = table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
