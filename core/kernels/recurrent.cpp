// Recurrent cells: rows of the batch shared out between threads.
#include "kernels/recurrent.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/levels/recurrent.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 2048;  // elements of a state: each takes several exponentials

// Calls f(loops, row) for each row; f is a template over the element type.
template <class F> void each_row(DType t, int64_t rows, int64_t n, F&& f) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (t == DType::Double) f(recurrent_loops<double>(), static_cast<double*>(nullptr), r);
      else f(recurrent_loops<float>(), static_cast<float*>(nullptr), r);
    }
  });
}

template <class T> const T* at(const void* p, int64_t i, T*) {
  return p ? static_cast<const T*>(p) + i : nullptr;
}
template <class T> T* at(void* p, int64_t i, T*) { return static_cast<T*>(p) + i; }

}  // namespace

void lstm_cell(DType t, const void* gates, const void* cell, void* active, void* hidden,
               void* next_cell, int64_t rows, int64_t n) {
  each_row(t, rows, n, [&](const auto& loops, auto* as, int64_t r) {
    loops.lstm(at(gates, 4 * n * r, as), at(cell, n * r, as), at(active, 4 * n * r, as),
               at(hidden, n * r, as), at(next_cell, n * r, as), n);
  });
}

void lstm_cell_backward(DType t, const void* dhidden, const void* dnext_cell, const void* active,
                        const void* cell, const void* next_cell, void* dgates, void* dcell,
                        int64_t rows, int64_t n) {
  each_row(t, rows, n, [&](const auto& loops, auto* as, int64_t r) {
    loops.lstm_backward(at(dhidden, n * r, as), at(dnext_cell, n * r, as),
                        at(active, 4 * n * r, as), at(cell, n * r, as), at(next_cell, n * r, as),
                        at(dgates, 4 * n * r, as), at(dcell, n * r, as), n);
  });
}

void gru_cell(DType t, const void* input_gates, const void* hidden_gates, const void* hidden,
              void* active, void* next_hidden, int64_t rows, int64_t n) {
  each_row(t, rows, n, [&](const auto& loops, auto* as, int64_t r) {
    loops.gru(at(input_gates, 3 * n * r, as), at(hidden_gates, 3 * n * r, as),
              at(hidden, n * r, as), at(active, 4 * n * r, as), at(next_hidden, n * r, as), n);
  });
}

void gru_cell_backward(DType t, const void* dnext, const void* active, const void* hidden,
                       void* dinput_gates, void* dhidden_gates, void* dhidden, int64_t rows,
                       int64_t n) {
  each_row(t, rows, n, [&](const auto& loops, auto* as, int64_t r) {
    loops.gru_backward(at(dnext, n * r, as), at(active, 4 * n * r, as), at(hidden, n * r, as),
                       at(dinput_gates, 3 * n * r, as), at(dhidden_gates, 3 * n * r, as),
                       at(dhidden, n * r, as), n);
  });
}

}  // namespace rl::kernels
