// Moves of elements by item size.
#include "kernels/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/level.h"
#include "kernels/vectorised.h"

namespace rl::kernels {
namespace {

struct Sixteen { uint64_t low, high; };

template <class F> inline void by_size(int64_t size, F&& f) {
  switch (size) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return f(Sixteen());
  }
}
template <class T> inline T load(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> inline void store(char* p, T v) { std::memcpy(p, &v, sizeof v); }

// to[i][j] = from[j][i] for a square of `block`, where `to` is dense.
template <class T, int block>
inline void transpose_into(T (&to)[block][block], const char* from, int64_t stride) {
  for (int j = 0; j < block; ++j) {
    for (int i = 0; i < block; ++i) to[i][j] = load<T>(from + j * stride + i * sizeof(T));
  }
}
template <>
inline void transpose_into<uint32_t, 16>(uint32_t (&to)[16][16], const char* from,
                                         int64_t stride) {
  typedef uint32_t Four __attribute__((vector_size(16)));
  constexpr Four kLow = {0, 4, 1, 5}, kHigh = {2, 6, 3, 7};
  constexpr Four kFirst = {0, 1, 4, 5}, kSecond = {2, 3, 6, 7};
  for (int j = 0; j < 16; j += 4) {
    for (int i = 0; i < 16; i += 4) {
      const char* p = from + j * stride + i * 4;
      const Four a = load<Four>(p), b = load<Four>(p + stride);
      const Four c = load<Four>(p + 2 * stride), d = load<Four>(p + 3 * stride);
      const Four ab = __builtin_shuffle(a, b, kLow), cd = __builtin_shuffle(c, d, kLow);
      const Four ab2 = __builtin_shuffle(a, b, kHigh), cd2 = __builtin_shuffle(c, d, kHigh);
      store((char*)&to[i][j], __builtin_shuffle(ab, cd, kFirst));
      store((char*)&to[i + 1][j], __builtin_shuffle(ab, cd, kSecond));
      store((char*)&to[i + 2][j], __builtin_shuffle(ab2, cd2, kFirst));
      store((char*)&to[i + 3][j], __builtin_shuffle(ab2, cd2, kSecond));
    }
  }
}

// One block of a transpose: whole cache lines are read and written, by way of a buffer, since
// rows that lie a power of two apart share the few places of one cache set.
template <class T, int block>
void transpose_block(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                     int64_t rows, int64_t columns) {
  if (rows == block && columns == block) {
    T buffer[block][block];
    transpose_into<T, block>(buffer, in, in_stride);
    for (int i = 0; i < block; ++i) std::memcpy(out + i * out_stride, buffer[i], sizeof buffer[i]);
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      store(out + i * out_stride + j * sizeof(T), load<T>(in + j * in_stride + i * sizeof(T)));
    }
  }
}

// Squares of a side that touches few enough pages for the CPU's table of them.
constexpr int64_t kSquare = 512;

template <class T, int block>
void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
               int64_t columns) {
  const auto square = [&](int64_t i0, int64_t j0) {
    const int64_t i1 = std::min(rows, i0 + kSquare), j1 = std::min(columns, j0 + kSquare);
    for (int64_t i = i0; i < i1; i += block) {
      for (int64_t j = j0; j < j1; j += block) {
        if (j + 2 * block <= j1 && i + block <= i1) {  // no CPU foresees these strides
          for (int k = 0; k < block; ++k) {
            __builtin_prefetch(in + (j + block + k) * in_stride + i * sizeof(T));
            __builtin_prefetch(out + (i + k) * out_stride + (j + block) * sizeof(T), 1);
          }
        }
        transpose_block<T, block>(out + i * out_stride + j * sizeof(T), out_stride,
                                  in + j * in_stride + i * sizeof(T), in_stride,
                                  std::min<int64_t>(block, i1 - i),
                                  std::min<int64_t>(block, j1 - j));
      }
    }
  };
  for (int64_t i = 0; i < rows; i += kSquare) {
    for (int64_t j = 0; j < columns; j += kSquare) square(i, j);
  }
}

