// Gradients of samples of gamma, beta and Dirichlet distributions by their parameters.
#include "kernels/implicit_gradient.h"

#include "base/parallel.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace rl::ops {
namespace {

constexpr int64_t kGrain = 32;  // elements; each takes about a microsecond

// result = f(operands...), element by element in double precision.
template <class F, class... T> void each_in_double(const Tensor& result, F f, const T&... operand) {
  NoGrad quiet;
  const auto wide = [&](const Tensor& t) {
    const Tensor r = empty(result.sizes(), DType::Double);
    copy_data(r, expand(detached(t), result.sizes()));
    return r;
  };
  const Tensor made = empty(result.sizes(), DType::Double);
  const Tensor in[] = {wide(operand)...};
  parallel_for(0, made.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      [&]<size_t... K>(std::index_sequence<K...>) {
        made.ptr<double>()[i] = f(in[K].template ptr<double>()[i]...);
      }(std::index_sequence_for<T...>());
    }
  });
  copy_data(result, made);
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
    each_in_double(result, kernels::gamma_slope, self, output);
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
    each_in_double(result, [](double x, double alpha, double total) {
      return kernels::beta_slope(alpha, total - alpha, x) / (1 - x);
    }, x, alpha, total);
  });

}  // namespace rl::ops
