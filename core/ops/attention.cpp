// Scaled dot-product attention in blocks of queries: the whole matrix of scores never exists.
#include "ops/attention.h"

#include <cmath>
#include <limits>
#include <mutex>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/random.h"
#include "kernels/softmax.h"
#include "ops/dense.h"
#include "ops/expect.h"

namespace rl::ops {

const Op<Tensor(Tensor, double)> dropout_noise = define<Tensor(Tensor, double)>(
    "_dropout_noise(Tensor self, float p) -> Tensor")
  .doc("Zeros with probability p, 1 / (1 - p) otherwise, shaped like the input.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& self, double) {
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, double p) {
    Generator& g = default_generator();
    std::lock_guard<std::mutex> lock(g.mutex());
    kernels::bernoulli(g, kernels::dense_run(result.data(), self.dtype(), result.numel()), 1 - p);
    NoGrad quiet;
    if (p < 1) copy_data(result, detached(result) * Scalar(1 / (1 - p)));
  });

namespace {

using kernels::MatrixProduct;
using Three = std::tuple<Tensor, Tensor, Tensor>;

constexpr int64_t kBlockScores = 65536;  // scores held at once by a thread: they stay in cache

// (batch, heads, length, features) operands of one call; keys' heads may serve several of queries.
struct Sizes {
  int64_t batch, heads, key_heads, queries, keys, features, value_features, block;
  Sizes(const Tensor& q, const Tensor& k, const Tensor& v)
      : batch(q->sizes[0]), heads(q->sizes[1]), key_heads(k->sizes[1]), queries(q->sizes[2]),
        keys(k->sizes[2]), features(q->sizes[3]), value_features(v->sizes[3]) {
    const int64_t fits = kBlockScores / std::max<int64_t>(keys, 1);
    block = std::min(std::max<int64_t>(queries, 1), std::max<int64_t>(8, fits));
  }
  int64_t group() const { return heads / key_heads; }
};

char* head_of(const Tensor& t, int64_t b, int64_t h) {
  return t.data() + (b * t->strides[0] + h * t->strides[1]) * t.element_size();
}

// What is added to the scores, or says by bool which of them count.
struct Mask {
  const char* data = nullptr;
  Dims strides;
  bool is_bool = false;
  int64_t item = 0;

  Mask(const Tensor& t, const Sizes& s) {
    if (!t) return;
    data = t.data();
    is_bool = t.dtype() == DType::Bool;
    item = t.element_size();
    strides = broadcast_strides(t.sizes(), t.strides(), {s.batch, s.heads, s.queries, s.keys});
  }
  template <class T> void add(T* row, int64_t b, int64_t h, int64_t i, int64_t n) const {
    const char* from = data + (b * strides[0] + h * strides[1] + i * strides[2]) * item;
    const int64_t step = strides[3] * item;
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < n; ++j, from += step) {
      if (is_bool) row[j] = *from ? row[j] : kNever;
      else row[j] += *reinterpret_cast<const T*>(from);
    }
  }
};

// softmax(scale * Q K^T + mask) of the queries from `first` on, into `scores` (rows x keys).
template <class T>
void probabilities(T* scores, int64_t first, int64_t rows, int64_t b, int64_t h, const Sizes& s,
                   const Tensor& q, const Tensor& k, const Mask& mask, bool causal, double scale) {
  MatrixProduct p;
  p.m = rows, p.n = s.keys, p.k = s.features;
  p.a = head_of(q, b, h) + first * q->strides[2] * int64_t(sizeof(T));
  p.a_row = q->strides[2], p.a_col = q->strides[3];
  p.b = head_of(k, b, h / s.group());
  p.b_row = k->strides[3], p.b_col = k->strides[2];
  p.c = scores, p.c_row = s.keys;
  p.alpha = scale;
  kernels::gemm(DTypeOf<T>::value, p);
  constexpr T kNever = -std::numeric_limits<T>::infinity();
  for (int64_t r = 0; r < rows; ++r) {
    T* row = scores + r * s.keys;
    if (mask.data) mask.add(row, b, h, first + r, s.keys);
    if (causal)
      for (int64_t j = first + r + 1; j < s.keys; ++j) row[j] = kNever;
  }
  kernels::softmax(DTypeOf<T>::value, scores, scores, rows, s.keys, 1);
  if (!mask.data) return;
  for (int64_t r = 0; r < rows; ++r)  // a row where nothing counts is zero, not NaN
    if (std::isnan(scores[r * s.keys])) {
      T* row = scores + r * s.keys;
      bool all = true;
      for (int64_t j = 0; j < s.keys && all; ++j) all = std::isnan(row[j]);
      if (all) std::fill(row, row + s.keys, T(0));
    }
}

