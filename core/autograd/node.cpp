// Nodes: numbering, freeing long chains, leaves that gather gradients.
#include "autograd/node.h"

#include <atomic>

#include "autograd/anomaly.h"
#include "autograd/shared.h"
#include "ops/ops.h"

namespace rl {

NodeOwnerHooks node_owner_hooks;

namespace {
#define RL_THREAD constinit thread_local __attribute__((tls_model("initial-exec")))
RL_THREAD uint64_t next_sequence = 0;
RL_THREAD Small<Node*, 8>* dying = nullptr;
#undef RL_THREAD

// A leaf's first gradient is taken as it is when nobody else holds it and its layout is the leaf's.
Tensor first_gradient(const Tensor& leaf, Tensor& given) {
  const bool own = !grad_enabled() && given->refs() == 1 && given->storage->refs() == 1;
  const bool dense = is_dense(leaf.sizes(), leaf.strides());
  const bool fits = dense ? given.strides() == leaf.strides() : given.is_contiguous();
  if (own && fits && !given.is_conj() && !given.is_negative()) {
    return given.needs_grad() ? detached(given) : std::move(given);
  }
  if (grad_enabled()) return ops::clone(given);
  Tensor copy = empty_strided(leaf.sizes(), dense_strides_like(leaf), given.dtype(),
                              given.device());
  ops::copy_(copy, given);
  return copy;
}

void add_gradient(const Tensor& leaf, Autograd& meta, Tensor given) {
  Tensor before;                   // dies after the lock
  const Holding alone(summing_into(meta));
  while (!(before = gradient_of(meta))) {  // none yet, or set to None meanwhile
    given = first_gradient(leaf, given);
    if (give_gradient(meta, given)) return;
  }
  if (!grad_enabled()) {
    ops::add.in_place(before, given);
  } else {
    before = exchange_gradient(meta, ops::add(before, given));
  }
}

}  // namespace

Node::Node() : sequence(next_sequence++), origin(current_origin) {
  if (__builtin_expect(observed(kObserveNodes), 0)) observe_node(*this, &Subscriber::node_made);
  if (__builtin_expect(modes() & kAnomaly, 0)) remember_origin(*this);
}

Node::~Node() {
  if (__builtin_expect(observed(kObserveNodes), 0)) observe_node(*this, &Subscriber::node_freed);
  if (owner) node_owner_hooks.drop(owner);
  if (anomaly_trace) node_owner_hooks.drop_trace(anomaly_trace);
}

// A node may hold the last reference to the next, and so on for a million steps: nodes that die
// while another dies wait in a list.
void Node::destroy(Node* n) {
  if (dying) {
    dying->push_back(n);
    return;
  }
  Small<Node*, 8> waiting;
  dying = &waiting;
  delete n;
  while (!waiting.empty()) {
    Node* next = waiting.back();
    waiting.pop_back();
    delete next;
  }
  dying = nullptr;
}

void Node::refuse_again() {
  if (freed_bytes >= 0) freed_bytes = ~freed_bytes;
  fail_freed();
}

AccumulateGrad::AccumulateGrad(Tensor v) : variable(std::move(v)) {
  sequence = UINT64_MAX;
  add_input(variable);
}

AccumulateGrad::~AccumulateGrad() { forget_accumulator(variable, this); }

Tensors AccumulateGrad::apply(Tensors&& grads) {
  Tensor given = std::move(grads[0]);
  if (!given) return {};
  Autograd& meta = autograd_of(variable);
  if (has_gradient(meta)) {
    add_gradient(variable, meta, std::move(given));
  } else {
    given = first_gradient(variable, given);
    if (!give_gradient(meta, given)) add_gradient(variable, meta, std::move(given));
  }
  for (const auto& hook : now_of(&meta, meta.post_accumulate)) {
    Tensors leaf{variable};
    hook->before(leaf);
  }
  return {};
}

Tensors NotImplementedNode::apply(Tensors&&) { fail(ErrorKind::Runtime, message_); }

}  // namespace rl
