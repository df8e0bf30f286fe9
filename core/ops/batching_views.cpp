// vmap: rules of views and other moves that name sizes or all dimensions, joins, factories.
#include "ops/batching.h"

namespace rl {
namespace {

using namespace batching;

size_t self_of(const LevelCall& c) { return size_t(c.r.first_tensor); }
Tensor self_below(const LevelCall& c) { return c.expanded(c.tensor(self_of(c))); }

// Elementwise and matrix-wise ops: dimensions in front are theirs already.
[[gnu::constructor]] void add_leading() {
  for (const char* name : {
      "log_sigmoid", "complex", "polar", "clone", "fill", "_to_copy", "frexp.Tensor",
      "masked_fill.Scalar", "mvlgamma", "deg2rad", "rad2deg", "ndtr", "mul.Scalar", "div.Scalar",
      "_div_number", "ldexp", "_resolve_bits", "view_as_real", "view_as_complex",
      "view_as_real_copy", "view_as_complex_copy", "alias", "alias_copy", "detach", "detach_copy",
      "_conj", "_neg_view", "tril", "triu", "constant_pad_nd",
      "linalg_cholesky_ex", "cholesky", "cholesky_inverse", "linalg_ldl_factor_ex", "_linalg_eigh",
      "linalg_eig", "_linalg_eigvals", "linalg_lu_factor_ex", "linalg_lu", "linalg_inv_ex",
      "_linalg_det", "_linalg_slogdet", "linalg_qr", "geqrf", "_linalg_svd", "linalg_matrix_exp",
      "pixel_shuffle", "pixel_unshuffle", "_stacked_matmul", "rrelu_with_noise_backward",
      "_lstm_gates_backward", "zeros_like", "ones_like", "full_like", "empty_like"})
    add_batching_rule(name, aligned_rule, "leading");
}

// Several matrices: each is repeated, so that their dimensions in front agree.
bool matrices(const LevelCall& c, Value* results) {
  const int64_t rank = highest_rank(c);
  Lowered low(c);
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    if (!c.args[i].is_tensor()) continue;
    if (rank < 2) return false;
    Tensor v = c.expanded(c.tensor(i));
    if (c.tensor(i).dim() != rank && c.r.params[i].name != "pivots" &&
        c.r.params[i].name != "LU_pivots" && c.r.params[i].name != "tau")
      return false;
    low.set(i, v);
  }
  invoke(c.r, low.args(), results);
  return true;
}
[[gnu::constructor]] void add_matrices() {
  for (const char* name : {"cholesky_solve", "linalg_ldl_solve", "lu_unpack", "linalg_lu_solve",
                           "linalg_householder_product", "linalg_solve_triangular",
                           "triangular_solve", "_linalg_solve_ex", "_cdist_forward",
                           "_cdist_backward", "_euclidean_dist"})
    add_batching_rule(name, matrices, "leading");
}

// Ops on samples of `N` dimensions of their own, with one more in front for many of them.
template <int64_t N> bool fold(const LevelCall& c, Value* results) { return folded(c, N, results); }
bool fold_spatial(const LevelCall& c, Value* results) {
  return folded(c, c.args[c.r.param("spatial")].integer + 1, results);
}
bool fold_images(const LevelCall& c, Value* results) {
  return folded(c, c.tensor(size_t(c.r.first_tensor)).dim() - 1, results);
}
[[gnu::constructor]] void add_folded() {
  for (const char* name : {"channel_shuffle", "native_channel_shuffle"})
    add_batching_rule(name, fold_images, "folded");
  for (const char* name : {"reflection_pad1d", "replication_pad1d", "upsample_nearest1d",
                           "upsample_nearest1d_backward", "_upsample_nearest_exact1d",
                           "_upsample_nearest_exact1d_backward", "upsample_linear1d",
                           "upsample_linear1d_backward", "col2im"})
    add_batching_rule(name, fold<2>, "folded");
  for (const char* name : {
      "reflection_pad2d", "replication_pad2d", "avg_pool2d", "max_pool2d_with_indices",
      "_adaptive_avg_pool2d", "adaptive_max_pool2d", "upsample_nearest2d",
      "upsample_nearest2d_backward", "_upsample_nearest_exact2d",
      "_upsample_nearest_exact2d_backward", "upsample_bilinear2d", "upsample_bilinear2d_backward",
      "upsample_bicubic2d", "upsample_bicubic2d_backward", "_upsample_bilinear2d_aa",
      "_upsample_bilinear2d_aa_backward", "_upsample_bicubic2d_aa",
      "_upsample_bicubic2d_aa_backward", "_upsample_lanczos2d_aa",
      "_upsample_lanczos2d_aa_backward", "grid_sampler_2d", "grid_sampler_2d_backward",
      "max_unpool2d", "im2col"})
    add_batching_rule(name, fold<3>, "folded");
  for (const char* name : {
      "reflection_pad3d", "replication_pad3d", "avg_pool3d", "max_pool3d_with_indices",
      "_adaptive_avg_pool3d", "adaptive_max_pool3d", "upsample_nearest3d",
      "upsample_nearest3d_backward", "_upsample_nearest_exact3d",
      "_upsample_nearest_exact3d_backward", "upsample_trilinear3d",
      "upsample_trilinear3d_backward", "grid_sampler_3d", "grid_sampler_3d_backward",
      "max_unpool3d"})
    add_batching_rule(name, fold<4>, "folded");
  for (const char* name : {"_pool_gather", "_max_pool_backward", "_avg_pool_backward",
                           "_adaptive_avg_pool_backward"})
    add_batching_rule(name, fold_spatial, "folded");
}

// ---- Views that name sizes

bool with_sizes(const LevelCall& c, Value* results) {
  Lowered low(c);
  low.set(self_of(c), self_below(c));
  for (size_t i = 0; i < c.r.params.size(); ++i)
    if (c.r.params[i].name == "size") low.set(i, with_size(c, c.args[i].ints()));
  invoke(c.r, low.args(), results);
  return true;
}

// Rows of a sample's own elements: as far apart as one sample's elements reach.
bool new_strided(const LevelCall& c, Value* results) {
  Lowered low(c);
  const Ints size = c.args[1].ints(), stride = c.args[2].ints();
  Dims strides{int64_t(bytes_needed(size, stride, 0, 1))};
  for (int64_t s : stride) strides.push_back(s);
  low.set(0, self_below(c));
  low.set(1, with_size(c, size));
  low.set(2, strides);
  invoke(c.r, low.args(), results);
  return true;
}

bool expand_rule(const LevelCall& c, Value* results) {
  Lowered low(c);
  const Ints sizes = c.args[1].ints();
  if (int64_t(sizes.size()) < c.tensor(0).dim()) return false;
  low.set(0, aligned(c, c.tensor(0), int64_t(sizes.size())));
  low.set(1, with_size(c, sizes));
  invoke(c.r, low.args(), results);
  return true;
}

bool repeat_rule(const LevelCall& c, Value* results) {
  Lowered low(c);
  const Ints repeats = c.args[1].ints();
  if (int64_t(repeats.size()) < c.tensor(0).dim()) return false;
  Dims all{1};
  for (int64_t n : repeats) all.push_back(n);
  low.set(0, aligned(c, c.tensor(0), int64_t(repeats.size())));
  low.set(1, all);
  invoke(c.r, low.args(), results);
  return true;
}

bool permute_rule(const LevelCall& c, Value* results) {
  const Ints dims = c.args[1].ints();
  if (int64_t(dims.size()) != c.tensor(0).dim()) return false;   // the op says what is wrong
  Dims all{0};
  for (int64_t d : shifted(dims, c.tensor(0).dim())) all.push_back(d);
  Lowered low(c);
  low.set(1, all);
  invoke(c.r, low.args(), results);
  return true;
}

bool t_rule(const LevelCall& c, Value* results) {
  const int64_t rank = c.tensor(0).dim();
  if (rank > 2) return false;
  const Tensor v = self_below(c);
  if (rank == 2) results[0] = Value(ops::transpose(v, 1, 2));
  else results[0] = Value(ops::alias_op(v));
  return true;
}

bool squeeze_rule(const LevelCall& c, Value* results) {
  Dims ones;
  const Tensor& self = c.tensor(0);
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.size(d) == 1) ones.push_back(d + 1);
  static const Record* const some = find_record("squeeze.dims");
  const Tensor v = self_below(c);
  const Arg args[] = {Arg(v), Arg(ones)};
  invoke(*some, args, results);
  return true;
}

