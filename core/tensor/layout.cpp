// Facts about sizes and strides: contiguity, density, broadcasting, views, overlap.
#include <algorithm>

#include "tensor/iterator.h"
#include "tensor/tensor.h"

namespace rl {

int64_t numel_of(Ints sizes) {
  int64_t n = 1;
  bool over = false;
  for (int64_t s : sizes) {
    if (s == 0) return 0;
    over |= __builtin_mul_overflow(n, s, &n);
  }
  check(!over, "numel: integer multiplication overflow");
  return n;
}

Dims contiguous_strides(Ints sizes) {
  Dims r;
  r.resize(sizes.size());
  uint64_t step = 1;  // wraps where there are no elements, as PyTorch's does
  for (size_t i = sizes.size(); i-- > 0;) {
    r[i] = int64_t(step);
    step *= uint64_t(std::max<int64_t>(sizes[i], 1));
  }
  return r;
}

Dims format_strides(Ints sizes, MemoryFormat f) {
  const size_t spatial = f == MemoryFormat::ChannelsLast ? 2 : 3;
  if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) {
    return contiguous_strides(sizes);
  }
  check(sizes.size() == spatial + 2, "required rank ", int64_t(spatial + 2),
        " tensor to use channels_last", spatial == 3 ? "_3d" : "", " format");
  Dims r;
  r.resize(sizes.size());
  int64_t step = 1;
  r[1] = step;
  step *= std::max<int64_t>(sizes[1], 1);
  for (size_t i = sizes.size(); i-- > 2;) {
    r[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  r[0] = step;
  return r;
}

bool is_contiguous(Ints sizes, Ints strides) {
  uint64_t step = 1;
  bool good = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) {
      good &= strides[i] == int64_t(step);
      step *= uint64_t(sizes[i]);
    }
  }
  return good;
}

bool is_dense(Ints sizes, Ints strides) {
  Small<int, 6> order;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) order.push_back(int(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (int d : order) {
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

Dims dense_strides_like(const Tensor& t) {
  if (is_dense(t.sizes(), t.strides())) return Dims(t.strides());
  const int n = int(t.dim());
  const Dims strides(t.strides());
  const Small<int, 6> order = order_of_dims(t.sizes(), Span<Dims>(&strides, 1));
  Dims r;
  r.resize(n);
  int64_t step = 1;
  for (int d : order) {
    r[d] = step;
    step *= std::max<int64_t>(t.sizes()[d], 1);
  }
  return r;
}

int64_t wrap_dim(int64_t dim, int64_t rank, bool wrap_scalar) {
  if (rank == 0) {
    check(wrap_scalar, ErrorKind::Index, "Dimension specified as ", dim,
          " but tensor has no dimensions");
    rank = 1;
  }
  check(dim >= -rank && dim < rank, ErrorKind::Index,
        "Dimension out of range (expected to be in range of [", -rank, ", ", rank - 1,
        "], but got ", dim, ")");
  return dim < 0 ? dim + rank : dim;
}

Dims wrap_dims(Ints dims, int64_t rank) {
  Dims r;
  for (int64_t d : dims) {
    const int64_t w = wrap_dim(d, rank);
    for (int64_t seen : r)
      check(seen != w, "dim ", w, " appears multiple times in the list of dims");
    r.push_back(w);
  }
  return r;
}

Dims broadcast(Ints a, Ints b) {
  const size_t na = a.size(), nb = b.size(), n = std::max(na, nb);
  Dims r;
  r.resize(n);
  for (size_t i = 0; i < n; ++i) {  // from the last dimension
    const int64_t x = i < na ? a[na - 1 - i] : 1, y = i < nb ? b[nb - 1 - i] : 1;
    check(x == y || x == 1 || y == 1, "The size of tensor a (", x,
          ") must match the size of tensor b (", y, ") at non-singleton dimension ",
          int64_t(n - 1 - i));
    r[n - 1 - i] = x == 1 ? y : x;
  }
  return r;
}

Dims broadcast_strides(Ints sizes, Ints strides, Ints to) {
  Dims r;
  const size_t lead = to.size() - sizes.size();
  r.resize(to.size(), 0);
  for (size_t i = 0; i < sizes.size(); ++i)
    r[lead + i] = sizes[i] == 1 && to[lead + i] != 1 ? 0 : strides[i];
  return r;
}

size_t bytes_needed(Ints sizes, Ints strides, int64_t offset, int64_t item) {
  int64_t last = offset;
  bool over = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t step;
    over |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step);
    over |= __builtin_add_overflow(last, step, &last);
  }
  int64_t bytes;
  over |= __builtin_add_overflow(last, 1, &last);
  over |= __builtin_mul_overflow(last, item, &bytes);
  check(!over, "Storage size calculation overflowed with sizes=", sizes);
  return size_t(bytes);
}

Dims infer_size(Ints shape, int64_t numel) {
  int64_t known = 1;
  int open = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      check(open < 0, "only one dimension can be inferred");
      open = int(i);
    } else {
      check(shape[i] >= 0, "invalid shape dimension ", shape[i], " at index ", int64_t(i),
            " of shape ", shape);
      check(!__builtin_mul_overflow(known, shape[i], &known), "shape '", shape,
            "' is invalid for input of size ", numel);
    }
  }
  Dims r(shape);
  if (open >= 0 && (known > 0 ? numel % known == 0 : numel == 0)) {
    check(known != 0, "cannot reshape tensor of 0 elements into shape ", shape,
          " because the unspecified dimension size -1 can be any value and is ambiguous");
    r[open] = numel / known;
    return r;
  }
  check(open < 0 && numel == known, "shape '", shape, "' is invalid for input of size ", numel);
  return r;
}

