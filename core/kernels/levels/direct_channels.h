// Direct convolution with output channels side by side in registers (see DirectLevel).
#pragma once
#include "kernels/levels/direct_planes.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles {

constexpr int kChannelVectors = RL_LEVEL == 2 ? 4 : 2;

template <class T>
void channels_forward(T* output, int64_t image_step, const Convolution& c, const DirectPlanes& p,
                      const T* space, const T* weight, const T* bias, bool relu, int64_t y,
                      int64_t count, T* sums);
template <class T>
void turn(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns,
          int64_t padded);
template <class T>
void channels_weight(T* sums, int64_t width, const Convolution& c, const DirectPlanes& p,
                     const T* space, const T* grads, int64_t channels);

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE::tiles
