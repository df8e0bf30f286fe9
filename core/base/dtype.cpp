// Promotion of element types and their names.
#include "base/dtype.h"

#include "base/error.h"

namespace rl {

void refuse_dtype(DType t) {
  fail(ErrorKind::NotImplemented, "\"cpu_kernel\" not implemented for '", type_name_of(t), "'");
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Undefined) return b;
  if (b == DType::Undefined) return a;
  check(!is_float8(a) && !is_float8(b), "Promotion for Float8 Types is not supported, attempted to "
        "promote ", type_name_of(a), " and ", type_name_of(b));
  check(a != DType::Float4_e2m1fn_x2 && b != DType::Float4_e2m1fn_x2, "Promotion for Float4 Types "
        "is not supported, attempted to promote ", type_name_of(a), " and ", type_name_of(b));
  const int ca = category(a), cb = category(b);
  check(!(is_wide_unsigned(a) || is_wide_unsigned(b)) || ca == 2 || cb == 2,
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
        type_name_of(a), " and ", type_name_of(b));
  if (ca != cb) {
    const DType high = ca > cb ? a : b, low = ca > cb ? b : a;
    if (!is_complex(high) || !is_floating(low)) return high;
    return low == DType::Double ? DType::ComplexDouble
         : high == DType::ComplexHalf && low != DType::Half ? DType::ComplexFloat : high;
  }
  if (ca == 1) {
    if (a == DType::UInt8 || b == DType::UInt8) {
      const DType other = a == DType::UInt8 ? b : a;
      return other == DType::Int8 ? DType::Int16 : other;
    }
    return a > b ? a : b;
  }
  if (ca == 2) {
    if (is_half(a) && is_half(b)) return DType::Float;  // half with bfloat16
    if (is_half(a)) return b;
    if (is_half(b)) return a;
    return DType::Double;
  }
  return a > b ? a : b;
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

const char* name_of(DType t) {
  switch (t) {
    case DType::UInt8: return "uint8";
    case DType::Int8: return "int8";
    case DType::Int16: return "int16";
    case DType::Int32: return "int32";
    case DType::Int64: return "int64";
    case DType::Half: return "float16";
    case DType::Float: return "float32";
    case DType::Double: return "float64";
    case DType::ComplexHalf: return "complex32";
    case DType::ComplexFloat: return "complex64";
    case DType::ComplexDouble: return "complex128";
    case DType::Bool: return "bool";
    case DType::BFloat16: return "bfloat16";
    case DType::UInt16: return "uint16";
    case DType::UInt32: return "uint32";
    case DType::UInt64: return "uint64";
    case DType::Float8_e5m2: return "float8_e5m2";
    case DType::Float8_e4m3fn: return "float8_e4m3fn";
    case DType::Float8_e5m2fnuz: return "float8_e5m2fnuz";
    case DType::Float8_e4m3fnuz: return "float8_e4m3fnuz";
    case DType::Float8_e8m0fnu: return "float8_e8m0fnu";
    case DType::Float4_e2m1fn_x2: return "float4_e2m1fn_x2";
    default: return "undefined";
  }
}

const char* type_name_of(DType t) {
  switch (t) {
    case DType::UInt8: return "Byte";
    case DType::Int8: return "Char";
    case DType::Int16: return "Short";
    case DType::Int32: return "Int";
    case DType::Int64: return "Long";
    case DType::Half: return "Half";
    case DType::Float: return "Float";
    case DType::Double: return "Double";
    case DType::ComplexHalf: return "ComplexHalf";
    case DType::ComplexFloat: return "ComplexFloat";
    case DType::ComplexDouble: return "ComplexDouble";
    case DType::Bool: return "Bool";
    case DType::BFloat16: return "BFloat16";
    case DType::UInt16: return "UInt16";
    case DType::UInt32: return "UInt32";
    case DType::UInt64: return "UInt64";
    case DType::Float8_e5m2: return "Float8_e5m2";
    case DType::Float8_e4m3fn: return "Float8_e4m3fn";
    case DType::Float8_e5m2fnuz: return "Float8_e5m2fnuz";
    case DType::Float8_e4m3fnuz: return "Float8_e4m3fnuz";
    case DType::Float8_e8m0fnu: return "Float8_e8m0fnu";
    case DType::Float4_e2m1fn_x2: return "Float4_e2m1fn_x2";
    default: return "Undefined";
  }
}

const char* c_name_of(DType t) {
  switch (t) {
    case DType::UInt8: return "unsigned char";
    case DType::Int8: return "signed char";
    case DType::Int16: return "short int";
    case DType::Int32: return "int";
    case DType::Int64: return "long int";
    case DType::Half: return "c10::Half";
    case DType::Float: return "float";
    case DType::Double: return "double";
    case DType::ComplexHalf: return "c10::complex<c10::Half>";
    case DType::ComplexFloat: return "c10::complex<float>";
    case DType::ComplexDouble: return "c10::complex<double>";
    case DType::Bool: return "bool";
    case DType::BFloat16: return "c10::BFloat16";
    case DType::UInt16: return "short unsigned int";
    case DType::UInt32: return "unsigned int";
    case DType::UInt64: return "long unsigned int";
    case DType::Float8_e5m2: return "c10::Float8_e5m2";
    case DType::Float8_e4m3fn: return "c10::Float8_e4m3fn";
    case DType::Float8_e5m2fnuz: return "c10::Float8_e5m2fnuz";
    case DType::Float8_e4m3fnuz: return "c10::Float8_e4m3fnuz";
    case DType::Float8_e8m0fnu: return "c10::Float8_e8m0fnu";
    case DType::Float4_e2m1fn_x2: return "c10::Float4_e2m1fn_x2";
    default: return "undefined";
  }
}

}  // namespace rl
