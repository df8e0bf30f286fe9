// Where in the user's program an op was called: a code object and an instruction, in 8 bytes.
#pragma once
#include <cstdint>

#include "bind/python.h"
#include "observe/events.h"

namespace rl::bind {

// The innermost running frame outside the package; 0 where there is none.
uint64_t origin_here() noexcept;
// The innermost such frames and those that called them, at most so many; how many there are.
int origins_here(uint64_t* out, int most) noexcept;

// To be called on every way into the core that makes tensors or nodes, before it does.
inline void note_origin() noexcept { current_origin = origin_here(); }

// Python code called from within an op or a backward pass sets the origin at each of its own calls;
// what the core does afterwards is the outer call's again.
struct KeptOrigin {
  const uint64_t origin = current_origin;
  ~KeptOrigin() { current_origin = origin; }
};

// (filename, function, line, end line, column, end column), or None. New reference.
PyObject* origin_place(uint64_t origin);

int add_origin(PyObject* module);

}  // namespace rl::bind
