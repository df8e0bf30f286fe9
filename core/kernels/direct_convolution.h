// Convolutions that read each pixel where it lies, for every tap (Note [Direct convolution]).
#pragma once
#include "kernels/convolution.h"

namespace rl::kernels {

// float and double. Whether these are quicker than products over packed pixels.
template <class T> bool direct_forward_pays(const Convolution& conv);
template <class T> bool direct_weight_pays(const Convolution& conv);

template <class T>
void direct_forward(const Convolution& conv, T* output, const T* input, const T* weight,
                    const T* bias, bool relu);
// False, and nothing of worth written, where a value is infinite or NaN: what lies beside the
// images would count.
template <class T>
bool direct_backward_weight(const Convolution& conv, T* grad_weight, const T* grad_output,
                            const T* input);

}  // namespace rl::kernels
