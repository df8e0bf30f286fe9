// The driver of reductions: which dimensions go, and the loops that lead any strides to the
// kernels.
#pragma once
#include "kernels/reduce.h"
#include "ops/ops.h"
#include "tensor/iterator.h"

namespace rl::ops {

using kernels::Fold;
constexpr uint64_t kAllDims = ~uint64_t(0);

// The dimensions to reduce, as bits; none named means all.
uint64_t reduced_mask(const MaybeInts& dims, int64_t rank);
uint64_t reduced_mask(int64_t dim, int64_t rank);
Dims reduced_sizes(Ints sizes, uint64_t mask, bool keepdim);
int64_t reduced_count(Ints sizes, uint64_t mask);
// Puts sizes of one back where a reduction left dimensions out.
Tensor spread(const Tensor& t, Ints sizes, uint64_t mask, bool keepdim);
// The same without a graph: the result as the kernels' loops want it.
Tensor keeping_dims(const Tensor& t, Ints sizes, uint64_t mask);
// The input with the reduced dimensions last and dense: kept sizes, then one dimension.
Tensor rows_of(const Tensor& self, uint64_t mask);

// One dimension of a reduction, or several joined: input stride in bytes, accumulator stride in
// elements.
struct Axis {
  int64_t size, in, out;
};
using Axes = Small<Axis, 4>;

// A reduction's dimensions, outermost first. Accumulators lie densely in the order of the kept
// dimensions' strides.
struct Spans {
  Axes kept, gone;
  Dims order;           // the kept dimensions, outermost first
  int64_t results = 1, total;
  bool ordered = true;  // accumulators lie as a contiguous result does

  Spans(const Tensor& self, uint64_t mask);
  // The innermost axes, one of each kind; what was there before them is left. Rows of fewer than
  // `shortest` elements are slow for the kernel: it had better run along the kept axis.
  struct Inner {
    Axis kept, gone;
    bool columns;       // the kept one is the quicker to run along
  };
  static Inner take_inner(Axes& kept, Axes& gone, int64_t shortest);
  // Strides that see accumulators as a result of `sizes`.
  Dims strides_for(const Tensor& self, uint64_t mask, Ints sizes) const;
};

template <class F> void each(const Axis* a, size_t n, int64_t in, int64_t out, F& f) {
  if (n == 0) return f(in, out);
  for (int64_t i = 0; i < a->size; ++i) each(a + 1, n - 1, in + i * a->in, out + i * a->out, f);
}

// How many threads a reduction of so many elements is worth.
int64_t parts_for(int64_t elements);

// Runs f(kept axes, input offset in bytes, accumulator offset) on parts of a kept axis; false,
// with nothing run, if none can be split well.
template <class F> bool split_kept(const Spans& s, int64_t parts, bool any, F&& f) {
  for (size_t i = 0; i < s.kept.size(); ++i) {
    const Axis& a = s.kept[i];
    if (a.size < parts || (!any && a.in < 64 && a.size < 64 * parts)) continue;
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) {
        const int64_t from = a.size * q / parts, to = a.size * (q + 1) / parts;
        Axes kept = s.kept;
        kept[i].size = to - from;
        f(kept, from * a.in, from * a.out);
      }
    });
    return true;
  }
  return false;
}

// A change to the accumulators before they become the result.
using Finish = void (*)(DType accumulator, char* data, int64_t n, double x);
void finish_divide(DType accumulator, char* data, int64_t n, double x);

// out gets the fold of self over the dimensions of `mask`; out is fresh and contiguous.
void fold_into(const Tensor& out, const Tensor& self, uint64_t mask, Fold fold, double p = 0,
               Finish finish = nullptr, double x = 0);

// The index along `dim` of each first largest or smallest; dim < 0: of the flattened input.
void arg_extreme_into(const Tensor& out, const Tensor& self, int64_t dim, bool largest);

// Mean and sum of squared deviations over `mask`, as contiguous float64 tensors of the kept sizes.
void moments(const Tensor& mean, const Tensor& deviation, const Tensor& self, uint64_t mask);

// extrema.cpp: the gradient of picking one element by its index along a dimension.
Tensor selection_backward(const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes,
                          bool keepdim);
// The gradient of an extreme or median, shared out evenly between the elements equal to it; unless
// `nan`, NaN equals none, and gradients there become NaN.
Tensor share_backward(const Tensor& grad, const Tensor& self, const Tensor& result, Ints dim,
                      bool keepdim, bool nan = true);
// scan.cpp: the product of all others along a dimension, right where some are zero.
Tensor products_of_others(const Tensor& self, int64_t dim);

}  // namespace rl::ops
