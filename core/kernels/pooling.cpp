// Pooling: planes divided among threads; adaptive windows and the gradient of max.
#include "kernels/pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/half_copies.h"
#include "kernels/levels/pooling_level.h"
#include "kernels/vectorised.h"

namespace rl::kernels {
namespace {

int64_t grain_of(const Pooling& p, int64_t work) {
  return 1 + 16384 / (work + p.in_size() + p.out_size() + 1);
}
int64_t sliding_work(const Pooling& p) {
  return p.out_size() * p.kernel[0] * p.kernel[1] * p.kernel[2];
}

// Calls f(plane) for each, on several threads if it pays.
template <class F> void for_planes(const Pooling& p, int64_t work, F&& f) {
  parallel_for(0, p.planes, grain_of(p, work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

struct Window {
  int64_t begin[3], end[3];
  int64_t size() const {
    return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]);
  }
};

// Adaptive windows cover the input evenly: from floor(o * in / out) to ceil((o + 1) * in / out).
// Calls f(output, window) for each output of a plane.
template <class F> void for_adaptive(const Pooling& p, F&& f) {
  Window w;
  const auto set = [&](int d, int64_t o) {
    w.begin[d] = o * p.in[d] / p.out[d];
    w.end[d] = ((o + 1) * p.in[d] + p.out[d] - 1) / p.out[d];
  };
  int64_t output = 0;
  for (int64_t z = 0; z < p.out[0]; ++z) {
    set(0, z);
    for (int64_t y = 0; y < p.out[1]; ++y) {
      set(1, y);
      for (int64_t x = 0; x < p.out[2]; ++x) {
        set(2, x);
        f(output++, w);
      }
    }
  }
}

// Calls f(place of the first value of a row of the window, values in it).
template <class F> void for_rows(const Pooling& p, const Window& w, F&& f) {
  for (int64_t z = w.begin[0]; z < w.end[0]; ++z) {
    for (int64_t y = w.begin[1]; y < w.end[1]; ++y) {
      f((z * p.in[1] + y) * p.in[2] + w.begin[2], w.end[2] - w.begin[2]);
    }
  }
}

// Sixteen partial sums: they keep the adders busy, and are more exact than one.
template <class T> T sum_of(const T* values, int64_t n) {
  T sum[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int j = 0; j < 16; ++j) sum[j] += values[i + j];
  }
  for (int j = 0; i < n; ++i, ++j) sum[j] += values[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sum[j] += sum[j + half];
  }
  return sum[0];
}

template <class T>
void adaptive_max(const Pooling& p, T* output, int64_t* indices, const T* input) {
  for_planes(p, p.in_size(), [&](int64_t plane) {
    const T* from = input + plane * p.in_size();
    const int64_t to = plane * p.out_size();
    for_adaptive(p, [&](int64_t o, const Window& w) {
      int64_t place = (w.begin[0] * p.in[1] + w.begin[1]) * p.in[2] + w.begin[2];
      T best = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::lowest();
      for_rows(p, w, [&](int64_t at, int64_t n) {
        for (int64_t i = at; i < at + n; ++i) {
          if (from[i] > best || from[i] != from[i]) {
            best = from[i];
            place = i;
          }
        }
      });
      output[to + o] = best;
      if (indices) indices[to + o] = place;
    });
  });
}

template <class T> RL_VECTORISED void add_row(T* sums, const T* row, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sums[i] += row[i];
}
template <class T> T sum_few(const T* values, int64_t n) {
  if (n >= 16) return sum_of(values, n);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += values[i];
  return sum;
}

// A row of windows at a time: down their columns first, along whole rows of the input.
template <class T> void adaptive_avg(const Pooling& p, T* output, const T* input) {
  parallel_for(0, p.planes, grain_of(p, p.in_size()), [&](int64_t begin, int64_t end) {
    const int64_t width = p.in[2];
    std::vector<T> columns(size_t(std::max<int64_t>(width, 0)));
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* from = input + plane * p.in_size();
      for_adaptive(p, [&](int64_t o, const Window& w) {
        T* const out = output + plane * p.out_size() + o;
        if (w.size() == p.in_size()) {
          *out = sum_of(from, p.in_size()) / T(w.size());  // the whole plane lies in one piece
          return;
        }
        if (w.begin[2] == 0) {
          std::fill(columns.begin(), columns.end(), T(0));
          for_rows(p, w, [&](int64_t at, int64_t) {
            add_row(columns.data(), from + at, width);
          });
        }
        *out = sum_few(columns.data() + w.begin[2], w.end[2] - w.begin[2]) / T(w.size());
      });
    }
  });
}

template <class T> void adaptive_avg_grad(const Pooling& p, T* grad_input, const T* grad_output) {
  for_planes(p, p.in_size(), [&](int64_t plane) {
    T* to = grad_input + plane * p.in_size();
    std::fill(to, to + p.in_size(), T(0));
    for_adaptive(p, [&](int64_t o, const Window& w) {
      const T share = grad_output[plane * p.out_size() + o] / T(w.size());
      for_rows(p, w, [&](int64_t at, int64_t n) {
        for (int64_t i = at; i < at + n; ++i) to[i] += share;
      });
    });
  });
}

template <class T>
void max_grad(const Pooling& p, T* grad_input, const T* grad_output, const int64_t* indices) {
  for_planes(p, 0, [&](int64_t plane) {
    T* to = grad_input + plane * p.in_size();
    const int64_t from = plane * p.out_size();
    std::fill(to, to + p.in_size(), T(0));
    for (int64_t i = from; i < from + p.out_size(); ++i) {
      // A window may lie wholly in the padding (dilation 2 on an input of 1): it came from nowhere.
      if (uint64_t(indices[i]) < uint64_t(p.in_size())) to[indices[i]] += grad_output[i];
    }
  });
}

// Calls f(result, operand) with typed pointers; halves through float copies.
template <class F>
void with_types(DType dtype, void* result, int64_t result_count, const void* operand,
                int64_t operand_count, F&& f) {
  if (dtype == DType::Float) {
    f(static_cast<float*>(result), static_cast<const float*>(operand));
  } else if (dtype == DType::Double) {
    f(static_cast<double*>(result), static_cast<const double*>(operand));
  } else if (dtype == DType::Int64) {
    f(static_cast<int64_t*>(result), static_cast<const int64_t*>(operand));
  } else {
    FloatCopy from(dtype, operand, operand_count), to(result_count);
    f(to.data(), static_cast<const float*>(from.data()));
    to.round(dtype, result);
  }
}

template <class P> using Element = std::remove_cv_t<std::remove_pointer_t<P>>;

}  // namespace

