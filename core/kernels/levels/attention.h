// Loops of attention over one row of scores.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

template <class T> struct AttentionLoops {
  void (*add)(T* row, const T* mask, int64_t n);
  void (*drop)(T* row, const char* keep, int64_t n);      // to -inf where not kept
  T (*largest)(const T* row, int64_t n);
  T (*exponentials)(T* row, T shift, int64_t n);          // exp(x - shift) in place; their sum
  void (*scale)(T* row, T by, int64_t n);
  T (*dot)(const T* a, const T* b, int64_t n);
  // Scores and gradients of probabilities become probabilities exp(score - log_sum) and gradients
  // of scores.
  void (*backward)(T* scores, T* grads, T log_sum, T mean, int64_t n);
};
RL_LEVEL_TABLES(AttentionLoops, attention_loops)

}  // namespace rl::kernels
