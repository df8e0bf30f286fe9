// Matrix products without vector levels: integers and bool, and copies for the other dtypes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "base/parallel.h"
#include "kernels/cast.h"
#include "kernels/gemm.h"
#include "kernels/scratch.h"

namespace rl::kernels {

// The same product seen from the other side: C^T = B^T A^T.
inline MatrixProduct turned(const MatrixProduct& p) {
  MatrixProduct t = p;
  std::swap(t.m, t.n);
  std::swap(t.a, t.b);
  t.a_row = p.b_col;
  t.a_col = p.b_row;
  t.b_row = p.a_col;
  t.b_col = p.a_row;
  std::swap(t.c_row, t.c_col);
  t.bias_per_row = !p.bias_per_row;
  return t;
}

template <class T>
void copy_dense(T* to, const T* from, int64_t m, int64_t n, int64_t row, int64_t col) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) to[i * n + j] = from[i * row + j * col];
  }
}

// Runs the product on a dense copy of C.
template <class T, class F> void through_dense_result(const MatrixProduct& p, F&& run) {
  T* dense = static_cast<T*>(scratch(Scratch::Result, size_t(p.m * p.n) * sizeof(T)));
  T* c = static_cast<T*>(p.c);
  MatrixProduct q = p;
  q.c = dense;
  q.c_row = p.n;
  q.c_col = 1;
  if (!p.beta.equal(0)) copy_dense(dense, c, p.m, p.n, p.c_row, p.c_col);
  run(q);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) c[i * p.c_row + j * p.c_col] = dense[i * p.n + j];
  }
}

template <class T> void add_row_bias(const MatrixProduct& p) {
  T* c = static_cast<T*>(p.c);
  const T* bias = static_cast<const T*>(p.bias);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) c[i * p.c_row + j * p.c_col] += bias[i];
  }
}

// A half matrix as dense floats; `to_row` and `to_col` are the strides of what was written.
template <class H>
const float* floats_of(float* to, const void* from, int64_t m, int64_t n, int64_t row,
                       int64_t col, int64_t& to_row, int64_t& to_col) {
  const bool by_column = row == 1 && col != 1;
  const int64_t lines = by_column ? n : m, width = by_column ? m : n;
  const int64_t line_step = by_column ? col : row, step = by_column ? row : col;
  to_row = by_column ? 1 : n;
  to_col = by_column ? m : 1;
  const H* h = static_cast<const H*>(from);
  const Cast widen = cast(DTypeOf<H>::value, DType::Float);
  parallel_for(0, lines, 1 + 16384 / (width + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      widen(reinterpret_cast<char*>(to + i * width), sizeof(float),
            reinterpret_cast<const char*>(h + i * line_step), step * int64_t(sizeof(H)), width);
    }
  });
  return to;
}

template <class H>
void store_halves(const MatrixProduct& p, const float* from, int64_t row, int64_t col) {
  H* c = static_cast<H*>(p.c);
  const Cast narrow = cast(DType::Float, DTypeOf<H>::value);
  parallel_for(0, p.m, 1 + 16384 / (p.n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      narrow(reinterpret_cast<char*>(c + i * p.c_row), p.c_col * int64_t(sizeof(H)),
             reinterpret_cast<const char*>(from + i * row), col * int64_t(sizeof(float)), p.n);
    }
  });
}

// Arithmetic that wraps around: in an unsigned type at least as wide as int, to be defined.
template <class T> struct Wrapping {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};

// Integers and bool, a stretch of one row of C at a time.
template <class T> void gemm_integer(const MatrixProduct& p) {
  using U = typename Wrapping<T>::U;
  constexpr int64_t stretch = 1024;
  constexpr bool logical = std::is_same_v<T, bool>;
  const T* const a = static_cast<const T*>(p.a);
  const T* const b = static_cast<const T*>(p.b);
  const T* const bias = static_cast<const T*>(p.bias);
  T* const c = static_cast<T*>(p.c);
  const U alpha = U(p.alpha.to<int64_t>()), beta = U(p.beta.to<int64_t>());
  parallel_for(0, p.m, 1 + 32768 / (p.n * p.k + 1), [&](int64_t begin, int64_t end) {
    U sum[stretch];
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j0 = 0; j0 < p.n; j0 += stretch) {
        const int64_t n = std::min(stretch, p.n - j0);
        std::fill(sum, sum + n, U(0));
        for (int64_t q = 0; q < p.k; ++q) {
          const U x = U(a[i * p.a_row + q * p.a_col]);
          const T* row = b + q * p.b_row + j0 * p.b_col;
          if (p.b_col == 1) {
            for (int64_t j = 0; j < n; ++j) sum[j] += x * U(row[j]);
          } else {
            for (int64_t j = 0; j < n; ++j) sum[j] += x * U(row[j * p.b_col]);
          }
        }
        for (int64_t j = 0; j < n; ++j) {
          T& to = c[i * p.c_row + (j0 + j) * p.c_col];
          U v = alpha * (logical ? U(sum[j] != 0) : sum[j]);
          if (beta != 0) v += beta * U(to);
          if (bias) v += U(p.bias_per_row ? bias[i] : bias[j0 + j]);
          to = p.relu && std::is_signed_v<T> && T(v) < T(0) ? T(0) : T(v);
        }
      }
    }
  });
}

}  // namespace rl::kernels
