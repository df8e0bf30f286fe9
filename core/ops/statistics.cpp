// Variances, standard deviations, covariances and quantiles.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/view_edits.h"

namespace rl::ops {
namespace {

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

void infer_spread(Infer& r, const char* name, const Tensor& self, const MaybeInts& dim,
                  bool keepdim, bool means) {
  check(is_differentiable(self.dtype()), name,
        " only support floating point and complex dtypes");
  const Dims sizes = reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim);
  r.result(sizes, real_of(self.dtype()), self.device());
  if (means) r.result(sizes, self.dtype(), self.device());
}

// d var / d x = 2 (x - mean) / (n - correction); nothing varies in what has no degree of freedom.
Tensor var_backward(const Tensor& grad, const Tensor& self, const MaybeInts& dim,
                    const MaybeScalar& correction, bool keepdim) {
  const uint64_t mask = reduced_mask(dim, self.dim());
  const double freedom = double(reduced_count(self.sizes(), mask)) -
                         (correction ? correction->to_double() : 1);
  if (freedom <= 0 && !dim) {
    const double inf = std::numeric_limits<double>::infinity();
    return grad * where(eq(self, mean(self)), Scalar(std::nan("")), Scalar(inf));
  }
  const Tensor centred = self - mean_dim(self, dim, true);
  return spread(grad, self.sizes(), mask, keepdim) * Scalar(2.0 / freedom) * centred;
}
Tensor std_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                    const MaybeInts& dim, const MaybeScalar& correction, bool keepdim) {
  const Tensor halved = zero_where(eq(result, Scalar(0)), grad / (result * Scalar(2)));
  return var_backward(halved, self, dim, correction, keepdim);
}
Tensor mean_backward(const Tensor& grad, const Tensor& self, const MaybeInts& dim, bool keepdim) {
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

const auto var_dim = define<Tensor(Tensor, MaybeInts, bool, bool)>(
    "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
  .out({.dtype = OutDType::Computed, .internal = true})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, MaybeInts dim, bool unbiased, bool keepdim) {
    return Tensor(var(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Tensor(Tensor, MaybeInts, MaybeScalar, bool)> var =
    define<Tensor(Tensor, MaybeInts, MaybeScalar, bool)>(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> Tensor")
  .doc(R"(
    The variance: squared deviations from the mean over n - `correction`, which is 1 unless given.

    >>> torch.var(torch.tensor([1., 2., 3.]))
    tensor(1.)
  )")
  .node("VarBackward0")
  .out({.dtype = OutDType::Computed, .internal = true})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "std and var", self, dim, keepdim, false);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, const MaybeScalar& correction,
             bool) {
    spread_into(result, Tensor(), self, reduced_mask(dim, self.dim()), correction, false);
  })
  .grad("self", "grad, self, dim, correction, keepdim",
        [](const Tensor& grad, const Tensor& self, MaybeInts dim, const MaybeScalar& correction,
           bool keepdim) { return var_backward(grad, self, dim, correction, keepdim); });

const auto std_all = define<Tensor(Tensor, bool)>("std(Tensor self, bool unbiased=True) -> Tensor")
  .forms(Function | Method)
  .composite([](const Tensor& self, bool unbiased) {
    return Tensor(std_(self, std::nullopt, correction_of(unbiased)));
  });

const auto std_dim = define<Tensor(Tensor, MaybeInts, bool, bool)>(
    "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor")
  .out({.dtype = OutDType::Computed, .internal = true})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, MaybeInts dim, bool unbiased, bool keepdim) {
    return Tensor(std_(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Tensor(Tensor, MaybeInts, MaybeScalar, bool)> std_ =
    define<Tensor(Tensor, MaybeInts, MaybeScalar, bool)>(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> Tensor")
  .doc(R"(
    The standard deviation: the root of the variance.

    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
  )")
  .node("StdBackward0")
  .out({.dtype = OutDType::Computed, .internal = true})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "std and var", self, dim, keepdim, false);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, const MaybeScalar& correction,
             bool) {
    spread_into(result, Tensor(), self, reduced_mask(dim, self.dim()), correction, true);
  })
  .grad("self", "grad, self, result, dim, correction, keepdim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, MaybeInts dim,
           const MaybeScalar& correction, bool keepdim) {
    return std_backward(grad, self, result, dim, correction, keepdim);
  });

const auto var_mean_all = define<Pair(Tensor, bool)>(
    "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")
  .composite([](const Tensor& self, bool unbiased) {
    return Pair(var_mean(self, std::nullopt, correction_of(unbiased)));
  });

const auto var_mean_dim = define<Pair(Tensor, MaybeInts, bool, bool)>(
    "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
    " -> (Tensor, Tensor)")
  .composite([](const Tensor& self, MaybeInts dim, bool unbiased, bool keepdim) {
    return Pair(var_mean(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Pair(Tensor, MaybeInts, MaybeScalar, bool)> var_mean =
    define<Pair(Tensor, MaybeInts, MaybeScalar, bool)>(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None,"
    " bool keepdim=False) -> (Tensor, Tensor)")
  .doc(R"(
    The variance and the mean, found together.

    >>> torch.var_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
  )")
  .node("VarMeanBackward0")
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "var_mean", self, dim, keepdim, true);
  })
  .kernel([](Tensor& variance, Tensor& mean, const Tensor& self, MaybeInts dim,
             const MaybeScalar& correction, bool) {
    spread_into(variance, mean, self, reduced_mask(dim, self.dim()), correction, false);
  })
  .grad("self", "grad.result, grad.result1, self, dim, correction, keepdim",
        [](const Tensor& variance, const Tensor& mean, const Tensor& self, MaybeInts dim,
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

const auto std_mean_dim = define<Pair(Tensor, MaybeInts, bool, bool)>(
    "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
    " -> (Tensor, Tensor)")
  .composite([](const Tensor& self, MaybeInts dim, bool unbiased, bool keepdim) {
    return Pair(std_mean(self, dim, correction_of(unbiased), keepdim));
  });

const Op<Pair(Tensor, MaybeInts, MaybeScalar, bool)> std_mean =
    define<Pair(Tensor, MaybeInts, MaybeScalar, bool)>(
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None,"
    " bool keepdim=False) -> (Tensor, Tensor)")
  .doc(R"(
    The standard deviation and the mean, found together.

    >>> torch.std_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
  )")
  .node("StdMeanBackward0")
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, const MaybeScalar&, bool keepdim) {
    infer_spread(r, "std_mean", self, dim, keepdim, true);
  })
  .kernel([](Tensor& deviation, Tensor& mean, const Tensor& self, MaybeInts dim,
             const MaybeScalar& correction, bool) {
    spread_into(deviation, mean, self, reduced_mask(dim, self.dim()), correction, true);
  })
  .grad("self", "grad.result, grad.result1, self, result, dim, correction, keepdim",
        [](const Tensor& deviation, const Tensor& mean, const Tensor& self, const Tensor& result,
           MaybeInts dim, const MaybeScalar& correction, bool keepdim) {
    if (!deviation) return mean_backward(mean, self, dim, keepdim);
    const Tensor first = std_backward(deviation, self, result, dim, correction, keepdim);
    return mean ? first + mean_backward(mean, self, dim, keepdim) : first;
  });

namespace {

Tensor weights_of(const Tensor& fweights, const Tensor& aweights, int64_t count) {
  const auto check_one = [&](const char* name, const Tensor& w) {
    check(w.dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ", name,
          " with ", w.dim(), " dimensions");
    check(w.numel() == count, "cov(): expected ", name, " to have the same numel as there are "
          "observations in the input but got ", w.numel(), " != ", count);
  };
  if (fweights) {
    check_one("fweights", fweights);
    check(is_integral(fweights.dtype()), "cov(): expected fweights to have integral dtype but got "
          "fweights with ", type_name_of(fweights.dtype()), " dtype");
  }
  if (aweights) {
    check_one("aweights", aweights);
    check(is_floating(aweights.dtype()),
          "cov(): expected aweights to have floating point dtype but "
          "got aweights with ", type_name_of(aweights.dtype()), " dtype");
  }
  return fweights && aweights ? fweights * aweights : fweights ? fweights : aweights;
}

Tensor covariance(const char* name, const Tensor& self, int64_t correction, const Tensor& fweights,
                  const Tensor& aweights) {
  check(self.dim() <= 2, name,
        "(): expected input to have two or fewer dimensions but got an input "
        "with ", self.dim(), " dimensions");
  check(!is_bool(self.dtype()), "cov(): bool dtype is not supported for input");
  const Tensor in = self.dim() < 2 ? view_or_reshape(self, Ints{1, self.numel()}) : self;
  const int64_t count = in.sizes()[1];
  const Tensor w = weights_of(fweights, aweights, count);
  if (!w) {
    const double freedom = double(count - correction);
    if (freedom <= 0) {
      warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
           "of observations.");
    }
    const Tensor x = in - unsqueeze(sum_dim(in, Ints{1}) / Scalar(count), 1);
    const Tensor c = mm(x, rl::conj(t(x))) / Scalar(freedom > 0 ? freedom : 0.0);
    return squeeze(c);
  }
  const Tensor total = sum(w);
  Tensor freedom = total - Scalar(correction);
  if (aweights && correction) freedom = total - sum(w * aweights) * Scalar(correction) / total;
  const Tensor x = in - unsqueeze(sum_dim(in * w, Ints{1}) / total, 1);
  return squeeze(mm(x, rl::conj(t(x * w))) / clamp_min(freedom, Scalar(0)));
}

}  // namespace

const auto cov = define<Tensor(Tensor, int64_t, Tensor, Tensor)>(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
  .doc(R"(
    The covariances of variables (rows) over observations (columns).

    >>> torch.cov(torch.tensor([[0., 2.], [2., 0.]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t correction, const Tensor& fweights,
                const Tensor& aweights) {
    refuse_meta("equal", self);  // which PyTorch asks on the way
    return covariance("cov", self, correction, fweights, aweights);
  });

const auto corrcoef = define<Tensor(Tensor)>("corrcoef(Tensor self) -> Tensor")
  .doc(R"(
    The correlation coefficients of variables (rows) over observations (columns).

    >>> torch.corrcoef(torch.tensor([[0., 1.], [2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    refuse_meta("equal", self);
    const Tensor c = covariance("corrcoef", self, 1, Tensor(), Tensor());
    if (c.dim() == 0) return c / c;
    const int64_t n = c.sizes()[0];
    const Tensor dense = contiguous(c, MemoryFormat::Contiguous);
    const Tensor spreads = sqrt(real(as_strided(dense, Ints{n}, Ints{n + 1}, dense.offset())));
    const Tensor r = dense / unsqueeze(spreads, 1) / unsqueeze(spreads, 0);
    if (!r.is_complex()) return Tensor(clamp(r, Scalar(-1), Scalar(1)));
    return Tensor(complex_op(clamp(real(r), Scalar(-1), Scalar(1)),
                             clamp(imag(r), Scalar(-1), Scalar(1))));
  });

namespace {

using Text = std::string_view;

// The ranks rounded: down, up, or to the nearest (half to even).
Tensor rounded(const Tensor& ranks, Text how) {
  if (ranks.is_meta()) return empty(ranks.sizes(), DType::Int64, ranks.device());
  const Tensor wide = empty(ranks.sizes(), DType::Double), r = empty(ranks.sizes(), DType::Int64);
  copy_data(wide, ranks);
  for (int64_t i = 0; i < r.numel(); ++i) {
    const double x = wide.ptr<double>()[i];
    r.ptr<int64_t>()[i] = int64_t(how == "lower"    ? std::floor(x)
                                  : how == "higher" ? std::ceil(x)
                                                    : std::nearbyint(x));
  }
  return r;
}

void check_quantile(const Tensor& self, const Tensor& q, Text how) {
  check(self.numel() > 0, "quantile() input tensor must be non-empty");
  check(q.dim() <= 1, "quantile() q must be a scalar or 1D tensor");
  check(self.dtype() == DType::Float || self.dtype() == DType::Double,
        "quantile() input tensor must be either float or double dtype");
  check(q.dtype() == self.dtype(), "quantile() q tensor must be same dtype as the input tensor");
  check(how == "linear" || how == "lower" || how == "higher" || how == "midpoint" ||
            how == "nearest",
        "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
        "but got ", std::string(how));
}

Tensor quantile_of(const Tensor& self, const Tensor& q, MaybeInt dim, bool keepdim,
                   Text how, bool ignore_nan) {
  check_quantile(self, q, how);
  const bool whole = !dim || self.dim() == 0;
  if (dim) wrap_dim(*dim, self.dim());
  const Tensor flat = whole ? Tensor(reshape(self, Ints{-1})) : self;
  const int64_t d = whole ? 0 : wrap_dim(*dim, self.dim());
  // The dimension goes last; a size of one is left in its place.
  const Tensor sorted = sort(transpose(unsqueeze(flat, -1), d, -1)).first;
  const int64_t last = sorted.dim() - 1, most = sorted.sizes()[last] - 1;
  Dims sizes(sorted.sizes());
  sizes[last] = q.numel();
  const Tensor wanted = reshape(q, Ints{-1});
  Tensor ranks;
  if (ignore_nan) {
    const Tensor count = sum_dim(logical_not(isnan(sorted)), Ints{last}, true);
    ranks = clamp_min(wanted * (count - Scalar(1)), Scalar(0));
  } else {
    const Tensor broken = unsqueeze(isnan(select(sorted, last, most)), -1);
    ranks = where(broken, Scalar(double(most)), expand(wanted * Scalar(most), sizes));
  }
  const auto at = [&](Text side) {
    return Tensor(gather(sorted, last, rounded(detached(ranks), side), false));
  };
  Tensor r;
  if (how == "linear" || how == "midpoint") {
    const Tensor floor = rounded(detached(ranks), "lower");
    const Tensor weight = how == "midpoint" ? full(sizes, 0.5, ranks.dtype(), ranks.device())
                                            : ranks - floor;
    // Both neighbours in one gather, whose gradient fills the input's size once.
    const Tensor places = cat(Tensors{floor, rounded(detached(ranks), "higher")}, last);
    const Tensor both = gather(sorted, last, places, false);
    const int64_t n = sizes[size_t(last)];
    r = lerp(narrow(both, last, 0, n), narrow(both, last, n, n), weight);
  } else {
    r = at(how);
  }
  if (q.dim() != 0) transpose_(unsqueeze_(r, 0), 0, -1);
  squeeze_dim_(r, -1);
  const int64_t lead = q.dim();
  if (!keepdim) return squeeze_dim_(r, d + lead);
  if (!whole) return r;
  Dims full_sizes;
  if (lead) full_sizes.push_back(q.numel());
  for (int64_t i = 0; i < self.dim(); ++i) full_sizes.push_back(1);
  return view_or_reshape(r, full_sizes);
}
constexpr OutRule kQuantileOut{
    .dtype = OutDType::Exact,
    .text = "quantile() out tensor must be same dtype as the input tensor"};
void check_fractions(const Tensor& q) {
  if (q.is_meta()) return;
  const Tensor wide = empty(q.sizes(), DType::Double);
  copy_data(wide, q);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const double x = wide.ptr<double>()[i];
    check(x >= 0 && x <= 1, "quantile() q values must be in the range [0, 1]");
  }
}
Tensor fraction_like(double q, const Tensor& self) {
  check(q >= 0 && q <= 1, "quantile() q must be in the range [0, 1] but got ", q);
  return full({}, Scalar(q), self.dtype(), self.device());
}

}  // namespace

const auto quantile = define<Tensor(Tensor, Tensor, MaybeInt, bool, Text)>(
    "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *,"
    " str interpolation='linear') -> Tensor")
  .doc(R"(
    The q-th quantiles, q in [0, 1]: of all elements, or along a dimension.

    >>> torch.quantile(torch.tensor([0., 1., 2., 3.]), 0.5)
    tensor(1.5000)
  )")
  .out(kQuantileOut)
  .forms(Function | Method | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& q, MaybeInt dim, bool keepdim, Text how) {
    const Tensor r = quantile_of(self, q, dim, keepdim, how, false);
    check_fractions(q);
    return r;
  });

const auto quantile_number = define<Tensor(Tensor, double, MaybeInt, bool, Text)>(
    "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *,"
    " str interpolation='linear') -> Tensor")
  .out(kQuantileOut)
  .forms(Function | Method | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, double q, MaybeInt dim, bool keepdim, Text how) {
    return quantile_of(self, fraction_like(q, self), dim, keepdim, how, false);
  });

const auto nanquantile = define<Tensor(Tensor, Tensor, MaybeInt, bool, Text)>(
    "nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *,"
    " str interpolation='linear') -> Tensor")
  .doc(R"(
    The q-th quantiles of what is not NaN: of all elements, or along a dimension.

    >>> torch.nanquantile(torch.tensor([0., float('nan'), 2.]), 0.5)
    tensor(1.)
  )")
  .out(kQuantileOut)
  .forms(Function | Method | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, const Tensor& q, MaybeInt dim, bool keepdim, Text how) {
    const Tensor r = quantile_of(self, q, dim, keepdim, how, true);
    check_fractions(q);
    return r;
  });

const auto nanquantile_number = define<Tensor(Tensor, double, MaybeInt, bool, Text)>(
    "nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *,"
    " str interpolation='linear') -> Tensor")
  .out(kQuantileOut)
  .forms(Function | Method | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, double q, MaybeInt dim, bool keepdim, Text how) {
    return quantile_of(self, fraction_like(q, self), dim, keepdim, how, true);
  });

}  // namespace rl::ops
