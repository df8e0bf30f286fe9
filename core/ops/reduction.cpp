// Reductions: sums, means, counts and tests over all or some dimensions.
#include <cstring>

#include "ops/promotion.h"
#include "ops/reduce.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

DType sum_dtype(const Tensor& self, MaybeDType dtype) {
  if (!dtype) return category(self.dtype()) < 2 ? DType::Int64 : self.dtype();
  refuse_whole_history(self, *dtype);
  return *dtype;
}

// The input in a dtype whose accumulators become those of `to` by a plain cast.
Tensor as_summed(const Tensor& self, DType to) {
  const DType from = self.dtype(), sums = kernels::accumulator_of(Fold::Sum, from);
  const bool fits = is_bool(to) ? is_bool(from)
                                : sums == compute_of(to) ||
                                      (sums == DType::Int64 && is_integral(to));
  if (fits) {
    return self;
  }
  const Tensor r = empty_strided(self.sizes(), dense_strides_like(self), to);
  copy_data(r, self);
  return r;
}

void sum_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  fold_into(out, as_summed(self, out.dtype()), mask, Fold::Sum);
}

DType mean_dtype(const Tensor& self, MaybeDType dtype) {
  const DType t = dtype.value_or(self.dtype());
  check(is_differentiable(t), "mean(): could not infer output dtype. ",
        dtype ? "Optional" : "Input", " dtype must be either a floating point or complex dtype. "
        "Got: ", type_name_of(t));
  return t;
}

void mean_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  const int64_t count = reduced_count(self.sizes(), mask);
  fold_into(out, as_summed(self, out.dtype()), mask, Fold::Sum, 0, finish_divide, double(count));
}

}  // namespace

const Op<Tensor(Tensor, MaybeDType)> sum = define<Tensor(Tensor, MaybeDType)>(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The sum of all elements, or over the dimensions named. Integers are summed as int64.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), 0)
    tensor([4., 6.])
  )")
  .out({.dtype = OutDType::Chosen, .internal = true})
  .forms(Function | Method)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype) {
    r.result({}, sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDType) { sum_into(result, self, kAllDims); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) {
    return expand(grad, sizes);
  });

const Op<Tensor(Tensor, MaybeInts, bool, MaybeDType)> sum_dim =
    define<Tensor(Tensor, MaybeInts, bool, MaybeDType)>(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor")
  .node("SumBackward1")
  .out({.dtype = OutDType::Chosen, .internal = true})
  .forms(Function | Method | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, bool keepdim, MaybeDType dtype) {
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim),
             sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, bool, MaybeDType) {
    sum_into(result, self, reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self.sizes, dim, keepdim",
        [](const Tensor& grad, Ints sizes, MaybeInts dim, bool keepdim) {
    const uint64_t mask = reduced_mask(dim, int64_t(sizes.size()));
    return expand(spread(grad, sizes, mask, keepdim), sizes);
  });

Tensor sum_to_size(const Tensor& t, Ints sizes) {
  if (t.sizes() == sizes) return t;
  const int64_t lead = t.dim() - int64_t(sizes.size());
  Dims dims;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d < lead || (sizes[d - lead] == 1 && t.sizes()[d] != 1)) dims.push_back(d);
  const Tensor total = dims.empty() ? t : Tensor(sum_dim(t, Ints(dims), true));
  return lead > 0 ? Tensor(view(total, sizes)) : total;
}

const Op<Tensor(Tensor, MaybeDType)> mean = define<Tensor(Tensor, MaybeDType)>(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The mean of all elements, or over the dimensions named; NaN of none.

    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]), 1)
    tensor([1.5000, 3.5000])
  )")
  .out({.dtype = OutDType::Chosen, .check = [](const Arg*, const Tensor* targets) {
    check(is_differentiable(targets->dtype()), "mean.dtype_out(): input types can't be cast to the "
          "desired output type ", type_name_of(targets->dtype()));
  }})
  .forms(Function | Method | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype) {
    r.result({}, mean_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDType) { mean_into(result, self, kAllDims); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) {
    return expand(grad, sizes) / Scalar(numel_of(sizes));
  });

