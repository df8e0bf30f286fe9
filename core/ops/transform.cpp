// The transform stage: which level a call belongs to, recording there, wrapping what comes back.
#include "ops/transform.h"

#include <unordered_set>

#include "ops/op_node.h"

namespace rl {
namespace {

template <class F> void each_tensor(const Record& r, const Arg* args, F f) {
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.tag == Tag::Tensor) {
      f(a.as_tensor());
    } else if (a.tag == Tag::Tensors) {
      for (const Tensor& t : a.tensors())
        if (t) f(t);
    }
  }
}

int level_of_call(const Record& r, const Arg* args) {
  int level = 0;
  each_tensor(r, args, [&](const Tensor& t) {
    if (t->flags & kWrapped) level = std::max(level, level_of(t));
  });
  if (!is_random(r)) return level;
  for (int i = current_level(); i > level; --i)   // draws differ by sample, or must not be made
    if (!level_at(i).forward) return i;
  return level;
}

// The arguments whose gradients this level records: tensors of other levels are constants here.
class OwnEdges {
 public:
  OwnEdges(const Record& r, const Arg* args, int level) : args_(args) {
    if (level_at(level).open) return;
    args_ = copy_;
    for (size_t i = 0; i < r.params.size(); ++i) {
      copy_[i] = args[i];
      if (args[i].tag == Tag::Tensor) {
        if (level_of(args[i].as_tensor()) != level) copy_[i] = Arg();
      } else if (args[i].tag == Tag::Tensors) {
        lists_.emplace_back();
        for (const Tensor& t : args[i].tensors())
          lists_.back().push_back(t && level_of(t) == level ? t : Tensor());
        copy_[i] = Arg(lists_.back());
      }
    }
  }
  const Arg* args() const { return args_; }

 private:
  Arg copy_[kMostParams];
  const Arg* args_;
  std::list<Tensors> lists_;
};

void finish(const Record& r, const Arg* args, Value* results, OpNode* node) {
  Tensor outs[kMostResults];
  TensorList list;
  if (r.returns[0].list) {
    list = results[0].tensors();
  } else {
    for (int i = 0; i < r.visible; ++i)
      if (results[i].is_tensor()) outs[i] = results[i].tensor();
    list = TensorList(outs, size_t(r.visible));
  }
  if (r.kind == Kind::View) {
    const Tensor& self = args[r.first_tensor].as_tensor();
    for (const Tensor& v : list)
      if (v && !v.is_inference() && v->flags & kWrapped && self->flags & kWrapped)
        record_view(v, self, grad_enabled() ? r.multi_view ? ViewKind::Multi : ViewKind::Normal
                                            : ViewKind::NoGrad);
  }
  if (node) node->attach(list.data(), list.size());
}

// The node of an op that writes its first argument, if this level records one.
Ref<Node> node_of_write(const Record& r, const Arg* args, int level) {
  if (!grad_enabled() || !r.differentiable()) return nullptr;
  const OwnEdges own(r, args, level);
  if (!wants_gradient(r, own.args())) return nullptr;
  Arg values[kMostParams];
  std::copy(args, args + r.params.size(), values);
  Tensor before;
  if (r.saves_self) {
    before = ops::clone(args[0].as_tensor());
    values[0] = Arg(before);
  }
  return Ref<Node>::take(new OpNode(r, own.args(), values));
}

void write(const LevelCall& c, void (*below)(const LevelCall&)) {
  const Tensor& self = c.tensor(0);
  check_in_place(self);
  Ref<Node> node = node_of_write(c.r, c.args, c.level);
  below(c);
  if (!node) return;
  auto* op = static_cast<OpNode*>(node.get());
  rebase_history(self, std::move(node));
  op->save_results(&self, 1);
}