template <class T>
void attend(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
            const Tensor& attn_mask, bool causal, double scale) {
  const Sizes s(q, k, v);
  const Mask mask(attn_mask, s);
  const int64_t blocks = (s.queries + s.block - 1) / s.block;
  parallel_for(0, s.batch * s.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> scores(size_t(s.block * s.keys));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * s.block, head = i / blocks;
      const int64_t b = head / s.heads, h = head % s.heads;
      const int64_t rows = std::min(s.block, s.queries - first);
      probabilities(scores.data(), first, rows, b, h, s, q, k, mask, causal, scale);
      MatrixProduct p;
      p.m = rows, p.n = s.value_features, p.k = s.keys;
      p.a = scores.data(), p.a_row = s.keys;
      p.b = head_of(v, b, h / s.group()), p.b_row = v->strides[2], p.b_col = v->strides[3];
      p.c = head_of(out, b, h) + first * out->strides[2] * int64_t(sizeof(T));
      p.c_row = out->strides[2];
      kernels::gemm(DTypeOf<T>::value, p);
    }
  });
}

// One block of queries' share in all three gradients; P and dS are scratch of its scores' size.
template <class T>
void attend_back_block(T* P, T* dS, int64_t first, int64_t rows, int64_t b, int64_t h, bool fresh,
                       const Sizes& s, const Three& out, const Tensor& grad, const Tensor& q,
                       const Tensor& k, const Tensor& v, const Mask& mask, bool causal,
                       double scale) {
  const auto& [dq, dk, dv] = out;
  const DType type = DTypeOf<T>::value;
  const int64_t kh = h / s.group();
  probabilities(P, first, rows, b, h, s, q, k, mask, causal, scale);
  const char* g = head_of(grad, b, h) + first * grad->strides[2] * int64_t(sizeof(T));
  const char* query = head_of(q, b, h) + first * q->strides[2] * int64_t(sizeof(T));
  MatrixProduct values;  // dV += P^T dO
  values.m = s.keys, values.n = s.value_features, values.k = rows;
  values.a = P, values.a_row = 1, values.a_col = s.keys;
  values.b = g, values.b_row = grad->strides[2], values.b_col = grad->strides[3];
  values.c = head_of(dv, b, kh);
  values.c_row = dv->strides[2], values.beta = fresh ? 0 : 1;
  kernels::gemm(type, values);
  MatrixProduct scores;  // dP = dO V^T
  scores.m = rows, scores.n = s.keys, scores.k = s.value_features;
  scores.a = g, scores.a_row = grad->strides[2], scores.a_col = grad->strides[3];
  scores.b = head_of(v, b, kh), scores.b_row = v->strides[3], scores.b_col = v->strides[2];
  scores.c = dS, scores.c_row = s.keys;
  kernels::gemm(type, scores);
  kernels::softmax_backward(type, dS, P, dS, rows, s.keys, 1);
  MatrixProduct queries;  // dQ = scale dS K
  queries.m = rows, queries.n = s.features, queries.k = s.keys;
  queries.a = dS, queries.a_row = s.keys, queries.alpha = scale;
  queries.b = head_of(k, b, kh), queries.b_row = k->strides[2], queries.b_col = k->strides[3];
  queries.c = head_of(dq, b, h) + first * dq->strides[2] * int64_t(sizeof(T));
  queries.c_row = dq->strides[2];
  kernels::gemm(type, queries);
  MatrixProduct keys;  // dK += scale dS^T Q
  keys.m = s.keys, keys.n = s.features, keys.k = rows, keys.alpha = scale;
  keys.a = dS, keys.a_row = 1, keys.a_col = s.keys;
  keys.b = query, keys.b_row = q->strides[2], keys.b_col = q->strides[3];
  keys.c = head_of(dk, b, kh);
  keys.c_row = dk->strides[2], keys.beta = fresh ? 0 : 1;
  kernels::gemm(type, keys);
}

template <class T>
void attend_back(const Three& out, const Tensor& grad, const Tensor& q, const Tensor& k,
                 const Tensor& v, const Tensor& attn_mask, bool causal, double scale) {
  const Sizes s(q, k, v);
  const Mask mask(attn_mask, s);
  parallel_for(0, s.batch * s.key_heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> P(size_t(s.block * s.keys)), dS(P.size());
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < s.group(); ++j)
        for (int64_t first = 0; first < s.queries; first += s.block)
          attend_back_block(P.data(), dS.data(), first, std::min(s.block, s.queries - first),
                            i / s.key_heads, i % s.key_heads * s.group() + j, j == 0 && first == 0,
                            s, out, grad, q, k, v, mask, causal, scale);
  });
}

