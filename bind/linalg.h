// What linear algebra needs of Python.
#pragma once
#include "bind/python.h"

namespace rl::bind {

extern PyObject* linalg_error_type;  // torch.linalg.LinAlgError
int add_linalg(PyObject* module);

}  // namespace rl::bind
