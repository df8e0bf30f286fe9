// A recording of what ran: ops, graph nodes, modules and marks in order, with their tensors.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "observe/events.h"
#include "ops/record.h"

namespace rl {

// What a recording holds besides names and times; each costs time per op.
enum RecordedPart : uint32_t {
  kRecordTensors = 1 << 0,      // inputs and results: layout, storage, version
  kRecordMemory = 1 << 1,       // each allocation and release
  kRecordNodes = 1 << 2,        // the run of each graph node in backward
};

enum class EventKind : uint8_t { Op, Node, Module, Mark };

// A tensor as an op saw it. `tensor` and `storage` are addresses, which come again once freed.
struct RecordedTensor {
  uint64_t tensor, storage;
  uint64_t made_by;             // the event whose result this address last was; -1: unknown
  int64_t offset, bytes;        // in elements; of its own elements, not of the storage
  uint32_t layout;              // where its sizes and strides begin in Recorder::layouts
  uint32_t version;
  DType dtype;
  uint8_t dim;
  uint16_t flags;               // TensorFlag
};

struct Event {
  EventKind kind;
  bool failed = false;
  bool open = true;             // did not end while the recording ran
  bool in_place = false;        // an op that changed its first input
  uint32_t thread;
  uint32_t modes;               // ModeBit, when it began
  int64_t parent;               // the event it ran inside of, -1 for none
  int64_t begin, end;           // ticks
  uint64_t origin;              // the user's line (of the forward call, for a graph node)
  int64_t sequence = -1;        // of the graph node that the op made, or that ran
  const void* what;             // a Record, a module, or a place in `names` (marks and nodes)
  int64_t allocated = 0, released = 0;   // bytes, by it and what ran inside
  int64_t floats = 0, moved = 0;  // FLOPs and bytes by the record's cost model, if it has one
  uint32_t first_value = 0;     // into `values`: inputs, then results
  uint16_t inputs = 0, results = 0;
};

struct MemoryEvent {
  int64_t time, event;          // ticks; the innermost event that ran, -1 for none
  uint64_t storage, origin;
  int64_t bytes;                // negative when released
};

class Recorder : public Subscriber {
 public:
  // limit: of events; what begins later is left out, and so are allocations from then on.
  explicit Recorder(uint32_t parts, size_t limit = size_t(-1));
  ~Recorder() override;
  void start();
  void stop();                  // may start again; what was recorded stays
  void clear();
  bool running() const { return running_; }
  bool full() const { return full_; }
  // From ticks to ns since the recording began.
  struct Scale {
    int64_t zero;
    double rate;
    int64_t operator()(int64_t tick) const { return int64_t(double(tick - zero) * rate); }
  };
  Scale scale() const;

  // A range of the program: a module call (what: its key) or a named mark.
  void enter(EventKind kind, const void* what);
  void enter_mark(const std::string& name);
  void leave(EventKind kind, bool failed);

  void op_begin(const Record& r, const Arg* args) override;
  void op_end(const Record& r, const Value* results, bool failed) override;
  void memory(Storage* s, int64_t bytes) override;
  void node_made(Node& n) override;
  void node_begin(Node& n) override;
  void node_end(Node& n) override;

  // To be read while holding `lock`, or after stop().
  std::mutex lock;
  std::deque<Event> events;     // grows without moving
  std::vector<RecordedTensor> values;
  std::vector<int64_t> layouts;
  std::vector<MemoryEvent> memory_events;
  std::vector<std::string> names;

 private:
  struct Open;                  // the open events of one thread
  Open& here();
  Event* push(EventKind kind, const void* what, uint64_t origin, const Arg* args = nullptr);
  Event* pop(EventKind kind, bool failed);
  void add_cost(Event& e, const Record& r, const Arg* args, const Value* results);
  int add_value(const Tensor& t);
  int add_values(const Arg& a);
  const void* name_index(const std::string& name);

  const uint32_t parts_;
  const size_t limit_;
  bool running_ = false;
  bool full_ = false;           // something was left out
  ClockReading began_;          // when the recording was first started
  ClockReading ended_;          // when it last stopped: all readings of it have one scale
  std::vector<std::unique_ptr<Open>> threads_;
  std::unordered_map<std::string, uint32_t> known_names_;
  std::unordered_map<uint64_t, int64_t> makers_;      // of tensors: the event they came out of
};

}  // namespace rl
