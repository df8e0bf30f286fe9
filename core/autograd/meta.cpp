// What autograd knows of a tensor: questions, changes, hooks.
#include "autograd/meta.h"

#include <mutex>

namespace rl {
namespace {

constinit std::mutex accumulators;  // guards the weak pointers from leaves to their AccumulateGrad

void free_meta(Autograd* a) {
  forget_retained(*a);
  delete a;
}
[[gnu::constructor]] void supply() { free_autograd = free_meta; }

void refresh_needs(const Tensor& t) {
  const Autograd* a = t->autograd;
  t->set(kNeedsGrad, a && (a->requires_grad || a->node));
}

}  // namespace

Autograd& autograd_of(const Tensor& t) {
  if (!t->autograd) t->autograd = new Autograd;
  return *t->autograd;
}

bool requires_grad(const Tensor& t) {
  return t->is(kNeedsGrad) || (t->is(kView) && t->autograd->base->is(kNeedsGrad));
}
bool is_leaf(const Tensor& t) {
  return !t->is(kView) ? !t->autograd || !t->autograd->node : !grad_fn(t);
}
bool is_view(const Tensor& t) { return t->is(kView); }
Tensor base_of(const Tensor& t) { return is_view(t) ? t->autograd->base : Tensor(); }

void forget_accumulator(const Tensor& leaf, Node* node) {
  if (!leaf || !leaf->autograd) return;
  std::lock_guard<std::mutex> hold(accumulators);
  if (leaf->autograd->accumulator == node) leaf->autograd->accumulator = nullptr;
}

Edge gradient_edge(const Tensor& t) {
  if (!requires_grad(t)) return {};
  if (Ref<Node> node = grad_fn(t)) return {node, t->autograd->output};
  Autograd& a = *t->autograd;
  std::lock_guard<std::mutex> hold(accumulators);
  if (a.accumulator && a.accumulator->keep_if_alive()) {
    return {Ref<Node>::take(a.accumulator), 0};
  }
  auto* node = new AccumulateGrad(t);
  if (!a.hooks.empty() || a.retain_hook) {
    for (auto& h : a.hooks) node->need_hooks().tensor_before.push_back({0, h});
  }
  a.accumulator = node;
  return {Ref<Node>::take(node), 0};
}

void set_requires_grad(const Tensor& t, bool on) {
  check(on || is_leaf(t),
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().");
  check(!on || is_differentiable(t.dtype()),
        "Only Tensors of floating point and complex dtype can require gradients");
  check(!on || !t.is_inference() || (modes() & kInference),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!on && !t->autograd) return;
  autograd_of(t).requires_grad = on;
  refresh_needs(t);
}

void set_history(const Tensor& t, Ref<Node> node) {
  Autograd& a = autograd_of(t);
  a.output = node->add_input(t);
  a.node = std::move(node);
  if (t->is(kView)) a.seen_version = t.version().count.load(std::memory_order_relaxed);
  t->flags |= kNeedsGrad;
}

Tensor detached(const Tensor& t) { return alias(t); }

Tensor data_of(const Tensor& t) {
  Tensor r = alias(t);
  r->version = Ref<OwnVersion>::take(new OwnVersion);
  return r;
}

void detach_in_place(const Tensor& t) {
  check(!is_view(t), "Can't detach views in-place. Use detach() instead. If you are using "
        "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, "
        "gradients are views of DDP buckets, and hence detach_() cannot be called on these "
        "gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
        "torch/optim/optimizer.py as the solution.");
  if (!t->autograd) return;
  t->autograd->node = nullptr;
  t->autograd->output = 0;
  t->autograd->requires_grad = false;
  refresh_needs(t);
}

void set_grad(const Tensor& t, const Tensor& grad) {
  if (!grad) {
    if (t->autograd) t->autograd->grad = Tensor();
    return;
  }
  autograd_of(t).grad = grad;
}

namespace {

// Puts a leaf's or a result's gradient where retain_grad promised it.
class RetainGrad : public Hook {
 public:
  explicit RetainGrad(TensorBody* t) : tensor_(t) {}
  void before(Tensors& grads) override {
    for (Tensor& g : grads) {
      if (!g || !tensor_) continue;
      Autograd& a = *tensor_->autograd;
      if (!a.grad) {
        a.grad = g;
      } else {
        a.grad = sum_of(a.grad, g);
      }
    }
  }
  TensorBody* tensor_;  // cleared when the tensor dies
};

}  // namespace

void retain_grad(const Tensor& t) {
  check(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(t) || t->autograd->retains_grad) return;
  Autograd& a = *t->autograd;
  a.retains_grad = true;
  a.retain_hook = std::make_shared<RetainGrad>(t.body());
  a.node->need_hooks().retain.push_back({a.output, a.retain_hook});
}

void forget_retained(Autograd& a) {
  if (a.retain_hook) static_cast<RetainGrad&>(*a.retain_hook).tensor_ = nullptr;
}

void add_tensor_hook(const Tensor& t, std::shared_ptr<Hook> hook) {
  check(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  Autograd& a = *t->autograd;
  a.hooks.push_back(hook);
  const Edge edge = gradient_edge(t);
  NodeHooks& h = edge.node->need_hooks();
  if (!edge.node->is_accumulate()) {
    h.tensor_before.push_back({edge.input, std::move(hook)});
    return;
  }
  h.tensor_before.clear();  // the accumulator's list is the leaf's, in order
  for (auto& each : a.hooks) h.tensor_before.push_back({0, each});
}

void remove_tensor_hook(const Tensor& t, const std::shared_ptr<Hook>& hook) {
  if (!t->autograd) return;
  Autograd& a = *t->autograd;
  std::erase(a.hooks, hook);
  Node* node = a.node ? a.node.get() : a.accumulator;
  if (node && node->hooks) {
    std::erase_if(node->hooks->tensor_before, [&](auto& e) { return e.second == hook; });
  }
}

}  // namespace rl
