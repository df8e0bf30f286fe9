// Gathering and scattering along one dimension, by an index per element or per slice.
#include "ops/scatter.h"

#include "ops/ops.h"
#include "ops/refusals.h"

namespace rl::ops {

using kernels::Combine;

bool is_index_dtype(DType t) { return t == DType::Int64 || t == DType::Int32; }

// Elements of `data` whose coordinate along `dim` is read from `index`, of the same rank.
Places per_element(const Tensor& data, int64_t dim, const Tensor& index) {
  Places p;
  p.data = data;
  p.shape = Dims(index.sizes());
  p.strides = Dims(data.strides());
  p.step = data.element_size();
  if (data.dim()) {
    p.step *= p.strides[dim];
    p.strides[dim] = 0;
  } else if (index.dim()) {
    p.strides.resize(1, 0);
  }
  p.places = index;
  return p;
}

// Slices of `data` along `dim`, one for each of a vector of indices.
Places per_slice(const Tensor& data, int64_t dim, const Tensor& index) {
  Dims sizes, strides;
  sizes.resize(size_t(data.dim()), 1);
  strides.resize(size_t(data.dim()), 0);
  if (data.dim() == 0) {
    sizes.push_back(1);
    strides.push_back(0);
  }
  sizes[dim] = index.numel();
  strides[dim] = index.dim() ? index.strides()[0] : 0;
  Places p = per_element(data, dim, alias(index, sizes, strides, index.offset()));
  if (data.dim()) p.shape = Dims(data.sizes());
  p.shape[dim] = index.numel();
  return p;
}

void check_bounds(const Tensor& index, const Tensor& self, int64_t dim) {
  const int64_t size = self.dim() ? self.sizes()[dim] : 1;
  if (const auto bad = outside(index, 0, size)) {
    fail(ErrorKind::Runtime, "index ", *bad, " is out of bounds for dimension ", dim, " with size ", size);
  }
}

namespace {

int64_t rank(const Tensor& t) { return std::max<int64_t>(t.dim(), 1); }
int64_t extent(const Tensor& t, int64_t d) { return t.dim() ? t.sizes()[d] : 1; }

}  // namespace

void check_scatter(Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  const int64_t d = wrap_dim(dim, self.dim());
  check(is_index_dtype(index.dtype()), "scatter(): Expected dtype int32/int64 for index");
  check(!src || self.dtype() == src->dtype(), "scatter(): Expected self.dtype to be equal to src.dtype");
  r.result(self.sizes(), self.dtype(), self.device());
  if (index.numel() == 0) return;
  check(rank(index) == rank(self), "Index tensor must have the same number of dimensions as self tensor");
  check(!src || rank(index) == rank(*src), "Index tensor must have the same number of dimensions as "
        "src tensor");
  bool fits = true;
  for (int64_t k = 0; k < rank(self); ++k) {
    fits &= k == d || extent(index, k) <= extent(self, k);
    fits &= !src || extent(index, k) <= extent(*src, k);
  }
  if (src) {
    check(fits, "Expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
          " apart from dimension ", d, " and to be no larger size than src ", src->sizes());
  } else {
    check(fits, "Expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
          " apart from dimension ", d);
  }
}

Tensor as_int64(const Tensor& index) {
  NoGrad quiet;
  return to_dtype(index, DType::Int64);
}

Tensor part_for(const Tensor& src, const Tensor& index) {
  if (src.dim() != index.dim()) return alias(src, index.sizes(), index.dim() ? Ints{1} : Ints(), src.offset());
  return alias(src, index.sizes(), src.strides(), src.offset());
}

namespace {

// result[index] = or combined with src, after all checks of values.
void scatter_into(const Tensor& result, int64_t dim, const Tensor& given, const Tensor& src,
                  std::optional<Combine> how) {
  refuse_internal_overlap(result);
  if (given.numel() == 0) return;
  const int64_t d = wrap_dim(dim, result.dim());
  const Tensor index = as_int64(given);
  check_bounds(index, result, d);
  const Places p = per_element(result, d, index);
  const Tensor values = src.dim() == 0 && index.dim() != 0 && index.numel() != 1 ? src : part_for(src, index);
  if (how) combine_places(p, values, *how);
  else write_places(p, values);
}

Combine combine_of(std::string_view reduce) {
  check(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply.");
  return reduce == "add" ? Combine::Add : Combine::Multiply;
}

Tensor number_tensor(const Scalar& value, DType dtype) { return scalar_tensor(value, dtype); }

}  // namespace

const Op<Tensor(Tensor, int64_t, Tensor, bool)> gather = define<Tensor(Tensor, int64_t, Tensor, bool)>(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
  .doc(R"(
    For each element of `index`, the input's element with that coordinate along `dim`.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true, .same = true})
  .forms(Function | Method | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, bool) {
    const int64_t d = wrap_dim(dim, self.dim());
    check(is_index_dtype(index.dtype()), "gather(): Expected dtype int32/int64 for index");
    if (index.numel() != 0) {
      check(rank(index) == rank(self), "Index tensor must have the same number of dimensions as "
            "input tensor");
      for (int64_t k = 0; k < rank(self); ++k)
        check(k == d || extent(index, k) <= extent(self, k), "Size does not match at dimension ", k,
              " expected index ", index.sizes(), " to be no larger than self ", self.sizes(),
              " apart from dimension ", d);
    }
    r.result(index.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, const Tensor& given, bool) {
    if (result.numel() == 0) return;
    const int64_t d = wrap_dim(dim, self.dim());
    const int64_t size = extent(self, d);
    if (const auto bad = read_checked(result, per_element(self, d, as_int64(given)), 0, size)) {
      fail(ErrorKind::Runtime, "index ", *bad, " is out of bounds for dimension ", d, " with size ", size);
    }
  })
  .grad("self", "grad, self.sizes, dim, index",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& index) {
    const Tensor whole = zeros(sizes, grad.dtype(), grad.device());
    scatter_add.in_place(whole, dim, index, grad);
    return whole;
  });

const Op<Tensor(Tensor, int64_t, Tensor, Tensor)> scatter =
    define<Tensor(Tensor, int64_t, Tensor, Tensor)>(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor")
  .doc(R"(
    The input with elements of `src` put where `index` says along `dim`.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5., 6.]))
    tensor([6., 0., 5.])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .node("ScatterBackward0")
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
    check_scatter(r, self, dim, index, &src);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src) {
    scatter_into(result, dim, index, src, std::nullopt);
  })
  .grad("self", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return scatter_value(grad, dim, index, 0);
  })
  .grad("src", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return gather(grad, dim, index, false);
  });