// transpose_ and its like: the wrapper turns into that of the view.
void edit_view(const Record& r, const Arg* args, Value* results) {
  std::string name = r.name;
  name.erase(r.base.size() - 1, 1);
  const Tensor& self = args[0].as_tensor();
  Value made[kMostResults];
  invoke(*find_record(name), args, made);
  const Tensor& view = made[0].tensor();
  become(self, view);
  if (view->autograd->node) {
    Autograd& a = *self->autograd;
    a.node = view->autograd->node;
    a.output = view->autograd->output;
    self->flags |= kNeedsGrad;
  }
  self.bump_version();
  results[0] = Value(self);
}

bool transform(const Record& r, const Arg* args, Value* results) {
  if (r.kind == Kind::Composite) return false;    // its body's calls come here one by one
  const int level = level_of_call(r, args);
  if (!level) return false;
  if (r.kind == Kind::Produce && r.has_written) {
    edit_view(r, args, results);
    return true;
  }
  const LevelCall c(r, args, level);
  if (r.kind == Kind::Effect) {
    if (!args[0].is_tensor()) fail(ErrorKind::Runtime, "vmap: ", r.name, " is not supported");
    write(c, c.at.forward ? forward_in_place : batch_effect);
    if (r.visible) results[0] = Value(args[0].as_tensor());
    return true;
  }
  std::unique_ptr<OpNode> node;
  if (grad_enabled() && r.differentiable()) {
    const OwnEdges own(r, args, level);
    if (wants_gradient(r, own.args())) node.reset(new OpNode(r, own.args(), args));
  }
  {
    const Descent down(level - 1);
    if (c.at.forward) forward_rule(c, results);
    else batch_rule(c, results);
  }
  finish(r, args, results, node.release());
  return true;
}

bool transform_in_place(const Record& r, const Arg* args) {
  if (r.kind == Kind::Composite) return false;
  const int level = level_of_call(r, args);
  if (!level) return false;
  const LevelCall c(r, args, level);
  write(c, c.at.forward ? forward_in_place : batch_in_place);
  return true;
}

[[gnu::constructor]] void supply() {
  transform_hook = transform;
  transform_in_place_hook = transform_in_place;
}

}  // namespace

bool transform_out(const Record& r, const Arg* args, const Tensor* targets) {
  int level = level_of_call(r, args);
  for (int i = 0; i < r.visible; ++i)
    if (targets[i]) level = std::max(level, level_of(targets[i]));
  if (!level) return false;
  check(level_at(level).forward, "Batching rule not implemented for aten::", r.base,
        ".out; the fallback path doesn't work on out= or view ops.");
  Value results[kMostResults];
  invoke(r, args, results);
  for (int i = 0; i < r.visible; ++i) ops::copy_(targets[i], results[i].tensor());
  return true;
}

bool is_random(const Record& r) {
  static const std::unordered_set<const Record*> draws = [] {
    std::unordered_set<const Record*> found;
    for (const Record& each : registry()) {
      bool named = each.name == "native_dropout" || each.name == "_dropout_noise";
      for (const Param& p : each.params) named |= p.type == Type::Generator;
      if (named) found.insert(&each);
    }
    return found;
  }();
  return draws.count(&r);
}

bool recorded_below(const Tensor& t) {
  for (const Wrapper* w = wrapper_of(t); w; w = wrapper_of(w->value)) {
    if (requires_grad(w->value)) return true;
    if (w->tangent && (requires_grad(w->tangent) || recorded_below(w->tangent))) return true;
  }
  return false;
}

bool has_tangent(const Tensor& t) {
  const Wrapper* w = wrapper_of(t);
  return w && (w->tangent || has_tangent(w->value));
}

bool is_differentiated(const Tensor& t) {
  return (grad_enabled() && (requires_grad(t) || recorded_below(t))) || has_tangent(t);
}

LevelCall::LevelCall(const Record& record, const Arg* given, int number)
    : r(record), args(given), level(number), at(level_at(number)) {
  each_tensor(r, args, [&](const Tensor& t) { batched |= is_mine(t) && wrapper_of(t)->batched; });
}
LevelCall::LevelCall(const LevelCall& c, const Arg* given)
    : r(c.r), args(given), level(c.level), at(c.at) {
  each_tensor(r, args, [&](const Tensor& t) { batched |= is_mine(t) && wrapper_of(t)->batched; });
}

