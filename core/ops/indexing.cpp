// Reading and writing elements by index tensors and masks: what x[...] does with tensors.
#include "ops/indexing.h"

#include <algorithm>

#include "ops/dispatch.h"
#include "ops/places.h"

namespace rl::ops {
namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

void check_indices(const Tensor& self, TensorList indices) {
  check(!indices.empty(), ErrorKind::Index, "at least one index must be provided");
  int64_t used = 0;
  for (const Tensor& t : indices) {
    check(!t || (is_integral(t.dtype()) && !is_wide_unsigned(t.dtype())) ||
              t.dtype() == DType::Bool, ErrorKind::Index,
          "tensors used as indices must be long, int, byte or bool tensors");
    if (!t || !is_mask(t)) {
      ++used;
      continue;
    }
    if (t.dtype() == DType::UInt8) {
      warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
           "instead.");
    }
    check(used + t.dim() <= self.dim(), ErrorKind::Index,
          "too many indices for tensor of dimension ", self.dim());
    for (int64_t k = 0; k < t.dim(); ++k)
      check(t.sizes()[k] == self.sizes()[used + k], ErrorKind::Index, "The shape of the mask ",
            t.sizes(), " at index ", k, " does not match the shape of the indexed tensor ",
            self.sizes(), " at index ", used + k);
    used += t.dim();
  }
  check(used <= self.dim(), ErrorKind::Index, "too many indices for tensor of dimension ",
        self.dim(), " (got ", used, ")");
}

// One index per indexed dimension: a mask is replaced by the columns of its nonzero().
struct Columns {
  Tensors tensors;
  Dims dims;
};

Columns columns_of(TensorList indices) {
  Columns c;
  int64_t at = 0;
  for (const Tensor& t : indices) {
    if (!t) {
      ++at;
    } else if (is_mask(t)) {
      const Tensor found = nonzero(t);
      for (int64_t k = 0; k < t.dim(); ++k, ++at) {
        c.tensors.push_back(select(found, 1, k));
        c.dims.push_back(at);
      }
    } else {
      c.tensors.push_back(to_dtype(t, DType::Int64));
      c.dims.push_back(at++);
    }
  }
  return c;
}

Dims common_sizes(const Columns& c) {
  Dims sizes;
  bool fits = true;
  for (const Tensor& t : c.tensors) {
    const size_t n = std::max(sizes.size(), size_t(t.dim()));
    Dims both;
    both.resize(n);
    for (size_t i = 0; i < n; ++i) {
      const int64_t a = i < sizes.size() ? sizes[sizes.size() - 1 - i] : 1;
      const int64_t b = int64_t(i) < t.dim() ? t.sizes()[t.dim() - 1 - int64_t(i)] : 1;
      fits &= a == b || a == 1 || b == 1;
      both[n - 1 - i] = a == 1 ? b : a;
    }
    sizes = both;
  }
  if (!fits) {
    std::string s = "shape mismatch: indexing tensors could not be broadcast together with shapes ";
    for (size_t i = 0; i < c.tensors.size(); ++i) s += text(i ? ", " : "", c.tensors[i].sizes());
    fail(ErrorKind::Index, s);
  }
  return sizes;
}

// Adds index * stride of one dimension to the offsets, which start at zero.
void add_offsets(const Tensor& offsets, const Tensor& column, int64_t size, int64_t step, bool first) {
  StridedLoop over(offsets.sizes());
  over.add(offsets);
  over.add(column);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t v = *reinterpret_cast<const int64_t*>(p[1] + i * s[1]);
      if (v < 0) v += size;
      auto* out = reinterpret_cast<int64_t*>(p[0] + i * s[0]);
      *out = (first ? 0 : *out) + v * step;
    }
  });
}

// An index op worked out: the dimensions before, in place of and after the indexed ones with the
// byte offset of each place; and the strides that decide the order of the result's dimensions.
struct Indexing {
  Places places;
  Small<Dims, 3> strides;
};