const Op<Tensor(Tensor, int64_t, Tensor, Scalar)> scatter_value =
    define<Tensor(Tensor, int64_t, Tensor, Scalar)>(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .node("ScatterBackward1")
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
    check_scatter(r, self, dim, index, nullptr);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value) {
    scatter_into(result, dim, index, expand(number_tensor(value, result.dtype()), index.sizes()), std::nullopt);
  })
  .grad("self", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return scatter_value(grad, dim, index, 0);
  });

const auto scatter_src_reduce = define<Tensor(Tensor, int64_t, Tensor, Tensor, std::string_view)>(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .edits()
  .no_derivative("derivative for aten::scatter is not implemented")
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
            std::string_view reduce) {
    combine_of(reduce);
    check_scatter(r, self, dim, index, &src);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src,
             std::string_view reduce) { scatter_into(result, dim, index, src, combine_of(reduce)); });

const auto scatter_value_reduce = define<Tensor(Tensor, int64_t, Tensor, Scalar, std::string_view)>(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .edits()
  .no_derivative("derivative for aten::scatter is not implemented")
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Scalar&,
            std::string_view reduce) {
    combine_of(reduce);
    check_scatter(r, self, dim, index, nullptr);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value,
             std::string_view reduce) {
    scatter_into(result, dim, index, expand(number_tensor(value, result.dtype()), index.sizes()),
                 combine_of(reduce));
  });

const Op<Tensor(Tensor, int64_t, Tensor, Tensor)> scatter_add =
    define<Tensor(Tensor, int64_t, Tensor, Tensor)>(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor")
  .doc(R"(
    Adds elements of `src` to the input's where `index` says along `dim`.

    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([5., 6.]))
    tensor([ 0., 11.])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
    check_scatter(r, self, dim, index, &src);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Tensor& src) {
    scatter_into(result, dim, index, src, Combine::Add);
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("src", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return gather(grad, dim, index, false);
  });

