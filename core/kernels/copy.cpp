// Moves of elements by item size.
#include "kernels/copy.h"

#include <algorithm>
#include <cstring>

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
      return fill_dense(out, v, n);
    }
    for (int64_t i = 0; i < n; ++i) store(out + i * stride, v);
  });
}

namespace {

// Blocks of the elements that lie before `in`, in reverse order: through the stack, where nothing
// aliases and loops of a known length become vector code.
void reverse_items(char* out, const char* in, int64_t n, int64_t size) {
  by_size(size, [&](auto zero) {
    using T = decltype(zero);
    constexpr int kBlock = 64 / int(sizeof(T)) > 0 ? 64 / int(sizeof(T)) : 1;
    constexpr int64_t step = sizeof(T);
    int64_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
      T from[kBlock], to[kBlock];
      std::memcpy(from, in - (i + kBlock - 1) * step, sizeof from);
      for (int k = 0; k < kBlock; ++k) to[k] = from[kBlock - 1 - k];
      std::memcpy(out + i * step, to, sizeof to);
    }
    for (; i < n; ++i) store(out + i * step, load<T>(in - i * step));
  });
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
