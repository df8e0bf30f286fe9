// What stands in the way of a call while a program is watched.
//
// A wrapper in Python would be seen: in tracebacks, in the line of a warning, in printed stacks.
#include "bind/heard.h"

#include <structmember.h>

#include <vector>

namespace rl::bind {
namespace {

struct Heard {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *original, *before, *after, *failed;  // the last three may be null
};

Heard& heard(PyObject* o) { return *reinterpret_cast<Heard*>(o); }

// listener(first, *args, **keywords)
bool tell(PyObject* listener, PyObject* first, PyObject* const* args, Py_ssize_t count,
          PyObject* names) {
  std::vector<PyObject*> all{first};
  all.insert(all.end(), args, args + count + (names ? PyTuple_GET_SIZE(names) : 0));
  const Owned r(PyObject_Vectorcall(listener, all.data(), size_t(count) + 1, names));
  return r || forgiven();
}

// The program's exception is set before and after, unless a signal's handler raises another.
void tell_of_failure(PyObject* listener, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  Owned error = take_exception();
  if (tell(listener, error.get(), args, count, names)) return raise_again(std::move(error));
  if (PyErr_GivenExceptionMatches(error.get(), PyExc_StopIteration)) return;  // it ends a loop
  Owned later = take_exception();
  PyException_SetContext(later.get(), error.leave());
  raise_again(std::move(later));
}

PyObject* call_heard(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Owned alive = Owned::share(self);  // it may be taken out of the way while it runs
  const Heard& h = heard(self);
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  Owned instead;
  std::vector<PyObject*> replaced;
  if (h.before) {
    instead = Owned(PyObject_Vectorcall(h.before, args, size_t(count), names));
    if (!instead && !forgiven()) return nullptr;
    if (instead && PyTuple_CheckExact(instead.get())) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(instead.get()); ++i)
        replaced.push_back(PyTuple_GET_ITEM(instead.get(), i));
      PyObject* const* keywords = args + count;
      if (names) replaced.insert(replaced.end(), keywords, keywords + PyTuple_GET_SIZE(names));
      args = replaced.data();
      count = PyTuple_GET_SIZE(instead.get());
    }
  }
  Owned result(PyObject_Vectorcall(h.original, args, size_t(count), names));
  if (!result) {
    if (h.failed) tell_of_failure(h.failed, args, count, names);
    return nullptr;
  }
  if (h.after && !tell(h.after, result.get(), args, count, names)) return nullptr;
  return result.leave();
}

PyObject* call_forgiven(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  const Owned alive = Owned::share(self);
  Owned result(PyObject_Vectorcall(heard(self).original, args, flags, names));
  if (result) return result.leave();
  return forgiven() ? none() : nullptr;
}

PyObject* bind_heard(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

int traverse_heard(PyObject* self, visitproc visit, void* arg) {
  const Heard& h = heard(self);
  Py_VISIT(Py_TYPE(self));
  for (PyObject* o : {h.original, h.before, h.after, h.failed}) Py_VISIT(o);
  return 0;
}

void drop_heard(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  const Heard& h = heard(self);
  PyObject_GC_UnTrack(self);
  for (PyObject* o : {h.original, h.before, h.after, h.failed}) Py_XDECREF(o);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

// ---- It looks as what it stands before

PyObject* attribute(PyObject* self, PyObject* name) {
  for (const char* of_the_type : {"__module__", "__doc__"})
    if (PyUnicode_CompareWithASCIIString(name, of_the_type) == 0)
      return PyObject_GetAttr(heard(self).original, name);
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(heard(self).original, name);
}
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(heard(self).original, name, value);
}
PyObject* repr_heard(PyObject* self) { return PyObject_Repr(heard(self).original); }

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Heard, vectorcall), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Heard, original), READONLY, nullptr},
    {}};

PyTypeObject* heard_type() {
  static PyTypeObject* type = nullptr;
  if (type) return type;
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(drop_heard)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse_heard)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr_heard)},
                         {Py_tp_getattro, reinterpret_cast<void*>(attribute)},
                         {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
                         {Py_tp_members, members},
                         {Py_tp_descr_get, reinterpret_cast<void*>(bind_heard)},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._C.Heard", sizeof(Heard), 0,
                      unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                               Py_TPFLAGS_HAVE_VECTORCALL | kMethodFlags),
                      slots};
  return type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

Heard* new_heard(PyObject* original, vectorcallfunc call) {
  PyTypeObject* type = heard_type();
  auto* h = type ? PyObject_GC_New(Heard, type) : nullptr;
  if (!h) return nullptr;
  h->vectorcall = call;
  h->original = Py_NewRef(original);
  h->before = h->after = h->failed = nullptr;
  PyObject_GC_Track(h);
  return h;
}

// _heard(original, before, after, failed), each of the last three a callable or None:
// before(*args, **kwargs) may return a tuple, which takes the place of args;
// after(result, *args, **kwargs); failed(exception, *args, **kwargs).
PyObject* make_heard(PyObject*, PyObject* args) {
  PyObject* parts[4];
  if (!PyArg_ParseTuple(args, "OOOO", parts, parts + 1, parts + 2, parts + 3)) return nullptr;
  Heard* h = new_heard(parts[0], call_heard);
  if (!h) return nullptr;
  PyObject** places[] = {&h->before, &h->after, &h->failed};
  for (int i = 0; i < 3; ++i)
    if (parts[i + 1] != Py_None) *places[i] = Py_NewRef(parts[i + 1]);
  return reinterpret_cast<PyObject*>(h);
}

// _forgiven(listener): calls it, and gives None where it fails.
PyObject* make_forgiven(PyObject*, PyObject* listener) {
  return reinterpret_cast<PyObject*>(new_heard(listener, call_forgiven));
}

PyMethodDef functions[] = {{"_heard", make_heard, METH_VARARGS, nullptr},
                           {"_forgiven", make_forgiven, METH_O, nullptr},
                           {}};

}  // namespace

bool forgiven() {
  const bool at_limit = PyErr_ExceptionMatches(PyExc_RecursionError);
  const bool ours = PyErr_ExceptionMatches(PyExc_Exception);
  Owned error = take_exception();
  Owned from_outside;
  if (!at_limit) {
    Owned interrupts(PyImport_ImportModule("rushlight.diagnosis.interrupts"));
    if (interrupts)
      from_outside = Owned(PyObject_CallMethod(interrupts.get(), "is_interrupt", "O", error.get()));
    PyErr_Clear();
  }
  if (from_outside.get() != Py_True) {
    if (ours) return true;
    PyException_SetTraceback(error.get(), Py_None);  // of Ctrl-C, or an exit
  }
  raise_again(std::move(error));
  return false;
}

int add_heard(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace rl::bind
