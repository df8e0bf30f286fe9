// In-place changes and views: what is allowed, and how history moves to the base.
#include <utility>

#include "autograd/names.h"
#include "autograd/shared.h"
#include "ops/ops.h"

namespace rl {

// Note [In-place on views]
// A view and its base share memory, so changing one changes the other, and the graph must say so.
// After `view.op_(...)` the base's value comes from CopySlices: in backward it gives the base's
// gradient with the view's part replaced by what the op's own node makes of it. The view's own
// grad_fn is then stale, and so is that of every other view of the base; grad_fn() sees that the
// version has moved and rebuilds it as the view op applied to the new base. A view remembers how
// it was made (ViewKind), because some cannot be rebuilt: views made without recording, one of
// several made by one op, views made by a custom Function.

namespace {

[[noreturn]] void refuse_view(const Tensor& t, bool indirect) {
  const Autograd& a = *t->autograd;
  const char* what = indirect ? "its base or another view of its base has been" : "is being";
  std::string s;
  if (a.node) {
    s = text("Output ", int64_t(a.output), " of ", forward_name(*a.node), " is a view and ", what,
             " modified inplace.");
  } else if (a.kind == ViewKind::Inference) {
    s = text("A view was created in inference mode and ", what, " modified inplace in normal mode.");
  } else {
    s = text("A view was created in no_grad mode and ", what,
             " modified inplace with grad mode enabled.");
  }
  const char* mode = a.kind == ViewKind::Inference ? "inference_mode" : "no_grad";
  if (a.kind == ViewKind::Multi) {
    s += " This view is the output of a function that returns multiple views. Such functions do "
         "not allow the output views to be modified inplace. You should replace the inplace "
         "operation by an out-of-place one.";
  } else if (a.kind == ViewKind::Custom) {
    s += " This view was created inside a custom Function (or because an input was returned as-is) "
         "and the autograd logic to handle view+inplace would override the custom backward "
         "associated with the custom Function, leading to incorrect gradients. This behavior is "
         "forbidden. You can fix this by cloning the output of the custom Function.";
  } else {
    s += text(" Given that this use case is ambiguous and error-prone, it is forbidden. You can "
              "clarify your code by moving both the view and the inplace either both inside the ",
              mode, " block (if you don't want the inplace to be tracked) or both outside (if you "
              "want the inplace to be tracked).");
  }
  fail(ErrorKind::Runtime, s);
}

Tensor view_again(const Tensor& t, const Tensor& base) {
  const Autograd& a = *t->autograd;
  if (a.replay) return (*a.replay)(base);
  return ops::as_strided(base, t.sizes(), t.strides(), t.offset());
}

// The gradient of a base, a part of which an in-place op on a view has overwritten.
class CopySlices : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Ref<Node> op)
      : view_(detached(view)), base_(detached(base)), op_(std::move(op)) {
    if (view->autograd->replay) replay_ = *view->autograd->replay;
    // Only layouts are needed: the memory is let go.
    const Edge first = gradient_edge(base);
    next.push_back(first);
    for (size_t i = 1; i < op_->next.size(); ++i) next.push_back(op_->next[i]);
    view_ = empty_like_meta(view);
    base_ = empty_like_meta(base);
  }
  std::string name() const override { return "CopySlices"; }

  Tensors apply(Tensors&& grads) override {
    Tensors made;
    made.resize(next.size());
    if (!grads[0]) return made;
    const Ref<Node> op = this->op();
    if (!op) refuse_again();
    Tensor result = grads[0]->flags & kWrapped
                        ? ops::new_empty_strided(grads[0], base_.sizes(), base_.strides())
                        : empty_strided(base_.sizes(), base_.strides(), grads[0].dtype(),
                                        grads[0].device());
    ops::copy_(result, grads[0]);
    const Tensor part = replay_ ? replay_(result)
                                : ops::as_strided(result, view_.sizes(), view_.strides(),
                                                  view_.offset() - base_.offset());
    Tensors from_op = op->apply(Tensors{ops::clone(part)});
    for (size_t i = 0; i < from_op.size() && i < next.size(); ++i) {
      if (i > 0) {
        made[i] = from_op[i];
        continue;
      }
      if (from_op[0]) ops::copy_(part, from_op[0]);
      else ops::zero_(part);
      made[0] = result;
    }
    return made;
  }
  // The op's node goes as a whole, whatever it saved: a second backward is refused, as in PyTorch.
  void free_saved() override {
    Ref<Node> gone = op();
    if (!gone) return;
    const int64_t bytes = gone->saved_bytes();
    const Holding hold(lock_);
    if (!op_) return;
    freed_by = current_origin;
    freed_bytes = bytes;
    op_ = nullptr;  // `gone` holds it until the lock is free
  }
  int64_t saved_bytes() const override {
    const Ref<Node> op = this->op();
    return op ? op->saved_bytes() : 0;
  }

