// The wrapper: the stages that every call of every op goes through. invoke: events, transforms,
// autocast. call: the graph node with what it saves of the inputs, then, by the record's kind,
// checks and shapes, memory, the kernel; last what the node saves of the results.
#include "ops/call.h"

#include "base/interrupt.h"
#include "ops/op_node.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/promotion.h"
#include "ops/stored.h"
#include "ops/transform.h"
#include "tensor/iterator.h"

namespace rl {

Interceptor transform_hook = nullptr;
bool (*transform_in_place_hook)(const Record&, const Arg*) = nullptr;
void (*autocast_hook)(const Record&, Arg*, Tensors&) = nullptr;
LockHooks lock_hooks;

void refuse_meta(const char* name, const Tensor& t) {
  check(!t || !t.is_meta(), ErrorKind::NotImplemented, "aten::", name,
        ": attempted to run this operator with Meta tensors, but there was no fake impl or Meta "
        "kernel registered. You may have run into this message while using an operator with PT2 "
        "compilation APIs (torch.compile/torch.export); in order to use this operator with those "
        "APIs you'll need to add a fake impl. Please see the following for next steps:  "
        "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html");
}

namespace {

inline Seen seen_in(const Record& r, const Arg* args) {
  Seen seen;
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.tag == Tag::Tensor) {
      seen.add(a.tensor);
    } else if (a.tag == Tag::Tensors) {
      for (const Tensor& t : a.tensors())
        if (t) seen.add(t.body());
    }
  }
  return seen;
}

}  // namespace

Seen look_at(const Record& r, const Arg* args) { return seen_in(r, args); }

bool wants_gradient(const Record& r, const Arg* args) {
  const uint64_t served = r.no_derivative.empty() ? r.grad_params : r.tensor_params;
  for (uint64_t bits = served; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.tag == Tag::Tensor) {
      if (requires_grad(a.as_tensor()) && is_differentiable(a.tensor->dtype)) return true;
    } else if (a.tag == Tag::Tensors) {
      for (const Tensor& t : a.tensors())
        if (t && requires_grad(t)) return true;
    }
  }
  return false;
}

bool must_prepare(const Record& r, const Seen& seen, const Arg* args) {
  if ((seen.flags & (kConj | kNegative)) && !r.conj_ok) return true;
  if (!r.dense) return false;
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const size_t i = size_t(__builtin_ctzll(bits));
    if (r.params[i].written) continue;
    if (args[i].tag == Tag::Tensor && !args[i].tensor->is(kContiguous)) return true;
    if (args[i].tag == Tag::Tensors)
      for (const Tensor& t : args[i].tensors())
        if (t && !t.is_contiguous()) return true;
  }
  return false;
}

void refuse_mixed(const Seen& seen) {
  check(!seen.meta, "Expected all tensors to be on the same device, but found at least two "
        "devices, cpu and meta!");
}

