// Convolutions that read each pixel where it lies, for every tap (Note [Direct convolution]).
#pragma once
#include "kernels/convolution.h"

namespace rl::kernels {

// float and double, two spatial dimensions. Whether a convolution can be computed so, and whether
// its output is sooner there than by products over packed pixels.
bool takes_direct(const Convolution& conv);
template <class T> bool direct_forward_pays(const Convolution& conv);

template <class T>
void direct_forward(const Convolution& conv, T* output, const T* input, const T* weight,
                    const T* bias, bool relu);
template <class T>
void direct_backward_weight(const Convolution& conv, T* grad_weight, const T* grad_output,
                            const T* input);

}  // namespace rl::kernels
