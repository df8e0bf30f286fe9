// Products of unsigned words that wrap around: what each vector level offers.
#pragma once
#include <cstdint>

#include "base/level.h"

namespace rl::kernels {

// sums (m x columns, dense) = a (m x k, dense) times a panel of b, whose rows lie `step` apart.
template <class U>
using PanelProduct = void (*)(U* sums, const U* a, const U* b, int64_t step, int64_t m, int64_t k);
template <class U> struct WordProduct {
  int columns;  // of a panel
  PanelProduct<U> panel;
};

#define RL_DECLARE_WORDS(level)                \
  namespace level {                            \
  extern const WordProduct<uint32_t> words_u32; \
  extern const WordProduct<uint64_t> words_u64; \
  }
RL_DECLARE_WORDS(level0)
#if defined(__x86_64__)
RL_DECLARE_WORDS(level1)
RL_DECLARE_WORDS(level2)
#endif
#undef RL_DECLARE_WORDS

template <class U> const WordProduct<U>& word_product() {
  const auto of = [](const auto& narrow, const auto& wide) -> const WordProduct<U>& {
    if constexpr (sizeof(U) == 4) return narrow;
    else return wide;
  };
#if defined(__x86_64__)
  if (cpu_level() == Level::Avx512) return of(level2::words_u32, level2::words_u64);
  if (cpu_level() == Level::Avx2) return of(level1::words_u32, level1::words_u64);
#endif
  return of(level0::words_u32, level0::words_u64);
}

}  // namespace rl::kernels
