// Strided operands of pointwise loops, moved through small contiguous tiles.
#include <algorithm>
#include <cstring>

#include "kernels/pointwise.h"

namespace rl::kernels {
namespace {

constexpr int64_t kTile = 256;  // elements
constexpr int64_t kWidest = 16;

template <int size>
void move(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
}

void move_items(int size, char* to, int64_t to_stride, const char* from, int64_t from_stride,
                int64_t n) {
  switch (size) {
    case 1: return move<1>(to, to_stride, from, from_stride, n);
    case 2: return move<2>(to, to_stride, from, from_stride, n);
    case 4: return move<4>(to, to_stride, from, from_stride, n);
    case 8: return move<8>(to, to_stride, from, from_stride, n);
    default: return move<16>(to, to_stride, from, from_stride, n);
  }
}

}  // namespace

void run_in_tiles(Loop loop, int arity, const uint8_t* sizes, char* const* data,
                  const int64_t* strides, int64_t n, const Scalar* params) {
  alignas(64) char tiles[kMaxArity + 1][kTile * kWidest];
  char* at[kMaxArity + 1];
  int64_t steps[kMaxArity + 1];
  for (int k = 0; k <= arity; ++k) {
    const bool direct = strides[k] == sizes[k] || (k > 0 && strides[k] == 0);
    steps[k] = direct ? strides[k] : sizes[k];
    at[k] = direct ? data[k] : tiles[k];
  }
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t count = std::min(kTile, n - begin);
    for (int k = 0; k <= arity; ++k) {
      char* const p = data[k] + begin * strides[k];
      if (at[k] != tiles[k]) at[k] = p;
      else if (k > 0) move_items(sizes[k], tiles[k], sizes[k], p, strides[k], count);
    }
    loop(at, steps, count, params);
    if (at[0] == tiles[0]) {
      move_items(sizes[0], data[0] + begin * strides[0], strides[0], tiles[0], sizes[0], count);
    }
  }
}

}  // namespace rl::kernels
