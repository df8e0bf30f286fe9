// Hinge losses over classes: rows in parallel, added up in order.
#include "kernels/margin.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 8192;  // elements: less is not worth another thread

template <class F> void dispatch_wide(DType t, F&& f) {
  if (t == DType::Double) f(double());
  else f(float());
}

template <class F> void over_rows(const MarginLoss& m, F&& f) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, m.classes));
  parallel_for(0, m.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r);
  });
}

// Writes every row's loss, or their sum or mean.
template <class T, class F> void reduce_rows(const MarginLoss& m, T* out, F&& loss_of) {
  if (m.reduction == Reduction::None) {
    over_rows(m, [&](int64_t r) { out[r] = loss_of(r); });
    return;
  }
  std::vector<T> losses(static_cast<size_t>(m.rows));
  over_rows(m, [&](int64_t r) { losses[size_t(r)] = loss_of(r); });
  double sum = 0;
  for (T loss : losses) sum += double(loss);
  *out = T(m.reduction == Reduction::Mean && m.rows ? sum / double(m.rows) : sum);
}

// What the gradient at each score of row r is a multiple of.
template <class T> T scale_of(const MarginLoss& m, const T* grad, int64_t r) {
  const T each = m.reduction == Reduction::None ? grad[r] : grad[0];
  const bool mean = m.reduction == Reduction::Mean;
  return each / T(mean ? m.rows * m.classes : m.classes);
}

template <class T> T hinge_of_row(const MarginLoss& m, const T* x, int64_t target) {
  const T margin = T(m.margin), right = x[target];
  T sum = 0;
  for (int64_t k = 0; k < m.classes; ++k) {
    const T z = margin - right + x[k];
    if (k != target && z > 0) sum += m.squared ? z * z : z;
  }
  if (m.weight) sum *= static_cast<const T*>(m.weight)[target];
  return sum / T(m.classes);
}

template <class T>
void hinge_gradient(const MarginLoss& m, T scale, const T* x, int64_t target, T* out) {
  const T margin = T(m.margin), right = x[target];
  if (m.weight) scale *= static_cast<const T*>(m.weight)[target];
  T sum = 0;
  for (int64_t k = 0; k < m.classes; ++k) {
    const T z = margin - right + x[k];
    out[k] = k != target && z > 0 ? (m.squared ? 2 * scale * z : scale) : T(0);
    sum += out[k];
  }
  out[target] = -sum;
}

// The number of labels before the -1 that ends the row.
int64_t count_labels(const MarginLoss& m, const int64_t* target) {
  int64_t n = 0;
  while (n < m.classes && target[n] >= 0) ++n;
  return n;
}

template <class T>
T multilabel_row(const MarginLoss& m, const T* x, const int64_t* target, T* is_target) {
  const int64_t labels = count_labels(m, target);
  std::fill(is_target, is_target + m.classes, T(0));
  for (int64_t l = 0; l < labels; ++l) is_target[target[l]] = 1;
  T sum = 0;
  for (int64_t l = 0; l < labels; ++l) {
    for (int64_t k = 0; k < m.classes; ++k) {
      const T z = 1 - x[target[l]] + x[k];
      if (is_target[k] == 0 && z > 0) sum += z;
    }
  }
  return sum / T(m.classes);
}

template <class T>
void multilabel_gradient(const MarginLoss& m, T scale, const T* x, const int64_t* target,
                         const T* is_target, T* out) {
  const int64_t labels = count_labels(m, target);
  std::fill(out, out + m.classes, T(0));
  for (int64_t l = 0; l < labels; ++l) {
    for (int64_t k = 0; k < m.classes; ++k) {
      if (is_target[k] != 0 || !(1 - x[target[l]] + x[k] > 0)) continue;
      out[target[l]] -= scale;
      out[k] += scale;
    }
  }
}

}  // namespace

bool bad_margin_target(const MarginLoss& m, bool several) {
  const int64_t lowest = several ? -1 : 0, n = m.rows * (several ? m.classes : 1);
  return std::any_of(m.target, m.target + n,
                     [&](int64_t t) { return t < lowest || t >= m.classes; });
}

void multi_margin_loss(const MarginLoss& m, const void* scores, void* out) {
  dispatch_wide(m.dtype, [&](auto number) {
    using T = decltype(number);
    const T* const x = static_cast<const T*>(scores);
    reduce_rows(m, static_cast<T*>(out),
                [&](int64_t r) { return hinge_of_row(m, x + r * m.classes, m.target[r]); });
  });
}

void multi_margin_loss_backward(const MarginLoss& m, const void* grad, const void* scores,
                                void* dscores) {
  dispatch_wide(m.dtype, [&](auto number) {
    using T = decltype(number);
    over_rows(m, [&](int64_t r) {
      hinge_gradient(m, scale_of(m, static_cast<const T*>(grad), r),
                     static_cast<const T*>(scores) + r * m.classes, m.target[r],
                     static_cast<T*>(dscores) + r * m.classes);
    });
  });
}

void multilabel_margin_loss(const MarginLoss& m, const void* scores, void* out, void* is_target) {
  dispatch_wide(m.dtype, [&](auto number) {
    using T = decltype(number);
    reduce_rows(m, static_cast<T*>(out), [&](int64_t r) {
      const int64_t at = r * m.classes;
      return multilabel_row(m, static_cast<const T*>(scores) + at, m.target + at,
                            static_cast<T*>(is_target) + at);
    });
  });
}

void multilabel_margin_loss_backward(const MarginLoss& m, const void* grad, const void* scores,
                                     const void* is_target, void* dscores) {
  dispatch_wide(m.dtype, [&](auto number) {
    using T = decltype(number);
    over_rows(m, [&](int64_t r) {
      const int64_t at = r * m.classes;
      multilabel_gradient(m, scale_of(m, static_cast<const T*>(grad), r),
                          static_cast<const T*>(scores) + at, m.target + at,
                          static_cast<const T*>(is_target) + at, static_cast<T*>(dscores) + at);
    });
  });
}

}  // namespace rl::kernels
