// OpNode: edges, what is saved, and running the formulas.
#include "ops/op_node.h"

#include "autograd/transforms.h"
#include "ops/call.h"

namespace rl {

namespace {

// Room for at most N objects of which only the first n are made.
template <class T, size_t N> class First {
 public:
  explicit First(size_t n) : n_(n) { for (size_t i = 0; i < n; ++i) new (data() + i) T(); }
  ~First() { for (size_t i = 0; i < n_; ++i) data()[i].~T(); }
  First(const First&) = delete;
  T* data() { return reinterpret_cast<T*>(room_); }
  T& operator[](size_t i) { return data()[i]; }

 private:
  size_t n_;
  alignas(T) unsigned char room_[N * sizeof(T)];
};

// The parameters that have edges: those that formulas give gradients for, as in PyTorch.
uint64_t with_edges(const Record& r) {
  return r.no_derivative.empty() ? r.grad_params : r.tensor_params;
}

Tensor without_data(const Tensor& t) {
  Tensor m = empty({}, t.dtype(), Device{DeviceType::Meta});
  m->offset = t.offset();
  m->set_layout(t.sizes(), t.strides());
  return m;
}

}  // namespace

OpNode::OpNode(const Record& r, const Arg* args, const Arg* values) : record_(r) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (!(with_edges(r) >> i & 1)) continue;
    if (r.params[i].type == Type::Tensors) {
      list_lengths_.push_back(int(args[i].count));
      for (const Tensor& t : args[i].tensors()) {
        next.push_back(t ? gradient_edge(t) : Edge());
        if (next.back()) needed_ |= uint64_t(1) << i;
      }
    } else {
      const bool tensor = args[i].is_tensor() && is_differentiable(args[i].tensor->dtype);
      next.push_back(tensor ? gradient_edge(args[i].as_tensor()) : Edge());
      if (next.back()) needed_ |= uint64_t(1) << i;
    }
  }
  for (const Formula& f : r.formulas)
    if (f.target_params & needed_) slots_ |= f.saved;
  saved_.resize(r.saves.size());
  for (size_t s = 0; s < r.saves.size(); ++s) {
    if (!(slots_ >> s & 1)) continue;
    const auto& source = r.saves[s];
    const Arg& a = values[source.index];
    switch (source.kind) {
      case Formula::Source::Input:
        if (a.tag == Tag::Tensors) {
          for (const Tensor& t : a.tensors())
            check(!t || !t.is_inference() || transforms_in_inference,
                  "Inference tensors cannot be saved for backward. To work around you can make "
                  "a clone to get a normal tensor and use it in autograd.");
        }
        save(int(s), a, false);
        break;
      case Formula::Source::Sizes:
        if (a.tag == Tag::Tensors) {
          Tensors shapes;  // a list's sizes are given as tensors without data
          for (const Tensor& t : a.tensors())
            shapes.push_back(empty(t.sizes(), t.dtype(), Device{DeviceType::Meta}));
          save(int(s), Arg(shapes), false);
        } else if (a.is_tensor()) {
          save(int(s), Arg(a.as_tensor().sizes()), false);
        } else {
          save(int(s), Arg(Ints()), false);
        }
        break;
      case Formula::Source::Layout:
        if (a.is_tensor()) save(int(s), Arg(without_data(a.as_tensor())), false);
        break;
      case Formula::Source::InputDType:
        save(int(s), a.is_tensor() ? Arg(a.tensor->dtype) : Arg(DType::Float), false);
        break;
      default: break;
    }
  }
}

void OpNode::save_results(const Tensor* results, size_t n) {
  for (size_t s = 0; s < record_.saves.size(); ++s) {
    if (!(slots_ >> s & 1)) continue;
    const auto& source = record_.saves[s];
    if (size_t(source.index) >= n) continue;
    const Tensor& t = results[source.index];
    if (source.kind == Formula::Source::Result) {
      save(int(s), Arg(t), true);
    } else if (source.kind == Formula::Source::ResultSizes) {
      save(int(s), Arg(t.sizes()), false);
    }
  }
}

void OpNode::attach(const Tensor* results, size_t n) {
  const Ref<Node> self = Ref<Node>::take(this);
  for (size_t i = 0; i < n; ++i) {
    const Tensor& t = results[i];
    const bool hidden = i < record_.returns.size() && record_.returns[i].saved;
    const bool history = t && !hidden && is_differentiable(t.dtype()) &&
                         (i >= record_.returns.size() || record_.returns[i].differentiable);
    if (history) set_history(t, self);
    else inputs.push_back(t ? InputMeta(t) : InputMeta());
  }
  save_results(results, n);
}

size_t OpNode::edge_count(int param) const {
  int list = 0;
  for (int i = 0; i < param; ++i)
    list += record_.params[size_t(i)].type == Type::Tensors && (with_edges(record_) >> i & 1);
  return record_.params[size_t(param)].type == Type::Tensors ? size_t(list_lengths_[size_t(list)])
                                                              : 1;
}

size_t OpNode::first_edge(int param) const {
  size_t at = 0;
  for (int i = 0; i < param; ++i)
    if (with_edges(record_) >> i & 1) at += edge_count(i);
  return at;
}

// What was saved may be freed by another thread at any time, but the values taken out live on.
void OpNode::unpack(const Formula& f, const Ref<Node>& self, Value* values) {
  std::vector<std::pair<size_t, Saved>> packed;  // Python unpacks these: not under the lock
  {
    const Holding hold(lock_);
    if (freed_) refuse_again();
    for (size_t i = 0; i < f.sources.size(); ++i) {
      if (f.slots[i] < 0) continue;
      Saved& saved = saved_[size_t(f.slots[i])];
      if (__builtin_expect(bool(saved.packed()), 0)) packed.push_back({i, saved});
      else values[i] = saved.unpack(self);
    }
  }
  for (const auto& [i, saved] : packed) values[i] = saved.unpack(self);
}

