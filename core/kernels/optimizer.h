// Optimizer steps over lists of parameters in one call, and the norm and scaling of gradients.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// One parameter of a step: dense arrays of `size` numbers, Float or Double as the call says.
struct StepItem {
  void* param;
  const void* grad;
  void* state[3];    // as the optimizer's comment lists them; null where unused
  int64_t size;
  double step = 1;   // the number of this step, from 1
  double product = 1;  // NAdam: the product of the momentum factors, this step's included
};

// The formulas and the order of their terms are those of PyTorch 2.13's single-tensor steps.
struct SgdOptions {
  double lr, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
};
// state: momentum buffer, or null without momentum. On step 1 the buffer becomes the gradient.
void sgd_step(DType t, const StepItem* items, int64_t count, const SgdOptions& o);

struct AdamOptions {
  double lr, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, maximize = false;
  bool decoupled = false;         // AdamW's weight decay
  double momentum_decay = 4e-3;   // NAdam
};
// state: exp_avg, exp_avg_sq, max_exp_avg_sq with amsgrad.
void adam_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o);
// state: exp_avg, exp_avg_sq. NAdam's momentum factor of a step, for the caller's running product:
double nadam_factor(double step, const AdamOptions& o);
void nadam_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o);
void radam_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o);
// state: exp_avg, exp_inf.
void adamax_step(DType t, const StepItem* items, int64_t count, const AdamOptions& o);

// state: sum of squares.
struct AdagradOptions {
  double lr, lr_decay = 0, weight_decay = 0, eps = 1e-10;
  bool maximize = false;
};
void adagrad_step(DType t, const StepItem* items, int64_t count, const AdagradOptions& o);

// state: square_avg, acc_delta.
struct AdadeltaOptions {
  double lr, rho = 0.9, eps = 1e-6, weight_decay = 0;
  bool maximize = false;
};
void adadelta_step(DType t, const StepItem* items, int64_t count, const AdadeltaOptions& o);

// state: square_avg, grad_avg with `centered`, momentum buffer or null.
struct RmspropOptions {
  double lr, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false, maximize = false;
};
void rmsprop_step(DType t, const StepItem* items, int64_t count, const RmspropOptions& o);

// out[i] = the sum of squares of array i, in blocks whose split does not depend on the threads.
void list_sum_squares(DType t, const void* const* arrays, const int64_t* sizes, int64_t count,
                      double* out);
// Every array times `factor`.
void list_scale(DType t, void* const* arrays, const int64_t* sizes, int64_t count, double factor);

}  // namespace rl::kernels
