// One LSTM layer over all steps of a sequence, forward and backward.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Dense arrays of Float or Double: steps x batch rows of n values or of 4n gates, in PyTorch's
// order. weight (4n x n) leads from the hidden state to the gates; bias (4n) may be null.
struct LstmLayer {
  int64_t steps = 0, batch = 0, n = 0;
  bool reverse = false;
  const void* hidden = nullptr;   // the state before the first step, batch rows
  const void* cell = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;
};

// projected: the inputs' part of the gates. active, for the backward, may be null.
void lstm_layer(DType t, const LstmLayer& layer, const void* projected, void* output, void* cells,
                void* active);

// grad_output and grad_cells may be null (zero). Of the layer, hidden and bias do not count.
void lstm_layer_backward(DType t, const LstmLayer& layer, const void* grad_output,
                         const void* grad_cells, const void* active, const void* cells,
                         void* grad_gates, void* grad_hidden, void* grad_cell);

}  // namespace rl::kernels
