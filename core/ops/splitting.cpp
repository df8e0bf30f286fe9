// Parts of a tensor along a dimension, as views: chunk, unbind, the split family.
#include <algorithm>

#include "base/interrupt.h"
#include "ops/ops.h"

namespace rl::ops {
namespace {

// Before parts are made; while they are made, Ctrl-C is answered.
void check_count(const char* name, int64_t parts) {
  check(parts <= INT32_MAX, name, "(): a list of ", parts, " tensors is too long");
}
void rest_at(int64_t part) {
  if (part % (1 << 16) == 0) poll_interrupt();
}

}  // namespace

Tensor join_gradients(TensorList grads, Ints sizes, int64_t dim,
                      const std::function<int64_t(size_t)>& length) {
  const Tensor* first = nullptr;
  for (const Tensor& g : grads)
    if (g) first = &g;
  const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
  Tensors parts;
  int64_t left = sizes[d];
  for (size_t i = 0; i < grads.size(); ++i) {
    const int64_t n = std::min(length(i), left);
    left -= n;
    if (grads[i]) {
      parts.push_back(grads[i]);
      continue;
    }
    Dims part(sizes);
    part[d] = n;
    parts.push_back(zeros(part, first->dtype(), first->device()));
  }
  return cat(parts, d);
}

const Op<Tensors(Tensor, int64_t, int64_t)> split = define<Tensors(Tensor, int64_t, int64_t)>(
    "split(Tensor(a) self, int split_size, int dim=0) -> Tensor(a)[]")
  .doc(R"(
    Parts of `split_size` along a dimension, as views; the last may be smaller.

    >>> [p.tolist() for p in torch.split(torch.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
  )")
  .forms(Hidden)
  .accepts_conj()
  .multi_view()
  .view([](const Tensor& self, int64_t size, int64_t dim) {
    check(self.dim() != 0, "split expects at least a 1-dimensional tensor");
    check(size >= 0, "split expects split_size be non-negative, but got split_size=", size);
    const int64_t d = wrap_dim(dim, self.dim()), n = self.sizes()[d];
    check(size > 0 || n == 0, "split_size can only be 0 if dimension size is 0, but got dimension "
          "size of ", n);
    Tensors parts;
    const int64_t count = size ? std::max<int64_t>(n / size + (n % size != 0), 1) : 1;
    check_count("split", count);
    for (int64_t i = 0; i < count; rest_at(++i)) {
      Dims sizes(self.sizes());
      sizes[d] = std::min(size, n - i * size);
      parts.push_back(alias(self, sizes, self.strides(),
                            self.offset() + i * size * self.strides()[d]));
    }
    return parts;
  })
  .grad("self", "grads, self.sizes, split_size, dim",
        [](TensorList grads, Ints sizes, int64_t size, int64_t dim) {
    return join_gradients(grads, sizes, dim, [&](size_t) { return size; });
  });

const Op<Tensors(Tensor, Ints, int64_t)> split_with_sizes = define<Tensors(Tensor, Ints, int64_t)>(
    "split_with_sizes(Tensor(a) self, int[] split_sizes, int dim=0) -> Tensor(a)[]")
  .doc(R"(
    Parts of the given sizes along a dimension, as views.

    >>> [p.tolist() for p in torch.arange(5).split_with_sizes([1, 4])]
    [[0], [1, 2, 3, 4]]
  )")
  .forms(Function | Method)
  .accepts_conj()
  .multi_view()
  .view([](const Tensor& self, Ints lengths, int64_t dim) {
    check(self.dim() != 0, "split expects at least a 1-dimensional tensor");
    const int64_t d = wrap_dim(dim, self.dim()), n = self.sizes()[d];
    int64_t left = n;
    for (int64_t s : lengths) {
      check(s >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got "
            "split_sizes=", lengths);
      left = s <= left ? left - s : -1;  // never below: a sum could wrap around
    }
    check(left == 0, "split_with_sizes expects split_sizes to sum exactly to ", n,
          " (input tensor's size at dimension ", dim, "), but got split_sizes=", lengths);
    Tensors parts;
    int64_t at = self.offset();
    for (int64_t s : lengths) {
      Dims sizes(self.sizes());
      sizes[d] = s;
      parts.push_back(alias(self, sizes, self.strides(), at));
      at += s * self.strides()[d];
    }
    return parts;
  })
  .grad("self", "grads, self.sizes, split_sizes, dim",
        [](TensorList grads, Ints sizes, Ints lengths, int64_t dim) {
    return join_gradients(grads, sizes, dim, [&](size_t i) { return lengths[i]; });
  });

const Op<Tensors(Tensor, int64_t)> unbind = define<Tensors(Tensor, int64_t)>(
    "unbind(Tensor(a) self, int dim=0) -> Tensor(a)[]")
  .doc(R"(
    The slices of a dimension, without it, as views.

    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
  )")
  .forms(Function | Method)
  .accepts_conj()
  .multi_view()
  .view([](const Tensor& self, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.dim(), false);
    Dims sizes(self.sizes()), strides(self.strides());
    sizes.erase(size_t(d));
    strides.erase(size_t(d));
    Tensors parts;
    check_count("unbind", self.sizes()[d]);
    for (int64_t i = 0; i < self.sizes()[d]; rest_at(++i))
      parts.push_back(alias(self, sizes, strides, self.offset() + i * self.strides()[d]));
    return parts;
  })
  .grad("self", "grads, self.sizes, dim", [](TensorList grads, Ints sizes, int64_t dim) {
    const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
    const Tensor* first = nullptr;
    for (const Tensor& g : grads)
      if (g) first = &g;
    Dims part(sizes);
    part.erase(size_t(d));
    Tensors parts;
    for (const Tensor& g : grads)
      parts.push_back(g ? g : zeros(part, first->dtype(), first->device()));
    return stack(parts, d);
  });

namespace {

// The length of each of `chunks` parts, the last excepted.
int64_t part_length(const Tensor& self, int64_t chunks, int64_t dim) {
  check(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  const int64_t n = self.sizes()[wrap_dim(dim, self.dim())];
  return n / chunks + (n % chunks != 0);
}

// Of a dimension of size 0 there are as many parts as were asked for.
Dims empty_parts(int64_t chunks) {
  check_count("chunk", chunks);
  Dims lengths;
  lengths.resize(size_t(chunks), 0);
  return lengths;
}

}  // namespace

const auto chunk = define<Tensors(Tensor, int64_t, int64_t)>(
    "chunk(Tensor(a) self, int chunks, int dim=0) -> Tensor(a)[]")
  .doc(R"(
    At most `chunks` parts of equal size along a dimension, as views; the last may be smaller.

    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t chunks, int64_t dim) {
    const int64_t size = part_length(self, chunks, dim);
    if (size == 0) return Tensors(split_with_sizes(self, empty_parts(chunks), dim));
    return Tensors(split(self, size, dim));
  });

// The unsafe kinds: their parts share memory with the tensor and are no views of it to autograd.
namespace {

Tensors unlinked(const Tensors& views) {
  Tensors parts;
  for (const Tensor& p : views) parts.push_back(alias(p));
  return parts;
}

}  // namespace

const auto unsafe_split = define<Tensors(Tensor, int64_t, int64_t)>(
    "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]")
  .doc("split whose parts may be changed in place, at the caller's risk.")
  .node("UnsafeSplitBackward0")
  .forms(Function | Method)
  .produce([](const Tensor& self, int64_t size, int64_t dim) {
    NoGrad quiet;
    return unlinked(split(self, size, dim));
  })
  .grad("self", "grads, self.sizes, split_size, dim",
        [](TensorList grads, Ints sizes, int64_t size, int64_t dim) {
    return join_gradients(grads, sizes, dim, [&](size_t) { return size; });
  });

const auto unsafe_split_with_sizes = define<Tensors(Tensor, Ints, int64_t)>(
    "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]")
  .doc("split_with_sizes whose parts may be changed in place, at the caller's risk.")
  .forms(Function | Method)
  .produce([](const Tensor& self, Ints lengths, int64_t dim) {
    NoGrad quiet;
    return unlinked(split_with_sizes(self, lengths, dim));
  })
  .grad("self", "grads, self.sizes, split_sizes, dim",
        [](TensorList grads, Ints sizes, Ints lengths, int64_t dim) {
    return join_gradients(grads, sizes, dim, [&](size_t i) { return lengths[i]; });
  });

const auto unsafe_chunk = define<Tensors(Tensor, int64_t, int64_t)>(
    "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
  .doc("chunk whose parts may be changed in place, at the caller's risk.")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t chunks, int64_t dim) {
    const int64_t size = part_length(self, chunks, dim);
    if (size == 0) return Tensors(unsafe_split_with_sizes(self, empty_parts(chunks), dim));
    return Tensors(unsafe_split(self, size, dim));
  });

// ---- numpy's family

namespace {

Tensors split_at(const Tensor& self, Ints indices, int64_t dim) {
  Tensors parts;
  int64_t start = 0;
  for (int64_t end : indices) {
    parts.push_back(slice(self, dim, start, end, 1));
    start = end;
  }
  parts.push_back(slice(self, dim, start, INT64_MAX, 1));
  return parts;
}

Tensors split_evenly(const Tensor& self, int64_t sections, int64_t dim) {
  check(sections > 0, "number of sections must be larger than 0, got ", sections);
  check_count("tensor_split", sections);
  const int64_t n = self.sizes()[dim], least = n / sections, more = n % sections;
  Tensors parts;
  int64_t start = 0;
  for (int64_t i = 0; i < sections; rest_at(++i)) {
    const int64_t length = least + (i < more);
    parts.push_back(slice(self, dim, start, start + length, 1));
    start += length;
  }
  return parts;
}

int64_t split_dim(const Tensor& self, int64_t dim) {
  check(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor "
        "with ", self.dim(), " dims");
  return wrap_dim(dim, self.dim());
}

// hsplit, vsplit and dsplit: at least `rank` dimensions, split along `dim`.
void check_rank(const Tensor& self, const char* name, int64_t rank) {
  check(self.dim() >= rank, "torch.", name, " requires a tensor with at least ", rank,
        " dimension, but got a tensor with ", self.dim(), " dimensions!");
}
Tensors split_into(const Tensor& self, const char* name, int64_t sections, int64_t dim) {
  check(sections != 0 && self.sizes()[dim] % sections == 0, "torch.", name,
        " attempted to split along "
        "dimension ",
        dim, ", but the size of the dimension ", self.sizes()[dim],
        " is not divisible by the split_size ", sections, "!");
  return split_evenly(self, sections, dim);
}

}  // namespace

const auto tensor_split_sections = define<Tensors(Tensor, int64_t, int64_t)>(
    "tensor_split.sections(Tensor(a) self, int sections, int dim=0) -> Tensor(a)[]")
  .doc(R"(
    Parts along a dimension: so many, or split before the given indices.

    >>> torch.tensor_split(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t sections, int64_t dim) {
    return split_evenly(self, sections, split_dim(self, dim));
  });

const auto tensor_split_indices = define<Tensors(Tensor, Ints, int64_t)>(
    "tensor_split.indices(Tensor(a) self, int[] indices, int dim=0) -> Tensor(a)[]")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints indices, int64_t dim) {
    return split_at(self, indices, split_dim(self, dim));
  });

