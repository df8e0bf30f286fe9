// A number of Python: bool, int, float or complex, with its kind kept.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>

#include "base/float8.h"

namespace rl {

class Scalar {
 public:
  enum Kind : uint8_t { kBool, kInt, kFloat, kComplex };
  constexpr Scalar() : kind_(kInt), int_(0), imag_(0) {}
  constexpr Scalar(bool v) : kind_(kBool), int_(v), imag_(0) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  constexpr Scalar(T v) : kind_(kInt), int_(int64_t(v)), imag_(0) {}
  template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  constexpr Scalar(T v) : kind_(kFloat), real_(double(v)), imag_(0) {}
  Scalar(std::complex<double> v) : kind_(kComplex), real_(v.real()), imag_(v.imag()) {}

  Kind kind() const { return kind_; }
  bool is_bool() const { return kind_ == kBool; }
  bool is_int() const { return kind_ == kInt; }
  bool is_float() const { return kind_ == kFloat; }
  bool is_complex() const { return kind_ == kComplex; }
  int64_t to_int() const { return kind_ <= kInt ? int_ : int64_t(real_); }
  double to_double() const { return kind_ <= kInt ? double(int_) : real_; }
  bool to_bool() const { return kind_ <= kInt ? int_ != 0 : real_ != 0 || imag_ != 0; }
  std::complex<double> to_complex() const { return {to_double(), imag_}; }
  // The dtype a Python number has before promotion: int64, the default float, its complex.
  DType dtype() const {
    return kind_ == kBool ? DType::Bool : kind_ == kInt ? DType::Int64
         : kind_ == kFloat ? DType::Double : DType::ComplexDouble;
  }
  template <class T> T to() const {
    if constexpr (std::is_same_v<T, bool>) return to_bool();
    else if constexpr (std::is_same_v<T, uint64_t>) {
      return kind_ > kInt && real_ >= 0x1p63 ? uint64_t(real_) : uint64_t(to_int());
    }
    else if constexpr (std::is_integral_v<T>) return T(to_int());
    else if constexpr (std::is_floating_point_v<T>) return T(to_double());
    else if constexpr (std::is_same_v<T, Half>) return to_half(float(to_double()));
    else if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(float(to_double()));
    else if constexpr (is_float8_type<T>) return float8_of<T>(float(to_double()));
    else if constexpr (std::is_same_v<T, ComplexHalf>) {
      return to_complex_half(std::complex<float>(to_complex()));
    } else return T(to_complex());
  }
  bool equal(double v) const { return to_double() == v && imag_ == 0; }
  Scalar operator-() const;

 private:
  Kind kind_;
  union { int64_t int_; double real_; };
  double imag_;
};

inline Scalar Scalar::operator-() const {
  if (kind_ <= kInt) return Scalar(int64_t(-uint64_t(int_)));  // of the least: itself
  if (kind_ == kFloat) return Scalar(-real_);
  return Scalar(std::complex<double>(-real_, -imag_));
}

}  // namespace rl
