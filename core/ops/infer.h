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

  ResultMeta() {}  // or making one begins with zeros over all of it
};

class Infer {
 public:
  // Adds the next result.
  void result(Ints sizes, DType dtype, Device device) {
    add(dtype, device).sizes = Dims(sizes);
  }
  void result(Ints sizes, Ints strides, DType dtype, Device device) {
    ResultMeta& m = add(dtype, device);
    m.sizes = Dims(sizes);
    m.strides = Dims(strides);
    m.strided = true;
  }
  // Sizes, strides, dtype and device of a tensor, as empty_like gives.
  void like(const Tensor& t) { result(t.sizes(), dense_strides_like(t), t.dtype(), t.device()); }
  size_t size() const { return results_.size(); }
  ResultMeta& operator[](size_t i) { return results_[i]; }
  const ResultMeta& operator[](size_t i) const { return results_[i]; }

 private:
  ResultMeta& add(DType dtype, Device device) {
    ResultMeta& m = results_.emplace_back();
    m.dtype = dtype;
    m.device = device;
    return m;
  }

  Small<ResultMeta, 2> results_;
};

}  // namespace rl
