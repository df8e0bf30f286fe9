// Elements in other places: flip, roll, repeat, triangles, and the copies of a changed part.
#include "kernels/copy.h"
#include "ops/fft.h"
#include "ops/formats.h"
#include "tensor/iterator.h"

namespace rl::ops {

const Op<Tensor(Tensor, Ints)> flip = define<Tensor(Tensor, Ints)>("flip(Tensor self, int[] dims) -> Tensor")
  .doc(R"(
    The order of the named dimensions reversed.

    >>> torch.flip(torch.arange(3), (0,))
    tensor([2, 1, 0])
  )")
  .forms(Function | Method)
  .linear()
  .infer([](Infer& r, const Tensor& self, Ints dims) {
    wrap_dims(dims, self.dim());
    r.like(self);
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dims) {
    if (result.numel() == 0) return;
    Dims strides(self.strides());
    char* from = self.data();
    for (int64_t d : wrap_dims(dims, self.dim())) {
      if (self.dim() == 0) break;
      from += (self.sizes()[d] - 1) * strides[d] * self.element_size();
      strides[d] = -strides[d];
    }
    StridedLoop over(result.sizes());
    over.add(result);
    over.add(from, strides, self.element_size());
    over.prepare();
    const int64_t item = self.element_size();
    over.run_longest([&](char* const* p, const int64_t* s, int64_t n) {
      kernels::copy_items(p[0], s[0], p[1], s[1], n, item);
    });
  })
  .grad("self", "grad, dims", [](const Tensor& grad, Ints dims) { return flip(grad, dims); });

const auto fliplr = define<Tensor(Tensor)>("fliplr(Tensor self) -> Tensor")
  .doc(R"(
    Columns in reversed order.

    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    check(self.dim() >= 2, "Input must be >= 2-d.");
    return Tensor(flip(self, Ints{1}));
  });

const auto flipud = define<Tensor(Tensor)>("flipud(Tensor self) -> Tensor")
  .doc(R"(
    Rows in reversed order.

    >>> torch.flipud(torch.tensor([1, 2]))
    tensor([2, 1])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    check(self.dim() >= 1, "Input must be >= 1-d.");
    return Tensor(flip(self, Ints{0}));
  });

const Op<Tensor(Tensor, Ints, Ints)> roll = define<Tensor(Tensor, Ints, Ints)>(
    "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor")
  .doc(R"(
    Elements moved round along dimensions; without `dims`, round the flattened tensor.

    >>> torch.roll(torch.arange(4), 1)
    tensor([3, 0, 1, 2])
  )")
  .forms(Function | Method)
  .linear()
  .infer([](Infer& r, const Tensor& self, Ints shifts, Ints dims) {
    check(!shifts.empty(), "`shifts` required");
    check((dims.empty() && shifts.size() == 1) || shifts.size() == dims.size(),
          "shifts and dimensions must align. shifts: ", int64_t(shifts.size()), ", dims:",
          int64_t(dims.size()));
    for (int64_t d : dims) wrap_dim(d, self.dim());
    if (self.numel() == 0) r.result(self.sizes(), self.strides(), self.dtype(), self.device());
    else if (dims.empty()) r.result(self.sizes(), self.dtype(), self.device());
    else result_in_format(r, self.sizes(), self, self.dtype());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints shifts, Ints dims) {
    NoGrad quiet;
    if (result.numel() == 0) return;
    Tensor source = self, target = result;
    if (dims.empty()) {
      source = reshape(self, Ints{-1});
      target = alias(result, {result.numel()}, {1}, result.offset());
    }
    for (size_t i = 0; i < shifts.size(); ++i) {
      const int64_t d = dims.empty() || source.dim() == 0 ? 0 : wrap_dim(dims[i], source.dim());
      if (source.dim() == 0) return copy_data(target, source);
      const int64_t n = source.sizes()[d], by = ((shifts[i] % n) + n) % n;
      const Tensor to = i + 1 == shifts.size() ? target : empty(source.sizes(), source.dtype());
      copy_data(slice(to, d, by, n, 1), slice(source, d, 0, n - by, 1));
      copy_data(slice(to, d, 0, by, 1), slice(source, d, n - by, n, 1));
      source = to;
    }
  })
  .grad("self", "grad, shifts, dims", [](const Tensor& grad, Ints shifts, Ints dims) {
    Dims back;
    for (size_t i = 0; i < shifts.size(); ++i) {
      const int64_t n = dims.empty() || grad.dim() == 0 ? grad.numel() : grad.size(dims[i]);
      back.push_back(n ? -(shifts[i] % n) : 0);
    }
    return roll(grad, back, dims);
  });