// ---- One index per slice

void check_slices(const char* op, const Tensor& self, int64_t dim, const Tensor& index,
                  const Tensor& source) {
  const int64_t d = wrap_dim(dim, self.dim());
  check(index.dim() <= 1, ErrorKind::Index, op, ": Index is supposed to be a vector, but "
        "got dim: ", index.dim(), " with type: ", type_name_of(index.dtype()), " and size: ",
        index.sizes());
  check(is_index_dtype(index.dtype()), op, ": Expected dtype int32/int64 for index but got: ",
        type_name_of(index.dtype()));
  check(self.dtype() == source.dtype(), op, ": self (", type_name_of(self.dtype()),
        ") and source (", type_name_of(source.dtype()), ") must have the same scalar type");
  check(source.dim() == 0 || wrap_dim(dim, source.dim()) < source.dim(), op, ": Indexing "
        "dim ", d, " is out of bounds of the source tensor");
  check(index.numel() == extent(source, source.dim() ? std::min(d, source.dim() - 1) : 0),
        op, ": Number of indices (", index.numel(), ") should be equal to source.size(dim): (",
        extent(source, d), "), for dim: ", d);
  bool fits = rank(self) == rank(source);
  for (int64_t k = 0; fits && k < rank(self); ++k) fits = k == d || extent(self, k) == extent(source, k);
  check(fits, "source tensor shape must match self tensor shape, excluding the specified "
        "dimension. Got self.shape = ", self.sizes(), " source.shape = ", source.sizes());
}

const Op<Tensor(Tensor, int64_t, Tensor, Tensor, Scalar)> index_add =
    define<Tensor(Tensor, int64_t, Tensor, Tensor, Scalar)>(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")
  .doc(R"(
    Adds the slices of `source`, times `alpha`, to those of the input that `index` names.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2., 0.])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
            const Scalar&) {
    check_slices("index_add_()", self, dim, index, source);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& given, const Tensor& source,
             const Scalar& alpha) {
    NoGrad quiet;
    refuse_internal_overlap(result);
    const int64_t d = wrap_dim(dim, result.dim());
    const Tensor index = as_int64(given);
    check_bounds(index, result, d);
    Tensor values = source;
    if (!alpha.equal(1)) values = mul(source, number_tensor(alpha, source.dtype()));
    const Places p = per_slice(result, d, index);
    if (values.dim() == 0) values = alias(values, {1}, {1}, values.offset());
    combine_places(p, values, Combine::Add);
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad; })
  .grad("source", "grad, source.sizes, dim, index, alpha",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& index, const Scalar& alpha) {
    const Tensor part = expand(index_select(grad, dim, index), sizes);
    return alpha.equal(1) ? part : part * conj_of(alpha);
  });

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  index_add.in_place(self, dim, index, source);
}