template <class T> RL_VECTORISED void fill_dense(char* out, T v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store(out + i * int64_t(sizeof(T)), v);
}
template <class T> RL_WIDE void fill_dense_wide(char* out, T v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store(out + i * int64_t(sizeof(T)), v);
}

template <int64_t known>
void copy_known_rows(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                     int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) std::memcpy(out + r * out_stride, in + r * in_stride, known);
}

// The rows of a few planes taken by turns into rows of as many items, and the way back.
template <class T, int n>
inline __attribute__((always_inline)) void take_turns(char* out, const char* in, int64_t step,
                                                      int64_t rows) {
  constexpr int64_t item = sizeof(T);
  RL_INDEPENDENT for (int64_t r = 0; r < rows; ++r) {
    for (int j = 0; j < n; ++j) {
      store(out + (r * n + j) * item, load<T>(in + j * step + r * item));
    }
  }
}
template <class T, int n>
RL_VECTORISED void interleave(char* out, const char* in, int64_t step, int64_t rows) {
  take_turns<T, n>(out, in, step, rows);
}
template <class T, int n>
RL_WIDE void interleave_wide(char* out, const char* in, int64_t step, int64_t rows) {
  take_turns<T, n>(out, in, step, rows);
}
template <int n>
void interleave_items(char* out, const char* in, int64_t step, int64_t rows, int64_t size) {
  by_size(size, [&](auto zero) {
    using T = decltype(zero);
    const bool wide = cpu_level() >= kWideLevel;
    (wide ? interleave_wide<T, n> : interleave<T, n>)(out, in, step, rows);
  });
}

}  // namespace

void fill_items(char* out, int64_t stride, int64_t n, const char* value, int64_t size) {
  by_size(size, [&](auto zero) {
    using T = decltype(zero);
    const T v = load<T>(value);
    if (stride == int64_t(sizeof(T))) {
      const T none{};
      if (sizeof(T) == 1 || std::memcmp(&v, &none, sizeof v) == 0) {
        std::memset(out, *value, size_t(n) * sizeof(T));
        return;
      }
      return (cpu_level() >= kWideLevel ? fill_dense_wide<T> : fill_dense<T>)(out, v, n);
    }
    for (int64_t i = 0; i < n; ++i) store(out + i * stride, v);
  });
}

namespace {

// Elements that lie before `in`, in reverse order.
template <class T, int bytes, size_t... i>
inline __attribute__((always_inline)) void reverse_block(char* out, const char* in,
                                                         std::index_sequence<i...>) {
  typedef T Block __attribute__((vector_size(bytes)));
  const Block v = load<Block>(in);
  store(out, Block(__builtin_shufflevector(v, v, int(sizeof...(i) - 1 - i)...)));
}
template <class T, int bytes>
inline __attribute__((always_inline)) void reverse_with(char* out, const char* in, int64_t n) {
  constexpr int64_t step = sizeof(T);
  int64_t i = 0;
  if constexpr (sizeof(T) < 16) {
    constexpr int kBlock = bytes / int(sizeof(T));
    for (; i + kBlock <= n; i += kBlock) {
      reverse_block<T, bytes>(out + i * step, in - (i + kBlock - 1) * step,
                              std::make_index_sequence<size_t(kBlock)>());
    }
  }
  for (; i < n; ++i) store(out + i * step, load<T>(in - i * step));
}
template <class T> void reverse(char* out, const char* in, int64_t n) {
  reverse_with<T, 16>(out, in, n);
}
template <class T> RL_WIDE void reverse_wide(char* out, const char* in, int64_t n) {
  reverse_with<T, 32>(out, in, n);
}
void reverse_items(char* out, const char* in, int64_t n, int64_t size) {
  by_size(size, [&](auto zero) {
    using T = decltype(zero);
    (cpu_level() >= kWideLevel ? reverse_wide<T> : reverse<T>)(out, in, n);
  });
}

// Every second, third or fourth element: strides the compiler knows.
template <class T, int apart> RL_WIDE void pick_wide(char* out, const char* in, int64_t n) {
  constexpr int64_t item = sizeof(T);
  RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    store(out + i * item, load<T>(in + i * apart * item));
  }
}
bool pick_items(char* out, const char* in, int64_t apart, int64_t n, int64_t size) {
  if (apart < 2 || apart > 4 || cpu_level() < kWideLevel) return false;
  by_size(size, [&](auto zero) {
    using T = decltype(zero);
    const auto pick = apart == 2 ? pick_wide<T, 2> : apart == 3 ? pick_wide<T, 3> : pick_wide<T, 4>;
    pick(out, in, n);
  });
  return true;
}

}  // namespace

void copy_items(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t n,
                int64_t size) {
  if (in_stride == size && out_stride == size) {
    std::memmove(out, in, size_t(n * size));
    return;
  }
  if (in_stride == 0 && n > 0) return fill_items(out, out_stride, n, in, size);
  if (in_stride == -size && out_stride == size) return reverse_items(out, in, n, size);
  if (out_stride == size && in_stride % size == 0 && n >= 16 &&
      pick_items(out, in, in_stride / size, n, size)) {
    return;
  }
  by_size(size, [&](auto zero) {
    using T = decltype(zero);
    if (out_stride == int64_t(sizeof(T))) {
      constexpr int64_t step = sizeof(T);
      for (int64_t i = 0; i < n; ++i) store(out + i * step, load<T>(in + i * in_stride));
    } else {
      for (int64_t i = 0; i < n; ++i) store(out + i * out_stride, load<T>(in + i * in_stride));
    }
  });
}

void copy_rows(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
               int64_t bytes) {
  if (out_stride == bytes && in_stride == bytes) {
    std::memcpy(out, in, size_t(rows * bytes));
    return;
  }
  switch (bytes) {
#define RL_KNOWN(n) case n: return copy_known_rows<n>(out, out_stride, in, in_stride, rows);
    RL_KNOWN(1) RL_KNOWN(2) RL_KNOWN(4) RL_KNOWN(8) RL_KNOWN(12) RL_KNOWN(16) RL_KNOWN(20)
    RL_KNOWN(24) RL_KNOWN(28) RL_KNOWN(32) RL_KNOWN(40) RL_KNOWN(48) RL_KNOWN(64) RL_KNOWN(128)
#undef RL_KNOWN
    default: break;
  }
  if (bytes < 16 || bytes > 256) {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(out + r * out_stride, in + r * in_stride, size_t(bytes));
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {  // the last sixteen bytes overlap those before
    char* const to = out + r * out_stride;
    const char* const from = in + r * in_stride;
    for (int64_t k = 0; k + 16 <= bytes; k += 16) std::memcpy(to + k, from + k, 16);
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  }
}

void copy_grid(Grid out, Grid in, int64_t rows, int64_t n, int64_t size) {
  if (out.step == size && in.step == size) {
    return copy_rows(out.data, out.row, in.data, in.row, rows, n * size);
  }
  if (out.step == size && out.row == n * size && in.row == size && n >= 2 && n <= 4) {
    const auto interleaves = n == 2   ? interleave_items<2>
                             : n == 3 ? interleave_items<3>
                                      : interleave_items<4>;
    return interleaves(out.data, in.data, in.step, rows, size);
  }
  if (rows > n) {
    std::swap(out.step, out.row);
    std::swap(in.step, in.row);
    std::swap(rows, n);
  }
  for (int64_t r = 0; r < rows; ++r) {
    copy_items(out.data + r * out.row, out.step, in.data + r * in.row, in.step, n, size);
  }
}

void transpose_items(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                     int64_t rows, int64_t columns, int64_t size) {
  switch (size) {
    case 1: return transpose<uint8_t, 32>(out, out_stride, in, in_stride, rows, columns);
    case 2: return transpose<uint16_t, 32>(out, out_stride, in, in_stride, rows, columns);
    case 4: return transpose<uint32_t, 16>(out, out_stride, in, in_stride, rows, columns);
    case 8: return transpose<uint64_t, 8>(out, out_stride, in, in_stride, rows, columns);
    default: return transpose<Sixteen, 8>(out, out_stride, in, in_stride, rows, columns);
  }
}

}  // namespace rl::kernels
