// The floats of one byte: to float by a table, from float with the rounding of PyTorch.
#pragma once
#include <array>
#include <bit>

#include "base/dtype.h"

namespace rl {

// Mantissa bits, exponent bias, and what lies beyond the finite numbers. "fn": no infinity, the
// last code of either sign is NaN; "fnuz": nor a negative zero, whose code is the only NaN.
template <class T> struct Float8Format;
template <> struct Float8Format<Float8_e5m2> {
  static constexpr int mantissa = 2, bias = 15;
  static constexpr bool infinite = true, one_zero = false;
};
template <> struct Float8Format<Float8_e4m3fn> {
  static constexpr int mantissa = 3, bias = 7;
  static constexpr bool infinite = false, one_zero = false;
};
template <> struct Float8Format<Float8_e5m2fnuz> {
  static constexpr int mantissa = 2, bias = 16;
  static constexpr bool infinite = false, one_zero = true;
};
template <> struct Float8Format<Float8_e4m3fnuz> {
  static constexpr int mantissa = 3, bias = 8;
  static constexpr bool infinite = false, one_zero = true;
};

template <class T> constexpr float decode_float8(uint8_t bits) {
  using F = Float8Format<T>;
  const uint32_t sign = uint32_t(bits & 0x80u) << 24, code = bits & 0x7fu;
  const uint32_t exponent = code >> F::mantissa, rest = code & ((1u << F::mantissa) - 1);
  const bool nan = F::one_zero ? bits == 0x80 : !F::infinite ? code == 0x7f : code > 0x7c;
  if (nan) return std::bit_cast<float>((F::one_zero ? 0u : sign) | 0x7fc00000u);
  if (F::infinite && code == 0x7c) return std::bit_cast<float>(sign | 0x7f800000u);
  if (exponent == 0) {
    const float unit = std::bit_cast<float>(uint32_t(127 + 1 - F::bias - F::mantissa) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(rest) * unit));
  }
  return std::bit_cast<float>(sign | (exponent + 127 - F::bias) << 23 | rest << (23 - F::mantissa));
}
template <> constexpr float decode_float8<Float8_e8m0fnu>(uint8_t bits) {  // powers of two
  return std::bit_cast<float>(bits == 255 ? 0x7fc00000u : bits == 0 ? 0x00400000u
                                                                    : uint32_t(bits) << 23);
}
template <class T> constexpr std::array<float, 256> decoded_float8() {
  std::array<float, 256> table{};
  for (int i = 0; i < 256; ++i) table[size_t(i)] = decode_float8<T>(uint8_t(i));
  return table;
}
template <class T> inline constexpr std::array<float, 256> kFloat8Values = decoded_float8<T>();

template <class T> inline float float_of(T v) { return kFloat8Values<T>[v.bits]; }

// Rounds to nearest even. What is too large becomes infinity; where there is none, the largest
// number in e4m3fn, NaN in the others.
template <class T> inline T float8_of(float v) {
  using F = Float8Format<T>;
  constexpr uint32_t none = F::one_zero ? 0x80 : 0x7f, last = F::infinite ? 0x7b
                          : F::one_zero ? 0x7f : 0x7e;
  const uint32_t u = std::bit_cast<uint32_t>(v), size = u & 0x7fffffffu;
  const uint32_t sign = F::one_zero ? 0 : u >> 24 & 0x80u;
  if (size > 0x7f800000u) return {uint8_t(sign | none)};
  uint32_t code;
  if (size < uint32_t(128 - F::bias) << 23) {  // subnormal: let the float adder round
    const float magic = std::bit_cast<float>(uint32_t(128 - F::bias - F::mantissa + 23) << 23);
    code = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + magic) -
           std::bit_cast<uint32_t>(magic);
  } else {
    constexpr int drop = 23 - F::mantissa;
    code = ((size + (1u << (drop - 1)) - 1 + (size >> drop & 1)) >> drop) -
           (uint32_t(127 - F::bias) << F::mantissa);
  }
  if (code > last) return {uint8_t(F::infinite ? sign | 0x7c : F::one_zero ? none : sign | last)};
  if (F::one_zero) return {uint8_t(code ? code | (u >> 24 & 0x80u) : 0)};
  return {uint8_t(sign | code)};
}
template <> inline Float8_e8m0fnu float8_of<Float8_e8m0fnu>(float v) {
  const uint32_t u = std::bit_cast<uint32_t>(v);
  const uint32_t exponent = u >> 23 & 0xff, rest = u & 0x7fffffu;
  const uint32_t up = rest >= (exponent ? 0x400000u : 0x400001u);
  return {uint8_t(exponent == 255 ? 255 : exponent + up)};
}

}  // namespace rl
