// Which memory format a result takes from an input: plain, or channels last.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

// Whether the strides are in channels-last order, as PyTorch's suggest_memory_format finds: other
// gaps do not matter, and where an order is open, the plain one counts.
inline bool suggests_channels_last(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return false;
  if (t->strides[1] == 0) return false;
  int64_t least = 0;
  const auto fits = [&](int64_t d) {
    const int64_t size = t->sizes[d], stride = t->strides[d];
    if (size == 0 || stride < least || (d == 0 && least == t->strides[1])) return false;
    least = size > 1 ? stride * size : stride;
    return true;
  };
  if (!fits(1)) return false;
  for (int64_t d = t.dim() - 1; d >= 2; --d)
    if (!fits(d)) return false;
  return fits(0);
}

inline MemoryFormat suggested_format(const Tensor& t) {
  if (!suggests_channels_last(t)) return MemoryFormat::Contiguous;
  return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

// Adds a result in the input's format.
inline void result_in_format(Infer& r, Ints sizes, const Tensor& input, DType dtype) {
  const MemoryFormat f = suggested_format(input);
  if (f == MemoryFormat::Contiguous) r.result(sizes, dtype, input.device());
  else r.result(sizes, format_strides(sizes, f), dtype, input.device());
}

inline bool is_in_format(const Tensor& t, MemoryFormat f) {
  return f == MemoryFormat::Contiguous ? t.is_contiguous() : t.is_contiguous(f);
}

// Inside kernels: the tensor in that format, or a copy that is.
inline Tensor in_format(const Tensor& t, MemoryFormat f) {
  if (is_in_format(t, f)) return t;
  const Tensor copy = f == MemoryFormat::Contiguous
      ? empty(t.sizes(), t.dtype())
      : empty_strided(t.sizes(), format_strides(t.sizes(), f), t.dtype());
  copy_data(copy, t);
  return copy;
}

}  // namespace rl::ops
