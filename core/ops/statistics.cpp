// Variances and standard deviations.
#include <cmath>

#include "ops/reduce.h"

namespace rl::ops {
namespace {

using MaybeScalar = std::optional<Scalar>;
using Pair = std::pair<Tensor, Tensor>;

// One part of complex numbers, as a real tensor over their memory.
Tensor part_of(const Tensor& self, int64_t part) {
  Dims strides;
  for (int64_t s : self.strides()) strides.push_back(2 * s);
  Tensor r = alias(self);
  r->dtype = real_of(self.dtype());
  r->offset = 2 * self.offset() + part;
  r->set_layout(self.sizes(), strides);
  return r;
}

// Variance (or its root) and, where wanted, mean over the dimensions of `mask`.
void spread_into(const Tensor& variance, const Tensor& mean, const Tensor& self, uint64_t mask,
                 const MaybeScalar& correction, bool root) {
  const Dims sizes = reduced_sizes(self.sizes(), mask, false);
  const Tensor middle = empty(sizes, DType::Double), deviation = empty(sizes, DType::Double);
  double* const v = deviation.ptr<double>();
  const int64_t n = deviation.numel();
  const auto give_mean = [&](const Tensor& to) {
    copy_data(to, alias(middle, to.sizes(), contiguous_strides(to.sizes()), 0));
  };
  if (self.is_complex()) {
    const Tensor other = empty(sizes, DType::Double);
    moments(middle, other, part_of(self, 1), mask);
    if (mean) give_mean(part_of(mean, 1));
    moments(middle, deviation, part_of(self, 0), mask);
    if (mean) give_mean(part_of(mean, 0));
    for (int64_t i = 0; i < n; ++i) v[i] += other.ptr<double>()[i];
  } else {
    moments(middle, deviation, self, mask);
    if (mean) give_mean(mean);
  }
  const double count = double(reduced_count(self.sizes(), mask)) -
                       (correction ? correction->to_double() : 1);
  const double divisor = count > 0 ? count : 0;
  for (int64_t i = 0; i < n; ++i) v[i] = root ? std::sqrt(v[i] / divisor) : v[i] / divisor;
  copy_data(variance, alias(deviation, variance.sizes(), contiguous_strides(variance.sizes()), 0));
}

void infer_spread(Infer& r, const char* name, const Tensor& self, const MaybeDims& dim,
                  bool keepdim, bool means) {
  check(is_differentiable(self.dtype()), name,
        " only support floating point and complex dtypes");
  const Dims sizes = reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim);
  r.result(sizes, real_of(self.dtype()), self.device());
  if (means) r.result(sizes, self.dtype(), self.device());
}

// d var / d x = 2 (x - mean) / (n - correction); nothing varies in what has no degree of freedom.
Tensor var_backward(const Tensor& grad, const Tensor& self, const MaybeDims& dim,
                    const MaybeScalar& correction, bool keepdim) {
  const uint64_t mask = reduced_mask(dim, self.dim());
  const double freedom = double(reduced_count(self.sizes(), mask)) -
                         (correction ? correction->to_double() : 1);
  const Tensor centred = self - mean_dim(self, dim, true);
  return spread(grad, self.sizes(), mask, keepdim) * Scalar(2.0 / freedom) * centred;
}
Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                    const MaybeDims& dim, const MaybeScalar& correction, bool keepdim) {
  return var_backward(grad / (result * Scalar(2)), self, dim, correction, keepdim);
}
Tensor mean_backward(const Tensor& grad, const Tensor& self, const MaybeDims& dim, bool keepdim) {
  const uint64_t mask = reduced_mask(dim, self.dim());
  return expand(spread(grad, self.sizes(), mask, keepdim), self.sizes()) /
         Scalar(reduced_count(self.sizes(), mask));
}
MaybeScalar correction_of(bool unbiased) { return Scalar(int64_t(unbiased)); }

}  // namespace

const auto var_all = define<Tensor(Tensor, bool)>("var(Tensor self, bool unbiased=True) -> Tensor")
  .forms(Function | Method)
  .composite([](const Tensor& self, bool unbiased) {
    return Tensor(var(self, std::nullopt, correction_of(unbiased)));
  });

