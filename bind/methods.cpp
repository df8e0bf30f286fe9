// Methods of tensors that are not ops: questions, conversions, numbers, storage.
#include <atomic>

#include "autograd/shared.h"
#include "bind/asked.h"
#include "bind/autograd.h"
#include "bind/interchange.h"
#include "bind/members.h"
#include "bind/origin.h"
#include "bind/reader.h"
#include "bind/storage.h"
#include "bind/told.h"
#include "bind/transform.h"
#include "ops/formats.h"

namespace rl::bind {
namespace {

const Tensor& self_of(PyObject* o) { return tensor_of(o); }

// ---- Questions

template <bool Sizes> PyObject* size_or_stride(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* dim = Py_None;
    static const char* names[] = {"dim", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, Sizes ? "|O:size" : "|O:stride",
                                     const_cast<char**>(names), &dim));
    const Tensor& t = self_of(o);
    if (dim == Py_None) return Sizes ? wrap_size(t.sizes()) : wrap_ints(t.strides());
    check(PyIndex_Check(dim) && !PyBool_Check(dim), ErrorKind::Type, Sizes ? "size" : "stride",
          "(): argument 'dim' (position 1) must be int, not ", Py_TYPE(dim)->tp_name);
    const int64_t d = PyLong_AsLongLong(Owned(need(PyNumber_Index(dim))).get());
    need(!(d == -1 && PyErr_Occurred()));
    return PyLong_FromLongLong(Sizes ? t.size(d) : t.stride(d));
  });
}

template <PyObject* (*F)(const Tensor&)> PyObject* ask(PyObject* o, PyObject*) {
  return guarded([&] { return F(self_of(o)); });
}
PyObject* dim(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* numel(const Tensor& t) { return PyLong_FromLongLong(t.numel()); }
PyObject* element_size(const Tensor& t) { return PyLong_FromLongLong(t.element_size()); }
PyObject* storage_offset(const Tensor& t) { return PyLong_FromLongLong(t.offset()); }
PyObject* data_ptr(const Tensor& t) {
  refuse_mapped(t);
  return PyLong_FromSsize_t(t.numel() ? reinterpret_cast<Py_ssize_t>(t.is_meta() ? nullptr : t.data()) : 0);
}
PyObject* is_view_(const Tensor& t) { return py_bool(is_view(t)); }
PyObject* floating(const Tensor& t) { return py_bool(t.is_floating()); }
PyObject* complex(const Tensor& t) { return py_bool(t.is_complex()); }
PyObject* is_conj(const Tensor& t) { return py_bool(t.is_conj()); }
PyObject* is_neg(const Tensor& t) { return py_bool(t.is_negative()); }
PyObject* inference(const Tensor& t) { return py_bool(t.is_inference()); }
PyObject* is_signed(const Tensor& t) {
  return py_bool(has_sign(t.dtype()));
}
PyObject* storage(const Tensor& t) {
  check(!is_mapped(t), ErrorKind::NotImplemented, "Cannot access storage of BatchedTensorImpl");
  return wrap_storage(t.storage());
}
PyObject* get_device(const Tensor&) { return PyLong_FromLong(-1); }
PyObject* no(const Tensor&) { return py_bool(false); }

PyObject* is_pinned(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject* device = nullptr;
  static const char* names[] = {"device", nullptr};
  return guarded([&] {
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|O:is_pinned", const_cast<char**>(names),
                                     &device));
    if (device && device != Py_None) {
      warn("The argument 'device' of Tensor.is_pinned() is deprecated. Please do not pass this "
           "argument.");
    }
    return py_bool(false);
  });
}

PyObject* is_contiguous(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* format = nullptr;
    static const char* names[] = {"memory_format", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|O!:is_contiguous", const_cast<char**>(names),
                                     memory_format_type, &format));
    const auto f = format ? MemoryFormat(reinterpret_cast<NamedObject*>(format)->value)
                          : MemoryFormat::Contiguous;
    return py_bool(self_of(o).is_contiguous(f));
  });
}

