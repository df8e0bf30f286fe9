// Scaled dot-product attention: as one op where it can be, else composed of plain ones.
#include "ops/attention.h"

#include <cmath>
#include <limits>

#include "kernels/attention.h"
#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/random.h"
#include "ops/transform.h"

namespace rl::ops {

const Op<Tensor(Tensor, double)> dropout_noise = define<Tensor(Tensor, double)>(
    "_dropout_noise(Tensor self, float p) -> Tensor")
  .doc("Zeros with probability p, 1 / (1 - p) otherwise, shaped like the input.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& self, double) {
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, double p) {
    {
      Drawing drawing(nullptr);  // let go before the product, which may ask for Python's lock
      kernels::bernoulli(drawing.generator(),
                         kernels::dense_run(result.data(), self.dtype(), result.numel()), 1 - p);
    }
    NoGrad quiet;
    if (p < 1) copy_data(result, detached(result) * Scalar(1 / (1 - p)));
  });

namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

kernels::Stacks stacks_of(const Tensor& t, Ints strides) {
  return {t.data(), {strides[0], strides[1], strides[2], strides[3]}};
}
kernels::Stacks stacks_of(const Tensor& t) { return stacks_of(t, t.strides()); }

kernels::Attention problem_of(const Tensor& q, const Tensor& k, const Tensor& v,
                              const Tensor& mask, bool causal, double scale) {
  kernels::Attention a{};
  a.batch = q->sizes[0], a.heads = q->sizes[1], a.key_heads = k->sizes[1];
  a.queries = q->sizes[2], a.keys = k->sizes[2];
  a.features = q->sizes[3], a.value_features = v->sizes[3];
  a.query = stacks_of(q), a.key = stacks_of(k), a.value = stacks_of(v);
  a.causal = causal, a.scale = scale;
  if (mask) {
    const Dims scores{a.batch, a.heads, a.queries, a.keys};
    a.mask = stacks_of(mask, broadcast_strides(mask.sizes(), mask.strides(), scores));
    a.mask_is_bool = mask.dtype() == DType::Bool;
  }
  return a;
}

// Halves are computed in float: their scores would lose most of their digits.
Tensor widened(const Tensor& t) {
  return t && is_half(t.dtype()) ? Tensor(to_dtype(t, DType::Float)) : t;
}
Tensor wide_like(const Tensor& t) {
  return is_half(t.dtype()) ? empty_strided(t.sizes(), t.strides(), DType::Float) : t;
}

// Whether a mask broadcasts to the scores and leaves their sizes as they are.
bool spreads(const Tensor& mask, const Tensor& q, const Tensor& k) {
  const int64_t scores[4] = {q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2]};
  bool fits = mask.dim() <= 4;
  for (int64_t d = 1; fits && d <= mask.dim(); ++d) {
    const int64_t n = mask->sizes[mask.dim() - d];
    fits = n == 1 || n == scores[4 - d];
  }
  return fits;
}

void expect_operands(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Tensor& mask) {
  expect(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, op, "operands have four dimensions");
  const int64_t heads = k->sizes[1], keys = k->sizes[2];
  const DType t = q.dtype();
  expect(t == DType::Float || t == DType::Double || is_half(t), op, "operands are floating");
  expect_like(k, {q->sizes[0], heads, keys, q->sizes[3]}, t, op, "key");
  expect_like(v, {q->sizes[0], heads, keys, v->sizes[3]}, t, op, "value");
  expect(heads > 0 ? q->sizes[1] % heads == 0 : q->sizes[1] == 0, op,
         "the heads of keys must divide those of queries");
  if (!mask) return;
  expect(mask.dtype() == t || mask.dtype() == DType::Bool || mask.dtype() == compute_of(t), op,
         "the mask is bool or like queries");
  expect(spreads(mask, q, k), op, "the mask must broadcast to the scores");
}

}  // namespace

