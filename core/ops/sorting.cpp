// Sorting, the k largest, the k-th, medians and modes along a dimension.
#include "kernels/selection.h"
#include "kernels/sorting.h"
#include "ops/reduce.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

using Pair = std::pair<Tensor, Tensor>;

void refuse_type(bool refused, const char* kernel, const Tensor& self) {
  check(!refused, ErrorKind::NotImplemented, "\"", kernel, "\" not implemented for '",
        type_name_of(self.dtype()), "'");
}
void refuse_empty_dim(const char* name, const Tensor& self, int64_t d) {
  check(self.dim() == 0 || self.sizes()[d] != 0, ErrorKind::Index, name,
        "(): Expected reduction dim ", d, " to have non-zero size.");
}

// The input as rows along a dimension, and results whose rows are brought back to their places.
struct Rows {
  Tensor data;
  int64_t dim, rows, size;
  Rows(const Tensor& self, int64_t along)
      : dim(self.dim() ? wrap_dim(along, self.dim()) : 0) {
    data = self.dim() ? rows_of(self, uint64_t(1) << dim) : alias(self, {1}, {1}, self.offset());
    size = data.sizes().back();
    rows = size ? data.numel() / size : 0;
  }
};
// Room for rows of results: the result itself where its rows lie so already.
class RowResult {
 public:
  RowResult(const Tensor& result, int64_t dim) : result_(result), dim_(dim) {
    const bool last = result.dim() == 0 || dim == result.dim() - 1;
    if (last && result.is_contiguous()) {
      room_ = result;
      return;
    }
    Dims sizes(result.sizes());
    const int64_t n = sizes[dim];
    sizes.erase(size_t(dim));
    sizes.push_back(n);
    room_ = empty(sizes, result.dtype());
  }
  char* data() const { return room_.data(); }
  int64_t* indices() const { return room_.ptr<int64_t>(); }
  void store() const {
    if (room_.same(result_)) return;
    Dims sizes(result_.sizes()), strides(result_.strides());
    const int64_t n = sizes[dim_], step = strides[dim_];
    sizes.erase(size_t(dim_));
    strides.erase(size_t(dim_));
    sizes.push_back(n);
    strides.push_back(step);
    copy_data(alias(result_, sizes, strides, result_.offset()), room_);
  }

 private:
  Tensor result_, room_;
  int64_t dim_;
};

void infer_sort(Infer& r, const Tensor& self, int64_t dim) {
  check(!self.is_complex(), " Sort does not support complex dtypes on CPU");
  wrap_dim(dim, self.dim());
  r.like(self);
  r.result(self.sizes(), dense_strides_like(self), DType::Int64, self.device());
}
void sort_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
               bool descending, bool stable) {
  if (self.numel() == 0) return;
  const Rows in(self, dim);
  const RowResult v(values, in.dim), i(indices, in.dim);
  const bool still = self.dim() && self.strides()[in.dim] == 0 && in.size > 1;
  kernels::sort(in.data.data(), self.dtype(), in.rows, in.size, descending, stable || still,
                v.data(), i.indices());
  v.store();
  i.store();
}

}  // namespace

const Op<Pair(Tensor, int64_t, bool)> sort = define<Pair(Tensor, int64_t, bool)>(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")
  .doc(R"(
    The elements in ascending order along a dimension, and the indices they came from.

    >>> torch.sort(torch.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
  )")
  .forms(Function | Method | Out)
  .exact_out()
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool) { infer_sort(r, self, dim); })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool descending) {
    sort_into(values, indices, self, dim, descending, false);
  })
  .grad("self", "grad, dim, indices, self.sizes",
        [](const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes) {
    return selection_backward(grad, dim, indices, sizes, true);
  });

const Op<Pair(Tensor, MaybeBool, int64_t, bool)> sort_stable =
    define<Pair(Tensor, MaybeBool, int64_t, bool)>(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)"
    " -> (Tensor values, Tensor indices)")
  .node("SortBackward1")
  .forms(Function | Method | Out)
  .exact_out()
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, MaybeBool, int64_t dim, bool) {
    infer_sort(r, self, dim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, MaybeBool stable,
             int64_t dim, bool descending) {
    sort_into(values, indices, self, dim, descending, stable.value_or(false));
  })
  .grad("self", "grad, dim, indices, self.sizes",
        [](const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes) {
    return selection_backward(grad, dim, indices, sizes, true);
  });

