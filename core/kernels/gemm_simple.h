// Products seen from the other side, and the copies that serve dtypes without kernels of their own.
#pragma once
#include <algorithm>
#include <cstdint>
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

}  // namespace rl::kernels