const auto attention_backward =
    define<Three(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, bool, double)>(
    "_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
    "Tensor logsumexp, Tensor? attn_mask, bool is_causal, float scale) "
    "-> (Tensor grad_query, Tensor grad_key, Tensor grad_value)")
  .doc("The gradients of attention, its probabilities computed again block by block.")
  .forms(Hidden)
  .no_derivative("derivative for aten::_scaled_dot_product_flash_attention_for_cpu_backward is not "
                 "implemented")
  .cost([](double& flops, double&, const Tensor&, const Tensor& grad, const Tensor& q,
           const Tensor& k, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool,
           double) {
    const double products = 3.0 * double(q.numel()) + 2.0 * double(grad.numel());
    flops = 2.0 * products * double(k->sizes[2]);   // the scores are computed again
  })
  .infer([](Infer& r, const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
            const Tensor& out, const Tensor& logsumexp, const Tensor& mask, bool, double) {
    const char* op = "_attention_backward";
    expect_operands(op, q, k, v, mask);
    const Dims sizes{q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[3]};
    expect_like(grad, sizes, q.dtype(), op, "grad_out");
    expect_like(out, sizes, q.dtype(), op, "out");
    expect_like(logsumexp, Ints(sizes.data(), 3), compute_of(q.dtype()), op, "logsumexp");
    // PyTorch lays gradients out as (batch, length, heads, features), but for operands whose last
    // dimension is not dense: these go through plain products there.
    const bool dense = q->strides[3] == 1 && k->strides[3] == 1 && v->strides[3] == 1;
    for (const Tensor* t : {&q, &k, &v}) {
      if (!dense) {
        r.result(t->sizes(), t->dtype(), t->device());
        continue;
      }
      const int64_t heads = (*t)->sizes[1], length = (*t)->sizes[2], features = (*t)->sizes[3];
      r.result(t->sizes(), Dims{length * heads * features, features, heads * features, 1},
               t->dtype(), t->device());
    }
  })
  .kernel([](Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& grad, const Tensor& q,
             const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& logsumexp,
             const Tensor& mask, bool causal, double scale) {
    NoGrad quiet;
    const Tensor wide[] = {widened(q), widened(k), widened(v), widened(mask), widened(grad)};
    const Tensor made[] = {wide_like(dq), wide_like(dk), wide_like(dv)};
    const Tensor rows = widened(out->strides[3] == 1 ? out : Tensor(dense(out)));
    const Tensor sums = dense(logsumexp);
    kernels::attention_backward(wide[0].dtype(),
                                problem_of(wide[0], wide[1], wide[2], wide[3], causal, scale),
                                stacks_of(rows), sums.data(), stacks_of(wide[4]),
                                {stacks_of(made[0]), stacks_of(made[1]), stacks_of(made[2])});
    if (!is_half(q.dtype())) return;
    copy_data(dq, made[0]);
    copy_data(dk, made[1]);
    copy_data(dv, made[2]);
  });

const auto attention = define<Tensor(Tensor, Tensor, Tensor, Tensor, bool, double)>(
    "_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, "
    "float scale) -> (Tensor output, saved Tensor logsumexp)")
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
    r.result(Ints(sizes.data(), 3), compute_of(q.dtype()), q.device());
  })
  .kernel([](Tensor& result, Tensor& logsumexp, const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor& mask, bool causal, double scale) {
    NoGrad quiet;
    const bool as_they_are = kernels::attends_in_halves(q.dtype());
    const auto given = [&](const Tensor& t) { return as_they_are ? t : widened(t); };
    const Tensor wide[] = {given(q), given(k), given(v), widened(mask)};
    const Tensor made = as_they_are ? result : wide_like(result);
    kernels::attention(wide[0].dtype(),
                       problem_of(wide[0], wide[1], wide[2], wide[3], causal, scale),
                       stacks_of(made), data_or_null(logsumexp));
    if (made.dtype() != result.dtype()) copy_data(result, made);
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor& q, const Tensor& k,
           const Tensor&, const Tensor&, bool, double) {
    const double products = double(q.numel()) + double(result.numel());
    flops = 2.0 * products * double(k->sizes[2]);
  })
  .grad("query, key, value",
        "grad, query, key, value, output, logsumexp, attn_mask, is_causal, scale",
        [](const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
           const Tensor& out, const Tensor& logsumexp, const Tensor& mask, bool causal,
           double scale) {
    return attention_backward(grad, q, k, v, out, logsumexp, mask, causal, scale);
  });

namespace {

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
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
}

