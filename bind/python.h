// Python and C++ side by side: owned references, exceptions both ways, the interpreter lock.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <cxxabi.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace rl::bind {

// Types of methods: the interpreter calls one without a bound object, and caches where it found it
// only if the type cannot change.
constexpr unsigned long kMethodFlags = Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE;

class Owned {                       // a reference to a Python object
 public:
  Owned() = default;
  explicit Owned(PyObject* p) : p_(p) {}                 // adopts
  static Owned share(PyObject* p) { Py_XINCREF(p); return Owned(p); }
  Owned(const Owned& o) : p_(o.p_) { Py_XINCREF(p_); }
  Owned(Owned&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Owned& operator=(Owned o) noexcept { std::swap(p_, o.p_); return *this; }
  ~Owned() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* leave() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_; }

 private:
  PyObject* p_ = nullptr;
};

// A Python exception on its way through C++; the same object comes out on the other side.
class PythonError : public std::exception {
 public:
  PythonError() { PyErr_Fetch(&type_, &value_, &trace_); }
  PythonError(const PythonError& o) : type_(o.type_), value_(o.value_), trace_(o.trace_) {
    Py_XINCREF(type_);
    Py_XINCREF(value_);
    Py_XINCREF(trace_);
  }
  ~PythonError() override;
  void restore();                   // needs the interpreter lock
  const char* what() const noexcept override { return "a Python exception"; }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// The exception that is set, taken out of the interpreter's hands; and given back.
Owned take_exception();
void raise_again(Owned exception);

// Throws PythonError when a call of the C API failed.
inline PyObject* need(PyObject* p) {
  if (!p) throw PythonError();
  return p;
}
inline void need(bool good) {
  if (!good) throw PythonError();
}

// A str's text, ended by a zero. Throws PyTorch's error where it is none: half a surrogate pair.
std::string_view utf8_of(PyObject* text);

void set_exception();               // the C++ exception in flight becomes a Python one

// Note [Threads at exit]
// When the interpreter ends, a thread that asks for its lock again is unwound by pthread_exit, from
// wherever it stands: through destructors, which may not throw, and through C++ that would go on
// without the lock. Such a thread stays where it is until the process is gone.
[[noreturn]] void stay();
bool holds_lock();
PyGILState_STATE take_lock();
void give_back_lock(PyGILState_STATE state);
void restore_lock(PyThreadState* state);

// Runs f; a C++ exception becomes a Python exception and the value that says so.
template <class F> auto guarded(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    stay();
  } catch (...) {
    set_exception();
  }
  if constexpr (std::is_pointer_v<decltype(f())>) return nullptr;
  else return -1;
}

class WithLock {                    // takes the interpreter lock, whoever has it
 public:
  WithLock() : state_(take_lock()) {}
  ~WithLock() { give_back_lock(state_); }

 private:
  PyGILState_STATE state_;
};

class WithoutLock {                 // gives it away for a while
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() { restore_lock(state_); }

 private:
  PyThreadState* state_;
};

inline PyObject* none() { Py_RETURN_NONE; }
inline PyObject* py_bool(bool v) { return PyBool_FromLong(v); }

}  // namespace rl::bind
