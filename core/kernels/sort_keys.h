// Integer keys that order as the values do: what sorting and selecting compare.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "kernels/load.h"
#include "kernels/vectorised.h"

namespace rl::kernels {

// Signed keys: -0 and +0 share one, all NaNs share the largest. 64 bits only where needed.
template <class T> using KeyOf =
    std::conditional_t<(sizeof(T) > 4), int64_t, int32_t>;
template <class T> constexpr KeyOf<T> kNanKey = std::numeric_limits<KeyOf<T>>::max();

template <class T> __attribute__((always_inline)) inline KeyOf<T> key_of(const T& v) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    using K = KeyOf<T>;
    const T positive_zero = v + T(0);
    K bits;
    std::memcpy(&bits, &positive_zero, sizeof(K));
    bits ^= (bits >> (sizeof(K) * 8 - 1)) & std::numeric_limits<K>::max();
    return v != v ? kNanKey<T> : bits;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    const int32_t magnitude = v.bits & 0x7fff;
    const int32_t signed_key = v.bits & 0x8000 ? -magnitude : magnitude;
    return magnitude > (std::is_same_v<T, Half> ? 0x7c00 : 0x7f80) ? kNanKey<T> : signed_key;
  } else if constexpr (std::is_same_v<T, bool>) {
    return element(v);
  } else {
    return KeyOf<T>(v);
  }
}

// The value of a key. False for the two keys that several values share (0 and NaN of floats):
// those must be fetched.
template <class T> inline bool value_of(KeyOf<T> key, T* v) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    using K = KeyOf<T>;
    const K bits = key ^ ((key >> (sizeof(K) * 8 - 1)) & std::numeric_limits<K>::max());
    std::memcpy(v, &bits, sizeof(K));
    return key != 0 && key != kNanKey<T>;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    v->bits = uint16_t(key < 0 ? 0x8000 - key : key);
    return key != 0 && key != kNanKey<T>;
  } else {
    *v = T(key);
    return true;
  }
}

// keys[i] = key_of(from[i]) ^ flip; flip is 0, or -1 to turn the order around.
template <class T>
RL_VECTORISED void make_keys(const T* from, int64_t n, KeyOf<T> flip, KeyOf<T>* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(from[i]) ^ flip;
}

template <class K> RL_VECTORISED K least(const K* keys, int64_t n) {
  K m = keys[0];
  for (int64_t i = 1; i < n; ++i) m = keys[i] < m ? keys[i] : m;
  return m;
}
template <class K> RL_VECTORISED K greatest(const K* keys, int64_t n) {
  K m = keys[0];
  for (int64_t i = 1; i < n; ++i) m = keys[i] > m ? keys[i] : m;
  return m;
}

// A key with its place in the row.
template <class K> struct Entry {
  K key;
  int64_t index;
};
template <class K> inline bool operator<(const Entry<K>& a, const Entry<K>& b) {
  return a.key < b.key;
}

// Below this many elements an unstable sort leaves equal values where PyTorch's does; longer rows
// are sorted by digits, stably.
constexpr int64_t kReplayedSort = 32768;

template <class F> void dispatch_sortable(DType t, F&& f) {
  dispatch(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (!std::is_same_v<T, std::complex<float>> &&
                  !std::is_same_v<T, std::complex<double>>) {
      f(p);
    }
  });
}

}  // namespace rl::kernels
