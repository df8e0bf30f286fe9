// The wrapper: the stages that every call of every op goes through.
#include "ops/dispatch.h"

#include "ops/op_node.h"
#include "ops/ops.h"
#include "ops/out_refusals.h"
#include "ops/pointwise.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl {

Interceptor transform_hook = nullptr;
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

constexpr size_t kMostResults = 8, kMostParams = 32;
constexpr int64_t kWorthUnlocking = 16384;  // elements touched: about 20 microseconds of work

// What the tensors among the arguments have in common.
struct Seen {
  uint32_t flags = 0;
  int64_t elements = 0;
  bool meta = false;
  void add(const TensorBody* t) {
    flags |= t->flags;
    elements += t->numel;
    meta |= t->device.is_meta();
  }
};

Seen look_at(const Record& r, const Arg* args) {
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

// Whether any argument that a formula serves needs a gradient.
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

// Arguments as the kernel may take them: conjugate and negative bits resolved, dense if it asks.
class Prepared {
 public:
  Prepared(const Record& r, const Arg* args) : args_(copy_) {
    for (size_t i = 0; i < r.params.size(); ++i) {
      copy_[i] = args[i];
      if (args[i].tag == Tag::Tensor) {
        if (r.params[i].written) continue;
        kept_.push_back(ready(r, args[i].as_tensor()));
        copy_[i] = Arg(kept_.back());
      } else if (args[i].tag == Tag::Tensors && !r.params[i].written) {
        lists_.emplace_back();
        for (const Tensor& t : args[i].tensors()) lists_.back().push_back(t ? ready(r, t) : t);
        copy_[i] = Arg(lists_.back());
      }
    }
  }
  const Arg* args() const { return args_; }

 private:
  static Tensor ready(const Record& r, const Tensor& t) {
    NoGrad quiet;
    Tensor u = t;
    if (!r.conj_ok && t.is_conj()) u = ops::resolve_conj(u);
    if (!r.conj_ok && t.is_negative()) u = ops::resolve_neg(u);
    if (r.dense && !u.is_contiguous()) u = ops::contiguous(u);
    return u;
  }
  Arg copy_[kMostParams];
  const Arg* args_;
  Small<Tensor, 4> kept_;
  std::deque<Tensors> lists_;
};

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

// A kernel that is about to run on the CPU must not meet a tensor without data.
void refuse_mixed(const Seen& seen) {
  check(!seen.meta, "Expected all tensors to be on the same device, but found at least two "
        "devices, cpu and meta!");
}

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

void run_kernel(const Record& r, const Arg* args, Tensor* outs, size_t& count, bool recording,
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
  for (int i = 0; i < r.visible; ++i) results[i] = Value(std::move(outs[i]));
}

void mark_cut(Tensor* outs, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (outs[i]) outs[i]->flags |= kCut;
}

void call_view(const Record& r, const Arg* args, Value* results, OpNode* node) {
  r.produce(results, args);
  const Tensor& self = args[r.first_tensor].as_tensor();
  const bool list = r.returns[0].list;
  const TensorList views = list ? results[0].tensors() : TensorList(&results[0].tensor(), 1);
  if (!(self.is_inference())) {
    const ViewKind kind = modes() & kInference ? ViewKind::Inference
                        : modes() & kNoGrad    ? ViewKind::NoGrad
                        : r.multi_view         ? ViewKind::Multi : ViewKind::Normal;
    for (const Tensor& v : views) {
      const bool strided = v.dtype() == self.dtype() && v.is_conj() == self.is_conj() &&
                           v.is_negative() == self.is_negative();
      if (strided) {
        record_view(v, self, kind);
      } else {
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
    }
  }
  if (node) node->attach(views.data(), views.size());
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
    if (must_prepare(r, seen, args)) r.kernel(nullptr, Prepared(r, args).args());
    else r.kernel(nullptr, args);
  }
  finish_effect(r, args, results, std::move(node));
}

void call(const Record& r, const Arg* args, Value* results) {
  if (r.kind == Kind::Composite) {
    r.produce(results, args);
    return;
  }
  const Seen seen = look_at(r, args);
  bool record = false;
  if (seen.flags & (kNeedsGrad | kView)) {
    record = grad_enabled() && r.differentiable() && wants_gradient(r, args);
  }
  if (r.kind == Kind::Effect) {
    call_effect(r, args, results, seen, record);
    return;
  }
  std::unique_ptr<OpNode> node(record ? new OpNode(r, args, args) : nullptr);
  if (r.kind == Kind::View) {
    call_view(r, args, results, node.get());
    node.release();
    return;
  }
  if (r.kind == Kind::Pointwise) {
    const bool bits = seen.flags & (kConj | kNegative);
    Tensor out = __builtin_expect(bits, 0) ? pointwise_call(r, Prepared(r, args).args())
                                           : pointwise_call(r, args);
    if (node) node.release()->attach(&out, 1);
    else if ((seen.flags & kNeedsGrad) && !grad_enabled()) mark_cut(&out, 1);
    results[0] = Value(std::move(out));
    return;
  }
  Tensor outs[kMostResults];
  size_t count = 1;
  if (r.kind == Kind::Produce) {
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
    run_kernel(r, args, outs, count, record, seen);
  }
  if (node) {
    node.release()->attach(outs, count);
  } else if (seen.flags & kNeedsGrad) {
    if (!grad_enabled()) mark_cut(outs, count);
  }
  hand_over(r, outs, results);
}

class NoAutocast {
 public:
  explicit NoAutocast(bool off) : before_(modes_word & kAutocast) {
    if (off) modes_word &= ~kAutocast;
  }
  ~NoAutocast() { modes_word |= before_; }
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  uint32_t before_;
};

// Tells subscribers of the op's beginning and, however it ends, of its end.
struct HeardOp {
  HeardOp(const Record& record, const Arg* args, const Value* made)
      : r(record), results(made), heard(observed(kObserveOps)) {
    if (heard) observe_op_begin(r, args);
  }
  ~HeardOp() { if (heard) observe_op_end(r, results, failed); }
  const Record& r;
  const Value* results;
  const bool heard;
  bool failed = true;
};

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

// ---- In-place

void check_result_fits(const ResultMeta& m, const Tensor& self) {
  check(Ints(m.sizes) == self.sizes(), "output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", Ints(m.sizes));
  check(can_cast(m.dtype, self.dtype()), "result type ", type_name_of(m.dtype),
        " can't be cast to the desired output type ", type_name_of(self.dtype()));
}

void refuse_overlaps(const Record& r, const Arg* args, const Tensor& out) {
  refuse_internal_overlap(out);
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.tag == Tag::Tensor) refuse_partial_overlap(out, a.as_tensor());
  }
}

