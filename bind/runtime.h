// Settings and facts of the runtime: threads, default dtype, generators, memory, the op table.
#pragma once
#include "bind/python.h"

namespace rl::bind {

int add_runtime(PyObject* module);

}  // namespace rl::bind
