// vmap: rules that follow from what a record declares, and the loop for what has none.
#include "ops/batching.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ops/promotion.h"

namespace rl {
namespace {

struct Rule {
  BatchingRule call = nullptr;
  const char* kind = "loop";
};
std::unordered_map<std::string_view, Rule>& named_rules() {
  static std::unordered_map<std::string_view, Rule> rules;
  return rules;
}

using Names = std::set<std::string_view>;

// Parameters that count dimensions of the first tensor.
const Names kDimNames = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"};
// Records that also have such a parameter, but do not act on each slice by itself.
const Names kNotBySlice = {"unique_dim", "unique_consecutive", "renorm", "permute", "permute_copy",
                           "index_select", "index_add", "index_copy", "index_reduce", "cat",
                           "stack", "index_fill.int_Scalar", "index_fill.int_Tensor",
                           "linalg_tensorsolve"};

bool counts_dims(const Param& p) {
  return kDimNames.count(p.name) && (p.type == Type::Int || p.type == Type::Ints);
}

bool by_dims(const Record& r) {
  if (r.kind == Kind::Pointwise || r.kind == Kind::Factory || r.kind == Kind::Effect) return false;
  if (!r.tensor_params || kNotBySlice.count(r.name)) return false;
  return std::any_of(r.params.begin(), r.params.end(), counts_dims);
}

Rule derive(const Record& r) {
  const auto named = named_rules().find(r.name);
  if (named != named_rules().end()) return named->second;
  if (r.kind == Kind::Pointwise) return {batching::aligned_rule, "pointwise"};
  if (by_dims(r)) return {batching::dims_rule, r.kind == Kind::View ? "view" : "dims"};
  return {};
}

const Rule& rule_of(const Record& r) {
  thread_local std::unordered_map<const Record*, Rule> cache;
  const auto [at, fresh] = cache.try_emplace(&r);
  if (fresh) at->second = derive(r);
  return at->second;
}

}  // namespace

void add_batching_rule(const char* record, BatchingRule rule, const char* kind) {
  named_rules()[record] = {rule, kind};
}

const char* batching_of(const Record& r) {
  return r.kind == Kind::Composite ? "composite" : is_random(r) ? "random" : derive(r).kind;
}

namespace batching {

void wrap_results(const LevelCall& c, Value* results, bool batched) {
  for (int i = 0; i < c.r.visible; ++i) {
    if (results[i].is_tensor()) {
      Tensor t = results[i].take_tensor();
      if (batched && (t.dim() == 0 || t.size(0) != c.size()))   // an empty result for all
        t = ops::expand(t, with_size(c, t.sizes()), false);
      results[i] = Value(wrap_batched(t, c.at, batched));
    } else if (results[i].arg().tag == Tag::Tensors) {
      Tensors wrapped;
      for (const Tensor& t : results[i].tensors())
        wrapped.push_back(t ? wrap_batched(t, c.at, batched) : t);
      results[i] = Value(std::move(wrapped));
    }
  }
}

Tensor aligned(const LevelCall& c, const Tensor& t, int64_t rank) {
  Tensor v = c.below(t);
  if (v.dim() == t.dim()) return v;           // the same for all samples
  for (int64_t i = t.dim(); i < rank; ++i) v = ops::unsqueeze(v, 1);
  return v;
}

int64_t highest_rank(const LevelCall& c) {
  int64_t rank = 0;
  for (size_t i = 0; i < c.r.params.size(); ++i)
    if (c.args[i].is_tensor()) rank = std::max(rank, c.tensor(i).dim());
  return rank;
}

Dims with_size(const LevelCall& c, Ints sizes) {
  Dims all{c.size()};
  for (int64_t s : sizes) all.push_back(s);
  return all;
}

Dims shifted(Ints dims, int64_t rank) {
  Dims moved;
  for (int64_t d : dims) moved.push_back(wrap_dim(d, rank) + 1);
  return moved;
}

Tensor flattened(const LevelCall& c, const Tensor& t) {
  int64_t each = c.size() ? t.numel() / c.size() : 1;
  for (int64_t d = 1; !c.size() && d < t.dim(); ++d) each *= t.size(d);
  return ops::reshape(t, Dims{c.size(), each});
}

Dims all_dims(int64_t rank) {
  Dims dims;
  for (int64_t d = 1; d <= rank; ++d) dims.push_back(d);
  return dims;
}

namespace {

// A tensor without dimensions counts less in promotion than its samples in a row would.
void keep_promotion(const LevelCall& c, Lowered& low) {
  if (c.r.kind != Kind::Pointwise) return;
  Promotion p;
  bool differ = false;
  DType first = DType::Undefined;
  const size_t from = c.r.pointwise && c.r.pointwise->bool_first ? 1 : 0;
  for (size_t k = from; k < c.r.shape.operand_count; ++k) {
    const Arg& a = c.args[c.r.shape.operands[k]];
    if (!a.is_tensor() && !a.is_number()) continue;
    p.add(a);
    const DType t = a.is_tensor() ? a.as_tensor().dtype() : a.scalar().dtype();
    differ |= first != DType::Undefined && t != first;
    first = t;
  }
  if (!differ) return;
  for (size_t k = from; k < c.r.shape.operand_count; ++k) {
    const size_t i = c.r.shape.operands[k];
    if (c.is_batched(i) && c.tensor(i).dim() == 0)
      low.set(i, ops::to_dtype(low[i].as_tensor(), p.dtype()));
  }
}

}  // namespace

namespace {

bool asks_channels_last(const LevelCall& c) {
  for (size_t i = 0; i < c.r.params.size(); ++i)
    if (c.args[i].tag == Tag::MemoryFormat &&
        MemoryFormat(c.args[i].integer) >= MemoryFormat::ChannelsLast)
      return true;
  return false;
}

}  // namespace

bool aligned_rule(const LevelCall& c, Value* results) {
  const int64_t rank = highest_rank(c);
  if (asks_channels_last(c)) return folded(c, rank - 1, results);
  Lowered low(c);
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    if (c.args[i].tag == Tag::Tensors) return false;
    if (c.is_batched(i)) low.set(i, aligned(c, c.tensor(i), rank));
  }
  keep_promotion(c, low);
  const size_t first = size_t(std::max(c.r.first_tensor, 0));
  if (c.r.kind != Kind::Pointwise && c.args[first].is_tensor() && !c.is_batched(first)) {
    Tensor v = c.expanded(c.tensor(first));
    while (v.dim() <= rank) v = ops::unsqueeze(v, 1);
    low.set(first, v);
  }
  invoke(c.r, low.args(), results);
  return true;
}

namespace {

const Names kOfMoreDims = {"unsqueeze", "unsqueeze_copy", "diag_embed"};
const Names kOfOtherRanks = {"select_scatter", "slice_scatter", "diagonal_scatter"};
const Names kEmptyIsAll = {"count_nonzero.dim_IntList", "_equal_shares"};

struct ByDims {
  explicit ByDims(const LevelCall& call) : c(call), low(call) {}

