// vmap: rules of matrix products, linear layers, convolutions and attention.
#include "ops/batching.h"

namespace rl {
namespace {

using namespace batching;
using ops::matmul;
using ops::unsqueeze;

Tensor below(const LevelCall& c, size_t i) { return c.below(c.tensor(i)); }
bool has(const LevelCall& c, size_t i) { return c.args[i].is_tensor(); }
// A tensor of the call that may be absent, the mapped dimension in front of `rank` others.
Tensor lined_up(const LevelCall& c, size_t i, int64_t rank) {
  return has(c, i) ? aligned(c, c.tensor(i), rank) : Tensor();
}

// ---- Products

// a @ b for the ranks of one sample, 1 or 2 each or both above.
Tensor product(const LevelCall& c, size_t i, size_t k) {
  const int64_t left = c.tensor(i).dim(), right = c.tensor(k).dim();
  const int64_t rank = std::max({left, right, int64_t(2)});
  Tensor a = below(c, i), b = below(c, k);
  if (left == 1) a = unsqueeze(a, -2);
  if (right == 1) b = unsqueeze(b, -1);
  const int64_t two = 2;
  for (int64_t d = std::max(left, two); c.is_batched(i) && d < rank; ++d) a = unsqueeze(a, 1);
  for (int64_t d = std::max(right, two); c.is_batched(k) && d < rank; ++d) b = unsqueeze(b, 1);
  Tensor r = matmul(a, b);
  if (right == 1) r = ops::squeeze_dim(r, -1);
  if (left == 1) r = ops::squeeze_dim(r, right == 1 ? -1 : -2);
  return r;
}

bool product_rule(const LevelCall& c, Value* results) {
  const bool fits = c.r.name == "mm"    ? c.tensor(0).dim() == 2 && c.tensor(1).dim() == 2
                    : c.r.name == "bmm" ? c.tensor(0).dim() == 3 && c.tensor(1).dim() == 3
                    : c.r.name == "mv"  ? c.tensor(0).dim() == 2 && c.tensor(1).dim() == 1
                                        : c.tensor(0).dim() == 1 && c.tensor(1).dim() == 1;
  if (!fits || c.tensor(0).dtype() != c.tensor(1).dtype()) return false;
  if (c.r.name == "bmm" && c.tensor(0).size(0) != c.tensor(1).size(0)) return false;
  results[0] = Value(product(c, 0, 1));
  return true;
}
bool vdot_rule(const LevelCall& c, Value* results) {
  const Tensor &a = c.tensor(0), &b = c.tensor(1);
  if (a.dim() != 1 || b.dim() != 1 || a.size(0) != b.size(0)) return false;
  const int64_t last = -1;
  results[0] = Value(ops::sum_dim(rl::conj(c.expanded(a)) * c.expanded(b), Ints(&last, 1), false));
  return true;
}

// beta * self + alpha * product
bool added_rule(const LevelCall& c, Value* results) {
  const bool batches = c.r.name == "baddbmm" || c.r.name == "addbmm";
  const int64_t left = c.tensor(1).dim(), right = c.tensor(2).dim();
  const bool fits = batches ? left == 3 && right == 3
                    : c.r.name == "addmm" ? left == 2 && right == 2
                    : c.r.name == "addmv" ? left == 2 && right == 1 : left == 1 && right == 1;
  if (!fits || c.tensor(1).dtype() != c.tensor(2).dtype()) return false;
  Tensor r;
  const bool outer = c.r.name == "addr";
  if (outer) {
    r = unsqueeze(c.expanded(c.tensor(1)), -1) * unsqueeze(c.expanded(c.tensor(2)), -2);
  } else {
    r = product(c, 1, 2);
  }
  const int64_t batch = outer || c.is_batched(1) || c.is_batched(2) ? 1 : 0;
  if (c.r.name == "addbmm") r = ops::sum_dim(r, Ints(&batch, 1), false);
  const Scalar beta = c.args[3].scalar(), alpha = c.args[4].scalar();
  const int64_t rank = r.dim() - batch;
  if (c.tensor(0).dim() > rank) return false;
  if (!alpha.equal(1)) r = r * alpha;
  if (!beta.equal(0)) r = ops::add(r, aligned(c, c.tensor(0), rank), beta);
  else if (!batch) r = ops::expand(r, with_size(c, r.sizes()), false);
  results[0] = Value(r);
  return true;
}
[[gnu::constructor]] void add_products() {
  for (const char* name : {"mm", "bmm", "mv", "dot"}) add_batching_rule(name, product_rule);
  add_batching_rule("vdot", vdot_rule);
  for (const char* name : {"addmm", "addmv", "baddbmm", "addbmm", "addr"})
    add_batching_rule(name, added_rule);
}

// ---- linear

bool linear_rule(const LevelCall& c, Value* results) {
  const int64_t rank = c.tensor(0).dim();
  if (!c.is_batched(1) && !(has(c, 2) && c.is_batched(2))) {
    results[0] = Value(ops::linear(below(c, 0), below(c, 1), has(c, 2) ? below(c, 2) : Tensor()));
    return true;
  }
  Tensor x = below(c, 0);
  if (rank == 1) x = unsqueeze(x, -2);
  Tensor w = ops::transpose(below(c, 1), -1, -2);
  for (int64_t d = 2; c.is_batched(1) && d < rank; ++d) w = unsqueeze(w, 1);
  Tensor r = matmul(x, w);
  if (rank == 1) r = ops::squeeze_dim(r, -2);
  if (has(c, 2)) r = r + lined_up(c, 2, rank);
  results[0] = Value(r);
  return true;
}

bool linear_backward_rule(const LevelCall& c, Value* results) {
  const int64_t mask = c.args[3].integer, rank = c.tensor(0).dim();
  if (mask & 1) {
    Tensor g = below(c, 0), w = below(c, 2);
    if (rank == 1) g = unsqueeze(g, -2);
    for (int64_t d = 2; c.is_batched(2) && d < rank; ++d) w = unsqueeze(w, 1);
    Tensor dx = matmul(g, w);
    if (rank == 1) dx = ops::squeeze_dim(dx, -2);
    const bool mapped = c.is_batched(0) || c.is_batched(2);
    results[0] = Value(mapped ? dx : ops::expand(dx, with_size(c, dx.sizes()), false));
  }
  const Tensor g = c.expanded(c.tensor(0));
  int64_t count = 1;
  for (int64_t d = 1; d < g.dim() - 1; ++d) count *= g.size(d);
  const Tensor rows = ops::reshape(g, Dims{c.size(), count, g.size(-1)});
  if (mask & 2) {
    const Tensor x = c.expanded(c.tensor(1));
    const Tensor by_row = ops::reshape(x, Dims{c.size(), rows.size(1), x.size(-1)});
    results[1] = Value(matmul(ops::transpose(rows, 1, 2), by_row));
  }
  const int64_t one = 1;
  if (mask & 4) results[2] = Value(ops::sum_dim(rows, Ints(&one, 1), false));
  return true;
}
[[gnu::constructor]] void add_linear() {
  for (const char* name : {"_linear_addmm", "_linear_mm", "_linear_view", "_linear_unsafe_view",
                           "_linear_squeeze"})
    add_batching_rule(name, linear_rule);
  add_batching_rule("_linear_backward", linear_backward_rule);
}

// ---- Convolutions. With one weight for all, samples are more images; with a weight for each,
// they are groups.

Tensor as_images(const LevelCall& c, const Tensor& t) {     // [B, N, ...] to [B * N, ...]
  const Tensor v = c.expanded(t);
  Dims sizes{v.size(0) * v.size(1)};
  for (int64_t d = 2; d < v.dim(); ++d) sizes.push_back(v.size(d));
  return ops::reshape(v, sizes);
}
Tensor from_images(const LevelCall& c, const Tensor& t) {
  Dims sizes{c.size(), c.size() ? t.size(0) / c.size() : 0};
  for (int64_t d = 1; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return ops::reshape(t, sizes);
}
Tensor as_groups(const LevelCall& c, const Tensor& t) {     // [B, N, C, ...] to [N, B * C, ...]
  const Tensor v = ops::transpose(c.expanded(t), 0, 1);
  Dims sizes{v.size(0), v.size(1) * v.size(2)};
  for (int64_t d = 3; d < v.dim(); ++d) sizes.push_back(v.size(d));
  return ops::reshape(v, sizes);
}
Tensor from_groups(const LevelCall& c, const Tensor& t) {
  Dims sizes{t.size(0), c.size(), c.size() ? t.size(1) / c.size() : 0};
  for (int64_t d = 2; d < t.dim(); ++d) sizes.push_back(t.size(d));
  return ops::transpose(ops::reshape(t, sizes), 0, 1);
}

bool convolution_rule(const LevelCall& c, Value* results) {
  if (c.tensor(0).dim() < 3 || c.size() == 0) return false;
  Lowered low(c);
  const bool each = c.is_batched(1);
  if (each) {
    low.set(0, as_groups(c, c.tensor(0)));
    low.set(1, as_images(c, c.tensor(1)));
    low[8] = Arg(c.args[8].integer * c.size());
  } else {
    low.set(0, as_images(c, c.tensor(0)));
  }
  low[2] = Arg();
  const bool shared = has(c, 2) && !c.is_batched(2) && !each;
  if (shared) low[2] = Arg(c.below(c.tensor(2)).body());
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  Tensor r = each ? from_groups(c, made[0].tensor()) : from_images(c, made[0].tensor());
  if (has(c, 2) && !shared) {
    Dims sizes{c.size(), 1, c.tensor(2).size(0)};
    sizes.resize(size_t(r.dim()), 1);
    r = r + ops::reshape(c.expanded(c.tensor(2)), sizes);
  }
  results[0] = Value(r);
  return true;
}

bool convolution_backward_rule(const LevelCall& c, Value* results) {
  if (c.tensor(1).dim() < 3 || c.size() == 0) return false;
  const int64_t mask = c.args[9].integer;
  const auto call = [&](int64_t wanted, bool groups, Value* made) {
    Lowered low(c);
    if (groups) {
      low.set(0, as_groups(c, c.tensor(0)));
      low.set(1, as_groups(c, c.tensor(1)));
      low.set(2, as_images(c, c.tensor(2)));
      low[8] = Arg(c.args[8].integer * c.size());
    } else {
      low.set(0, as_images(c, c.tensor(0)));
      low.set(1, as_images(c, c.tensor(1)));
    }
    low[9] = Arg(wanted);
    invoke(c.r, low.args(), made);
  };
  if (mask & 1) {
    Value made[kMostResults];
    const bool groups = c.is_batched(2);
    call(1, groups, made);
    const Tensor dx = made[0].tensor();
    results[0] = Value(groups ? from_groups(c, dx) : from_images(c, dx));
  }
  if (mask & 2) {
    Value made[kMostResults];
    call(2, true, made);
    results[1] = Value(from_images(c, made[1].tensor()));
  }
  if (mask & 4) {
    const Tensor g = c.expanded(c.tensor(0));
    Dims dims{1};
    for (int64_t d = 3; d < g.dim(); ++d) dims.push_back(d);
    results[2] = Value(ops::sum_dim(g, dims, false));
  }
  return true;
}
[[gnu::constructor]] void add_convolutions() {
  add_batching_rule("convolution", convolution_rule);
  add_batching_rule("_convolution_backward", convolution_backward_rule);
}

// ---- Attention: samples are more of the batch.

bool attention_rule(const LevelCall& c, Value* results) {
  const size_t first = size_t(c.r.param("query")), mask = size_t(c.r.param("attn_mask"));
  if (c.size() == 0) return false;
  Lowered low(c);
  const int64_t n = c.tensor(first).size(0);
  for (size_t i = 0; i < mask; ++i) low.set(i, as_images(c, c.tensor(i)));
  if (has(c, mask)) {
    Tensor m = c.expanded(c.tensor(mask));
    for (int64_t d = c.tensor(mask).dim(); d < 4; ++d) m = unsqueeze(m, 1);
    Dims sizes(m.sizes());
    sizes[1] = n;
    m = ops::expand(m, sizes, false);
    Dims folded{c.size() * n};
    for (size_t d = 2; d < sizes.size(); ++d) folded.push_back(sizes[d]);
    low.set(mask, ops::reshape(m, folded));
  }
  Value made[kMostResults];
  invoke(c.r, low.args(), made);
  for (int i = 0; i < c.r.visible; ++i)
    if (made[i].is_tensor()) results[i] = Value(from_images(c, made[i].tensor()));
  return true;
}
[[gnu::constructor]] void add_attention() {
  add_batching_rule("_attention", attention_rule);
  add_batching_rule("_attention_backward", attention_rule);
}

}  // namespace
}  // namespace rl
