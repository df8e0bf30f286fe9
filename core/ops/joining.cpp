// Joining tensors along a dimension.
#include <cstring>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "ops/formats.h"
#include "ops/promotion.h"

namespace rl::ops {
namespace {

// An empty 1-d tensor is skipped, whatever the others' sizes: PyTorch keeps this old rule.
bool skipped(const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

// Dense inputs of one dtype are runs of bytes that take turns: one run of each per row, of all
// their elements from `dim` on.
bool join_runs(const Tensor& result, TensorList tensors, int64_t dim) {
  constexpr size_t kMost = 256;         // inputs
  constexpr int64_t kCached = 16 << 10;  // bytes of the result that all inputs fill in turn
  if (!result.is_contiguous() || tensors.size() > kMost || dim == 0) return false;
  const char* from[kMost];
  int64_t bytes[kMost];
  size_t n = 0;
  int64_t row = 0;
  for (const Tensor& t : tensors) {
    if (skipped(t)) continue;
    if (t.dtype() != result.dtype() || !t.is_contiguous() || t.is_conj() || t.is_negative()) return false;
    from[n] = t.data();
    bytes[n] = t.element_size();
    for (int64_t d = dim; d < t.dim(); ++d) bytes[n] *= t.sizes()[d];
    row += bytes[n++];
  }
  int64_t rows = 1;
  for (int64_t d = 0; d < dim; ++d) rows *= result.sizes()[d];
  if (row / int64_t(std::max<size_t>(n, 1)) > 256) return false;  // long runs: a loop for each
  // Single elements of inputs that lie evenly apart take turns.
  const int64_t item = result.element_size(), step = n > 1 ? from[1] - from[0] : 0;
  bool turns = n > 1;
  for (size_t i = 0; i < n; ++i) turns &= bytes[i] == item && from[i] == from[0] + int64_t(i) * step;
  parallel_for(0, rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(row, 1)),
               [&](int64_t begin, int64_t end) {
    if (turns) {
      kernels::copy_grid({result.data() + begin * row, item, row},
                         {const_cast<char*>(from[0]) + begin * item, step, item}, end - begin,
                         int64_t(n), item);
      return;
    }
    const int64_t height = std::max<int64_t>(1, kCached / std::max<int64_t>(row, 1));
    for (int64_t r = begin; r < end; r += height) {
      const int64_t count = std::min(height, end - r);
      char* out = result.data() + r * row;
      for (size_t i = 0; i < n; ++i) {
        kernels::copy_rows(out, row, from[i] + r * bytes[i], bytes[i], count, bytes[i]);
        out += bytes[i];
      }
    }
  });
  return true;
}

}  // namespace

const Op<Tensor(TensorList, int64_t)> cat = define<Tensor(TensorList, int64_t)>(
    "cat(Tensor[] tensors, int dim=0) -> Tensor")
  .doc(R"(
    Joins tensors along an existing dimension; all other sizes must agree.

    >>> torch.cat([torch.zeros(2), torch.ones(1)])
    tensor([0., 0., 1.])
  )")
  .alias("concat").alias("concatenate")
  .out({.inputs = true, .same = true,
        .text = "torch.cat(): input types can't be cast to the desired output type %G",
        .kind = ErrorKind::Type})
  .forms(Function | Out)
  .autocast(Autocast::Promote)
  .infer([](Infer& r, TensorList tensors, int64_t dim) {
    check(!tensors.empty(), ErrorKind::Value, "torch.cat(): expected a non-empty list of Tensors");
    const Tensor* first = nullptr;
    Promotion p;
    MemoryFormat format = suggested_format(tensors[0]);  // contiguous where the inputs' differ
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      check(t.dim() > 0, "zero-dimensional tensor (at position ", int64_t(i), ") cannot be concatenated");
      check(t.device() == tensors[0].device(), "Expected all tensors to be on the same device, but "
            "found at least two devices, ", name_of(tensors[0].device().type), " and ",
            name_of(t.device().type), "!");
      p.add(t);
      if (suggested_format(t) != format) format = MemoryFormat::Contiguous;
      if (!first && !skipped(t)) first = &t;
    }
    if (!first) {
      r.result({0}, p.dtype(), tensors[0].device());
      return;
    }
    const int64_t d = wrap_dim(dim, first->dim());
    Dims sizes(first->sizes());
    sizes[d] = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      if (skipped(t)) continue;
      check(t.dim() == first->dim(), "Tensors must have same number of dimensions: got ",
            first->dim(), " and ", t.dim());
      for (int64_t k = 0; k < t.dim(); ++k)
        check(k == d || t.sizes()[k] == sizes[k], "Sizes of tensors must match except in dimension ",
              d, ". Expected size ", sizes[k], " but got size ", t.sizes()[k], " for tensor number ",
              int64_t(i), " in the list.");
      sizes[d] = int64_t(uint64_t(sizes[d]) + uint64_t(t.sizes()[d]));  // less than 0: refused below
    }
    if (format == MemoryFormat::Contiguous) r.result(sizes, p.dtype(), first->device());
    else r.result(sizes, format_strides(sizes, format), p.dtype(), first->device());
  })
  .kernel([](Tensor& result, TensorList tensors, int64_t dim) {
    const int64_t d = result.dim() ? wrap_dim(dim, result.dim()) : 0;
    if (result.numel() == 0 || join_runs(result, tensors, d)) return;
    int64_t at = 0;
    for (const Tensor& t : tensors) {
      if (skipped(t)) continue;
      copy_data(alias(result, t.sizes(), result.strides(), result.offset() + at * result.strides()[d]), t);
      at += t.sizes()[d];
    }
  })
  .grad("tensors", "grad, tensors.sizes, dim", [](const Tensor& grad, TensorList shapes, int64_t dim) {
    Tensors parts;
    const int64_t d = wrap_dim(dim, grad.dim());
    int64_t at = 0;
    for (const Tensor& shape : shapes) {
      if (skipped(shape)) {
        parts.push_back(zeros({0}, grad.dtype(), grad.device()));
        continue;
      }
      const int64_t n = shape.sizes()[d];
      parts.push_back(slice(grad, d, at, at + n, 1));
      at += n;
    }
    return parts;
  });

