// LSTM, GRU and Elman networks over sequences and packed sequences, and their cells.
#include "kernels/recurrent.h"

#include <algorithm>

#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/gates_gradients.h"
#include "ops/lstm_layer.h"
#include "ops/view_edits.h"

namespace rl::ops {
namespace {

using Two = std::pair<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// Under vmap and jvp the plain ops serve, which have rules.
bool has_cells(const Tensor& t) {
  return (t.dtype() == DType::Float || t.dtype() == DType::Double) && !(modes() & kTransform);
}

Tensor part(const Tensor& gates, int64_t index, int64_t n) {
  return slice(gates, -1, index * n, (index + 1) * n, 1);
}

// The LSTM's cell, from its four gates before activation, by plain ops.
Two lstm_step(const Tensor& gates, const Tensor& cell) {
  const int64_t n = cell->sizes[cell.dim() - 1];
  const Tensor input = sigmoid(part(gates, 0, n)), forget = sigmoid(part(gates, 1, n));
  const Tensor candidate = tanh(part(gates, 2, n)), output = sigmoid(part(gates, 3, n));
  const Tensor next = forget * cell + input * candidate;
  return {output * tanh(next), next};
}

Tensor gru_step(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden) {
  const int64_t n = hidden->sizes[hidden.dim() - 1];
  const Tensor reset = sigmoid(part(input_gates, 0, n) + part(hidden_gates, 0, n));
  const Tensor update = sigmoid(part(input_gates, 1, n) + part(hidden_gates, 1, n));
  const Tensor fresh = tanh(part(input_gates, 2, n) + reset * part(hidden_gates, 2, n));
  return (hidden - fresh) * update + fresh;
}

}  // namespace

// ---- One step of a cell as one op; its gradient's gradient goes by the plain ops.

namespace {

// The sizes of `parts` gates beside each other, for a state of these sizes.
Dims gate_sizes(const char* op, const Tensor& state, int64_t parts) {
  expect(state.dim() > 0 && (state.dtype() == DType::Float || state.dtype() == DType::Double), op,
         "a state is float or double and has dimensions");
  Dims sizes(state.sizes());
  expect(sizes.back() <= INT64_MAX / 8, op, "a state is too wide");
  sizes.back() *= parts;
  return sizes;
}

}  // namespace

const Op<Two(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)> lstm_gates_backward =
    define<Two(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)>(
    "_lstm_gates_backward(Tensor? grad_hidden, Tensor? grad_cell, Tensor active, Tensor cell, "
    "Tensor next_cell, Tensor gates) -> (Tensor grad_gates, Tensor grad_cell_in)")
  .doc("The gradients of an LSTM's gates and cell.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& grad_hidden, const Tensor& grad_cell, const Tensor& active,
            const Tensor& cell, const Tensor& next, const Tensor& gates) {
    const char* op = "_lstm_gates_backward";
    const Dims sizes = gate_sizes(op, cell, 4);
    for (const Tensor* t : {&active, &gates}) expect_like(*t, sizes, cell.dtype(), op, "gates");
    for (const Tensor* t : {&grad_hidden, &grad_cell, &next})
      expect_like(*t, cell.sizes(), cell.dtype(), op, "a state");
    r.result(active.sizes(), active.dtype(), active.device());
    r.result(cell.sizes(), cell.dtype(), cell.device());
  })
  .kernel([](Tensor& grad_gates, Tensor& grad_in, const Tensor& grad_hidden,
             const Tensor& grad_cell, const Tensor& active, const Tensor& cell,
             const Tensor& next_cell, const Tensor&) {
    const int64_t n = cell->sizes[cell.dim() - 1], rows = cell.numel() / std::max<int64_t>(n, 1);
    kernels::lstm_cell_backward(active.dtype(), data_or_null(grad_hidden), data_or_null(grad_cell),
                                active.data(), cell.data(), next_cell.data(), grad_gates.data(),
                                grad_in.data(), rows, n);
  })
  .grad("grad_hidden, grad_cell, cell, gates",
        "grad.grad_gates, grad.grad_cell_in, grad_hidden, grad_cell, gates, cell",
        [](const Tensor& v, const Tensor& w, const Tensor& grad_hidden, const Tensor& grad_cell,
           const Tensor& gates, const Tensor& cell) {
    return lstm_second(v, w, grad_hidden, grad_cell, gates, cell);
  });

