// Rows of halves widened to float scratch and back, for kernels that compute in float or double.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/dtype.h"
#include "base/error.h"
#include "kernels/cast.h"

namespace rl::kernels {

// What a row of T is computed in.
template <class T>
using ComputeOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

inline float widen(BFloat16 v) { return to_float(v); }
inline float widen(Half v) { return to_float(v); }
inline float widen(float v) { return v; }
inline double widen(double v) { return v; }
inline void narrow(float v, BFloat16& out) { out = to_bfloat16(v); }
inline void narrow(float v, Half& out) { out = to_half(v); }
inline void narrow(float v, float& out) { out = v; }
inline void narrow(double v, double& out) { out = v; }

// A row read as its compute type: in place where it already is, else through scratch.
template <class T> class RowIn {
 public:
  using C = ComputeOf<T>;
  explicit RowIn(int64_t n) {
    if constexpr (!std::is_same_v<T, C>) {
      scratch_.reset(new C[n]);
      cast_ = cast(DTypeOf<T>::value, DTypeOf<C>::value);
    }
  }
  const C* operator()(const T* row, int64_t n) {
    if constexpr (std::is_same_v<T, C>) {
      return row;
    } else {
      cast_(reinterpret_cast<char*>(scratch_.get()), sizeof(C), reinterpret_cast<const char*>(row),
            sizeof(T), n);
      return scratch_.get();
    }
  }

 private:
  std::unique_ptr<C[]> scratch_;
  Cast cast_ = nullptr;
};

// A row to be written in the compute type: target() first, then commit() rounds it into place.
template <class T> class RowOut {
 public:
  using C = ComputeOf<T>;
  explicit RowOut(int64_t n) {
    if constexpr (!std::is_same_v<T, C>) {
      scratch_.reset(new C[n]);
      cast_ = cast(DTypeOf<C>::value, DTypeOf<T>::value);
    }
  }
  C* target(T* row) {
    if constexpr (std::is_same_v<T, C>) return row;
    else return scratch_.get();
  }
  void commit(T* row, int64_t n) {
    if constexpr (!std::is_same_v<T, C>)
      cast_(reinterpret_cast<char*>(row), sizeof(T), reinterpret_cast<char*>(scratch_.get()),
            sizeof(C), n);
  }

 private:
  std::unique_ptr<C[]> scratch_;
  Cast cast_ = nullptr;
};

// Calls f with a null pointer of the floating type: dispatch_floating(t, [&](auto* p) {...}).
// Another type is refused: an op's own check may not have foreseen it.
template <class F> decltype(auto) dispatch_floating(DType t, F&& f) {
  switch (t) {
    case DType::Float: return f(static_cast<float*>(nullptr));
    case DType::Double: return f(static_cast<double*>(nullptr));
    case DType::Half: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    default:
      fail(ErrorKind::NotImplemented, "\"kernel\" not implemented for '", type_name_of(t), "'");
  }
}

}  // namespace rl::kernels