Indexing work_out(const Tensor& self, TensorList indices) {
  check_indices(self, indices);
  const Columns c = columns_of(indices);
  const Dims common = common_sizes(c);
  const size_t n = c.dims.size();
  for (size_t k = 0; k < n && !self.is_meta(); ++k) {
    const int64_t size = self.sizes()[c.dims[k]];
    if (const auto bad = outside(c.tensors[k], -size, size)) {
      if (numel_of(common) == 0) continue;
      fail(ErrorKind::Index, "index ", *bad, " is out of bounds for dimension ", int64_t(k),
           " with size ", size);
    }
  }
  const bool adjacent = n == 0 || c.dims.back() - c.dims[0] + 1 == int64_t(n);
  Indexing x;
  Places& p = x.places;
  p.data = self;
  const auto keep = [&](int64_t d) {
    p.shape.push_back(self.sizes()[d]);
    p.strides.push_back(self.strides()[d]);
  };
  const int64_t before = n && adjacent ? c.dims[0] : 0;
  for (int64_t d = 0; d < before; ++d) keep(d);
  for (int64_t s : common) {
    p.shape.push_back(s);
    p.strides.push_back(0);
  }
  for (int64_t d = before; d < self.dim(); ++d) {
    bool indexed = false;
    for (int64_t i : c.dims) indexed |= i == d;
    if (!indexed) keep(d);
  }
  const size_t after = p.shape.size() - size_t(before) - common.size();
  x.strides.push_back(p.strides);
  for (const Tensor& t : c.tensors) {
    Dims by;
    by.resize(p.shape.size(), 0);
    const Dims own = broadcast_strides(t.sizes(), t.strides(), common);
    for (size_t i = 0; i < common.size(); ++i) by[size_t(before) + i] = own[i];
    x.strides.push_back(by);
  }
  if (self.is_meta()) return x;
  const Tensor offsets = empty(common, DType::Int64);
  if (n == 0) set_zero(offsets);
  for (size_t k = 0; k < n; ++k)
    add_offsets(offsets, c.tensors[k], self.sizes()[c.dims[k]],
                self.strides()[c.dims[k]] * self.element_size(), k == 0);
  Dims sizes(common), strides(offsets.strides());
  for (size_t i = 0; i < after; ++i) {
    sizes.push_back(1);
    strides.push_back(0);
  }
  p.places = alias(offsets, sizes, strides, 0);
  return x;
}

// As PyTorch's iterator lays the result out: by the strides of the source, then of the indices.
Dims result_strides(const Indexing& x) {
  const Dims& shape = x.places.shape;
  const Small<int, 6> order = order_of_dims(shape, Span<Dims>(x.strides.data(), x.strides.size()));
  Dims strides;
  strides.resize(shape.size());
  int64_t step = 1;
  for (int d : order) {
    strides[size_t(d)] = step;
    step *= std::max<int64_t>(shape[size_t(d)], 1);
  }
  return strides;
}

void put_values(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  const Places p = work_out(self, indices).places;
  const Ints shape = p.shape;
  bool fits = values.dim() <= int64_t(shape.size());
  for (int64_t i = 1; fits && i <= values.dim(); ++i) {
    const int64_t v = values.sizes()[values.dim() - i];
    fits = v == 1 || v == shape[shape.size() - size_t(i)];
  }
  check(fits, "shape mismatch: value tensor of shape ", values.sizes(),
        " cannot be broadcast to indexing result of shape ", shape);
  if (self.is_meta()) return;
  if (accumulate) combine_places(p, values, kernels::Combine::Add);
  else write_places(p, values);
}

}  // namespace

const Op<Tensor(Tensor, TensorList)> index = define<Tensor(Tensor, TensorList)>(
    "index(Tensor self, Tensor?[] indices) -> Tensor")
  .doc(R"(
    The elements that index tensors and masks name: what x[i, j] does.

    >>> x = torch.tensor([[1, 2], [3, 4]]); x[torch.tensor([1, 0]), torch.tensor([0, 0])]
    tensor([3, 1])
  )")
  .forms(Hidden)
  .linear()
  .produce([](const Tensor& self, TensorList indices) {
    NoGrad quiet;
    const Indexing x = work_out(self, indices);
    const Tensor result = empty_strided(x.places.shape, result_strides(x), self.dtype(), self.device());
    Unlocked guard(result.numel() > StridedLoop::kGrain);
    if (!self.is_meta()) read_places(result, x.places);
    return result;
  })
  .grad("self", "grad, self.sizes, indices", [](const Tensor& grad, Ints sizes, TensorList indices) {
    const Tensor whole = zeros(sizes, grad.dtype(), grad.device());
    index_put.in_place(whole, indices, grad, true);
    return whole;
  });