// Groups of dimensions that lie one after the other in memory can be split and joined freely.
bool view_strides(Ints sizes, Ints strides, Ints shape, Dims& result) {
  result.resize(shape.size());
  if (numel_of(sizes) == 0) {
    result = Ints(sizes) == shape ? Dims(strides) : contiguous_strides(shape);
    return true;
  }
  if (sizes.empty()) {
    for (size_t i = 0; i < shape.size(); ++i) result[i] = 1;
    return true;
  }
  int64_t to = int64_t(shape.size()) - 1, step = strides.back(), group = 1, made = 1;
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    group *= sizes[d];
    if (d > 0 && (sizes[d - 1] == 1 || strides[d - 1] == group * step)) continue;
    while (to >= 0 && (made < group || shape[to] == 1)) {
      result[to] = made * step;
      made *= shape[to];
      --to;
    }
    if (made != group) return false;
    if (d > 0) {
      step = strides[d - 1];
      group = made = 1;
    }
  }
  return to == -1;
}

Overlap internal_overlap(const Tensor& t) {
  if (t.is_contiguous() || is_dense(t.sizes(), t.strides())) return Overlap::No;
  for (int64_t i = 0; i < t.dim(); ++i)
    if (t.strides()[i] == 0 && t.sizes()[i] > 1) return Overlap::Yes;
  return Overlap::TooHard;
}

Meets memory_meets(const Tensor& out, const Tensor& in) {
  if (out.same(in)) return Meets::Full;
  if (out.numel() == 0 || in.numel() == 0 || out->storage != in->storage) return Meets::No;
  if (!is_dense(out.sizes(), out.strides()) || !is_dense(in.sizes(), in.strides())) {
    return Meets::No;  // too hard to decide, as in PyTorch
  }
  const char *a = out.data(), *b = in.data();
  const char* ae = a + out.numel() * out.element_size();
  const char* be = b + in.numel() * in.element_size();
  if (a == b && ae == be) {
    return out.strides() == in.strides() ? Meets::Full : Meets::Part;
  }
  return a < be && b < ae ? Meets::Part : Meets::No;
}

void refuse_internal_overlap(const Tensor& out) {
  check(internal_overlap(out) != Overlap::Yes,
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation.");
}

void refuse_partial_overlap(const Tensor& out, const Tensor& in) {
  check(memory_meets(out, in) != Meets::Part,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation.");
}

}  // namespace rl
