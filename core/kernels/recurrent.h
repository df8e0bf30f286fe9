// The element-by-element part of LSTM and GRU cells; the products of matrices are the caller's.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Dense arrays of Float or Double, rows of n. `gates` [rows, 4n] are the sums before activation in
// PyTorch's order (input, forget, cell, output); `active` [rows, 4n], for the backward, may be
// `gates`, and next_cell may be cell only where no backward follows.
void lstm_cell(DType t, const void* gates, const void* cell, void* active, void* hidden,
               void* next_cell, int64_t rows, int64_t n);
// dhidden and dnext_cell may be null (zero). dgates may be `active`; dcell may be dnext_cell.
void lstm_cell_backward(DType t, const void* dhidden, const void* dnext_cell, const void* active,
                        const void* cell, const void* next_cell, void* dgates, void* dcell,
                        int64_t rows, int64_t n);

// input_gates and hidden_gates [rows, 3n] (reset, update, candidate), biases included; `active`
// [rows, 4n] for the backward; next_hidden may be hidden where no backward follows.
void gru_cell(DType t, const void* input_gates, const void* hidden_gates, const void* hidden,
              void* active, void* next_hidden, int64_t rows, int64_t n);
// dhidden is the part that does not pass through the gates.
void gru_cell_backward(DType t, const void* dnext, const void* active, const void* hidden,
                       void* dinput_gates, void* dhidden_gates, void* dhidden, int64_t rows,
                       int64_t n);

}  // namespace rl::kernels
