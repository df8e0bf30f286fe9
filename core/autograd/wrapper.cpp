// Wrappers of vmap and jvp, and the stack of active levels.
#include <algorithm>
#include <atomic>

#include "autograd/meta.h"
#include "autograd/transforms.h"

namespace rl {
namespace {

struct Frame {
  TransformLevel level;
  Frame* below;
};
// The innermost level in force, and the serials of all levels that are not over. A pointer: a
// thread that ends must not run destructors.
constinit thread_local Frame* current = nullptr;
constinit thread_local std::vector<uint64_t>* active = nullptr;
std::atomic<uint64_t> serials{0};

void set_mode() {
  modes_word = current ? modes_word | kTransform : modes_word & ~kTransform;
}

bool alive(const Wrapper& w) {
  return active && std::find(active->begin(), active->end(), w.serial) != active->end();
}

Tensor around(const Tensor& layout, const TransformLevel& level, TensorFlag flag) {
  Autograd& a = autograd_of(layout);
  a.wrapper = Ref<Wrapper>::take(new Wrapper);
  a.wrapper->level = level.number;
  a.wrapper->serial = level.serial;
  layout->flags |= flag;
  return layout;
}

void share_wrapper(const Tensor& to, const Tensor& of) {
  autograd_of(to).wrapper = of->autograd->wrapper;
  to->flags |= of->flags & kWrapped;
}

Scalar item_below(const Tensor& t) {
  const Wrapper& w = *t->autograd->wrapper;
  check(!w.batched || !alive(w),
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
        "calling .item() on a Tensor, please try to rewrite what you're doing with other "
        "operations. If error is occurring somewhere inside PyTorch internals, please file a bug "
        "report.");
  return item_of(w.value);
}

[[gnu::constructor]] void supply() {
  keep_wrapper = share_wrapper;
  item_of_wrapped = item_below;
}

}  // namespace

constinit thread_local int transforms_in_inference = 0;

int push_level(TransformLevel level) {
  if (!active) active = new std::vector<uint64_t>;
  level.serial = serials.fetch_add(1) + 1;
  level.number = current_level() + 1;
  active->push_back(level.serial);
  current = new Frame{level, current};
  set_mode();
  return level.number;
}

void pop_level() {
  Frame* const over = current;
  std::erase(*active, over->level.serial);
  current = over->below;
  delete over;
  set_mode();
}

int current_level() { return current ? current->level.number : 0; }
const TransformLevel& level_at(int number) {
  Frame* f = current;
  while (f->level.number > number) f = f->below;
  return f->level;
}

Wrapper* wrapper_of(const Tensor& t) {
  return t->flags & kWrapped ? t->autograd->wrapper.get() : nullptr;
}

int level_of(const Tensor& t) {
  const Wrapper* w = wrapper_of(t);
  if (!w) return 0;
  return alive(*w) ? w->level : level_of(w->value);
}

Descent::Descent(int to) : before_(current), mode_(modes_word & kTransform) {
  while (current && current->level.number > to) current = current->below;
  set_mode();
}
Descent::~Descent() {
  current = static_cast<Frame*>(before_);
  modes_word = (modes_word & ~kTransform) | mode_;
}

Tensor wrap_batched(const Tensor& value, const TransformLevel& level, bool batched) {
  const Ints sizes = value.sizes(), strides = value.strides();
  const size_t from = batched ? 1 : 0;
  const Tensor t = around(alias(value, {sizes.data() + from, sizes.size() - from},
                                {strides.data() + from, strides.size() - from}, value.offset()),
                          level, kBatched);
  if (!batched) t->flags |= value->flags & kWrappedNumber;
  t->autograd->wrapper->batched = batched;
  t->autograd->wrapper->value = value;
  return t;
}

Tensor wrap_dual(const Tensor& primal, const Tensor& tangent, const TransformLevel& level) {
  const Tensor t = around(alias(primal, primal.sizes(), primal.strides(), primal.offset()), level,
                          kDual);
  t->flags |= primal->flags & kWrappedNumber;
  t->autograd->wrapper->value = primal;
  t->autograd->wrapper->tangent = tangent;
  return t;
}

void become(const Tensor& t, const Tensor& wrapper) {
  share_wrapper(t, wrapper);
  Storage* const before = t->storage;
  t->storage = wrapper.storage().leave();
  if (before) Storage::release(before);
  t->version = wrapper->version;
  t->offset = wrapper.offset();
  t->set_layout(wrapper.sizes(), wrapper.strides());
}

Tensor unwrap_dead(const Tensor& t) {
  Tensor u = t;
  while (const Wrapper* w = wrapper_of(u)) {
    if (alive(*w)) break;
    u = Tensor(w->value);
  }
  return u;
}

bool differs_by_sample(const Tensor& t) {
  for (Tensor u = unwrap_dead(t); const Wrapper* w = wrapper_of(u); u = unwrap_dead(w->value))
    if (w->batched) return true;
  return false;
}

}  // namespace rl
