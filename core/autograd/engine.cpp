// The engine: walks the graph newest node first, sums what meets, captures what is asked for.
#include <algorithm>
#include <unordered_map>

#include "autograd/anomaly.h"
#include "autograd/meta.h"
#include "autograd/running.h"
#include "autograd/shared.h"
#include "ops/ops.h"

namespace rl {
namespace {

struct Step {                       // what one backward knows of one node
  int waiting = 0;                  // edges from nodes that have not run yet
  bool needed = true;
  bool owned = false;               // the first buffer was made here and may be added to
  Tensors buffer;
  Small<std::pair<int, int>, 1> captures;  // input number, place among the wanted
};

// The steps of one backward by node: open addressing over a dense list. Steps move while nodes are
// added, none is added once the run has begun. The thread's last table is used again, so that a
// small graph costs no allocation.
class StepTable {
 public:
  StepTable() { room_.swap(spare()); }
  ~StepTable() {
    const size_t count = room_.steps.size();
    if (count > kMostKept) return;
    room_.steps.clear();
    if (room_.slots.size() > kFirst + 16 * count) room_.slots = std::vector<Slot>(kFirst);
    else std::fill(room_.slots.begin(), room_.slots.end(), Slot{});
    room_.swap(spare());
  }
  StepTable(const StepTable&) = delete;
  StepTable& operator=(const StepTable&) = delete;

  Step* find(const Node* n) {
    const uint32_t at = room_.slots.empty() ? 0 : room_.slots[place(n)].step;
    return at ? &room_.steps[at - 1] : nullptr;
  }
  const Step* find(const Node* n) const { return const_cast<StepTable*>(this)->find(n); }
  Step& operator[](const Node* n) { return *find(n); }  // of a node that is there
  Step& add(Node* n, bool& fresh) {
    if (2 * room_.steps.size() >= room_.slots.size()) grow();
    Slot& slot = room_.slots[place(n)];
    fresh = !slot.step;
    if (fresh) {
      room_.steps.emplace_back();
      slot = {n, uint32_t(room_.steps.size())};
    }
    return room_.steps[slot.step - 1];
  }
  std::vector<Step>& all() { return room_.steps; }

 private:
  static constexpr size_t kMostKept = 4096, kFirst = 64;
  struct Slot {
    const Node* node = nullptr;
    uint32_t step = 0;  // its number from 1; 0: a free slot
  };
  struct Room {
    std::vector<Slot> slots;  // a power of two, at most half full
    std::vector<Step> steps;
    void swap(Room& other) {
      slots.swap(other.slots);
      steps.swap(other.steps);
    }
  };
  static Room& spare() {
    thread_local Room room;
    return room;
  }
  size_t place(const Node* n) const {
    const size_t mask = room_.slots.size() - 1;
    size_t i = size_t((reinterpret_cast<uintptr_t>(n) * 0x9e3779b97f4a7c15ull) >> 32) & mask;
    while (room_.slots[i].step && room_.slots[i].node != n) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> before(room_.slots.empty() ? kFirst : 2 * room_.slots.size());
    before.swap(room_.slots);
    for (const Slot& s : before)
      if (s.step) room_.slots[place(s.node)] = s;
  }

  Room room_;
};

// Tells subscribers that a node runs, and that it is done, however it ends.
struct Heard {
  explicit Heard(Node& n) : node(n), on(observed(kObserveNodes)) {
    if (__builtin_expect(on, 0)) observe_node(node, &Subscriber::node_begin);
  }
  ~Heard() {
    if (__builtin_expect(on, 0)) observe_node(node, &Subscriber::node_end);
  }
  Node& node;
  const bool on;
};

class Run {
 public:
  explicit Run(BackwardCall& call)
      : call_(call), selective_(!call.wanted.empty() || !call.only.empty()) {}
  std::vector<Tensor> go();
  bool selective() const { return selective_; }
  bool will_run(Node* n) const {
    const Step* s = steps_.find(n);
    return s && (!selective_ || s->needed || !s->captures.empty());
  }

 private:
  void count_edges();
  void choose_needed();
  void execute(Node* node, Step& step);
  void deliver(Node* node, Tensors& made);
  Tensor fit(const Node& from, Tensor grad, const InputMeta& want, size_t index);
  void add_to(Step& step, Node* node, int input, Tensor grad);
  void push(Node* n);

