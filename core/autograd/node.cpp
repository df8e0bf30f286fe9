// Nodes: numbering, freeing long chains, leaves that gather gradients.
#include "autograd/node.h"

#include <atomic>

#include "autograd/anomaly.h"
#include "autograd/meta.h"
#include "ops/ops.h"

namespace rl {

NodeOwnerHooks node_owner_hooks;

namespace {
#define RL_THREAD constinit thread_local __attribute__((tls_model("initial-exec")))
RL_THREAD uint64_t next_sequence = 0;
RL_THREAD std::vector<Node*>* dying = nullptr;
#undef RL_THREAD
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
  std::vector<Node*> waiting;
  dying = &waiting;
  delete n;
  while (!waiting.empty()) {
    Node* next = waiting.back();
    waiting.pop_back();
    delete next;
  }
  dying = nullptr;
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
  Tensor& grad = meta.grad;
  if (!grad) {
    // The gradient is taken as it is when nobody else holds it and its layout is the leaf's.
    const bool own = !grad_enabled() && given->refs() == 1 && given->storage->refs() == 1;
    const bool dense = is_dense(variable.sizes(), variable.strides());
    const bool fits = dense ? given.strides() == variable.strides() : given.is_contiguous();
    if (own && fits && !given.is_conj() && !given.is_negative()) {
      grad = given.needs_grad() ? detached(given) : std::move(given);
    } else {
      Tensor copy = empty_strided(variable.sizes(), dense_strides_like(variable), given.dtype(),
                                  given.device());
      if (grad_enabled()) {
        grad = ops::clone(given);
      } else {
        ops::copy_(copy, given);
        grad = copy;
      }
    }
  } else if (!grad_enabled()) {
    ops::add.in_place(grad, given);
  } else {
    grad = ops::add(grad, given);
  }
  for (auto& hook : meta.post_accumulate) {
    Tensors leaf{variable};
    hook->before(leaf);
  }
  return {};
}

Tensors NotImplementedNode::apply(Tensors&&) { fail(ErrorKind::Runtime, message_); }

}  // namespace rl
