// Attention over blocks of queries and keys: the whole matrix of scores never exists.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// A (batch, heads, length, features) operand, or a mask (batch, heads, queries, keys), of which
// strides may be 0; strides in elements.
struct Stacks {
  void* data = nullptr;
  int64_t strides[4] = {0, 0, 0, 0};
};

// softmax(scale * Q K^T + mask) V, Float or Double. Heads of keys may serve several of queries.
struct Attention {
  int64_t batch, heads, key_heads, queries, keys, features, value_features;
  Stacks query, key, value, mask;
  bool mask_is_bool = false;   // says which scores count; else it is added to them
  bool causal = false;
  double scale = 1;
};

// Whether the forward takes this half dtype as it is: log_sums and a mask are float then.
bool attends_in_halves(DType dtype);

// log_sums, dense (batch, heads, queries), for the backward; may be null.
void attention(DType dtype, const Attention& problem, const Stacks& out, void* log_sums);

struct AttentionGradients { Stacks query, key, value; };
void attention_backward(DType dtype, const Attention& problem, const Stacks& out,
                        const void* log_sums, const Stacks& grad_out,
                        const AttentionGradients& grads);

}  // namespace rl::kernels