bool view_dtype(const LevelCall& c, Value* results) {
  if (c.tensor(0).dim() == 0) return false;
  Lowered low(c);
  invoke(c.r, low.args(), results);
  return true;
}

// The same part of each sample's memory.
bool as_strided_rule(const LevelCall& c, Value* results) {
  const Tensor v = c.below(c.tensor(0));
  Lowered low(c);
  Dims strides{v.stride(0)};
  for (int64_t s : c.args[2].ints()) strides.push_back(s);
  low.set(1, with_size(c, c.args[1].ints()));
  low.set(2, strides);
  invoke(c.r, low.args(), results);
  return true;
}

[[gnu::constructor]] void add_sized() {
  for (const char* name : {"view", "view_copy", "_unsafe_view", "new_empty", "new_zeros",
                           "new_ones", "new_full"})
    add_batching_rule(name, with_sizes, "view");
  add_batching_rule("new_empty_strided", new_strided, "view");
  for (const char* name : {"expand", "expand_copy"}) add_batching_rule(name, expand_rule, "view");
  add_batching_rule("repeat", repeat_rule);
  for (const char* name : {"permute", "permute_copy"})
    add_batching_rule(name, permute_rule, "view");
  for (const char* name : {"t", "t_copy"}) add_batching_rule(name, t_rule, "view");
  for (const char* name : {"squeeze", "squeeze_copy"})
    add_batching_rule(name, squeeze_rule, "view");
  for (const char* name : {"view.dtype", "view_copy.dtype"})
    add_batching_rule(name, view_dtype, "view");
  for (const char* name : {"as_strided", "as_strided_copy", "_reshape_alias"})
    add_batching_rule(name, as_strided_rule, "view");
}

