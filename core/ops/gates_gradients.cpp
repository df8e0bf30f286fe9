// The second derivatives of the fused LSTM and GRU cells, by plain ops, so that more may follow.
#include "ops/gates_gradients.h"

namespace rl::ops {
namespace {

Tensor part(const Tensor& gates, int64_t index, int64_t n) {
  return slice(gates, -1, index * n, (index + 1) * n, 1);
}

Tensor joined(std::initializer_list<Tensor> parts) {
  return cat(TensorList(parts.begin(), parts.size()), -1);
}

Tensor or_zeros(const Tensor& t, const Tensor& like) { return t ? t : zeros_like(like); }

// The slopes of sigmoid and tanh, from their values.
Tensor bend(const Tensor& s) { return s * (-s + Scalar(1)); }
Tensor flatten(const Tensor& t) { return -(t * t) + Scalar(1); }
// The slope of the sigmoid's slope.
Tensor turn(const Tensor& s) { return -s * Scalar(2) + Scalar(1); }

}  // namespace

// With c' = f c + i g, T = tanh(c') and e = grad_cell + grad_hidden o (1 - T^2), the gradients were
//   of the gates: e g i(1-i), e c f(1-f), e i (1-g^2), grad_hidden T o(1-o); of the cell: e f.
// v_ and w are what comes in for those; below, d_x is the derivative by x of their product.
LstmSecond lstm_second(const Tensor& v, const Tensor& w_in, const Tensor& grad_hidden,
                       const Tensor& grad_cell, const Tensor& gates, const Tensor& cell) {
  const int64_t n = cell.size(-1);
  const Tensor i = sigmoid(part(gates, 0, n)), f = sigmoid(part(gates, 1, n));
  const Tensor g = tanh(part(gates, 2, n)), o = sigmoid(part(gates, 3, n));
  const Tensor most = tanh(f * cell + i * g);
  const Tensor gh = or_zeros(grad_hidden, cell), gc = or_zeros(grad_cell, cell);
  const Tensor all = or_zeros(v, gates), w = or_zeros(w_in, cell);
  const Tensor vi = part(all, 0, n), vf = part(all, 1, n), vg = part(all, 2, n);
  const Tensor vo = part(all, 3, n);
  const Tensor i1 = bend(i), f1 = bend(f), g1 = flatten(g), o1 = bend(o), most1 = flatten(most);
  const Tensor e = gc + gh * o * most1;
  const Tensor d_e = vi * g * i1 + vf * cell * f1 + vg * i * g1 + w * f;
  const Tensor d_most = -(d_e * gh * o * most) * Scalar(2) + vo * gh * o1;
  const Tensor d_next = d_most * most1;
  const Tensor d_i = vi * e * g * turn(i) + vg * e * g1 + d_next * g;
  const Tensor d_f = vf * e * cell * turn(f) + w * e + d_next * cell;
  const Tensor d_g = vi * e * i1 - vg * e * i * g * Scalar(2) + d_next * i;
  const Tensor d_o = d_e * gh * most1 + vo * gh * most * turn(o);
  return {d_e * o * most1 + vo * most * o1, d_e, vf * e * f1 + d_next * f,
          joined({d_i * i1, d_f * f1, d_g * g1, d_o * o1})};
}

// With a = x_n + r h_n, n = tanh(a) and e = grad (1-z)(1-n^2), the gradients were: of both gates'
// reset part e h_n r(1-r), of both update parts grad (h-n) z(1-z), of the input's candidate e, of
// the hidden state's e r; of the hidden state itself grad z.
GruSecond gru_second(const Tensor& input_in, const Tensor& hidden_in, const Tensor& w_in,
                     const Tensor& grad, const Tensor& input_gates, const Tensor& hidden_gates,
                     const Tensor& hidden) {
  const int64_t n = hidden.size(-1);
  const Tensor r = sigmoid(part(input_gates, 0, n) + part(hidden_gates, 0, n));
  const Tensor z = sigmoid(part(input_gates, 1, n) + part(hidden_gates, 1, n));
  const Tensor hn = part(hidden_gates, 2, n);
  const Tensor c = tanh(part(input_gates, 2, n) + r * hn);
  const Tensor u = or_zeros(input_in, input_gates), v = or_zeros(hidden_in, hidden_gates);
  const Tensor w = or_zeros(w_in, hidden);
  const Tensor vr = part(u, 0, n) + part(v, 0, n), vz = part(u, 1, n) + part(v, 1, n);
  const Tensor vn = part(v, 2, n);
  const Tensor r1 = bend(r), z1 = bend(z), c1 = flatten(c), open = -z + Scalar(1);
  const Tensor e = grad * open * c1;
  const Tensor d_e = part(u, 2, n) + vn * r + vr * r1 * hn;
  const Tensor d_grad = d_e * c1 * open + vz * (hidden - c) * z1 + w * z;
  const Tensor d_c = -(d_e * grad * open * c) * Scalar(2) - vz * grad * z1;
  const Tensor d_z = -(d_e * grad * c1) + vz * grad * (hidden - c) * turn(z) + w * grad;
  const Tensor d_a = d_c * c1;
  const Tensor d_r = vr * e * hn * turn(r) + vn * e + d_a * hn;
  const Tensor d_hn = vr * e * r1 + d_a * r;
  const Tensor reset = d_r * r1, update = d_z * z1;
  return {d_grad, joined({reset, update, d_a}), joined({reset, update, d_hn}), vz * grad * z1};
}

}  // namespace rl::ops
