// Permutations and draws from a table of probabilities.
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/random_draws.h"
#include "kernels/selection.h"

namespace rl::kernels {
namespace {

// Fisher and Yates, from the front: position i trades places with one of [i, n). The places are
// drawn ahead, so that their cache lines can be on the way.
template <class T> void shuffle(Generator& g, T* data, int64_t n) {
  constexpr int64_t kAhead = 256;
  uint32_t bits[kAhead];
  for (int64_t i = 0; i < n - 1; i += kAhead) {
    const int64_t m = std::min(kAhead, n - 1 - i);
    g.random(bits, m);
    for (int64_t j = 0; j < m; ++j) {
      const auto left = uint64_t(n - i - j);
      const uint64_t z = left >> 32 ? bits[j] : bits[j] % uint32_t(left);
      bits[j] = uint32_t(z);
      __builtin_prefetch(data + i + j + int64_t(z), 1);
    }
    for (int64_t j = 0; j < m; ++j) {
      T* at = data + i + j;
      std::swap(*at, at[bits[j]]);
    }
  }
}

template <class T> using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The running sums of a row, normalised; the last is 1 whatever rounding did.
template <class T>
Refusal cumulate(const char* row, int64_t stride, int64_t n, Sum<T>* sums) {
  Sum<T> sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const Sum<T> p = number(*reinterpret_cast<const T*>(row + j * stride));
    if (!(p >= 0)) return Refusal::Negative;
    if (!std::isfinite(p)) return Refusal::NotFinite;
    sum += p;
    sums[j] = sum;
  }
  if (!(sum > 0)) return Refusal::ZeroSum;
  for (int64_t j = 0; j < n; ++j) sums[j] /= sum;
  sums[n - 1] = 1;
  return Refusal::None;
}

// The first of the sums that is not below u.
template <class S> int64_t slot_of(const S* sums, int64_t n, double u) {
  const S* at = sums;
  for (; n > 0;) {
    const int64_t half = n / 2;
    const bool below = at[half] < u;
    at = below ? at + half + 1 : at;
    n = below ? n - half - 1 : half;
  }
  return at - sums;
}

template <class T> int64_t first_largest(const T* p, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (number(p[i]) > number(p[best])) best = i;
  }
  return best;
}

}  // namespace

void permutation(Generator& g, Run out) {
  dispatch(out.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::complex<float>> &&
                  !std::is_same_v<T, std::complex<double>>) {
      std::unique_ptr<T[]> scratch;
      T* data = static_cast<T*>(out.data);
      if (out.stride != int64_t(sizeof(T))) {
        scratch.reset(new T[size_t(out.n)]);
        data = scratch.get();
      }
      for (int64_t i = 0; i < out.n; ++i) data[i] = cast<T>(i);
      shuffle(g, data, out.n);
      if (scratch) {
        for (int64_t i = 0; i < out.n; ++i) write(out, i, data[i]);
      }
    }
  });
}

Refusal multinomial(Generator& g, ConstRun probs, int64_t row_stride, int64_t rows,
                    int64_t categories, int64_t samples, int64_t* result) {
  Refusal refusal = Refusal::None;
  for_floating(probs.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    std::unique_ptr<Sum<T>[]> sums(new Sum<T>[size_t(categories)]);
    const char* row = static_cast<const char*>(probs.data);
    for (int64_t i = 0; i < rows; ++i, row += row_stride) {
      refusal = cumulate<T>(row, probs.stride, categories, sums.get());
      if (refusal != Refusal::None) return;
      for (int64_t j = 0; j < samples; ++j) {
        *result++ = slot_of(sums.get(), categories, draw_double(g));
      }
    }
  });
  return refusal;
}

void multinomial_distinct(Generator& g, ConstRun probs, int64_t row_stride, int64_t rows,
                          int64_t categories, int64_t samples, int64_t* result) {
  for_floating(probs.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    std::unique_ptr<T[]> scores(new T[size_t(categories + samples)]);
    for (int64_t i = 0; i < rows; ++i, result += samples) {
      exponential(g, dense_run(scores.get(), probs.dtype, categories), 1);
      ConstRun row = probs;
      row.data = static_cast<const char*>(probs.data) + i * row_stride;
      for (int64_t j = 0; j < categories; ++j) {
        scores[j] = cast<T>(number(read<T>(row, j)) / number(scores[j]));
      }
      if (samples == 1) {
        *result = first_largest(scores.get(), categories);
      } else {
        topk(scores.get(), probs.dtype, 1, categories, samples, true, true,
             scores.get() + categories, result);
      }
    }
  });
}

}  // namespace rl::kernels