void refuse_overlap(const Tensor& out, const Tensor& in) {
  check(memory_meets(out, in) == Meets::No,
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation.");
}

void edit_in_place(const Record& r, const Arg* args, const Tensor& self) {
  Infer inferred;
  infer_results(r, args, inferred);
  check_result_fits(inferred[0], self);
  for (size_t i = 1; i < r.params.size(); ++i) {
    if (args[i].tag == Tag::Tensor) refuse_overlap(self, args[i].as_tensor());
    else if (args[i].tag == Tag::Tensors)
      for (const Tensor& t : args[i].tensors())
        if (t) refuse_overlap(self, t);
  }
  if (self.is_meta()) return;
  const Seen seen = look_at(r, args);
  Unlocked guard(seen.elements > kWorthUnlocking);
  Tensor out = self;
  if (must_prepare(r, seen, args)) r.kernel(&out, Prepared(r, args).args());
  else r.kernel(&out, args);
}

void compute_in_place(const Record& r, const Arg* args, const Tensor& self) {
  if (r.kind == Kind::Pointwise) {
    check_result_fits(pointwise_infer(r, args), self);
    refuse_overlaps(r, args, self);
    if (self.is_meta()) return;
    const Seen seen = look_at(r, args);
    Unlocked guard(seen.elements > kWorthUnlocking);
    if (seen.flags & (kConj | kNegative)) pointwise_into(r, Prepared(r, args).args(), self);
    else pointwise_into(r, args, self);
    return;
  }
  if (r.edits) {
    edit_in_place(r, args, self);
    return;
  }
  NoGrad quiet;
  Value results[kMostResults];
  call(r, args, results);
  const Tensor made = results[0].take_tensor();
  ResultMeta m;
  m.sizes = Dims(made.sizes());
  m.dtype = made.dtype();
  check_result_fits(m, self);
  refuse_internal_overlap(self);
  ops::copy_data(self, made);
}

void call_in_place(const Record& r, const Arg* args) {
  const Tensor& self = args[0].as_tensor();
  check_in_place(self);
  if (r.kind == Kind::Composite || r.kind == Kind::View) {
    Value results[kMostResults];
    call(r, args, results);
    ops::copy_(self, results[0].tensor());
    return;
  }
  Ref<Node> node;
  const bool record = grad_enabled() && r.differentiable() && wants_gradient(r, args);
  Tensor before;
  if (record) {
    Arg values[kMostParams];
    for (size_t i = 0; i < r.params.size(); ++i) values[i] = args[i];
    if (r.saves_self) {
      before = ops::clone(self);
      values[0] = Arg(before);
    }
    node = Ref<Node>::take(new OpNode(r, args, values));
  }
  if (self.is_conj() || self.is_negative()) {
    const Tensor plain = ops::resolve_neg(ops::resolve_conj(detached(self)));
    Arg again[kMostParams];
    for (size_t i = 0; i < r.params.size(); ++i) again[i] = args[i];
    again[0] = Arg(plain);
    compute_in_place(r, again, plain);
    ops::copy_data(self, plain);
  } else {
    compute_in_place(r, args, self);
  }
  self.bump_version();
  if (node) {
    auto* op = static_cast<OpNode*>(node.get());
    rebase_history(self, std::move(node));
    op->save_results(&self, 1);
  }
}

// ---- out=

void refuse_gradients(const Record& r, const Arg* args, const Tensor* targets) {
  bool any = false;
  const Seen seen = look_at(r, args);
  any = grad_enabled() && (seen.flags & kNeedsGrad);
  for (int i = 0; i < r.visible && !any; ++i)
    any = grad_enabled() && targets[i] && requires_grad(targets[i]);
  check(!any, r.base, "(): functions with out=... arguments don't support automatic "
        "differentiation, but one of the arguments requires grad.");
}

void fit_target(const Record& r, const Tensor& out, Ints sizes, DType dtype, Device device) {
  check(out.device() == device, "Expected out tensor to have device ", name_of(device.type),
        ", but got ", name_of(out.device().type), " instead");
  if (out.dtype() != dtype) {
    const std::string refusal = out_refusal(r, dtype, out.dtype());
    check(refusal.empty(), refusal);
  }
  if (r.out_dtype == OutDType::Exact && r.kind == Kind::Pointwise) {
    check(out.dtype() == dtype || dtype != DType::Bool, r.base,
          " does not support non-boolean outputs.");
    check(out.dtype() == dtype, "Found dtype ", type_name_of(out.dtype()), " but expected ",
          type_name_of(dtype));
  } else if (r.out_dtype == OutDType::Exact) {
    check(out.dtype() == dtype, "Expected out tensor to have dtype ", c_name_of(dtype),
          ", but got ", c_name_of(out.dtype()), " instead");
  } else {
    check(can_cast(dtype, out.dtype()), "result type ", type_name_of(dtype),
          " can't be cast to the desired output type ", type_name_of(out.dtype()));
  }
  if (out.sizes() != sizes) ops::resize_output(out, sizes);
}

}  // namespace

