// Reductions of the values that an index sends to one place: scatter_reduce and index_reduce.
#include <limits>

#include "ops/dispatch.h"
#include "ops/ops.h"
#include "ops/scatter.h"

namespace rl::ops {
namespace {

using kernels::Combine;

enum class Reduction { Sum, Product, Mean, Max, Min };

Reduction reduction_named(std::string_view s) {
  return s == "sum" ? Reduction::Sum : s == "prod" ? Reduction::Product
       : s == "mean" ? Reduction::Mean : s == "amax" ? Reduction::Max : Reduction::Min;
}

bool is_reduction(std::string_view s) {
  return s == "sum" || s == "prod" || s == "mean" || s == "amax" || s == "amin";
}

Combine combine_of(Reduction r) {
  return r == Reduction::Product ? Combine::Multiply : r == Reduction::Max ? Combine::Max
       : r == Reduction::Min ? Combine::Min : Combine::Add;
}

// What a place holds before the first value.
Tensor identity_of(Reduction r, DType dtype) {
  if (r == Reduction::Sum || r == Reduction::Mean) return scalar_tensor(0, dtype);
  if (r == Reduction::Product) return scalar_tensor(1, dtype);
  const bool most = r == Reduction::Max;
  if (is_floating(dtype)) {
    const double end = std::numeric_limits<double>::infinity();
    return scalar_tensor(most ? -end : end, dtype);
  }
  if (dtype == DType::Bool) return scalar_tensor(!most, dtype);
  Scalar bound;
  dispatch(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      bound = int64_t(most ? Limits::min() : Limits::max());
    }
  });
  return scalar_tensor(bound, dtype);
}

// Divides each place by the number of values that it holds; whole numbers round down.
template <class At>
void take_mean(const Tensor& result, const At& places_in, bool include_self) {
  const Tensor count = full(result.sizes(), include_self ? 1 : 0, result.dtype());
  combine_places(places_in(count), scalar_tensor(1, result.dtype()), Combine::Add);
  const Tensor zero = scalar_tensor(0, result.dtype());
  masked_fill.in_place(count, eq(count, zero), Scalar(1));
  const Tensor values = data_of(result);  // whose version the caller counts
  if (is_integral(result.dtype())) div_mode.in_place(values, count, std::string_view("floor"));
  else div.in_place(values, count);
}

// places_in(t): the places that the index names in t, of the result's sizes.
template <class At>
void reduce_into(const Tensor& result, const Tensor& values, Reduction how, bool include_self,
                 const At& places_in) {
  const Places p = places_in(result);
  if (!include_self) write_places(p, identity_of(how, result.dtype()));
  combine_places(p, values, combine_of(how));
  if (how == Reduction::Mean) take_mean(result, places_in, include_self);
}

// How the gradients move between the places and their values.
struct Elements {
  int64_t dim;
  const Tensor& index;
  Tensor pick(const Tensor& t) const { return gather(t, dim, index, false); }
  Tensor add(const Tensor& t, const Tensor& src) const { return scatter_add(t, dim, index, src); }
  Tensor clear(const Tensor& t) const { return scatter_value(t, dim, index, 0); }
  Tensor reduce(const Tensor& t, const Tensor& src, std::string_view how, bool self) const;
};
struct Slices {
  int64_t dim;
  const Tensor& index;
  Tensor pick(const Tensor& t) const { return index_select(t, dim, index); }
  Tensor add(const Tensor& t, const Tensor& src) const { return index_add(t, dim, index, src, 1); }
  Tensor clear(const Tensor& t) const { return index_fill(t, dim, index, 0); }
  Tensor reduce(const Tensor& t, const Tensor& src, std::string_view how, bool self) const;
};

struct Reduced {
  const Tensor &grad, &self, &src, &result;
  std::string_view how;
  bool include_self;
  const char* op;
};
using Pair = std::pair<Tensor, Tensor>;

