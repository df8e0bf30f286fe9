// LSTM layers: threads take rows of the batch through all steps, with the weight packed once.
#include "kernels/recurrent_layer.h"

#include <algorithm>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/levels/gemm_level.h"
#include "kernels/recurrent.h"
#include "kernels/scratch.h"

namespace rl::kernels {
namespace {

constexpr int64_t kFewRows = 4;  // for each thread; fewer share each step's columns instead

template <class T> T* buffer(Scratch use, int64_t elements) {
  return static_cast<T*>(scratch(use, size_t(elements + 64) * sizeof(T)));
}

// B in panels as GemmLevel::packed wants it: k rows, a value of column j at j * column.
template <class T> struct Panels {
  const T* data;
  int64_t n, k;

  Panels(const T* from, int64_t row, int64_t column, int64_t n, int64_t k) : n(n), k(k) {
    const int64_t nr = gemm_level<T>().nr, panels = (n + nr - 1) / nr;
    T* to = buffer<T>(Scratch::Planes, panels * nr * k);
    data = to;
    parallel_for(0, panels, 1 + 32768 / (nr * k + 1), [&](int64_t begin, int64_t end) {
      for (int64_t x = begin; x < end; ++x) {
        T* at = to + x * nr * k;
        for (int64_t p = 0; p < k; ++p) {
          for (int64_t j = 0; j < nr; ++j) {
            const int64_t c = x * nr + j;
            *at++ = c < n ? from[p * row + c * column] : T(0);
          }
        }
      }
    });
  }
};

// c (dense m x n) = beta * c + a (dense m x k) @ the panels + bias, for columns [begin, end) that
// start with a panel.
template <class T>
void multiply(T* c, const T* a, const Panels<T>& b, T beta, const T* bias, int64_t m,
              int64_t begin, int64_t end) {
  const GemmLevel<T>& gemm = gemm_level<T>();
  T* packed = buffer<T>(Scratch::PackA, (m + gemm.mr) * b.k);
  gemm.pack_a(packed, a, b.k, 1, m, b.k);
  Tile<T> t{};
  t.m = m, t.n = end - begin, t.k = b.k;
  t.c = c + begin, t.c_row = b.n, t.c_col = 1;
  t.alpha = 1, t.beta = beta;
  t.bias = bias ? bias + begin : nullptr;
  gemm.packed(t, packed, b.data + begin * b.k);
}

// How rows and columns are divided: all steps of some rows, or some columns of each step.
struct Division {
  bool by_rows;
  int64_t grain;
  explicit Division(const LstmLayer& l)
      : by_rows(l.batch >= kFewRows * num_threads()),
        grain(std::max<int64_t>(kFewRows, 4096 / (l.n + 1))) {}
};

template <class T>
void multiply_all(T* c, const T* a, const Panels<T>& b, T beta, const T* bias, int64_t m) {
  const int64_t nr = gemm_level<T>().nr, panels = (b.n + nr - 1) / nr;
  const int64_t grain = 1 + 262144 / (m * nr * b.k + 1);
  parallel_for(0, panels, grain, [&](int64_t begin, int64_t end) {
    multiply(c, a, b, beta, bias, m, begin * nr, std::min(end * nr, b.n));
  });
}

template <class F> void divided(const LstmLayer& l, F&& run) {
  const Division d(l);
  if (!d.by_rows) return run(0, l.batch);
  parallel_for(0, l.batch, d.grain, run);
}

template <class T>
void forward(const LstmLayer& l, const T* projected, T* output, T* cells, T* active) {
  const int64_t n = l.n, wide = 4 * n, rows = l.batch;
  const Panels<T> weight(static_cast<const T*>(l.weight), 1, n, wide, n);
  const T* bias = static_cast<const T*>(l.bias);
  divided(l, [&](int64_t begin, int64_t end) {
    const int64_t m = end - begin;
    T* room = active ? nullptr : buffer<T>(Scratch::Column, m * wide);
    const T* hidden = static_cast<const T*>(l.hidden) + begin * n;
    const T* cell = static_cast<const T*>(l.cell) + begin * n;
    for (int64_t i = 0; i < l.steps; ++i) {
      const int64_t row = (l.reverse ? l.steps - 1 - i : i) * rows + begin;
      T* gates = active ? active + row * wide : room;
      std::copy(projected + row * wide, projected + (row + m) * wide, gates);
      multiply_all(gates, hidden, weight, T(1), bias, m);
      T *next = output + row * n, *next_cell = cells + row * n;
      lstm_cell(DTypeOf<T>::value, gates, cell, gates, next, next_cell, m, n);
      hidden = next;
      cell = next_cell;
      poll_interrupt();
    }
  });
}

template <class T>
void backward(const LstmLayer& l, const T* grad_output, const T* grad_cells, const T* active,
              const T* cells, T* grad_gates, T* grad_hidden, T* grad_cell) {
  const int64_t n = l.n, wide = 4 * n, rows = l.batch;
  const Panels<T> weight(static_cast<const T*>(l.weight), n, 1, n, wide);
  divided(l, [&](int64_t begin, int64_t end) {
    const int64_t m = end - begin;
    T *dh = grad_hidden + begin * n, *dc = grad_cell + begin * n;
    std::fill(dc, dc + m * n, T(0));
    for (int64_t i = l.steps - 1; i >= 0; --i) {
      const int64_t t = l.reverse ? l.steps - 1 - i : i, before = l.reverse ? t + 1 : t - 1;
      const int64_t row = t * rows + begin;
      if (grad_output) std::copy(grad_output + row * n, grad_output + (row + m) * n, dh);
      else std::fill(dh, dh + m * n, T(0));
      if (i + 1 < l.steps) {
        const int64_t after = (l.reverse ? t - 1 : t + 1) * rows + begin;
        multiply_all(dh, grad_gates + after * wide, weight, T(1), static_cast<const T*>(nullptr),
                     m);
      }
      if (grad_cells) {
        for (int64_t j = 0; j < m * n; ++j) dc[j] += grad_cells[row * n + j];
      }
      const T* cell = i > 0 ? cells + (before * rows + begin) * n
                            : static_cast<const T*>(l.cell) + begin * n;
      lstm_cell_backward(DTypeOf<T>::value, dh, dc, active + row * wide, cell, cells + row * n,
                         grad_gates + row * wide, dc, m, n);
      poll_interrupt();
    }
    const int64_t first = (l.reverse ? l.steps - 1 : 0) * rows + begin;
    multiply_all(dh, grad_gates + first * wide, weight, T(0), static_cast<const T*>(nullptr), m);
  });
}

}  // namespace

void lstm_layer(DType t, const LstmLayer& l, const void* projected, void* output, void* cells,
                void* active) {
  const auto run = [&](auto* as) {
    using T = std::remove_pointer_t<decltype(as)>;
    forward(l, static_cast<const T*>(projected), static_cast<T*>(output), static_cast<T*>(cells),
            static_cast<T*>(active));
  };
  if (t == DType::Double) run(static_cast<double*>(nullptr));
  else run(static_cast<float*>(nullptr));
}

void lstm_layer_backward(DType t, const LstmLayer& l, const void* grad_output,
                         const void* grad_cells, const void* active, const void* cells,
                         void* grad_gates, void* grad_hidden, void* grad_cell) {
  const auto run = [&](auto* as) {
    using T = std::remove_pointer_t<decltype(as)>;
    backward(l, static_cast<const T*>(grad_output), static_cast<const T*>(grad_cells),
             static_cast<const T*>(active), static_cast<const T*>(cells),
             static_cast<T*>(grad_gates), static_cast<T*>(grad_hidden),
             static_cast<T*>(grad_cell));
  };
  if (t == DType::Double) run(static_cast<double*>(nullptr));
  else run(static_cast<float*>(nullptr));
}

}  // namespace rl::kernels
