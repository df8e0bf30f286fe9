// Views: other sizes, strides and offsets over the same storage.
#include <algorithm>

#include "ops/expect.h"

namespace rl::ops {

const Op<Tensor(Tensor, Ints, Ints, MaybeInt)> as_strided =
    define<Tensor(Tensor, Ints, Ints, MaybeInt)>(
    "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)")
  .doc(R"(
    A view with the given sizes, strides and offset, in elements of the storage.

    >>> torch.as_strided(torch.arange(4.), (2, 2), (1, 2))
    tensor([[0., 2.],
            [1., 3.]])
  )")
  .forms(Function | Method)
  .accepts_conj()
  .view([](const Tensor& self, Ints size, Ints stride, MaybeInt offset) {
    check(size.size() == stride.size(), "mismatch in length of strides and shape");
    for (int64_t s : size) check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", size);
    for (int64_t s : stride) check(s >= 0, "as_strided: Negative strides are not supported at the "
                                   "moment, got strides: ", stride);
    const int64_t at = offset.value_or(self.offset());
    check(at >= 0, "Tensor: invalid storage offset ", at);
    const size_t bytes = bytes_needed(size, stride, at, self.element_size());
    check(bytes <= self->storage->nbytes(), "setStorage: sizes ", size, ", strides ", stride,
          ", storage offset ", at, ", and itemsize ", self.element_size(),
          " requiring a storage size of ", int64_t(bytes), " are out of bounds for storage of size ",
          int64_t(self->storage->nbytes()));
    return alias(self, size, stride, at);
  })
  .grad("self", "grad, self.layout, size, stride, storage_offset",
        [](const Tensor& grad, const Tensor& self, Ints size, Ints stride, MaybeInt offset) {
    return as_strided_backward(grad, self, size, stride, offset.value_or(self.offset()));
  });

namespace {

// How a strided tensor falls into parts whose elements are all different, as overlapping windows
// do: every `step`-th index of `dim`. Step 0: not by one dimension alone.
struct Parts {
  int64_t dim = 0, step = 1;
};
Parts parts_of(Ints sizes, Ints strides) {
  Dims order;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1) order.push_back(int64_t(d));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[size_t(a)] < strides[size_t(b)];
  });
  Parts parts;
  int64_t last = 0;  // the farthest element of the dimensions so far
  for (int64_t d : order) {
    const int64_t stride = strides[size_t(d)], size = sizes[size_t(d)];
    if (stride <= last || stride == 0) {
      if (parts.step > 1) return {0, 0};
      parts = {d, stride ? std::min(size, last / stride + 1) : size};
    }
    last += (size - 1) * stride;
  }
  return parts;
}

// Adds to `place`, elements of which may be the same.
bool add_in_parts(const Tensor& place, const Tensor& grad) {
  const Parts parts = parts_of(place.sizes(), place.strides());
  if (parts.step == 0 || parts.step > 1000) return false;
  if (parts.step == 1) {
    add.in_place(place, grad);
    return true;
  }
  const int64_t n = place.sizes()[size_t(parts.dim)];
  for (int64_t i = 0; i < parts.step; ++i) {
    add.in_place(slice(place, parts.dim, i, n, parts.step), slice(grad, parts.dim, i, n, parts.step));
  }
  return true;
}

}  // namespace

// The gradient is put where the view's elements lie in an image of the storage; elements that
// several positions of the view (or of the input) share are summed (or divided) accordingly.
Tensor as_strided_backward(const Tensor& grad, const Tensor& input, Ints size, Ints stride, int64_t offset) {
  const int64_t base = std::min(input.offset(), offset);
  const int64_t extent = int64_t(std::max(
      bytes_needed(input.sizes(), input.strides(), input.offset() - base, 1),
      bytes_needed(size, stride, offset - base, 1)));
  const Tensor image = zeros({extent}, grad.dtype(), grad.device());
  const Tensor place = as_strided(image, size, stride, offset - base);
  if (!add_in_parts(place, grad)) {
    const Tensor numbers = arange(extent, DType::Int64);
    const Tensor where = reshape(as_strided(numbers, size, stride, offset - base), Ints{-1});
    index_add_(image, 0, where, reshape(grad, Ints{-1}));
  }
  if (!is_dense(input.sizes(), input.strides()) &&
      internal_overlap(as_strided(image, input.sizes(), input.strides(), input.offset() - base)) != Overlap::No) {
    const Tensor count = zeros({extent}, grad.dtype(), grad.device());
    const Tensor numbers = arange(extent, DType::Int64);
    const Tensor where = reshape(as_strided(numbers, input.sizes(), input.strides(),
                                            input.offset() - base), Ints{-1});
    index_add_(count, 0, where, full(where.sizes(), 1, grad.dtype(), grad.device()));
    return as_strided(image / count, input.sizes(), input.strides(), input.offset() - base);
  }
  return as_strided(image, input.sizes(), input.strides(), input.offset() - base);
}

