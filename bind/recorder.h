// Recordings of the event stream as Python objects.
#pragma once
#include "bind/python.h"

namespace rl::bind {

int add_recorder(PyObject* module);

}  // namespace rl::bind