  // Reads the tensors; false where the ranks do not go together.
  bool take_tensors() {
    const size_t first = size_t(c.r.first_tensor);
    if (!c.args[first].is_tensor()) return false;
    rank = c.tensor(first).dim();
    int tensors = 0;
    for (size_t i = 0; i < c.r.params.size(); ++i) {
      if (c.args[i].tag == Tag::Tensors) return false;
      if (c.args[i].is_tensor()) ++tensors;
    }
    for (size_t i = 0; i < c.r.params.size(); ++i) {
      if (!c.args[i].is_tensor()) continue;
      if (tensors > 1 && !kOfOtherRanks.count(c.r.name) && c.tensor(i).dim() != rank) return false;
      low.set(i, c.expanded(c.tensor(i)));
    }
    for (size_t i = 0; i < c.r.params.size(); ++i) {
      if (c.r.params[i].name != "input_sizes" && c.r.params[i].name != "input_size") continue;
      rank = int64_t(c.args[i].ints().size());
      low.set(i, with_size(c, c.args[i].ints()));
    }
    if (rank == 0 && !kOfMoreDims.count(c.r.name)) {
      if (tensors > 1 || c.tensor(first).dim()) return false;
      low.set(first, ops::unsqueeze(low[first].as_tensor(), 1));
      rank = 1;
      scalar = true;
    }
    return true;
  }

