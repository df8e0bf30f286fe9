// Factors of small matrices without a library call, whose cost would be most of the work.
#pragma once
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/lapack_call.h"

namespace rl::kernels {

constexpr int64_t kSmallMatrix = 12;

// The magnitude LAPACK compares pivots by: |re| + |im|.
template <class T> real_t<T> pivot_size(T v) {
  if constexpr (is_complex_v<T>) return std::abs(v.real()) + std::abs(v.imag());
  else return std::abs(v);
}

// Gaussian elimination with row exchanges; column-major, in place. Returns the first zero pivot.
template <class T> int small_lu(int64_t m, int64_t n, T* a, int32_t* pivots) {
  int info = 0;
  const int64_t steps = m < n ? m : n;
  for (int64_t k = 0; k < steps; ++k) {
    T* const column = a + k * m;
    int64_t best = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (pivot_size(column[i]) > pivot_size(column[best])) best = i;
    pivots[k] = int32_t(best + 1);
    if (column[best] == T(0)) {
      if (!info) info = int(k + 1);
      continue;
    }
    if (best != k)
      for (int64_t j = 0; j < n; ++j) std::swap(a[k + j * m], a[best + j * m]);
    const T factor = T(1) / column[k];
    for (int64_t i = k + 1; i < m; ++i) column[i] *= factor;
    for (int64_t j = k + 1; j < n; ++j) {
      const T top = a[k + j * m];
      for (int64_t i = k + 1; i < m; ++i) a[i + j * m] -= column[i] * top;
    }
  }
  return info;
}

template <class T>
void small_lu_solve(int64_t n, int64_t columns, const T* lu, const int32_t* pivots, T* b) {
  for (int64_t c = 0; c < columns; ++c, b += n) {
    for (int64_t i = 0; i < n; ++i)
      if (pivots[i] != i + 1) std::swap(b[i], b[pivots[i] - 1]);
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = k + 1; i < n; ++i) b[i] -= lu[i + k * n] * b[k];
    for (int64_t k = n; k-- > 0;) {
      b[k] /= lu[k + k * n];
      for (int64_t i = 0; i < k; ++i) b[i] -= lu[i + k * n] * b[k];
    }
  }
}

// Cholesky's factor in one triangle. Returns the order of the first minor that is not positive.
template <class T> int small_cholesky(int64_t n, T* a, bool upper) {
  // Entry (i, j), i >= j, of the lower factor; the upper one is its adjoint.
  const int64_t down = upper ? n : 1, right = upper ? 1 : n;
  for (int64_t j = 0; j < n; ++j) {
    real_t<T> sum = std::real(a[j * (n + 1)]);
    for (int64_t k = 0; k < j; ++k) sum -= std::norm(a[j * down + k * right]);
    if (!(sum > 0)) {
      a[j * (n + 1)] = T(sum);
      return int(j + 1);
    }
    const real_t<T> root = std::sqrt(sum);
    a[j * (n + 1)] = T(root);
    for (int64_t i = j + 1; i < n; ++i) {
      T v = upper ? conj_value(a[i * down + j * right]) : a[i * down + j * right];
      for (int64_t k = 0; k < j; ++k) {
        const T x = a[i * down + k * right], y = a[j * down + k * right];
        v -= upper ? conj_value(x) * y : x * conj_value(y);
      }
      v /= root;
      a[i * down + j * right] = upper ? conj_value(v) : v;
    }
  }
  return 0;
}

}  // namespace rl::kernels
