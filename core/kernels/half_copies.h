// Float copies of half tensors, for kernels that compute halves in float.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/allocator.h"
#include "base/dtype.h"
#include "base/parallel.h"
#include "kernels/cast.h"

namespace rl::kernels {

class FloatCopy {
 public:
  explicit FloatCopy(int64_t n) : FloatCopy(Room{}, n) {  // for a result: zeros
    parallel_for(0, n, 65536, [&](int64_t begin, int64_t end) {
      std::fill(data_ + begin, data_ + end, 0.0f);
    });
  }
  FloatCopy(DType dtype, const void* from, int64_t n) : FloatCopy(Room{}, n) {
    convert(DType::Float, data_, dtype, from);
  }
  FloatCopy(FloatCopy&& other) : data_(other.data_), count_(other.count_) {
    other.data_ = nullptr;
  }
  ~FloatCopy() {
    if (data_) release_block(data_, bytes(count_));
  }
  void round(DType dtype, void* to) const { convert(dtype, to, DType::Float, data_); }
  float* data() { return data_; }

 private:
  struct Room {};
  FloatCopy(Room, int64_t n)
      : data_(static_cast<float*>(allocate_block(bytes(n)))), count_(n) {}
  static size_t bytes(int64_t n) { return size_t(n) * sizeof(float) + 64; }
  void convert(DType to_dtype, void* to, DType from_dtype, const void* from) const {
    const int64_t in = item_size(from_dtype), out = item_size(to_dtype);
    const Cast run = cast(from_dtype, to_dtype);
    parallel_for(0, count_, 65536, [&](int64_t begin, int64_t end) {
      run(static_cast<char*>(to) + begin * out, out, static_cast<const char*>(from) + begin * in,
          in, end - begin);
    });
  }
  float* data_;
  int64_t count_;
};

}  // namespace rl::kernels