// d/dx of a product is the product of the others: result / x, where x is not zero. A sole zero of
// a place gets the product with it taken for one.
template <class At> Pair product_gradients(const Reduced& r, const At& at, Needs needs) {
  Pair made;
  if (needs[0]) {
    const Tensor self = masked_fill(r.self, eq(r.self, Scalar(0)), Scalar(1));
    made.first = r.grad * at.reduce(self, r.src, r.how, r.include_self) / self;
  }
  if (needs[1]) {
    const Tensor zero = eq(r.src, Scalar(0));
    const Tensor zeros_there = at.pick(at.add(zeros_like(r.self), to_dtype(zero, r.self.dtype())));
    const Tensor sole = logical_and(zero, eq(zeros_there, Scalar(1)));
    const Tensor src = masked_fill(r.src, sole, Scalar(1));
    const Tensor others = at.reduce(r.self, src, r.how, r.include_self);
    if (grad_enabled()) {
      check(!item_of(any(gt(zeros_there, Scalar(1)))).to_bool(), r.op, "(): Double backward is "
            "unsupported for ", std::string_view(r.op) == "scatter_reduce" ? "src" : "source",
            " when >1 zeros in ", std::string_view(r.op) == "scatter_reduce" ? "src" : "source",
            " are scattered to the same position in self");
    }
    made.second = rl::ops::where(sole, at.pick(r.grad * others),
                                 at.pick(r.grad * r.result) / masked_fill(r.src, zero, Scalar(1)));
  }
  return made;
}

template <class At> Pair mean_gradients(const Reduced& r, const At& at, Needs needs) {
  Tensor count = r.include_self ? full(r.grad.sizes(), 1, r.grad.dtype(), r.grad.device())
                                : zeros_like(r.grad);
  count = at.add(count, full(r.src.sizes(), 1, r.grad.dtype(), r.grad.device()));
  count = masked_fill(count, eq(count, Scalar(0)), Scalar(1));
  Pair made;
  if (needs[0]) made.first = r.grad / count;
  if (needs[1]) made.second = at.pick(r.grad) / at.pick(count);
  return made;
}

// All values of a place that equal its extremum share its gradient.
template <class At> Pair extremum_gradients(const Reduced& r, const At& at, Needs needs) {
  const Tensor self_is = to_dtype(eq(r.self, r.result), r.self.dtype());
  const Tensor src_is = to_dtype(eq(r.src, at.pick(r.result)), r.src.dtype());
  const Tensor share = r.grad / at.add(self_is, src_is);
  Pair made;
  if (needs[0]) made.first = self_is * share;
  if (needs[1]) made.second = src_is * at.pick(share);
  return made;
}

template <class At> Pair gradients(const Reduced& r, const At& at, Needs needs) {
  Pair made;
  switch (reduction_named(r.how)) {
    case Reduction::Sum:
      if (needs[0]) made.first = r.grad;
      if (needs[1]) made.second = at.pick(r.grad);
      break;
    case Reduction::Product: made = product_gradients(r, at, needs); break;
    case Reduction::Mean: made = mean_gradients(r, at, needs); break;
    default: made = extremum_gradients(r, at, needs);
  }
  if (needs[0] && !r.include_self) made.first = at.clear(made.first);
  return made;
}

void refuse_complex_gradients(const char* op, const Tensor& self, const Tensor& src) {
  check(!self.is_complex() || !grad_enabled() || !(requires_grad(self) || requires_grad(src)), op,
        " does not support automatic differentiation for outputs with complex dtype.");
}

}  // namespace

const auto scatter_reduce =
    define<Tensor(Tensor, int64_t, Tensor, Tensor, std::string_view, bool)>(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
    "bool include_self=True) -> Tensor")
  .doc(R"(
    Reduces the elements of `src` that `index` sends to one place along `dim`: "sum", "prod",
    "mean", "amax" or "amin", of the input's element too unless `include_self` is False.

    >>> x = torch.tensor([1., 2., 3.]); i = torch.tensor([0, 0, 1])
    >>> torch.zeros(2).scatter_reduce(0, i, x, "mean", include_self=False)
    tensor([1.5000, 3.0000])
  )")
  .node("ScatterReduceBackward0")
  .forms(Function | Method | Inplace | Out)
  .out({.dtype = OutDType::Exact, .inputs = true})
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
            std::string_view reduce, bool) {
    check_scatter(r, self, dim, index, &src);
    check(is_reduction(reduce), "reduce argument must be either sum, prod, mean, amax or amin, "
          "got ", reduce);
    const bool extremum = reduce == "amax" || reduce == "amin";
    check(!(extremum && self.is_complex()) && !(reduce == "mean" && self.dtype() == DType::Bool),
          ErrorKind::NotImplemented, "\"scatter_gather_tensor_cpu_reduce_", reduce,
          "\" not implemented for '", type_name_of(self.dtype()), "'");
    refuse_complex_gradients("scatter_reduce", self, src);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& given, const Tensor& src,
             std::string_view reduce, bool include_self) {
    NoGrad quiet;
    refuse_internal_overlap(result);
    if (given.numel() == 0) return;
    const int64_t d = wrap_dim(dim, result.dim());
    const Tensor index = as_int64(given);
    check_bounds(index, result, d);
    reduce_into(result, part_for(src, index), reduction_named(reduce), include_self,
                [&](const Tensor& t) { return per_element(t, d, index); });
  })
  .grad("self, src", "grad, self, dim, index, src, reduce, include_self, result, needs",
        [](const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
           const Tensor& src, std::string_view reduce, bool include_self, const Tensor& result,
           Needs needs) {
    return gradients({grad, self, src, result, reduce, include_self, "scatter_reduce"},
                     Elements{dim, index}, needs);
  });

