// The element-by-element part of LSTM and GRU cells, forward and backward.
#include "kernels/levels/recurrent.h"

#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

template <class T> RL_INLINE Lanes<T> logistic(Lanes<T> x) {
  return T(1) / (T(1) + exponential(-x));
}
template <class T> RL_INLINE Lanes<T> hyperbolic(Lanes<T> x) { return tanh(Vec<T>(x)).raw; }

// Gates in PyTorch's order: input, forget, cell, output.
template <class T>
void lstm(const T* gates, const T* cell, T* active, T* hidden, T* next_cell, int64_t n) {
  sweep<T>(n, [&](int64_t j, auto lanes) {
    const Lanes<T> i = logistic<T>(load(gates + j, lanes));
    const Lanes<T> f = logistic<T>(load(gates + n + j, lanes));
    const Lanes<T> g = hyperbolic<T>(load(gates + 2 * n + j, lanes));
    const Lanes<T> o = logistic<T>(load(gates + 3 * n + j, lanes));
    const Lanes<T> c = f * load(cell + j, lanes) + i * g;
    store(active + j, i, lanes);
    store(active + n + j, f, lanes);
    store(active + 2 * n + j, g, lanes);
    store(active + 3 * n + j, o, lanes);
    store(next_cell + j, c, lanes);
    store(hidden + j, o * hyperbolic<T>(c), lanes);
  });
}

template <class T>
void lstm_backward(const T* dhidden, const T* dnext_cell, const T* active, const T* cell,
                   const T* next_cell, T* dgates, T* dcell, int64_t n) {
  sweep<T>(n, [&](int64_t j, auto lanes) {
    const Lanes<T> i = load(active + j, lanes), f = load(active + n + j, lanes);
    const Lanes<T> g = load(active + 2 * n + j, lanes), o = load(active + 3 * n + j, lanes);
    const Lanes<T> squashed = hyperbolic<T>(load(next_cell + j, lanes));
    const Lanes<T> dh = dhidden ? load(dhidden + j, lanes) : Lanes<T>{};
    Lanes<T> dc = dh * o * (T(1) - squashed * squashed);
    if (dnext_cell) dc += load(dnext_cell + j, lanes);
    store(dgates + j, dc * g * i * (T(1) - i), lanes);
    store(dgates + n + j, dc * load(cell + j, lanes) * f * (T(1) - f), lanes);
    store(dgates + 2 * n + j, dc * i * (T(1) - g * g), lanes);
    store(dgates + 3 * n + j, dh * squashed * o * (T(1) - o), lanes);
    store(dcell + j, dc * f, lanes);
  });
}

// Gates in PyTorch's order: reset, update, candidate. The fourth part of `active` keeps the
// hidden side of the candidate, which the reset gate multiplies.
template <class T>
void gru(const T* input_gates, const T* hidden_gates, const T* hidden, T* active, T* next_hidden,
         int64_t n) {
  sweep<T>(n, [&](int64_t j, auto lanes) {
    const Lanes<T> r = logistic<T>(load(input_gates + j, lanes) + load(hidden_gates + j, lanes));
    const Lanes<T> z =
        logistic<T>(load(input_gates + n + j, lanes) + load(hidden_gates + n + j, lanes));
    const Lanes<T> side = load(hidden_gates + 2 * n + j, lanes);
    const Lanes<T> c = hyperbolic<T>(load(input_gates + 2 * n + j, lanes) + r * side);
    store(active + j, r, lanes);
    store(active + n + j, z, lanes);
    store(active + 2 * n + j, c, lanes);
    store(active + 3 * n + j, side, lanes);
    store(next_hidden + j, (load(hidden + j, lanes) - c) * z + c, lanes);
  });
}

template <class T>
void gru_backward(const T* dnext, const T* active, const T* hidden, T* dinput_gates,
                  T* dhidden_gates, T* dhidden, int64_t n) {
  sweep<T>(n, [&](int64_t j, auto lanes) {
    const Lanes<T> r = load(active + j, lanes), z = load(active + n + j, lanes);
    const Lanes<T> c = load(active + 2 * n + j, lanes), side = load(active + 3 * n + j, lanes);
    const Lanes<T> d = load(dnext + j, lanes);
    const Lanes<T> dz = d * (load(hidden + j, lanes) - c) * z * (T(1) - z);
    const Lanes<T> dc = d * (T(1) - z) * (T(1) - c * c);
    const Lanes<T> dr = dc * side * r * (T(1) - r);
    store(dinput_gates + j, dr, lanes);
    store(dinput_gates + n + j, dz, lanes);
    store(dinput_gates + 2 * n + j, dc, lanes);
    store(dhidden_gates + j, dr, lanes);
    store(dhidden_gates + n + j, dz, lanes);
    store(dhidden_gates + 2 * n + j, dc * r, lanes);
    store(dhidden + j, d * z, lanes);
  });
}

template <class T> constexpr RecurrentLoops<T> table() {
  return {lstm<T>, lstm_backward<T>, gru<T>, gru_backward<T>};
}

}  // namespace

const RecurrentLoops<float> recurrent_loops_float = table<float>();
const RecurrentLoops<double> recurrent_loops_double = table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
