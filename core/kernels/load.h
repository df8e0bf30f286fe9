// Reading an element from memory.
#pragma once
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
template <class T> inline T element(const T& place) {
  return load<T>(reinterpret_cast<const char*>(&place));
}

}  // namespace rl::kernels