const auto tensor_split_tensor = define<Tensors(Tensor, Tensor, int64_t)>(
    "tensor_split.tensor_indices_or_sections(Tensor(a) self, Tensor tensor_indices_or_sections, "
    "int dim=0) -> Tensor(a)[]")
  .forms(Function | Method)
  .composite([](const Tensor& self, const Tensor& where, int64_t dim) {
    const int64_t d = split_dim(self, dim);
    check(where.dtype() == DType::Int64, "tensor_split expected tensor_indices_or_sections to have "
          "dtype of long, but got ", type_name_of(where.dtype()));
    check(where.dim() <= 1,
          "tensor_split expected tensor_indices_or_sections to be a zero-dimensional "
          "or one-dimensional tensor, but got a tensor with ",
          where.dim(), " dims");
    if (where.dim() == 0) return split_evenly(self, item_of(where).to_int(), d);
    Dims indices;
    for (int64_t i = 0; i < where.numel(); ++i)
      indices.push_back(where.ptr<int64_t>()[i * where.strides()[0]]);
    return split_at(self, indices, d);
  });

const auto hsplit = define<Tensors(Tensor, int64_t)>(
    "hsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]")
  .doc(R"(
    Parts side by side: along the second dimension, of vectors along the only one.

    >>> torch.hsplit(torch.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t sections) {
    check_rank(self, "hsplit", 1);
    return split_into(self, "hsplit", sections, self.dim() == 1 ? 0 : 1);
  });