// ---- Numbers

Scalar number_of(const Tensor& t) {
  Told whole(item_op, &t);
  check(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  check(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
  Told inner(scalar_op, &t);
  const Scalar number = item_of(t);
  inner.done();
  whole.done();
  return number;
}

// A Scalar's integer has a sign; the elements of uint64 have none.
PyObject* wrap_number(const Tensor& t, const Scalar& s) {
  if (t.dtype() != DType::UInt64) return wrap_scalar(s);
  return PyLong_FromUnsignedLongLong(uint64_t(s.to_int()));
}

PyObject* item(PyObject* o, PyObject*) {
  return guarded([&] { return wrap_number(self_of(o), number_of(self_of(o))); });
}

PyObject* list_of(const Tensor& t, int64_t dim, int64_t offset) {
  if (dim == t.dim()) {
    Tensor one = alias(t, {}, {}, offset);
    return wrap_number(one, item_of(one));
  }
  Owned list(need(PyList_New(Py_ssize_t(t.sizes()[dim]))));
  for (int64_t i = 0; i < t.sizes()[dim]; ++i)
    PyList_SET_ITEM(list.get(), Py_ssize_t(i), need(list_of(t, dim + 1, offset + i * t.strides()[dim])));
  return list.leave();
}

// The last dimension without a tensor per element.
template <class T, class F> PyObject* fast_list(const Tensor& t, int64_t dim, const char* p, F number) {
  const int64_t n = t.sizes()[dim], step = t.strides()[dim] * int64_t(sizeof(T));
  Owned list(need(PyList_New(Py_ssize_t(n))));
  for (int64_t i = 0; i < n; ++i, p += step) {
    PyObject* item = dim + 1 == t.dim() ? number(*reinterpret_cast<const T*>(p))
                                        : fast_list<T>(t, dim + 1, p, number);
    PyList_SET_ITEM(list.get(), Py_ssize_t(i), need(item));
  }
  return list.leave();
}

PyObject* tolist(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = self_of(o);
    check(!t.is_meta(), ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
    refuse_mapped(t);
    if (t.dim() == 0) return wrap_number(t, item_of(t));
    if (t.is_conj() || t.is_negative()) return list_of(t, 0, t.offset());
    switch (t.dtype()) {
      case DType::Float: return fast_list<float>(t, 0, t.data(), [](float v) { return PyFloat_FromDouble(v); });
      case DType::Double: return fast_list<double>(t, 0, t.data(), [](double v) { return PyFloat_FromDouble(v); });
      case DType::Int64: return fast_list<int64_t>(t, 0, t.data(), [](int64_t v) { return PyLong_FromLongLong(v); });
      case DType::Bool: return fast_list<char>(t, 0, t.data(), [](char v) { return PyBool_FromLong(v != 0); });
      default: return list_of(t, 0, t.offset());
    }
  });
}

// ---- Autograd

PyObject* requires_grad_(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* given = Py_True;
    static const char* names[] = {"requires_grad", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|O:requires_grad_", const_cast<char**>(names),
                                     &given));
    check(PyBool_Check(given), ErrorKind::Type, "requires_grad_(): argument 'requires_grad' "
          "(position 1) must be bool, not ", python_type(given));
    const bool on = given == Py_True;
    check(!on || is_differentiable(self_of(o).dtype()),
          "only Tensors of floating point dtype can require gradients");
    refuse_in_transform("requires_grad_()",
                        "(or perhaps using torch.autograd.functional.* APIs) ");
    set_requires_grad(self_of(o), on);
    Py_INCREF(o);
    return o;
  });
}
PyObject* retain_grad_(PyObject* o, PyObject*) {
  return guarded([&] {
    refuse_in_transform("retain_grad()");
    retain_grad(self_of(o));
    return none();
  });
}
PyObject* bump_version(PyObject* o, PyObject*) {
  return guarded([&] {
    self_of(o).bump_version();
    return none();
  });
}
PyObject* set_version(PyObject* o, PyObject* version) {
  return guarded([&] {
    const long v = PyLong_AsLong(version);
    check(v >= 0, "a version is not negative");
    self_of(o).version().count.store(uint32_t(v));
    return none();
  });
}
PyObject* detach_(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    detach_in_place(self_of(o));
    Py_INCREF(o);
    return o;
  });
}
// Hooks: the handles of rushlight.utils.hooks are made in Python around these.
PyObject* register_hook(PyObject* o, PyObject* f) {
  return guarded([&] {
    auto hook = tensor_hook(f);
    add_tensor_hook(self_of(o), hook);
    track(o);
    auto* boxed = new std::pair<std::shared_ptr<Hook>, Owned>(hook, Owned::share(o));
    return PyCapsule_New(boxed, "rushlight.hook", [](PyObject* c) {
      delete static_cast<std::pair<std::shared_ptr<Hook>, Owned>*>(PyCapsule_GetPointer(c, "rushlight.hook"));
    });
  });
}
PyObject* remove_hook(PyObject*, PyObject* capsule) {
  return guarded([&] {
    auto* p = static_cast<std::pair<std::shared_ptr<Hook>, Owned>*>(
        PyCapsule_GetPointer(capsule, "rushlight.hook"));
    need(p != nullptr);
    const Tensor t = tensor_of(p->second.get());
    remove_tensor_hook(t, p->first);
    if (t->autograd) {
      Autograd& a = *t->autograd;
      remove_hooks(&a, a.post_accumulate, [&](auto& hook) { return hook == p->first; });
    }
    return none();
  });
}
PyObject* register_post_accumulate(PyObject* o, PyObject* f) {
  return guarded([&] {
    const Tensor& t = self_of(o);
    check(requires_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    check(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
    auto hook = leaf_hook(f);
    Autograd& a = autograd_of(t);
    add_hook(&a, a.post_accumulate, hook);
    track(o);
    auto* boxed = new std::pair<std::shared_ptr<Hook>, Owned>(hook, Owned::share(o));
    return PyCapsule_New(boxed, "rushlight.hook", [](PyObject* c) {
      delete static_cast<std::pair<std::shared_ptr<Hook>, Owned>*>(PyCapsule_GetPointer(c, "rushlight.hook"));
    });
  });
}

// ---- Other dtypes and devices

void refuse_device(Device d) {
  if (d.type == DeviceType::CUDA) fail(ErrorKind::Assertion, "Torch not compiled with CUDA enabled");
  if (!d.is_cpu() && !d.is_meta()) {
    fail(ErrorKind::Runtime, "PyTorch is not linked with support for ",
         PyUnicode_AsUTF8(Owned(PyObject_Str(Owned(wrap_device(d)).get())).get()), " devices");
  }
}

PyObject* convert(PyObject* o, std::optional<DType> dtype, std::optional<Device> device, bool copy,
                  ops::Format format) {
  const Tensor& t = self_of(o);
  if (device) refuse_device(*device);
  const bool same = (!dtype || *dtype == t.dtype()) && (!device || device->type == t.device().type) &&
                    (!format || *format == MemoryFormat::Preserve || ops::suggested_format(t) == *format);
  if (same && !copy) {
    Py_INCREF(o);
    return o;
  }
  note_origin();
  return wrap(ops::to_copy(t, dtype, device, format));
}

PyObject* to(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    std::optional<DType> dtype;
    std::optional<Device> device;
    ops::Format format;
    bool copy = false;
    Py_ssize_t at = 0;
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    auto take = [&](PyObject* v) {
      DType t;
      Device d;
      if (is_tensor(v)) {
        dtype = tensor_of(v).dtype();
        device = tensor_of(v).device();
      } else if (read_dtype(v, t)) {
        dtype = t;
      } else if (v != Py_None) {
        if (!read_device(v, d)) {
          fail(ErrorKind::Type, "to() received an invalid combination of arguments - got (",
               Py_TYPE(v)->tp_name, "), but expected one of:\n * (torch.device device = None, "
               "torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
               "torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool "
               "non_blocking = False, bool copy = False, *, torch.memory_format memory_format = "
               "None)\n * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
               "torch.memory_format memory_format = None)\n");
        }
        device = d;
      }
    };
    if (n > 0) {
      PyObject* first = PyTuple_GET_ITEM(args, at++);
      const bool is_device = !is_tensor(first) && !is_dtype(first);
      take(first);
      if (at < n && is_device && !PyBool_Check(PyTuple_GET_ITEM(args, at))) take(PyTuple_GET_ITEM(args, at++));
      if (at < n) ++at;  // non_blocking
      if (at < n) copy = PyObject_IsTrue(PyTuple_GET_ITEM(args, at++)) == 1;
      check(at >= n, ErrorKind::Type, "to() received an invalid combination of arguments");
    }
    PyObject *name, *value;
    Py_ssize_t p = 0;
    while (kwargs && PyDict_Next(kwargs, &p, &name, &value)) {
      const std::string_view k = utf8_of(name);
      if (k == "dtype" || k == "device" || k == "other" || k == "tensor") take(value);
      else if (k == "copy") copy = PyObject_IsTrue(value) == 1;
      else if (k == "memory_format") {
        if (value != Py_None) format = MemoryFormat(reinterpret_cast<NamedObject*>(value)->value);
      } else if (k != "non_blocking") {
        fail(ErrorKind::Type, "to() got an unexpected keyword argument '", k, "'");
      }
    }
    return convert(o, dtype, device, copy, format);
  });
}