const Op<Tensor(Tensor, MaybeInts, bool, MaybeDType)> mean_dim =
    define<Tensor(Tensor, MaybeInts, bool, MaybeDType)>(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
  .node("MeanBackward1")
  .out({.dtype = OutDType::Chosen, .check = [](const Arg* args, const Tensor* targets) {
    const DType from = args->as_tensor().dtype(), to = targets->dtype();
    check(can_cast(from, to), "result type ", type_name_of(from), " can't be cast to the desired "
          "output type ", type_name_of(to));
  }})
  .forms(Function | Method | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, bool keepdim, MaybeDType dtype) {
    const DType t = mean_dtype(self, dtype);
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim), t, self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, bool, MaybeDType) {
    mean_into(result, self, reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self.sizes, dim, keepdim",
        [](const Tensor& grad, Ints sizes, MaybeInts dim, bool keepdim) {
    const uint64_t mask = reduced_mask(dim, int64_t(sizes.size()));
    return expand(spread(grad, sizes, mask, keepdim), sizes) / Scalar(reduced_count(sizes, mask));
  });

namespace {

// A copy with zeros for NaN.
Tensor without_nan(const Tensor& self) {
  const Tensor r = empty_strided(self.sizes(), dense_strides_like(self), self.dtype());
  copy_data(r, self);
  dispatch(r.dtype(), [&](auto* none) {
    using T = pointee<decltype(none)>;
    T* const v = r.ptr<T>();
    for (int64_t i = 0; i < r.numel(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        if (to_float(v[i]) != to_float(v[i])) v[i].bits = 0;
      } else {
        if (v[i] != v[i]) v[i] = 0;
      }
    }
  });
  return r;
}

}  // namespace

const Op<Tensor(Tensor, MaybeInts, bool, MaybeDType)> nansum =
    define<Tensor(Tensor, MaybeInts, bool, MaybeDType)>(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor")
  .doc(R"(
    The sum of what is not NaN: of all elements, or over the dimensions named.

    >>> torch.nansum(torch.tensor([1., float('nan'), 2.]))
    tensor(3.)
  )")
  .out({.dtype = OutDType::Chosen, .internal = true})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, bool keepdim, MaybeDType dtype) {
    check(!self.is_complex(), "nansum on CPU does not support complex inputs");
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim),
             sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, bool, MaybeDType) {
    check(!self.is_floating() || is_differentiable(result.dtype()) || self.numel() == 0,
          ErrorKind::NotImplemented, "\"nansum_cpu\" not implemented for '",
          type_name_of(result.dtype()), "'");
    sum_into(result, self.is_floating() ? without_nan(self) : self, reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self, dim, keepdim",
        [](const Tensor& grad, const Tensor& self, MaybeInts dim, bool keepdim) {
    const uint64_t mask = reduced_mask(dim, self.dim());
    const Tensor whole = expand(spread(to_dtype(grad, self.dtype()), self.sizes(), mask, keepdim),
                                self.sizes());
    return whole * logical_not(isnan(self));
  });

const auto nanmean = define<Tensor(Tensor, MaybeInts, bool, MaybeDType)>(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor")
  .doc(R"(
    The mean of what is not NaN: of all elements, or over the dimensions named.

    >>> torch.nanmean(torch.tensor([1., float('nan'), 2.]))
    tensor(1.5000)
  )")
  .out({.dtype = OutDType::Chosen})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, MaybeInts dim, bool keepdim, MaybeDType dtype) {
    check(is_differentiable(self.dtype()), "nanmean(): expected input to have floating point or "
          "complex dtype but got ", type_name_of(self.dtype()));
    const Tensor total = nansum(self, dim, keepdim, dtype);
    return total / sum_dim(logical_not(isnan(detached(self))), dim, keepdim);
  });