void max_pool(DType dtype, const Pooling& p, void* output, int64_t* indices, const void* input) {
  with_types(dtype, output, p.planes * p.out_size(), input, p.planes * p.in_size(),
             [&](auto* to, const auto* from) {
    const auto& level = pooling_level<Element<decltype(to)>>();
    for_planes(p, sliding_work(p), [&](int64_t i) {
      level.max(to + i * p.out_size(), indices ? indices + i * p.out_size() : nullptr, p,
                from + i * p.in_size());
    });
  });
}

void adaptive_max_pool(DType dtype, const Pooling& p, void* output, int64_t* indices,
                       const void* input) {
  with_types(dtype, output, p.planes * p.out_size(), input, p.planes * p.in_size(),
             [&](auto* to, const auto* from) { adaptive_max(p, to, indices, from); });
}

void max_pool_backward(DType dtype, const Pooling& p, void* grad_input, const void* grad_output,
                       const int64_t* indices) {
  with_types(dtype, grad_input, p.planes * p.in_size(), grad_output, p.planes * p.out_size(),
             [&](auto* to, const auto* from) { max_grad(p, to, from, indices); });
}

void avg_pool(DType dtype, const Pooling& p, void* output, const void* input) {
  with_types(dtype, output, p.planes * p.out_size(), input, p.planes * p.in_size(),
             [&](auto* to, const auto* from) {
    const auto& level = pooling_level<Element<decltype(to)>>();
    for_planes(p, sliding_work(p), [&](int64_t i) {
      level.average(to + i * p.out_size(), p, from + i * p.in_size());
    });
  });
}

void avg_pool_backward(DType dtype, const Pooling& p, void* grad_input, const void* grad_output) {
  with_types(dtype, grad_input, p.planes * p.in_size(), grad_output, p.planes * p.out_size(),
             [&](auto* to, const auto* from) {
    const auto& level = pooling_level<Element<decltype(to)>>();
    for_planes(p, sliding_work(p), [&](int64_t i) {
      level.average_backward(to + i * p.in_size(), p, from + i * p.out_size());
    });
  });
}

void adaptive_avg_pool(DType dtype, const Pooling& p, void* output, const void* input) {
  with_types(dtype, output, p.planes * p.out_size(), input, p.planes * p.in_size(),
             [&](auto* to, const auto* from) { adaptive_avg(p, to, from); });
}

void adaptive_avg_pool_backward(DType dtype, const Pooling& p, void* grad_input,
                                const void* grad_output) {
  with_types(dtype, grad_input, p.planes * p.in_size(), grad_output, p.planes * p.out_size(),
             [&](auto* to, const auto* from) { adaptive_avg_grad(p, to, from); });
}

}  // namespace rl::kernels