 private:
  static Tensor empty_like_meta(const Tensor& t) {
    Tensor m = empty_strided({}, {}, t.dtype(), Device{DeviceType::Meta});
    m->offset = t.offset();
    m->set_layout(t.sizes(), t.strides());
    return m;
  }
  Ref<Node> op() const {
    const Holding hold(lock_);
    return op_;
  }

  Tensor view_, base_;      // layouts on meta
  mutable TinyLock lock_;   // of op_: Note [Threads on one graph]
  Ref<Node> op_;            // null once freed
  std::function<Tensor(const Tensor&)> replay_;
};

}  // namespace

void record_view(const Tensor& view, const Tensor& of, ViewKind kind) {
  if (of->is(kView)) return record_view(view, of, kind, nullptr);
  Autograd& a = autograd_of(view);
  a.kind = kind;
  a.base = of;
  a.seen_version = view.version().count.load(std::memory_order_relaxed);
  view->flags |= kView;
}

void record_view(const Tensor& view, const Tensor& of, ViewKind kind,
                 std::function<Tensor(const Tensor&)> replay) {
  Autograd& a = autograd_of(view);
  a.kind = kind;
  if (of->is(kView)) {
    const Autograd& outer = *of->autograd;
    a.base = outer.base;
    if (outer.kind != ViewKind::Normal && kind == ViewKind::Normal) a.kind = outer.kind;
    if (outer.replay || replay) {
      const Tensor layout = detached(view);
      std::function<Tensor(const Tensor&)> first;
      if (outer.replay) {
        first = *outer.replay;
      } else {
        first = [sizes = Dims(of.sizes()), strides = Dims(of.strides()),
                 offset = of.offset()](const Tensor& base) {
          return ops::as_strided(base, sizes, strides, offset);
        };
      }
      if (!replay) {
        replay = [sizes = Dims(view.sizes()), strides = Dims(view.strides()),
                  offset = view.offset()](const Tensor& t) {
          return ops::as_strided(t, sizes, strides, offset);
        };
      }
      a.replay = std::make_unique<std::function<Tensor(const Tensor&)>>(
          [first, replay](const Tensor& base) { return replay(first(base)); });
    }
  } else {
    a.base = of;
    if (replay) a.replay = std::make_unique<std::function<Tensor(const Tensor&)>>(std::move(replay));
  }
  a.seen_version = view.version().count.load(std::memory_order_relaxed);
  view->flags |= kView;
}

Ref<Node> grad_fn(const Tensor& t) {
  if (!t->autograd) return nullptr;
  Autograd& a = *t->autograd;
  if (!t->is(kView) || (!a.node && !a.base->is(kNeedsGrad))) return a.node;
  const uint32_t now = t.version().count.load(std::memory_order_relaxed);
  if (a.seen_version == now) return a.node;
  if (a.kind != ViewKind::Normal) refuse_view(t, true);
  ModeGuard record(0, kNoGrad | kInference);
  const Tensor again = view_again(t, a.base);
  const Ref<Node> before = a.node;
  a.node = again->autograd ? again->autograd->node : nullptr;
  a.output = 0;
  move_retained(a, before);
  a.seen_version = now;
  t->set(kNeedsGrad, bool(a.node));
  return a.node;
}

void check_in_place(const Tensor& t) {
  if (t.is_inference() && !(modes() & kInference)) {
    fail(ErrorKind::Runtime, "Inplace update to inference tensor outside InferenceMode is not "
         "allowed.You can make a clone to get a normal tensor before doing inplace update.See "
         "https://github.com/pytorch/rfcs/pull/17 for more details.");
  }
  if (!grad_enabled() || !t->is(TensorFlag(kNeedsGrad | kView))) return;
  if (t->is(kView)) {
    const Autograd& a = *t->autograd;
    if (a.kind != ViewKind::Normal && requires_grad(t)) refuse_view(t, false);
    const Tensor& base = a.base;
    const bool leaf = !(base->autograd && base->autograd->node);
    check(!(leaf && requires_grad(t)), "a view of a leaf Variable that requires grad is being used "
          "in an in-place operation.");
    return;
  }
  check(t->autograd->node.get() != nullptr,
        "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase_history(const Tensor& t, Ref<Node> node) {
  if (!t->is(kView)) {
    const Ref<Node> before = autograd_of(t).node;
    set_history(t, std::move(node));
    move_retained(*t->autograd, before);
    return;
  }
  Autograd& a = *t->autograd;
  if (a.kind != ViewKind::Normal) refuse_view(t, false);
  node->inputs.clear();
  node->add_input(t);
  Ref<Node> slices = Ref<Node>::take(new CopySlices(a.base, t, std::move(node)));
  Autograd& of_base = autograd_of(a.base);
  const Ref<Node> before = std::exchange(of_base.node, slices);
  of_base.output = slices->add_input(a.base);
  move_retained(of_base, before);
  a.base->flags |= kNeedsGrad;
  a.seen_version = t.version().count.load(std::memory_order_relaxed) - 1;  // stale
  grad_fn(t);
}

}  // namespace rl