  BackwardCall& call_;
  bool selective_;
  StepTable steps_;
  Small<Node*, 16> ready_;          // a heap: newest on top
  std::vector<Tensor> captured_;
  Small<Ref<Node>, 2> alive_;       // roots, kept until the end
};

constinit thread_local Node* running = nullptr;
constinit thread_local Run* current = nullptr;
constinit thread_local int64_t run_number = -1, depth = 0;
std::atomic<int64_t> runs{0};
thread_local std::vector<std::vector<std::function<void()>>> callbacks;

bool older(Node* a, Node* b) { return a->sequence < b->sequence; }

void Run::push(Node* n) {
  ready_.push_back(n);
  std::push_heap(ready_.begin(), ready_.end(), older);
}

void Run::count_edges() {
  Small<Node*, 16> todo;
  bool fresh;
  for (const Edge& e : call_.roots) {
    steps_.add(e.node.get(), fresh);
    if (fresh) todo.push_back(e.node.get());
  }
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    for (const Edge& e : n->next) {
      if (!e) continue;
      ++steps_.add(e.node.get(), fresh).waiting;
      if (fresh) todo.push_back(e.node.get());
    }
  }
}

// With gradients of chosen tensors only, a node runs if a chosen one lies behind it.
void Run::choose_needed() {
  for (Step& s : steps_.all()) s.needed = false;
  for (size_t i = 0; i < call_.wanted.size(); ++i) {
    Step* s = steps_.find(call_.wanted[i].node.get());
    if (s) s->captures.push_back({call_.wanted[i].input, int(i)});
  }
  for (const Edge& e : call_.only) {
    if (Step* s = steps_.find(e.node.get())) s->needed = true;
  }
  struct Frame { Node* node; size_t at; };
  std::vector<Frame> stack;
  std::unordered_map<Node*, bool> seen;
  auto reaches = [&](const Step& s) { return s.needed || !s.captures.empty(); };
  for (const Edge& root : call_.roots) {
    if (!seen.emplace(root.node.get(), true).second) continue;
    stack.push_back({root.node.get(), 0});
    while (!stack.empty()) {
      Frame& f = stack.back();
      Node* node = f.node;
      if (f.at < node->next.size()) {
        Node* to = node->next[f.at++].node.get();
        if (to && seen.emplace(to, true).second) stack.push_back({to, 0});
        continue;
      }
      Step& mine = steps_[node];
      for (const Edge& e : node->next)
        if (e && reaches(steps_[e.node.get()])) mine.needed = true;
      stack.pop_back();
    }
  }
}

void Run::add_to(Step& step, Node* node, int input, Tensor grad) {
  if (step.buffer.size() < node->inputs.size()) step.buffer.resize(node->inputs.size());
  Tensor& place = step.buffer[size_t(input)];
  if (!place) {
    place = std::move(grad);
    return;
  }
  const bool single = node->inputs.size() == 1;
  if (!grad_enabled() && single && step.owned && !(modes() & kTransform)) {
    ops::add.in_place(place, grad);
    return;
  }
  place = ops::add(place, grad);
  step.owned = single;
}

Tensor Run::fit(const Node& from, Tensor grad, const InputMeta& want, size_t index) {
  if (grad.sizes() != Ints(want.sizes)) {
    const Ints has = grad.sizes(), to = want.sizes;
    bool can = has.size() >= to.size();
    for (size_t i = 0; can && i < to.size(); ++i) {
      const int64_t h = has[has.size() - to.size() + i];
      can = to[i] == h || to[i] == 1;
    }
    check(can, "Function ", from.name(), " returned an invalid gradient at index ", int64_t(index),
          " - got ", grad.sizes(), " but expected shape compatible with ", to);
    grad = ops::sum_to_size(grad, to);
  }
  if (grad.dtype() != want.dtype) {
    if (is_complex(grad.dtype()) && !is_complex(want.dtype)) grad = ops::real(grad);
    if (grad.dtype() != want.dtype) grad = ops::to_dtype(grad, want.dtype);
  }
  check(grad.device() == want.device, "Function ", from.name(),
        " returned an invalid gradient at index ", int64_t(index), " - expected device ",
        name_of(want.device.type), " but got ", name_of(grad.device().type));
  return grad;
}

void Run::deliver(Node* node, Tensors& made) {
  for (size_t i = 0; i < node->next.size(); ++i) {
    const Edge& e = node->next[i];
    if (!e) continue;
    Step* const found = steps_.find(e.node.get());
    if (!found) continue;              // the edge appeared during the run
    Step& to = *found;
    if (i < made.size() && made[i] && (!selective_ || to.needed || !to.captures.empty())) {
      Tensor grad = fit(*node, std::move(made[i]), e.node->inputs[size_t(e.input)], i);
      add_to(to, e.node.get(), e.input, std::move(grad));
    }
    if (--to.waiting == 0) push(e.node.get());
  }
}

void Run::execute(Node* node, Step& step) {
  Tensors grads = std::move(step.buffer);
  grads.resize(node->inputs.size());
  const bool look = node->hooks && (!selective_ || step.needed || !step.captures.empty());
  if (look) {
    auto on_input = [&](const NodeHooks::OfInput& h) {
      if (!grads[size_t(h.first)]) return;
      Tensors one{grads[size_t(h.first)]};
      h.second->before(one);
      grads[size_t(h.first)] = one[0];
    };
    for (const auto& h : now_of(node, node->hooks->tensor_before)) on_input(h);
    for (const auto& h : now_of(node, node->hooks->retain)) on_input(h);
  }
  for (auto [input, place] : step.captures) captured_[size_t(place)] = grads[size_t(input)];
  if (selective_ && !step.needed) {
    Tensors nothing;
    deliver(node, nothing);
    return;
  }
  if (look) {
    for (const auto& h : now_of(node, node->hooks->before)) h->before(grads);
  }
  bool any = false;
  for (const Tensor& g : grads) any |= g.defined();
  const bool hear_after = look && !node->hooks->after.empty();
  Tensors received = hear_after ? grads : Tensors();
  Tensors made = node->apply(std::move(grads));
  if (__builtin_expect(modes() & kAnomaly, 0)) refuse_nan(*node, made);
  if (hear_after) {
    for (const auto& h : now_of(node, node->hooks->after)) h->after(made, received);
  }
  if (!call_.keep_graph) node->free_saved();
  deliver(node, made);
}

std::vector<Tensor> Run::go() {
  count_edges();
  if (selective_) choose_needed();
  captured_.resize(call_.wanted.size());
  struct Enter {
    Run* outer = current;
    explicit Enter(Run* r) { current = r; }
    ~Enter() { current = outer; }
  } enter(this);
  for (size_t i = 0; i < call_.roots.size(); ++i) {
    const Edge& e = call_.roots[i];
    alive_.push_back(e.node);
    add_to(steps_[e.node.get()], e.node.get(), e.input, call_.grads[i]);
  }
  for (const Ref<Node>& n : alive_) {
    Step& s = steps_[n.get()];
    if (s.waiting == 0) {
      s.waiting = -1;  // a root given twice starts once
      push(n.get());
    }
  }
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(), older);
    Node* node = ready_.back();
    ready_.pop_back();
    Node* const outer = running;
    running = node;
    struct Restore { Node* outer; ~Restore() { running = outer; } } restore{outer};
    const Heard heard(*node);
    try {
      execute(node, steps_[node]);
    } catch (...) {
      if ((modes() & kAnomaly) && anomaly_hooks.report) anomaly_hooks.report(*node);
      throw;
    }
  }
  return std::move(captured_);
}

}  // namespace

Node* current_node() { return running; }
bool will_run(Node* n) { return current && current->will_run(n); }
bool run_is_whole() { return !current || !current->selective(); }
int64_t current_run() { return run_number; }
void queue_callback(std::function<void()> f) {
  check(!callbacks.empty(), "Final callbacks can only be installed during backward pass.");
  callbacks.back().push_back(std::move(f));
}

std::vector<Tensor> run_backward(BackwardCall& call) {
  const uint32_t off = kNoGrad;
  ModeGuard modes(call.create_graph ? 0 : off, call.create_graph ? off : 0);
  const int64_t outer = run_number;
  run_number = runs.fetch_add(1);
  callbacks.emplace_back();
  ++depth;
  struct Leave {
    int64_t outer;
    ~Leave() { run_number = outer; callbacks.pop_back(); --depth; }
  } leave{outer};
  std::vector<Tensor> captured = Run(call).go();
  for (size_t i = 0; i < callbacks.back().size(); ++i) {
    const auto f = callbacks.back()[i];
    f();
  }
  return captured;
}

Tensor sum_of(const Tensor& a, const Tensor& b) { return ops::add(a, b); }

}  // namespace rl
