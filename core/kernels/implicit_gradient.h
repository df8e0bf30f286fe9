// How samples of gamma and beta distributions move with the parameters, at a fixed quantile.
#pragma once

namespace rl::kernels {

// dx/da where P(a, x) is held fixed: the derivative of a sample x of Gamma(a, 1).
double gamma_slope(double a, double x);
// dx/da where I_x(a, b) is held fixed: the derivative of a sample x of Beta(a, b).
double beta_slope(double a, double b, double x);

}  // namespace rl::kernels