// The memory_format of a call that takes nothing else, such as float(); by name only.
ops::Format format_alone(const char* name, PyObject* args, PyObject* kwargs) {
  const Py_ssize_t given = PyTuple_GET_SIZE(args);
  check(given == 0, ErrorKind::Type, name, "() takes 0 positional arguments but ", int64_t(given),
        given == 1 ? " was given" : " were given");
  ops::Format format;
  PyObject *key, *value;
  for (Py_ssize_t i = 0; kwargs && PyDict_Next(kwargs, &i, &key, &value);) {
    check(PyUnicode_CompareWithASCIIString(key, "memory_format") == 0, ErrorKind::Type, name,
          "() got an unexpected keyword argument '", utf8_of(key), "'");
    if (value == Py_None) continue;
    check(Py_TYPE(value) == memory_format_type, ErrorKind::Type, name,
          "(): argument 'memory_format' must be torch.memory_format, not ", python_type(value));
    format = MemoryFormat(reinterpret_cast<NamedObject*>(value)->value);
  }
  return format;
}

const char* conversion_to(DType t) {
  switch (t) {
    case DType::Float: return "float";
    case DType::Double: return "double";
    case DType::Half: return "half";
    case DType::BFloat16: return "bfloat16";
    case DType::Int64: return "long";
    case DType::Int32: return "int";
    case DType::Int16: return "short";
    case DType::Int8: return "char";
    case DType::UInt8: return "byte";
    case DType::Bool: return "bool";
    case DType::ComplexHalf: return "chalf";
    case DType::ComplexFloat: return "cfloat";
    default: return "cdouble";
  }
}