const auto var_dim = define<Tensor(Tensor, MaybeDims, bool, bool)>(
    "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
    return Tensor(var(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Tensor(Tensor, MaybeDims, MaybeScalar, bool)> var =
    define<Tensor(Tensor, MaybeDims, MaybeScalar, bool)>(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> Tensor")
  .doc(R"(
    The variance: squared deviations from the mean over n - `correction`, which is 1 unless given.

    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
  )")
  .node("VarBackward0")
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeDims dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "std and var", self, dim, keepdim, false);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDims dim, const MaybeScalar& correction, bool) {
    spread_into(result, Tensor(), self, reduced_mask(dim, self.dim()), correction, false);
  })
  .grad("self", "grad, self, dim, correction, keepdim",
        [](const Tensor& grad, const Tensor& self, MaybeDims dim, const MaybeScalar& correction,
           bool keepdim) { return var_backward(grad, self, dim, correction, keepdim); });

const auto std_all = define<Tensor(Tensor, bool)>("std(Tensor self, bool unbiased=True) -> Tensor")
  .forms(Function | Method)
  .composite([](const Tensor& self, bool unbiased) {
    return Tensor(std_(self, std::nullopt, correction_of(unbiased)));
  });

const auto std_dim = define<Tensor(Tensor, MaybeDims, bool, bool)>(
    "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
    return Tensor(std_(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Tensor(Tensor, MaybeDims, MaybeScalar, bool)> std_ =
    define<Tensor(Tensor, MaybeDims, MaybeScalar, bool)>(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> Tensor")
  .doc(R"(
    The standard deviation: the root of the variance.

    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
  )")
  .node("StdBackward0")
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeDims dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "std and var", self, dim, keepdim, false);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDims dim, const MaybeScalar& correction, bool) {
    spread_into(result, Tensor(), self, reduced_mask(dim, self.dim()), correction, true);
  })
  .grad("self", "grad, self, result, dim, correction, keepdim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, MaybeDims dim,
           const MaybeScalar& correction, bool keepdim) {
    return std_backward(grad, self, result, dim, correction, keepdim);
  });

const auto var_mean_all = define<Pair(Tensor, bool)>(
    "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
  .composite([](const Tensor& self, bool unbiased) {
    return Pair(var_mean(self, std::nullopt, correction_of(unbiased)));
  });

const auto var_mean_dim = define<Pair(Tensor, MaybeDims, bool, bool)>(
    "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
    " -> (Tensor, Tensor)")
  .composite([](const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
    return Pair(var_mean(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Pair(Tensor, MaybeDims, MaybeScalar, bool)> var_mean =
    define<Pair(Tensor, MaybeDims, MaybeScalar, bool)>(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None,"
    " bool keepdim=False) -> (Tensor, Tensor)")
  .doc(R"(
    The variance and the mean, found together.

    >>> torch.var_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
  )")
  .node("VarMeanBackward0")
  .infer([](Infer& r, const Tensor& self, MaybeDims dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "var_mean", self, dim, keepdim, true);
  })
  .kernel([](Tensor& variance, Tensor& mean, const Tensor& self, MaybeDims dim,
             const MaybeScalar& correction, bool) {
    spread_into(variance, mean, self, reduced_mask(dim, self.dim()), correction, false);
  })
  .grad("self", "grad.result, grad.result1, self, dim, correction, keepdim",
        [](const Tensor& variance, const Tensor& mean, const Tensor& self, MaybeDims dim,
           const MaybeScalar& correction, bool keepdim) {
    if (!variance) return mean_backward(mean, self, dim, keepdim);
    const Tensor first = var_backward(variance, self, dim, correction, keepdim);
    return mean ? first + mean_backward(mean, self, dim, keepdim) : first;
  });

const auto std_mean_all = define<Pair(Tensor, bool)>(
    "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
  .composite([](const Tensor& self, bool unbiased) {
    return Pair(std_mean(self, std::nullopt, correction_of(unbiased)));
  });

const auto std_mean_dim = define<Pair(Tensor, MaybeDims, bool, bool)>(
    "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
    " -> (Tensor, Tensor)")
  .composite([](const Tensor& self, MaybeDims dim, bool unbiased, bool keepdim) {
    return Pair(std_mean(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Pair(Tensor, MaybeDims, MaybeScalar, bool)> std_mean =
    define<Pair(Tensor, MaybeDims, MaybeScalar, bool)>(
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None,"
    " bool keepdim=False) -> (Tensor, Tensor)")
  .doc(R"(
    The standard deviation and the mean, found together.

    >>> torch.std_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
  )")
  .node("StdMeanBackward0")
  .infer([](Infer& r, const Tensor& self, MaybeDims dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "std_mean", self, dim, keepdim, true);
  })
  .kernel([](Tensor& deviation, Tensor& mean, const Tensor& self, MaybeDims dim,
             const MaybeScalar& correction, bool) {
    spread_into(deviation, mean, self, reduced_mask(dim, self.dim()), correction, true);
  })
  .grad("self", "grad.result, grad.result1, self, result, dim, correction, keepdim",
        [](const Tensor& deviation, const Tensor& mean, const Tensor& self, const Tensor& result,
           MaybeDims dim, const MaybeScalar& correction, bool keepdim) {
    if (!deviation) return mean_backward(mean, self, dim, keepdim);
    const Tensor first = std_backward(deviation, self, result, dim, correction, keepdim);
    return mean ? first + mean_backward(mean, self, dim, keepdim) : first;
  });

}  // namespace rl::ops
