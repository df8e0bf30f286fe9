// _C.Recorder: starting and stopping a recording, marks, and reading what it holds.
#include "bind/recorder.h"

#include <algorithm>

#include "bind/module.h"
#include "bind/origin.h"
#include "bind/types.h"
#include "ops/recorder.h"

namespace rl::bind {
namespace {

struct RecorderObject {
  PyObject_HEAD
  Recorder* recorder;
  PyObject* modules;            // the modules met, by address: kept alive so that addresses stay
  bool hears_modules;
};
std::vector<RecorderObject*> listening;   // those that hear module calls

RecorderObject& self_of(PyObject* o) { return *reinterpret_cast<RecorderObject*>(o); }
Recorder& recorder_of(PyObject* o) { return *self_of(o).recorder; }

// ---- Module calls. An exception that is set on the way out stays set.

void module_entered(PyObject* module) {
  note_origin();
  for (RecorderObject* r : listening) {
    Owned key(PyLong_FromVoidPtr(module));
    if (!key || PyDict_SetItem(r->modules, key.get(), module) < 0) PyErr_Clear();
    r->recorder->enter(EventKind::Module, module);
  }
}
void module_left(PyObject*) {
  for (RecorderObject* r : listening)
    r->recorder->leave(EventKind::Module, PyErr_Occurred() != nullptr);
}
constexpr ModuleObserver observer = {module_entered, module_left};

void listen(RecorderObject& r, bool on) {
  std::erase(listening, &r);
  if (on) listening.push_back(&r);
  module_observer = listening.empty() ? nullptr : &observer;
}

// ---- The object

PyObject* create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    int tensors = 0, memory = 0, nodes = 0, modules = 0;
    Py_ssize_t limit = PY_SSIZE_T_MAX;
    static const char* names[] = {"tensors", "memory", "nodes", "modules", "limit", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|$ppppn:Recorder", const_cast<char**>(names),
                                     &tensors, &memory, &nodes, &modules, &limit));
    check(limit >= 0, ErrorKind::Value, "Recorder: the limit must not be negative");
    Owned o(need(type->tp_alloc(type, 0)));
    RecorderObject& self = self_of(o.get());
    self.modules = need(PyDict_New());
    self.hears_modules = modules;
    self.recorder = new Recorder((tensors ? kRecordTensors : 0u) | (memory ? kRecordMemory : 0u) |
                                     (nodes ? kRecordNodes : 0u),
                                 size_t(limit));
    return o.leave();
  });
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self_of(o).modules);
  return 0;
}
int clear_references(PyObject* o) {
  Py_CLEAR(self_of(o).modules);
  return 0;
}
void dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  listen(self_of(o), false);
  delete self_of(o).recorder;
  clear_references(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* start(PyObject* o, PyObject*) {
  return guarded([&] {
    recorder_of(o).start();
    if (self_of(o).hears_modules) listen(self_of(o), true);
    return none();
  });
}
PyObject* stop(PyObject* o, PyObject*) {
  return guarded([&] {
    listen(self_of(o), false);
    recorder_of(o).stop();
    return none();
  });
}
PyObject* clear(PyObject* o, PyObject*) {
  return guarded([&] {
    recorder_of(o).clear();
    PyDict_Clear(self_of(o).modules);
    return none();
  });
}
PyObject* enter(PyObject* o, PyObject* name) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(name);
    need(text != nullptr);
    note_origin();
    recorder_of(o).enter_mark(text);
    return none();
  });
}
PyObject* leave(PyObject* o, PyObject*) {
  return guarded([&] {
    recorder_of(o).leave(EventKind::Mark, false);
    return none();
  });
}

// ---- Reading

// Names as Python text, each made once per reading.
class Names {
 public:
  explicit Names(std::vector<std::string> names) : names_(std::move(names)) {}
  PyObject* of(const Event& e) {         // a new reference
    if (e.kind == EventKind::Module) return Py_NewRef(Py_None);
    Owned& made = made_[e.what];
    if (!made) {
      if (e.kind == EventKind::Op) {
        made = Owned(need(PyUnicode_FromString(static_cast<const Record*>(e.what)->name.c_str())));
      } else {
        const std::string& name = names_[size_t(reinterpret_cast<uintptr_t>(e.what))];
        made = Owned(need(PyUnicode_FromStringAndSize(name.data(), Py_ssize_t(name.size()))));
      }
    }
    return Py_NewRef(made.get());
  }

 private:
  const std::vector<std::string> names_;
  std::unordered_map<const void*, Owned> made_;
};

PyObject* event_tuple(const Event& e, Recorder::Scale ns, Names& names, PyObject* modules) {
  PyObject* module = Py_None;
  if (e.kind == EventKind::Module) {
    Owned key(need(PyLong_FromVoidPtr(const_cast<void*>(e.what))));
    PyObject* found = PyDict_GetItem(modules, key.get());
    if (found) module = found;
  }
  return Py_BuildValue("(iNOIILLLKLLLLLOOIHHO)", int(e.kind), names.of(e), module, e.thread,
                       e.modes, (long long)e.parent, (long long)ns(e.begin), (long long)ns(e.end),
                       (unsigned long long)e.origin, (long long)e.sequence,
                       (long long)e.allocated, (long long)e.released, (long long)e.floats,
                       (long long)e.moved, e.failed ? Py_True : Py_False,
                       e.open ? Py_True : Py_False, e.first_value, e.inputs, e.results,
                       e.in_place ? Py_True : Py_False);
}

