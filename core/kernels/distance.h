// Distances in the p-norm between all pairs of rows, and their gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Dense rows of Float or Double: first [batch, n, dim], second [batch, m, dim].
struct Distances {
  DType dtype;
  int64_t batch, n, m, dim;
  double p;                  // 0 (how many parts differ) up to infinity
};

void cdist(const Distances& d, const void* first, const void* second, void* out);
// dfirst from grad and out, both [batch, n, m].
void cdist_backward(const Distances& d, const void* grad, const void* first, const void* second,
                    const void* out, void* dfirst);

// The pairs i < j of rows [n, dim], in the order (0, 1), (0, 2), ..., (n - 2, n - 1).
void pdist(const Distances& d, const void* rows, void* out);
void pdist_backward(const Distances& d, const void* grad, const void* rows, const void* out,
                    void* drows);

}  // namespace rl::kernels