namespace {

// The same elements in the same order under other sizes; one may be -1.
Tensor under(const Tensor& self, Ints size) {
  const Dims sizes = infer_size(size, self.numel());
  if (self.is_contiguous() && self.dim() > 0 && self.strides().back() == 1 && self.numel() > 0)
    return alias_in_order(self, sizes);
  Dims strides;
  check(view_strides(self.sizes(), self.strides(), sizes, strides),
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead.");
  return alias(self, sizes, strides, self.offset());
}

}  // namespace

const Op<Tensor(Tensor, Ints)> view = define<Tensor(Tensor, Ints)>(
    "view(Tensor(a) self, int[] size) -> Tensor(a)")
  .doc(R"(
    The same memory under other sizes; one size may be -1. Raises where strides do not allow it.

    >>> torch.arange(6).view(2, -1).shape
    torch.Size([2, 3])
  )")
  .forms(Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, Ints size) { return under(self, size); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); });

const auto view_dtype = define<Tensor(Tensor, DType)>(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)")
  .doc("The same bytes as elements of another dtype; the last dimension grows or shrinks to fit.")
  .forms(Method)
  .view([](const Tensor& self, DType dtype) {
    const int64_t from = self.element_size(), to = item_size(dtype);
    Dims sizes(self.sizes()), strides(self.strides());
    int64_t offset = self.offset();
    if (from != to) {
      check(self.dim() > 0, "self.dim() cannot be 0 to view ", type_name_of(self.dtype()), " as ",
            type_name_of(dtype), " (different element sizes)");
      const int64_t many = from > to ? from / to : to / from;
      check(from > to || sizes.back() % many == 0, "self.size(-1) must be divisible by ", many,
            " to view ", type_name_of(self.dtype()), " as ", type_name_of(dtype),
            " (different element sizes), but got ", sizes.back());
      check(from > to || offset % many == 0, "self.storage_offset() must be divisible by ", many,
            " to view ", type_name_of(self.dtype()), " as ", type_name_of(dtype),
            " (different element sizes), but got ", offset);
      check(strides.back() == 1, "self.stride(-1) must be 1 to view ", type_name_of(self.dtype()),
            " as ", type_name_of(dtype), " (different element sizes), but got ", strides.back());
      for (size_t i = 0; i + 1 < strides.size(); ++i) {
        check(from > to || strides[i] % many == 0, "self.stride(", int64_t(i),
              ") must be divisible by ", many, " to view ", type_name_of(self.dtype()), " as ",
              type_name_of(dtype), " (different element sizes), but got ", strides[i]);
        strides[i] = from > to ? strides[i] * many : strides[i] / many;
      }
      sizes.back() = from > to ? sizes.back() * many : sizes.back() / many;
      offset = from > to ? offset * many : offset / many;
    }
    Tensor r = alias(self);
    r->dtype = dtype;
    r->set(kStoredOnly, is_stored_only(dtype));
    r->offset = offset;
    r->set_layout(sizes, strides);
    return r;
  });

// reshape's copying half: PyTorch names its node UnsafeViewBackward0.
const Op<Tensor(Tensor, Ints)> unsafe_view = define<Tensor(Tensor, Ints)>(
    "_unsafe_view(Tensor self, int[] size) -> Tensor")
  .doc("A view of a tensor that nobody else holds, without a view's bookkeeping.")
  .forms(Hidden)
  .accepts_conj()
  .linear()
  .produce([](const Tensor& self, Ints size) { return under(self, size); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); });

// reshape's other half: a view of what is not contiguous.
const auto reshape_alias = define<Tensor(Tensor, Ints, Ints)>(
    "_reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)")
  .doc("The same memory under other sizes and strides that show the same elements in order.")
  .forms(Hidden)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, Ints size, Ints) { return under(self, size); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); });

const Op<Tensor(Tensor, Ints)> reshape = define<Tensor(Tensor, Ints)>(
    "reshape(Tensor(a) self, int[] shape) -> Tensor(a)")
  .doc(R"(
    The input under other sizes: a view where strides allow it, a copy otherwise.

    >>> torch.reshape(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints shape) {
    const Dims sizes = infer_size(shape, self.numel());
    Dims strides;
    if (view_strides(self.sizes(), self.strides(), sizes, strides))
      return self.is_contiguous() ? Tensor(view(self, sizes)) : reshape_alias(self, sizes, strides);
    return Tensor(unsafe_view(clone(self, MemoryFormat::Contiguous), sizes));
  });

