// Attention's passes over a row of scores: masks, running softmax, gradients.
#include "kernels/levels/attention.h"

#include "kernels/levels/lanes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

template <class T> constexpr T kNever = T(-__builtin_inf());

template <class T> void add(T* row, const T* mask, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(row + i, load(row + i, lanes) + load(mask + i, lanes), lanes);
  });
}

template <class T> void drop(T* row, const char* keep, int64_t n) {
  for (int64_t i = 0; i < n; ++i) row[i] = keep[i] ? row[i] : kNever<T>;
}

template <class T> T largest(const T* row, int64_t n) {
  Lanes<T> m[4] = {all(kNever<T>), all(kNever<T>), all(kNever<T>), all(kNever<T>)};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    m[k] = larger(m[k], load(row + i, lanes, kNever<T>));
  });
  return max_of<T>(larger(larger(m[0], m[1]), larger(m[2], m[3])));
}

template <class T> T exponentials(T* row, T shift, int64_t n) {
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    const Lanes<T> e = exponential(load(row + i, lanes, kNever<T>) - shift);
    store(row + i, e, lanes);
    s[k] += e;
  });
  return sum_of<T>(total(s));
}

template <class T> void scale(T* row, T by, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    store(row + i, load(row + i, lanes) * by, lanes);
  });
}

template <class T> T dot(const T* a, const T* b, int64_t n) {
  Lanes<T> s[4] = {};
  sweep4<T>(n, [&](int64_t i, auto lanes, int k) {
    s[k] += load(a + i, lanes) * load(b + i, lanes);
  });
  return sum_of<T>(total(s));
}

template <class T> void backward(T* scores, T* grads, T log_sum, T mean, int64_t n) {
  sweep<T>(n, [&](int64_t i, auto lanes) {
    const Lanes<T> p = exponential(load(scores + i, lanes) - log_sum);
    store(scores + i, p, lanes);
    store(grads + i, p * (load(grads + i, lanes) - mean), lanes);
  });
}

template <class T> constexpr AttentionLoops<T> table() {
  return {add<T>, drop<T>, largest<T>, exponentials<T>, scale<T>, dot<T>, backward<T>};
}

}  // namespace

const AttentionLoops<float> attention_loops_float = table<float>();
const AttentionLoops<double> attention_loops_double = table<double>();

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
