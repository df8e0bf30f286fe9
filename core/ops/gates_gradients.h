// The derivatives of the gradients of LSTM and GRU cells.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// By grad_hidden, grad_cell, cell and gates, of _lstm_gates_backward's two results; v and w, what
// comes in for them, and the two gradients may be undefined (zero).
using LstmSecond = std::tuple<Tensor, Tensor, Tensor, Tensor>;
LstmSecond lstm_second(const Tensor& v, const Tensor& w, const Tensor& grad_hidden,
                       const Tensor& grad_cell, const Tensor& gates, const Tensor& cell);

// By grad, input_gates, hidden_gates and hidden, of _gru_gates_backward's three results.
using GruSecond = std::tuple<Tensor, Tensor, Tensor, Tensor>;
GruSecond gru_second(const Tensor& u, const Tensor& v, const Tensor& w, const Tensor& grad,
                     const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden);

}  // namespace rl::ops