Tensor view_or_reshape(const Tensor& t, Ints sizes) { return reshape(t, sizes); }

namespace {

// How errors of expand call a tensor: by its old type, where it has one.
std::string legacy_name(DType t) {
  const std::string name(type_name_of(t));
  const bool old = !is_bool(t) && !is_complex(t) && t <= DType::Double;
  return old ? "torch." + name + "Tensor" : "CPU" + name + "Type";
}

}  // namespace

const Op<Tensor(Tensor, Ints, bool)> expand = define<Tensor(Tensor, Ints, bool)>(
    "expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)")
  .doc(R"(
    Repeats dimensions of size one without copying; -1 keeps a size.

    >>> torch.tensor([[1], [2]]).expand(-1, 2)
    tensor([[1, 1],
            [2, 2]])
  )")
  .forms(Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, Ints size, bool) {
    const int64_t n = int64_t(size.size()), lead = n - self.dim();
    check(lead >= 0, "expand(", legacy_name(self.dtype()), "{", self.sizes(),
          "}, size=", size, "): the number of sizes provided (", n,
          ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
    Dims sizes, strides;
    sizes.resize(size_t(n));
    strides.resize(size_t(n));
    bool negative = false;
    for (int64_t i = n; i-- > 0;) {
      const int64_t has = i < lead ? 1 : self.sizes()[i - lead];
      const int64_t step = i >= lead ? self.strides()[i - lead]
                         : self.dim() ? sizes[size_t(i + 1)] * strides[size_t(i + 1)] : 0;
      int64_t want = size[i];
      if (want == -1) {
        check(i >= lead, "The expanded size of the tensor (", want, ") isn't allowed in a leading, "
              "non-existing dimension ", i);
        want = has;
      }
      check(has == want || has == 1, "The expanded size of the tensor (", want,
            ") must match the existing size (", has, ") at non-singleton dimension ", i,
            ".  Target sizes: ", size, ".  Tensor sizes: ", self.sizes());
      negative |= want < 0;
      sizes[size_t(i)] = want;
      strides[size_t(i)] = (has == 1 && want != 1) ? 0 : step;
    }
    check(!negative, "numel: integer multiplication overflow");
    return alias(self, sizes, strides, self.offset());
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return sum_to_size(grad, sizes); });

const Op<Tensor(Tensor, Ints)> permute = define<Tensor(Tensor, Ints)>(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)")
  .doc(R"(
    The dimensions in another order.

    >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
  )")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, Ints dims) {
    check(int64_t(dims.size()) == self.dim(), "permute(sparse_coo): number of dimensions in the tensor "
          "input does not match the length of the desired ordering of dimensions i.e. input.dim() = ",
          self.dim(), " is not equal to len(dims) = ", int64_t(dims.size()));
    Dims sizes, strides, seen;
    seen.resize(dims.size(), 0);
    for (int64_t d : dims) {
      const int64_t w = wrap_dim(d, self.dim());
      check(!seen[w], "permute(): duplicate dims are not allowed.");
      seen[w] = 1;
      sizes.push_back(self.sizes()[w]);
      strides.push_back(self.strides()[w]);
    }
    return alias(self, sizes, strides, self.offset());
  })
  .grad("self", "grad, dims", [](const Tensor& grad, Ints dims) {
    Dims back;
    back.resize(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) back[wrap_dim(dims[i], int64_t(dims.size()))] = int64_t(i);
    return permute(grad, back);
  });

const Op<Tensor(Tensor, int64_t, int64_t)> transpose = define<Tensor(Tensor, int64_t, int64_t)>(
    "transpose(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
  .doc(R"(
    Swaps two dimensions.

    >>> torch.transpose(torch.zeros(2, 3), 0, 1).shape
    torch.Size([3, 2])
  )")
  .alias("swapdims")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t dim0, int64_t dim1) {
    const int64_t a = wrap_dim(dim0, self.dim()), b = wrap_dim(dim1, self.dim());
    Dims sizes(self.sizes()), strides(self.strides());
    if (self.dim() > 0) {
      std::swap(sizes[a], sizes[b]);
      std::swap(strides[a], strides[b]);
    }
    return alias(self, sizes, strides, self.offset());
  })
  .grad("self", "grad, dim0, dim1", [](const Tensor& grad, int64_t dim0, int64_t dim1) {
    return transpose(grad, dim0, dim1);
  });