  bool shift(size_t i) {
    const Arg& a = c.args[i];
    const Param& p = c.r.params[i];
    const int64_t of = rank + (kOfMoreDims.count(c.r.name) ? 1 : 0);
    if (p.type == Type::Int) {
      if (a.is_none()) return flatten(i);
      low[i] = Arg(wrap_dim(a.scalar().to_int(), of) + 1);
      return true;
    }
    const bool reduces = c.r.param("keepdim") >= 0 || kEmptyIsAll.count(c.r.name);
    if (a.is_none() || (a.ints().empty() && reduces)) {
      low.set(i, all_dims(rank));
      return true;
    }
    if (a.ints().empty() && c.r.name == "roll") return false;
    if (c.r.kind != Kind::View) wrap_dims(a.ints(), of);       // refuses what comes twice
    low.set(i, shifted(a.ints(), of));
    return true;
  }

  // No dimension given: over all elements in a row.
  bool flatten(size_t i) {
    const int keep = c.r.param("keepdim");
    if (keep >= 0 && c.args[keep].integer) return false;
    const size_t first = size_t(c.r.first_tensor);
    low.set(first, flattened(c, low[first].as_tensor()));
    low[i] = Arg(int64_t(1));
    return true;
  }

  const LevelCall& c;
  Lowered low;
  int64_t rank = 0;
  bool scalar = false;      // the tensor has no dimensions: it got one
};

void drop_last(Value& v) {
  if (!v.is_tensor()) return;
  const Tensor t = v.tensor();
  if (t.dim() == 2 && t.size(1) == 1) v = Value(ops::squeeze_dim(t, 1));
}

}  // namespace

bool dims_rule(const LevelCall& c, Value* results) {
  ByDims by(c);
  if (!by.take_tensors()) return false;
  if (by.scalar && (c.r.name == "unfold" || c.r.name == "unfold_copy")) return false;
  for (size_t i = 0; i < c.r.params.size(); ++i)
    if (counts_dims(c.r.params[i]) && !by.shift(i)) return false;
  invoke(c.r, by.low.args(), results);
  for (int i = 0; by.scalar && i < c.r.visible; ++i) drop_last(results[i]);
  return true;
}

bool folded(const LevelCall& c, int64_t trailing, Value* results) {
  const size_t first = size_t(c.r.first_tensor);
  const int64_t rank = c.tensor(first).dim();
  if (rank < trailing) return false;
  Dims lead;
  Lowered low(c);
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    if (c.args[i].is_tensor()) {
      if (c.tensor(i).dim() != rank) return false;
      const Tensor v = c.expanded(c.tensor(i));
      if (i == first) lead = Dims(Ints(v.sizes().data(), size_t(v.dim() - trailing)));
      low.set(i, lead.size() == 1 ? v : ops::reshape(v, [&] {
        Dims sizes{numel_of(lead)};
        for (int64_t d = v.dim() - trailing; d < v.dim(); ++d) sizes.push_back(v.size(d));
        return sizes;
      }()));
    } else if (c.r.params[i].name == "input_sizes" || c.r.params[i].name == "input_size") {
      const Ints given = c.args[i].ints();
      Dims sizes{numel_of(lead)};
      for (size_t d = given.size() - size_t(trailing); d < given.size(); ++d)
        sizes.push_back(given[d]);
      low.set(i, sizes);
    }
  }
  invoke(c.r, low.args(), results);
  for (int i = 0; lead.size() > 1 && i < c.r.visible; ++i) {
    if (!results[i].is_tensor()) continue;
    const Tensor t = results[i].tensor();
    Dims sizes = lead;
    for (int64_t d = 1; d < t.dim(); ++d) sizes.push_back(t.size(d));
    results[i] = Value(Tensor(ops::reshape(t, sizes)));
  }
  return true;
}