template <DType T> PyObject* as_dtype(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    return convert(o, T, std::nullopt, false, format_alone(conversion_to(T), args, kwargs));
  });
}
PyObject* cpu(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    return convert(o, std::nullopt, Device{}, false, format_alone("cpu", args, kwargs));
  });
}
PyObject* cuda(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_AssertionError, "Torch not compiled with CUDA enabled");
  return nullptr;
}

// ---- Storage

PyObject* set_(PyObject* o, PyObject* args, PyObject* kwargs) {
  note_origin();
  return guarded([&]() -> PyObject* {
    PyObject *source = Py_None, *offset = nullptr, *size = nullptr, *stride = nullptr;
    static const char* names[] = {"source", "storage_offset", "size", "stride", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:set_", const_cast<char**>(names), &source,
                                     &offset, &size, &stride));
    const Tensor& t = self_of(o);
    check_in_place(t);
    Ref<Storage> storage;
    Dims sizes{0}, strides{1};
    int64_t at = 0;
    if (source == Py_None) {
      storage = Storage::make(0, t.device());
    } else if (is_tensor(source)) {
      const Tensor& s = tensor_of(source);
      check(s.dtype() == t.dtype(), "Could not set tensor of type ", c_name_of(s.dtype()),
            " to a tensor of type ", c_name_of(t.dtype()));
      storage = s.storage();
      sizes = Dims(s.sizes());
      strides = Dims(s.strides());
      at = s.offset();
    } else {
      storage = storage_of(source);
      sizes[0] = int64_t(storage->nbytes()) / t.element_size();
    }
    auto ints = [](PyObject* p, Dims& d) {
      Owned list(need(PySequence_Fast(p, "expected a list of ints")));
      d.clear();
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
        d.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(list.get(), i)));
      need(!PyErr_Occurred());
    };
    if (offset) at = PyLong_AsLongLong(offset);
    if (size) {
      ints(size, sizes);
      strides = contiguous_strides(sizes);
    }
    if (stride) ints(stride, strides);
    need(!PyErr_Occurred());
    check(at >= 0, "Tensor: invalid storage offset ", at);
    check(sizes.size() == strides.size(), "mismatch in length of strides and shape");
    for (int64_t s : strides) check(s >= 0, "as_strided: Negative strides are not supported at the "
                                    "moment, got strides: ", Ints(strides));
    const size_t bytes = bytes_needed(sizes, strides, at, t.element_size());
    if (bytes > storage->nbytes()) storage->resize(bytes);
    Storage::release(t->storage);
    t->storage = storage.leave();
    t->offset = at;
    t->set_layout(sizes, strides);
    t.bump_version();
    Py_INCREF(o);
    return o;
  });
}

