// Writing events down: one lock, a stack of open events per thread, flat arrays.
#include "ops/recorder.h"

#include <algorithm>

#include "autograd/node.h"

namespace rl {

struct Recorder::Open {
  std::thread::id thread;
  uint32_t number;
  struct Running { int64_t event; const Arg* args; uint32_t version; };
  std::vector<Running> events;             // those that run, outermost first
  size_t left_out = 0;                     // how many more run that were not written down
};

Recorder::Recorder(uint32_t parts, size_t limit) : parts_(parts), limit_(limit) {}

Recorder::~Recorder() { stop(); }

void Recorder::start() {
  if (running_) return;
  running_ = true;
  if (events.empty()) began_ = ClockReading();
  uint32_t kinds = kObserveOps | kObserveNodes;
  if (parts_ & kRecordMemory) kinds |= kObserveMemory;
  subscribe(this, kinds);
}

void Recorder::stop() {
  if (!running_) return;
  unsubscribe(this);
  std::lock_guard hold(lock);
  running_ = false;
  ended_ = ClockReading();
  for (const auto& open : threads_) {
    for (const Open::Running& r : open->events) events[size_t(r.event)].end = ticks();
    open->events.clear();
    open->left_out = 0;
  }
}

void Recorder::clear() {
  std::lock_guard hold(lock);
  for (const auto& open : threads_) {
    open->events.clear();
    open->left_out = 0;
  }
  full_ = false;
  events.clear();
  values.clear();
  layouts.clear();
  memory_events.clear();
  makers_.clear();
}

Recorder::Scale Recorder::scale() const {
  const ClockReading here = running_ ? ClockReading() : ended_;
  const int64_t ticks_past = here.tick - began_.tick;
  const double rate = ticks_past ? double(here.nanosecond - began_.nanosecond) / double(ticks_past)
                                 : 1.0;
  return {began_.tick, rate};
}

Recorder::Open& Recorder::here() {
  const std::thread::id id = std::this_thread::get_id();
  for (const auto& open : threads_)
    if (open->thread == id) return *open;
  threads_.push_back(std::make_unique<Open>(Open{id, uint32_t(threads_.size()), {}}));
  return *threads_.back();
}

namespace {

uint32_t version_of(const Arg* args) {
  if (!args || !args[0].is_tensor()) return 0;
  const Tensor& t = args[0].as_tensor();
  return t.is_inference() || !t->storage ? 0 : t.version().count.load();
}

// Whether an op's result is its first input, changed. Only what computes is sure to make another.
bool changed_first(const Record& r, const Arg* args, uint32_t version, const Value* results) {
  if (r.visible < 1 || r.params.empty() || !args[0].is_tensor() || !results[0].is_tensor())
    return false;
  if (!args[0].as_tensor().same(results[0].tensor())) return false;
  return r.kind == Kind::Pointwise || r.kind == Kind::Kernel || version_of(args) != version;
}

}  // namespace

// Null where the recording is full.
Event* Recorder::push(EventKind kind, const void* what, uint64_t origin, const Arg* args) {
  Open& open = here();
  if (events.size() >= limit_ || open.left_out) {
    full_ = true;
    ++open.left_out;
    return nullptr;
  }
  Event& e = events.emplace_back();
  e.kind = kind;
  e.thread = open.number;
  e.modes = modes();
  e.parent = open.events.empty() ? -1 : open.events.back().event;
  e.origin = origin;
  e.what = what;
  e.first_value = uint32_t(values.size());
  open.events.push_back({int64_t(events.size()) - 1, args, 0});
  e.begin = ticks();
  return &e;
}

void Recorder::add_cost(Event& e, const Record& r, const Arg* args, const Value* results) {
  Tensor made[8];
  for (int i = 0; i < r.visible; ++i)
    if (results[i].is_tensor()) made[i] = results[i].tensor();
  double floats = 0, moved = 0;
  r.cost(args, made, floats, moved);
  e.floats = int64_t(floats);
  e.moved = int64_t(moved);
}

// The innermost open event ends; one that did not begin under this recording is not there.
Event* Recorder::pop(EventKind kind, bool failed) {
  Open& open = here();
  if (open.left_out) {
    --open.left_out;
    return nullptr;
  }
  if (open.events.empty()) return nullptr;
  Event& e = events[size_t(open.events.back().event)];
  if (e.kind != kind) return nullptr;
  e.end = ticks();
  e.open = false;
  e.failed = failed;
  open.events.pop_back();
  if (e.parent >= 0) {
    events[size_t(e.parent)].allocated += e.allocated;
    events[size_t(e.parent)].released += e.released;
  }
  return &e;
}

int Recorder::add_value(const Tensor& t) {
  if (!t) return 0;
  const uint64_t key = reinterpret_cast<uint64_t>(t.body());
  const auto maker = makers_.find(key);
  RecordedTensor& v = values.emplace_back();
  v.tensor = key;
  v.storage = reinterpret_cast<uint64_t>(t->storage);
  v.made_by = maker == makers_.end() ? uint64_t(-1) : uint64_t(maker->second);
  v.offset = t.offset();
  v.bytes = t.numel() * t.element_size();
  v.layout = uint32_t(layouts.size());
  v.version = t.is_inference() || !t->storage ? 0 : t.version().count.load();
  v.dtype = t.dtype();
  v.dim = uint8_t(std::min<int64_t>(t.dim(), 255));
  v.flags = t->flags;
  layouts.insert(layouts.end(), t.sizes().begin(), t.sizes().begin() + v.dim);
  layouts.insert(layouts.end(), t.strides().begin(), t.strides().begin() + v.dim);
  return 1;
}

int Recorder::add_values(const Arg& a) {
  if (a.is_tensor()) return add_value(a.as_tensor());
  if (a.tag != Tag::Tensors) return 0;
  int count = 0;
  for (const Tensor& t : a.tensors()) count += add_value(t);
  return count;
}

const void* Recorder::name_index(const std::string& name) {
  const auto [at, fresh] = known_names_.try_emplace(name, uint32_t(names.size()));
  if (fresh) names.push_back(name);
  return reinterpret_cast<const void*>(uintptr_t(at->second));
}

void Recorder::enter(EventKind kind, const void* what) {
  if (!running_) return;
  std::lock_guard hold(lock);
  push(kind, what, current_origin);
}

void Recorder::enter_mark(const std::string& name) {
  if (!running_) return;
  std::lock_guard hold(lock);
  push(EventKind::Mark, name_index(name), current_origin);
}

void Recorder::leave(EventKind kind, bool failed) {
  std::lock_guard hold(lock);
  pop(kind, failed);
}

void Recorder::op_begin(const Record& r, const Arg* args) {
  std::lock_guard hold(lock);
  Event* e = push(EventKind::Op, &r, current_origin, args);
  if (e && !r.params.empty()) here().events.back().version = version_of(args);
  if (!e || !(parts_ & kRecordTensors)) return;
  for (size_t i = 0; i < r.params.size(); ++i)
    e->inputs = uint16_t(e->inputs + add_values(args[i]));
  e->begin = ticks();                        // writing down is not the op's time
}

void Recorder::op_end(const Record& r, const Value* results, bool failed) {
  std::lock_guard hold(lock);
  const Open& open = here();
  const Arg* args = open.events.empty() ? nullptr : open.events.back().args;
  const int64_t running = open.events.empty() ? -1 : open.events.back().event;
  const uint32_t version = open.events.empty() ? 0 : open.events.back().version;
  Event* e = pop(EventKind::Op, failed);
  if (!e || failed) return;
  e->in_place = changed_first(r, args, version, results);
  if (r.cost) add_cost(*e, r, args, results);
  if (!(parts_ & kRecordTensors)) return;
  // What ran inside wrote its tensors behind this op's inputs: they move to stand together.
  if (e->first_value + e->inputs != values.size() && e->inputs) {
    const auto begin = values.begin() + e->first_value;
    const std::vector<RecordedTensor> inputs(begin, begin + e->inputs);
    e->first_value = uint32_t(values.size());
    values.insert(values.end(), inputs.begin(), inputs.end());
  } else if (!e->inputs) {
    e->first_value = uint32_t(values.size());
  }
  for (int i = 0; i < r.visible; ++i)
    e->results = uint16_t(e->results + add_values(results[i].arg()));
  for (uint32_t i = 0; i < e->results; ++i)
    makers_[values[e->first_value + e->inputs + i].tensor] = running;
}

void Recorder::memory(Storage* s, int64_t bytes) {
  std::lock_guard hold(lock);
  if (full_) return;
  Open& open = here();
  const int64_t at = open.events.empty() ? -1 : open.events.back().event;
  if (at >= 0) {
    if (bytes > 0) events[size_t(at)].allocated += bytes;
    else events[size_t(at)].released -= bytes;
  }
  memory_events.push_back({ticks(), at, reinterpret_cast<uint64_t>(s), current_origin, bytes});
}

void Recorder::node_made(Node& n) {
  std::lock_guard hold(lock);
  Open& open = here();
  if (open.left_out || open.events.empty()) return;
  Event& e = events[size_t(open.events.back().event)];
  if (e.sequence < 0) e.sequence = int64_t(n.sequence);    // leaves' nodes come after the op's own
}

void Recorder::node_begin(Node& n) {
  if (!(parts_ & kRecordNodes)) return;
  const std::string name = n.name();       // may ask Python: not while holding the lock
  std::lock_guard hold(lock);
  Event* e = push(EventKind::Node, name_index(name), n.origin);
  if (e) e->sequence = n.is_accumulate() ? -1 : int64_t(n.sequence);
}

void Recorder::node_end(Node&) {
  if (!(parts_ & kRecordNodes)) return;
  std::lock_guard hold(lock);
  pop(EventKind::Node, std::uncaught_exceptions() > 0);
}

}  // namespace rl
