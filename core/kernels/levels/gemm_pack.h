// Packing for matrix products: panels of a fixed width, laid out in the order tiles read them.
#pragma once
#include "kernels/levels/registers.h"

#define RL_INLINE_LAMBDA __attribute__((always_inline))

namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles {

// Rows of one register tile; with two vectors of columns it fills the registers.
#if RL_LEVEL == 2
constexpr int kTileRows = 12;
#elif RL_LEVEL == 1
constexpr int kTileRows = 6;
#elif defined(__aarch64__)
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 4;
#endif
constexpr int64_t kPackSlack = 16;  // elements a packing may write past its end

// Note [Packing]
// A panel holds P rows of A (or columns of B) as k groups of P values, zeros where the operand
// ends. Stores of whole vectors may spill into the next group; groups are written in an order
// that repairs this, and the buffer has kPackSlack elements more than it needs.

// Operand dense along k: squares are transposed in registers.
template <class T, int P>
RL_INLINE void pack_transposing(T* to, const T* from, int64_t step, int rows, int64_t k) {
  constexpr int w = Lanes<T>::count, groups = (P + w - 1) / w;
  int64_t p = 0;
  for (; p + w <= k; p += w) {
#pragma GCC unroll 8
    for (int g = groups - 1; g >= 0; --g) {
      Vec<T> square[w];
#pragma GCC unroll 16
      for (int i = 0; i < w; ++i) {
        const int row = g * w + i;
        square[i] = row < P && row < rows ? load(from + row * step + p) : zero<T>();
        if (row < P && row < rows) __builtin_prefetch(from + row * step + p + 4 * w, 0, 2);
      }
      transpose<T>(square);
#pragma GCC unroll 16
      for (int i = 0; i < w; ++i) store(to + (p + i) * P + g * w, square[i]);
    }
  }
  for (; p < k; ++p) {
    for (int i = 0; i < P; ++i) to[p * P + i] = i < rows ? from[i * step + p] : T(0);
  }
}

// `step` is the stride from one row of the panel to the next, `along` the stride along k.
template <class T, int P>
void pack(T* to, const T* from, int64_t step, int64_t along, int64_t rows, int64_t k) {
  constexpr int w = Lanes<T>::count;
  for (int64_t r = 0; r < rows; r += P, to += P * k, from += P * step) {
    const int count = int(rows - r < P ? rows - r : P);
    if (along == 1 && k >= w) {
      if (count == P) pack_transposing<T, P>(to, from, step, P, k);
      else pack_transposing<T, P>(to, from, step, count, k);
    } else if (step == 1 && count == P) {
      for (int64_t p = 0; p < k; ++p) {
        if constexpr (P % w == 0) {
#pragma GCC unroll 8
          for (int i = 0; i < P; i += w) store(to + p * P + i, load(from + p * along + i));
        } else {
          std::memcpy(to + p * P, from + p * along, P * sizeof(T));
        }
      }
    } else {
      for (int64_t p = 0; p < k; ++p) {
        for (int i = 0; i < P; ++i) to[p * P + i] = i < count ? from[i * step + p * along] : T(0);
      }
    }
  }
}

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles
