// Conversions of every element type to every other, and the choice of the quickest.
#include "kernels/cast.h"

#include <complex>
#include <cstring>

#include "base/float8.h"
#include "base/level.h"
#include "kernels/copy.h"
#include "kernels/load.h"

namespace rl::kernels {
namespace {

template <class T> constexpr bool is_complex_type = false;
template <class T> constexpr bool is_complex_type<std::complex<T>> = true;
template <class T>
constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class To, class From> inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) return v;
  else if constexpr (is_half_type<From>) return convert<To>(to_float(v));
  else if constexpr (is_float8_type<From>) return convert<To>(float_of(v));
  else if constexpr (std::is_same_v<From, ComplexHalf>) return convert<To>(to_complex(v));
  else if constexpr (std::is_same_v<To, ComplexHalf>) {
    return to_complex_half(convert<std::complex<float>>(v));
  }
  else if constexpr (std::is_same_v<To, bool>) return v != From(0);
  else if constexpr (is_complex_type<To>) {
    using R = typename To::value_type;
    if constexpr (is_complex_type<From>) return To(R(v.real()), R(v.imag()));
    else return To(R(v), R(0));
  } else if constexpr (is_complex_type<From>) return convert<To>(v.real());
  else if constexpr (std::is_same_v<To, Half>) return to_half(float(v));
  else if constexpr (std::is_same_v<To, BFloat16>) return to_bfloat16(float(v));
  else if constexpr (is_float8_type<To>) return float8_of<To>(float(v));
  else if constexpr (std::is_unsigned_v<To> && std::is_floating_point_v<From>) {
    if constexpr (sizeof(To) == 8) {
      if (v >= From(0x1p63)) return To(int64_t(v - From(0x1p63))) ^ (To(1) << 63);
    }
    return To(int64_t(v));
  } else return static_cast<To>(v);
}

template <class To, class From>
void cast_elements(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const To r = convert<To>(load<From>(in + i * in_stride));
    std::memcpy(out + i * out_stride, &r, sizeof r);
  }
}
template <int size>
void same_type(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n) {
  copy_items(out, out_stride, in, in_stride, n, size);
}

template <class To, class From> constexpr Cast cast_between() {
  if constexpr (std::is_same_v<To, From>) return &same_type<sizeof(To)>;
  else return &cast_elements<To, From>;
}

struct Table {
  Cast at[kDTypes][kDTypes] = {};
};
template <class From> constexpr void fill_row(Cast* row) {
#define RL_FILL(T, N) row[int(DType::N)] = cast_between<T, From>();
  RL_STORED_DTYPES(RL_FILL)
#undef RL_FILL
}
constexpr Table make_table() {
  Table t;
#define RL_FILL(T, N) fill_row<T>(t.at[int(DType::N)]);
  RL_STORED_DTYPES(RL_FILL)
#undef RL_FILL
  return t;
}
constinit const Table kTable = make_table();

}  // namespace

#if defined(__x86_64__)
namespace level1 {
Cast quick_cast(DType from, DType to);
}
namespace level2 {
Cast quick_cast(DType from, DType to);
}
#endif

Cast cast(DType from, DType to) {
#if defined(__x86_64__)
  if (cpu_level() >= Level::Avx512) {
    if (const Cast quick = level2::quick_cast(from, to)) return quick;
  }
  if (cpu_level() >= Level::Avx2) {
    if (const Cast quick = level1::quick_cast(from, to)) return quick;
  }
#endif
  return kTable.at[int(from)][int(to)];
}

}  // namespace rl::kernels
