// Hinge losses over classes: one right class per row, or several.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "kernels/loss.h"

namespace rl::kernels {

// Dense rows of Float or Double scores.
struct MarginLoss {
  DType dtype;
  int64_t rows, classes;
  const int64_t* target;         // [rows]; of several labels: [rows, classes], -1 ends a row
  Reduction reduction;
  bool squared = false;          // multi_margin_loss with p = 2
  double margin = 1;
  const void* weight = nullptr;  // [classes], or null for 1
};

// Whether a target is none of the classes (nor, with several labels, the end of a row).
bool bad_margin_target(const MarginLoss& m, bool several);

// out: [rows] without reduction, else one number.
void multi_margin_loss(const MarginLoss& m, const void* scores, void* out);
void multi_margin_loss_backward(const MarginLoss& m, const void* grad, const void* scores,
                                void* dscores);
// is_target [rows, classes]: 1 at the labels of each row.
void multilabel_margin_loss(const MarginLoss& m, const void* scores, void* out, void* is_target);
void multilabel_margin_loss_backward(const MarginLoss& m, const void* grad, const void* scores,
                                     const void* is_target, void* dscores);

}  // namespace rl::kernels