const auto hsplit_at = define<Tensors(Tensor, Ints)>(
    "hsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints indices) {
    check_rank(self, "hsplit", 1);
    return split_at(self, indices, self.dim() == 1 ? 0 : 1);
  });

const auto vsplit = define<Tensors(Tensor, int64_t)>(
    "vsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]")
  .doc(R"(
    Parts one below the other: along the first dimension.

    >>> [p.shape for p in torch.vsplit(torch.zeros(4, 3), 2)]
    [torch.Size([2, 3]), torch.Size([2, 3])]
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t sections) {
    check_rank(self, "vsplit", 2);
    return split_into(self, "vsplit", sections, 0);
  });

const auto vsplit_at = define<Tensors(Tensor, Ints)>(
    "vsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints indices) {
    check_rank(self, "vsplit", 2);
    return split_at(self, indices, 0);
  });

const auto dsplit = define<Tensors(Tensor, int64_t)>(
    "dsplit.int(Tensor(a) self, int sections) -> Tensor(a)[]")
  .doc(R"(
    Parts along the third dimension.

    >>> [p.shape for p in torch.dsplit(torch.zeros(1, 1, 4), 2)]
    [torch.Size([1, 1, 2]), torch.Size([1, 1, 2])]
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t sections) {
    check_rank(self, "dsplit", 3);
    return split_into(self, "dsplit", sections, 2);
  });

const auto dsplit_at = define<Tensors(Tensor, Ints)>(
    "dsplit.array(Tensor(a) self, int[] indices) -> Tensor(a)[]")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints indices) {
    check_rank(self, "dsplit", 3);
    return split_at(self, indices, 2);
  });

}  // namespace rl::ops
