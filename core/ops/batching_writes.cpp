// vmap: ops that write (in place, fill, copy) and ops that draw random numbers.
#include "ops/batching.h"

namespace rl {
namespace {

using namespace batching;

[[noreturn]] void refuse_in_place(const LevelCall& c) {
  if (c.r.kind == Kind::Pointwise) {
    const Dims self(c.tensor(0).sizes());
    fail(ErrorKind::Runtime, "output with shape ", self, " doesn't match the broadcast shape ",
         with_size(c, self));
  }
  fail(ErrorKind::Runtime, "vmap: inplace arithmetic(self, *extra_args) is not possible because "
       "there exists a Tensor `other` in extra_args that has more elements than `self`. This "
       "happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
       "Please try to use out-of-place operators instead of inplace arithmetic. If said operator "
       "is being called inside the PyTorch framework, please file a bug report instead.");
}

Tensor spread(const LevelCall& c, const Tensor& t) {
  const Tensor one = c.below(t);
  Dims strides{int64_t(bytes_needed(one.sizes(), one.strides(), 0, 1))};
  for (int64_t s : one.strides()) strides.push_back(s);
  const Tensor many = ops::new_empty_strided(one, with_size(c, one.sizes()), strides);
  ops::copy_(many, one);
  return many;
}

// `self` is the same for all samples, but what is written into it is not. Only a tensor that C++
// made and Python has not seen (a formula's zeros to be added to) may still change its mind.
void make_batched(const LevelCall& c, const Tensor& self) {
  const Wrapper* w = wrapper_of(self);
  if (w && w->level == c.level && w->batched) return;
  if (self->owner) refuse_in_place(c);
  if (!is_view(self)) {
    become(self, wrap_batched(spread(c, self), c.at));
    return;
  }
  const Tensor base = base_of(self);
  if (base->owner) refuse_in_place(c);
  const int64_t from = self.offset() - base.offset();
  const Dims sizes(self.sizes()), strides(self.strides());
  make_batched(c, base);
  const Tensor whole = wrapper_of(base)->value;
  Dims all{whole.stride(0)};
  for (int64_t s : strides) all.push_back(s);
  become(self, wrap_batched(ops::as_strided(whole, with_size(c, sizes), all,
                                            whole.offset() + from), c.at));
}

void in_place_below(const LevelCall& c, Lowered& low, int64_t rank) {
  for (size_t i = 0; i < c.r.params.size(); ++i)
    if (c.is_batched(i)) low.set(i, aligned(c, c.tensor(i), rank));
}

void loop_in_place(const LevelCall& c, void (*call)(const Record&, const Arg*)) {
  for (int64_t k = 0; k < c.size(); ++k) {
    Lowered low(c);
    for (size_t i = 0; i < c.r.params.size(); ++i)
      if (c.is_batched(i)) low.set(i, ops::select(c.below(c.tensor(i)), 0, k));
    call(c.r, low.args());
  }
}

void invoke_effect(const Record& r, const Arg* args) {
  Value results[kMostResults];
  invoke(r, args, results);
}

// ---- Random numbers

void check_randomness(const LevelCall& c) {
  check(c.at.randomness != Randomness::Error,
        "vmap: called random operation while in randomness error mode. Please either use the "
        "'same' or 'different' randomness flags on vmap or perform the randomness operation out of "
        "vmap");
}

void random_effect(const LevelCall& c) {
  check_randomness(c);
  const Tensor& self = c.tensor(0);
  const Wrapper* w = wrapper_of(self);
  const bool mapped = w && w->level == c.level && w->batched;
  const Descent down(c.level - 1);
  Lowered low(c);
  if (c.at.randomness == Randomness::Same) {
    for (size_t i = 1; i < c.r.params.size(); ++i)
      check(!c.is_batched(i), "Vmap does not currently support same randomness with a batched "
            "tensor input. Please file an issue with functorch");
    if (mapped) {
      const Tensor one = ops::clone(ops::select(w->value, 0, 0));
      low.set(0, one);
      invoke_effect(c.r, low.args());
      ops::copy_(w->value, one);
      return;
    }
    return invoke_effect(c.r, low.args());
  }
  check(mapped,
        "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
        "appear like same randomness. If this is necessary for your usage, please file an issue "
        "with functorch.");
  in_place_below(c, low, self.dim());
  invoke_effect(c.r, low.args());
}

// Each sample its own numbers: what gives the sizes has the mapped dimension, too.
bool different(const LevelCall& c, Value* results) {
  if (c.r.name == "randperm" || c.r.name == "multinomial") return false;
  Lowered low(c);
  const int64_t rank = highest_rank(c);
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    if (c.args[i].is_tensor()) {
      if (!c.is_batched(i) && c.tensor(i).dim() != rank) return false;
      low.set(i, c.is_batched(i) ? aligned(c, c.tensor(i), rank) : c.expanded(c.tensor(i)));
    } else if (c.r.kind == Kind::Factory && c.r.params[i].name == "size") {
      low.set(i, with_size(c, c.args[i].ints()));
    }
  }
  invoke(c.r, low.args(), results);
  return true;
}

}  // namespace