PyObject* resize_(PyObject* o, PyObject* args, PyObject*) {
  note_origin();
  return guarded([&]() -> PyObject* {
    PyObject* list = PyTuple_GET_SIZE(args) == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0))
                         ? PyTuple_GET_ITEM(args, 0) : args;
    Owned items(need(PySequence_Fast(list, "resize_(): argument 'size' must be tuple of ints")));
    Dims sizes;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      sizes.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i)));
    need(!PyErr_Occurred());
    const Tensor& t = self_of(o);
    check(!requires_grad(t), "cannot resize variables that require grad");
    ops::resize_in_place(t, sizes);
    Py_INCREF(o);
    return o;
  });
}

PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *type, *data;
    int grad = 0;
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "O!O|p:_make_subclass", const_cast<char**>(names),
                                     &PyType_Type, &type, &data, &grad));
    check(is_tensor(data), ErrorKind::Type, "_make_subclass(): argument 'data' must be Tensor, not ",
          Py_TYPE(data)->tp_name);
    Tensor t = data_of(tensor_of(data));
    Owned made(need(wrap_as(reinterpret_cast<PyTypeObject*>(type), t)));
    if (grad) set_requires_grad(t, true);
    return made.leave();
  });
}

PyObject* as_subclass(PyObject* o, PyObject* type) {
  return guarded([&]() -> PyObject* {
    check(PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_base_type),
          ErrorKind::Type, "as_subclass(): argument 'cls' must be a subclass of Tensor");
    return wrap_as(reinterpret_cast<PyTypeObject*>(type), ops::alias_op(self_of(o)));
  });
}

PyCFunction fn(PyCFunctionWithKeywords f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)); }
constexpr int kKeywords = METH_VARARGS | METH_KEYWORDS;

}  // namespace

