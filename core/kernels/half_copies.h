// Float copies of half tensors, for kernels that compute halves in float.
#pragma once
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/parallel.h"

namespace rl::kernels {

class FloatCopy {
 public:
  explicit FloatCopy(int64_t n) : data_(size_t(n)) {}  // room for a result
  FloatCopy(DType dtype, const void* from, int64_t n) : data_(size_t(n)) {
    if (dtype == DType::Half) read(static_cast<const Half*>(from));
    else read(static_cast<const BFloat16*>(from));
  }
  void round(DType dtype, void* to) const {
    if (dtype == DType::Half) {
      write(static_cast<Half*>(to), [](float f) { return to_half(f); });
    } else {
      write(static_cast<BFloat16*>(to), [](float f) { return to_bfloat16(f); });
    }
  }
  float* data() { return data_.data(); }

 private:
  template <class H> void read(const H* from) {
    parallel_for(0, int64_t(data_.size()), 65536, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data_[size_t(i)] = to_float(from[i]);
    });
  }
  template <class H, class F> void write(H* to, F narrow) const {
    parallel_for(0, int64_t(data_.size()), 65536, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = narrow(data_[size_t(i)]);
    });
  }
  std::vector<float> data_;
};

}  // namespace rl::kernels
