// Attention in blocks that stay in cache, with a running softmax (Dao et al. 2022).
#include "kernels/attention.h"

#include <algorithm>

#include "base/level.h"
#include "kernels/attention_block.h"
#include "kernels/gemm.h"

namespace rl::kernels {
namespace {

// to (dense rows x n) = scale * from K^T, K being keys or values from `key` on.
template <class T>
void scores_of(T* to, const T* from, const int64_t* strides, const Stacks& k, const Block<T>& x,
               int64_t key, int64_t n, int64_t depth, double scale) {
  MatrixProduct p;
  p.m = x.rows, p.n = n, p.k = depth, p.alpha = scale;
  p.a = from, p.a_row = strides[2], p.a_col = strides[3];
  p.b = row_of<T>(k, x.b, x.key_head(), key), p.b_row = k.strides[3], p.b_col = k.strides[2];
  p.c = to, p.c_row = n;
  gemm(DTypeOf<T>::value, p);
}

// c = beta * c + scale * rows @ B, or rows^T @ B; rows are x.rows x n, dense.
template <class T>
void product(const Block<T>& x, const T* rows, int64_t n, bool turned, const T* b,
             const int64_t* b_strides, T* c, const int64_t* c_strides, int64_t width, double scale,
             bool add) {
  MatrixProduct p;
  p.m = turned ? n : x.rows, p.n = width, p.k = turned ? x.rows : n;
  p.a = rows, p.a_row = turned ? 1 : n, p.a_col = turned ? n : 1;
  p.b = b, p.b_row = b_strides[2], p.b_col = b_strides[3];
  p.c = c, p.c_row = c_strides[2], p.c_col = c_strides[3];
  p.alpha = scale, p.beta = add ? 1 : 0;
  gemm(DTypeOf<T>::value, p);
}

// One block of queries: their results, and the logarithms of their sums.
template <class T> void attend(const Block<T>& x, const Stacks& out, T* log_sums) {
  const Attention& a = x.a;
  T* const scores = buffer<T>(Scratch::Column, x.rows * std::min(kKeys, a.keys));
  T* const to = row_of<T>(out, x.b, x.h, x.first);
  RunningSoftmax<T> softmax(x.rows);
  for (int64_t key = 0; key < x.limit(); key += kKeys) {
    const int64_t n = std::min(kKeys, x.limit() - key);
    scores_of(scores, x.query(), a.query.strides, a.key, x, key, n, a.features, a.scale);
    for (int64_t r = 0; r < x.rows; ++r)
      softmax.add(x, r, key, n, T(1), scores + r * n, to + r * out.strides[2]);
    product(x, scores, n, false, row_of<T>(a.value, x.b, x.key_head(), key), a.value.strides, to,
            out.strides, a.value_features, 1, key > 0);
  }
  for (int64_t r = 0; r < x.rows; ++r)
    softmax.finish(a, r, to + r * out.strides[2], log_sums ? log_sums + r : nullptr);
}

// Dense rows of the result's gradient: `room` holds a copy where they lie otherwise.
template <class T>
const T* dense_rows(T* room, const T* from, const int64_t* strides, int64_t rows, int64_t width,
                    int64_t (&to_strides)[4]) {
  to_strides[2] = strides[2], to_strides[3] = strides[3];
  if (strides[3] == 1) return from;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < width; ++j) room[r * width + j] = from[r * strides[2] + j * strides[3]];
  }
  to_strides[2] = width, to_strides[3] = 1;
  return room;
}

