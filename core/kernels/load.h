// Reading and writing an element of memory.
#pragma once
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rl::kernels {

// A bool may lie in memory as any byte: a view of other bytes, a file, memory never written.
template <class T> inline T load(const char* p) {
  std::conditional_t<std::is_same_v<T, bool>, uint8_t, T> v;
  std::memcpy(&v, p, sizeof v);
  if constexpr (std::is_same_v<T, bool>) return v != 0;
  else return v;
}

// Complex numbers are written by their parts, since eight bytes that were made as two fours are
// waited for when they are read. Loops of vectors read them so, calls of functions do not.
template <class T> constexpr bool has_parts = false;
template <class T> constexpr bool has_parts<std::complex<T>> = true;

template <class T> inline T load_parts(const char* p) {
  if constexpr (has_parts<T>) {
    using Part = typename T::value_type;
    return T(load<Part>(p), load<Part>(p + sizeof(Part)));
  } else {
    return load<T>(p);
  }
}
template <class T> inline void store(char* p, T v) {
  if constexpr (has_parts<T>) {
    store(p, v.real());
    store(p + sizeof v / 2, v.imag());
  } else {
    std::memcpy(p, &v, sizeof v);
  }
}
template <class T> inline T element(const T& place) {
  return load<T>(reinterpret_cast<const char*>(&place));
}

}  // namespace rl::kernels