void expect_operands(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& mask) {
  expect(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, op, "operands have four dimensions");
  const int64_t heads = k->sizes[1], keys = k->sizes[2];
  const DType t = q.dtype();
  expect(t == DType::Float || t == DType::Double, op, "operands are float or double");
  expect_like(k, {q->sizes[0], heads, keys, q->sizes[3]}, t, op, "key");
  expect_like(v, {q->sizes[0], heads, keys, v->sizes[3]}, t, op, "value");
  expect(heads > 0 ? q->sizes[1] % heads == 0 : q->sizes[1] == 0, op,
         "the heads of keys must divide those of queries");
  if (!mask) return;
  expect(mask.dtype() == t || mask.dtype() == DType::Bool, op, "the mask is bool or like queries");
  const int64_t scores[4] = {q->sizes[0], q->sizes[1], q->sizes[2], keys};
  bool fits = mask.dim() <= 4;
  for (int64_t d = 1; fits && d <= mask.dim(); ++d) {
    const int64_t n = mask->sizes[mask.dim() - d];
    fits = n == 1 || n == scores[4 - d];
  }
  expect(fits, op, "the mask must broadcast to the scores");
}

}  // namespace

const auto attention_backward =
    define<Three(Tensor, Tensor, Tensor, Tensor, Tensor, bool, double)>(
    "_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, "
    "Tensor? attn_mask, bool is_causal, float scale) "
    "-> (Tensor grad_query, Tensor grad_key, Tensor grad_value)")
  .doc("The gradients of attention, its probabilities computed again block by block.")
  .forms(Hidden)
  .no_derivative("derivative for aten::_scaled_dot_product_flash_attention_for_cpu_backward is not "
                 "implemented")
  .cost([](double& flops, double&, const Tensor&, const Tensor& grad, const Tensor& q,
           const Tensor& k, const Tensor&, const Tensor&, bool, double) {
    const double products = 3.0 * double(q.numel()) + 2.0 * double(grad.numel());
    flops = 2.0 * products * double(k->sizes[2]);   // the scores are computed again
  })
  .infer([](Infer& r, const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
            const Tensor& mask, bool, double) {
    expect_operands("_attention_backward", q, k, v, mask);
    expect_like(grad, {q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[3]}, q.dtype(),
                "_attention_backward", "grad_out");
    // PyTorch lays gradients out as (batch, length, heads, features).
    for (const Tensor* t : {&q, &k, &v}) {
      const int64_t heads = (*t)->sizes[1], length = (*t)->sizes[2], features = (*t)->sizes[3];
      r.result(t->sizes(), Dims{length * heads * features, features, heads * features, 1},
               t->dtype(), t->device());
    }
  })
  .kernel([](Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& grad, const Tensor& q,
             const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale) {
    const Three out(dq, dk, dv);
    if (q.dtype() == DType::Double) attend_back<double>(out, grad, q, k, v, mask, causal, scale);
    else attend_back<float>(out, grad, q, k, v, mask, causal, scale);
  });

const auto attention = define<Tensor(Tensor, Tensor, Tensor, Tensor, bool, double)>(
    "_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, "
    "float scale) -> Tensor")
  .doc("Attention of (batch, heads, length, features) operands, without dropout.")
  .node("ScaledDotProductFlashAttentionForCpuBackward0")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool,
            double) {
    expect_operands("_attention", q, k, v, mask);
    // The result lies as the queries do, so that heads next to features come back that way.
    const Dims sizes{q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[3]};
    const Dims strides = dense_strides_like(q);
    const bool alike = q.sizes() == Ints(sizes) && q->strides[3] == 1 && strides[3] == 1;
    if (alike) r.result(sizes, strides, q.dtype(), q.device());
    else r.result(sizes, q.dtype(), q.device());
  })
  .kernel([](Tensor& result, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
             bool causal, double scale) {
    if (q.dtype() == DType::Double) attend<double>(result, q, k, v, mask, causal, scale);
    else attend<float>(result, q, k, v, mask, causal, scale);
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor& q, const Tensor& k,
           const Tensor&, const Tensor&, bool, double) {
    const double products = double(q.numel()) + double(result.numel());
    flops = 2.0 * products * double(k->sizes[2]);
  })
  .grad("query, key, value", "grad, query, key, value, attn_mask, is_causal, scale",
        [](const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
           const Tensor& mask, bool causal, double scale) {
    return attention_backward(grad, q, k, v, mask, causal, scale);
  });