void replace_data(const Tensor& t, const Tensor& data) {
  check(!requires_grad(t) || is_differentiable(data.dtype()), "data set to a tensor that requires "
        "gradients must be floating point or complex dtype");
  data->storage->keep();
  Storage::release(t->storage);
  t->storage = data->storage;
  t->dtype = data.dtype();
  t->device = data.device();
  t->offset = data.offset();
  constexpr uint16_t kOfData = kConj | kNegative | kStoredOnly;
  t->flags = uint16_t((t->flags & ~kOfData) | (data->flags & kOfData));
  t->set_layout(data.sizes(), data.strides());
  if (t->autograd && t->autograd->accumulator) {
    t->autograd->accumulator->inputs.clear();
    t->autograd->accumulator->add_input(t);
  }
}

PyMethodDef tensor_methods[] = {
    {"size", fn(size_or_stride<true>), kKeywords, "The sizes, or one of them."},
    {"stride", fn(size_or_stride<false>), kKeywords, "The strides in elements, or one of them."},
    {"dim", ask<dim>, METH_NOARGS, nullptr},
    {"ndimension", ask<dim>, METH_NOARGS, nullptr},
    {"numel", ask<numel>, METH_NOARGS, nullptr},
    {"nelement", ask<numel>, METH_NOARGS, nullptr},
    {"element_size", ask<element_size>, METH_NOARGS, nullptr},
    {"storage_offset", ask<storage_offset>, METH_NOARGS, nullptr},
    {"data_ptr", ask<data_ptr>, METH_NOARGS, nullptr},
    {"const_data_ptr", ask<data_ptr>, METH_NOARGS, nullptr},
    {"untyped_storage", ask<storage>, METH_NOARGS, nullptr},
    {"get_device", ask<get_device>, METH_NOARGS, nullptr},
    {"is_contiguous", fn(is_contiguous), kKeywords, nullptr},
    {"_is_view", ask<is_view_>, METH_NOARGS, nullptr},
    {"is_floating_point", ask<floating>, METH_NOARGS, nullptr},
    {"is_complex", ask<complex>, METH_NOARGS, nullptr},
    {"is_conj", ask<is_conj>, METH_NOARGS, nullptr},
    {"is_neg", ask<is_neg>, METH_NOARGS, nullptr},
    {"is_inference", ask<inference>, METH_NOARGS, nullptr},
    {"is_signed", ask<is_signed>, METH_NOARGS, nullptr},
    {"is_pinned", fn(is_pinned), kKeywords, nullptr},
    {"is_shared", ask<no>, METH_NOARGS, nullptr},
    {"item", item, METH_NOARGS, "The one element as a Python number."},
    {"tolist", tolist, METH_NOARGS, "The elements as nested lists of Python numbers."},
    {"requires_grad_", fn(requires_grad_), kKeywords, nullptr},
    {"retain_grad", retain_grad_, METH_NOARGS, nullptr},
    {"detach_", detach_, METH_NOARGS, nullptr},
    {"_bump_version", bump_version, METH_NOARGS, nullptr},
    {"_set_version", set_version, METH_O, nullptr},
    {"_register_hook", register_hook, METH_O, nullptr},
    {"_register_post_accumulate_grad_hook", register_post_accumulate, METH_O, nullptr},
    {"_remove_hook", remove_hook, METH_O | METH_STATIC, nullptr},
    {"to", fn(to), kKeywords, nullptr},
    {"float", fn(as_dtype<DType::Float>), kKeywords, nullptr},
    {"double", fn(as_dtype<DType::Double>), kKeywords, nullptr},
    {"half", fn(as_dtype<DType::Half>), kKeywords, nullptr},
    {"bfloat16", fn(as_dtype<DType::BFloat16>), kKeywords, nullptr},
    {"long", fn(as_dtype<DType::Int64>), kKeywords, nullptr},
    {"int", fn(as_dtype<DType::Int32>), kKeywords, nullptr},
    {"short", fn(as_dtype<DType::Int16>), kKeywords, nullptr},
    {"char", fn(as_dtype<DType::Int8>), kKeywords, nullptr},
    {"byte", fn(as_dtype<DType::UInt8>), kKeywords, nullptr},
    {"bool", fn(as_dtype<DType::Bool>), kKeywords, nullptr},
    {"chalf", fn(as_dtype<DType::ComplexHalf>), kKeywords, nullptr},
    {"cfloat", fn(as_dtype<DType::ComplexFloat>), kKeywords, nullptr},
    {"cdouble", fn(as_dtype<DType::ComplexDouble>), kKeywords, nullptr},
    {"cpu", fn(cpu), kKeywords, nullptr},
    {"cuda", fn(cuda), kKeywords, nullptr},
    {"set_", fn(set_), kKeywords, nullptr},
    {"resize_", fn(resize_), kKeywords, nullptr},
    {"_make_subclass", fn(make_subclass), kKeywords | METH_STATIC, nullptr},
    {"as_subclass", as_subclass, METH_O, nullptr},
    {}};