void batch_random(const LevelCall& c, Value* results) {
  check_randomness(c);
  bool batched = false;
  for (size_t i = 0; i < c.r.params.size(); ++i) batched |= c.is_batched(i);
  // Of these a tensor argument gives the sizes only.
  const bool like = c.r.kind == Kind::Factory || c.r.name == "_dropout_noise";
  if (c.at.randomness == Randomness::Same) {
    check(!batched || like, "Vmap does not currently support same randomness with a batched tensor "
          "input. Please file an issue with functorch");
    Lowered low(c);
    for (size_t i = 0; i < c.r.params.size(); ++i)
      if (c.is_batched(i)) low.set(i, ops::select(c.below(c.tensor(i)), 0, 0));
    invoke(c.r, low.args(), results);
    return batching::wrap_results(c, results, false);
  }
  if (!different(c, results)) loop(c, results);
  batching::wrap_results(c, results, true);
}

void batch_effect(const LevelCall& c) {
  if (is_random(c.r)) return random_effect(c);
  const Tensor& self = c.tensor(0);
  if (c.batched) make_batched(c, self);
  const Descent down(c.level - 1);
  const LevelCall again(c, c.args);
  Lowered low(again);
  const bool copies = (c.r.name == "copy_" || c.r.name == "fill_.Tensor") && c.args[1].is_tensor();
  if (copies) {
    const bool grows = c.tensor(1).dim() > self.dim();
    if (again.is_batched(1)) low.set(1, aligned(again, c.tensor(1), self.dim()));
    if (grows) loop_in_place(again, invoke_effect);
    else ops::copy_(low[0].as_tensor(), low[1].as_tensor());
  } else if (!c.batched || c.r.name == "fill_" || c.r.name == "zero_" || c.r.name == "copy_") {
    invoke_effect(c.r, low.args());
  } else {
    loop_in_place(again, invoke_effect);
  }
}

void batch_in_place(const LevelCall& given) {
  const Tensor& self = given.tensor(0);
  if (given.batched) make_batched(given, self);
  const Descent down(given.level - 1);
  const LevelCall c(given, given.args);
  Lowered low(c);
  if (!c.batched) return invoke_in_place(c.r, low.args());
  if (c.r.kind == Kind::Pointwise) {
    const int64_t rank = highest_rank(c);
    if (rank > self.dim()) return loop_in_place(c, invoke_in_place);
    in_place_below(c, low, rank);
    return invoke_in_place(c.r, low.args());
  }
  if (c.r.kind == Kind::View) return loop_in_place(c, invoke_in_place);
  Value results[kMostResults];
  batch_rule(c, results);
  const Tensor made = c.below(results[0].tensor());
  if (results[0].tensor().sizes() != self.sizes()) return loop_in_place(c, invoke_in_place);
  ops::copy_(c.below(self), made);
}

}  // namespace rl