const auto swapaxes = define<Tensor(Tensor, int64_t, int64_t)>(
    "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
  .doc("transpose under numpy's names.")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t a, int64_t b) { return Tensor(transpose(self, a, b)); });

const Op<Tensor(Tensor)> t = define<Tensor(Tensor)>("t(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    Transposes a matrix; tensors of fewer dimensions are returned as they are.

    >>> torch.t(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
  )")
  .forms(Function | Method)
  .node("TBackward0")
  .accepts_conj()
  .linear()
  .view([](const Tensor& self) {
    check(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", self.dim(), "D");
    if (self.dim() < 2) return alias(self, self.sizes(), self.strides(), self.offset());
    const int64_t sizes[] = {self.size(1), self.size(0)};
    const int64_t strides[] = {self.stride(1), self.stride(0)};
    return alias(self, Ints(sizes, 2), Ints(strides, 2), self.offset());
  })
  .grad("self", "grad", [](const Tensor& grad) { return t(grad); });

const Op<Tensor(Tensor, int64_t)> unsqueeze = define<Tensor(Tensor, int64_t)>(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
  .doc(R"(
    Puts in a dimension of size one.

    >>> torch.unsqueeze(torch.zeros(3), 0).shape
    torch.Size([1, 3])
  )")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.dim() + 1);
    Dims sizes(self.sizes()), strides(self.strides());
    const int64_t step = d < self.dim() ? self.sizes()[d] * self.strides()[d] : 1;
    sizes.insert(size_t(d), 1);
    strides.insert(size_t(d), step);
    return alias(self, sizes, strides, self.offset());
  })
  .grad("self", "grad, dim", [](const Tensor& grad, int64_t dim) { return squeeze_dim(grad, dim); });

namespace {

Tensor squeezed(const Tensor& self, uint64_t mask) {
  Dims sizes, strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if ((mask >> d & 1) && self.sizes()[d] == 1) continue;
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  return alias(self, sizes, strides, self.offset());
}

}  // namespace

const Op<Tensor(Tensor)> squeeze = define<Tensor(Tensor)>("squeeze(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    Leaves out dimensions of size one: all, or those named.

    >>> torch.squeeze(torch.zeros(1, 2, 1)).shape
    torch.Size([2])
  )")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self) { return squeezed(self, ~uint64_t(0)); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); });

const Op<Tensor(Tensor, int64_t)> squeeze_dim = define<Tensor(Tensor, int64_t)>(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)")
  .node("SqueezeBackward1")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.dim());
    return squeezed(self, self.dim() ? uint64_t(1) << d : 0);
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); });

const auto squeeze_dims = define<Tensor(Tensor, Ints)>("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")
  .node("SqueezeBackward2")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, Ints dims) {
    uint64_t mask = 0;
    for (int64_t d : wrap_dims(dims, self.dim())) mask |= uint64_t(1) << d;
    return squeezed(self, mask);
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); });

const Op<Tensor(Tensor, int64_t, int64_t)> select = define<Tensor(Tensor, int64_t, int64_t)>(
    "select(Tensor(a) self, int dim, int index) -> Tensor(a)")
  .doc(R"(
    The part at one index of a dimension, without that dimension.

    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
  )")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t dim, int64_t index) {
    check(self.dim() > 0, ErrorKind::Index, "select() cannot be applied to a 0-dim tensor.");
    const int64_t d = wrap_dim(dim, self.dim()), n = self.sizes()[d];
    check(index >= -n && index < n, ErrorKind::Index, "select(): index ", index,
          " out of range for tensor of size ", self.sizes(), " at dimension ", d);
    Dims sizes(self.sizes()), strides(self.strides());
    const int64_t at = self.offset() + (index < 0 ? index + n : index) * strides[d];
    sizes.erase(size_t(d));
    strides.erase(size_t(d));
    return alias(self, sizes, strides, at);
  })
  .grad("self", "grad, self.sizes, dim, index",
        [](const Tensor& grad, Ints sizes, int64_t dim, int64_t index) {
    return select_backward(grad, sizes, dim, index);
  });

