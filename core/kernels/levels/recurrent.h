// Loops of the recurrent cells over one row of the batch.
#pragma once
#include <cstdint>

#include "kernels/levels/table.h"

namespace rl::kernels {

template <class T> struct RecurrentLoops {
  void (*lstm)(const T* gates, const T* cell, T* active, T* hidden, T* next_cell, int64_t n);
  void (*lstm_backward)(const T* dhidden, const T* dnext_cell, const T* active, const T* cell,
                        const T* next_cell, T* dgates, T* dcell, int64_t n);
  void (*gru)(const T* input_gates, const T* hidden_gates, const T* hidden, T* active,
              T* next_hidden, int64_t n);
  void (*gru_backward)(const T* dnext, const T* active, const T* hidden, T* dinput_gates,
                       T* dhidden_gates, T* dhidden, int64_t n);
};
RL_LEVEL_TABLES(RecurrentLoops, recurrent_loops)

}  // namespace rl::kernels
