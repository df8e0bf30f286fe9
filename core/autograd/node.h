// Node: one step of the graph that backward walks, with its edges and hooks.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tensor/value.h"

namespace rl {

class Node;

struct Edge {
  Ref<Node> node;
  int input = 0;             // which of the node's inputs the gradient goes to
  explicit operator bool() const { return bool(node); }
};

// What a gradient must look like when it reaches an input of a node: the forward result's
// sizes, dtype and device. The engine sums and casts to it.
struct InputMeta {
  Small<int64_t, 4> sizes;
  DType dtype = DType::Undefined;
  Device device;
  InputMeta() = default;
  explicit InputMeta(const Tensor& t) : sizes(t.sizes()), dtype(t.dtype()), device(t.device()) {}
};

// Hooks run user code; bind derives from this for Python callables.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual void before(Tensors& /*grads*/) {}                            // may replace gradients
  virtual void after(Tensors& /*made*/, const Tensors& /*received*/) {}  // may replace what was made
  virtual void* object() const { return nullptr; }  // the Python callable, for the collector
};

struct NodeHooks {
  using OfInput = std::pair<int, std::shared_ptr<Hook>>;
  std::vector<OfInput> tensor_before;          // tensor hooks, each on one input
  std::vector<OfInput> retain;                 // retain_grad, after all tensor hooks
  std::vector<std::shared_ptr<Hook>> before, after;
};

class Node : public Counted {
 public:
  Node();
  virtual ~Node();
  static void* operator new(size_t n) { return allocate_object(n); }
  static void operator delete(void* p, size_t n) { release_object(p, n); }
  static void release(Node* n) { if (n->let_go_exactly()) destroy(n); }

  virtual std::string name() const = 0;
  // Gradients of the forward results in, gradients of the forward inputs out (one per edge).
  // Undefined tensors stand for zero.
  virtual Tensors apply(Tensors&& grads) = 0;
  virtual void free_saved() {}             // after backward without retain_graph
  virtual bool is_accumulate() const { return false; }
  virtual int64_t saved_bytes() const { return 0; }
  virtual void* object() const { return nullptr; }  // the Python object a custom node solely owns

  Small<Edge, 3> next;
  Small<InputMeta, 1> inputs;
  uint64_t sequence;                        // newer is larger; AccumulateGrad is the largest
  std::unique_ptr<NodeHooks> hooks;
  void* owner = nullptr;                    // the Python object, if one is alive
  uint64_t origin;
  uint64_t freed_by = 0;                    // origin of the backward that freed what was saved
  int64_t freed_bytes = 0;                  // how much that was; ~bytes once it was asked for again
  Ref<Node> anomaly_parent;                 // the node whose backward made this one
  void* anomaly_trace = nullptr;            // bind's record of the forward call

  NodeHooks& need_hooks() {
    if (!hooks) hooks = std::make_unique<NodeHooks>();
    return *hooks;
  }
  [[noreturn]] void refuse_again();         // what was saved has been freed: notes who asked
  int add_input(const Tensor& t) {
    inputs.emplace_back(t);
    return int(inputs.size()) - 1;
  }

 private:
  static void destroy(Node* n);             // long chains are freed without recursion
};

// Bind supplies what becomes of Python objects and traces that a node held.
struct NodeOwnerHooks {
  void (*drop)(void* owner) = nullptr;
  void (*drop_trace)(void* trace) = nullptr;
};
extern NodeOwnerHooks node_owner_hooks;

// Adds gradients to a leaf's .grad.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(Tensor variable);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  Tensors apply(Tensors&& grads) override;
  bool is_accumulate() const override { return true; }
  Tensor variable;
};

// A gradient that nobody wrote: raises when backward reaches it.
class NotImplementedNode : public Node {
 public:
  explicit NotImplementedNode(std::string message) : message_(std::move(message)) {}
  std::string name() const override { return "NotImplemented"; }
  Tensors apply(Tensors&&) override;

 private:
  std::string message_;
};

// ---- Running backward (autograd/engine.cpp)
struct BackwardCall {
  Span<Edge> roots;
  Tensors grads;                  // one per root
  bool keep_graph = false, create_graph = false;
  std::vector<Edge> wanted;       // capture these gradients instead of accumulating
  std::vector<Edge> only;         // backward(inputs=): accumulate into these leaves only
};
// Returns the captured gradients, undefined where the graph did not reach.
std::vector<Tensor> run_backward(BackwardCall& call);
Node* current_node();              // whose apply runs on this thread, or null
int64_t current_run();             // number of the backward that runs on this thread, or -1
void queue_callback(std::function<void()> f);  // after the current backward

}  // namespace rl