namespace {

void infer_results(const Record& r, const Arg* args, Infer& inferred) {
  r.infer(inferred, args);
  check(inferred.size() >= r.returns.size() || r.returns[0].list, r.name,
        ": infer gave too few results");
}

Tensor allocate(const ResultMeta& m) {
  return m.strided ? empty_strided(m.sizes, m.strides, m.dtype, m.device)
                   : empty(m.sizes, m.dtype, m.device);
}

// Results that only a gradient needs are left out when no formula in use asks for them.
bool leave_out(const Record& r, size_t i, bool recording) {
  return r.returns[i].saved && !recording;
}

void call_kernel(const Record& r, const Arg* args, Tensor* outs, size_t& count, bool recording,
                 const Seen& seen) {
  Infer inferred;
  infer_results(r, args, inferred);
  count = r.returns.size();
  int64_t elements = seen.elements;
  bool meta = false;
  for (size_t i = 0; i < count; ++i) {
    if (leave_out(r, i, recording)) continue;
    outs[i] = allocate(inferred[i]);
    elements += outs[i].numel();
    meta |= outs[i].is_meta();
  }
  if (meta) return;
  if (r.kind != Kind::Factory) refuse_mixed(seen);
  else if (is_stored_only(inferred[0].dtype) && fill_stored(r, args, outs[0])) return;
  Unlocked guard(elements > kWorthUnlocking);
  if (must_prepare(r, seen, args)) {
    const Prepared ready(r, args);
    if (r.edits) ops::copy_data(outs[0], ready.args()[0].as_tensor());
    r.kernel(outs, ready.args());
  } else {
    if (r.edits) ops::copy_data(outs[0], args[0].as_tensor());
    r.kernel(outs, args);
  }
}

void hand_over(const Record& r, Tensor* outs, Value* results) {
  for (int i = 0; i < r.visible; ++i) results[i].set(std::move(outs[i]));
}

void mark_cut(Tensor* outs, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (outs[i]) outs[i]->flags |= kCut;
}

// A view that another call of its op gives again, of another base.
[[gnu::noinline]] void record_replayed(const Record& r, const Arg* args, const Tensor& v,
                                       const Tensor& self, ViewKind kind) {
  std::vector<Value> saved(args, args + r.params.size());
  saved[size_t(r.first_tensor)] = Value();  // lest the view hold itself
  record_view(v, self, kind, [&r, saved = std::move(saved)](const Tensor& base) {
    Arg again[kMostParams];
    for (size_t i = 0; i < saved.size(); ++i) again[i] = saved[i].arg();
    again[r.first_tensor] = Arg(base);
    Value out[kMostResults];
    invoke(r, again, out);
    return out[0].take_tensor();
  });
}

void call_view(const Record& r, const Arg* args, Value* results, std::unique_ptr<OpNode> node) {
  r.produce(results, args);
  const Tensor& self = args[r.first_tensor].as_tensor();
  const bool list = results[0].arg().tag == Tag::Tensors;
  const TensorList views = list ? results[0].tensors() : TensorList(&results[0].tensor(), 1);
  if (!self.is_inference()) {
    const ViewKind kind = modes() & kInference ? ViewKind::Inference
                        : modes() & kNoGrad    ? ViewKind::NoGrad
                        : r.multi_view         ? ViewKind::Multi : ViewKind::Normal;
    for (const Tensor& v : views) {
      const bool strided = v.dtype() == self.dtype() &&
                           !((v->flags ^ self->flags) & (kConj | kNegative));
      if (strided) record_view(v, self, kind);
      else record_replayed(r, args, v, self, kind);
    }
  }
  if (node) node.release()->attach(views.data(), views.size());
}

void finish_effect(const Record& r, const Arg* args, Value* results, Ref<Node> node) {
  const Tensor* first = nullptr;
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (!r.params[i].written) continue;
    if (args[i].is_tensor()) {
      if (!first) first = &args[i].as_tensor();
      args[i].as_tensor().bump_version();
    } else if (args[i].tag == Tag::Tensors) {
      for (const Tensor& t : args[i].tensors())
        if (t) t.bump_version();
    }
  }
  if (node) {
    auto* op = static_cast<OpNode*>(node.get());
    const Tensor changed = *first;
    rebase_history(changed, std::move(node));
    op->save_results(&changed, 1);
  }
  if (r.visible && first) results[0] = Value(*first);
}

void call_effect(const Record& r, const Arg* args, Value* results, const Seen& seen, bool record) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (!r.params[i].written) continue;
    if (args[i].is_tensor()) check_in_place(args[i].as_tensor());
    else if (args[i].tag == Tag::Tensors)
      for (const Tensor& t : args[i].tensors())
        if (t) check_in_place(t);
  }
  if (r.infer) {
    Infer checks;
    r.infer(checks, args);
  }
  Ref<Node> node;
  if (record) {
    Arg values[kMostParams];
    for (size_t i = 0; i < r.params.size(); ++i) values[i] = args[i];
    Tensor before;
    if (r.saves_self) {
      before = ops::clone(args[0].as_tensor());
      values[0] = Arg(before);
    }
    node = Ref<Node>::take(new OpNode(r, args, values));
  }
  bool meta = false;
  for (size_t i = 0; i < r.params.size(); ++i)
    meta |= r.params[i].written && args[i].is_tensor() && args[i].as_tensor().is_meta();
  if (!meta) {
    refuse_mixed(seen);
    Unlocked guard(seen.elements > kWorthUnlocking);
    try {
      if (must_prepare(r, seen, args)) r.kernel(nullptr, Prepared(r, args).args());
      else r.kernel(nullptr, args);
    } catch (const Interrupted&) {
      finish_effect(r, args, results, nullptr);  // part of what it writes has changed
      throw;
    }
  }
  finish_effect(r, args, results, std::move(node));
}

}  // namespace

