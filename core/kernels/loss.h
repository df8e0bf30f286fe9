// Negative log-likelihood and cross-entropy with class indices: forward and backward.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

enum class Reduction : int { None = 0, Mean = 1, Sum = 2 };  // PyTorch's numbers

// A loss over classes: scores are dense [batch, classes, area], targets int64 [batch, area].
struct ClassLoss {
  DType dtype;                      // of scores, weight, results and gradients
  int64_t batch, classes, area;
  const int64_t* target;
  const void* weight = nullptr;     // [classes], or null for 1
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::Mean;
  double smoothing = 0;             // label smoothing, cross-entropy only
};

// The position of the first target that is neither ignored nor in [0, classes); -1 if none.
int64_t first_bad_target(const ClassLoss& loss);

// Both write `out` ([batch, area] for None, else one number) and total_weight, the sum of the
// weights of the targets that count: what Mean divides by. Targets must have been checked.
void nll_loss(const ClassLoss& loss, const void* log_probs, void* out, void* total_weight);
// Also writes log_probs, which the backward needs.
void cross_entropy(const ClassLoss& loss, const void* logits, void* log_probs, void* out,
                   void* total_weight);

// grad has the shape of out; the gradients that of the scores.
void nll_loss_backward(const ClassLoss& loss, const void* grad, const void* total_weight,
                       void* dlog_probs);
void cross_entropy_backward(const ClassLoss& loss, const void* grad, const void* log_probs,
                            const void* total_weight, void* dlogits);

}  // namespace rl::kernels
