// Autocast: which dtype an op computes in, by the rule of its record.
#include "ops/autocast.h"

#include <unordered_map>

#include "autograd/meta.h"
#include "ops/dispatch.h"
#include "ops/ops.h"

namespace rl {

constinit thread_local DType autocast_dtype = DType::BFloat16;
constinit thread_local bool autocast_cache_enabled = true;
constinit thread_local int autocast_nesting = 0;

namespace {

// A parameter's cast serves all its uses in a block, so that its gradients are summed in the lower
// dtype and cast once. A pointer: a thread that ends must not free tensors.
struct Cast {
  Tensor from, to;      // `from` is held, lest another tensor take its address
};
using Casts = std::unordered_map<const void*, Cast>;
constinit thread_local Casts* casts = nullptr;

bool cached(const Tensor& t, DType to) {
  return autocast_cache_enabled && to == autocast_dtype && t.dtype() == DType::Float &&
         requires_grad(t) && is_leaf(t) && !is_view(t);
}

Tensor cast_to(const Tensor& t, DType to) {
  if (!cached(t, to)) return ops::to_dtype(t, to);
  if (!casts) casts = new Casts;
  Cast& entry = (*casts)[t.body()];
  if (!entry.to || entry.to.dtype() != to) entry = {t, ops::to_dtype(t, to)};
  return entry.to;
}

// float64 and integers stay what they are.
bool eligible(const Tensor& t) {
  return t && t.is_floating() && t.dtype() != DType::Double && (t.device().is_cpu() || t.is_meta());
}

template <class F> void each_tensor(const Record& r, const Arg* args, F f) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (r.params[i].written) continue;
    if (args[i].tag == Tag::Tensor) f(args[i].as_tensor());
    else if (args[i].tag == Tag::Tensors)
      for (const Tensor& t : args[i].tensors()) f(t);
  }
}

// The dtype that eligible arguments take; Undefined leaves them alone.
DType target(const Record& r, const Arg* args) {
  if (r.autocast == Autocast::Lower) return autocast_dtype;
  if (r.autocast == Autocast::Float) return DType::Float;
  DType widest = DType::Undefined;
  each_tensor(r, args, [&](const Tensor& t) {
    if (!eligible(t)) return;
    if (widest == DType::Undefined) widest = autocast_dtype;
    if (t.dtype() == DType::Float) widest = DType::Float;
    check(widest == DType::Float || t.dtype() == autocast_dtype,
          "Unexpected floating ScalarType in at::autocast::prioritize");
  });
  return widest;
}

void cast_arguments(const Record& r, Arg* args, Tensors& kept) {
  const DType to = target(r, args);
  if (to == DType::Undefined) return;
  size_t count = 0;
  each_tensor(r, args, [&](const Tensor&) { ++count; });
  kept.reserve(count);                       // arguments point into it
  auto cast = [&](const Tensor& t) {
    kept.push_back(eligible(t) && t.dtype() != to ? cast_to(t, to) : t);
  };
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (r.params[i].written) continue;
    if (args[i].tag == Tag::Tensor) {
      cast(args[i].as_tensor());
      args[i] = Arg(kept.back());
    } else if (args[i].tag == Tag::Tensors) {
      const size_t first = kept.size();
      for (const Tensor& t : args[i].tensors()) cast(t);
      args[i] = Arg(TensorList(kept.data() + first, kept.size() - first));
    }
  }
}

[[gnu::constructor]] void supply() { autocast_hook = cast_arguments; }

}  // namespace

void clear_autocast_cache() {
  delete casts;
  casts = nullptr;
}

}  // namespace rl
