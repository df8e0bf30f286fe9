// Connectionist temporal classification (Graves et al. 2006): loss and gradient.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// A batch of sequences: dense log-probabilities [steps, batch, labels] of Float or Double.
struct Ctc {
  DType dtype;
  int64_t steps, batch, labels;
  const int64_t* input_lengths;   // [batch], at most `steps`
  const int64_t* target_lengths;  // [batch]
  const int64_t* targets;         // sequence b: targets[starts[b] + k * target_stride]
  const int64_t* starts;
  int64_t target_stride;
  int64_t blank;
  int64_t width;                  // of a row of log_alpha: 2 * the longest target + 1
};

// Whether a target lies outside [0, labels), and which. The others need targets that passed.
bool first_bad_label(const Ctc& c, int64_t* label);

// loss [batch]; log_alpha [batch, steps, width]: -inf where no path leads.
void ctc_loss(const Ctc& c, const void* log_probs, void* loss, void* log_alpha);
// dlog_probs [steps, batch, labels] from grad [batch]; an infinite loss gives zeros if asked to.
void ctc_loss_backward(const Ctc& c, const void* grad, int64_t grad_stride, const void* log_probs,
                       const void* loss, const void* log_alpha, bool zero_infinity,
                       void* dlog_probs);

}  // namespace rl::kernels