const auto index_reduce =
    define<Tensor(Tensor, int64_t, Tensor, Tensor, std::string_view, bool)>(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
    "bool include_self=True) -> Tensor")
  .doc(R"(
    Reduces the slices of `source` that `index` sends to one slice of the input: "prod", "mean",
    "amax" or "amin", of the input's slice too unless `include_self` is False.

    >>> x = torch.tensor([2., 3., 4.]); i = torch.tensor([0, 0, 1])
    >>> torch.ones(2).index_reduce(0, i, x, "prod")
    tensor([6., 4.])
  )")
  .forms(Function | Method | Inplace | Out)
  .out({.dtype = OutDType::Exact, .inputs = true})
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
            std::string_view reduce, bool include_self) {
    check(is_reduction(reduce) && reduce != "sum", "index_reduce(): Expected reduce to be one of "
          "prod, mean, amax or amin but got ", reduce, ".");
    check_slices("index_reduce_()", self, dim, index, source);
    check(self.dim() != 0 || source.dim() == 0, "source tensor shape must match self tensor shape, "
          "excluding the specified dimension. Got self.shape = ", self.sizes(),
          " source.shape = ", source.sizes());
    // PyTorch has kernels of its own for vectors, and combines whole slices otherwise.
    const bool plain = !self.is_complex() && self.dtype() != DType::Bool;
    check(self.is_meta() || plain || (include_self && self.dim() > 1), ErrorKind::NotImplemented,
          include_self ? "\"index_func_\"" : "\"index_reduce_func_exclude_input_init\"",
          " not implemented for '", type_name_of(self.dtype()), "'");
    const bool extremum = reduce == "amax" || reduce == "amin";
    const char* lacks = nullptr;
    if (self.is_complex() && extremum) lacks = reduce == "amax" ? "maximum_cpu" : "minimum_cpu";
    if (self.dtype() == DType::Bool && reduce == "mean") lacks = "div_floor_cpu";
    check(self.is_meta() || !lacks, ErrorKind::NotImplemented, "\"", lacks ? lacks : "",
          "\" not implemented for '", type_name_of(self.dtype()), "'");
    refuse_complex_gradients("index_reduce", self, source);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& given, const Tensor& source,
             std::string_view reduce, bool include_self) {
    NoGrad quiet;
    refuse_internal_overlap(result);
    if (given.numel() == 0) return;
    const int64_t d = wrap_dim(dim, result.dim());
    const Tensor index = as_int64(given);
    check(!outside(index, 0, result.dim() ? result.sizes()[d] : 1), ErrorKind::Index,
          "index out of range in self");
    const Tensor values = source.dim() ? source : alias(source, {1}, {1}, source.offset());
    reduce_into(result, values, reduction_named(reduce), include_self,
                [&](const Tensor& t) { return per_slice(t, d, index); });
  })
  .grad("self, source", "grad, self, dim, index, source, reduce, include_self, result, needs",
        [](const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index,
           const Tensor& source, std::string_view reduce, bool include_self, const Tensor& result,
           Needs needs) {
    return gradients({grad, self, source, result, reduce, include_self, "index_reduce"},
                     Slices{dim, index}, needs);
  });

namespace {

Tensor Elements::reduce(const Tensor& t, const Tensor& src, std::string_view how, bool self) const {
  return scatter_reduce(t, dim, index, src, how, self);
}
Tensor Slices::reduce(const Tensor& t, const Tensor& src, std::string_view how, bool self) const {
  return index_reduce(t, dim, index, src, how, self);
}

}  // namespace
}  // namespace rl::ops
