// The Python side of interchange: Tensor's methods and the module's functions.
#include "autograd/meta.h"
#include "bind/interchange.h"
#include "bind/origin.h"
#include "bind/types.h"
#include "ops/ops.h"

namespace rl::bind {
namespace {

template <class Function>
PyCFunction method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyObject* numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"force", nullptr};
  int force = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(keywords),
                                   &force)) {
    return nullptr;
  }
  return guarded([&] { return ndarray_over(tensor_of(self), force != 0); });
}

// numpy asks with a dtype, a wish to copy, both or neither.
PyObject* array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(keywords),
                                   &dtype, &copy)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    Owned made(ndarray_over(tensor_of(self), false));
    if (dtype != Py_None) {
      Owned astype(need(PyObject_GetAttrString(made.get(), "astype")));
      Owned positional(need(PyTuple_Pack(1, dtype)));
      Owned named(need(Py_BuildValue("{sO}", "copy", copy == Py_True ? Py_True : Py_False)));
      return need(PyObject_Call(astype.get(), positional.get(), named.get()));
    }
    return copy == Py_True ? need(PyObject_CallMethod(made.get(), "copy", nullptr)) : made.leave();
  });
}

// Does the asked device name this tensor's, the CPU? Other devices have no kernels here.
void check_device(PyObject* dl_device) {
  if (dl_device == Py_None) return;
  int type = 0, index = 0;
  need(PyArg_ParseTuple(dl_device, "ii", &type, &index) != 0);
  if (type == 1) return;
  PyErr_Format(PyExc_BufferError, "Cannot export a tensor to DLPack device type %d", type);
  throw PythonError();
}

PyObject* dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__",
                                   const_cast<char**>(keywords), &stream, &version, &device,
                                   &copy)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const bool no_stream =
        stream == Py_None || (PyLong_Check(stream) && PyLong_AsLong(stream) == -1);
    check(no_stream, ErrorKind::Assertion, "stream should be None on cpu.");
    check_device(device);
    bool versioned = false;
    if (version != Py_None) {
      Owned major(need(PySequence_GetItem(version, 0)));
      versioned = PyLong_AsLong(major.get()) >= 1;
      need(!PyErr_Occurred());
    }
    const Tensor& t = tensor_of(self);
    if (copy != Py_True) return capsule_over(t, versioned);
    return capsule_over(requires_grad(t) ? t : ops::clone(t, std::nullopt), versioned);
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    check(!tensor_of(self).is_meta(), ErrorKind::Value, "Unknown device type meta for Dlpack");
    Owned module(need(PyImport_ImportModule("rushlight.utils.dlpack")));
    Owned type(need(PyObject_GetAttrString(module.get(), "DLDeviceType")));
    Owned cpu(need(PyObject_GetAttrString(type.get(), "kDLCPU")));
    return need(Py_BuildValue("(Oi)", cpu.get(), 0));
  });
}

PyObject* from_numpy(PyObject*, PyObject* object) {
  note_origin();
  return guarded([&] {
    check(is_ndarray(object), ErrorKind::Type, "expected np.ndarray (got ",
          Py_TYPE(object)->tp_name, ")");
    return wrap(tensor_over_ndarray(object));
  });
}

PyObject* frombuffer(PyObject*, PyObject* args, PyObject* kwargs) {
  note_origin();
  static const char* keywords[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
  PyObject *buffer = nullptr, *element = nullptr;
  long long count = -1, offset = 0;
  int needs_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OLLp:frombuffer",
                                   const_cast<char**>(keywords), &buffer, &element, &count,
                                   &offset, &needs_grad)) {
    return nullptr;
  }
  return guarded([&] {
    check(element, ErrorKind::Type,
          "frombuffer() missing 1 required positional arguments: \"dtype\"");
    DType dtype;
    check(read_dtype(element, dtype), ErrorKind::Type,
          "frombuffer(): argument 'dtype' must be torch.dtype, not ", Py_TYPE(element)->tp_name);
    check(!needs_grad || is_differentiable(dtype),
          "Only Tensors of floating point and complex dtype can require gradients");
    Tensor t = tensor_over_buffer(buffer, dtype, count, offset);
    if (needs_grad) set_requires_grad(t, true);
    return wrap(std::move(t));
  });
}

template <bool versioned> PyObject* to_dlpack(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(object), ErrorKind::Type, "to_dlpack() takes a Tensor, not ",
          Py_TYPE(object)->tp_name);
    return capsule_over(tensor_of(object), versioned);
  });
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  note_origin();
  return guarded([&] { return wrap(tensor_over_capsule(capsule)); });
}

PyMethodDef functions[] = {
    {"from_numpy", from_numpy, METH_O, "from_numpy(ndarray): a tensor over the array's memory."},
    {"frombuffer", method(frombuffer), METH_VARARGS | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False): a tensor over it."},
    {"_to_dlpack", to_dlpack<false>, METH_O, "A DLPack capsule over the tensor's memory."},
    {"_to_dlpack_versioned", to_dlpack<true>, METH_O, "A versioned DLPack capsule."},
    {"_from_dlpack", from_dlpack, METH_O, "A tensor over a capsule's memory, which it uses up."},
    {}};

}  // namespace

PyMethodDef interchange_methods[] = {
    {"numpy", method(numpy), METH_VARARGS | METH_KEYWORDS,
     "numpy(*, force=False): an array over the tensor's memory."},
    {"__array__", method(array), METH_VARARGS | METH_KEYWORDS,
     "__array__(dtype=None, copy=None): what numpy calls to make an array."},
    {"__dlpack__", method(dlpack), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=-1, max_version=None, dl_device=None, copy=None): a DLPack capsule."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, "The DLPack device: (kDLCPU, 0)."},
    {}};

int add_interchange(PyObject* module) {
  return add_lent_memory() < 0 ? -1 : PyModule_AddFunctions(module, functions);
}

}  // namespace rl::bind
