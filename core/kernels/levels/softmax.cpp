// Softmax and log-softmax, forward and backward, one row or one vector of columns at a time.
#include "kernels/levels/softmax.h"

#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

template <class T> constexpr T kLowest = -T(__builtin_inff());

template <class T> T row_max(const T* x, int64_t n) {
  Lanes<T> m[4] = {all(kLowest<T>), all(kLowest<T>), all(kLowest<T>), all(kLowest<T>)};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    m[k] = larger(m[k], load(x + i, lanes, kLowest<T>));
  });
  return max_of<T>(larger(larger(m[0], m[1]), larger(m[2], m[3])));
}

// A row of -inf alone gives NaN, as do +inf and NaN: inf - inf spreads through the sum.
template <class T> void softmax_row(const T* x, T* y, int64_t n) {
  if (n <= kLanes<T>) {  // in one register
    const Part lanes{n};
    const Lanes<T> v = load(x, lanes, kLowest<T>), e = exponential(v - max_of<T>(v));
    store(y, e / sum_of<T>(e), lanes);
    return;
  }
  const T m = row_max(x, n);
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    const Lanes<T> e = exponential(load(x + i, lanes, kLowest<T>) - m);
    s[k] += e;
    store(y + i, e, lanes);
  });
  const T sum = sum_of<T>(total(s));
  sweep<T>(n, [&](int64_t i, auto lanes) { store(y + i, load(y + i, lanes) / sum, lanes); });
}

template <class T> void log_softmax_row(const T* x, T* y, int64_t n) {
  if (n <= kLanes<T>) {
    const Part lanes{n};
    const Lanes<T> v = load(x, lanes, kLowest<T>), d = v - max_of<T>(v);
    const Lanes<T> sum = all(sum_of<T>(exponential(d)));
    store(y, d - natural_log(sum), lanes);
    return;
  }
  const T m = row_max(x, n);
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    s[k] += exponential(load(x + i, lanes, kLowest<T>) - m);
  });
  const T log_sum = natural_log(all(sum_of<T>(total(s))))[0];
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(y + i, load(x + i, lanes) - m - log_sum, lanes);
  });
}

template <class T> void softmax_backward_row(const T* grad, const T* y, T* dx, int64_t n) {
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    s[k] += load(grad + i, lanes) * load(y + i, lanes);
  });
  const T sum = sum_of<T>(total(s));
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(dx + i, (load(grad + i, lanes) - sum) * load(y + i, lanes), lanes);
  });
}

template <class T> void log_softmax_backward_row(const T* grad, const T* y, T* dx, int64_t n) {
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) { s[k] += load(grad + i, lanes); });
  const T sum = sum_of<T>(total(s));
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(dx + i, load(grad + i, lanes) - exponential(load(y + i, lanes)) * sum, lanes);
  });
}

template <class T>
void softmax_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
  sweep<T>(width, [&](int64_t c, auto lanes) {
    Lanes<T> m = all(kLowest<T>), sum = {};
    for (int64_t j = 0; j < n; ++j) m = larger(m, load(x + c + j * stride, lanes));
    for (int64_t j = 0; j < n; ++j) {
      const Lanes<T> e = exponential(load(x + c + j * stride, lanes) - m);
      sum += e;
      store(y + c + j * stride, e, lanes);
    }
    for (int64_t j = 0; j < n; ++j) {
      T* p = y + c + j * stride;
      store(p, load(p, lanes) / sum, lanes);
    }
  });
}

template <class T>
void log_softmax_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
  sweep<T>(width, [&](int64_t c, auto lanes) {
    Lanes<T> m = all(kLowest<T>), sum = {};
    for (int64_t j = 0; j < n; ++j) m = larger(m, load(x + c + j * stride, lanes));
    for (int64_t j = 0; j < n; ++j) sum += exponential(load(x + c + j * stride, lanes) - m);
    const Lanes<T> log_sum = natural_log(sum);
    for (int64_t j = 0; j < n; ++j)
      store(y + c + j * stride, load(x + c + j * stride, lanes) - m - log_sum, lanes);
  });
}

template <class T>
void softmax_backward_columns(const T* grad, const T* y, T* dx, int64_t n, int64_t stride,
                              int64_t width) {
  sweep<T>(width, [&](int64_t c, auto lanes) {
    Lanes<T> sum = {};
    for (int64_t o = c, j = 0; j < n; ++j, o += stride)
      sum += load(grad + o, lanes) * load(y + o, lanes);
    for (int64_t o = c, j = 0; j < n; ++j, o += stride)
      store(dx + o, (load(grad + o, lanes) - sum) * load(y + o, lanes), lanes);
  });
}

template <class T>
void log_softmax_backward_columns(const T* grad, const T* y, T* dx, int64_t n, int64_t stride,
                                  int64_t width) {
  sweep<T>(width, [&](int64_t c, auto lanes) {
    Lanes<T> sum = {};
    for (int64_t o = c, j = 0; j < n; ++j, o += stride) sum += load(grad + o, lanes);
    for (int64_t o = c, j = 0; j < n; ++j, o += stride)
      store(dx + o, load(grad + o, lanes) - exponential(load(y + o, lanes)) * sum, lanes);
  });
}

template <class T> constexpr SoftmaxLoops<T> table() {
  return {softmax_row<T>, log_softmax_row<T>, softmax_backward_row<T>,
          log_softmax_backward_row<T>, softmax_columns<T>, log_softmax_columns<T>,
          softmax_backward_columns<T>, log_softmax_backward_columns<T>};
}

}  // namespace

const SoftmaxLoops<float> softmax_loops_float = table<float>();
const SoftmaxLoops<double> softmax_loops_double = table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
