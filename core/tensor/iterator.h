// The strided iterator: several operands over one shape, dimensions ordered and collapsed.
#pragma once
#include "base/parallel.h"
#include "tensor/tensor.h"

namespace rl {

class StridedLoop {
 public:
  static constexpr int kOperands = 6, kDims = 64;
  static constexpr int64_t kGrain = 32768;  // elements that are worth a thread

  explicit StridedLoop(Ints shape) : shape_(shape) {}
  // Strides in elements over the whole shape (0 where broadcast).
  void add(char* data, const Dims& strides, int64_t item) {
    data_[operands_] = data;
    Dims& s = strides_[operands_++];
    s.resize(shape_.size());
    for (size_t i = 0; i < shape_.size(); ++i) s[i] = strides[i] * item;
  }
  void add(const Tensor& t) {
    add(t.data(), broadcast_strides(t.sizes(), t.strides(), shape_), t.element_size());
  }
  // Orders the dimensions (innermost first) by the strides of operand `leading`, then of the
  // others, and joins those that lie one after the other for all operands.
  void prepare();

  // f(char* const* data, const int64_t* byte_strides, int64_t n), called for runs of elements.
  template <class F> void run(F&& f, int64_t grain = kGrain) {
    if (total_ == 0) return;
    parallel_for(0, total_, grain, [&](int64_t begin, int64_t end) { part(begin, end, f); });
  }

  int64_t numel() const { return total_; }
  Ints shape() const { return shape_; }  // after prepare(): innermost first

 private:
  template <class F> void part(int64_t begin, int64_t end, F& f) {
    int64_t at[kDims];
    char* p[kOperands];
    int64_t inner[kOperands];
    const size_t dims = shape_.size();
    int64_t rest = begin;
    for (int k = 0; k < operands_; ++k) {
      p[k] = data_[k];
      inner[k] = dims ? strides_[k][0] : 0;
    }
    for (size_t d = 0; d < dims; ++d) {
      at[d] = rest % shape_[d];
      rest /= shape_[d];
      for (int k = 0; k < operands_; ++k) p[k] += at[d] * strides_[k][d];
    }
    for (int64_t done = begin; done < end;) {
      const int64_t row = dims ? shape_[0] - at[0] : 1;
      const int64_t n = row < end - done ? row : end - done;
      f(static_cast<char* const*>(p), static_cast<const int64_t*>(inner), n);
      done += n;
      if (done >= end) return;
      for (int k = 0; k < operands_; ++k) p[k] -= at[0] * inner[k];
      at[0] = 0;
      for (size_t d = 1; d < dims; ++d) {
        for (int k = 0; k < operands_; ++k) p[k] += strides_[k][d];
        if (++at[d] < shape_[d]) break;
        for (int k = 0; k < operands_; ++k) p[k] -= at[d] * strides_[k][d];
        at[d] = 0;
      }
    }
  }

  Dims shape_;
  Dims strides_[kOperands];
  char* data_[kOperands];
  int operands_ = 0;
  int64_t total_ = 1;
};

// The order of dimensions, innermost first, that PyTorch's iterator would choose for operands
// with these strides (over the whole shape, in elements; 0 has no say).
Small<int, 6> order_of_dims(Ints shape, Span<Dims> strides);

}  // namespace rl
