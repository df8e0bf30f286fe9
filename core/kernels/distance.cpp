// Distances between pairs of rows: one functor per norm, rows in parallel.
#include "kernels/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 16384;  // differences: less is not worth another thread

// Each norm: `add` takes in an absolute difference, `finish` makes the distance of what was added
// up, `slope` is the distance's derivative by a difference, times the incoming gradient.
template <class T> struct CountNorm {
  explicit CountNorm(double) {}
  T add(T sum, T gap) const { return sum + T(gap != 0); }
  T finish(T sum) const { return sum; }
  T slope(T, T, T) const { return 0; }
};
// Zero and NaN are rare: a branch on them is foreseen, one on the sign would not be.
template <class T> T sign_of(T v) {
  return v == 0 || v != v ? T(0) : std::copysign(T(1), v);
}
template <class T> struct SumNorm {
  explicit SumNorm(double) {}
  T add(T sum, T gap) const { return sum + gap; }
  T finish(T sum) const { return sum; }
  T slope(T gap, T grad, T) const { return grad * sign_of(gap); }
};
template <class T> struct EuclideanNorm {
  explicit EuclideanNorm(double) {}
  T add(T sum, T gap) const { return sum + gap * gap; }
  T finish(T sum) const { return std::sqrt(sum); }
  T slope(T gap, T grad, T distance) const { return distance == 0 ? T(0) : grad * gap / distance; }
};
template <class T> struct LargestNorm {
  explicit LargestNorm(double) {}
  T add(T most, T gap) const { return gap > most || gap != gap ? gap : most; }
  T finish(T most) const { return most; }
  T slope(T gap, T grad, T distance) const {
    return grad * sign_of(gap) * T(std::abs(gap) == distance);
  }
};
template <class T> struct PowerNorm {
  T p;
  explicit PowerNorm(double power) : p(T(power)) {}
  T add(T sum, T gap) const { return sum + std::pow(gap, p); }
  T finish(T sum) const { return std::pow(sum, 1 / p); }
  T slope(T gap, T grad, T distance) const {
    if (distance == 0 || (gap == 0 && p < 1)) return 0;
    return sign_of(gap) * std::pow(std::abs(gap), p - 1) * grad / std::pow(distance, p - 1);
  }
};

template <class T, class F> void with_norm(double p, F&& f) {
  if (p == 0) f(CountNorm<T>(p));
  else if (p == 1) f(SumNorm<T>(p));
  else if (p == 2) f(EuclideanNorm<T>(p));
  else if (std::isinf(p)) f(LargestNorm<T>(p));
  else f(PowerNorm<T>(p));
}

template <class F> void dispatch_norm(const Distances& d, F&& f) {
  if (d.dtype == DType::Double) with_norm<double>(d.p, [&](auto norm) { f(norm, double()); });
  else with_norm<float>(d.p, [&](auto norm) { f(norm, float()); });
}

// Eight sums side by side, added up in a fixed order.
template <class T, class Norm> T distance(const Norm& norm, const T* a, const T* b, int64_t n) {
  constexpr int64_t kLanes = 8;
  T part[kLanes] = {};
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) part[l] = norm.add(part[l], std::abs(a[k + l] - b[k + l]));
  T total = 0;
  for (; k < n; ++k) total = norm.add(total, std::abs(a[k] - b[k]));
  if constexpr (std::is_same_v<Norm, LargestNorm<T>>) {
    for (T v : part) total = norm.add(total, v);
  } else {
    for (T v : part) total += v;
  }
  return norm.finish(total);
}

template <class T, class Norm>
void add_slopes(const Norm& norm, const T* a, const T* b, int64_t n, T grad, T distance,
                T* __restrict made) {
  for (int64_t k = 0; k < n; ++k) made[k] += norm.slope(a[k] - b[k], grad, distance);
}

int64_t rows_per_task(int64_t work) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
}

// The place of the pair (i, j), i < j, among the pairs of n rows.
int64_t pair_place(int64_t i, int64_t j, int64_t n) { return i * n - i * (i + 1) / 2 + j - i - 1; }

}  // namespace

void cdist(const Distances& d, const void* first, const void* second, void* out) {
  dispatch_norm(d, [&](const auto& norm, auto number) {
    using T = decltype(number);
    parallel_for(0, d.batch * d.n, rows_per_task(d.m * d.dim), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* const a = static_cast<const T*>(first) + r * d.dim;
        const T* const others = static_cast<const T*>(second) + r / d.n * d.m * d.dim;
        T* const row = static_cast<T*>(out) + r * d.m;
        for (int64_t j = 0; j < d.m; ++j) row[j] = distance(norm, a, others + j * d.dim, d.dim);
      }
    });
  });
}

void cdist_backward(const Distances& d, const void* grad, const void* first, const void* second,
                    const void* out, void* dfirst) {
  dispatch_norm(d, [&](const auto& norm, auto number) {
    using T = decltype(number);
    parallel_for(0, d.batch * d.n, rows_per_task(d.m * d.dim), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* const a = static_cast<const T*>(first) + r * d.dim;
        T* const made = static_cast<T*>(dfirst) + r * d.dim;
        std::fill(made, made + d.dim, T(0));
        for (int64_t j = 0; j < d.m; ++j) {
          const T* const b = static_cast<const T*>(second) + (r / d.n * d.m + j) * d.dim;
          const T g = static_cast<const T*>(grad)[r * d.m + j];
          const T far = static_cast<const T*>(out)[r * d.m + j];
          add_slopes(norm, a, b, d.dim, g, far, made);
        }
      }
    });
  });
}

void pdist(const Distances& d, const void* rows, void* out) {
  dispatch_norm(d, [&](const auto& norm, auto number) {
    using T = decltype(number);
    const T* const x = static_cast<const T*>(rows);
    parallel_for(0, d.n, rows_per_task(d.n * d.dim / 2), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = i + 1; j < d.n; ++j)
          static_cast<T*>(out)[pair_place(i, j, d.n)] =
              distance(norm, x + i * d.dim, x + j * d.dim, d.dim);
    });
  });
}

void pdist_backward(const Distances& d, const void* grad, const void* rows, const void* out,
                    void* drows) {
  dispatch_norm(d, [&](const auto& norm, auto number) {
    using T = decltype(number);
    const T* const x = static_cast<const T*>(rows);
    parallel_for(0, d.n, rows_per_task(d.n * d.dim), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const made = static_cast<T*>(drows) + i * d.dim;
        std::fill(made, made + d.dim, T(0));
        for (int64_t j = 0; j < d.n; ++j) {
          if (i == j) continue;
          const int64_t at = pair_place(std::min(i, j), std::max(i, j), d.n);
          const T g = static_cast<const T*>(grad)[at], far = static_cast<const T*>(out)[at];
          add_slopes(norm, x + i * d.dim, x + j * d.dim, d.dim, g, far, made);
        }
      }
    });
  });
}

}  // namespace rl::kernels