namespace {

void product_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  fold_into(out, as_summed(self, out.dtype()), mask, Fold::Prod);
}

// Whether a division by each element is possible.
bool lacks_zeros(const Tensor& self) {
  if (self.is_meta()) return true;
  const Tensor count = empty({}, DType::Int64);
  fold_into(count, self, kAllDims, Fold::CountNonzero);
  return *count.ptr<int64_t>() == self.numel();
}

}  // namespace

const Op<Tensor(Tensor, MaybeDType)> prod = define<Tensor(Tensor, MaybeDType)>(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The product of all elements, or along a dimension. Integers are multiplied as int64.

    >>> torch.prod(torch.tensor([2, 3, 4]))
    tensor(24)
  )")
  .out({.dtype = OutDType::Chosen, .internal = true})
  .forms(Function | Method)
  .autocast(Autocast::Float)
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype) {
    r.result({}, sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDType) {
    product_into(result, self, kAllDims);
  })
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    if (self.dim() == 0) return grad;
    const Tensor x = to_dtype(self, grad.dtype());
    if (lacks_zeros(detached(x))) return grad * rl::conj(result / x);
    const Tensor others = products_of_others(reshape(x, Ints{-1}), 0);
    return grad * rl::conj(reshape(others, self.sizes()));
  });

const auto prod_dim = define<Tensor(Tensor, int64_t, bool, MaybeDType)>(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
  .node("ProdBackward1")
  .out({.dtype = OutDType::Chosen, .internal = true})
  .forms(Function | Method | Out)
  .autocast(Autocast::Float)
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim, MaybeDType dtype) {
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim),
             sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, bool, MaybeDType) {
    product_into(result, self, reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self, result, dim, keepdim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim,
           bool keepdim) {
    if (self.dim() == 0) return grad;
    const uint64_t mask = reduced_mask(dim, self.dim());
    const Tensor whole = spread(grad, self.sizes(), mask, keepdim);
    const Tensor x = to_dtype(self, grad.dtype());
    if (lacks_zeros(detached(x))) {
      return whole * rl::conj(spread(result, self.sizes(), mask, keepdim) / x);
    }
    return whole * rl::conj(products_of_others(x, wrap_dim(dim, self.dim())));
  });

namespace {

// any, all: uint8 stays uint8, all else gives bool.
DType truth_dtype(const Tensor& self) {
  return self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool;
}
void infer_truth(Infer& r, const Tensor& self, uint64_t mask, bool keepdim) {
  r.result(reduced_sizes(self.sizes(), mask, keepdim), truth_dtype(self), self.device());
}
void finish_any(DType, char* data, int64_t n, double) {
  int64_t* const counts = reinterpret_cast<int64_t*>(data);
  for (int64_t i = 0; i < n; ++i) counts[i] = counts[i] != 0;
}
void finish_all(DType, char* data, int64_t n, double count) {
  int64_t* const counts = reinterpret_cast<int64_t*>(data);
  for (int64_t i = 0; i < n; ++i) counts[i] = counts[i] == int64_t(count);
}
void any_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  if (is_bool(self.dtype()) && out.numel() == 1 && self.is_contiguous()) {
    // All bytes are 0 where the first is and each equals its neighbour.
    const char* p = self.data();
    const size_t n = size_t(self.numel());
    *out.ptr<bool>() = n > 0 && (*p != 0 || std::memcmp(p, p + 1, n - 1) != 0);
    return;
  }
  fold_into(out, self, mask, Fold::CountNonzero, 0, finish_any);
}
void all_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  if (is_bool(self.dtype()) && out.numel() == 1 && self.is_contiguous()) {
    *out.ptr<bool>() = std::memchr(self.data(), 0, size_t(self.numel())) == nullptr;
    return;
  }
  fold_into(out, self, mask, Fold::CountNonzero, 0, finish_all,
            double(reduced_count(self.sizes(), mask)));
}
// any, all and count_nonzero: an empty list of dims differs from none at all.
uint64_t listed_mask(const MaybeInts& dims, int64_t rank) {
  return dims && dims->empty() ? 0 : reduced_mask(dims, rank);
}

}  // namespace

