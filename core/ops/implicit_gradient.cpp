// Gradients of samples of gamma, beta and Dirichlet distributions by their parameters.
#include "kernels/implicit_gradient.h"

#include "ops/ops.h"
#include "ops/random.h"

namespace rl::ops {
namespace {

// A dense copy in double precision, of the result's sizes.
Tensor wide(const Tensor& t, const Tensor& result) {
  const Tensor r = empty(result.sizes(), DType::Double);
  copy_data(r, expand(detached(t), result.sizes()));
  return r;
}

}  // namespace

const Op<Tensor(Tensor, Tensor)> standard_gamma_grad = define<Tensor(Tensor, Tensor)>(
    "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor")
  .doc("How gamma-distributed numbers `output` move with their concentrations, the input.")
  .forms(Function)
  .no_derivative("the derivative for '_standard_gamma_grad' is not implemented")
  .infer([](Infer& r, const Tensor& self, const Tensor& output) {
    if (!self.is_floating()) not_for("_standard_gamma_grad_cpu", self.dtype());
    r.result(broadcast(self.sizes(), output.sizes()), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& output) {
    NoGrad quiet;
    const Tensor made = empty(result.sizes(), DType::Double);
    kernels::gamma_slopes(made.ptr<double>(), wide(self, result).ptr<double>(),
                          wide(output, result).ptr<double>(), made.numel());
    copy_data(result, made);
  });

const auto dirichlet_grad = define<Tensor(Tensor, Tensor, Tensor)>(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor")
  .doc("How coordinates x of Dirichlet samples move with their concentrations alpha, over 1 - x; "
       "total is the sum of all concentrations.")
  .forms(Function)
  .no_derivative("the derivative for '_dirichlet_grad' is not implemented")
  .infer([](Infer& r, const Tensor& x, const Tensor& alpha, const Tensor& total) {
    if (!x.is_floating()) not_for("_dirichlet_grad_cpu", x.dtype());
    r.result(broadcast(broadcast(x.sizes(), alpha.sizes()), total.sizes()), x.dtype(), x.device());
  })
  .kernel([](Tensor& result, const Tensor& x, const Tensor& alpha, const Tensor& total) {
    NoGrad quiet;
    const Tensor made = empty(result.sizes(), DType::Double);
    kernels::dirichlet_slopes(made.ptr<double>(), wide(x, result).ptr<double>(),
                              wide(alpha, result).ptr<double>(),
                              wide(total, result).ptr<double>(), made.numel());
    copy_data(result, made);
  });

}  // namespace rl::ops