namespace {

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                    bool causal) {
  check(q.dtype() == k.dtype() && q.dtype() == v.dtype(), "Expected query, key, and value to have "
        "the same dtype, but got query.dtype: ", c_name_of(q.dtype()), " key.dtype: ",
        c_name_of(k.dtype()), " and value.dtype: ", c_name_of(v.dtype()), " instead.");
  check(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, "Expected query, key, and value to all be  "
        "at least 2 dimensional, but got query.dim: ", q.dim(), " key.dim: ", k.dim(),
        " and value.dim: ", v.dim(), " instead.");
  check(!mask || mask.dtype() == DType::Bool || mask.dtype() == q.dtype() ||
        mask.dtype() == DType::Float, "Expected attn_mask dtype to be bool or float or to match "
        "query dtype, but got attn_mask.dtype: ", mask ? c_name_of(mask.dtype()) : "",
        " and  query.dtype: ", c_name_of(q.dtype()), " instead.");
  check(!mask || !causal, "_scaled_dot_product_attention: Explicit attn_mask should not be set "
        "when is_causal=True");
}

// Whether the blocked form takes a call; others are composed of plain ops.
bool takes(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout) {
  if (q.dtype() != DType::Float && q.dtype() != DType::Double) return false;
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || dropout > 0) return false;
  if (mask && (requires_grad(mask) || (mask.dtype() != DType::Bool && mask.dtype() != q.dtype())))
    return false;
  if (mask && mask.dim() != 2 && mask.dim() != 4) return false;
  const bool fits = q->sizes[0] == k->sizes[0] && k->sizes[0] == v->sizes[0] &&
                    k->sizes[1] == v->sizes[1] && k->sizes[1] > 0 &&
                    q->sizes[1] % k->sizes[1] == 0 && k->sizes[2] == v->sizes[2] &&
                    q->sizes[3] == k->sizes[3] && q->sizes[3] == v->sizes[3];
  return fits && q.numel() && k.numel() && v.numel();
}

// Each of the keys' heads as often as it serves: (..., heads, length, features).
Tensor repeat_heads(const Tensor& t, int64_t times) {
  if (times == 1) return t;
  const size_t at = size_t(t.dim()) - 2;
  Dims wide(t.sizes()), joined(t.sizes());
  wide.insert(at, times);
  joined[at - 1] *= times;
  return reshape(expand(unsqueeze(t, int64_t(at)), Ints(wide)), Ints(joined));
}

Tensor lower_triangle(int64_t rows, int64_t columns) {
  const Tensor t = empty({rows, columns}, DType::Bool);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) t.ptr<bool>()[i * columns + j] = j <= i;
  return t;
}

// Softmax where a row that counts nothing gives zeros.
Tensor safe_softmax(const Tensor& scores) {
  const Tensor p = softmax(scores, -1);
  const Tensor zero = full({}, 0, p.dtype(), p.device());
  return where(isnan(p), where(isnan(scores), p, zero), p);
}

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& attn_mask,
                double dropout, bool causal, double scale) {
  const Tensor mask = causal && !q.is_meta() ? lower_triangle(q.size(-2), k.size(-2)) : attn_mask;
  const double root = std::sqrt(std::abs(scale));
  const Tensor left = q * Scalar(scale < 0 ? -root : root);
  Tensor scores = matmul(left, transpose(k * Scalar(root), -2, -1));
  if (mask && mask.dtype() == DType::Bool) {
    const Tensor never = full({}, -std::numeric_limits<double>::infinity(), scores.dtype());
    scores = where(mask, scores, never);
  } else if (mask) {
    scores = scores + mask;
  }
  Tensor p = mask ? safe_softmax(scores) : Tensor(softmax(scores, -1));
  if (dropout > 0) p = p * dropout_noise(p, dropout);
  return matmul(p, v);
}

}  // namespace

const auto scaled_dot_product_attention = define<
    Tensor(Tensor, Tensor, Tensor, Tensor, double, bool, std::optional<double>, bool)>(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) "
    "-> Tensor")
  .doc(R"(
    softmax(query @ key.mT * scale + mask) @ value, over (..., length, features) operands
    (Vaswani et al. 2017); `scale` is 1 / sqrt(features) unless given.

    >>> x = torch.ones(1, 1, 2, 2)
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x).flatten()
    tensor([1., 1., 1., 1.])
  )")
  .forms(NN)
  .autocast(Autocast::Lower)
  .composite([](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                double dropout, bool causal, std::optional<double> scale, bool gqa) -> Tensor {
    check_operands(q, k, v, mask, causal);
    const double factor = scale ? *scale : 1 / std::sqrt(double(q.size(-1)));
    const bool grouped = gqa && q.dim() > 2 && k.dim() > 2;
    if (takes(q, k, v, mask, dropout) && (gqa || q->sizes[1] == k->sizes[1]))
      return attention(q, k, v, mask, causal, factor);
    const int64_t times = grouped && k.size(-3) > 0 ? q.size(-3) / k.size(-3) : 1;
    return composed(q, repeat_heads(k, times), repeat_heads(v, times), mask, dropout, causal,
                    factor);
  });

}  // namespace rl::ops