const auto argsort_stable = define<Tensor(Tensor, bool, int64_t, bool)>(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")
  .out({.dtype = OutDType::Exact})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, bool stable, int64_t dim, bool descending) {
    return sort_stable(self, stable, dim, descending).second;
  });

const auto argsort = define<Tensor(Tensor, int64_t, bool)>(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
  .doc(R"(
    The indices that sort the input along a dimension.

    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t dim, bool descending) {
    return sort(self, dim, descending).second;
  });

const auto msort = define<Tensor(Tensor)>("msort(Tensor self) -> Tensor")
  .doc(R"(
    The elements in ascending order along the first dimension.

    >>> torch.msort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 3])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self) { return sort(self, 0).first; });

const Op<Pair(Tensor, int64_t, int64_t, bool, bool)> topk =
    define<Pair(Tensor, int64_t, int64_t, bool, bool)>(
    "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)"
    " -> (Tensor values, Tensor indices)")
  .doc(R"(
    The `k` largest (or smallest) elements along a dimension, and their indices.

    >>> torch.topk(torch.tensor([1, 5, 3]), 2).values
    tensor([5, 3])
  )")
  .forms(Function | Method | Out)
  .exact_out()
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t k, int64_t dim, bool, bool) {
    const int64_t d = wrap_dim(dim, self.dim());
    check(k >= 0 && k <= (self.dim() ? self.sizes()[d] : 1), "selected index k out of range");
    check(!self.is_complex(), " topk does not support complex dtypes on CPU");
    Dims sizes(self.sizes());
    if (!sizes.empty()) sizes[d] = k;
    r.result(sizes, self.dtype(), self.device());
    r.result(sizes, DType::Int64, self.device());
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t k, int64_t dim,
             bool largest, bool sorted) {
    check(!is_bool(self.dtype()), "topk does not support bool dtypes on CPU");
    if (self.dim() == 0) {
      copy_data(values, self);
      return set_zero(indices);
    }
    if (values.numel() == 0) return;
    const Rows in(self, dim);
    const RowResult v(values, in.dim), i(indices, in.dim);
    kernels::topk(in.data.data(), self.dtype(), in.rows, in.size, k, largest, sorted, v.data(),
                  i.indices());
    v.store();
    i.store();
  })
  .grad("self", "grad, dim, indices, self.sizes",
        [](const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes) {
    return selection_backward(grad, dim, indices, sizes, true);
  });

namespace {

// A value and its index per row, without the dimension or with a size of one for it.
void infer_chosen(Infer& r, const char* name, const Tensor& self, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, self.dim());
  refuse_empty_dim(name, self, d);
  const Dims sizes = reduced_sizes(self.sizes(), uint64_t(1) << d, keepdim);
  r.result(sizes, self.dtype(), self.device());
  r.result(sizes, DType::Int64, self.device());
}

void median_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
                 bool ignore_nan) {
  refuse_type(self.is_complex() || is_bool(self.dtype()), "median_cpu", self);
  const Rows in(self, dim);
  kernels::median(in.data.data(), self.dtype(), in.rows, in.size, ignore_nan, values.data(),
                  indices.ptr<int64_t>());
}

// The median of all: NaN of no elements (the least number among integers).
void median_of_all(const Tensor& out, const Tensor& self, bool ignore_nan) {
  refuse_type(self.is_complex() || is_bool(self.dtype()), "median_cpu", self);
  if (self.numel() == 0) {
    const bool whole = is_integral(self.dtype());
    return set_value(out, whole ? Scalar(self.dtype() == DType::Int64 ? INT64_MIN : 0)
                                : Scalar(std::numeric_limits<double>::quiet_NaN()));
  }
  int64_t index;
  kernels::median(rows_of(self, kAllDims).data(), self.dtype(), 1, self.numel(), ignore_nan,
                  out.data(), &index);
}

}  // namespace

