// What autograd knows of a tensor: questions, changes, hooks.
#include "autograd/shared.h"

#include <pthread.h>

#include <new>

namespace rl {
namespace {

struct alignas(64) Stripe {
  TinyLock tiny, summing;
};
constexpr size_t kStripes = 64;
Stripe stripes[kStripes];
Stripe& stripe_of(const void* p) {
  return stripes[(reinterpret_cast<uintptr_t>(p) >> 6) % kStripes];
}

constinit TinyLock accumulators;  // guards the weak pointers from leaves to their AccumulateGrad

// After a fork the locks are made anew: their holders are gone.
void free_locks() {
  for (Stripe& s : stripes) new (&s) Stripe;
  new (&accumulators) TinyLock;
}

// A gradient may have a gradient, and so on: what dies while another dies waits in a list.
constinit thread_local std::vector<Autograd*>* dying
    __attribute__((tls_model("initial-exec"))) = nullptr;

void free_meta(Autograd* a) {
  forget_retained(*a);
  if (!a->grad) {
    delete a;
    return;
  }
  if (dying) {
    dying->push_back(a);
    return;
  }
  std::vector<Autograd*> waiting{a};
  dying = &waiting;
  while (!waiting.empty()) {
    Autograd* next = waiting.back();
    waiting.pop_back();
    delete next;
  }
  dying = nullptr;
}
[[gnu::constructor]] void supply() {
  free_autograd = free_meta;
  pthread_atfork(nullptr, nullptr, free_locks);
}

// A new reference to the leaf's AccumulateGrad; where there is none, to `made`'s that becomes it.
Node* accumulator_of(Autograd& a, Node* made = nullptr) {
  const Holding hold(accumulators);
  if (a.accumulator && a.accumulator->keep_if_alive()) return a.accumulator;
  if (made) a.accumulator = made;
  return made;
}

void refresh_needs(const Tensor& t) {
  const Autograd* a = t->autograd;
  t->set(kNeedsGrad, a && (a->requires_grad || a->node));
}

}  // namespace

TinyLock& tiny_lock_of(const void* p) { return stripe_of(p).tiny; }
TinyLock& summing_into(const Autograd& leaf) { return stripe_of(&leaf).summing; }

bool has_gradient(const Autograd& a) {
  const Holding hold(tiny_lock_of(&a));
  return bool(a.grad);
}

Tensor gradient_of(const Autograd& a) {
  const Holding hold(tiny_lock_of(&a));
  return a.grad;
}

bool give_gradient(Autograd& a, Tensor& grad) {
  const Holding hold(tiny_lock_of(&a));
  if (a.grad) return false;
  std::swap(a.grad, grad);
  return true;
}

Tensor exchange_gradient(Autograd& a, Tensor grad) {
  const Holding hold(tiny_lock_of(&a));
  std::swap(a.grad, grad);
  return grad;
}

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
  const Holding hold(accumulators);
  if (leaf->autograd->accumulator == node) leaf->autograd->accumulator = nullptr;
}

Edge gradient_edge(const Tensor& t) {
  if (!requires_grad(t)) return {};
  if (Ref<Node> node = grad_fn(t)) return {node, t->autograd->output};
  Autograd& a = *t->autograd;
  if (Node* there = accumulator_of(a)) return {Ref<Node>::take(there), 0};
  // Not under the lock: who hears of a node may ask for Python's.
  Ref<Node> made = Ref<Node>::take(new AccumulateGrad(t));
  for (auto& h : a.hooks) made->need_hooks().tensor_before.push_back({0, h});
  Node* const node = accumulator_of(a, made.get());
  if (node != made.get()) made = Ref<Node>::take(node);
  return {std::move(made), 0};
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
    if (t->autograd) exchange_gradient(*t->autograd, Tensor());
    return;
  }
  exchange_gradient(autograd_of(t), grad);
}

namespace {

// Puts a leaf's or a result's gradient where retain_grad promised it.
class RetainGrad : public Hook {
 public:
  explicit RetainGrad(TensorBody* t) : tensor_(t) {}
  void before(Tensors& grads) override {
    for (Tensor& g : grads) {
      if (!g) continue;
      Tensor before, sum = g;
      while (!replace(before, sum)) sum = before ? sum_of(before, g) : g;
    }
  }
  void forget() {
    const Holding hold(lock_);
    tensor_ = nullptr;
  }

 private:
  // Puts `sum` where `before` was; false if something else is there by now, which is then `before`.
  bool replace(Tensor& before, Tensor& sum) {
    const Holding hold(lock_);
    if (!tensor_) return true;
    Autograd& a = *tensor_->autograd;
    Tensor now = gradient_of(a);
    if (now.same(before)) {
      before = exchange_gradient(a, sum);
      return true;
    }
    std::swap(before, now);
    sum = Tensor();
    return false;
  }

  TinyLock lock_;
  TensorBody* tensor_;  // cleared when the tensor dies
};

}  // namespace

void retain_grad(const Tensor& t) {
  check(requires_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(t) || t->autograd->retains_grad) return;
  Autograd& a = *t->autograd;
  a.retains_grad = true;
  a.retain_hook = std::make_shared<RetainGrad>(t.body());
  NodeHooks& hooks = a.node->need_hooks();
  add_hook(a.node.get(), hooks.retain, NodeHooks::OfInput(a.output, a.retain_hook));
}

void move_retained(Autograd& a, const Ref<Node>& before) {
  if (!a.retain_hook || !a.node || a.node == before) return;
  if (before && before->hooks) {
    remove_hooks(before.get(), before->hooks->retain,
                 [&](auto& e) { return e.second == a.retain_hook; });
  }
  add_hook(a.node.get(), a.node->need_hooks().retain, NodeHooks::OfInput(a.output, a.retain_hook));
}

void forget_retained(Autograd& a) {
  if (a.retain_hook) static_cast<RetainGrad&>(*a.retain_hook).forget();
}

void add_tensor_hook(const Tensor& t, std::shared_ptr<Hook> hook) {
  check(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
  Autograd& a = *t->autograd;
  a.hooks.push_back(hook);
  const Edge edge = gradient_edge(t);
  NodeHooks& h = edge.node->need_hooks();
  if (!edge.node->is_accumulate()) {
    add_hook(edge.node.get(), h.tensor_before, NodeHooks::OfInput(edge.input, std::move(hook)));
    return;
  }
  std::vector<NodeHooks::OfInput> in_order;  // the accumulator's list is the leaf's
  for (auto& each : a.hooks) in_order.push_back({0, each});
  const Holding hold(tiny_lock_of(edge.node.get()));
  std::swap(h.tensor_before, in_order);
}

void remove_tensor_hook(const Tensor& t, const std::shared_ptr<Hook>& hook) {
  if (!t->autograd) return;
  Autograd& a = *t->autograd;
  std::erase(a.hooks, hook);
  Node* node = a.node ? a.node.get() : a.accumulator;
  if (node && node->hooks) {
    remove_hooks(node, node->hooks->tensor_before, [&](auto& e) { return e.second == hook; });
  }
}

}  // namespace rl