// One block's share in all three gradients; those of keys and values are added to.
template <class T>
void attend_back(const Block<T>& x, const Stacks& out, const T* log_sums, const Stacks& grad_out,
                 const AttentionGradients& grads) {
  const AttentionLoops<T>& loops = attention_loops<T>();
  const Attention& a = x.a;
  const int64_t most = std::min(kKeys, a.keys), width = a.value_features, kh = x.key_head();
  T* const scores = buffer<T>(Scratch::Column, x.rows * most);
  T* const steps = buffer<T>(Scratch::Image, x.rows * most);
  int64_t strides[4];
  const T* grad = dense_rows(buffer<T>(Scratch::Convert, x.rows * width),
                             static_cast<const T*>(row_of<T>(grad_out, x.b, x.h, x.first)),
                             grad_out.strides, x.rows, width, strides);
  const T* result = row_of<T>(out, x.b, x.h, x.first);
  T means[kQueries];
  for (int64_t r = 0; r < x.rows; ++r) {
    means[r] = loops.dot(grad + r * strides[2], result + r * out.strides[2], width);
  }
  for (int64_t key = 0; key < x.limit(); key += kKeys) {
    const int64_t n = std::min(kKeys, x.limit() - key);
    scores_of(scores, x.query(), a.query.strides, a.key, x, key, n, a.features, a.scale);
    scores_of(steps, grad, strides, a.value, x, key, n, width, 1);
    for (int64_t r = 0; r < x.rows; ++r) {
      const int64_t seen = x.seen(r, key, n);
      add_mask(scores + r * n, x, r, key, seen);
      loops.backward(scores + r * n, steps + r * n, log_sums[r], means[r], seen);
      std::fill(scores + r * n + seen, scores + (r + 1) * n, T(0));
      std::fill(steps + r * n + seen, steps + (r + 1) * n, T(0));
    }
    product(x, scores, n, true, grad, strides, row_of<T>(grads.value, x.b, kh, key),
            grads.value.strides, width, 1, true);
    product(x, steps, n, false, static_cast<const T*>(row_of<T>(a.key, x.b, kh, key)),
            a.key.strides, row_of<T>(grads.query, x.b, x.h, x.first), grads.query.strides,
            a.features, a.scale, key > 0);
    product(x, steps, n, true, x.query(), a.query.strides, row_of<T>(grads.key, x.b, kh, key),
            grads.key.strides, a.features, a.scale, true);
  }
}

template <class T>
void clear(const Stacks& s, int64_t b, int64_t h, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i) {
    T* row = row_of<T>(s, b, h, i);
    for (int64_t j = 0; j < width; ++j) row[j * s.strides[3]] = T(0);
  }
}

template <class T> void forward_all(const Attention& a, const Stacks& out, T* log_sums) {
  for_blocks<T>(a, [&](const Block<T>& x) { attend(x, out, x.of(log_sums)); });
}

template <class T>
void backward_all(const Attention& a, const Stacks& out, const T* log_sums, const Stacks& grad_out,
                  const AttentionGradients& grads) {
  const int64_t group = a.heads / a.key_heads;
  parallel_for(0, a.batch * a.key_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / a.key_heads, kh = i % a.key_heads;
      clear<T>(grads.key, b, kh, a.keys, a.features);
      clear<T>(grads.value, b, kh, a.keys, a.value_features);
      for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
        for (int64_t first = 0; first < a.queries; first += kQueries) {
          const Block<T> x{a, b, h, first, std::min(kQueries, a.queries - first)};
          attend_back(x, out, log_sums + (b * a.heads + h) * a.queries + first, grad_out, grads);
          poll_interrupt();
        }
      }
    }
  });
}

}  // namespace

bool attends_in_halves(DType dtype) { return dtype == DType::BFloat16 && cpu_has_bf16(); }

void attention(DType dtype, const Attention& a, const Stacks& out, void* log_sums) {
  if (dtype == DType::Double) forward_all(a, out, static_cast<double*>(log_sums));
  else if (dtype == DType::BFloat16) attention_bfloat16(a, out, static_cast<float*>(log_sums));
  else forward_all(a, out, static_cast<float*>(log_sums));
}

void attention_backward(DType dtype, const Attention& a, const Stacks& out, const void* log_sums,
                        const Stacks& grad_out, const AttentionGradients& grads) {
  if (dtype == DType::Double) {
    backward_all(a, out, static_cast<const double*>(log_sums), grad_out, grads);
  } else {
    backward_all(a, out, static_cast<const float*>(log_sums), grad_out, grads);
  }
}

}  // namespace rl::kernels
