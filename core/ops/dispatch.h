// The stages of an op call, and what other layers hang into them.
#pragma once
#include "ops/record.h"

namespace rl {

// Transforms (vmap, jvp) and autocast are asked in this order; true means the call is done.
using Interceptor = bool (*)(const Record& r, const Arg* args, Value* results);
extern Interceptor transform_hook;
extern bool (*transform_in_place_hook)(const Record& r, const Arg* args);
// Autocast casts arguments: `args` is a copy to be changed; `kept` holds what the copies need.
extern void (*autocast_hook)(const Record& r, Arg* args, Tensors& kept);

// For ops whose result depends on data: raises as PyTorch does for tensors without any.
void refuse_meta(const char* name, const Tensor& t);

// The interpreter lock, released around kernels with much to do; bind supplies both.
struct LockHooks {
  void* (*release)() = nullptr;
  void (*acquire)(void*) = nullptr;
};
extern LockHooks lock_hooks;
class Unlocked {
 public:
  explicit Unlocked(bool worth_it)
      : state_(worth_it && lock_hooks.release ? lock_hooks.release() : nullptr) {}
  ~Unlocked() { if (state_) lock_hooks.acquire(state_); }
  Unlocked(const Unlocked&) = delete;

 private:
  void* state_;
};

}  // namespace rl
