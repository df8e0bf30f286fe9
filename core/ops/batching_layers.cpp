// vmap: rules of norms, embeddings, losses and of what picks elements by index.
#include "ops/batching.h"

#include "kernels/loss.h"

namespace rl {
namespace {

using namespace batching;
using ops::unsqueeze;

bool has(const LevelCall& c, size_t i) { return c.args[i].is_tensor(); }

// ---- Layer norms: weight and bias of each sample are applied behind.

bool layer_norm_rule(const LevelCall& c, Value* results) {
  const bool rms = c.r.name == "_fused_rms_norm";
  const int64_t rank = c.tensor(0).dim();
  Lowered low(c);
  low.set(0, c.expanded(c.tensor(0)));
  const bool own = c.is_batched(2) || (!rms && c.is_batched(3));
  if (own) {
    low[2] = Arg();
    if (!rms) low[3] = Arg();
  }
  invoke(c.r, low.args(), results);
  if (!own) return true;
  Tensor r = results[0].take_tensor();
  if (has(c, 2)) r = r * aligned(c, c.tensor(2), rank);
  if (!rms && has(c, 3)) r = r + aligned(c, c.tensor(3), rank);
  results[0] = Value(r);
  return true;
}

// (x - mean) * rstd over `dims`. The statistics were saved as plain numbers: where derivatives of
// this are asked for, they are computed again from x, eps being what rstd is short of.
Tensor normalised(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Dims& dims) {
  if (!is_differentiated(x)) return (mean ? x - mean : x) * rstd;
  const Tensor centred = mean ? x - ops::mean_dim(x, dims, true) : x;
  const Tensor variance = ops::mean_dim(centred * centred, dims, true);
  const Tensor eps = ops::detach(ops::pow_number(rstd, Scalar(-2)) - variance);
  return centred * ops::rsqrt(variance + eps);
}

bool layer_norm_backward_rule(const LevelCall& c, Value* results) {
  const bool rms = c.r.name == "_rms_norm_backward";
  const size_t rstd = rms ? 3 : 4, weight = rms ? 4 : 5, mask_at = rms ? 5 : 7;
  const int64_t mask = c.args[mask_at].integer, rank = c.tensor(1).dim();
  const Tensor g = c.expanded(c.tensor(0)), x = c.expanded(c.tensor(1));
  Lowered low(c);
  low.set(0, g);
  low.set(1, x);
  if (!rms) low.set(3, c.expanded(c.tensor(3)));
  low.set(rstd, c.expanded(c.tensor(rstd)));
  if (mask & 1) {
    if (c.is_batched(weight)) {
      low.set(0, g * aligned(c, c.tensor(weight), rank));
      low[weight] = Arg();
    }
    if (!rms) low[6] = Arg();
    low[mask_at] = Arg(int64_t(1));
    Value made[kMostResults];
    invoke(c.r, low.args(), made);
    results[0] = std::move(made[0]);
  }
  Dims lead;
  for (int64_t d = 0; d < rank - int64_t(c.args[2].ints().size()); ++d) lead.push_back(d + 1);
  const auto summed = [&](const Tensor& t) {
    return lead.empty() ? t : Tensor(ops::sum_dim(t, lead, false));
  };
  if (mask & 2) {
    Dims own;
    for (int64_t d = int64_t(lead.size()) + 1; d <= rank; ++d) own.push_back(d);
    const Tensor mean = rms ? Tensor() : low[3].as_tensor();
    results[1] = Value(summed(g * normalised(x, mean, low[rstd].as_tensor(), own)));
  }
  if (!rms && mask & 4) results[2] = Value(summed(g));
  return true;
}
[[gnu::constructor]] void add_layer_norms() {
  for (const char* name : {"native_layer_norm", "_fused_rms_norm"})
    add_batching_rule(name, layer_norm_rule);
  for (const char* name : {"_layer_norm_backward", "_rms_norm_backward"})
    add_batching_rule(name, layer_norm_backward_rule);
}

// ---- Batch norm: samples are more channels.

Tensor as_channels(const LevelCall& c, size_t i) {
  const Tensor v = ops::transpose(c.expanded(c.tensor(i)), 0, 1);
  Dims sizes{v.size(0), v.size(1) * v.size(2)};
  for (int64_t d = 3; d < v.dim(); ++d) sizes.push_back(v.size(d));
  return ops::reshape(v, sizes);
}
Tensor from_channels(const LevelCall& c, const Tensor& t) {
  Dims sizes{t.size(0), c.size(), t.size(1) / c.size()};
  for (int64_t d = 2; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return ops::transpose(ops::reshape(t, sizes), 0, 1);
}
Tensor by_channel(const LevelCall& c, const Tensor& t) {
  return flattened(c, t);
}

bool batch_norm_rule(const LevelCall& c, Value* results) {
  if (c.size() == 0 || c.tensor(0).dim() < 2) return false;
  const bool training = c.args[5].integer;
  Lowered low(c);
  low.set(0, as_channels(c, 0));
  Tensor running[2];
  for (size_t i = 1; i <= 4; ++i) {
    if (!has(c, i)) continue;
    check(i < 3 || !training || c.is_batched(i),
          "Batch norm got a batched tensor as input while the running_mean or running_var, which "
          "will be updated in place, were not batched.\nIf you are using vmap and have only "
          "batched your inputs, then you should consider using functorch's batch norm module "
          "patching: "
          "https://pytorch.org/functorch/stable/batch_norm.html");
    const Tensor flat = ops::reshape(c.expanded(c.tensor(i)), Dims{-1});
    if (i >= 3) running[i - 3] = flat;
    low.set(i, flat);
  }
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  for (size_t i = 3; training && i <= 4; ++i) {
    if (!running[i - 3]) continue;
    const Tensor whole = c.below(c.tensor(i));
    if (whole.storage() == running[i - 3].storage()) continue;     // they were written themselves
    ops::copy_(whole, by_channel(c, running[i - 3]));
  }
  results[0] = Value(from_channels(c, made[0].tensor()));
  for (int i = 1; i < 3; ++i) {
    const Tensor& t = made[i].tensor();
    if (!t) continue;
    results[i] = Value(t.numel() ? by_channel(c, t) : ops::expand(t, Dims{c.size(), 0}, false));
  }
  return true;
}

bool batch_norm_backward_rule(const LevelCall& c, Value* results) {
  if (c.size() == 0) return false;
  Lowered low(c);
  low.set(0, as_channels(c, 0));
  low.set(1, as_channels(c, 1));
  for (size_t i = 2; i <= 6; ++i)
    if (has(c, i)) low.set(i, ops::reshape(c.expanded(c.tensor(i)), Dims{-1}));
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  if (made[0].is_tensor()) results[0] = Value(from_channels(c, made[0].tensor()));
  for (int i = 1; i < 3; ++i)
    if (made[i].is_tensor()) results[i] = Value(by_channel(c, made[i].tensor()));
  return true;
}

// Group norm: samples are more images; weight and bias follow behind where they differ.
bool group_norm_rule(const LevelCall& c, Value* results) {
  if (c.size() == 0) return false;
  const Tensor x = c.expanded(c.tensor(0));
  Dims sizes{x.size(0) * x.size(1)};
  for (int64_t d = 2; d < x.dim(); ++d) sizes.push_back(x.size(d));
  Lowered low(c);
  low.set(0, ops::reshape(x, sizes));
  low[3] = Arg(c.args[3].integer * c.size());
  const bool own = c.is_batched(1) || c.is_batched(2);
  if (own) low[1] = low[2] = Arg();
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  Tensor r = ops::reshape(made[0].tensor(), x.sizes());
  for (size_t i = 1; own && i <= 2; ++i) {
    if (!has(c, i)) continue;
    Dims shape{c.size(), 1, c.tensor(i).size(0)};
    shape.resize(size_t(x.dim()), 1);
    const Tensor t = ops::reshape(c.expanded(c.tensor(i)), shape);
    r = i == 1 ? r * t : r + t;
  }
  results[0] = Value(r);
  for (int i = 1; i < 3; ++i)
    results[i] = Value(Tensor(ops::reshape(made[i].tensor(),
                                           Dims{c.size(), c.args[3].integer, -1})));
  return true;
}
Tensor by_image(const Tensor& t) {           // [B, N, ...] to [B * N, ...]
  Dims sizes{t.size(0) * t.size(1)};
  for (int64_t d = 2; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return ops::reshape(t, sizes);
}

bool group_norm_backward_rule(const LevelCall& c, Value* results) {
  if (c.size() == 0) return false;
  const int64_t group = c.args[5].integer, mask = c.args[6].integer;
  const Tensor g = c.expanded(c.tensor(0)), x = c.expanded(c.tensor(1));
  const Tensor mean = c.expanded(c.tensor(2)), rstd = c.expanded(c.tensor(3));
  if (mask & 1) {
    Lowered low(c);
    Tensor scaled = g;
    if (has(c, 4) && c.is_batched(4)) {
      Dims shape{c.size(), 1, c.tensor(4).size(0)};
      shape.resize(size_t(x.dim()), 1);
      scaled = g * ops::reshape(c.expanded(c.tensor(4)), shape);
      low[4] = Arg();
    }
    low.set(0, by_image(scaled));
    low.set(1, by_image(x));
    low.set(2, by_image(mean));
    low.set(3, by_image(rstd));
    low[6] = Arg(int64_t(1));
    Value made[kMostResults];
    invoke(c.r, low.args(), made);
    results[0] = Value(Tensor(ops::reshape(made[0].tensor(), x.sizes())));
  }
  Dims dims{1};
  for (int64_t d = 3; d < x.dim(); ++d) dims.push_back(d);
  if (mask & 2) {
    const Tensor parts = ops::reshape(x, Dims{c.size(), x.size(1), group, -1});
    const Tensor unit = normalised(parts, unsqueeze(mean, -1), unsqueeze(rstd, -1), Dims{3});
    results[1] = Value(ops::sum_dim(g * ops::reshape(unit, x.sizes()), dims, false));
  }
  if (mask & 4) results[2] = Value(ops::sum_dim(g, dims, false));
  return true;
}
[[gnu::constructor]] void add_norms() {
  add_batching_rule("_group_norm_backward", group_norm_backward_rule);
  add_batching_rule("native_batch_norm", batch_norm_rule);
  add_batching_rule("_batch_norm_backward", batch_norm_backward_rule);
  add_batching_rule("native_group_norm", group_norm_rule);
}

// ---- Embeddings

// Rows of each sample's own table.
Tensor pick_rows(const Tensor& table, const Tensor& where) {     // [B, V, D], [B, n]
  const Tensor at = ops::expand(unsqueeze(where, -1),
                                Dims{where.size(0), where.size(1), table.size(2)}, false);
  return ops::gather(table, 1, at, false);
}

bool embedding_rule(const LevelCall& c, Value* results) {
  if (!c.is_batched(0)) {
    Lowered low(c);
    invoke(c.r, low.args(), results);
    return true;
  }
  if (c.args[2].integer >= 0 || c.args[3].integer || c.tensor(0).dim() != 2) return false;
  const Tensor table = c.below(c.tensor(0)), where = c.expanded(c.tensor(1));
  const Tensor flat = ops::to_dtype(flattened(c, where), DType::Int64);
  Dims sizes(where.sizes());
  sizes.push_back(table.size(2));
  results[0] = Value(Tensor(ops::reshape(pick_rows(table, flat), sizes)));
  return true;
}

bool embedding_backward_rule(const LevelCall& c, Value* results) {
  if (c.args[4].integer) return false;
  const Tensor g = c.expanded(c.tensor(0)), where = c.expanded(c.tensor(1));
  const int64_t width = g.size(-1), padding = c.args[3].integer;
  const Tensor at = unsqueeze(ops::to_dtype(flattened(c, where),
                                            DType::Int64), -1);
  Tensor rows = ops::reshape(g, Dims{c.size(), at.size(1), width});
  if (padding >= 0) rows = ops::masked_fill(rows, ops::eq(at, Scalar(padding)), Scalar(0));
  const Tensor none = ops::zeros({c.size(), c.args[2].integer, width}, g.dtype(), g.device());
  results[0] = Value(ops::scatter_add(none, 1, ops::expand(at, rows.sizes(), false), rows));
  return true;
}
[[gnu::constructor]] void add_embeddings() {
  add_batching_rule("embedding", embedding_rule);
  add_batching_rule("embedding_dense_backward", embedding_backward_rule);
}

// ---- Losses: element by element, then reduced over each sample's own dimensions.

Tensor reduced(const Tensor& each, int64_t reduction) {
  if (reduction == int64_t(kernels::Reduction::None) || each.dim() == 1) return each;
  const Dims dims = all_dims(each.dim() - 1);
  return reduction == int64_t(kernels::Reduction::Mean) ? ops::mean_dim(each, dims, false)
                                                        : ops::sum_dim(each, dims, false);
}

bool loss_rule(const LevelCall& c, Value* results) {
  const size_t at = size_t(c.r.param("reduction"));
  Lowered low(c);
  const int64_t rank = highest_rank(c);
  for (size_t i = 0; i < c.r.params.size(); ++i)
    if (c.is_batched(i)) low.set(i, aligned(c, c.tensor(i), rank));
  if (!c.is_batched(0)) low.set(0, c.expanded(c.tensor(0)));
  low[at] = Arg(int64_t(kernels::Reduction::None));
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  results[0] = Value(reduced(made[0].tensor(), c.args[at].integer));
  return true;
}
[[gnu::constructor]] void add_losses() {
  for (const char* name : {"mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
                           "binary_cross_entropy_with_logits", "soft_margin_loss"})
    add_batching_rule(name, loss_rule);
}

// ---- Class losses: rows of all samples at once, then each sample's mean by its own weights.

Tensor rows_of(const LevelCall& c, const Tensor& t, int64_t rank) {   // one row is many of one
  Tensor v = c.expanded(t);
  if (t.dim() < rank) v = unsqueeze(v, 1);
  Dims sizes{v.size(0) * v.size(1)};
  for (int64_t d = 2; d < v.dim(); ++d) sizes.push_back(v.size(d));
  return ops::reshape(v, sizes);
}

// The weight of each target, [B, ...]; the mean divides by their sum.
Tensor target_weights(const LevelCall& c, const Tensor& target, const Tensor& weight,
                      int64_t ignore, DType dtype) {
  const Tensor t = c.expanded(target), counts = ops::ne(t, Scalar(ignore));
  if (!weight) return ops::to_dtype(counts, dtype);
  const Tensor safe = ops::masked_fill(ops::to_dtype(t, DType::Int64), ops::logical_not(counts),
                                       Scalar(0));
  const Tensor w = ops::reshape(ops::index_select(c.below(weight), 0,
                                                  ops::reshape(safe, Dims{-1})), t.sizes());
  return w * ops::to_dtype(counts, dtype);
}

Tensor total_of(const Tensor& weights) {
  return weights.dim() == 1 ? weights
                            : Tensor(ops::sum_dim(weights, all_dims(weights.dim() - 1), false));
}

bool class_loss_rule(const LevelCall& c, Value* results) {
  const Tensor &self = c.tensor(0), &target = c.tensor(1);
  const bool weighted = has(c, 2);
  if (c.size() == 0 || (weighted && c.is_batched(2)) || self.dim() < 1) return false;
  if (target.dim() != std::max<int64_t>(self.dim() - 1, 0)) return false;
  const int64_t reduction = c.args[3].integer, rank = std::max<int64_t>(self.dim(), 2);
  Lowered low(c);
  low.set(0, rows_of(c, self, rank));
  low.set(1, rows_of(c, target, rank - 1));
  low[3] = Arg(int64_t(kernels::Reduction::None));
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  const Tensor each = ops::reshape(made[0].tensor(), with_size(c, target.sizes()));
  const Tensor total = total_of(target_weights(c, target, weighted ? c.tensor(2) : Tensor(),
                                               c.args[4].integer, self.dtype()));
  const Tensor sum = reduction == int64_t(kernels::Reduction::None) ? each : total_of(each);
  results[0] = Value(reduction == int64_t(kernels::Reduction::Mean) ? sum / total : sum);
  results[1] = Value(total);
  if (c.r.visible > 2)
    results[2] = Value(Tensor(ops::reshape(made[2].tensor(), with_size(c, self.sizes()))));
  return true;
}

bool class_loss_backward_rule(const LevelCall& c, Value* results) {
  const Tensor &self = c.tensor(1), &target = c.tensor(2);
  const bool weighted = has(c, 3);
  if (c.size() == 0 || (weighted && c.is_batched(3)) || self.dim() < 1) return false;
  if (target.dim() != std::max<int64_t>(self.dim() - 1, 0)) return false;
  const int64_t reduction = c.args[4].integer, rank = std::max<int64_t>(self.dim(), 2);
  Tensor g = c.expanded(c.tensor(0));
  if (reduction != int64_t(kernels::Reduction::None)) {
    if (reduction == int64_t(kernels::Reduction::Mean)) g = g / c.expanded(c.tensor(6));
    for (int64_t d = 0; d < target.dim(); ++d) g = unsqueeze(g, -1);
    g = ops::expand(g, with_size(c, target.sizes()), false);
  }
  Dims flat{-1};
  for (int64_t d = 1; d < target.dim(); ++d) flat.push_back(target.size(d));
  if (target.numel() == 0) return false;
  Lowered low(c);
  low.set(0, ops::reshape(g, flat));
  low.set(1, rows_of(c, self, rank));
  low.set(2, rows_of(c, target, rank - 1));
  low[4] = Arg(int64_t(kernels::Reduction::None));
  low.set(6, ops::zeros({}, self.dtype(), self.device()));
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  results[0] = Value(Tensor(ops::reshape(made[0].tensor(), with_size(c, self.sizes()))));
  return true;
}
[[gnu::constructor]] void add_class_losses() {
  for (const char* name : {"nll_loss_forward", "nll_loss2d_forward", "_cross_entropy_rows",
                           "_cross_entropy_areas"})
    add_batching_rule(name, class_loss_rule);
  for (const char* name : {"nll_loss_backward", "nll_loss2d_backward", "_cross_entropy_backward"})
    add_batching_rule(name, class_loss_backward_rule);
}

}  // namespace
}  // namespace rl