// A list of `count` items, item(i) each a new reference.
template <class F> PyObject* list_of(size_t count, const F& item) {
  Owned list(need(PyList_New(Py_ssize_t(count))));
  for (size_t i = 0; i < count; ++i)
    PyList_SET_ITEM(list.get(), Py_ssize_t(i), need(item(i)));
  return list.leave();
}

PyObject* int_tuple(const int64_t* p, size_t n) {
  Owned t(need(PyTuple_New(Py_ssize_t(n))));
  for (size_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), need(PyLong_FromLongLong(p[i])));
  return t.leave();
}

// A copy, so that what making Python objects sets free may be recorded meanwhile.
template <class T> T copy_of(Recorder& r, const T& from) {
  std::lock_guard hold(r.lock);
  return from;
}

PyObject* events(PyObject* o, PyObject*) {
  return guarded([&] {
    Recorder& r = recorder_of(o);
    const std::deque<Event> all = copy_of(r, r.events);
    Names names(copy_of(r, r.names));
    const Recorder::Scale ns = r.scale();
    return list_of(all.size(),
                   [&](size_t i) { return event_tuple(all[i], ns, names, self_of(o).modules); });
  });
}

PyObject* tensors(PyObject* o, PyObject*) {
  return guarded([&] {
    Recorder& r = recorder_of(o);
    const std::vector<RecordedTensor> all = copy_of(r, r.values);
    const std::vector<int64_t> layouts = copy_of(r, r.layouts);
    return list_of(all.size(), [&](size_t i) {
      const RecordedTensor& v = all[i];
      const int64_t* layout = layouts.data() + v.layout;
      return Py_BuildValue("(NNNKKLLLIH)", wrap_dtype(v.dtype), int_tuple(layout, v.dim),
                           int_tuple(layout + v.dim, v.dim), (unsigned long long)v.tensor,
                           (unsigned long long)v.storage, (long long)v.made_by,
                           (long long)v.offset, (long long)v.bytes, v.version, v.flags);
    });
  });
}

PyObject* memory(PyObject* o, PyObject*) {
  return guarded([&] {
    Recorder& r = recorder_of(o);
    const std::vector<MemoryEvent> all = copy_of(r, r.memory_events);
    const Recorder::Scale ns = r.scale();
    return list_of(all.size(), [&](size_t i) {
      const MemoryEvent& m = all[i];
      return Py_BuildValue("(LLLKK)", (long long)ns(m.time), (long long)m.event, (long long)m.bytes,
                           (unsigned long long)m.storage, (unsigned long long)m.origin);
    });
  });
}

PyObject* count(PyObject* o, void*) {
  Recorder& r = recorder_of(o);
  std::lock_guard hold(r.lock);
  return PyLong_FromSize_t(r.events.size());
}
PyObject* full(PyObject* o, void*) { return py_bool(recorder_of(o).full()); }
PyObject* running(PyObject* o, void*) { return py_bool(recorder_of(o).running()); }

PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, "Begins, or goes on, to write down what happens."},
    {"stop", stop, METH_NOARGS, "Ends the recording; what it holds stays."},
    {"clear", clear, METH_NOARGS, "Forgets what was recorded."},
    {"enter", enter, METH_O, "Begins a named range of the program."},
    {"leave", leave, METH_NOARGS, "Ends the innermost named range."},
    {"events", events, METH_NOARGS,
     "A list of (kind, name, module, thread, modes, parent, begin, end, origin, sequence, "
     "allocated, released, flops, bytes moved, failed, open, first value, inputs, results, in "
     "place); kind is 0 op, 1 graph node, 2 module, 3 range; times in ns."},
    {"tensors", tensors, METH_NOARGS,
     "A list of (dtype, size, stride, tensor, storage, made by, offset, bytes, version, flags): "
     "an event's inputs, then its results, begin at its first value."},
    {"memory", memory, METH_NOARGS,
     "A list of (time, event, bytes, storage, origin); bytes are negative when released."},
    {}};
PyGetSetDef properties[] = {{"count", count, nullptr, "How many events there are.", nullptr},
                            {"full", full, nullptr, "Whether its limit left anything out.",
                             nullptr},
                            {"running", running, nullptr, "Whether it records.", nullptr},
                            {}};

}  // namespace

int add_recorder(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {Py_tp_doc,
                             const_cast<char*>("What ran: ops, graph nodes, modules, memory.")},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._C.Recorder", sizeof(RecorderObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  Owned type(PyType_FromSpec(&spec));
  if (!type) return -1;
  return PyModule_AddObjectRef(module, "Recorder", type.get());
}

}  // namespace rl::bind