const Op<Tensor(Tensor, int64_t, Ints)> rot90 = define<Tensor(Tensor, int64_t, Ints)>(
    "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor")
  .doc(R"(
    Turned by k times 90 degrees in the plane of two dimensions.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
  )")
  .forms(Function | Method)
  .linear()
  .produce([](const Tensor& self, int64_t k, Ints dims) {
    NoGrad quiet;
    check(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", int64_t(dims.size()));
    check(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
    check(dims[0] != dims[1] && std::abs(double(dims[0]) - double(dims[1])) != double(self.dim()),
          "expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
    const int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
    switch (((k % 4) + 4) % 4) {
      case 1: return detached(transpose(flip(self, Ints{b}), a, b));
      case 2: return Tensor(flip(self, Ints{a, b}));
      case 3: return detached(transpose(flip(self, Ints{a}), a, b));
      default: return Tensor(clone(self, MemoryFormat::Contiguous));
    }
  })
  .grad("self", "grad, k, dims", [](const Tensor& grad, int64_t k, Ints dims) {
    return rot90(grad, -k, dims);
  });

// ---- Repeats

const Op<Tensor(Tensor, Ints)> repeat = define<Tensor(Tensor, Ints)>("repeat(Tensor self, int[] repeats) -> Tensor")
  .doc(R"(
    The tensor several times along each dimension.

    >>> torch.arange(2).repeat(2)
    tensor([0, 1, 0, 1])
  )")
  .forms(Method)
  .linear()
  .infer([](Infer& r, const Tensor& self, Ints repeats) {
    const int64_t lead = int64_t(repeats.size()) - self.dim();
    check(lead >= 0, "Number of dimensions of repeat dims can not be smaller than number of "
          "dimensions of tensor");
    Dims sizes;
    for (int64_t d = 0; d < int64_t(repeats.size()); ++d)
      check(!__builtin_mul_overflow(repeats[d], d < lead ? 1 : self.sizes()[d - lead],
                                    &sizes.emplace_back(0)),
            "numel: integer multiplication overflow");
    for (int64_t s : sizes) check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", Ints(sizes));
    r.result(sizes, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints repeats) {
    if (result.numel() == 0) return;
    const int64_t lead = int64_t(repeats.size()) - self.dim();
    Dims sizes, to, from;  // each dimension as repeats x size
    for (int64_t d = 0; d < int64_t(repeats.size()); ++d) {
      const int64_t n = d < lead ? 1 : self.sizes()[d - lead];
      sizes.push_back(repeats[d]);
      to.push_back(result.strides()[d] * n);
      from.push_back(0);
      sizes.push_back(n);
      to.push_back(result.strides()[d]);
      from.push_back(d < lead ? 0 : self.strides()[d - lead]);
    }
    copy_data(alias(result, sizes, to, result.offset()), alias(self, sizes, from, self.offset()));
  })
  .grad("self", "grad, repeats, self.sizes", [](const Tensor& grad, Ints repeats, Ints sizes) {
    const int64_t lead = int64_t(repeats.size()) - int64_t(sizes.size());
    if (repeats.empty()) return grad;
    for (int64_t n : repeats)
      if (n == 0) return zeros(sizes, grad.dtype(), grad.device());
    Dims shape, dims;
    for (int64_t d = 0; d < int64_t(repeats.size()); ++d) {
      dims.push_back(int64_t(shape.size()));
      shape.push_back(repeats[d]);
      if (d >= lead) shape.push_back(sizes[d - lead]);
    }
    return Tensor(sum_dim(reshape(grad, shape), Ints(dims), false));
  });

const auto tile = define<Tensor(Tensor, Ints)>("tile(Tensor self, int[] dims) -> Tensor")
  .doc(R"(
    repeat with counts of 1 put in front where there are fewer than dimensions.

    >>> torch.tile(torch.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints dims) {
    Dims counts;
    for (int64_t d = int64_t(dims.size()); d < self.dim(); ++d) counts.push_back(1);
    for (int64_t n : dims) counts.push_back(n);
    return Tensor(repeat(self, counts));
  });

namespace {

// Index i as often as repeats says.
Tensor interleaved(const Tensor& repeats, MaybeInt output_size) {
  check(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32, ErrorKind::NotImplemented,
        "\"repeat_interleave_cpu\" not implemented for '", type_name_of(repeats.dtype()), "'");
  check(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  if (repeats.is_meta()) {
    check(output_size.has_value(), "cannot repeat_interleave a meta tensor without output_size");
    return empty({*output_size}, repeats.dtype(), repeats.device());
  }
  NoGrad quiet;
  const Tensor counts = contiguous(to_dtype(repeats, DType::Int64));
  const int64_t* n = counts.ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    check(n[i] >= 0, "repeats can not be negative");
    check(!__builtin_add_overflow(total, n[i], &total), "the sum of repeats is too large");
  }
  check(!output_size || *output_size == total, "allocated size does not match required size");
  const Tensor result = empty({total}, DType::Int64);
  int64_t* out = result.ptr<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i)
    for (int64_t k = 0; k < n[i]; ++k) *out++ = i;
  return to_dtype(result, repeats.dtype());
}

}  // namespace

const auto repeat_indices = define<Tensor(Tensor, MaybeInt)>(
    "repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor")
  .doc(R"(
    Each element, or slice along `dim`, repeated in place; a sole tensor gives indices.

    >>> torch.repeat_interleave(torch.tensor([7, 8]), 2)
    tensor([7, 7, 8, 8])
  )")
  .forms(Function)
  .produce([](const Tensor& repeats, MaybeInt size) { return interleaved(repeats, size); });

const auto repeat_interleave = define<Tensor(Tensor, Tensor, MaybeInt, MaybeInt)>(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor")
  .forms(Function | Method)
  .composite([](const Tensor& self, const Tensor& repeats, MaybeInt dim,
                MaybeInt size) {
    const Tensor input = dim ? self : Tensor(reshape(self, Ints{-1}));
    const int64_t d = wrap_dim(dim.value_or(0), input.dim());
    Tensor counts = repeats;
    if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.numel() == 1)) {
      counts = expand(reshape(repeats, Ints{1}), Ints{input.size(d)}, false);
    } else {
      check(repeats.dim() == 1, "repeats must be 0-dim or 1-dim tensor");
      check(repeats.numel() == input.size(d), "repeats must have the same size as input along dim, but "
            "got repeats.size(0) = ", repeats.numel(), " and input.size(", d, ") = ", input.size(d));
    }
    return Tensor(index_select(input, d, repeat_indices(counts, size)));
  });

const auto repeat_interleave_int = define<Tensor(Tensor, int64_t, MaybeInt, MaybeInt)>(
    "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t repeats, MaybeInt dim, MaybeInt) {
    check(repeats >= 0, "Repeats must be non-negative");
    Tensor input = dim ? self : Tensor(reshape(self, Ints{-1}));
    if (input.dim() == 0) input = reshape(input, Ints{1});
    const int64_t d = wrap_dim(dim.value_or(0), input.dim());
    Dims wide(input.sizes()), shape(input.sizes());
    wide.insert(size_t(d + 1), repeats);
    shape[d] *= repeats;
    const Tensor copies = clone(expand(unsqueeze(input, d + 1), wide, false), MemoryFormat::Contiguous);
    return Tensor(view(copies, shape));
  });

// ---- Triangles

namespace {

void infer_triangular(Infer& r, const char* op, const Tensor& self) {
  check(self.dim() >= 2, op, ": input tensor must have at least 2 dimensions");
  r.result(self.sizes(), self.dtype(), self.device());
}

// Clears the other triangle of each matrix.
void clear_triangle(const Tensor& result, bool upper, int64_t diagonal) {
  const int64_t rows = result.size(-2), columns = result.size(-1);
  if (result.numel() == 0) return;
  diagonal = std::clamp(diagonal, -rows - 1, columns);  // beyond the corners nothing changes
  const Dims strides(result.strides());
  const int64_t item = result.element_size(), column = strides[strides.size() - 1] * item;
  const char zero[16] = {};
  Dims lead(result.sizes());
  lead.pop_back();
  Dims steps(strides);
  steps.pop_back();
  const int64_t count = numel_of(lead);
  parallel_for(0, count, std::max<int64_t>(1, StridedLoop::kGrain / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, at = 0;
      for (size_t d = lead.size(); d-- > 0;) {
        at += rest % lead[d] * steps[d];
        rest /= lead[d];
      }
      const int64_t edge = i % rows + diagonal;  // the diagonal's column in this row
      const int64_t first = upper ? std::min(std::max<int64_t>(edge + 1, 0), columns) : 0;
      const int64_t last = upper ? columns : std::min(std::max<int64_t>(edge, 0), columns);
      if (first < last)
        kernels::fill_items(result.data() + at * item + first * column, column, last - first, zero, item);
    }
  });
}

}  // namespace

