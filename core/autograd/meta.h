// What autograd knows of one tensor: its gradient, its place in the graph, its view, its hooks.
#pragma once
#include <functional>

#include "autograd/node.h"
#include "autograd/wrapper.h"
#include "observe/events.h"

namespace rl {

// How a view came to be; decides what in-place on it may do. Note [In-place on views] in inplace.cpp.
enum class ViewKind : uint8_t {
  Normal,          // in-place is allowed, history is rebased onto the base
  Multi,           // one of several views made by one op (split, unbind, chunk)
  NoGrad,          // made while recording was off
  Inference,       // made in inference mode
  Custom,          // made by a custom Function
};

struct Autograd {
  bool requires_grad = false;     // asked for by the user (leaves)
  bool retains_grad = false;
  int output = 0;                 // which result of `node` this tensor is
  Ref<Node> node;                 // grad_fn; null for leaves
  Node* accumulator = nullptr;    // weak: the AccumulateGrad holds the tensor
  Tensor grad;
  Tensor base;                    // for a view; never itself a view
  // The view again, from another base; null where sizes, strides and offset say it all.
  std::unique_ptr<std::function<Tensor(const Tensor& base)>> replay;
  ViewKind kind = ViewKind::Normal;
  uint32_t seen_version = 0;      // when `node` was made: a stale view's is rebuilt
  Ref<Wrapper> wrapper;           // of a tensor that vmap or jvp made
  std::vector<std::shared_ptr<Hook>> hooks;          // tensor hooks in order
  std::shared_ptr<Hook> retain_hook;
  std::vector<std::shared_ptr<Hook>> post_accumulate;

  static void* operator new(size_t n) { return allocate_object(n); }
  static void operator delete(void* p, size_t n) { release_object(p, n); }
};

Autograd& autograd_of(const Tensor& t);              // makes one when there is none

inline bool grad_enabled() { return !(modes() & (kNoGrad | kInference)); }
class ModeGuard {                                    // sets and clears bits of the mode word
 public:
  ModeGuard(uint32_t set, uint32_t clear = 0) : before_(modes_word) {
    modes_word = (modes_word & ~clear) | set;
  }
  ~ModeGuard() {
    modes_word = (modes_word & kThread) | (before_ & ~kThread);
  }
  ModeGuard(const ModeGuard&) = delete;

 private:
  uint32_t before_;
};
struct NoGrad : ModeGuard { NoGrad() : ModeGuard(kNoGrad) {} };
struct EnableGrad : ModeGuard { EnableGrad() : ModeGuard(0, kNoGrad) {} };

// ---- Questions
bool requires_grad(const Tensor& t);
bool is_leaf(const Tensor& t);
bool is_view(const Tensor& t);                       // a differentiable view
Tensor base_of(const Tensor& t);                     // undefined when not a view
Ref<Node> grad_fn(const Tensor& t);                  // rebuilt for a stale view
Edge gradient_edge(const Tensor& t);                 // grad_fn and output, or the accumulator

// ---- Changes
void set_requires_grad(const Tensor& t, bool on);    // PyTorch's errors for ints and non-leaves
void set_history(const Tensor& t, Ref<Node> node);   // t becomes the next result of node
void detach_in_place(const Tensor& t);
Tensor detached(const Tensor& t);                    // shares storage and version
Tensor data_of(const Tensor& t);                     // shares storage, its own version counter
void set_grad(const Tensor& t, const Tensor& grad);
void retain_grad(const Tensor& t);
void forget_retained(Autograd& a);                   // its tensor dies
void add_tensor_hook(const Tensor& t, std::shared_ptr<Hook> hook);
void remove_tensor_hook(const Tensor& t, const std::shared_ptr<Hook>& hook);
void forget_accumulator(const Tensor& leaf, Node* node);
Tensor sum_of(const Tensor& a, const Tensor& b);     // a + b by the op, recorded if recording

// ---- In-place and views (autograd/inplace.cpp)
// The view of a differentiable view op: records base and replay.
void record_view(const Tensor& view, const Tensor& of, ViewKind kind);
// ... of another dtype or with bits set: sizes, strides and offset do not say it all.
void record_view(const Tensor& view, const Tensor& of, ViewKind kind,
                 std::function<Tensor(const Tensor&)> replay);
void check_in_place(const Tensor& t);                // throws where PyTorch forbids it
// After the change: t's value now comes from `node`; views rebase onto their base.
void rebase_history(const Tensor& t, Ref<Node> node);

// ---- Saved values
class Saved {
 public:
  Saved() = default;
  // An output is saved without its grad_fn, lest node and tensor hold each other.
  Saved(const Arg& arg, bool output);
  // The value for the formula; for tensors the version is checked, PyTorch's message on a change.
  Value unpack(const Ref<Node>& self) const;
  void clear() { value_ = Value(); hooks_.reset(); }
  int64_t bytes() const;
  const Value& raw() const { return value_; }
  struct Packed {                                    // what saved_tensors_hooks made of it
    virtual ~Packed() = default;
    virtual Tensor unpack() = 0;
  };
  std::shared_ptr<Packed>& packed() { return hooks_; }

 private:
  Value value_;
  std::shared_ptr<Packed> hooks_;
  uint32_t version_ = 0;
  int output_ = 0;
  bool is_output_ = false;
};
// Bind supplies packing when saved_tensors_hooks are active on this thread.
extern std::shared_ptr<Saved::Packed> (*pack_saved)(const Tensor& t);
[[noreturn]] void fail_freed();                      // "Trying to backward through the graph a second time"

}  // namespace rl