const Op<Tensor(Tensor)> any = define<Tensor(Tensor)>("any(Tensor self) -> Tensor")
  .doc(R"(
    Whether some element is true: of all, or along the dimensions named.

    >>> torch.any(torch.tensor([False, True]))
    tensor(True)
  )")
  .out({.dtype = OutDType::Truth, .internal = true,
        .text = "any only supports bool tensor for result, got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self) { infer_truth(r, self, kAllDims, false); })
  .kernel([](Tensor& result, const Tensor& self) { any_into(result, self, kAllDims); });

const auto any_dim = define<Tensor(Tensor, int64_t, bool)>(
    "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")
  .out({.dtype = OutDType::Truth, .internal = true,
        .text = "any only supports bool tensor for result, got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_truth(r, self, reduced_mask(dim, self.dim()), keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, bool) {
    any_into(result, self, reduced_mask(dim, self.dim()));
  });

const auto any_dims = define<Tensor(Tensor, MaybeInts, bool)>(
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
  .out({.dtype = OutDType::Truth, .internal = true,
        .text = "any only supports bool tensor for result, got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, bool keepdim) {
    infer_truth(r, self, listed_mask(dim, self.dim()), keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, bool) {
    any_into(result, self, listed_mask(dim, self.dim()));
  });

const Op<Tensor(Tensor)> all = define<Tensor(Tensor)>("all(Tensor self) -> Tensor")
  .doc(R"(
    Whether every element is true: of all, or along the dimensions named.

    >>> torch.all(torch.tensor([False, True]))
    tensor(False)
  )")
  .out({.dtype = OutDType::Truth, .internal = true,
        .text = "all only supports bool tensor for result, got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self) { infer_truth(r, self, kAllDims, false); })
  .kernel([](Tensor& result, const Tensor& self) { all_into(result, self, kAllDims); });

const auto all_dim = define<Tensor(Tensor, int64_t, bool)>(
    "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")
  .out({.dtype = OutDType::Truth, .internal = true,
        .text = "all only supports bool tensor for result, got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_truth(r, self, reduced_mask(dim, self.dim()), keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, bool) {
    all_into(result, self, reduced_mask(dim, self.dim()));
  });

const auto all_dims = define<Tensor(Tensor, MaybeInts, bool)>(
    "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")
  .out({.dtype = OutDType::Truth, .internal = true,
        .text = "all only supports bool tensor for result, got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInts dim, bool keepdim) {
    infer_truth(r, self, listed_mask(dim, self.dim()), keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInts dim, bool) {
    all_into(result, self, listed_mask(dim, self.dim()));
  });

const auto count_nonzero_dims = define<Tensor(Tensor, Ints)>(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
  .doc("How many elements differ from zero along several dimensions.")
  .forms(Function | Method)
  .infer([](Infer& r, const Tensor& self, Ints dim) {
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), false), DType::Int64,
             self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim) {
    fold_into(result, self, reduced_mask(dim, self.dim()), Fold::CountNonzero);
  });

const auto count_nonzero = define<Tensor(Tensor, MaybeInt)>(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor")
  .doc(R"(
    How many elements differ from zero: of all, or along the dimensions named.

    >>> torch.count_nonzero(torch.tensor([0, 3, 0]))
    tensor(1)
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, MaybeInt dim) {
    return dim ? count_nonzero_dims(self, Ints{*dim}) : count_nonzero_dims(self, Ints{});
  });

}  // namespace rl::ops
