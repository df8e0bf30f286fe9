// Element types: their numbers, sizes, categories, C++ types and promotion.
#pragma once
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rl {

// The numbers are PyTorch's (c10/core/ScalarType.h), so pickles and comparisons agree.
enum class DType : int8_t {
  UInt8 = 0, Int8 = 1, Int16 = 2, Int32 = 3, Int64 = 4,
  Half = 5, Float = 6, Double = 7,
  ComplexHalf = 8, ComplexFloat = 9, ComplexDouble = 10,
  Bool = 11, BFloat16 = 15,
  Float8_e5m2 = 23, Float8_e4m3fn = 24, Float8_e5m2fnuz = 25, Float8_e4m3fnuz = 26,
  UInt16 = 27, UInt32 = 28, UInt64 = 29,
  Float8_e8m0fnu = 44, Float4_e2m1fn_x2 = 45,
  Undefined = -1
};
constexpr int kDTypes = 46;  // one past the largest number: tables are indexed by dtype

// IEEE binary16 and the upper half of a float; arithmetic on them is done in float.
struct Half { uint16_t bits; };
struct BFloat16 { uint16_t bits; };
struct ComplexHalf { Half real, imag; };
// Floats of a byte; base/float8.h says what their bits mean. Float4 is a pair of numbers in a byte.
struct Float8_e5m2 { uint8_t bits; };
struct Float8_e4m3fn { uint8_t bits; };
struct Float8_e5m2fnuz { uint8_t bits; };
struct Float8_e4m3fnuz { uint8_t bits; };
struct Float8_e8m0fnu { uint8_t bits; };
struct Float4_e2m1fn_x2 { uint8_t bits; };

inline float to_float(BFloat16 h) {
  uint32_t u = uint32_t(h.bits) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

// Round to nearest even; NaN becomes the quiet NaN 0x7FC0, as in PyTorch.
inline BFloat16 to_bfloat16(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {0x7FC0};
  return {uint16_t((u + 0x7fffu + ((u >> 16) & 1)) >> 16)};
}

inline float to_float(Half h) {
  const uint32_t sign = uint32_t(h.bits & 0x8000u) << 16;
  const uint32_t rest = h.bits & 0x7fffu;
  uint32_t u;
  if (rest >= 0x7c00u) {
    u = sign | 0x7f800000u | ((rest & 0x3ffu) << 13);
  } else if (rest >= 0x400u) {
    u = sign | ((rest << 13) + 0x38000000u);
  } else {
    float f = float(rest) * 5.9604644775390625e-8f;  // subnormal: rest * 2^-24
    std::memcpy(&u, &f, 4);
    u |= sign;
  }
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

inline Half to_half(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  const uint16_t sign = uint16_t((u >> 16) & 0x8000u);
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return {uint16_t(sign | 0x7e00u)};
  if (u >= 0x477ff000u) return {uint16_t(sign | 0x7c00u)};
  if (u < 0x38800000u) {  // below the least normal: let the float adder round at 2^-24
    float a;
    std::memcpy(&a, &u, 4);
    a += 0.5f;
    uint32_t r;
    std::memcpy(&r, &a, 4);
    return {uint16_t(sign | (r - 0x3f000000u))};
  }
  u += 0xc8000fffu + ((u >> 13) & 1);
  return {uint16_t(sign | (u >> 13))};
}

inline std::complex<float> to_complex(ComplexHalf z) {
  return {to_float(z.real), to_float(z.imag)};
}
inline ComplexHalf to_complex_half(std::complex<float> z) {
  return {to_half(z.real()), to_half(z.imag())};
}

constexpr int kItemSize[kDTypes] = {
    1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 0, 0, 0, 2,                   // up to BFloat16
    0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 4, 8,                          // up to UInt64
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
constexpr int64_t item_size(DType t) { return kItemSize[int(t)]; }

// Sets of dtypes, as bits; Undefined is in none.
constexpr uint64_t dtype_bit(DType t) { return uint64_t(1) << (int(t) & 63); }
constexpr uint64_t kWideUnsigned =
    dtype_bit(DType::UInt16) | dtype_bit(DType::UInt32) | dtype_bit(DType::UInt64);
constexpr uint64_t kFloat8 = dtype_bit(DType::Float8_e5m2) | dtype_bit(DType::Float8_e4m3fn) |
                             dtype_bit(DType::Float8_e5m2fnuz) |
                             dtype_bit(DType::Float8_e4m3fnuz) | dtype_bit(DType::Float8_e8m0fnu);
constexpr uint64_t kFloating = dtype_bit(DType::Half) | dtype_bit(DType::Float) |
                               dtype_bit(DType::Double) | dtype_bit(DType::BFloat16) | kFloat8 |
                               dtype_bit(DType::Float4_e2m1fn_x2);
constexpr bool is_in(uint64_t set, DType t) { return set >> (int(t) & 63) & 1; }

constexpr bool is_bool(DType t) { return t == DType::Bool; }
constexpr bool is_wide_unsigned(DType t) { return is_in(kWideUnsigned, t); }
constexpr bool is_integral(DType t) {  // not bool
  return (t >= DType::UInt8 && t <= DType::Int64) || is_wide_unsigned(t);
}
constexpr bool is_unsigned(DType t) { return t == DType::UInt8 || is_wide_unsigned(t); }
constexpr bool has_sign(DType t) {
  return !is_unsigned(t) && !is_bool(t) && t != DType::Float8_e8m0fnu;
}
constexpr bool is_half(DType t) { return t == DType::Half || t == DType::BFloat16; }
constexpr bool is_float8(DType t) { return is_in(kFloat8, t); }
constexpr bool is_floating(DType t) { return is_in(kFloating, t); }
constexpr bool is_complex(DType t) {
  return t == DType::ComplexFloat || t == DType::ComplexDouble || t == DType::ComplexHalf;
}
// Dtypes that few kernels compute in: ops/stored.h says which ops take them.
constexpr bool is_stored_only(DType t) { return t > DType::BFloat16; }
constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }

// bool < integral < floating < complex: the category that decides between kinds of operands.
constexpr int category(DType t) {
  return is_bool(t) ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3;
}
constexpr DType real_of(DType t) {
  return t == DType::ComplexFloat ? DType::Float : t == DType::ComplexDouble ? DType::Double
       : t == DType::ComplexHalf ? DType::Half : t;
}
constexpr DType complex_of(DType t) {
  return t == DType::Double || t == DType::ComplexDouble ? DType::ComplexDouble
       : t == DType::Half || t == DType::ComplexHalf ? DType::ComplexHalf : DType::ComplexFloat;
}
// What arithmetic on a dtype is done in: halves and smaller floats in float, unsigned numbers of
// more than a byte in the widest of them.
constexpr DType compute_of(DType t) {
  return is_half(t) || is_float8(t) ? DType::Float : t == DType::ComplexHalf ? DType::ComplexFloat
       : is_wide_unsigned(t) ? DType::UInt64 : t;
}

DType promote(DType a, DType b);       // PyTorch's table, symmetric
bool can_cast(DType from, DType to);   // by category only
const char* name_of(DType t);          // "float32"
const char* type_name_of(DType t);     // "Float", as in PyTorch's messages
const char* c_name_of(DType t);        // "float", "long int": what PyTorch's messages say of C types

template <class T> struct DTypeOf;
#define RL_DTYPES(_)                                                             \
  _(uint8_t, UInt8) _(int8_t, Int8) _(int16_t, Int16) _(int32_t, Int32)          \
  _(int64_t, Int64) _(Half, Half) _(float, Float) _(double, Double)              \
  _(std::complex<float>, ComplexFloat) _(std::complex<double>, ComplexDouble)    \
  _(bool, Bool) _(BFloat16, BFloat16)
#define RL_WIDE_UNSIGNED(_) _(uint16_t, UInt16) _(uint32_t, UInt32) _(uint64_t, UInt64)
#define RL_FLOAT8(_)                                                             \
  _(Float8_e5m2, Float8_e5m2) _(Float8_e4m3fn, Float8_e4m3fn)                    \
  _(Float8_e5m2fnuz, Float8_e5m2fnuz) _(Float8_e4m3fnuz, Float8_e4m3fnuz)        \
  _(Float8_e8m0fnu, Float8_e8m0fnu)
// ... and those that are stored, moved, filled and converted, but in which few kernels compute.
#define RL_STORED_DTYPES(_) \
  RL_DTYPES(_) _(ComplexHalf, ComplexHalf) RL_WIDE_UNSIGNED(_) RL_FLOAT8(_)
#define RL_DTYPE_OF(T, N) \
  template <> struct DTypeOf<T> { static constexpr DType value = DType::N; };
RL_STORED_DTYPES(RL_DTYPE_OF)
#undef RL_DTYPE_OF
template <class T> constexpr bool is_float8_type = false;
#define RL_IS_FLOAT8(T, N) template <> constexpr bool is_float8_type<T> = true;
RL_FLOAT8(RL_IS_FLOAT8)
#undef RL_IS_FLOAT8

[[noreturn]] void refuse_dtype(DType t);

// Calls f with a null pointer of the dtype's C++ type: dispatch(t, [&](auto* p) {...}). Dtypes
// that are only stored are refused here, and served by dispatch_stored.
template <class F> decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
#define RL_CASE(T, N) case DType::N: return f(static_cast<T*>(nullptr));
    RL_DTYPES(RL_CASE)
#undef RL_CASE
    default: refuse_dtype(t);
  }
}
template <class F> decltype(auto) dispatch_stored(DType t, F&& f) {
  switch (t) {
#define RL_CASE(T, N) case DType::N: return f(static_cast<T*>(nullptr));
    RL_STORED_DTYPES(RL_CASE)
#undef RL_CASE
    default: refuse_dtype(t);
  }
}
template <class P> using pointee = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<P>>>;

}  // namespace rl