bool LevelCall::is_mine(const Tensor& t) const {
  const Wrapper* w = wrapper_of(t);
  return w && w->serial == at.serial;
}

bool LevelCall::is_batched(size_t i) const {
  return args[i].is_tensor() && is_mine(tensor(i)) && wrapper_of(tensor(i))->batched;
}

Tensor LevelCall::below(const Tensor& t) const {
  if (!t) return t;
  const Tensor u = unwrap_dead(t);
  return is_mine(u) ? wrapper_of(u)->value : u;
}

Tensor LevelCall::expanded(const Tensor& t) const {
  const Tensor u = unwrap_dead(t);
  // What only formulas call may take for granted that what was saved is dense.
  const bool internal = r.name.find("backward") != std::string::npos;
  const auto ready = [&](const Tensor& x) { return internal ? Tensor(ops::contiguous(x)) : x; };
  if (is_mine(u) && wrapper_of(u)->batched) return ready(wrapper_of(u)->value);
  const Tensor one = below(u);
  Dims sizes{size()};
  for (int64_t s : one.sizes()) sizes.push_back(s);
  return ready(ops::expand(one, sizes, false));
}

Lowered::Lowered(const LevelCall& c) {
  for (size_t i = 0; i < c.r.params.size(); ++i) {
    args_[i] = c.args[i];
    if (c.args[i].tag == Tag::Tensor) {
      set(i, c.below(c.tensor(i)));
    } else if (c.args[i].tag == Tag::Tensors) {
      lists_.emplace_back();
      for (const Tensor& t : c.args[i].tensors()) lists_.back().push_back(c.below(t));
      args_[i] = Arg(lists_.back());
    }
  }
}

void Lowered::set(size_t i, Tensor t) {
  args_[i] = Arg(t);
  kept_.push_back(std::move(t));
}
void Lowered::set(size_t i, Ints list) {
  ints_.push_back(Dims(list));
  args_[i] = Arg(ints_.back());
}
void Lowered::set(size_t i, Tensors list) {
  lists_.push_back(std::move(list));
  args_[i] = Arg(lists_.back());
}

Tensor unwrap_escaped(const Tensor& t) {
  const Wrapper* w = wrapper_of(t);
  check(!w || !w->batched, "Either your tensor may have escaped from inside a function being "
        "vmapped and this is a user error (see https://pytorch.org/functorch/stable/"
        "ux_limitations.html), or there is an internal functorch error in `gen_vmap_plumbing` "
        "Please file an issue if it looks like the latter");
  return unwrap_dead(t);
}

void refuse_escaped(const Record& r, const Arg* args) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (args[i].tag == Tag::Tensor) unwrap_escaped(args[i].as_tensor());
    else if (args[i].tag == Tag::Tensors)
      for (const Tensor& t : args[i].tensors())
        if (t) unwrap_escaped(t);
  }
}

void call_unwrapped(const Record& r, const Arg* args, Value* results) {
  Arg again[kMostParams];
  Small<Tensor, 4> kept;
  std::deque<Tensors> lists;
  bool dead = false;
  for (size_t i = 0; i < r.params.size(); ++i) {
    again[i] = args[i];
    if (args[i].tag == Tag::Tensor) {
      kept.push_back(unwrap_escaped(args[i].as_tensor()));
      dead |= !kept.back().same(args[i].as_tensor());
      again[i] = Arg(kept.back());
    } else if (args[i].tag == Tag::Tensors) {
      lists.emplace_back();
      for (const Tensor& t : args[i].tensors()) {
        lists.back().push_back(t ? unwrap_escaped(t) : t);
        dead |= t && !lists.back().back().same(t);
      }
      again[i] = Arg(lists.back());
    }
  }
  check(dead, r.name, ": a tensor of a transform reached the kernel");
  invoke(r, again, results);
}

}  // namespace rl