void OpNode::run_formula(const Formula& f, const Tensors& grads, Tensors& made) {
  First<Arg, kMostSources> args(f.sources.size());
  First<Value, kMostSources> unpacked(f.sources.size());
  bool any_grad = false, asks_grad = false;
  keep();
  const Ref<Node> self = Ref<Node>::take(this);
  for (size_t i = 0; i < f.sources.size(); ++i) {
    const auto& s = f.sources[i];
    if (s.kind == Formula::Source::Grad) {
      asks_grad = true;
      args[i] = Arg(grads[size_t(s.index)]);
      any_grad |= !args[i].is_none();
    } else if (s.kind == Formula::Source::Grads) {
      asks_grad = true;
      args[i] = Arg(grads);
      for (const Tensor& g : grads) any_grad |= g.defined();
    } else if (s.kind == Formula::Source::Needed) {
      uint64_t mask = 0;
      for (size_t t = 0; t < f.targets.size(); ++t)
        if (needed_ >> f.targets[t] & 1) mask |= uint64_t(1) << t;
      args[i] = Arg(int64_t(mask));
    }
  }
  if (asks_grad && !any_grad) return;  // zero in, zero out
  if (f.saved) {
    unpack(f, self, unpacked.data());
    for (size_t i = 0; i < f.sources.size(); ++i)
      if (f.slots[i] >= 0) args[i] = unpacked[i].arg();
  }
  First<Value, kMostParams> out(f.targets.size());
  f.call(args.data(), out.data());
  for (size_t t = 0; t < f.targets.size(); ++t) {
    const int p = f.targets[t];
    const size_t at = first_edge(p);
    if (record_.params[size_t(p)].type == Type::Tensors) {
      const TensorList list = out[t].tensors();
      for (size_t k = 0; k < list.size(); ++k) made[at + k] = list[k];
    } else if (needed_ >> p & 1) {
      made[at] = out[t].take_tensor();
    }
  }
}

Tensors OpNode::apply(Tensors&& grads) {
  if (freed_) refuse_again();
  Tensors made;
  made.resize(next.size());
  if (!record_.no_derivative.empty()) {
    // PyTorch's words for a formula that is missing on purpose, and for one that was never written.
    const bool missing = record_.no_derivative.rfind("the derivative for '", 0) == 0;
    fail(missing ? ErrorKind::NotImplemented : ErrorKind::Runtime, record_.no_derivative);
  }
  for (const Formula& f : record_.formulas)
    if (f.target_params & needed_) run_formula(f, grads, made);
  return made;
}

void OpNode::free_saved() {
  if (freed_ || !slots_) return;
  {
    const Holding hold(lock_);
    if (freed_ || !has_saved_tensors()) return;
    freed_by = current_origin;
    freed_bytes = bytes();
    freed_ = true;
  }
  for (Saved& s : saved_) s.clear();
}

// Sizes and numbers stay: a node that saved nothing else can run again, as in PyTorch.
bool OpNode::has_saved_tensors() {
  bool tensors = false;
  for (size_t i = 0; i < saved_.size(); ++i) {
    const auto kind = record_.saves[i].kind;
    const Tag tag = saved_[i].raw().arg().tag;
    tensors |= (kind == Formula::Source::Input || kind == Formula::Source::Result) &&
               (tag == Tag::Tensor || tag == Tag::Tensors);
    // A number that stands for a tensor is one to PyTorch, and freed like one.
    tensors |= kind == Formula::Source::Input && saved_[i].raw().arg().is_number() &&
               record_.params[size_t(record_.saves[i].index)].type == Type::Tensor;
    tensors |= bool(saved_[i].packed());
  }
  return tensors;
}

int64_t OpNode::saved_bytes() const {
  const Holding hold(lock_);
  return freed_ ? 0 : bytes();
}

int64_t OpNode::bytes() const {
  int64_t n = 0;
  for (const Saved& s : saved_) n += s.bytes();
  return n;
}

std::vector<std::pair<std::string, Tensor>> OpNode::saved_tensors() const {
  std::vector<std::pair<std::string, Tensor>> found;
  const Holding hold(lock_);
  if (freed_) return found;
  for (size_t i = 0; i < record_.saves.size() && i < saved_.size(); ++i) {
    const auto& source = record_.saves[i];
    const bool result = source.kind == Formula::Source::Result;
    const std::string& name = result ? record_.returns[size_t(source.index)].name
                                     : record_.params[size_t(source.index)].name;
    const Value& value = saved_[i].raw();
    if (value.is_tensor() && value.tensor()) found.emplace_back(name, value.tensor());
    if (value.arg().tag == Tag::Tensors)
      for (const Tensor& t : value.tensors())
        if (t) found.emplace_back(name, t);
  }
  return found;
}

Value OpNode::saved(const Formula::Source& wanted) const {
  if (freed_) fail_freed();
  for (size_t i = 0; i < record_.saves.size(); ++i) {
    const auto& s = record_.saves[i];
    if (s.kind == wanted.kind && s.index == wanted.index && (slots_ >> i & 1)) {
      Saved found;
      {
        const Holding hold(lock_);
        if (freed_) fail_freed();
        found = saved_[i];
      }
      keep();
      return found.unpack(Ref<Node>::take(const_cast<OpNode*>(this)));
    }
  }
  return {};
}

}  // namespace rl