void call(const Record& r, const Arg* args, Value* results) {
  if (r.kind == Kind::Composite) {
    r.produce(results, args);
    return;
  }
  const Seen seen = seen_in(r, args);
  bool record = false;
  if (seen.flags & (kNeedsGrad | kView | kBatched | kStoredOnly)) {  // a view's base may need one
    if (seen.flags & kBatched) return call_unwrapped(r, args, results);
    if ((seen.flags & kStoredOnly) && call_stored(r, args, results)) return;
    record = grad_enabled() && r.differentiable() && wants_gradient(r, args);
  }
  if (r.kind == Kind::Effect) {
    call_effect(r, args, results, seen, record);
    return;
  }
  std::unique_ptr<OpNode> node(record ? new OpNode(r, args, args) : nullptr);
  if (r.kind == Kind::View) {
    call_view(r, args, results, std::move(node));
    return;
  }
  if (r.kind == Kind::Pointwise) {
    const bool bits = seen.flags & (kConj | kNegative);
    Tensor out = __builtin_expect(bits, 0) ? pointwise_call(r, Prepared(r, args).args())
                                           : pointwise_call(r, args);
    if (node) node.release()->attach(&out, 1);
    else if ((seen.flags & kNeedsGrad) && !grad_enabled()) mark_cut(&out, 1);
    results[0].set(std::move(out));
    return;
  }
  Tensor outs[kMostResults];
  size_t count = 1;
  if (r.kind == Kind::Produce) {
    if (seen.data_first) refuse_mixed(seen);
    const bool prepare = must_prepare(r, seen, args);
    if (prepare) r.produce(results, Prepared(r, args).args());
    else r.produce(results, args);
    if (!node) return;
    if (r.returns[0].list) {
      const TensorList list = results[0].tensors();
      node.release()->attach(list.data(), list.size());
      return;
    }
    for (int i = 0; i < r.visible; ++i) outs[i] = results[i].take_tensor();
    count = size_t(r.visible);
  } else {
    call_kernel(r, args, outs, count, record, seen);
  }
  if (node) {
    node.release()->attach(outs, count);
  } else if (seen.flags & kNeedsGrad) {
    if (!grad_enabled()) mark_cut(outs, count);
  }
  hand_over(r, outs, results);
}

namespace {

[[gnu::noinline]] void call_with_modes(const Record& r, const Arg* args, Value* results) {
  HeardOp end(r, args, results);
  const bool done = (modes() & kTransform) && transform_hook && transform_hook(r, args, results);
  if (!done && (modes() & kAutocast) && r.autocast != Autocast::None && autocast_hook) {
    Arg cast[kMostParams];
    Tensors kept;
    for (size_t i = 0; i < r.params.size(); ++i) cast[i] = args[i];
    autocast_hook(r, cast, kept);
    // The ops of its body compute in the dtype chosen for the whole.
    const NoAutocast quiet(r.kind == Kind::Composite);
    call(r, cast, results);
  } else if (!done) {
    call(r, args, results);
  }
  end.failed = false;
}

}  // namespace

void invoke(const Record& r, const Arg* args, Value* results) {
  constexpr uint32_t kSlow = kObserveOps | kTransform | kAutocast | kNewThread;
  if (__builtin_expect(modes() & kSlow, 0)) call_with_modes(r, args, results);
  else call(r, args, results);
}

void run(const Record& r, Tensor* results, const Arg* args) {
  if (r.kind == Kind::Pointwise) return pointwise_into(r, args, results[0]);
  if (r.edits) ops::copy_data(results[0], args[0].as_tensor());
  r.kernel(results, args);
}

}  // namespace rl
