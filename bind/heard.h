// A callable that tells others before and after it runs, without a Python frame of its own.
#pragma once
#include "bind/python.h"

namespace rl::bind {

// A listener has raised. Its own failure is forgotten; what a signal's handler raised in it, or
// Ctrl-C, stays set, as if it had been raised in the program's line.
bool forgiven();

int add_heard(PyObject* module);

}  // namespace rl::bind
