// Softmax over any dim: rows where it is the last, blocks of columns or gathered rows elsewhere.
#include "kernels/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/levels/softmax.h"
#include "kernels/row_buffers.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 8192;         // elements: less is not worth another thread
constexpr int64_t kColumnBlock = 64;     // columns per piece of work
constexpr int64_t kLeastColumns = 8;     // below this, gathering rows is quicker

// Which of the loops to run; `backward` reads two arrays.
template <class C> struct Choice {
  void (*row1)(const C*, C*, int64_t);
  void (*row2)(const C*, const C*, C*, int64_t);
  void (*columns1)(const C*, C*, int64_t, int64_t, int64_t);
  void (*columns2)(const C*, const C*, C*, int64_t, int64_t, int64_t);
};

template <class T>
void rows(const Choice<ComputeOf<T>>& f, const T* a, const T* b, T* y, int64_t count, int64_t n) {
  parallel_for(0, count, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    RowIn<T> in_a(n), in_b(b ? n : 0);
    RowOut<T> out(n);
    for (int64_t r = begin; r < end; ++r) {
      T* const row = y + r * n;
      if (b) f.row2(in_a(a + r * n, n), in_b(b + r * n, n), out.target(row), n);
      else f.row1(in_a(a + r * n, n), out.target(row), n);
      out.commit(row, n);
    }
  });
}

template <class T>
void column_blocks(const Choice<T>& f, const T* a, const T* b, T* y, int64_t outer, int64_t n,
                   int64_t inner) {
  const int64_t blocks = (inner + kColumnBlock - 1) / kColumnBlock;
  const int64_t grain = std::max<int64_t>(1, kGrain / (n * std::min(inner, kColumnBlock)));
  parallel_for(0, outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t column = k % blocks * kColumnBlock;
      const int64_t at = k / blocks * n * inner + column;
      const int64_t width = std::min(kColumnBlock, inner - column);
      if (b) f.columns2(a + at, b + at, y + at, n, inner, width);
      else f.columns1(a + at, y + at, n, inner, width);
    }
  });
}

template <class T>
void gathered(const Choice<ComputeOf<T>>& f, const T* a, const T* b, T* y, int64_t outer,
              int64_t n, int64_t inner) {
  using C = ComputeOf<T>;
  const int64_t grain = std::max<int64_t>(1, kGrain / n);
  parallel_for(0, outer * inner, grain, [&](int64_t begin, int64_t end) {
    std::unique_ptr<C[]> scratch(new C[3 * n]);
    C* const row_a = scratch.get();
    C* const row_b = row_a + n;
    C* const out = row_b + n;
    for (int64_t k = begin; k < end; ++k) {
      const int64_t at = k / inner * n * inner + k % inner;
      for (int64_t j = 0; j < n; ++j) row_a[j] = widen(a[at + j * inner]);
      if (b) {
        for (int64_t j = 0; j < n; ++j) row_b[j] = widen(b[at + j * inner]);
        f.row2(row_a, row_b, out, n);
      } else {
        f.row1(row_a, out, n);
      }
      for (int64_t j = 0; j < n; ++j) narrow(out[j], y[at + j * inner]);
    }
  });
}

template <class T>
void run(const Choice<ComputeOf<T>>& f, const void* a, const void* b, void* y, int64_t outer,
         int64_t n, int64_t inner) {
  const T* const pa = static_cast<const T*>(a);
  const T* const pb = static_cast<const T*>(b);
  T* const py = static_cast<T*>(y);
  if (outer * n * inner == 0) return;
  if (inner == 1) return rows<T>(f, pa, pb, py, outer, n);
  if constexpr (std::is_same_v<T, ComputeOf<T>>)
    if (inner >= kLeastColumns) return column_blocks<T>(f, pa, pb, py, outer, n, inner);
  gathered<T>(f, pa, pb, py, outer, n, inner);
}

// Halves by rows: PyTorch rounds the sum and its logarithm to the dtype. The largest of a row of
// log-probabilities tells the logarithm of the sum.
template <class T> void log_softmax_halves(const T* x, T* y, int64_t count, int64_t n) {
  const auto& loops = softmax_loops<float>();
  parallel_for(0, count, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    RowIn<T> in(n);
    RowOut<T> out(n);
    for (int64_t r = begin; r < end; ++r) {
      float* const row = out.target(y + r * n);
      loops.log_softmax(in(x + r * n, n), row, n);
      float most = row[0];
      for (int64_t j = 1; j < n; ++j) most = row[j] > most ? row[j] : most;
      T sum, logarithm;
      narrow(std::exp(-most), sum);
      narrow(std::log(widen(sum)), logarithm);
      const float more = -most - widen(logarithm);
      for (int64_t j = 0; j < n; ++j) row[j] += more;
      out.commit(y + r * n, n);
    }
  });
}

}  // namespace

void softmax(DType t, const void* x, void* y, int64_t outer, int64_t n, int64_t inner) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const auto& loops = softmax_loops<ComputeOf<T>>();
    run<T>({loops.softmax, nullptr, loops.softmax_columns, nullptr}, x, nullptr, y, outer, n,
           inner);
  });
}

void log_softmax(DType t, const void* x, void* y, int64_t outer, int64_t n, int64_t inner) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const auto& loops = softmax_loops<ComputeOf<T>>();
    if constexpr (!std::is_same_v<T, ComputeOf<T>>) {
      if (inner == 1 && n > 0)
        return log_softmax_halves(static_cast<const T*>(x), static_cast<T*>(y), outer, n);
    }
    run<T>({loops.log_softmax, nullptr, loops.log_softmax_columns, nullptr}, x, nullptr, y, outer,
           n, inner);
  });
}

void softmax_backward(DType t, const void* grad, const void* y, void* dx, int64_t outer, int64_t n,
                      int64_t inner) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const auto& loops = softmax_loops<ComputeOf<T>>();
    run<T>({nullptr, loops.softmax_backward, nullptr, loops.softmax_backward_columns}, grad, y, dx,
           outer, n, inner);
  });
}

void log_softmax_backward(DType t, const void* grad, const void* y, void* dx, int64_t outer,
                          int64_t n, int64_t inner) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const auto& loops = softmax_loops<ComputeOf<T>>();
    run<T>({nullptr, loops.log_softmax_backward, nullptr, loops.log_softmax_backward_columns},
           grad, y, dx, outer, n, inner);
  });
}

}  // namespace rl::kernels
