// Blocks of queries in attention, as its kernels of all dtypes walk them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/interrupt.h"
#include "base/parallel.h"
#include "kernels/attention.h"
#include "kernels/levels/attention.h"
#include "kernels/scratch.h"

namespace rl::kernels {

// A block of scores: 96 rows are eight tiles of twelve of a product, and 96 x 512 floats, 192 KiB,
// stay in the second cache between the two products that make and use them.
constexpr int64_t kQueries = 96, kKeys = 512;
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

// The softmax of a block's rows whose keys come in parts (Dao et al. 2022): the largest score of
// each row so far, and the sum of the exponentials of what its scores lie below that.
template <class T> class RunningSoftmax {
 public:
  explicit RunningSoftmax(int64_t rows) {
    std::fill(most_, most_ + rows, kNever<T>);
    std::fill(sums_, sums_ + rows, T(0));
  }
  // Row r's scores, times `scale`, of n keys from `key` on become exponentials; `made`, summed over
  // the keys before, becomes what it would be had the largest score been known.
  template <class U>
  void add(const Block<U>& x, int64_t r, int64_t key, int64_t n, T scale, T* row, T* made) {
    const int64_t seen = x.seen(r, key, n);
    std::fill(row + seen, row + n, T(0));
    if (seen == 0) return;
    if (scale != T(1)) loops_.scale(row, scale, seen);
    add_mask(row, x, r, key, seen);
    const T now = std::max(most_[r], loops_.largest(row, seen));
    // Where nothing counts yet, nothing is subtracted: such a row is zero, not NaN.
    const T shift = x.a.mask.data && now == kNever<T> ? T(0) : now;
    const T sum = loops_.exponentials(row, shift, seen);
    if (key > 0 && now != most_[r]) {
      const T before = std::exp(most_[r] - shift);
      sums_[r] *= before;
      loops_.scale(made, before, x.a.value_features);
    }
    sums_[r] += sum;
    most_[r] = now;
  }
  // `made` becomes the result; the logarithm of the sum is for the backward, and may be null.
  void finish(const Attention& a, int64_t r, T* made, T* log_sum) const {
    const bool none = a.keys == 0 || (a.mask.data && sums_[r] == 0);
    if (none) std::fill(made, made + a.value_features, T(0));
    else loops_.scale(made, 1 / sums_[r], a.value_features);
    if (log_sum) *log_sum = none ? -kNever<T> : most_[r] + std::log(sums_[r]);
  }

 private:
  const AttentionLoops<T>& loops_ = attention_loops<T>();
  T most_[kQueries], sums_[kQueries];
};

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
