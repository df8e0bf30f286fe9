// OpNode: the graph node of every op; its record's formulas say what it computes.
#pragma once
#include "base/tiny_lock.h"
#include "ops/record.h"

namespace rl {

constexpr size_t kMostSources = 24;  // values that one formula asks for

class OpNode : public Node {
 public:
  // Takes the edges, and saves what the formulas of the needed inputs ask of the inputs.
  // `values` are the same arguments as they are to be saved: an in-place form clones self first.
  OpNode(const Record& r, const Arg* args, const Arg* values);
  // Saves what they ask of the results, and makes the node their history: the results now own it,
  // and nobody else, even where this throws.
  void attach(const Tensor* results, size_t n);
  // Only saves; for in-place forms, whose history the caller rebases.
  void save_results(const Tensor* results, size_t n);

  std::string name() const override { return record_.node; }
  Tensors apply(Tensors&& grads) override;
  void free_saved() override;
  int64_t saved_bytes() const override;
  const Record& record() const { return record_; }
  // Which parameters' gradients are wanted: bit per parameter.
  uint64_t needed() const { return needed_; }
  // A saved value by name ("self", "result"), for `grad_fn._saved_self`; throws when freed.
  Value saved(const Formula::Source& s) const;
  // The tensors that are saved now, by the record's names; those of a list one by one.
  std::vector<std::pair<std::string, Tensor>> saved_tensors() const;

 private:
  size_t first_edge(int param) const;
  size_t edge_count(int param) const;
  void unpack(const Formula& f, const Ref<Node>& self, Value* values);
  bool has_saved_tensors();
  int64_t bytes() const;
  void run_formula(const Formula& f, const Tensors& grads, Tensors& made);
  void save(int slot, const Arg& arg, bool result) {
    saved_[size_t(slot)] = Saved(arg, result);
  }

  const Record& record_;
  uint64_t needed_ = 0, slots_ = 0;
  mutable TinyLock lock_;         // of saved_ until freed_ is set: Note [Threads on one graph]
  std::atomic<bool> freed_{false};
  Small<Saved, 3> saved_;         // by slot of record_.saves; unused slots stay empty
  Small<int, 1> list_lengths_;    // of list parameters, in order
};

}  // namespace rl