const Op<Tensor(Tensor, Ints, int64_t, int64_t)> select_backward =
    define<Tensor(Tensor, Ints, int64_t, int64_t)>(
    "select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor")
  .doc("Zeros of `input_sizes` with the gradient at one index: what select's gradient is.")
  .forms(Hidden)
  .linear()
  .infer([](Infer& r, const Tensor& grad, Ints sizes, int64_t dim, int64_t index) {
    expect(!sizes.empty(), "select_backward", "a number has no dimension");
    const int64_t d = wrap_dim(dim, int64_t(sizes.size())), n = sizes[d];
    expect(index >= -n && index < n, "select_backward", "the index is out of range");
    Dims part(sizes);
    part.erase(size_t(d));
    expect(grad.sizes() == Ints(part), "select_backward", "the gradient has other sizes");
    r.result(sizes, grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, Ints sizes, int64_t dim, int64_t index) {
    set_zero(result);
    const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
    Dims part(sizes), strides(result.strides());
    const int64_t at = (index < 0 ? index + sizes[d] : index) * strides[d];
    part.erase(size_t(d));
    strides.erase(size_t(d));
    copy_data(alias(result, part, strides, at), grad);
  })
  .grad("grad_output", "grad, dim, index", [](const Tensor& grad, int64_t dim, int64_t index) {
    return select(grad, dim, index);
  });

namespace {

struct Range {
  int64_t start, stop, step;
  int64_t count() const { return stop > start ? (stop - start - 1) / step + 1 : 0; }
};
Range clip(int64_t size, MaybeInt start, MaybeInt stop, int64_t step) {
  check(step > 0, ErrorKind::Runtime, "slice step must be positive");
  int64_t a = start.value_or(0), b = stop.value_or(INT64_MAX);
  if (a < 0) a += size;
  if (b < 0) b += size;
  a = std::min(std::max<int64_t>(a, 0), size);
  b = std::min(std::max(b, a), size);
  return {a, b, step};
}

}  // namespace

const Op<Tensor(Tensor, int64_t, MaybeInt, MaybeInt, int64_t)> slice =
    define<Tensor(Tensor, int64_t, MaybeInt, MaybeInt, int64_t)>(
    "slice(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)")
  .doc("Every `step`-th index of a dimension from `start` to before `end`: what x[a:b:c] does.")
  .forms(Hidden)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t dim, MaybeInt start,
           MaybeInt end, int64_t step) {
    check(self.dim() > 0, ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
    const int64_t d = wrap_dim(dim, self.dim());
    const Range r = clip(self.sizes()[d], start, end, step);
    Dims sizes(self.sizes()), strides(self.strides());
    const int64_t at = self.offset() + r.start * strides[d];
    sizes[d] = r.count();
    strides[d] *= step;
    return alias(self, sizes, strides, at);
  })
  .grad("self", "grad, self.sizes, dim, start, end, step",
        [](const Tensor& grad, Ints sizes, int64_t dim, MaybeInt start,
           MaybeInt end, int64_t step) {
    return slice_backward(grad, sizes, dim, start, end, step);
  });

const Op<Tensor(Tensor, Ints, int64_t, MaybeInt, MaybeInt, int64_t)>
    slice_backward =
    define<Tensor(Tensor, Ints, int64_t, MaybeInt, MaybeInt, int64_t)>(
    "slice_backward(Tensor grad_output, int[] input_sizes, int dim, int? start, int? end, int step)"
    " -> Tensor")
  .doc("Zeros of `input_sizes` with the gradient in the slice: what slice's gradient is.")
  .forms(Hidden)
  .linear()
  .infer([](Infer& r, const Tensor& grad, Ints sizes, int64_t dim, MaybeInt start,
            MaybeInt end, int64_t step) {
    expect(!sizes.empty(), "slice_backward", "a number has no dimension");
    const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
    const Range range = clip(sizes[d], start, end, step);
    Dims part(sizes);
    part[d] = range.count();
    expect(grad.sizes() == Ints(part), "slice_backward", "the gradient has other sizes");
    r.result(sizes, grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, Ints sizes, int64_t dim,
             MaybeInt start, MaybeInt end, int64_t step) {
    set_zero(result);
    const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
    const Range r = clip(sizes[d], start, end, step);
    Dims part(sizes), strides(result.strides());
    const int64_t at = r.start * strides[d];
    part[d] = r.count();
    strides[d] *= step;
    copy_data(alias(result, part, strides, at), grad);
  })
  .grad("grad_output", "grad, dim, start, end, step",
        [](const Tensor& grad, int64_t dim, MaybeInt start,
           MaybeInt end, int64_t step) { return slice(grad, dim, start, end, step); });

const Op<Tensor(Tensor)> detach = define<Tensor(Tensor)>("detach(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    The same memory outside the graph.

    >>> torch.ones(1, requires_grad=True).detach().requires_grad
    False
  )")
  .forms(Function | Method)
  .accepts_conj()
  .produce([](const Tensor& self) { return alias(self); });

const Op<Tensor(Tensor)> alias_op = define<Tensor(Tensor)>("alias(Tensor(a) self) -> Tensor(a)")
  .doc("A view of the whole tensor.")
  .forms(Hidden)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self) { return alias(self); })
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

}  // namespace rl::ops
