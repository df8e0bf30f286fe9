// Matrix products of integers and bool: sums wrap around in unsigned words.
#pragma once
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/levels/gemm_integer.h"
#include "kernels/load.h"
#include "kernels/scratch.h"

namespace rl::kernels {

// An unsigned word at least as wide as int, so that its arithmetic is defined.
template <class T> using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// A strided matrix as dense words, rows filled up with 0 to `width`.
template <class T>
void pack_words(Word<T>* to, int64_t width, const T* from, int64_t m, int64_t n, int64_t row,
                int64_t col) {
  for (int64_t i = 0; i < m; ++i, to += width, from += row) {
    if (col == 1) {
      for (int64_t j = 0; j < n; ++j) to[j] = Word<T>(element(from[j]));
    } else {
      for (int64_t j = 0; j < n; ++j) to[j] = Word<T>(element(from[j * col]));
    }
    std::fill(to + n, to + width, Word<T>(0));
  }
}

template <class T> class IntegerProduct {
 public:
  explicit IntegerProduct(const MatrixProduct& product)
      : p_(product), alpha_(U(p_.alpha.template to<int64_t>())),
        beta_(U(p_.beta.template to<int64_t>())) {}

  void run() {
    parallel_for(0, p_.m, 1 + 32768 / (p_.n * p_.k + 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kRows) rows(i, std::min(kRows, end - i));
    });
  }

 private:
  using U = Word<T>;
  static constexpr int64_t kRows = 96;      // of A, whose words stay in the second cache
  static constexpr int64_t kFewRows = 8;    // too few to pay for packing B
  static constexpr bool kLogical = std::is_same_v<T, bool>;

  void rows(int64_t i0, int64_t m) {
    const WordProduct<U>& level = word_product<U>();
    const int64_t columns = level.columns, k = p_.k;
    U* const a = static_cast<U*>(scratch(Scratch::PackA, size_t(m * k) * sizeof(U)));
    U* const packed = static_cast<U*>(scratch(Scratch::PackB, size_t(k * columns) * sizeof(U)));
    U* const sums = static_cast<U*>(scratch(Scratch::Result, size_t(m * columns) * sizeof(U)));
    pack_words(a, k, static_cast<const T*>(p_.a) + i0 * p_.a_row, m, k, p_.a_row, p_.a_col);
    for (int64_t j0 = 0; j0 < p_.n; j0 += columns) {
      const int64_t n = std::min(columns, p_.n - j0);
      const T* b = static_cast<const T*>(p_.b) + j0 * p_.b_col;
      const bool as_it_lies = sizeof(T) == sizeof(U) && p_.b_col == 1 && n == columns &&
                              m <= kFewRows;
      if (as_it_lies) {
        level.panel(sums, a, reinterpret_cast<const U*>(b), p_.b_row, m, k);
      } else {
        pack_words(packed, columns, b, k, n, p_.b_row, p_.b_col);
        level.panel(sums, a, packed, columns, m, k);
      }
      for (int64_t i = 0; i < m; ++i) finish(sums + i * columns, i0 + i, j0, n);
    }
  }

  void finish(const U* sums, int64_t i, int64_t j0, int64_t n) {
    const T* const bias = static_cast<const T*>(p_.bias);
    for (int64_t j = 0; j < n; ++j) {
      T& to = static_cast<T*>(p_.c)[i * p_.c_row + (j0 + j) * p_.c_col];
      U v = alpha_ * (kLogical ? U(sums[j] != 0) : sums[j]);
      if (beta_ != 0) v += beta_ * U(element(to));
      if (bias) v += U(element(p_.bias_per_row ? bias[i] : bias[j0 + j]));
      to = p_.relu && std::is_signed_v<T> && T(v) < T(0) ? T(0) : T(v);
    }
  }

  const MatrixProduct& p_;
  const U alpha_, beta_;
};

template <class T> void gemm_integer(const MatrixProduct& p) { IntegerProduct<T>(p).run(); }

}  // namespace rl::kernels
