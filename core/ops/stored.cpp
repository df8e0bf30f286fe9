// Which ops take floats of a byte and unsigned integers of more than one, and how: PyTorch's list.
#include "ops/stored.h"

#include <unordered_map>

namespace rl {
namespace {

constexpr uint64_t kPairs = dtype_bit(DType::Float4_e2m1fn_x2);
constexpr uint64_t kSigned8 = kFloat8 & ~dtype_bit(DType::Float8_e8m0fnu);
constexpr uint64_t kNumbers = kFloat8 | kWideUnsigned, kAll = kNumbers | kPairs;

// In what an op computes that takes a dtype without a kernel for it.
enum class Carrier : uint8_t {
  None,     // as it is: elements are moved, or the kernel knows it
  Value,    // float, int64: unsigned integers wrap around as they would
  Order,    // integers that compare alike
};
struct Rule {
  uint64_t taken = 0;
  Carrier carrier = Carrier::None;
  const char* kernel = nullptr;  // what PyTorch quotes in its refusal; null: the op's name and _cpu
  // The dtype without a kernel for a call of one that is taken; Undefined where there is one.
  DType (*refused)(const Record&, const Arg*) = nullptr;
};

DType flips_last(const Record&, const Arg* args) {
  const Tensor& self = args[0].as_tensor();
  const int64_t dim = self.dim();
  bool last = false;
  for (int64_t d : args[1].ints()) last |= dim > 0 && wrap_dim(d, dim) == dim - 1;
  return last && self.numel() > 0 ? self.dtype() : DType::Undefined;
}

// Sums and products are made in another dtype only, if there is anything to add.
DType adds_as_stored(const Record& r, const Arg* args) {
  const Tensor& self = args[0].as_tensor();
  const int place = r.param("dtype");
  DType made = is_float8(self.dtype()) ? self.dtype() : DType::Int64;
  if (place >= 0 && !args[place].is_none()) made = DType(args[place].integer);
  return self.numel() != 0 && is_stored_only(made) ? made : DType::Undefined;
}

DType scans_as_stored(const Record& r, const Arg* args) {  // a number alone is copied
  const bool alone = args[0].as_tensor().dim() == 0 && args[r.param("dtype")].is_none();
  return alone ? DType::Undefined : adds_as_stored(r, args);
}

// Ops that move elements, whatever these are.
constexpr std::string_view kMoves[] = {
    "_to_copy", "_unsafe_view", "alias_copy", "as_strided_", "as_strided_copy",
    "as_strided_scatter", "block_diag", "cat", "clone", "constant_pad_nd", "copy_", "detach",
    "detach_", "detach_copy", "diag_embed", "diagonal_backward", "diagonal_copy",
    "diagonal_scatter", "empty", "empty_like", "empty_permuted", "empty_strided", "expand_copy",
    "fill", "fill.Tensor", "fill_", "fill_.Tensor", "full", "full_like", "narrow_copy",
    "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "ones", "ones_like",
    "permute_copy", "repeat", "resize_", "roll", "rot90",
    "select_backward", "select_copy", "select_scatter", "set_", "slice_backward", "slice_copy",
    "slice_scatter", "split_copy", "split_with_sizes_copy", "squeeze_", "squeeze_copy", "stack",
    "swapaxes_", "swapdims_", "t_", "t_copy", "transpose_", "transpose_copy", "unbind_copy",
    "unfold_copy", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze_", "unsqueeze_copy",
    "view_copy", "zero_", "zeros", "zeros_like",
};
using Rules = std::unordered_map<std::string_view, Rule>;
Rules make_rules() {
  Rules table = {
      {"index_select", {kNumbers}}, {"embedding", {kNumbers}}, {"index", {kNumbers}},
      {"equal", {kNumbers}}, {"scalar_tensor", {kNumbers}}, {"eye", {kFloat8, {}, "eye"}},
      {"index_put", {kSigned8, {}, "index_put"}}, {"_index_put_impl_", {kSigned8, {}, "index_put"}},
      {"masked_select", {kFloat8, {}, "masked_select"}},
      {"any", {kNumbers, Carrier::Value}}, {"all", {kNumbers, Carrier::Value}},
      {"isin", {kNumbers, Carrier::Value}},
      {"sum", {kNumbers, Carrier::Value, "sum_cpu", adds_as_stored}},
      {"mean", {kNumbers, Carrier::Value, "sum_cpu", adds_as_stored}},
      {"prod", {kNumbers, Carrier::Value, "prod_out_cpu", adds_as_stored}},
      {"nansum", {kWideUnsigned, Carrier::Value, "nansum_cpu", adds_as_stored}},
      {"cumsum", {kNumbers, Carrier::Value, "cumsum_out_cpu", scans_as_stored}},
      {"cumprod", {kNumbers, Carrier::Value, "cumprod_out_cpu", scans_as_stored}},
      {"sort", {kWideUnsigned, Carrier::Order, "sorting_kernel_method_name"}},
      {"mm", {kSigned8, Carrier::Value, "addmm_impl_cpu_"}},
      {"addmm", {kSigned8, Carrier::Value, "addmm_impl_cpu_"}},
      {"_linear_mm", {kSigned8, Carrier::Value, "addmm_impl_cpu_"}},
      {"_linear_addmm", {kSigned8, Carrier::Value, "addmm_impl_cpu_"}},
      {"_unique2", {kWideUnsigned, Carrier::Order, "unique"}},
      {"unique_consecutive", {kWideUnsigned, Carrier::Order, "unique"}},
      {"unique_dim", {kWideUnsigned, Carrier::Order, "unique_dim"}},
      {"unique_dim_consecutive", {kWideUnsigned, Carrier::Order, "unique_dim"}},
      {"logsumexp", {kWideUnsigned, Carrier::Value}},
      {"deg2rad", {kWideUnsigned, Carrier::Value}}, {"rad2deg", {kWideUnsigned, Carrier::Value}},
      {"ldexp", {kWideUnsigned, Carrier::Value}}, {"mvlgamma", {kWideUnsigned, Carrier::Value}},
      {"ndtr", {kWideUnsigned, Carrier::Value}},
      {"count_nonzero.dim_IntList", {kNumbers, Carrier::Value}},
      {"count_nonzero", {kNumbers, Carrier::Value}},
      {"flip", {kAll, {}, nullptr, flips_last}},
      {"randint", {kWideUnsigned, Carrier::Value, "random_update_from_to"}},
      {"randint_like", {kWideUnsigned, Carrier::Value, "random_update_from_to"}},
      {"random_.to", {kWideUnsigned, Carrier::Value, "random_update_from_to"}},
      {"random_.from", {kWideUnsigned, Carrier::Value, "random_update_from_to"}},
  };
  for (std::string_view name : kMoves) table[name] = {kAll};
  return table;
}
const Rules& rules() {
  static const Rules table = make_rules();
  return table;
}

const Rule& rule_of(const Record& r) {
  static const Rule none;
  const auto found = rules().find(r.name);
  if (found != rules().end()) return found->second;
  const auto base = rules().find(r.base);
  return base != rules().end() ? base->second : none;
}

[[noreturn]] void refuse(const Record& r, const Rule& rule, DType t) {
  fail(ErrorKind::NotImplemented, "\"", rule.kernel ? std::string(rule.kernel) : r.base + "_cpu",
       "\" not implemented for '", type_name_of(t), "'");
}

// The first such dtype among the arguments, and whether the rule takes all of them.
DType stored_dtype(const Record& r, const Arg* args, const Rule& rule, bool& taken) {
  DType first = DType::Undefined;
  taken = true;
  const auto look = [&](DType t) {
    if (!is_stored_only(t)) return;
    if (first == DType::Undefined) first = t;
    if (!is_in(rule.taken, t)) taken = false, first = t;
  };
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.tag == Tag::Tensor) look(a.tensor->dtype);
    else if (a.tag == Tag::Tensors)
      for (const Tensor& t : a.tensors()) if (t) look(t.dtype());
  }
  return first;
}