const Op<Pair(Tensor, int64_t, int64_t, bool)> kthvalue =
    define<Pair(Tensor, int64_t, int64_t, bool)>(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)"
    " -> (Tensor values, Tensor indices)")
  .doc(R"(
    The `k`-th smallest element along a dimension, counted from 1, and its index.

    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2).values
    tensor(2.)
  )")
  .out({.dtype = OutDType::Exact, .text = "output values must be of same type as input"})
  .forms(Function | Method | Out)
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
    const int64_t d = wrap_dim(dim, self.dim());
    refuse_empty_dim("kthvalue", self, d);
    check(k >= 1 && k <= (self.dim() ? self.sizes()[d] : 1),
          "kthvalue(): selected number k out of range for dimension ", d);
    infer_chosen(r, "kthvalue", self, dim, keepdim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t k, int64_t dim, bool) {
    if (self.dim() == 0) {
      refuse_complex_gradient("kthvalue", self);
      copy_data(values, self);
      return set_zero(indices);
    }
    refuse_type(self.is_complex() || is_bool(self.dtype()), "kthvalue_cpu", self);
    const Rows in(self, dim);
    kernels::kthvalue(in.data.data(), self.dtype(), in.rows, in.size, k, values.data(),
                      indices.ptr<int64_t>());
  })
  .grad("self", "grad, self.sizes, dim, indices, keepdim",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return selection_backward(grad, dim, indices, sizes, keepdim);
  });

namespace {

void check_median_out(const Arg* args, const Tensor* targets) {
  const DType wanted = args->as_tensor().dtype(), values = targets[0].dtype();
  check(targets[1].dtype() == DType::Int64, "Expected tensor for argument #1 'indices' to have "
        "scalar type Long; but got torch.", type_name_of(targets[1].dtype()), "Tensor instead "
        "(while checking arguments for median)");
  check(values == wanted, "Expected tensor for 'values' to have the same type as tensor for "
        "argument #2 'self'; but type torch.", type_name_of(values), "Tensor does not equal torch.",
        type_name_of(wanted), "Tensor (while checking arguments for median)");
}

}  // namespace

const auto median = define<Tensor(Tensor)>("median(Tensor self) -> Tensor")
  .doc(R"(
    The median, the lower of two: of all elements, or along a dimension with its index. NaN wins.

    >>> torch.median(torch.tensor([3., 1., 2., 4.]))
    tensor(2.)
  )")
  .forms(Function | Method)
  .infer([](Infer& r, const Tensor& self) { r.result({}, self.dtype(), self.device()); })
  .kernel([](Tensor& result, const Tensor& self) { median_of_all(result, self, false); })
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return share_backward(grad, self, result, {}, false);
  });

const auto median_dim = define<Pair(Tensor, int64_t, bool)>(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
  .node("MedianBackward1")
  .out({.dtype = OutDType::Exact, .check = check_median_out})
  .forms(Function | Method | Out)
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_chosen(r, "median", self, dim, keepdim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
    median_into(values, indices, self, dim, false);
  })
  .grad("self", "grad, self.sizes, dim, indices, keepdim",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return selection_backward(grad, dim, indices, sizes, keepdim);
  });

const auto nanmedian = define<Tensor(Tensor)>("nanmedian(Tensor self) -> Tensor")
  .doc(R"(
    The median of what is not NaN: of all elements, or along a dimension with its index.

    >>> torch.nanmedian(torch.tensor([3., float('nan'), 2., 4.]))
    tensor(3.)
  )")
  .forms(Function | Method)
  .infer([](Infer& r, const Tensor& self) { r.result({}, self.dtype(), self.device()); })
  .kernel([](Tensor& result, const Tensor& self) { median_of_all(result, self, true); })
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return share_backward(grad, self, result, {}, false);
  });

const auto nanmedian_dim = define<Pair(Tensor, int64_t, bool)>(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
  .node("NanmedianBackward1")
  .out({.dtype = OutDType::Exact, .check = check_median_out})
  .forms(Function | Method | Out)
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_chosen(r, "nanmedian", self, dim, keepdim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
    median_into(values, indices, self, dim, true);
  })
  .grad("self", "grad, self.sizes, dim, indices, keepdim",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return selection_backward(grad, dim, indices, sizes, keepdim);
  });

const auto mode = define<Pair(Tensor, int64_t, bool)>(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
  .doc(R"(
    The most frequent element along a dimension, the smallest of several, and an index of it.

    >>> torch.mode(torch.tensor([1, 2, 2, 3])).values
    tensor(2)
  )")
  .out({.dtype = OutDType::Exact,
        .text = "expected scalar type '%W' but got '%G' for values output"})
  .forms(Function | Method | Out)
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_chosen(r, "mode", self, dim, keepdim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
    refuse_type(self.is_complex(), "mode_cpu", self);
    const Rows in(self, dim);
    kernels::mode(in.data.data(), self.dtype(), in.rows, in.size, values.data(),
                  indices.ptr<int64_t>());
  })
  .grad("self", "grad, self.sizes, dim, indices, keepdim",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return selection_backward(grad, dim, indices, sizes, keepdim);
  });

}  // namespace rl::ops
