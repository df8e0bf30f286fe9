// Reductions: sums over all or some dimensions.
#include "ops/ops.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

using MaybeDType = std::optional<DType>;
using MaybeDims = std::optional<Ints>;

// The dimensions to reduce, as bits; none named means all.
uint64_t reduced_mask(MaybeDims dims, int64_t rank) {
  if (!dims || dims->empty()) return ~uint64_t(0);
  uint64_t mask = 0;
  for (int64_t d : wrap_dims(*dims, rank)) mask |= uint64_t(1) << d;
  return mask;
}

Dims reduced_sizes(Ints sizes, uint64_t mask, bool keepdim) {
  Dims r;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(mask >> i & 1)) r.push_back(sizes[i]);
    else if (keepdim) r.push_back(1);
  }
  return r;
}

DType sum_dtype(const Tensor& self, MaybeDType dtype) {
  return dtype ? *dtype : category(self.dtype()) < 2 ? DType::Int64 : self.dtype();
}

// Puts sizes of one back where a reduction left dimensions out.
Tensor spread(const Tensor& t, Ints sizes, uint64_t mask, bool keepdim) {
  if (keepdim || sizes.empty()) return t;
  Dims kept;
  for (size_t i = 0; i < sizes.size(); ++i) kept.push_back(mask >> i & 1 ? 1 : sizes[i]);
  return reshape(t, kept);
}

template <class T, class A> void sum_kernel(const Tensor& out, const Tensor& self, uint64_t mask) {
  set_zero(out);
  Dims strides;
  for (int64_t d = 0, o = 0; d < self.dim(); ++d) {
    const bool gone = mask >> d & 1;
    const bool has = out.dim() == self.dim();
    strides.push_back(gone ? 0 : out.strides()[has ? d : o]);
    o += !gone;
  }
  StridedLoop over(self.sizes());
  over.add(out.data(), strides, out.element_size());
  over.add(self);
  over.prepare();
  over.run([](char* const* p, const int64_t* s, int64_t n) {
    if (s[0] == 0) {
      A total = *reinterpret_cast<A*>(p[0]);
      for (int64_t i = 0; i < n; ++i) total += A(*reinterpret_cast<T*>(p[1] + i * s[1]));
      *reinterpret_cast<A*>(p[0]) = total;
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      *reinterpret_cast<A*>(p[0] + i * s[0]) += A(*reinterpret_cast<T*>(p[1] + i * s[1]));
  }, INT64_MAX);
}

void sum_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  const Tensor input = self.dtype() == out.dtype() ? self : empty(self.sizes(), out.dtype());
  if (!input.same(self)) copy_data(input, self);
  dispatch(out.dtype(), [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_same_v<T, bool>) {
      const Tensor wide = empty(self.sizes(), DType::Float), total = empty(out.sizes(), DType::Float);
      copy_data(wide, self);
      sum_kernel<float, float>(total, wide, mask);
      copy_data(out, total);
    } else {
      sum_kernel<T, T>(out, input, mask);
    }
  });
}

}  // namespace

const Op<Tensor(Tensor, MaybeDType)> sum = define<Tensor(Tensor, MaybeDType)>(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The sum of all elements, or over the dimensions named. Integers are summed as int64.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), 0)
    tensor([4., 6.])
  )")
  .forms(Function | Method)
  .autocast(Autocast::Float)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype) {
    r.result({}, sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDType) { sum_into(result, self, ~uint64_t(0)); })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return expand(grad, sizes); });

const Op<Tensor(Tensor, MaybeDims, bool, MaybeDType)> sum_dim =
    define<Tensor(Tensor, MaybeDims, bool, MaybeDType)>(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
  .node("SumBackward1")
  .forms(Function | Method | Out)
  .autocast(Autocast::Float)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeDims dim, bool keepdim, MaybeDType dtype) {
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim),
             sum_dtype(self, dtype), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDims dim, bool, MaybeDType) {
    sum_into(result, self, reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self.sizes, dim, keepdim",
        [](const Tensor& grad, Ints sizes, MaybeDims dim, bool keepdim) {
    return expand(spread(grad, sizes, reduced_mask(dim, int64_t(sizes.size())), keepdim), sizes);
  });

Tensor sum_to_size(const Tensor& t, Ints sizes) {
  if (t.sizes() == sizes) return t;
  const int64_t lead = t.dim() - int64_t(sizes.size());
  Dims dims;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d < lead || (sizes[d - lead] == 1 && t.sizes()[d] != 1)) dims.push_back(d);
  const Tensor total = dims.empty() ? t : Tensor(sum_dim(t, Ints(dims), true));
  return lead > 0 ? Tensor(view(total, sizes)) : total;
}

}  // namespace rl::ops
