// The argument reader: Python arguments to Arg, by a record's signature, with PyTorch's TypeErrors.
#pragma once
#include <deque>

#include "bind/types.h"
#include "ops/call.h"

namespace rl::bind {

// What read arguments point to; lives as long as the call.
class Room {
 public:
  static constexpr int kInts = 48;
  int64_t* ints(size_t n) {
    if (used_ + n <= kInts) {
      int64_t* p = ints_ + used_;
      used_ += n;
      return p;
    }
    more_ints_.emplace_back(n);
    return more_ints_.back().data();
  }
  Tensors& tensors() { return lists_.emplace_back(); }
  std::vector<Scalar>& numbers() { return numbers_.emplace_back(); }
  void keep(Tensor t) { kept_.push_back(std::move(t)); }

 private:
  int64_t ints_[kInts];
  size_t used_ = 0;
  std::deque<std::vector<int64_t>> more_ints_;
  std::deque<Tensors> lists_;
  std::deque<std::vector<Scalar>> numbers_;
  Small<Tensor, 1> kept_;
};

// The part of Room that nearly no call uses, made on demand.
class LazyRoom {
 public:
  Room& get() {
    if (!room_) room_ = std::make_unique<Room>();
    return *room_;
  }
  int64_t* ints(size_t n) {
    if (used_ + n > 16) return get().ints(n);
    int64_t* p = ints_ + used_;
    used_ += n;
    return p;
  }

 private:
  int64_t ints_[16];
  size_t used_ = 0;
  std::unique_ptr<Room> room_;
};

struct Call {                       // Python's view of a call
  PyObject* const* args;
  Py_ssize_t count;                 // positional, self included
  PyObject* names;                  // keyword names, or null; their values follow the positionals
  bool method;                      // args[0] is self
  PyObject* out = nullptr;          // out=, taken off before reading
  bool requires_grad = false;       // of factories
};

// What reading a call by positions asks of a record, worked out once.
struct Positions {
  explicit Positions(const Record& r);
  size_t fewest;                    // all parameters from here on have defaults
  size_t most;                      // from here on they are given by name only
  bool ints_last;                   // the last by position is a list of ints: it may be spread out
  uint64_t tensors;                 // a bit for each that takes a tensor
  std::vector<Arg> defaults;        // of all parameters; None where there is none
};
void prepare_reading(Record& r);    // gives the record its Positions

// One parameter's value; false when the object is of another type.
bool read_value(const Param& p, PyObject* o, Arg& a, LazyRoom& room);

// Reads a call by a record's signature. On a mismatch returns false, and `why` (if given) says
// how in PyTorch's words.
bool read_call(const Record& r, const Call& call, Arg* args, LazyRoom& room, std::string* why);

const char* python_type(PyObject* o);                       // its type's name, as in messages
int64_t fewest(const Record& r);                            // arguments that it must have
std::string signature_text(const Record& r, bool method);   // "(Tensor input, Number other)"
std::string mismatches_text(const Record& r, const Call& call);
std::string types_text(const Call& call);                   // "(Tensor, str, dim=int)"

}  // namespace rl::bind
