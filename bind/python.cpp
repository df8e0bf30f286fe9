// Exceptions between C++ and Python.
#include "bind/python.h"

#include <unistd.h>

#include <new>
#include <stdexcept>

#include "base/interrupt.h"
#include "base/linalg_error.h"
#include "bind/linalg.h"

namespace rl::bind {

void stay() {
  for (;;) pause();
}

namespace {

bool on_main_thread() { return getpid() == gettid(); }  // the one that ends the process

// Past the end the interpreter neither answers nor ends threads: their states are freed memory.
void stay_after_the_end() {
  if (!Py_IsInitialized() && !on_main_thread()) stay();
}

}  // namespace

PyGILState_STATE take_lock() {
  stay_after_the_end();
  try {
    return PyGILState_Ensure();
  } catch (...) {
    stay();
  }
}

// Asked in this way because PyGILState_Check says yes to all while the interpreter ends.
bool holds_lock() {
  PyThreadState* mine = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX < 0x030D0000
  return mine && mine == _PyThreadState_UncheckedGet();
#else
  return mine && mine == PyThreadState_GetUnchecked();
#endif
}

void give_back_lock(PyGILState_STATE state) {
  if (holds_lock()) return PyGILState_Release(state);
  if (!on_main_thread()) stay();
}

void restore_lock(PyThreadState* state) {
  stay_after_the_end();
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    stay();
  }
}

PythonError::~PythonError() {
  if (!type_ || !Py_IsInitialized()) return;
  WithLock lock;
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(trace_);
}

void PythonError::restore() {
  PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr),
                std::exchange(trace_, nullptr));
}

namespace {

PyObject* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Type: return PyExc_TypeError;
    case ErrorKind::Value: return PyExc_ValueError;
    case ErrorKind::Index: return PyExc_IndexError;
    case ErrorKind::NotImplemented: return PyExc_NotImplementedError;
    case ErrorKind::Overflow: return PyExc_OverflowError;
    case ErrorKind::Memory: return PyExc_MemoryError;
    case ErrorKind::Attribute: return PyExc_AttributeError;
    case ErrorKind::Assertion: return PyExc_AssertionError;
    default: return PyExc_RuntimeError;
  }
}

}  // namespace

std::string_view utf8_of(PyObject* text) {
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(text, &n);
  if (!s && PyErr_ExceptionMatches(PyExc_UnicodeError)) {
    PyErr_Clear();
    fail(ErrorKind::Runtime, "error unpacking string as utf-8");
  }
  need(s != nullptr);
  return {s, size_t(n)};
}

Owned take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
  return Owned(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Owned(value);
#endif
}

void raise_again(Owned exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception.leave());
#else
  PyObject* value = exception.leave();
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value))), value,
                PyException_GetTraceback(value));
#endif
}

void set_exception() {
  try {
    throw;
  } catch (PythonError& e) {
    e.restore();
  } catch (const LinAlgError& e) {
    PyErr_SetString(linalg_error_type, e.what());
  } catch (const Error& e) {
    PyErr_SetString(class_of(e.kind()), e.what());
  } catch (const Interrupted&) {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown C++ exception");
  }
}

}  // namespace rl::bind
