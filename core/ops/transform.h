// The stage between a call and its op where vmap and jvp take their part.
#pragma once
#include <list>

#include "ops/call.h"

namespace rl {

// A call as the rules of one level see it.
struct LevelCall {
  LevelCall(const Record& record, const Arg* given, int number);
  LevelCall(const LevelCall& at, const Arg* given);    // while that level is not in force

  const Record& r;
  const Arg* args;                  // as given: wrappers of this level and others
  const int level;
  const TransformLevel at;                   // a copy: rules run while it is not in force
  bool batched = false;             // vmap: some tensor differs by sample

  const Tensor& tensor(size_t i) const { return args[i].as_tensor(); }
  bool is_batched(size_t i) const;  // of a Tensor parameter
  bool is_mine(const Tensor& t) const;
  // What a tensor of this level holds; others as they are.
  Tensor below(const Tensor& t) const;
  // The mapped dimension in front; repeated where the tensor does not differ.
  Tensor expanded(const Tensor& t) const;
  int64_t size() const { return at.size; }
};

// Arguments of a lower level, and what they point to.
class Lowered {
 public:
  explicit Lowered(const LevelCall& c);
  Arg& operator[](size_t i) { return args_[i]; }
  const Arg& operator[](size_t i) const { return args_[i]; }
  void set(size_t i, Tensor t);
  void set(size_t i, Ints list);
  void set(size_t i, Tensors list);
  const Arg* args() const { return args_; }

 private:
  Arg args_[kMostParams];
  std::list<Tensors> lists_;      // elements stay where they are, and an empty list costs nothing
  std::list<Dims> ints_;
  Small<Tensor, 4> kept_;
};

// Results of the level from those below; `c.level` is not in force meanwhile.
void batch_rule(const LevelCall& c, Value* results);
void batch_random(const LevelCall& c, Value* results);
void batch_in_place(const LevelCall& c);
void batch_effect(const LevelCall& c);
void forward_rule(const LevelCall& c, Value* results);
void forward_in_place(const LevelCall& c);

// How vmap serves an op, for the docs and the tests.
const char* batching_of(const Record& r);
const char* forward_of(const Record& r);

// What a tensor of a transform that has ended holds; one of vmap holds all samples: it is refused.
Tensor unwrap_escaped(const Tensor& t);
void refuse_escaped(const Record& r, const Arg* args);  // of vmap, among the arguments
// A call that met wrappers of levels that are over: goes on with what they hold.
void call_unwrapped(const Record& r, const Arg* args, Value* results);

// out= under a transform; false where none takes part.
bool transform_out(const Record& r, const Arg* args, const Tensor* targets);

bool is_random(const Record& r);
// Whether what `t` wraps, on any level, takes part in a graph; has a tangent.
bool recorded_below(const Tensor& t);
bool has_tangent(const Tensor& t);
// Whether derivatives with respect to `t` may be asked for.
bool is_differentiated(const Tensor& t);

}  // namespace rl