const auto lstm_gates = define<Two(Tensor, Tensor)>(
    "_lstm_gates(Tensor gates, Tensor cell) -> (Tensor hidden, Tensor next_cell, "
    "saved Tensor active)")
  .doc("The next hidden state and cell of an LSTM from its gates before activation.")
  .node("MulBackward0")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& gates, const Tensor& cell) {
    expect_like(gates, gate_sizes("_lstm_gates", cell, 4), cell.dtype(), "_lstm_gates", "gates");
    r.result(cell.sizes(), cell.dtype(), cell.device());
    r.result(cell.sizes(), cell.dtype(), cell.device());
    r.result(gates.sizes(), gates.dtype(), gates.device());
  })
  .kernel([](Tensor& hidden, Tensor& next, Tensor& active, const Tensor& gates,
             const Tensor& cell) {
    const int64_t n = cell->sizes[cell.dim() - 1], rows = cell.numel() / std::max<int64_t>(n, 1);
    const Tensor room = active ? active : empty(gates.sizes(), gates.dtype());
    kernels::lstm_cell(gates.dtype(), gates.data(), cell.data(), room.data(), hidden.data(),
                       next.data(), rows, n);
  })
  .grad("gates, cell", "grad.hidden, grad.next_cell, active, cell, next_cell, gates",
        [](const Tensor& grad_hidden, const Tensor& grad_cell, const Tensor& active,
           const Tensor& cell, const Tensor& next_cell, const Tensor& gates) {
    return lstm_gates_backward(grad_hidden, grad_cell, active, cell, next_cell, gates);
  });

const auto gru_gates_backward = define<Three(Tensor, Tensor, Tensor, Tensor, Tensor)>(
    "_gru_gates_backward(Tensor grad_next, Tensor active, Tensor hidden, Tensor input_gates, "
    "Tensor hidden_gates) -> (Tensor grad_input_gates, Tensor grad_hidden_gates, "
    "Tensor grad_hidden)")
  .doc("The gradients of a GRU's gates and hidden state.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& grad, const Tensor& active, const Tensor& hidden,
            const Tensor& input_gates, const Tensor& hidden_gates) {
    const char* op = "_gru_gates_backward";
    const Dims sizes = gate_sizes(op, hidden, 3);
    expect_like(grad, hidden.sizes(), hidden.dtype(), op, "grad_next");
    expect_like(active, gate_sizes(op, hidden, 4), hidden.dtype(), op, "active");
    for (const Tensor* t : {&input_gates, &hidden_gates})
      expect_like(*t, sizes, hidden.dtype(), op, "gates");
    r.result(sizes, hidden.dtype(), hidden.device());
    r.result(sizes, hidden.dtype(), hidden.device());
    r.result(hidden.sizes(), hidden.dtype(), hidden.device());
  })
  .kernel([](Tensor& grad_input, Tensor& grad_gates, Tensor& grad_hidden, const Tensor& grad,
             const Tensor& active, const Tensor& hidden, const Tensor&, const Tensor&) {
    const int64_t n = hidden->sizes[hidden.dim() - 1];
    kernels::gru_cell_backward(hidden.dtype(), grad.data(), active.data(), hidden.data(),
                               grad_input.data(), grad_gates.data(), grad_hidden.data(),
                               hidden.numel() / std::max<int64_t>(n, 1), n);
  })
  .grad("grad_next, input_gates, hidden_gates, hidden",
        "grad.grad_input_gates, grad.grad_hidden_gates, grad.grad_hidden, grad_next, input_gates, "
        "hidden_gates, hidden",
        [](const Tensor& u, const Tensor& v, const Tensor& w, const Tensor& grad,
           const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden) {
    return gru_second(u, v, w, grad, input_gates, hidden_gates, hidden);
  });

