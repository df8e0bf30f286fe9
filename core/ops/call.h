// What a plain call, an in-place call and a call with out= share: looking at the arguments, and
// making them ready for the kernel.
#pragma once
#include "ops/dispatch.h"
#include "ops/ops.h"

namespace rl {

constexpr size_t kMostResults = 8, kMostParams = 32;
constexpr int64_t kWorthUnlocking = 16384;  // elements touched: about 20 microseconds of work

// What the tensors among the arguments have in common.
struct Seen {
  uint32_t flags = 0;
  int64_t elements = 0;
  bool meta = false, some = false;
  bool data_first = false;  // the first tensor has data
  void add(const TensorBody* t) {
    flags |= t->flags;
    elements += t->numel;
    const bool is_meta = t->device.is_meta();
    meta |= is_meta;
    data_first |= !some && !is_meta;
    some = true;
  }
};

Seen look_at(const Record& r, const Arg* args);
// A kernel that is about to run on the CPU must not meet a tensor without data.
void refuse_mixed(const Seen& seen);
// Whether any argument that a formula serves needs a gradient.
bool wants_gradient(const Record& r, const Arg* args);
bool must_prepare(const Record& r, const Seen& seen, const Arg* args);

// Arguments as the kernel may take them: conjugate and negative bits resolved, dense if it asks.
class Prepared {
 public:
  Prepared(const Record& r, const Arg* args) : args_(copy_) {
    for (size_t i = 0; i < r.params.size(); ++i) {
      copy_[i] = args[i];
      if (args[i].tag == Tag::Tensor) {
        if (r.params[i].written) continue;
        kept_.push_back(ready(r, args[i].as_tensor()));
        copy_[i] = Arg(kept_.back());
      } else if (args[i].tag == Tag::Tensors && !r.params[i].written) {
        lists_.emplace_back();
        for (const Tensor& t : args[i].tensors()) lists_.back().push_back(t ? ready(r, t) : t);
        copy_[i] = Arg(lists_.back());
      }
    }
  }
  const Arg* args() const { return args_; }

 private:
  static Tensor ready(const Record& r, const Tensor& t) {
    NoGrad quiet;
    Tensor u = t;
    if (!r.conj_ok && t.is_conj()) u = ops::resolve_conj(u);
    if (!r.conj_ok && t.is_negative()) u = ops::resolve_neg(u);
    if (r.dense && !u.is_contiguous()) u = ops::contiguous(u);
    return u;
  }
  Arg copy_[kMostParams];
  const Arg* args_;
  Small<Tensor, 4> kept_;
  std::deque<Tensors> lists_;
};

// Tells subscribers of the op's beginning and, however it ends, of its end.
struct HeardOp {
  HeardOp(const Record& record, const Arg* args, const Value* made)
      : r(record), results(made), heard(observed(kObserveOps)) {
    if (heard) observe_op_begin(r, args);
  }
  ~HeardOp() { if (heard) observe_op_end(r, results, failed); }
  const Record& r;
  const Value* results;
  const bool heard;
  bool failed = true;
};

class NoAutocast {
 public:
  explicit NoAutocast(bool off) : before_(modes_word & kAutocast) {
    if (off) modes_word &= ~kAutocast;
  }
  ~NoAutocast() { modes_word |= before_; }
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  uint32_t before_;
};

// A call without modes and events: everything from recording the gradient on.
void call(const Record& r, const Arg* args, Value* results);

}  // namespace rl