// Whether PyTorch would serve a call by blocks.
bool fits_blocks(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                 double dropout) {
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || dropout > 0) return false;
  if (mask && is_differentiated(mask)) return false;
  if (mask && ((mask.dim() != 2 && mask.dim() != 4) || !spreads(mask, q, k))) return false;
  const bool fits = q->sizes[0] == k->sizes[0] && k->sizes[0] == v->sizes[0] &&
                    k->sizes[1] == v->sizes[1] && k->sizes[1] > 0 &&
                    q->sizes[1] % k->sizes[1] == 0 && k->sizes[2] == v->sizes[2] &&
                    q->sizes[3] == k->sizes[3] && q->sizes[3] == v->sizes[3];
  return fits && q.numel() && k.numel() && v.numel();
}

// Whether the blocked form takes a call; others are composed of plain ops.
bool takes(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout) {
  if (q.dtype() != DType::Float && q.dtype() != DType::Double && !is_half(q.dtype())) return false;
  for (const Tensor* t : {&q, &k, &v}) {
    // The blocks have no second derivative, and a wrapper cannot keep what is saved for the first.
    if (has_tangent(*t) || ((*t)->flags & kWrapped && requires_grad(*t))) return false;
  }
  const bool added = mask && mask.dtype() != DType::Bool;
  if (added && mask.dtype() != q.dtype() && mask.dtype() != compute_of(q.dtype())) return false;
  return fits_blocks(q, k, v, mask, dropout);
}

void check_heads(int64_t queries, int64_t keys, int64_t values) {
  const auto divides = [&](int64_t n) { return n ? queries % n == 0 : queries == 0; };
  check((queries == keys && keys == values) || (divides(keys) && divides(values)),
        "Number of heads in key and value must divide the number of heads in ");
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

// A mask, if there is one, without what lies ahead.
Tensor causal_mask(const Tensor& mask, int64_t rows, int64_t columns) {
  const Tensor behind = lower_triangle(rows, columns);
  if (!mask) return behind;
  if (mask.dtype() == DType::Bool) return logical_and(mask, behind);
  return where(behind, mask, full({}, -std::numeric_limits<double>::infinity(), mask.dtype()));
}

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& attn_mask,
                double dropout, bool causal, double scale) {
  check(!causal || !attn_mask || fits_blocks(q, k, v, attn_mask, dropout),
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  const Tensor mask = causal && !q.is_meta() ? causal_mask(attn_mask, q.size(-2), k.size(-2))
                                             : attn_mask;
  const double root = std::sqrt(std::abs(scale));
  const Tensor left = widened(q) * Scalar(scale < 0 ? -root : root);
  Tensor scores = matmul(left, transpose(widened(k) * Scalar(root), -2, -1));
  if (mask && mask.dtype() == DType::Bool) {
    const Tensor never = full({}, -std::numeric_limits<double>::infinity(), scores.dtype());
    scores = where(mask, scores, never);
  } else if (mask) {
    scores = scores + mask;
  }
  Tensor p = mask ? Tensor(safe_softmax(scores, -1, MaybeDType()))
                  : Tensor(softmax(scores, -1));
  check(dropout <= 1, "dropout probability has to be between 0 and 1, but got ", dropout);
  if (dropout > 0) p = p * dropout_noise(p, dropout);
  const Tensor made = matmul(p, widened(v));
  return is_half(q.dtype()) ? Tensor(to_dtype(made, q.dtype())) : made;
}

}  // namespace

const auto scaled_dot_product_attention = define<
    Tensor(Tensor, Tensor, Tensor, Tensor, double, bool, MaybeDouble, bool)>(
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
                double dropout, bool causal, MaybeDouble scale, bool gqa) -> Tensor {
    check_operands(q, k, v, mask);
    const double factor = scale ? *scale : 1 / std::sqrt(double(q.size(-1)));
    if (takes(q, k, v, mask, dropout) && (gqa || q->sizes[1] == k->sizes[1]))
      return attention(q, k, v, mask, causal, factor);
    if (!gqa) return composed(q, k, v, mask, dropout, causal, factor);
    const int64_t heads = q.size(-3), keys = k.size(-3), values = v.size(-3);
    check_heads(heads, keys, values);
    return composed(q, repeat_heads(k, keys ? heads / keys : 1),
                    repeat_heads(v, values ? heads / values : 1), mask, dropout, causal, factor);
  });

}  // namespace rl::ops
