// The event stream: ops, memory, graph nodes. Nobody subscribed costs one branch.
#pragma once
#include <cstdint>

namespace rl {

struct Record;
struct Arg;
class Value;
class Node;
class Storage;

// The modes of a thread, one word: zero means the fast path (recording gradients, nobody looks).
enum ModeBit : uint32_t {
  kNoGrad = 1 << 0,         // no_grad
  kInference = 1 << 1,      // inference_mode
  kAutocast = 1 << 2,
  kFunctionMode = 1 << 3,   // a TorchFunctionMode is active
  kTransform = 1 << 4,      // vmap, jvp and their like
  kSavedHooks = 1 << 5,     // saved_tensors_hooks
  kAnomaly = 1 << 6,
  kObserveOps = 1 << 8,
  kObserveMemory = 1 << 9,
  kObserveNodes = 1 << 10,
  kNewThread = 1u << 31,    // not registered yet: its first op does that
};
constexpr uint32_t kObserve = kObserveOps | kObserveMemory | kObserveNodes;
constexpr uint32_t kThread = kObserve | kNewThread;   // what a scope of modes leaves alone

extern constinit thread_local uint32_t modes_word __attribute__((tls_model("initial-exec")));
inline uint32_t modes() { return modes_word; }
bool heard(uint32_t kind);       // registers a new thread first
inline bool observed(uint32_t kind) {
  return __builtin_expect(modes_word & (kind | kNewThread), 0) && heard(kind);
}

// What a subscriber may hear. Called on the thread where it happens.
class Subscriber {
 public:
  virtual ~Subscriber() = default;
  virtual void op_begin(const Record&, const Arg* /*args*/) {}
  virtual void op_end(const Record&, const Value* /*results*/, bool /*failed*/) {}
  virtual void memory(Storage*, int64_t /*bytes: negative when released*/) {}
  virtual void node_begin(Node&) {}
  virtual void node_end(Node&) {}
  virtual void node_made(Node&) {}
  virtual void node_freed(Node&) {}
};

// A thread that runs ops enters its mode word, so that subscribing reaches it.
void register_thread();
void subscribe(Subscriber* s, uint32_t kinds);
void unsubscribe(Subscriber* s);

void observe_op_begin(const Record& r, const Arg* args);
void observe_op_end(const Record& r, const Value* results, bool failed);
void observe_memory(Storage* s, int64_t bytes);
void observe_node(Node& n, void (Subscriber::*event)(Node&));

// Where an op call came from (code object and instruction), opaque to the core; bind sets it
// before the call. Tensors and nodes made by the op carry it.
extern constinit thread_local uint64_t current_origin
    __attribute__((tls_model("initial-exec")));

}  // namespace rl