const auto gru_gates = define<Tensor(Tensor, Tensor, Tensor)>(
    "_gru_gates(Tensor input_gates, Tensor hidden_gates, Tensor hidden) "
    "-> (Tensor next, saved Tensor active)")
  .doc("The next hidden state of a GRU from its gates before activation.")
  .node("AddBackward0")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& input_gates, const Tensor& hidden_gates,
            const Tensor& hidden) {
    const Dims sizes = gate_sizes("_gru_gates", hidden, 4);
    for (const Tensor* t : {&input_gates, &hidden_gates})
      expect_like(*t, gate_sizes("_gru_gates", hidden, 3), hidden.dtype(), "_gru_gates", "gates");
    r.result(hidden.sizes(), hidden.dtype(), hidden.device());
    r.result(sizes, hidden.dtype(), hidden.device());
  })
  .kernel([](Tensor& next, Tensor& active, const Tensor& input_gates, const Tensor& hidden_gates,
             const Tensor& hidden) {
    const int64_t n = hidden->sizes[hidden.dim() - 1];
    Dims sizes(hidden.sizes());
    sizes.back() *= 4;
    const Tensor room = active ? active : empty(sizes, hidden.dtype());
    kernels::gru_cell(hidden.dtype(), input_gates.data(), hidden_gates.data(), hidden.data(),
                      room.data(), next.data(), hidden.numel() / std::max<int64_t>(n, 1), n);
  })
  .grad("input_gates, hidden_gates, hidden", "grad.next, active, hidden, input_gates, hidden_gates",
        [](const Tensor& grad, const Tensor& active, const Tensor& hidden,
           const Tensor& input_gates, const Tensor& hidden_gates) {
    return gru_gates_backward(grad, active, hidden, input_gates, hidden_gates);
  });

