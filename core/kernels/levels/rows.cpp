// Sums, scaling and products of rows.
#include "kernels/levels/rows.h"

#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

template <class T> void add(const T* x, T* y, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(y + i, load(y + i, lanes) + load(x + i, lanes), lanes);
  });
}

template <class T> void add_scaled(const T* x, T a, T* y, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(y + i, load(y + i, lanes) + load(x + i, lanes) * a, lanes);
  });
}

template <class T> void add_many(const T* const* x, int64_t rows, T* y, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    Lanes<T> sum = load(y + i, lanes);
    for (int64_t r = 0; r < rows; ++r) sum += load(x[r] + i, lanes);
    store(y + i, sum, lanes);
  });
}

template <class T> void scale(T* x, T a, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) { store(x + i, load(x + i, lanes) * a, lanes); });
}

template <class T> void divide(T* x, T a, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) { store(x + i, load(x + i, lanes) / a, lanes); });
}

template <class T> T dot(const T* x, const T* y, int64_t n) {
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    s[k] += load(x + i, lanes) * load(y + i, lanes);
  });
  return sum_of<T>(total(s));
}

template <class T> T sum(const T* x, int64_t n) {
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) { s[k] += load(x + i, lanes); });
  return sum_of<T>(total(s));
}

template <class T> constexpr RowLoops<T> table() {
  return {add<T>, add_scaled<T>, add_many<T>, scale<T>, divide<T>, dot<T>, sum<T>};
}

}  // namespace

const RowLoops<float> row_loops_float = table<float>();
const RowLoops<double> row_loops_double = table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
