// Norms by another node's name, and second derivatives that all normalisations share.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// norms.cpp
extern const Op<Tensor(Tensor, MaybeScalar, Ints, bool)> norm_over;

struct SecondGradients { Tensor grad, input, weight; };

// Of y = h weight + bias with h = (x - mean) rstd, the statistics being over `dims` of n elements.
// ddx, ddw and ddb are the gradients of the three first derivatives (undefined: zero), weight and
// they broadcast against the input; so do the results, to be summed by the caller or the engine.
SecondGradients norm_second_gradients(const Tensor& ddx, const Tensor& ddw, const Tensor& ddb,
                                      const Tensor& grad, const Tensor& input, const Tensor& weight,
                                      const Tensor& mean, const Tensor& rstd, const Dims& dims,
                                      int64_t n);

}  // namespace rl::ops
