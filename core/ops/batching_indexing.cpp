// vmap: rules of indexing with tensors.
#include "ops/batching.h"

namespace rl {
namespace {

using namespace batching;
using ops::unsqueeze;

// What x[i, :, j] names, as one sample sees it. Masks have become indices.
struct Indices {
  Tensors list;               // undefined: the whole dimension
  int64_t rank = 0;           // of the indices, broadcast
  int64_t before = 0;         // whole dimensions in front of the first index
  bool batched = false;
  bool together = true;       // no whole dimension between indices
};

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

Indices read(const LevelCall& c, size_t at) {
  Indices x;
  for (const Tensor& t : c.args[at].tensors()) {
    if (!t || !is_mask(t)) {
      x.list.push_back(t);
      continue;
    }
    check(!(c.is_mine(t) && wrapper_of(t)->batched),
          "vmap: We do not support batching operators that can support dynamic shape. Attempting "
          "to batch over indexing with a boolean mask.");
    const Tensor where = ops::nonzero(c.below(t));
    for (const Tensor& part : ops::unbind(where, 1)) x.list.push_back(part);
  }
  bool begun = false, ended = false;
  for (const Tensor& t : x.list) {
    if (!t) {
      if (begun) ended = true;
      else ++x.before;
      continue;
    }
    if (ended) x.together = false;
    begun = true;
    x.rank = std::max(x.rank, t.dim());
    x.batched |= c.is_mine(t) && wrapper_of(t)->batched;
  }
  return x;
}

// Indices of the level below: the mapped dimension whole, or counted beside those that differ.
Tensors lowered(const LevelCall& c, const Indices& x) {
  Tensors list;
  if (!x.batched) {
    list.push_back(Tensor());
  } else {
    Tensor numbers = ops::arange(c.size(), DType::Int64);
    for (int64_t d = 0; d < x.rank; ++d) numbers = unsqueeze(numbers, -1);
    list.push_back(numbers);
  }
  for (const Tensor& t : x.list) list.push_back(t ? aligned(c, t, x.rank) : t);
  return list;
}

// Moves `count` dimensions from place `from` to place `to`.
Tensor moved(const Tensor& t, int64_t from, int64_t to, int64_t count) {
  Dims order;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d < from || d >= from + count) order.push_back(d);
  Dims dims;
  for (int64_t d = 0; d < to; ++d) dims.push_back(order[size_t(d)]);
  for (int64_t d = 0; d < count; ++d) dims.push_back(from + d);
  for (size_t d = size_t(to); d < order.size(); ++d) dims.push_back(order[d]);
  return ops::permute(t, dims);
}

bool index_rule(const LevelCall& c, Value* results) {
  const Indices x = read(c, 1);
  const Tensor self = x.batched || c.is_batched(0) ? c.expanded(c.tensor(0)) : Tensor();
  Tensor r = ops::index(self, lowered(c, x));
  if (!x.batched && !x.together) r = moved(r, x.rank, 0, 1);       // the mapped one came behind
  if (x.batched && x.together && x.before) r = moved(r, 1 + x.rank, 1, x.before);
  results[0] = Value(r);
  return true;
}

bool index_put_rule(const LevelCall& c, Value* results) {
  const Indices x = read(c, 1);
  const Tensor self = c.expanded(c.tensor(0));
  int64_t named = 0;
  for (const Tensor& t : x.list) named += bool(t);
  const int64_t rank = c.tensor(0).dim() - named + x.rank;          // of the place written
  if (c.tensor(2).dim() > rank) return false;
  if (!x.batched && !x.together) return false;
  if (x.batched && x.together && x.before) return false;
  const Tensor values = aligned(c, c.tensor(2), rank);
  results[0] = Value(ops::index_put(self, lowered(c, x), values, bool(c.args[3].integer)));
  return true;
}

// An index vector of each sample, shaped to stand beside `self` along `dim`.
Tensor spread_index(const Tensor& index, const Tensor& self, int64_t dim) {
  Dims sizes{self.size(0)};
  sizes.resize(size_t(self.dim()), 1);
  const int64_t count = index.dim() > 1 ? index.size(1) : 1;
  sizes[size_t(dim)] = count;
  Dims full(self.sizes());
  full[size_t(dim)] = count;
  return ops::expand(ops::reshape(ops::to_dtype(index, DType::Int64), sizes), full, false);
}

bool index_select_rule(const LevelCall& c, Value* results) {
  const int64_t rank = c.tensor(0).dim();
  if (rank == 0 || c.tensor(2).dim() > 1) return false;
  const int64_t dim = wrap_dim(c.args[1].integer, rank) + 1;
  const Tensor self = c.expanded(c.tensor(0));
  if (!c.is_batched(2)) results[0] = Value(ops::index_select(self, dim, c.below(c.tensor(2))));
  else results[0] = Value(ops::gather(self, dim, spread_index(c.below(c.tensor(2)), self, dim),
                                      false));
  return true;
}

// index_add and its like with one index for all.
bool index_write_rule(const LevelCall& c, Value* results) {
  const int64_t rank = c.tensor(0).dim();
  if (rank == 0 || c.is_batched(2)) return false;
  Lowered low(c);
  low.set(0, c.expanded(c.tensor(0)));
  low[1] = Arg(wrap_dim(c.args[1].integer, rank) + 1);
  if (c.args[3].is_tensor()) {
    if (c.r.name == "index_fill.int_Tensor") return false;
    if (c.tensor(3).dim() != rank) return false;
    low.set(3, c.expanded(c.tensor(3)));
  }
  invoke(c.r, low.args(), results);
  return true;
}

bool take_rule(const LevelCall& c, Value* results) {
  const Tensor self = flattened(c, c.expanded(c.tensor(0)));
  const Tensor index = c.expanded(c.tensor(1));
  const Tensor flat = flattened(c, index);
  const int64_t n = self.size(1);
  const Tensor from_end = ops::lt(flat, Scalar(0));
  const Tensor at = flat + ops::to_dtype(from_end, DType::Int64) * Scalar(n);
  results[0] = Value(Tensor(ops::reshape(ops::gather(self, 1, at, false), index.sizes())));
  return true;
}

bool masked_fill_rule(const LevelCall& c, Value* results) {
  const Tensor& self = c.tensor(0);
  const int64_t rank = std::max(self.dim(), c.tensor(1).dim());
  if (c.tensor(2).dim() != 0) return false;
  const Tensor value = ops::to_dtype(aligned(c, c.tensor(2), rank), self.dtype());
  results[0] = Value(ops::where(aligned(c, c.tensor(1), rank), value, aligned(c, self, rank)));
  return true;
}

bool fill_rule(const LevelCall& c, Value* results) {
  const Tensor self = c.expanded(c.tensor(0));
  if (c.tensor(1).dim() != 0) return false;
  const Tensor value = ops::to_dtype(aligned(c, c.tensor(1), c.tensor(0).dim()), self.dtype());
  results[0] = Value(ops::clone(ops::expand(value, self.sizes(), false)));
  return true;
}

[[noreturn]] void refuse_dynamic(const LevelCall& c) {
  if (c.r.name == "masked_select")
    fail(ErrorKind::Runtime, "vmap: Attempted to vmap over `mask` in torch.masked_select(self, "
         "mask) We cannot support this because for each batch this would return a differently "
         "shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
         "need this feature.");
  fail(ErrorKind::Runtime, "vmap: We do not support batching operators that can output dynamic "
       "shape. Attempted to vmap over aten::", c.r.name, ". Please file an issue at "
       "https://github.com/pytorch/pytorch/issues if you need this feature.");
}
bool dynamic_rule(const LevelCall& c, Value* results) {
  if (c.r.name == "masked_select" && !c.is_batched(1)) {
    const int64_t rank = std::max(c.tensor(0).dim(), c.tensor(1).dim());
    const Tensor mask = c.below(c.tensor(1));
    Dims sizes = with_size(c, broadcast(c.tensor(0).sizes(), mask.sizes()));
    const Tensor self = ops::expand(aligned(c, c.tensor(0), rank), sizes, false);
    const Tensor flat = flattened(c, self);
    const Tensor all = ops::expand(mask, Ints(sizes.data() + 1, sizes.size() - 1), false);
    const Tensor at = ops::reshape(ops::nonzero(ops::reshape(all, Dims{-1})), Dims{-1});
    results[0] = Value(ops::index_select(flat, 1, at));
    return true;
  }
  refuse_dynamic(c);
}

// The call with one argument's dimension mapped, element by element, and the others as they are.
bool aligned_first(const LevelCall& c, size_t mapped, Value* results) {
  Lowered low(c);
  low.set(mapped, c.expanded(c.tensor(mapped)));
  invoke(c.r, low.args(), results);
  return true;
}

// One sequence of boundaries for all.
bool bucketize_rule(const LevelCall& c, Value* results) {
  return !c.is_batched(1) && aligned_first(c, 0, results);
}

bool searchsorted_rule(const LevelCall& c, Value* results) {
  const bool shared = !c.is_batched(0) && !c.is_batched(5) && c.tensor(0).dim() == 1;
  return shared && c.args[1].is_tensor() && aligned_first(c, 1, results);
}
// Whether each element of a sample is among those that are the same for all.
bool isin_rule(const LevelCall& c, Value* results) {
  return !c.is_batched(1) && aligned_first(c, 0, results);
}
bool one_hot_rule(const LevelCall& c, Value* results) {
  return c.args[1].integer >= 0 && aligned_first(c, 0, results);
}

[[gnu::constructor]] void add_indexing() {
  add_batching_rule("searchsorted.Tensor", searchsorted_rule);
  for (const char* name : {"isin", "isin.Tensor_Scalar"}) add_batching_rule(name, isin_rule);
  add_batching_rule("one_hot", one_hot_rule);
  add_batching_rule("bucketize.Tensor", bucketize_rule);
  add_batching_rule("index", index_rule);
  add_batching_rule("index_put", index_put_rule);
  add_batching_rule("index_select", index_select_rule);
  for (const char* name : {"index_add", "index_copy", "index_fill.int_Scalar",
                           "index_fill.int_Tensor", "index_reduce"})
    add_batching_rule(name, index_write_rule);
  add_batching_rule("take", take_rule);
  add_batching_rule("masked_fill.Tensor", masked_fill_rule);
  add_batching_rule("fill.Tensor", fill_rule);
  for (const char* name : {"nonzero", "masked_select", "_unique2", "unique_dim",
                           "unique_consecutive"})
    add_batching_rule(name, dynamic_rule, "refused");
}

}  // namespace
}  // namespace rl