namespace {

enum class Cell { Lstm, Gru, Tanh, Relu };

struct Weights { Tensor input, hidden, input_bias, hidden_bias, projection; };

struct State { Tensor hidden, cell; };

// One step: `projected` is the input's part of the gates.
State step(Cell kind, const Tensor& projected, const State& s, const Weights& w) {
  const Tensor h = linear(s.hidden, w.hidden, w.hidden_bias);
  State next;
  switch (kind) {
    case Cell::Lstm: {
      const Tensor gates = projected + h;
      const Two made = has_cells(gates) ? lstm_gates(gates, s.cell) : lstm_step(gates, s.cell);
      next = {made.first, made.second};
      if (w.projection) next.hidden = linear(next.hidden, w.projection, Tensor());
      return next;
    }
    case Cell::Gru:
      next.hidden = has_cells(h) ? Tensor(gru_gates(projected, h, s.hidden))
                                 : gru_step(projected, h, s.hidden);
      return next;
    case Cell::Tanh: next.hidden = tanh(projected + h); return next;
    case Cell::Relu: next.hidden = relu(projected + h); return next;
  }
  return next;
}

Tensor rows_of(const Tensor& t, int64_t from, int64_t to) { return slice(t, 0, from, to, 1); }

// Whether one op can do a layer; what does not fit gets its errors from the ops of each step.
bool takes_layer(const Tensor& projected, const State& s, const Weights& w) {
  const DType dtype = projected.dtype();
  if (!has_cells(projected) || w.projection || projected.dim() != 3 || projected.numel() == 0)
    return false;
  for (const Tensor* t : {&s.hidden, &s.cell, &w.hidden})
    if (t->dtype() != dtype || t->dim() != 2 || t->is_meta() != projected.is_meta()) return false;
  const int64_t n = s.hidden->sizes[1], batch = projected->sizes[1];
  if (w.hidden_bias && (w.hidden_bias.dtype() != dtype || w.hidden_bias.dim() != 1 ||
                        w.hidden_bias->sizes[0] != 4 * n))
    return false;
  return projected->sizes[2] == 4 * n && s.hidden->sizes[0] == batch &&
         s.cell.sizes() == s.hidden.sizes() && w.hidden->sizes[0] == 4 * n &&
         w.hidden->sizes[1] == n;
}

// One layer in one direction over (steps, batch, features).
Tensor run_layer(Cell kind, const Tensor& input, State& s, const Weights& w, bool reverse) {
  const int64_t steps = input->sizes[0];
  check(steps > 0, "Expected sequence length to be larger than 0 in RNN");
  const Tensor projected = linear(input, w.input, w.input_bias);  // all steps at once
  if (kind == Cell::Lstm && takes_layer(projected, s, w)) {
    const Two made = lstm_layer(projected, s.hidden, s.cell, w.hidden, w.hidden_bias, reverse);
    const int64_t last = reverse ? 0 : steps - 1;
    s = {select(made.first, 0, last), select(made.second, 0, last)};
    return made.first;
  }
  Tensors outputs;
  outputs.resize(size_t(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    s = step(kind, select(projected, 0, t), s, w);
    outputs[size_t(t)] = s.hidden;
  }
  return stack(TensorList(outputs), 0);
}

// The same over packed rows: step t holds the first sizes[t] sequences, the longest first.
Tensor run_packed(Cell kind, const Tensor& input, const std::vector<int64_t>& sizes, State& s,
                  const Weights& w, bool reverse) {
  const Tensor projected = linear(input, w.input, w.input_bias);
  const size_t steps = sizes.size();
  std::vector<int64_t> begins(steps, 0);
  for (size_t t = 1; t < steps; ++t) begins[t] = begins[t - 1] + sizes[t - 1];
  Tensors outputs;
  outputs.resize(steps);
  Tensors done_hidden, done_cell;  // of sequences that have ended
  const State first = s;
  const auto cut = [&](const State& from, int64_t a, int64_t b) {
    return State{rows_of(from.hidden, a, b), from.cell ? rows_of(from.cell, a, b) : Tensor()};
  };
  State now = cut(first, 0, reverse ? sizes.back() : sizes.front());
  int64_t active = reverse ? sizes.back() : sizes.front();
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = reverse ? steps - 1 - i : i;
    const int64_t n = sizes[t];
    if (n > active) {
      const State more = cut(first, active, n);
      const Tensor h[] = {now.hidden, more.hidden};
      now.hidden = cat(TensorList(h, 2), 0);
      if (now.cell) {
        const Tensor c[] = {now.cell, more.cell};
        now.cell = cat(TensorList(c, 2), 0);
      }
    } else if (n < active) {
      done_hidden.push_back(rows_of(now.hidden, n, active));
      if (now.cell) done_cell.push_back(rows_of(now.cell, n, active));
      now = cut(now, 0, n);
    }
    active = n;
    now = step(kind, rows_of(projected, begins[t], begins[t] + n), now, w);
    outputs[t] = now.hidden;
  }
  done_hidden.push_back(now.hidden);
  if (now.cell) done_cell.push_back(now.cell);
  std::reverse(done_hidden.begin(), done_hidden.end());
  std::reverse(done_cell.begin(), done_cell.end());
  s.hidden = cat(TensorList(done_hidden), 0);
  if (now.cell) s.cell = cat(TensorList(done_cell), 0);
  return cat(TensorList(outputs), 0);
}

struct Options {
  bool biases;
  int64_t layers;
  double dropout;
  bool train, both_ways;
};

Weights take_weights(TensorList params, size_t& at, bool biases, bool projected) {
  const size_t each = 2 + (biases ? 2 : 0) + (projected ? 1 : 0);
  check(at + each <= params.size(), "Expected more parameters of a recurrent layer");
  Weights w;
  w.input = params[at];
  w.hidden = params[at + 1];
  if (biases) w.input_bias = params[at + 2], w.hidden_bias = params[at + 3];
  if (projected) w.projection = params[at + each - 1];
  at += each;
  return w;
}

// All layers and directions. `sizes` is empty for sequences of one length.
Three run_stack(Cell kind, Tensor input, const Tensor& h0, const Tensor& c0, TensorList params,
                const Options& o, const std::vector<int64_t>& sizes) {
  const int64_t ways = o.both_ways ? 2 : 1;
  const bool projected = c0 && h0->sizes[h0.dim() - 1] != c0->sizes[c0.dim() - 1];
  Tensors hidden, cells;
  size_t at = 0;
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    Tensors outputs;
    for (int64_t way = 0; way < ways; ++way) {
      const Weights w = take_weights(params, at, o.biases, projected);
      const int64_t k = layer * ways + way;
      State s{select(h0, 0, k), c0 ? Tensor(select(c0, 0, k)) : Tensor()};
      outputs.push_back(sizes.empty() ? run_layer(kind, input, s, w, way)
                                      : run_packed(kind, input, sizes, s, w, way));
      hidden.push_back(s.hidden);
      if (c0) cells.push_back(s.cell);
    }
    input = ways == 1 ? outputs[0] : Tensor(cat(TensorList(outputs), -1));
    const bool drops = o.dropout > 0 && o.train && layer + 1 < o.layers;
    if (drops) input = input * dropout_noise(input, o.dropout);
  }
  return {input, stack(TensorList(hidden), 0), c0 ? Tensor(stack(TensorList(cells), 0)) : Tensor()};
}