const Op<Tensor(Tensor, TensorList, Tensor, bool)> index_put =
    define<Tensor(Tensor, TensorList, Tensor, bool)>(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
  .doc(R"(
    The input with the elements that index tensors name replaced, or added to.

    >>> torch.zeros(3).index_put((torch.tensor([0, 2]),), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
  )")
  .forms(Function | Method | Inplace)
  .edits()
  .infer([](Infer& r, const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
    check(self.dtype() == values.dtype(), "Index put requires the source and destination dtypes "
          "match, got ", type_name_of(self.dtype()), " for the destination and ",
          type_name_of(values.dtype()), " for the source.");
    const auto is_mask_there = [](const Tensor& t) { return t && is_mask(t); };
    const bool masks = std::any_of(indices.begin(), indices.end(), is_mask_there);
    if (self.is_meta() && !masks) put_values(self, indices, values, accumulate);
    r.like(self);
  })
  .kernel([](Tensor& result, const Tensor&, TensorList indices, const Tensor& values, bool accumulate) {
    if (internal_overlap(result) == Overlap::Yes) {
      warn("Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before "
           "performing this operation. This also applies to advanced indexing e.g. "
           "tensor[indices] = tensor");
    }
    put_values(result, indices, values, accumulate);
  })
  .grad("self", "grad, indices, values.sizes, accumulate",
        [](const Tensor& grad, TensorList indices, Ints sizes, bool accumulate) {
    if (accumulate) return grad;
    return Tensor(index_put(grad, indices, zeros(sizes, grad.dtype(), grad.device()), false));
  })
  .grad("values", "grad, indices", [](const Tensor& grad, TensorList indices) {
    return index(grad, indices);
  });

const auto index_put_method = define<Tensor(Tensor, TensorList, Tensor, bool, bool)>(
    "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, "
    "bool unsafe=False) -> Tensor(a!)")
  .doc("index_put_ under the name that PyTorch's internals use.")
  .forms(Function)
  .composite([](const Tensor& self, TensorList indices, const Tensor& values, bool accumulate, bool) {
    index_put.in_place(self, indices, values, accumulate);
    return self;
  });

namespace {

// The places of index_select: a vector of indices along one dimension.
Places along(const Tensor& data, int64_t dim, const Tensor& index, int64_t count) {
  Places p;
  p.data = data;
  p.shape = Dims(data.sizes());
  p.strides = Dims(data.strides());
  Dims sizes, strides;
  sizes.resize(p.shape.size(), 1);
  strides.resize(p.shape.size(), 0);
  if (data.dim()) {
    p.step = p.strides[dim] * data.element_size();
    p.shape[dim] = count;
    p.strides[dim] = 0;
    sizes[dim] = count;
    strides[dim] = index.dim() ? index.strides()[0] : 0;
  }
  p.places = alias(index, sizes, strides, index.offset());
  return p;
}

}  // namespace

const Op<Tensor(Tensor, int64_t, Tensor)> index_select = define<Tensor(Tensor, int64_t, Tensor)>(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor")
  .doc(R"(
    The slices of a dimension that a vector of indices names.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true, .same = true,
        .text = "index_select(): self and result must have the same scalar type"})
  .forms(Function | Method | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, int64_t dim, const Tensor& index) {
    const int64_t d = wrap_dim(dim, self.dim());
    check(index.dim() <= 1, ErrorKind::Index, "index_select(): Index is supposed to be a vector");
    check(self.dim() > 0 || index.numel() == 1, "index_select(): Index to scalar can have only 1 "
          "value, got ", index.numel(), " value(s)");
    check(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
          "index_select(): Expected dtype int32 or int64 for index");
    Dims sizes(self.sizes());
    if (self.dim()) sizes[d] = index.numel();
    r.result(sizes, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, const Tensor& given) {
    NoGrad quiet;
    const int64_t d = wrap_dim(dim, self.dim());
    const Tensor index = to_dtype(given, DType::Int64);
    check(!outside(index, 0, self.dim() ? self.sizes()[d] : 1), ErrorKind::Index,
          "index out of range in self");
    read_places(result, along(self, d, index, index.numel()));
  })
  .grad("self", "grad, self.sizes, dim, index",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& index) {
    const Tensor whole = zeros(sizes, grad.dtype(), grad.device());
    index_add.in_place(whole, dim, index, grad);
    return whole;
  });

// ---- Places in the flattened tensor

namespace {

Places flat_places(const Tensor& data, const Tensor& index) {
  Places p;
  p.data = data;
  p.shape = Dims(index.sizes());
  p.strides.resize(p.shape.size(), 0);
  p.step = data.element_size();
  p.places = index;
  return p;
}

Tensor flat_index(const Tensor& index, int64_t numel) {
  if (const auto bad = outside(index, -numel, numel)) {
    fail(ErrorKind::Index, "out of range: tried to access index ", *bad, " on a tensor of ", numel,
         " elements.");
  }
  return without_negatives(index, numel);
}

}  // namespace

const auto take = define<Tensor(Tensor, Tensor)>("take(Tensor self, Tensor index) -> Tensor")
  .doc(R"(
    Elements by their position in the flattened input.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]))
    tensor([1, 4])
  )")
  .out({.dtype = OutDType::Exact,
        .text = "take(): self and out expected to have the same dtype, but got "
                "self.dtype = %W and out.dtype = %G"})
  .forms(Function | Method | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, const Tensor& index) {
    check(index.dtype() == DType::Int64, "take(): Expected a long tensor for index, but got ",
          type_name_of(index.dtype()));
    check(self.numel() != 0 || index.numel() == 0, ErrorKind::Index,
          "take(): tried to take from an empty tensor");
    r.result(index.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& index) {
    NoGrad quiet;
    read_places(result, flat_places(contiguous(self), flat_index(index, self.numel())));
  })
  .grad("self", "grad, self.sizes, index", [](const Tensor& grad, Ints sizes, const Tensor& index) {
    const Tensor whole = zeros(sizes, grad.dtype(), grad.device());
    put.in_place(whole, index, grad, true);
    return whole;
  });

