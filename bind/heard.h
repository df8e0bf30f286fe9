// A callable that tells others before and after it runs, without a Python frame of its own.
#pragma once
#include "bind/python.h"

namespace rl::bind {

int add_heard(PyObject* module);

}  // namespace rl::bind