void invoke(const Record& r, const Arg* args, Value* results) {
  constexpr uint32_t kSlow = kObserveOps | kTransform | kAutocast | kNewThread;
  if (__builtin_expect(modes() & kSlow, 0)) call_with_modes(r, args, results);
  else call(r, args, results);
}

void invoke_in_place(const Record& r, const Arg* args) {
  if (!observed(kObserveOps)) return call_in_place(r, args);
  const Value self(args[0].as_tensor());
  HeardOp end(r, args, &self);
  call_in_place(r, args);
  end.failed = false;
}

void invoke_out(const Record& r, const Arg* args, const Tensor* targets) {
  refuse_gradients(r, args, targets);
  NoGrad quiet;
  if (r.kind == Kind::Pointwise) {
    const Tensor& out = targets[0];
    const Value made(out);
    HeardOp end(r, args, &made);
    const ResultMeta m = pointwise_infer(r, args);
    fit_target(r, out, m.sizes, m.dtype, m.device);
    refuse_overlaps(r, args, out);
    const Seen seen = look_at(r, args);
    if (!out.is_meta()) {
      Unlocked guard(seen.elements > kWorthUnlocking);
      if (seen.flags & (kConj | kNegative)) pointwise_into(r, Prepared(r, args).args(), out);
      else pointwise_into(r, args, out);
    }
    out.bump_version();
    end.failed = false;
    return;
  }
  // Other kernels fill fresh results first: a failure changes nothing, and inputs may be outputs.
  Value results[kMostResults];
  {
    const NoAutocast plain(r.autocast != Autocast::None);
    invoke(r, args, results);
  }
  for (int i = 0; i < r.visible; ++i) {
    const Tensor& made = results[i].tensor();
    const bool columns = takes_columns(r, targets[i], made);
    fit_target(r, targets[i], made.sizes(), made.dtype(), made.device());
    if (columns) targets[i]->set_layout(made.sizes(), made.strides());
    refuse_internal_overlap(targets[i]);
  }
  for (int i = 0; i < r.visible; ++i) {
    ops::copy_data(targets[i], results[i].tensor());
    targets[i].bump_version();
  }
}

void run(const Record& r, Tensor* results, const Arg* args) {
  if (r.kind == Kind::Pointwise) return pointwise_into(r, args, results[0]);
  if (r.edits) ops::copy_data(results[0], args[0].as_tensor());
  r.kernel(results, args);
}

}  // namespace rl
