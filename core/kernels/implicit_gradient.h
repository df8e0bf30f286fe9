// How samples of gamma and beta distributions move with the parameters, at a fixed quantile.
#pragma once
#include <cstdint>

namespace rl::kernels {

// dx/da where P(a, x) is held fixed: the derivative of a sample x of Gamma(a, 1).
double gamma_slope(double a, double x);
// dx/da where I_x(a, b) is held fixed: the derivative of a sample x of Beta(a, b).
double beta_slope(double a, double b, double x);

// The same for n samples.
void gamma_slopes(double* out, const double* a, const double* x, int64_t n);
// Of coordinates x of Dirichlet samples by their concentrations, over 1 - x; `total` is the sum of
// all concentrations.
void dirichlet_slopes(double* out, const double* x, const double* alpha, const double* total,
                      int64_t n);

}  // namespace rl::kernels