namespace {

// The arguments of one sample.
Lowered sample(const LevelCall& c, int64_t k) {
  Lowered low(c);
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    if (c.is_batched(i)) {
      low.set(i, ops::select(c.below(c.tensor(i)), 0, k));
    } else if (c.args[i].tag == Tag::Tensors) {
      Tensors list;
      for (const Tensor& t : c.args[i].tensors()) {
        const bool mapped = t && c.is_mine(t) && wrapper_of(t)->batched;
        list.push_back(mapped ? Tensor(ops::select(c.below(t), 0, k)) : c.below(t));
      }
      low.set(i, std::move(list));
    }
  }
  return low;
}

// A tensor of the meta device that has the sizes of one sample.
Tensor outline(const LevelCall& c, const Tensor& t) {
  if (!t) return t;
  const Tensor below = c.below(t);
  const size_t mapped = c.is_mine(t) && wrapper_of(t)->batched;
  const Ints sizes(below.sizes().begin() + mapped, size_t(below.dim()) - mapped);
  return empty(sizes, below.dtype(), Device{DeviceType::Meta});
}

Tensor none_of(const Tensor& one, Device device) {
  if (!one) return one;
  Dims sizes{0};
  for (int64_t s : one.sizes()) sizes.push_back(s);
  return empty(Ints(sizes), one.dtype(), device);
}

// Results of no samples: their sizes are those that one sample would have.
void no_samples(const LevelCall& c, Value* results) {
  Lowered low(c);
  Device device;
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    if (c.args[i].tag == Tag::Tensor) {
      device = c.tensor(i).device();
      low.set(i, outline(c, c.tensor(i)));
    } else if (c.args[i].tag == Tag::Tensors) {
      Tensors list;
      for (const Tensor& t : c.args[i].tensors()) list.push_back(outline(c, t));
      low.set(i, std::move(list));
    }
  }
  std::array<Value, kMostResults> row;
  invoke(c.r, low.args(), row.data());
  for (int i = 0; i < c.r.visible; ++i) {
    const Value& one = row[size_t(i)];
    if (one.arg().tag == Tag::Tensors) {
      Tensors list;
      for (const Tensor& t : one.tensors()) list.push_back(none_of(t, device));
      results[i] = Value(std::move(list));
    } else {
      results[i] = one.is_tensor() ? Value(none_of(one.tensor(), device)) : one;
    }
  }
}

}  // namespace

void loop(const LevelCall& c, Value* results) {
  if (c.size() == 0) return no_samples(c, results);
  std::vector<std::array<Value, kMostResults>> rows(size_t(c.size()));
  for (int64_t k = 0; k < c.size(); ++k) {
    Lowered low = sample(c, k);
    invoke(c.r, low.args(), rows[size_t(k)].data());
  }
  const auto stacked = [&](auto pick) {
    Tensors each;
    for (auto& row : rows) each.push_back(pick(row));
    for (const Tensor& t : each)
      if (!t) return Tensor();
    for (const Tensor& t : each)
      check(t.sizes() == each[0].sizes(), "vmap: We do not support batching operators that can "
            "output dynamic shape. Attempted to vmap over ", c.r.base, ".");
    return Tensor(ops::stack(each, 0));
  };
  for (int i = 0; i < c.r.visible; ++i) {
    if (rows[0][size_t(i)].arg().tag == Tag::Tensors) {
      Tensors list;
      for (size_t k = 0; k < rows[0][size_t(i)].tensors().size(); ++k)
        list.push_back(stacked([&](auto& row) { return Tensor(row[size_t(i)].tensors()[k]); }));
      results[i] = Value(std::move(list));
    } else if (rows[0][size_t(i)].is_tensor()) {
      results[i] = Value(stacked([&](auto& row) { return row[size_t(i)].tensor(); }));
    } else {
      results[i] = std::move(rows[0][size_t(i)]);
    }
  }
}

}  // namespace batching

void batch_rule(const LevelCall& c, Value* results) {
  if (is_random(c.r)) return batch_random(c, results);
  if (!c.batched) {
    Lowered low(c);
    invoke(c.r, low.args(), results);
    return batching::wrap_results(c, results, false);
  }
  const Rule& rule = rule_of(c.r);
  if (!rule.call || !rule.call(c, results)) batching::loop(c, results);
  batching::wrap_results(c, results, true);
}

}  // namespace rl
