// What several threads may touch of one graph at once: gradients of leaves, lists of hooks.
#pragma once
#include "autograd/meta.h"
#include "base/tiny_lock.h"

namespace rl {

// Note [Threads on one graph]
// Backward runs without the interpreter lock, so that two threads may walk one graph, while a third
// reads a gradient or registers a hook. Edges and inputs do not change once a node is in a graph.
// What does change is guarded: what a node saved (OpNode::lock_), a gradient, and hooks, by the
// tiny locks here, under which pointers are copied or swapped and nothing else; what was taken out
// dies afterwards, since a Python object may hear of its death. Sums into one leaf wait for each
// other (summing_into), and whoever waits there does not hold the interpreter lock.

TinyLock& tiny_lock_of(const void* p);            // one of some, by address
TinyLock& summing_into(const Autograd& leaf);   // held while a gradient is added to a leaf's

bool has_gradient(const Autograd& a);
Tensor gradient_of(const Autograd& a);
bool give_gradient(Autograd& a, Tensor& grad);       // false where there is one already
Tensor exchange_gradient(Autograd& a, Tensor grad);  // returns the one before

// The tensor's value comes from another node now than from `before`: retain_grad promised the
// gradient of the value that it has last.
void move_retained(Autograd& a, const Ref<Node>& before);

// A list of hooks as it is now: hooks may remove themselves and each other while they run.
template <class List> List now_of(const void* owner, const List& hooks) {
  const Holding hold(tiny_lock_of(owner));
  return hooks;
}
template <class List, class Item> void add_hook(const void* owner, List& hooks, Item hook) {
  const Holding hold(tiny_lock_of(owner));
  hooks.push_back(std::move(hook));
}
// The caller still holds what it removes.
template <class List, class Predicate>
void remove_hooks(const void* owner, List& hooks, Predicate gone) {
  const Holding hold(tiny_lock_of(owner));
  std::erase_if(hooks, gone);
}

}  // namespace rl
