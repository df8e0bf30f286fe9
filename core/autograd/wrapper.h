// What vmap and jvp put around a tensor, and the levels of transforms that are active.
#pragma once
#include "tensor/tensor.h"

namespace rl {

// Note [Levels]
// Each transform that runs (vmap, jvp) is a level; inner ones have larger numbers. A wrapper
// belongs to one level and holds the tensor of the levels below. Its own body has the sizes that
// the function sees (without the mapped dimension), and its own place in a graph: that of the
// gradients taken inside of its level. An op whose arguments belong to level L records its node
// with the wrappers, then runs once more with what they hold, with L - 1 levels in force. Nested
// gradients need no level: each is with respect to tensors of its own, in one graph.
struct Wrapper : Counted {
  int level = 0;
  uint64_t serial = 0;      // of the level: one that is over leaves dead wrappers behind
  bool batched = false;     // vmap: dimension 0 of `value` is mapped; else it is the same for all
  Tensor value;             // jvp: the primal
  Tensor tangent;           // jvp: undefined stands for zero
  static void release(Wrapper* w) { if (w->let_go()) delete w; }
};

enum class Randomness : uint8_t { Error, Same, Different };

struct TransformLevel {
  bool forward = false;     // jvp, or a level of forward_ad; else vmap
  bool open = false;        // forward_ad: one graph with the levels below
  int64_t size = 0;         // of the mapped dimension
  Randomness randomness = Randomness::Error;
  uint64_t serial = 0;
  int number = 0;
};

int push_level(TransformLevel level);             // returns its number, from 1 on
void pop_level();
int current_level();                     // how many are in force
const TransformLevel& level_at(int number);
int level_of(const Tensor& t);           // 0 for what no active level wraps
Wrapper* wrapper_of(const Tensor& t);    // null where there is none

// While a rule runs with what the wrappers of level `to + 1` hold.
class Descent {
 public:
  explicit Descent(int to);
  ~Descent();
  Descent(const Descent&) = delete;

 private:
  void* before_;
  uint32_t mode_;
};

Tensor wrap_batched(const Tensor& value, const TransformLevel& level, bool batched = true);
Tensor wrap_dual(const Tensor& primal, const Tensor& tangent, const TransformLevel& level);
// `t` itself becomes the wrapper: what a kernel or a formula filled must now differ by sample.
void become(const Tensor& t, const Tensor& wrapper);
// The tensor below all dead wrappers.
Tensor unwrap_dead(const Tensor& t);

}  // namespace rl