// ---- Joins

bool join(const LevelCall& c, Value* results) {
  const TensorList given = c.args[0].tensors();
  const bool stacks = c.r.name == "stack";
  int64_t rank = 0;
  for (const Tensor& t : given) rank = std::max(rank, t.dim());
  Tensors list;
  for (const Tensor& t : given) {
    if (!stacks && t.dim() == 1 && rank > 1 && t.numel() == 0) continue;   // cat leaves it out
    if (!stacks && t.dim() != rank) return false;
    list.push_back(c.expanded(t));
  }
  if (list.empty() || (!stacks && rank == 0)) return false;
  const int64_t dim = wrap_dim(c.args[1].integer, rank + stacks) + 1;
  results[0] = Value(Tensor(stacks ? ops::stack(list, dim) : ops::cat(list, dim)));
  return true;
}
[[gnu::constructor]] void add_joins() {
  for (const char* name : {"cat", "stack"}) add_batching_rule(name, join);
}

// ---- Reductions over everything

bool over_all(const LevelCall& c, Value* results) {
  const Tensor flat = flattened(c, self_below(c));
  const Record* by_dim = find_record(c.r.name == "sum"     ? "sum.dim_IntList"
                                     : c.r.name == "mean"  ? "mean.dim"
                                     : c.r.name == "prod"  ? "prod.dim_int"
                                     : c.r.name == "max"   ? "amax"
                                     : c.r.name == "min"   ? "amin"
                                     : c.r.name == "any"   ? "any.dim"
                                     : c.r.name == "all"   ? "all.dim"
                                     : c.r.name == "median" ? "median.dim" : "nanmedian.dim");
  Arg args[kMostParams];
  with_defaults(*by_dim, {Arg(flat)}, args);
  const Dims one{1};
  args[1] = by_dim->params[1].type == Type::Ints ? Arg(one) : Arg(int64_t(1));
  const int dtype = by_dim->param("dtype"), asked = c.r.param("dtype");
  if (dtype >= 0 && asked >= 0) args[dtype] = c.args[asked];
  Value made[kMostResults];
  invoke(*by_dim, args, made);
  results[0] = std::move(made[0]);
  return true;
}
bool trace_rule(const LevelCall& c, Value* results) {
  if (c.tensor(0).dim() != 2) return false;
  const int64_t last = -1;
  results[0] = Value(ops::sum_dim(ops::diagonal(self_below(c), 0, 1, 2), Ints(&last, 1), false));
  return true;
}
[[gnu::constructor]] void add_whole() {
  for (const char* name : {"sum", "mean", "prod", "max", "min", "any", "all", "median",
                           "nanmedian"})
    add_batching_rule(name, over_all, "reduction");
  add_batching_rule("trace", trace_rule, "reduction");
}

}  // namespace
}  // namespace rl
