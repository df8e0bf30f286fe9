// The norm and the scaling of a list of gradients: what clipping by norm is made of.
#include <cmath>
#include <vector>

#include "kernels/optimizer.h"
#include "ops/ops.h"

namespace rl::ops {
namespace {

DType sum_dtype(const Tensor& t) {
  return real_of(t.dtype()) == DType::Double ? DType::Double : DType::Float;
}

// The tensor itself, or a copy, as floats or doubles in one run of memory.
Tensor flat(const Tensor& t) {
  const DType real = sum_dtype(t), dtype = t.is_complex() ? complex_of(real) : real;
  if (t.dtype() == dtype && is_dense(t.sizes(), t.strides())) return t;
  const Tensor copy = empty(t.sizes(), dtype);
  copy_data(copy, t);
  return copy;
}

int64_t count_of(const Tensor& t) { return t.numel() * (t.is_complex() ? 2 : 1); }

void check_list(const TensorList& tensors) {
  for (const Tensor& t : tensors)
    check(is_differentiable(t.dtype()), "linalg.vector_norm: Expected a floating point or complex "
          "tensor as input. Got ", type_name_of(t.dtype()));
}

double norm_of(const TensorList& tensors) {
  double sum = 0;
  for (const DType real : {DType::Float, DType::Double}) {
    std::vector<Tensor> kept;
    std::vector<const void*> arrays;
    std::vector<int64_t> sizes;
    for (const Tensor& t : tensors) {
      if (sum_dtype(t) != real) continue;
      kept.push_back(flat(t));
      arrays.push_back(kept.back().data());
      sizes.push_back(count_of(t));
    }
    std::vector<double> squares(arrays.size());
    kernels::list_sum_squares(real, arrays.data(), sizes.data(), int64_t(arrays.size()),
                              squares.data());
    for (double s : squares) sum += s;
  }
  return std::sqrt(sum);
}

}  // namespace

const auto total_norm = define<Tensor(TensorList)>("_total_norm(Tensor[] tensors) -> Tensor")
  .doc("The 2-norm of all elements of several tensors together, a 0-d tensor.")
  .forms(Hidden)
  .no_derivative("derivative for _total_norm is not implemented")
  .infer([](Infer& r, const TensorList& tensors) {
    check(!tensors.empty(), "_total_norm expects a non-empty list");
    check_list(tensors);
    DType dtype = real_of(tensors[0].dtype());
    for (const Tensor& t : tensors) dtype = promote(dtype, real_of(t.dtype()));
    r.result(Ints(), dtype, tensors[0].device());
  })
  .kernel([](Tensor& result, const TensorList& tensors) {
    copy_data(result, scalar_tensor(norm_of(tensors), DType::Double));
  });

const auto scale_list = define<void(TensorList, Tensor)>(
    "_scale_list_(Tensor(a!)[] tensors, Tensor factor) -> ()")
  .doc("Multiplies each of several tensors by a 0-d tensor, in place.")
  .forms(Hidden)
  .infer([](Infer&, const TensorList& tensors, const Tensor& factor) {
    check_list(tensors);
    check(factor.numel() == 1, "the factor has one element");
    for (const Tensor& t : tensors) refuse_internal_overlap(t);
  })
  .effect([](const TensorList& tensors, const Tensor& factor) {
    if (factor.is_meta()) return;
    const double by = item_of(factor).to_double();
    for (const DType real : {DType::Float, DType::Double}) {
      std::vector<Tensor> kept, targets;
      std::vector<void*> arrays;
      std::vector<int64_t> sizes;
      for (const Tensor& t : tensors) {
        if (sum_dtype(t) != real || t.is_meta()) continue;
        targets.push_back(t);
        kept.push_back(flat(t));
        arrays.push_back(kept.back().data());
        sizes.push_back(count_of(t));
      }
      kernels::list_scale(real, arrays.data(), sizes.data(), int64_t(arrays.size()), by);
      for (size_t i = 0; i < kept.size(); ++i)
        if (!kept[i].same(targets[i])) copy_data(targets[i], kept[i]);
    }
  });

}  // namespace rl::ops
