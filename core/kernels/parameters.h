// Per-channel parameters and statistics of a normalisation, read and written in the compute type.
#pragma once
#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "kernels/row_buffers.h"

namespace rl::kernels {

// n numbers of dtype pt as C: in place where they already are C. Null stays null.
template <class C> class Parameter {
 public:
  Parameter(DType pt, const void* data, int64_t n) {
    if (!data || pt == DTypeOf<C>::value) {
      data_ = static_cast<const C*>(data);
      return;
    }
    widened_.reset(new C[n]);
    dispatch_floating(pt, [&](auto* p) {
      const auto* from = static_cast<decltype(+p)>(const_cast<void*>(data));
      for (int64_t i = 0; i < n; ++i) widened_[i] = C(widen(from[i]));
    });
    data_ = widened_.get();
  }
  const C* data() const { return data_; }

 private:
  const C* data_;
  std::unique_ptr<C[]> widened_;
};

template <class C> void store_parameter(DType pt, void* out, const C* from, int64_t n) {
  dispatch_floating(pt, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < n; ++i) narrow(ComputeOf<T>(from[i]), static_cast<T*>(out)[i]);
  });
}

}  // namespace rl::kernels
