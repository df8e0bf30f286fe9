// Elements chosen by a mask: filled, selected, replaced.
#include "ops/dispatch.h"
#include "ops/ops.h"
#include "ops/places.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

void infer_broadcast(Infer& r, const Tensor& self, const Tensor& mask) {
  r.result(broadcast(mask.sizes(), self.sizes()), self.dtype(), self.device());
}

void check_mask(const Tensor& mask) {
  check(mask.dtype() == DType::Bool, "masked_fill_ only supports boolean masks, but got mask with "
        "dtype ", c_name_of(mask.dtype()));
}

template <class F> void each_masked(const Tensor& result, const Tensor& mask, F&& f) {
  StridedLoop over(result.sizes());
  over.add(result);
  over.add(mask);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      if (p[1][i * s[1]]) f(p[0] + i * s[0]);
  });
}

void fill_masked(const Tensor& result, const Tensor& mask, const Tensor& value) {
  warn_of_overlap("masked_fill_", "mask", result);
  dispatch_stored(result.dtype(), [&](auto* p) {
    using T = pointee<decltype(p)>;
    const T v = *value.ptr<T>();
    each_masked(result, mask, [v](char* out) { *reinterpret_cast<T*>(out) = v; });
  });
}

// Positions, in row order, where the mask (broadcast to `sizes`) is true.
Tensor chosen(const Tensor& mask, Ints sizes) {
  NoGrad quiet;
  const Tensor dense = contiguous(expand(mask, sizes));
  return positions_of(dense, find_nonzero(dense));
}

Places in_row_order(const Tensor& dense, const Tensor& positions) {
  Places p;
  p.data = dense;
  p.shape = Dims(positions.sizes());
  p.strides.resize(1, 0);
  p.step = dense.element_size();
  p.places = positions;
  return p;
}

}  // namespace

const Op<Tensor(Tensor, Tensor, Scalar)> masked_fill = define<Tensor(Tensor, Tensor, Scalar)>(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor")
  .doc(R"(
    The input with `value` where the mask is true.

    >>> torch.tensor([1., 2.]).masked_fill(torch.tensor([True, False]), 0)
    tensor([0., 2.])
  )")
  .out({.inplace_internal = true})
  .forms(Function | Method | Inplace)
  .node("MaskedFillBackward0")
  .infer([](Infer& r, const Tensor& self, const Tensor& mask, const Scalar& value) {
    check_mask(mask);
    check_fits(value, self.dtype());
    infer_broadcast(r, self, mask);
  })
  .edits()
  .kernel([](Tensor& result, const Tensor&, const Tensor& mask, const Scalar& value) {
    fill_masked(result, mask, scalar_tensor(value, result.dtype()));
  })
  .grad("self", "grad, mask", [](const Tensor& grad, const Tensor& mask) {
    return masked_fill(grad, mask, 0);
  });

const auto masked_fill_tensor = define<Tensor(Tensor, Tensor, Tensor)>(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor")
  .out({.inplace_internal = true})
  .forms(Function | Method | Inplace)
  .node("MaskedFillBackward1")
  .infer([](Infer& r, const Tensor& self, const Tensor& mask, const Tensor& value) {
    check(value.dim() == 0,
          "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
          "with ", value.dim(), " dimension(s).");
    check_mask(mask);
    infer_broadcast(r, self, mask);
  })
  .edits()
  .kernel([](Tensor& result, const Tensor&, const Tensor& mask, const Tensor& value) {
    NoGrad quiet;
    fill_masked(result, mask, to_dtype(value, result.dtype()));
  })
  .grad("self", "grad, mask", [](const Tensor& grad, const Tensor& mask) {
    return masked_fill(grad, mask, 0);
  })
  .grad("value", "grad, mask", [](const Tensor& grad, const Tensor& mask) {
    return sum(grad * mask);
  });

const Op<Tensor(Tensor, Tensor)> masked_select = define<Tensor(Tensor, Tensor)>(
    "masked_select(Tensor self, Tensor mask) -> Tensor")
  .doc(R"(
    The elements where the mask is true, as a vector.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
  )")
  .out({.dtype = OutDType::Exact,
        .text = "masked_select(): self and result must have the same scalar type"})
  .forms(Function | Method | Out)
  .linear()
  .produce([](const Tensor& self, const Tensor& mask) {
    NoGrad quiet;
    check(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask");
    refuse_meta("masked_select", self);
    const Dims sizes = broadcast(mask.sizes(), self.sizes());
    const Tensor from = contiguous(expand(self, sizes)), dense = contiguous(expand(mask, sizes));
    const Nonzero found = find_nonzero(dense);
    const Tensor result = empty({found.total()}, self.dtype());
    const int64_t size = self.element_size(), chunks = int64_t(found.starts.size()) - 1;
    parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c * Nonzero::kChunk;
        kernels::select_items(result.data() + found.starts[size_t(c)] * size,
                              from.data() + first * size, dense.data() + first,
                              found.count(c), size);
      }
    });
    return result;
  })
  .grad("self", "grad, self.sizes, mask", [](const Tensor& grad, Ints sizes, const Tensor& mask) {
    const Dims both = broadcast(mask.sizes(), sizes);
    return masked_scatter(zeros(both, grad.dtype(), grad.device()), mask, grad);
  });

const Op<Tensor(Tensor, Tensor, Tensor)> masked_scatter = define<Tensor(Tensor, Tensor, Tensor)>(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor")
  .doc(R"(
    The input with elements of `source`, in order, where the mask is true.

    >>> torch.zeros(3).masked_scatter(torch.tensor([True, False, True]), torch.tensor([5., 6.]))
    tensor([5., 0., 6.])
  )")
  .forms(Function | Method | Inplace)
  .edits()
  .infer([](Infer& r, const Tensor& self, const Tensor& mask, const Tensor& source) {
    check(self.dtype() == source.dtype(), "masked_scatter: expected self and source to have same "
          "dtypes but got", type_name_of(self.dtype()), " and ", type_name_of(source.dtype()));
    check(mask.dtype() == DType::Bool, "masked_scatter_ only supports boolean masks, but got mask "
          "with dtype ", type_name_of(mask.dtype()));
    infer_broadcast(r, self, mask);
  })
  .kernel([](Tensor& result, const Tensor&, const Tensor& mask, const Tensor& source) {
    NoGrad quiet;
    refuse_internal_overlap(result);
    const Tensor at = chosen(mask, result.sizes());
    check(at.numel() <= source.numel(), "Number of elements of source < number of ones in mask");
    const Tensor dense = contiguous(result);
    const Tensor values = reshape(source, Ints{-1});
    write_places(in_row_order(dense, at),
                 alias(values, at.sizes(), values.strides(), values.offset()));
    if (!dense.same(result)) copy_data(result, dense);
  })
  .grad("self", "grad, mask", [](const Tensor& grad, const Tensor& mask) {
    return masked_fill(grad, mask, 0);
  })
  .grad("source", "grad, mask, source.sizes",
        [](const Tensor& grad, const Tensor& mask, Ints sizes) {
    const Tensor chosen = masked_select(grad, mask);
    const int64_t n = numel_of(sizes), have = chosen.numel();
    if (have == n) return Tensor(reshape(chosen, sizes));
    const Tensor rest = zeros({n - have}, grad.dtype(), grad.device());
    return Tensor(reshape(cat(Tensors{chosen, rest}, 0), sizes));
  });

}  // namespace rl::ops