const Op<Tensor(TensorList, int64_t)> stack = define<Tensor(TensorList, int64_t)>(
    "stack(Tensor[] tensors, int dim=0) -> Tensor")
  .doc(R"(
    Joins tensors of one size along a new dimension.

    >>> torch.stack([torch.zeros(2), torch.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
  )")
  .out({.text = "torch.cat(): input types can't be cast to the desired output type %G",
        .kind = ErrorKind::Type})
  .forms(Function | Out)
  .autocast(Autocast::Promote)
  .infer([](Infer& r, TensorList tensors, int64_t dim) {
    check(!tensors.empty(), "stack expects a non-empty TensorList");
    const Tensor& first = tensors[0];
    const int64_t d = wrap_dim(dim, first.dim() + 1);
    MemoryFormat format = suggested_format(first);
    Promotion p;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      check(t.sizes() == first.sizes(), "stack expects each tensor to be equal size, but got ",
            first.sizes(), " at entry 0 and ", t.sizes(), " at entry ", int64_t(i));
      check(t.device() == first.device(), "Expected all tensors to be on the same device, but "
            "found at least two devices, ", name_of(first.device().type), " and ",
            name_of(t.device().type), "!");
      p.add(t);
      if (suggested_format(t) != format) format = MemoryFormat::Contiguous;
    }
    Dims sizes(first.sizes());
    if (format == MemoryFormat::Contiguous || d == first.dim()) {
      sizes.insert(size_t(d), int64_t(tensors.size()));
      return r.result(sizes, p.dtype(), first.device());
    }
    sizes[size_t(d)] *= int64_t(tensors.size());  // those of `cat`, with that dimension split
    Dims strides = format_strides(sizes, format);
    sizes[size_t(d)] = first->sizes[d];
    sizes.insert(size_t(d), int64_t(tensors.size()));
    strides.insert(size_t(d), strides[size_t(d)] * first->sizes[d]);
    r.result(sizes, strides, p.dtype(), first.device());
  })
  .kernel([](Tensor& result, TensorList tensors, int64_t dim) {
    const int64_t d = wrap_dim(dim, result.dim()), step = result.strides()[d];
    if (result.numel() == 0 || join_runs(result, tensors, d)) return;
    Dims strides(result.strides());
    strides.erase(size_t(d));
    int64_t at = result.offset();
    for (const Tensor& t : tensors) {
      copy_data(alias(result, t.sizes(), strides, at), t);
      at += step;
    }
  })
  .grad("tensors", "grad, dim", [](const Tensor& grad, int64_t dim) { return unbind(grad, dim); });

namespace {

// The inputs as atleast_1d, 2d or 3d make them.
template <class Widen> Tensors widened(TensorList tensors, const char* op, Widen widen) {
  check(!tensors.empty(), op, " expects a non-empty TensorList");
  Tensors wide;
  for (const Tensor& t : tensors) wide.push_back(widen(t));
  return wide;
}

}  // namespace

const auto hstack = define<Tensor(TensorList)>("hstack(Tensor[] tensors) -> Tensor")
  .doc(R"(
    Joins tensors side by side: vectors end to end, others along their second dimension.

    >>> torch.hstack([torch.zeros(1), torch.ones(2)])
    tensor([0., 1., 1.])
  )")
  .out({.text = "torch.cat(): input types can't be cast to the desired output type %G",
        .kind = ErrorKind::Type})
  .forms(Function | Out)
  .composite([](TensorList tensors) {
    const Tensors wide = widened(tensors, "hstack", [](const Tensor& t) { return Tensor(atleast_1d(t)); });
    return Tensor(cat(wide, wide[0].dim() == 1 ? 0 : 1));
  });

const auto vstack = define<Tensor(TensorList)>("vstack(Tensor[] tensors) -> Tensor")
  .doc(R"(
    Joins tensors one below the other: vectors as rows, others along their first dimension.

    >>> torch.vstack([torch.zeros(2), torch.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
  )")
  .alias("row_stack")
  .out({.text = "torch.cat(): input types can't be cast to the desired output type %G",
        .kind = ErrorKind::Type})
  .forms(Function | Out)
  .composite([](TensorList tensors) {
    return Tensor(cat(widened(tensors, "vstack", [](const Tensor& t) { return Tensor(atleast_2d(t)); }), 0));
  });

const auto dstack = define<Tensor(TensorList)>("dstack(Tensor[] tensors) -> Tensor")
  .doc(R"(
    Joins tensors along their third dimension.

    >>> torch.dstack([torch.zeros(2), torch.ones(2)]).shape
    torch.Size([1, 2, 2])
  )")
  .out({.text = "torch.cat(): input types can't be cast to the desired output type %G",
        .kind = ErrorKind::Type})
  .forms(Function | Out)
  .composite([](TensorList tensors) {
    return Tensor(cat(widened(tensors, "dstack", [](const Tensor& t) { return Tensor(atleast_3d(t)); }), 2));
  });

const auto column_stack = define<Tensor(TensorList)>("column_stack(Tensor[] tensors) -> Tensor")
  .doc(R"(
    Joins tensors side by side, vectors as columns.

    >>> torch.column_stack([torch.zeros(2), torch.ones(2)])
    tensor([[0., 1.],
            [0., 1.]])
  )")
  .out({.text = "torch.cat(): input types can't be cast to the desired output type %G",
        .kind = ErrorKind::Type})
  .forms(Function | Out)
  .composite([](TensorList tensors) {
    const Tensors wide = widened(tensors, "column_stack", [](const Tensor& t) {
      return t.dim() > 1 ? t : Tensor(reshape(t, Ints{t.numel(), 1}));
    });
    return Tensor(cat(wide, 1));
  });

const auto block_diag = define<Tensor(TensorList)>("block_diag(Tensor[] tensors) -> Tensor")
  .doc("A matrix with the inputs as blocks along its diagonal.")
  .forms(Hidden)
  .infer([](Infer& r, TensorList tensors) {
    check(!tensors.empty(), "torch.block_diag: Input tensors must not be empty");
    int64_t rows = 0, columns = 0;
    Promotion p;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      check(t.dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
            "Input ", int64_t(i), " has ", t.dim(), " dimensions");
      check(t.device() == tensors[0].device(), "torch.block_diag: input tensors must all be on the "
            "same device. Input 0 is on device ", name_of(tensors[0].device().type), " and input ",
            int64_t(i), " is on device ", name_of(t.device().type));
      rows += t.dim() == 2 ? t.sizes()[0] : 1;
      columns += t.dim() ? t.sizes()[t.dim() - 1] : 1;
      p.add(t);
    }
    r.result({rows, columns}, p.dtype(), tensors[0].device());
  })
  .kernel([](Tensor& result, TensorList tensors) {
    NoGrad quiet;
    set_zero(result);
    int64_t row = 0, column = 0;
    for (const Tensor& t : tensors) {
      const Tensor block = atleast_2d(t);
      const int64_t h = block.sizes()[0], w = block.sizes()[1];
      copy_data(slice(slice(result, 0, row, row + h, 1), 1, column, column + w, 1), block);
      row += h;
      column += w;
    }
  })
  .grad("tensors", "grad, tensors.sizes", [](const Tensor& grad, TensorList shapes) {
    Tensors parts;
    int64_t row = 0, column = 0;
    for (const Tensor& shape : shapes) {
      const int64_t h = shape.dim() == 2 ? shape.sizes()[0] : 1;
      const int64_t w = shape.dim() ? shape.sizes()[shape.dim() - 1] : 1;
      Tensor part = slice(slice(grad, 0, row, row + h, 1), 1, column, column + w, 1);
      if (shape.dim() < 2) part = squeeze_dim(part, 0);
      if (shape.dim() < 1) part = squeeze_dim(part, 0);
      parts.push_back(part);
      row += h;
      column += w;
    }
    return parts;
  });

}  // namespace rl::ops
