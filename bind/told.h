// Work that is no op of the table, told to subscribers as if it were: item(), torch.tensor(...).
#pragma once
#include "bind/origin.h"
#include "ops/record.h"

namespace rl::bind {

// One such op: reads a tensor, if any, and makes one, if any. Free when nobody listens. Ended by an
// exception unless `done` was called.
class Told {
 public:
  explicit Told(const Record& r, const Tensor* read = nullptr)
      : record_(r), heard_(observed(kObserveOps)) {
    if (heard_) begin(read);
  }
  ~Told() { if (heard_) observe_op_end(record_, &made_, failed_); }
  Told(const Told&) = delete;
  void done() { failed_ = false; }
  Tensor done(Tensor t) {
    failed_ = false;
    if (heard_) made_ = Value(t);
    return t;
  }

 private:
  void begin(const Tensor* read);
  const Record& record_;
  Arg read_;
  Value made_;
  const bool heard_;
  bool failed_ = true;
};

// aten::item, and what does its work; aten::is_nonzero; aten::lift_fresh, for data of Python's.
extern const Record item_op, scalar_op, truth_op, data_op;

}  // namespace rl::bind