int tensor_bool(PyObject* o) {
  PyObject* answer;
  if (overridden(o) && asked_slot("__bool__", &o, 1, answer)) {
    const Owned kept(answer);
    return answer ? PyObject_IsTrue(answer) : -1;
  }
  return guarded([&]() -> int {
    const Tensor& t = self_of(o);
    Told whole(truth_op, &t);
    check(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    check(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    refuse_choice(t);
    const bool truth = number_of(t).to_bool();
    whole.done();
    return truth;
  });
}

void check_one(const Tensor& t) {
  check(t.numel() == 1, ErrorKind::Value, "only one element tensors can be converted to Python "
        "scalars");
}

PyObject* tensor_int(PyObject* o) {
  PyObject* answer;
  if (overridden(o) && asked_slot("__int__", &o, 1, answer)) return answer;
  return guarded([&]() -> PyObject* {
    check_one(self_of(o));
    const Scalar s = number_of(self_of(o));
    check(!s.is_complex(), "value cannot be converted to type int64_t without overflow");
    return s.is_float() ? PyLong_FromDouble(s.to_double())
                        : wrap_number(self_of(o), Scalar(s.to_int()));
  });
}

PyObject* tensor_float(PyObject* o) {
  PyObject* answer;
  if (overridden(o) && asked_slot("__float__", &o, 1, answer)) return answer;
  return guarded([&] {
    static std::atomic<bool> warned{false};
    const Tensor& t = self_of(o);
    check_one(t);
    if (t.needs_grad() && grad_enabled() && !warned.exchange(true)) {
      warn("Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
           "behavior.\nConsider using tensor.detach() first.");
    }
    const Scalar s = number_of(t);
    check(!s.is_complex() || s.to_complex().imag() == 0,
          "value cannot be converted to type double without overflow");
    if (t.dtype() == DType::UInt64) return PyFloat_FromDouble(double(uint64_t(s.to_int())));
    return PyFloat_FromDouble(s.to_double());
  });
}

PyObject* tensor_index(PyObject* o) {
  PyObject* answer;
  if (overridden(o) && asked_slot("__index__", &o, 1, answer)) return answer;
  return guarded([&] {
    const Tensor& t = self_of(o);
    check(t.numel() == 1 && (is_integral(t.dtype()) || t.dtype() == DType::Bool), ErrorKind::Type,
          "only integer tensors of a single element can be converted to an index");
    return wrap_number(t, Scalar(number_of(t).to_int()));
  });
}

Py_ssize_t tensor_length(PyObject* o) {
  PyObject* answer;
  if (overridden(o) && asked_slot("__len__", &o, 1, answer)) {
    const Owned kept(answer);
    return answer ? PyLong_AsSsize_t(answer) : -1;
  }
  return guarded([&]() -> Py_ssize_t {
    const Tensor& t = self_of(o);
    check(t.dim() > 0, ErrorKind::Type, "len() of a 0-d tensor");
    return Py_ssize_t(t.sizes()[0]);
  });
}

Py_hash_t tensor_hash(PyObject* o) { return _Py_HashPointer(o); }

}  // namespace rl::bind