// The sizes of the steps' batches, which lie in `data` one after the other and never grow.
std::vector<int64_t> list_of(const Tensor& batch_sizes, const Tensor& data) {
  const Tensor wide = empty(batch_sizes.sizes(), DType::Int64);
  copy_data(wide, batch_sizes);
  const std::vector<int64_t> sizes(wide.ptr<int64_t>(), wide.ptr<int64_t>() + wide.numel());
  int64_t start = 0, before = sizes.empty() ? 0 : sizes[0];
  for (const int64_t n : sizes) {
    check(n >= 0, "narrow(): length must be non-negative.");
    check(n <= data.size(0) - start, "start (", start, ") + length (", n,
          ") exceeds dimension size (", data.size(0), ").");
    check(n <= before, "batch_sizes must not grow, but ", n, " comes after ", before);
    start += n;
    before = n;
  }
  return sizes;
}

Three run_input(Cell kind, const Tensor& input, const Tensor& h0, const Tensor& c0,
                TensorList params, const Options& o, bool batch_first) {
  const Tensor x = batch_first ? Tensor(transpose(input, 0, 1)) : input;
  Three made = run_stack(kind, x, h0, c0, params, o, {});
  Tensor& output = std::get<0>(made);
  if (batch_first && kind == Cell::Lstm) output = transpose(output, 0, 1);  // its layer saves it
  else if (batch_first) transpose_(output, 0, 1);
  return made;
}

}  // namespace

const auto lstm = define<Three(Tensor, TensorList, TensorList, bool, int64_t, double, bool, bool,
                               bool)>(
    "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) "
    "-> (Tensor, Tensor, Tensor)")
  .doc("Long short-term memory over sequences (Hochreiter and Schmidhuber 1997).")
  .composite([](const Tensor& input, TensorList hx, TensorList params, bool biases, int64_t layers,
                double dropout, bool train, bool both_ways, bool batch_first) {
    check(hx.size() == 2, "lstm expects two hidden states");
    return run_input(Cell::Lstm, input, hx[0], hx[1], params,
                     {biases, layers, dropout, train, both_ways}, batch_first);
  });

const auto lstm_packed = define<Three(Tensor, Tensor, TensorList, TensorList, bool, int64_t, double,
                                      bool, bool)>(
    "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, "
    "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)")
  .composite([](const Tensor& data, const Tensor& batch_sizes, TensorList hx, TensorList params,
                bool biases, int64_t layers, double dropout, bool train, bool both_ways) {
    check(hx.size() == 2, "lstm expects two hidden states");
    return run_stack(Cell::Lstm, data, hx[0], hx[1], params,
                     {biases, layers, dropout, train, both_ways}, list_of(batch_sizes, data));
  });