template <class T> void turn_highest_bit(const Tensor& dense) {
  T* p = dense.ptr<T>();
  const int64_t n = dense.is_meta() ? 0 : dense.numel();
  for (int64_t i = 0; i < n; ++i) p[i] ^= T(uint64_t(1) << 63);
}

DType carrier_of(DType t, Carrier c) {
  if (is_float8(t)) return DType::Float;
  return c == Carrier::Order && t == DType::UInt16 ? DType::Int32 : DType::Int64;
}

// uint64 in int64: the same bits; to be compared, without the highest.
Tensor carried(const Tensor& t, Carrier c) {
  const Tensor made = ops::to_dtype(t, carrier_of(t.dtype(), c));
  if (c == Carrier::Order && t.dtype() == DType::UInt64) turn_highest_bit<int64_t>(made);
  return made;
}
Tensor brought_back(const Tensor& t, Carrier c, DType to) {
  const Tensor made = ops::to_dtype(t, to);
  if (c == Carrier::Order && to == DType::UInt64) turn_highest_bit<uint64_t>(made);
  return made;
}

void call_carried(const Record& r, const Rule& rule, const Arg* args, Value* results,
                  DType stored) {
  Infer inferred;
  if (r.infer) r.infer(inferred, args);
  Arg again[kMostParams];
  std::deque<Tensor> kept;
  for (size_t i = 0; i < r.params.size(); ++i) {
    again[i] = args[i];
    if (args[i].tag != Tag::Tensor || !args[i].as_tensor()->is(kStoredOnly)) continue;
    kept.push_back(carried(args[i].as_tensor(), rule.carrier));
    again[i] = Arg(kept.back());
  }
  call(r, again, results);
  if (r.kind == Kind::Effect) {
    for (size_t i = 0; i < r.params.size(); ++i) {
      if (!r.params[i].written || again[i].tensor == args[i].tensor) continue;
      ops::copy_(args[i].as_tensor(), again[i].as_tensor());
      if (r.visible) results[0] = Value(args[i].as_tensor());
    }
    return;
  }
  for (int i = 0; i < r.visible; ++i) {
    const bool back = size_t(i) < inferred.size()
        ? inferred[size_t(i)].dtype == stored
        : i == 0 && results[i].tensor().dtype() == carrier_of(stored, rule.carrier);
    if (back && results[i].tensor().dtype() != stored)
      results[i] = Value(brought_back(results[i].take_tensor(), rule.carrier, stored));
  }
}

