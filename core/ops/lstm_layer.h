// An LSTM's layer over a whole sequence as one op, and what its gradient shares with the cell's.
#pragma once
#include <utility>

#include "ops/ops.h"

namespace rl::ops {

// projected (steps, batch, 4n), hidden and cell (batch, n), weight (4n, n), bias (4n) or undefined:
// the hidden states and the cells of all steps, (steps, batch, n).
extern const Op<std::pair<Tensor, Tensor>(Tensor, Tensor, Tensor, Tensor, Tensor, bool)> lstm_layer;

// grad_hidden and grad_cell, active, cell, next_cell, gates: the gradients of the gates and cell.
extern const Op<std::pair<Tensor, Tensor>(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)>
    lstm_gates_backward;

}  // namespace rl::ops
