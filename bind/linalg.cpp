// What linear algebra needs of Python: its exception, and where the BLAS library is.
#include "bind/linalg.h"

#include "base/blas_path.h"

namespace rl::bind {

PyObject* linalg_error_type = nullptr;

namespace {

std::string find_library() {
  WithLock lock;
  // What stops it this time, such as Ctrl-C, is raised, and the next call looks again.
  Owned module(need(PyImport_ImportModule("rushlight._blas")));
  Owned path(need(PyObject_CallMethod(module.get(), "library_path", nullptr)));
  if (path.get() == Py_None) return "";
  const char* text = PyUnicode_AsUTF8(path.get());
  need(text != nullptr);
  return text;
}

}  // namespace

int add_linalg(PyObject* module) {
  blas_path_hook = find_library;
  linalg_error_type = PyErr_NewExceptionWithDoc(
      "torch._C._LinAlgError", "A matrix operation that has no result, such as the inverse of a "
      "singular matrix.", PyExc_RuntimeError, nullptr);
  if (!linalg_error_type) return -1;
  return PyModule_AddObjectRef(module, "_LinAlgError", linalg_error_type);
}

}  // namespace rl::bind
