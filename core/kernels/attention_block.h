// Blocks of queries in attention, as its kernels of all dtypes walk them.
#pragma once
#include <algorithm>
#include <limits>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/attention.h"
#include "kernels/levels/attention.h"
#include "kernels/scratch.h"

namespace rl::kernels {

constexpr int64_t kQueries = 96;   // rows of a block of scores
constexpr int64_t kKeys = 512;     // columns
template <class T> constexpr T kNever = -std::numeric_limits<T>::infinity();

template <class T> T* buffer(Scratch use, int64_t elements) {
  return static_cast<T*>(scratch(use, size_t(elements + 64) * sizeof(T)));
}
template <class T> T* row_of(const Stacks& s, int64_t b, int64_t h, int64_t i) {
  return static_cast<T*>(s.data) + b * s.strides[0] + h * s.strides[1] + i * s.strides[2];
}

// Queries [first, first + rows) of one head, and where their keys lie.
template <class T> struct Block {
  const Attention& a;
  int64_t b, h, first, rows;

  int64_t key_head() const { return h / (a.heads / a.key_heads); }
  int64_t limit() const { return a.causal ? std::min(a.keys, first + rows) : a.keys; }
  // Of n keys from `key` on, how many come no later than query r of the block.
  int64_t seen(int64_t r, int64_t key, int64_t n) const {
    return a.causal ? std::clamp<int64_t>(first + r + 1 - key, 0, n) : n;
  }
  const T* query() const { return row_of<T>(a.query, b, h, first); }
  // The block's part of numbers that are one per query, if there are any.
  template <class N> N* of(N* all) const {
    return all ? all + (b * a.heads + h) * a.queries + first : nullptr;
  }
};

// Scores of row r of a block, of keys from `key` on, with the mask added; masks are bool or T.
template <class T, class U>
void add_mask(T* row, const Block<U>& x, int64_t r, int64_t key, int64_t n) {
  const Attention& a = x.a;
  if (!a.mask.data) return;
  const int64_t step = a.mask.strides[3];
  const int64_t at = x.b * a.mask.strides[0] + x.h * a.mask.strides[1] +
                     (x.first + r) * a.mask.strides[2] + key * step;
  const auto dense = [&](const auto* from, auto* room) {
    if (step == 1) return from;
    for (int64_t j = 0; j < n; ++j) room[j] = from[j * step];
    return static_cast<decltype(from)>(room);
  };
  if (a.mask_is_bool) {
    char room[kKeys];
    attention_loops<T>().drop(row, dense(static_cast<const char*>(a.mask.data) + at, room), n);
  } else {
    T room[kKeys];
    attention_loops<T>().add(row, dense(static_cast<const T*>(a.mask.data) + at, room), n);
  }
}

// one(Block) for all blocks of queries, divided among threads.
template <class T, class One> void for_blocks(const Attention& a, One&& one) {
  const int64_t blocks = (a.queries + kQueries - 1) / kQueries;
  parallel_for(0, a.batch * a.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / blocks, first = i % blocks * kQueries;
      one(Block<T>{a, head / a.heads, head % a.heads, first,
                   std::min(kQueries, a.queries - first)});
      poll_interrupt();
    }
  });
}

// Of operands in bfloat16, usable if attends_in_halves(); masks are bool or float.
void attention_bfloat16(const Attention& problem, const Stacks& out, float* log_sums);

}  // namespace rl::kernels
