// In-place forms: x.op_(...) computes into x, and x's history goes on from there.
#include "base/interrupt.h"
#include "ops/call.h"
#include "ops/op_node.h"
#include "ops/ops.h"
#include "ops/out_rule.h"
#include "ops/pointwise.h"
#include "ops/stored.h"
#include "ops/transform.h"

namespace rl {
namespace {

void check_result_fits(const Record& r, const Arg* args, const ResultMeta& m, const Tensor& self) {
  if (r.out.structured) {
    check(Ints(m.sizes) == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
          " and output tensor size ", Ints(m.sizes), " should match");
    check(m.dtype == self.dtype(), "Bad in-place call: input tensor dtype ",
          c_name_of(self.dtype()), " and output tensor dtype ", c_name_of(m.dtype),
          " should match");
  }
  check(Ints(m.sizes) == self.sizes(), "output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", Ints(m.sizes));
  if (can_cast(m.dtype, self.dtype())) return;
  if (r.out.inplace_text) {
    fail(r.out.kind, rule_text(r.out.inplace_text, m.dtype, self.dtype(), first_dtype(r, args)));
  }
  fail(ErrorKind::Runtime, "result type ", type_name_of(m.dtype), " can't be cast to the desired "
       "output type ", type_name_of(self.dtype()));
}

void edit_in_place(const Record& r, const Arg* args, const Tensor& self) {
  Infer inferred;
  r.infer(inferred, args);
  check_result_fits(r, args, inferred[0], self);
  for (size_t i = 1; i < r.params.size(); ++i) {
    if (args[i].tag == Tag::Tensor) refuse_shared(self, args[i].as_tensor(), true);
    else if (args[i].tag == Tag::Tensors)
      for (const Tensor& t : args[i].tensors())
        if (t) refuse_shared(self, t, true);
  }
  if (self.is_meta()) return;
  const Seen seen = look_at(r, args);
  refuse_mixed(seen);
  if (seen.flags & kBatched) refuse_escaped(r, args);
  if (seen.flags & kStoredOnly) refuse_stored(r, args);
  Unlocked guard(seen.elements > kWorthUnlocking);
  Tensor out = self;
  if (must_prepare(r, seen, args)) r.kernel(&out, Prepared(r, args).args());
  else r.kernel(&out, args);
}

void compute_in_place(const Record& r, const Arg* args, const Tensor& self) {
  if (r.kind == Kind::Pointwise) {
    check_result_fits(r, args, pointwise_infer(r, args), self);
    check(!self.is_complex() || !r.pointwise || r.pointwise->output != kernels::Output::Real,
          "In-place ", r.base, " is not supported for complex tensors.");
    if (!r.out.inplace_internal) refuse_internal_overlap(self);
    refuse_shared(r, args, self, false);
    if (self.is_meta()) return;
    const Seen seen = look_at(r, args);
    if (seen.flags & kBatched) refuse_escaped(r, args);
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
  if (r.out.structured && r.infer) {
    Infer inferred;
    r.infer(inferred, args);
    check_result_fits(r, args, inferred[0], self);
  }
  Value results[kMostResults];
  call(r, args, results);
  const Tensor made = results[0].take_tensor();
  ResultMeta m;
  m.sizes = Dims(made.sizes());
  m.dtype = made.dtype();
  check_result_fits(r, args, m, self);
  if (!r.out.inplace_internal) refuse_internal_overlap(self);
  ops::copy_data(self, made);
}

void compute_resolved(const Record& r, const Arg* args, const Tensor& self) {
  if (!self.is_conj() && !self.is_negative()) return compute_in_place(r, args, self);
  const Tensor plain = ops::resolve_neg(ops::resolve_conj(detached(self)));
  Arg again[kMostParams];
  for (size_t i = 0; i < r.params.size(); ++i) again[i] = args[i];
  again[0] = Arg(plain);
  compute_in_place(r, again, plain);
  ops::copy_data(self, plain);
}

void call_in_place(const Record& r, const Arg* args) {
  const Tensor& self = args[0].as_tensor();
  if (__builtin_expect(self->is(kBatched), 0)) unwrap_escaped(self);
  check_in_place(self);
  if (r.out.inplace_check) r.out.inplace_check(args);
  Arg with_dtype[kMostParams];
  if (r.out.dtype == OutDType::Chosen) {
    const int dtype = r.param("dtype");
    if (dtype >= 0 && args[dtype].is_none()) {
      for (size_t i = 0; i < r.params.size(); ++i) with_dtype[i] = args[i];
      with_dtype[dtype] = Arg(self.dtype());
      args = with_dtype;
    }
  }
  if (r.kind == Kind::Composite || r.kind == Kind::View) {
    Value results[kMostResults];
    call(r, args, results);
    if (results[0].tensor().same(self)) self.bump_version();
    else ops::copy_(self, results[0].tensor());
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
  try {
    compute_resolved(r, args, self);
  } catch (const Interrupted&) {
    self.bump_version();  // part of it has changed
    throw;
  }
  self.bump_version();
  if (node) {
    auto* op = static_cast<OpNode*>(node.get());
    rebase_history(self, std::move(node));
    op->save_results(&self, 1);
  }
}

}  // namespace

void invoke_in_place(const Record& r, const Arg* args) {
  constexpr uint32_t kSlow = kObserveOps | kTransform | kNewThread;
  if (__builtin_expect(!(modes() & kSlow), 1)) return call_in_place(r, args);
  const Value self(args[0].as_tensor());
  HeardOp end(r, args, &self);
  const bool transforms = modes() & kTransform;
  if (!transforms || !transform_in_place_hook || !transform_in_place_hook(r, args))
    call_in_place(r, args);
  end.failed = false;
}

}  // namespace rl