const Op<Tensor(Tensor, int64_t)> tril = define<Tensor(Tensor, int64_t)>(
    "tril(Tensor self, int diagonal=0) -> Tensor")
  .doc(R"(
    The elements on and below a diagonal of each matrix; zero above.

    >>> torch.tril(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
  )")
  .out({.dtype = OutDType::Exact, .internal = true, .inplace_internal = true})
  .forms(Function | Method | Inplace | Out)
  .linear()
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t) { infer_triangular(r, "tril", self); })
  .kernel([](Tensor& result, const Tensor&, int64_t diagonal) {
    clear_triangle(result, true, diagonal);
  })
  .grad("self", "grad, diagonal", [](const Tensor& grad, int64_t diagonal) { return tril(grad, diagonal); });

const Op<Tensor(Tensor, int64_t)> triu = define<Tensor(Tensor, int64_t)>(
    "triu(Tensor self, int diagonal=0) -> Tensor")
  .doc(R"(
    The elements on and above a diagonal of each matrix; zero below.

    >>> torch.triu(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
  )")
  .out({.dtype = OutDType::Exact, .internal = true, .inplace_internal = true})
  .forms(Function | Method | Inplace | Out)
  .linear()
  .edits()
  .infer([](Infer& r, const Tensor& self, int64_t) { infer_triangular(r, "triu", self); })
  .kernel([](Tensor& result, const Tensor&, int64_t diagonal) {
    clear_triangle(result, false, diagonal);
  })
  .grad("self", "grad, diagonal", [](const Tensor& grad, int64_t diagonal) { return triu(grad, diagonal); });

}  // namespace rl::ops