bool without_elements(const Infer& inferred) {
  for (size_t i = 0; i < inferred.size(); ++i)
    if (!inferred[i].device.is_meta() && numel_of(inferred[i].sizes) != 0) return false;
  return true;
}

}  // namespace

bool call_stored(const Record& r, const Arg* args, Value* results) {
  if (r.kind == Kind::View || r.kind == Kind::Pointwise || r.kind == Kind::Factory) return false;
  const Rule& rule = rule_of(r);
  bool taken;
  const DType stored = stored_dtype(r, args, rule, taken);
  const DType refused = taken && rule.refused ? rule.refused(r, args) : DType::Undefined;
  if (!taken || refused != DType::Undefined) {
    Infer inferred;  // the op's own checks come first, and nothing is computed without data
    if (r.infer) r.infer(inferred, args);
    if (r.kind == Kind::Kernel && r.infer && without_elements(inferred)) return false;
    refuse(r, rule, taken ? refused : stored);
  }
  if (rule.carrier == Carrier::None) return false;
  bool meta = false;
  for (size_t i = 0; i < r.params.size(); ++i)
    meta |= args[i].tag == Tag::Tensor && args[i].as_tensor().is_meta();
  if (meta && r.infer) return false;
  call_carried(r, rule, args, results, stored);
  return true;
}

bool fill_stored(const Record& r, const Arg* args, const Tensor& result) {
  const Rule& rule = rule_of(r);
  if (!is_in(rule.taken, result.dtype())) refuse(r, rule, result.dtype());
  if (rule.carrier == Carrier::None) return false;
  Tensor filled = empty(result.sizes(), carrier_of(result.dtype(), rule.carrier));
  r.kernel(&filled, args);
  ops::copy_data(result, filled);
  return true;
}

void refuse_stored(const Record& r, const Arg* args) {
  const Rule& rule = rule_of(r);
  bool taken;
  const DType stored = stored_dtype(r, args, rule, taken);
  if (!taken || rule.carrier != Carrier::None) refuse(r, rule, stored);
}

}  // namespace rl
