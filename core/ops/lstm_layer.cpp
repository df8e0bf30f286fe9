// An LSTM's layer over a whole sequence as one op; gradients of its gradient go step by step.
#include "ops/lstm_layer.h"

#include "kernels/recurrent_layer.h"
#include "ops/dense.h"
#include "ops/expect.h"

namespace rl::ops {
namespace {

using Two = std::pair<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

constexpr int64_t kFirst[] = {0};

kernels::LstmLayer layer_of(const Tensor& cells, const Tensor& cell, const Tensor& weight,
                            bool reverse) {
  kernels::LstmLayer l;
  l.steps = cells->sizes[0], l.batch = cells->sizes[1], l.n = cells->sizes[2];
  l.reverse = reverse;
  l.cell = cell.data(), l.weight = weight.data();
  return l;
}

// That the operands belong together: gates (steps, batch, 4n), states (batch, n).
void expect_layer(const char* op, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                  const Tensor& weight, const Tensor& bias) {
  const DType dtype = gates.dtype();
  expect(dtype == DType::Float || dtype == DType::Double, op, "gates are float or double");
  expect(gates.dim() == 3 && gates->sizes[0] > 0 && weight.dim() == 2, op,
         "gates have steps, rows and columns, the weight rows and columns");
  const int64_t n = weight->sizes[1], wide = gates->sizes[2];
  expect(wide % 4 == 0 && wide / 4 == n, op, "there are four gates for each state");
  expect_like(hidden, Dims{gates->sizes[1], n}, dtype, op, "the hidden state");
  expect_like(cell, Dims{gates->sizes[1], n}, dtype, op, "the cell");
  expect_like(weight, Dims{wide, n}, dtype, op, "the weight");
  expect_like(bias, Dims{wide}, dtype, op, "the bias");
}

// The hidden states or cells that each step began with, in the order of time.
Tensor before(const Tensor& states, const Tensor& first, bool reverse) {
  const int64_t steps = states->sizes[0];
  const Tensor start = unsqueeze(first, 0);
  const Tensor rest = reverse ? slice(states, 0, 1, steps, 1) : slice(states, 0, 0, steps - 1, 1);
  const Tensor both[] = {reverse ? rest : start, reverse ? start : rest};
  return cat(TensorList(both, 2), 0);
}

}  // namespace

const auto lstm_layer_backward =
    define<Three(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, bool)>(
    "_lstm_layer_backward(Tensor? grad_output, Tensor? grad_cells, Tensor active, Tensor cells, "
    "Tensor cell, Tensor weight, bool reverse) "
    "-> (Tensor grad_gates, Tensor grad_hidden, Tensor grad_cell)")
  .doc("The gradients of all gates of an LSTM's layer and of its first state.")
  .forms(Hidden)
  .dense()
  .no_derivative("derivative for aten::_lstm_layer_backward is not implemented")
  .infer([](Infer& r, const Tensor& grad_output, const Tensor& grad_cells, const Tensor& active,
            const Tensor& cells, const Tensor& cell, const Tensor& weight, bool) {
    const char* op = "_lstm_layer_backward";
    expect_layer(op, active, cell, cell, weight, Tensor());
    const Dims sizes{active->sizes[0], cell->sizes[0], cell->sizes[1]};
    for (const Tensor* t : {&grad_output, &grad_cells, &cells})
      expect_like(*t, sizes, active.dtype(), op, "the states of all steps");
    r.result(active.sizes(), active.dtype(), active.device());
    r.result(cell.sizes(), cell.dtype(), cell.device());
    r.result(cell.sizes(), cell.dtype(), cell.device());
  })
  .kernel([](Tensor& gates, Tensor& hidden, Tensor& first, const Tensor& grad_output,
             const Tensor& grad_cells, const Tensor& active, const Tensor& cells,
             const Tensor& cell, const Tensor& weight, bool reverse) {
    kernels::lstm_layer_backward(active.dtype(), layer_of(cells, cell, weight, reverse),
                                 data_or_null(grad_output), data_or_null(grad_cells),
                                 active.data(), cells.data(), gates.data(), hidden.data(),
                                 first.data());
  })
  .cost([](double& flops, double&, const Tensor& gates, const Tensor&, const Tensor&,
           const Tensor&, const Tensor&, const Tensor& cell, const Tensor&, bool) {
    flops = 2.0 * double(gates.numel()) * double(cell->sizes[1]);
  });

namespace {

// The same by ops that have gradients of their own: the gates are computed again.
Three backward_by_steps(const Tensor& grad_output, const Tensor& grad_cells, const Tensor& active,
                        const Tensor& projected, const Tensor& hidden, const Tensor& cell,
                        const Tensor& weight, const Tensor& bias, const Tensor& output,
                        const Tensor& cells, bool reverse) {
  const int64_t steps = cells->sizes[0];
  const Tensor gates = projected + linear(before(output, hidden, reverse), weight, bias);
  const Tensor earlier = before(cells, cell, reverse);
  Tensors made;
  made.resize(size_t(steps));
  Tensor dh, dc;
  for (int64_t i = steps - 1; i >= 0; --i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    const auto plus = [&](const Tensor& all, const Tensor& carried) -> Tensor {
      if (!all) return carried;
      const Tensor own = select(all, 0, t);
      return carried ? Tensor(own + carried) : own;
    };
    const Two back = lstm_gates_backward(plus(grad_output, dh), plus(grad_cells, dc),
                                         select(active, 0, t), select(earlier, 0, t),
                                         select(cells, 0, t), select(gates, 0, t));
    made[size_t(t)] = back.first;
    dh = mm(back.first, weight);
    dc = back.second;
  }
  return {stack(TensorList(made), 0), dh, dc};
}

}  // namespace

const Op<Two(Tensor, Tensor, Tensor, Tensor, Tensor, bool)> lstm_layer =
    define<Two(Tensor, Tensor, Tensor, Tensor, Tensor, bool)>(
    "_lstm_layer(Tensor projected, Tensor hidden, Tensor cell, Tensor weight, Tensor? bias, "
    "bool reverse) -> (Tensor output, Tensor cells, saved Tensor active)")
  .doc("The hidden states and cells of an LSTM's layer from the inputs' part of its gates.")
  .node("StackBackward0")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& projected, const Tensor& hidden, const Tensor& cell,
            const Tensor& weight, const Tensor& bias, bool) {
    expect_layer("_lstm_layer", projected, hidden, cell, weight, bias);
    const Dims sizes{projected->sizes[0], hidden->sizes[0], hidden->sizes[1]};
    r.result(sizes, hidden.dtype(), hidden.device());
    r.result(sizes, hidden.dtype(), hidden.device());
    r.result(projected.sizes(), projected.dtype(), projected.device());
  })
  .kernel([](Tensor& output, Tensor& cells, Tensor& active, const Tensor& projected,
             const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias,
             bool reverse) {
    kernels::LstmLayer l = layer_of(cells, cell, weight, reverse);
    l.hidden = hidden.data(), l.bias = data_or_null(bias);
    kernels::lstm_layer(output.dtype(), l, projected.data(), output.data(), cells.data(),
                        data_or_null(active));
  })
  .cost([](double& flops, double&, const Tensor&, const Tensor& projected, const Tensor& hidden,
           const Tensor&, const Tensor&, const Tensor&, bool) {
    flops = 2.0 * double(projected.numel()) * double(hidden->sizes[1]);
  })
  .grad("projected, hidden, cell, weight, bias",
        "grad.output, grad.cells, projected, hidden, cell, weight, bias, output, cells, active, "
        "reverse, needs",
        [](const Tensor& grad_output, const Tensor& grad_cells, const Tensor& projected,
           const Tensor& hidden, const Tensor& cell, const Tensor& weight, const Tensor& bias,
           const Tensor& output, const Tensor& cells, const Tensor& active, bool reverse,
           Needs needs) {
    const Three back = grad_enabled()
        ? backward_by_steps(grad_output, grad_cells, active, projected, hidden, cell, weight, bias,
                            output, cells, reverse)
        : Three(lstm_layer_backward(grad_output, grad_cells, active, cells, cell, weight, reverse));
    const Tensor& gates = std::get<0>(back);
    Five made(gates, std::get<1>(back), std::get<2>(back), Tensor(), Tensor());
    const Tensor rows = reshape(gates, Dims{-1, gates->sizes[2]});
    if (needs[3]) {
      const Tensor states = before(output, hidden, reverse);
      std::get<3>(made) = mm(t(rows), reshape(states, Dims{-1, states->sizes[2]}));
    }
    if (needs[4]) std::get<4>(made) = sum_dim(rows, Ints(kFirst, 1), false, std::nullopt);
    return made;
  });

}  // namespace rl::ops
