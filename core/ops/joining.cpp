// Joining tensors along a dimension.
#include "ops/ops.h"
#include "ops/promotion.h"

namespace rl::ops {
namespace {

// An empty 1-d tensor is skipped, whatever the others' sizes: PyTorch keeps this old rule.
bool skipped(const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

}  // namespace

const Op<Tensor(TensorList, int64_t)> cat = define<Tensor(TensorList, int64_t)>(
    "cat(Tensor[] tensors, int dim=0) -> Tensor")
  .doc(R"(
    Joins tensors along an existing dimension; all other sizes must agree.

    >>> torch.cat([torch.zeros(2), torch.ones(1)])
    tensor([0., 0., 1.])
  )")
  .alias("concat").alias("concatenate")
  .forms(Function | Out)
  .autocast(Autocast::Promote)
  .infer([](Infer& r, TensorList tensors, int64_t dim) {
    check(!tensors.empty(), ErrorKind::Value, "torch.cat(): expected a non-empty list of Tensors");
    const Tensor* first = nullptr;
    Promotion p;
    bool channels_last = true;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      check(t.dim() > 0, "zero-dimensional tensor (at position ", int64_t(i), ") cannot be concatenated");
      check(t.device() == tensors[0].device(), "Expected all tensors to be on the same device, but "
            "found at least two devices, ", name_of(tensors[0].device().type), " and ",
            name_of(t.device().type), "!");
      p.add(t);
      channels_last &= t.dim() == 4 && !t.is_contiguous() && t.is_contiguous(MemoryFormat::ChannelsLast);
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
      sizes[d] += t.sizes()[d];
    }
    if (channels_last) {
      r.result(sizes, format_strides(sizes, MemoryFormat::ChannelsLast), p.dtype(), tensors[0].device());
    } else {
      r.result(sizes, p.dtype(), tensors[0].device());
    }
  })
  .kernel([](Tensor& result, TensorList tensors, int64_t dim) {
    const int64_t d = result.dim() ? wrap_dim(dim, result.dim()) : 0;
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

}  // namespace rl::ops
