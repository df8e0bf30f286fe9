// Layer, RMS, group and batch normalisation: forward with saved statistics, and backward.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Arrays are dense. `t` is the dtype of x, y, grad and dx; `pt` that of gamma, beta, their
// gradients and running statistics: the same, or Float when t is a half. Saved statistics have
// compute_of(t). gamma, beta and any gradient output may be null. Gradients of gamma and beta
// depend on the number of threads only.

// Rows of n elements; mean and rstd have one number per row.
void layer_norm(DType t, DType pt, const void* x, const void* gamma, const void* beta, void* y,
                void* mean, void* rstd, int64_t rows, int64_t n, double eps);
void layer_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                         const void* mean, const void* rstd, void* dx, void* dgamma, void* dbeta,
                         int64_t rows, int64_t n);

// y = x / sqrt(mean(x^2) + eps) * gamma.
void rms_norm(DType t, DType pt, const void* x, const void* gamma, void* y, void* rstd,
              int64_t rows, int64_t n, double eps);
void rms_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                       const void* rstd, void* dx, void* dgamma, int64_t rows, int64_t n);

// x is [batch, channels, area]; channels fall into `groups` equal groups; mean and rstd are
// [batch, groups]; gamma and beta are [channels].
void group_norm(DType t, DType pt, const void* x, const void* gamma, const void* beta, void* y,
                void* mean, void* rstd, int64_t batch, int64_t channels, int64_t area,
                int64_t groups, double eps);
void group_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                         const void* mean, const void* rstd, void* dx, void* dgamma, void* dbeta,
                         int64_t batch, int64_t channels, int64_t area, int64_t groups);

// x is [batch, channels, area]. Training: statistics of the batch go to mean and invstd, and the
// running ones (null, or both) move by `momentum`, the variance with Bessel's correction.
void batch_norm_train(DType t, DType pt, const void* x, const void* gamma, const void* beta,
                      void* running_mean, void* running_var, void* y, void* mean, void* invstd,
                      int64_t batch, int64_t channels, int64_t area, double momentum, double eps);
void batch_norm_eval(DType t, DType pt, const void* x, const void* gamma, const void* beta,
                     const void* running_mean, const void* running_var, void* y, int64_t batch,
                     int64_t channels, int64_t area, double eps);
// Gradient of the training form from the saved statistics; of the evaluating form (train false)
// from the running ones, with mean and invstd null.
void batch_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                         const void* running_mean, const void* running_var, const void* mean,
                         const void* invstd, void* dx, void* dgamma, void* dbeta, int64_t batch,
                         int64_t channels, int64_t area, bool train, double eps);

}  // namespace rl::kernels
