// Infer: what an op's results will look like, found from metadata alone.
#pragma once
#include "tensor/value.h"

namespace rl {

struct ResultMeta {
  Dims sizes;
  Dims strides;             // empty and `strided` false: contiguous
  DType dtype = DType::Float;
  Device device;
  bool strided = false;
};

class Infer {
 public:
  // Adds the next result.
  void result(Ints sizes, DType dtype, Device device) {
    results_.push_back({Dims(sizes), {}, dtype, device, false});
  }
  void result(Ints sizes, Ints strides, DType dtype, Device device) {
    results_.push_back({Dims(sizes), Dims(strides), dtype, device, true});
  }
  // Sizes, strides, dtype and device of a tensor, as empty_like gives.
  void like(const Tensor& t) { result(t.sizes(), dense_strides_like(t), t.dtype(), t.device()); }
  size_t size() const { return results_.size(); }
  ResultMeta& operator[](size_t i) { return results_[i]; }
  const ResultMeta& operator[](size_t i) const { return results_[i]; }

 private:
  Small<ResultMeta, 2> results_;
};

}  // namespace rl