const Op<Tensor(Tensor, Tensor, Tensor, bool)> put = define<Tensor(Tensor, Tensor, Tensor, bool)>(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
  .doc(R"(
    The input with the elements at flattened positions replaced, or added to.

    >>> torch.put(torch.zeros(2, 2), torch.tensor([1, 3]), torch.tensor([5., 6.]))
    tensor([[0., 5.],
            [0., 6.]])
  )")
  .forms(Function | Method | Inplace)
  .edits()
  .infer([](Infer& r, const Tensor& self, const Tensor& index, const Tensor& source, bool) {
    check(index.dtype() == DType::Int64, "put_(): Expected a long tensor for index, but got ",
          type_name_of(index.dtype()));
    check(self.dtype() == source.dtype(), "put_(): self and source expected to have the same dtype, "
          "but got self.dtype = ", type_name_of(self.dtype()), " and source.dtype = ",
          type_name_of(source.dtype()));
    check(index.numel() == source.numel(), ErrorKind::Index, "put_(): Expected source and index to "
          "have the same number of elements, but got source.numel() = ", source.numel(),
          ", index.numel() = ", index.numel());
    check(self.numel() != 0 || index.numel() == 0, ErrorKind::Index,
          "put_(): Tried to put elements into an empty tensor");
    r.like(self);
  })
  .kernel([](Tensor& result, const Tensor&, const Tensor& index, const Tensor& source, bool accumulate) {
    NoGrad quiet;
    refuse_internal_overlap(result);
    const Tensor places = flat_index(reshape(index, Ints{-1}), result.numel());
    const Tensor values = reshape(source, Ints{-1});
    const Tensor flat = contiguous(result);
    const Places p = flat_places(flat, places);
    if (accumulate) combine_places(p, values, kernels::Combine::Add);
    else write_places(p, values);
    if (!flat.same(result)) copy_data(result, flat);
  })
  .grad("self", "grad, index, source.sizes, accumulate",
        [](const Tensor& grad, const Tensor& index, Ints sizes, bool accumulate) {
    if (accumulate) return grad;
    return Tensor(put(grad, index, zeros(sizes, grad.dtype(), grad.device()), false));
  })
  .grad("source", "grad, index, source.sizes", [](const Tensor& grad, const Tensor& index, Ints sizes) {
    return reshape(take(grad, index), sizes);
  });

// ---- Where elements are not zero

namespace {

// Positions of the elements that are not zero, in row order, as one vector.
Tensor positions_of(const Tensor& t) {
  const Tensor dense = contiguous(t);
  return positions_of(dense, find_nonzero(dense));
}

// Row i of `result` gets the coordinates of position i.
void write_coordinates(const Tensor& result, const Tensor& positions, int64_t count, Ints sizes) {
  const int64_t *from = positions.ptr<int64_t>(), dims = int64_t(sizes.size());
  int64_t* out = result.ptr<int64_t>();
  const int64_t row = result.strides()[0], column = dims ? result.strides()[1] : 0;
  parallel_for(0, count, StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
    const int64_t last = dims ? sizes[dims - 1] : 1;
    Dims at;  // of the row along the last dimension, which begins at position `start`
    at.resize(size_t(dims), 0);
    int64_t start = -last;
    for (int64_t i = begin; i < end; ++i) {
      if (from[i] - start >= last) {
        int64_t rest = from[i] / last;
        start = rest * last;
        for (int64_t d = dims - 1; d-- > 0;) {
          at[d] = d ? rest % sizes[d] : rest;
          rest /= sizes[d];
        }
      }
      for (int64_t d = 0; d + 1 < dims; ++d) out[i * row + d * column] = at[d];
      if (dims) out[i * row + (dims - 1) * column] = from[i] - start;
    }
  });
}

}  // namespace