namespace {

// The sizes of a cell's operands; a state of one row would else serve a batch of many.
void check_cell(const Tensor& input, std::initializer_list<const Tensor*> states,
                const Tensor& w_ih, const Tensor& w_hh) {
  check(input.size(1) == w_ih.size(1), "input has inconsistent input_size: got ", input.size(1),
        " expected ", w_ih.size(1));
  int label = 0;
  for (const Tensor* state : states) {
    check(input.size(0) == state->size(0), "Input batch size ", input.size(0),
          " doesn't match hidden", label, " batch size ", state->size(0));
    check(state->size(1) == w_hh.size(1), "hidden", label, " has inconsistent hidden_size: got ",
          state->size(1), ", expected ", w_hh.size(1));
    ++label;
  }
}

#define RL_RECURRENT(NAME, TEXT, KIND)                                                           \
  const auto NAME = define<Two(Tensor, Tensor, TensorList, bool, int64_t, double, bool, bool,    \
                               bool)>(                                                           \
      TEXT ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "  \
      "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)")    \
    .doc("A recurrent network over sequences.")                                                  \
    .composite([](const Tensor& input, const Tensor& hx, TensorList params, bool biases,         \
                  int64_t layers, double dropout, bool train, bool both_ways,                    \
                  bool batch_first) {                                                            \
      const Three made = run_input(KIND, input, hx, Tensor(), params,                            \
                                   {biases, layers, dropout, train, both_ways}, batch_first);    \
      return Two(std::get<0>(made), std::get<1>(made));                                          \
    });                                                                                          \
  const auto NAME##_packed = define<Two(Tensor, Tensor, Tensor, TensorList, bool, int64_t,       \
                                        double, bool, bool)>(                                    \
      TEXT ".data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, "                 \
      "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) "         \
      "-> (Tensor, Tensor)")                                                                     \
    .composite([](const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,               \
                  TensorList params, bool biases, int64_t layers, double dropout, bool train,    \
                  bool both_ways) {                                                              \
      const Three made = run_stack(KIND, data, hx, Tensor(), params,                             \
                                   {biases, layers, dropout, train, both_ways},                  \
                                   list_of(batch_sizes, data));                                  \
      return Two(std::get<0>(made), std::get<1>(made));                                          \
    })
RL_RECURRENT(gru, "gru", Cell::Gru);
RL_RECURRENT(rnn_tanh, "rnn_tanh", Cell::Tanh);
RL_RECURRENT(rnn_relu, "rnn_relu", Cell::Relu);
#undef RL_RECURRENT

#define RL_CELL(NAME, TEXT, KIND)                                                                \
  const auto NAME = define<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)>(              \
      TEXT "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "             \
      "Tensor? b_hh=None) -> Tensor")                                                            \
    .doc("One step of a recurrent network.")                                                     \
    .composite([](const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, \
                  const Tensor& b_ih, const Tensor& b_hh) {                                      \
      check_cell(input, {&hx}, w_ih, w_hh);                                                      \
      return step(KIND, linear(input, w_ih, b_ih), {hx, Tensor()},                               \
                  {w_ih, w_hh, b_ih, b_hh, Tensor()}).hidden;                                    \
    })
RL_CELL(gru_cell, "gru_cell", Cell::Gru);
RL_CELL(rnn_tanh_cell, "rnn_tanh_cell", Cell::Tanh);
RL_CELL(rnn_relu_cell, "rnn_relu_cell", Cell::Relu);
#undef RL_CELL

}  // namespace

const auto lstm_cell = define<Two(Tensor, TensorList, Tensor, Tensor, Tensor, Tensor)>(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
    "Tensor? b_hh=None) -> (Tensor, Tensor)")
  .doc("One step of an LSTM.")
  .composite([](const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
    check(hx.size() == 2, "lstm_cell expects two hidden states");
    check_cell(input, {&hx[0], &hx[1]}, w_ih, w_hh);
    const State s = step(Cell::Lstm, linear(input, w_ih, b_ih), {hx[0], hx[1]},
                         {w_ih, w_hh, b_ih, b_hh, Tensor()});
    return Two(s.hidden, s.cell);
  });

}  // namespace rl::ops
