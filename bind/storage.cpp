// UntypedStorage: bytes, their address and size, the buffer protocol.
#include "bind/storage.h"

#include <cstring>

#include "bind/types.h"

namespace rl::bind {
namespace {

struct StorageObject {
  PyObject_HEAD
  Storage* storage;
};
PyTypeObject* type = nullptr;

Storage& self_of(PyObject* o) { return *reinterpret_cast<StorageObject*>(o)->storage; }

void dealloc(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  Storage* s = reinterpret_cast<StorageObject*>(o)->storage;
  if (s) {
    if (s->owner == o) s->owner = nullptr;
    Storage::release(s);
  }
  t->tp_free(o);
  Py_DECREF(t);
}

PyObject* make(PyTypeObject* t, Ref<Storage> s) {
  PyObject* o = t->tp_alloc(t, 0);
  if (!o) return nullptr;
  s->owner = o;
  reinterpret_cast<StorageObject*>(o)->storage = s.leave();
  return o;
}

PyObject* create(PyTypeObject* t, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *size = nullptr, *device = nullptr;
    static const char* names[] = {"size", "device", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char**>(names),
                                     &size, &device));
    Device d;
    if (device && device != Py_None) read_device(device, d);
    if (size && !PyIndex_Check(size)) {  // a sequence of bytes
      Owned bytes(need(PyBytes_FromObject(size)));
      Ref<Storage> s = Storage::make(size_t(PyBytes_GET_SIZE(bytes.get())), d);
      std::memcpy(s->data(), PyBytes_AS_STRING(bytes.get()), s->nbytes());
      return make(t, std::move(s));
    }
    const Py_ssize_t n = size ? PyNumber_AsSsize_t(size, PyExc_OverflowError) : 0;
    need(!(n == -1 && PyErr_Occurred()));
    check(n >= 0, "invalid storage size ", int64_t(n));
    return make(t, Storage::make(size_t(n), d));
  });
}

PyObject* nbytes(PyObject* o, PyObject*) { return PyLong_FromSize_t(self_of(o).nbytes()); }
PyObject* data_ptr(PyObject* o, PyObject*) { return PyLong_FromVoidPtr(self_of(o).data()); }
PyObject* element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* resizable(PyObject* o, PyObject*) { return py_bool(self_of(o).resizable()); }
PyObject* resize(PyObject* o, PyObject* n) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t size = PyNumber_AsSsize_t(n, PyExc_OverflowError);
    need(!(size == -1 && PyErr_Occurred()));
    check(size >= 0, "invalid storage size ", int64_t(size));
    self_of(o).resize(size_t(size));
    Py_INCREF(o);
    return o;
  });
}
PyObject* device(PyObject* o, void*) { return wrap_device(self_of(o).device()); }
Py_ssize_t length(PyObject* o) { return Py_ssize_t(self_of(o).nbytes()); }

// share_memory_ and its like put other memory under the same storage.
PyObject* replace(PyObject* o, PyObject* other) {
  return guarded([&]() -> PyObject* {
    self_of(o).replace(storage_of(other));
    Py_INCREF(o);
    return o;
  });
}

// Memory of any writable buffer, kept alive by the storage.
PyObject* from_memory(PyObject*, PyObject* source) {
  return guarded([&]() -> PyObject* {
    auto* view = new Py_buffer;
    if (PyObject_GetBuffer(source, view, PyBUF_WRITABLE) < 0) {
      delete view;
      throw PythonError();
    }
    return make(type, Storage::wrap(view->buf, size_t(view->len), [](void* c) {
      auto* v = static_cast<Py_buffer*>(c);
      WithLock lock;
      PyBuffer_Release(v);
      delete v;
    }, view));
  });
}

int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  Storage& s = self_of(o);
  static char nothing;
  if (s.device().is_meta()) {
    PyErr_SetString(PyExc_BufferError, "a meta storage has no bytes");
    return -1;
  }
  void* const bytes = s.nbytes() ? s.data() : &nothing;
  const int failed = PyBuffer_FillInfo(view, o, bytes, Py_ssize_t(s.nbytes()), 0, flags);
  if (!failed) s.pin();
  return failed;
}
void release_buffer(PyObject* o, Py_buffer*) { self_of(o).unpin(); }

PyMethodDef methods[] = {{"nbytes", nbytes, METH_NOARGS, "Size in bytes."},
                         {"size", nbytes, METH_NOARGS, nullptr},
                         {"data_ptr", data_ptr, METH_NOARGS, "Address of the first byte."},
                         {"element_size", element_size, METH_NOARGS, nullptr},
                         {"resizable", resizable, METH_NOARGS, nullptr},
                         {"resize_", resize, METH_O, "Changes the size; keeps the bytes that fit."},
                         {"_replace", replace, METH_O, nullptr},
                         {"_from_memory", from_memory, METH_O | METH_STATIC, nullptr},
                         {}};
PyGetSetDef properties[] = {{"device", device, nullptr, nullptr, nullptr}, {}};

}  // namespace

PyObject* wrap_storage(Ref<Storage> s) {
  if (s->owner) {
    PyObject* o = static_cast<PyObject*>(s->owner);
    Py_INCREF(o);
    return o;
  }
  static PyObject* cls = nullptr;  // the package's class, once it is there
  if (!cls) {
    Owned storage(PyImport_ImportModule("rushlight.storage"));
    if (storage) cls = PyObject_GetAttrString(storage.get(), "UntypedStorage");
    if (!cls || !PyType_Check(cls)) {
      PyErr_Clear();
      return make(type, std::move(s));
    }
  }
  return make(reinterpret_cast<PyTypeObject*>(cls), std::move(s));
}

bool is_storage(PyObject* o) { return PyType_IsSubtype(Py_TYPE(o), type); }

Ref<Storage> storage_of(PyObject* o) {
  if (is_storage(o)) return Ref<Storage>::share(&self_of(o));
  Owned inner(PyObject_GetAttrString(o, "_untyped_storage"));
  if (inner && is_storage(inner.get())) return Ref<Storage>::share(&self_of(inner.get()));
  PyErr_Clear();
  fail(ErrorKind::Type, "expected a storage, not ", Py_TYPE(o)->tp_name);
}

int add_storage(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_new, reinterpret_cast<void*>(create)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {Py_sq_length, reinterpret_cast<void*>(length)},
                         {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                         {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                         {0, nullptr}};
  PyType_Spec spec = {"rushlight._C.UntypedStorage", sizeof(StorageObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!type) return -1;
  return PyModule_AddObjectRef(module, "UntypedStorage", reinterpret_cast<PyObject*>(type));
}

}  // namespace rl::bind