const auto index_copy = define<Tensor(Tensor, int64_t, Tensor, Tensor)>(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor")
  .doc(R"(
    The input with the slices that `index` names replaced by those of `source`.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5., 6.]))
    tensor([6., 0., 5.])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .autocast(Autocast::Promote)
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
    const int64_t d = wrap_dim(dim, self.dim()), n = index.numel();
    check(index.dim() < 2, ErrorKind::Index, "index_copy_(): Index should have dimension 1 or 0 (got ",
          index.dim(), ")");
    check(source.dim() != 0 || n == 1, ErrorKind::Index, "index_copy_(): When source is scalar, "
          "index should have one element (got ", n, ")");
    check(source.dim() == self.dim() || source.dim() == 0 || self.dim() == 0, ErrorKind::Index,
          "index_copy_(): When source and destination are not scalars, their dimensionality must "
          "match. Source dimensionality (", source.dim(), "), destination dimensionality (",
          self.dim(), ")");
    check(index.dtype() == DType::Int64, "index_copy_(): Expected a long tensor for index, but got ",
          type_name_of(index.dtype()));
    check(self.dtype() == source.dtype(), "index_copy_(): self and source expected to have the same "
          "dtype, but got (self) ", type_name_of(self.dtype()), " and (source) ",
          type_name_of(source.dtype()));
    Dims of_self(self.sizes()), of_source(source.sizes());
    if (self.dim()) of_self.erase(size_t(d));
    if (source.dim()) of_source.erase(size_t(std::min(d, source.dim() - 1)));
    const auto words = [](const Dims& sizes) {
      std::string s;
      for (int64_t v : sizes) s += text(s.empty() ? "" : " ", v);
      return s;
    };
    check(of_self == of_source, "index_copy_(): Source/destination tensor must have same slice "
          "shapes. Destination slice shape: ", words(of_self), " at dimension ", d,
          " and source slice shape: ", words(of_source), " at dimension 0.");
    check(source.dim() == 0 || n == source.sizes()[std::min(d, source.dim() - 1)], ErrorKind::Index,
          "index_copy_(): Number of indices (", n, ") should be equal to source.size(dim) (",
          extent(source, std::min(d, rank(source) - 1)), ")");
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Tensor& source) {
    refuse_internal_overlap(result);
    const int64_t d = wrap_dim(dim, result.dim()), size = extent(result, d);
    if (const auto bad = outside(index, 0, size)) {
      fail(ErrorKind::Index, "index_copy_(): index ", *bad, " is out of bounds for dimension ", d,
           " with size ", size);
    }
    const Tensor values = source.dim() ? source : alias(source, {1}, {1}, source.offset());
    write_places(per_slice(result, d, index), values);
  })
  .grad("self", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return index_fill(grad, dim, index, 0);
  })
  .grad("source", "grad, source.sizes, dim, index",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& index) {
    return expand(index_select(grad, dim, index), sizes);
  });

namespace {

void check_fill(Infer& r, const Tensor& self, int64_t dim, const Tensor& index) {
  wrap_dim(dim, self.dim());
  check(index.dtype() == DType::Int64, ErrorKind::Index, "index_fill_(): Expected dtype int64 for index.");
  check(index.dim() <= 1, "Index has to be a vector/scalar");
  r.like(self);
}

void fill_slices(const Tensor& result, int64_t dim, const Tensor& given, const Tensor& value) {
  warn_of_overlap("index_fill_", "mask", result);
  const int64_t d = wrap_dim(dim, result.dim()), size = extent(result, d);
  if (const auto bad = outside(given, -size, size)) {
    fail(ErrorKind::Index, "index ", *bad, " is out of bounds for dimension ", d, " with size ", size);
  }
  write_places(per_slice(result, d, without_negatives(given, size)), value);
}

}  // namespace

const Op<Tensor(Tensor, int64_t, Tensor, Scalar)> index_fill =
    define<Tensor(Tensor, int64_t, Tensor, Scalar)>(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor")
  .doc(R"(
    The input with the slices that `index` names set to one value.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([1]), 7)
    tensor([0., 7., 0.])
  )")
  .out({.inplace_internal = true})
  .forms(Function | Method | Inplace)
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
    check(!value.is_complex() || self.is_complex(), "index_fill_(): Converting complex Scalar to "
          "non-complex type is not supported");
    check_fill(r, self, dim, index);
    check_fits(value, self.dtype());
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Scalar& value) {
    fill_slices(result, dim, index, number_tensor(value, result.dtype()));
  })
  .grad("self", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return index_fill(grad, dim, index, 0);
  });

const auto index_fill_tensor = define<Tensor(Tensor, int64_t, Tensor, Tensor)>(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor")
  .node("IndexFillBackward1")
  .out({.inplace_internal = true})
  .forms(Function | Method | Inplace)
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
    check(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor "
          "with ", value.dim(), " dimension(s).");
    check_fill(r, self, dim, index);
  })
  .kernel([](Tensor& result, const Tensor&, int64_t dim, const Tensor& index, const Tensor& value) {
    NoGrad quiet;
    fill_slices(result, dim, index, to_dtype(value, result.dtype()));
  })
  .grad("self", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return index_fill(grad, dim, index, 0);
  })
  .grad("value", "grad, dim, index", [](const Tensor& grad, int64_t dim, const Tensor& index) {
    return sum(index_select(grad, dim, index));
  });

}  // namespace rl::ops