const Op<Tensor(Tensor)> nonzero = define<Tensor(Tensor)>("nonzero(Tensor self) -> Tensor")
  .doc(R"(
    The coordinates of the elements that are not zero, one row each.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
  )")
  .out({.dtype = OutDType::Exact,
        .text = "nonzero: Expected out tensor to have scalar type %W but got scalar "
                "type%G"})
  .forms(Function | Method | Out)
  .produce([](const Tensor& self) {
    check(!self.is_meta(), ErrorKind::NotImplemented, "The register_meta function for torch.nonzero() "
          "raises unimplemented by default, as a correct data-independent implementation does not "
          "exist. This implementation returns a fake value, assuming all elements of the tensor are "
          "non-zero. To enable this registration, please set 'torch.fx.experimental._config."
          "meta_nonzero_assume_all_nonzero' to True.");
    NoGrad quiet;
    const Tensor positions = positions_of(self);
    const int64_t n = positions.numel();
    if (self.dim() == 1) return alias(positions, {n, 1}, {1, n}, 0);
    const Tensor result = empty_strided({n, self.dim()}, {1, n}, DType::Int64);
    write_coordinates(result, positions, n, self.sizes());
    return result;
  });

const auto nonzero_static = define<Tensor(Tensor, int64_t, int64_t)>(
    "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor")
  .doc(R"(
    The coordinates of the first `size` elements that are not zero; `fill_value` where there are
    fewer.

    >>> torch.nonzero_static(torch.tensor([0, 3]), size=2)
    tensor([[ 1],
            [-1]])
  )")
  .out({.dtype = OutDType::Exact,
        .text = "nonzero_static: Expected out tensor to have scalar type %W but got "
                "scalar type%G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t size, int64_t) {
    check(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
    if (self.is_meta()) r.result({size, self.dim()}, {1, size}, DType::Int64, self.device());
    else r.result({size, self.dim()}, DType::Int64, self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t size, int64_t fill) {
    NoGrad quiet;
    set_value(result, fill);
    const Tensor positions = positions_of(self);
    write_coordinates(result, positions, std::min(size, positions.numel()), self.sizes());
  });

const auto argwhere = define<Tensor(Tensor)>("argwhere(Tensor self) -> Tensor")
  .doc(R"(
    The coordinates of the elements that are not zero, one row each.

    >>> torch.argwhere(torch.tensor([1, 0, 1]))
    tensor([[0],
            [2]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) { return nonzero(self); });

const Op<Tensors(Tensor)> nonzero_numpy = define<Tensors(Tensor)>("nonzero_numpy(Tensor self) -> Tensor[]")
  .doc("The coordinates of the elements that are not zero, one tensor for each dimension.")
  .forms(Hidden)
  .composite([](const Tensor& self) {
    return Tensors(unbind(nonzero(self.dim() ? self : Tensor(unsqueeze(self, 0))), 1));
  });

const auto take_along_dim = define<Tensor(Tensor, Tensor, MaybeInt)>(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor")
  .doc(R"(
    gather with input and indices broadcast to each other; of the flattened input without `dim`.

    >>> x = torch.tensor([[3, 1], [2, 4]])
    >>> torch.take_along_dim(x, x.argsort(1), 1)
    tensor([[1, 3],
            [2, 4]])
  )")
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& self, const Tensor& indices, MaybeInt dim) {
    check(indices.dtype() == DType::Int64, "torch.take_along_dim(): dtype of indices should be Long "
          "but got ", type_name_of(indices.dtype()));
    if (!dim) return Tensor(gather(view(self, Ints{-1}), 0, view(indices, Ints{-1}), false));
    check(self.dim() == indices.dim(), "torch.take_along_dim(): input and indices should have the "
          "same number of dimensions, but got ", self.dim(), " dimensions for input, and ",
          indices.dim(), " dimensions for indices");
    const int64_t d = wrap_dim(*dim, self.dim(), false);
    Dims of_self(self.sizes()), of_indices(indices.sizes());
    of_self[d] = of_indices[d] = 1;
    of_self = of_indices = broadcast(of_self, of_indices);
    of_self[d] = self.sizes()[d];
    of_indices[d] = indices.sizes()[d];
    return Tensor(gather(expand(self, of_self), d, expand(indices, of_indices), false));
  });

}  // namespace rl::ops
