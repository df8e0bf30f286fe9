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

  // Note [Short rows]
  // A tensor of many rows of three (points, pixels) is no work for loops over one row: what a call
  // costs would be all its time. Where rows are short, g gets a block of them:
  // g(data, byte_strides, n, byte_strides from row to row, rows); elsewhere rows is 1. Elements
  // come in no order, so nothing that draws or counts uses this.
  template <class G> void run_blocks(G&& g, int64_t grain = kGrain) {
    if (!has_short_rows()) {
      int64_t none[kOperands] = {};
      return run([&](char* const* p, const int64_t* s, int64_t n) {
        g(p, s, n, static_cast<const int64_t*>(none), int64_t(1));
      }, grain);
    }
    StridedLoop rows = *this;  // over the rows alone
    const int64_t n = shape_[0];
    int64_t inner[kOperands];
    rows.shape_.erase(0);
    for (int k = 0; k < operands_; ++k) {
      inner[k] = strides_[k][0];
      rows.strides_[k].erase(0);
    }
    rows.total_ /= n;
    rows.run([&](char* const* p, const int64_t* s, int64_t count) {
      char* at[kOperands];
      for (int64_t i = 0; i < count; i += kBlock / n) {
        const int64_t some = count - i < kBlock / n ? count - i : kBlock / n;
        for (int k = 0; k < operands_; ++k) at[k] = p[k] + i * s[k];
        g(static_cast<char* const*>(at), static_cast<const int64_t*>(inner), n, s, some);
      }
    }, grain / n);
  }
  bool has_short_rows() const { return shape_.size() > 1 && shape_[0] <= kShortRow; }
  static constexpr int64_t kShortRow = 32, kBlock = 512;  // elements

  // As run, along the rows of a block or across them, whichever is longer.
  template <class F> void run_longest(F&& f) {
    run_blocks([&](char* const* p, const int64_t* s, int64_t n, const int64_t* outer,
                   int64_t rows) {
      if (rows == 1) return f(p, s, n);
      const bool across = rows > n;
      const int64_t lines = across ? n : rows;
      char* at[kOperands];
      for (int64_t i = 0; i < lines; ++i) {
        for (int k = 0; k < operands_; ++k) at[k] = p[k] + i * (across ? s : outer)[k];
        f(static_cast<char* const*>(at), across ? outer : s, across ? rows : n);
      }
    });
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
