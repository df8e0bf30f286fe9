// Tensors out of Python data.
#include "bind/construct.h"

#include "autograd/meta.h"
#include "bind/interchange.h"
#include "bind/members.h"
#include "bind/op.h"
#include "bind/origin.h"
#include "bind/storage.h"
#include "bind/told.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace rl::bind {
namespace {

bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) ||
         (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o));
}

// Sizes of a nested sequence, taken from the first item of each level; a tensor in it is a number.
Dims sizes_of(PyObject* o) {
  Dims sizes;
  Owned at = Owned::share(o);
  while (is_sequence(at.get()) || PyUnicode_Check(at.get())) {
    check(!PyUnicode_Check(at.get()), ErrorKind::Value, "too many dimensions 'str'");
    const Py_ssize_t n = PyObject_Length(at.get());
    need(n >= 0);
    sizes.push_back(n);
    check(sizes.size() <= 64, ErrorKind::Value, "too many dimensions '", Py_TYPE(o)->tp_name, "'");
    if (n == 0) break;
    at = Owned(need(PySequence_GetItem(at.get(), 0)));
  }
  return sizes;
}

// numpy's scalars keep their own dtype; Undefined for anything else.
DType dtype_of_numpy_scalar(PyObject* o) {
  const std::string_view kind(Py_TYPE(o)->tp_name);
  if (kind.substr(0, 6) != "numpy.") return DType::Undefined;
  static constexpr std::pair<std::string_view, DType> kinds[] = {
      {"float64", DType::Double}, {"float32", DType::Float}, {"float16", DType::Half},
      {"int64", DType::Int64}, {"int32", DType::Int32}, {"int16", DType::Int16},
      {"int8", DType::Int8}, {"uint8", DType::UInt8}, {"uint16", DType::UInt16},
      {"uint32", DType::UInt32}, {"uint64", DType::UInt64}, {"bool", DType::Bool},
      {"bool_", DType::Bool}, {"complex64", DType::ComplexFloat},
      {"complex128", DType::ComplexDouble}};
  for (const auto& [name, dtype] : kinds)
    if (kind.substr(6) == name) return dtype;
  return DType::Undefined;
}

// A level of nested sequences; those that hold each other have no end.
struct Level {
  Level() { need(Py_EnterRecursiveCall(" while the items of a sequence are read") == 0); }
  ~Level() { Py_LeaveRecursiveCall(); }
  Level(const Level&) = delete;
};

DType dtype_of_item(PyObject* o) {
  if (is_tensor(o)) return tensor_of(o).dtype();
  if (PyFloat_CheckExact(o)) return default_dtype();
  if (const DType t = dtype_of_numpy_scalar(o); t != DType::Undefined) return t;
  if (PyFloat_Check(o)) return default_dtype();
  if (PyBool_Check(o)) return DType::Bool;
  if (PyLong_Check(o)) return DType::Int64;
  if (PyComplex_Check(o)) return complex_of(default_dtype());
  if (is_sequence(o)) {
    DType t = DType::Undefined;
    const Py_ssize_t n = PySequence_Length(o);
    need(n >= 0);
    if (n == 0) return default_dtype();
    const Level one_more;
    for (Py_ssize_t i = 0; i < n; ++i) {
      const Owned item(need(PySequence_GetItem(o, i)));
      check(item.get() != o, ErrorKind::Type, "new(): self-referential lists are incompatible");
      t = promote(t, dtype_of_item(item.get()));
      if (t == DType::ComplexDouble) break;
    }
    return t;
  }
  Scalar s;
  if (read_scalar(o, s)) return s.is_float() ? DType::Double : s.dtype();
  if (PyUnicode_Check(o)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
  fail(ErrorKind::Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
}

// An element of uint64: a whole number, of which a Scalar would hold no more than int64 does.
uint64_t unsigned_number(PyObject* o) {
  check(PyIndex_Check(o), ErrorKind::Type, "an integer is required");
  const Owned number(need(PyNumber_Index(o)));
  const unsigned long long v = PyLong_AsUnsignedLongLong(number.get());
  need(!PyErr_Occurred());
  return v;
}

void store_item(char* p, DType t, PyObject* o) {
  if (t == DType::UInt64 && !is_tensor(o)) {
    const uint64_t v = unsigned_number(o);
    std::memcpy(p, &v, sizeof v);
    return;
  }
  Scalar s;
  int overflow = 0;
  if (PyLong_CheckExact(o) && (PyLong_AsLongLongAndOverflow(o, &overflow), overflow)) {
    check(is_differentiable(t), ErrorKind::Value, "Overflow when unpacking long long");
    s = Scalar(PyLong_AsDouble(o));
    need(!PyErr_Occurred());
  } else if (is_tensor(o)) {
    const Tensor& one = tensor_of(o);
    check(one.numel() == 1, ErrorKind::Value, "only one element tensors can be converted to Python "
          "scalars");
    s = item_of(one);
  } else if (!read_scalar(o, s)) {
    check(!is_integral(t), ErrorKind::Type, "'", Py_TYPE(o)->tp_name,
          "' object cannot be interpreted as an integer");
    fail(ErrorKind::Type, "must be real number, not ", Py_TYPE(o)->tp_name);
  }
  if (is_integral(t)) {
    check(!s.is_complex(), ErrorKind::Type, "int() argument must be a string, a bytes-like object or "
          "a real number, not 'complex'");
    const int64_t v = s.to_int();
    const int bits = int(item_size(t)) * 8;
    const bool fits = bits == 64 || (is_unsigned(t) ? v > -(int64_t(1) << bits) && v < int64_t(1) << bits
                                                       : v >= -(int64_t(1) << (bits - 1)) &&
                                                             v < (int64_t(1) << (bits - 1)));
    check(fits && (!s.is_float() || s.to_double() == s.to_double()), "value cannot be converted to type ",
          name_of(t), " without overflow");
  } else if (s.is_complex() && !is_complex(t) && t != DType::Bool) {
    fail(ErrorKind::Type, "must be real number, not complex");
  }
  dispatch_stored(t, [&](auto* q) {
    using T = pointee<decltype(q)>;
    *reinterpret_cast<T*>(p) = s.to<T>();
  });
}

char* store_all(char* p, DType t, PyObject* o, Ints sizes, size_t level) {
  if (level == sizes.size()) {
    store_item(p, t, o);
    return p + item_size(t);
  }
  const Py_ssize_t n = PyObject_Length(o);
  if (n < 0) {
    PyErr_Clear();
    fail(ErrorKind::Type, "not a sequence");
  }
  check(n == sizes[level], ErrorKind::Value, "expected sequence of length ", sizes[level], " at dim ",
        int64_t(level), " (got ", int64_t(n), ")");
  if (PyList_Check(o) || PyTuple_Check(o)) {
    for (Py_ssize_t i = 0; i < n; ++i) {
      check(PySequence_Fast_GET_SIZE(o) == n, "the sequence changed while it was read");
      const Owned item = Owned::share(PySequence_Fast_GET_ITEM(o, i));
      p = store_all(p, t, item.get(), sizes, level + 1);
    }
    return p;
  }
  if (is_tensor(o)) {  // no sequence to Python, but iterable
    const Owned rows(need(PySequence_Tuple(o)));
    return store_all(p, t, rows.get(), sizes, level);
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Owned item(need(PySequence_GetItem(o, i)));
    p = store_all(p, t, item.get(), sizes, level + 1);
  }
  return p;
}

struct Options {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool requires_grad = false;
};

void read_options(PyObject* dtype, PyObject* device, Options& o) {
  if (dtype && dtype != Py_None) {
    DType t;
    check(read_dtype(dtype, t), ErrorKind::Type, "tensor(): argument 'dtype' must be torch.dtype, "
          "not ", Py_TYPE(dtype)->tp_name);
    o.dtype = t;
  }
  if (device && device != Py_None) {
    Device d;
    check(read_device(device, d), ErrorKind::Type, "tensor(): argument 'device' must be "
          "torch.device, not ", Py_TYPE(device)->tp_name);
    if (d.type == DeviceType::CUDA) fail(ErrorKind::Assertion, "Torch not compiled with CUDA enabled");
    o.device = d;
  }
}

Tensor on_device(Tensor t, const Options& o) {
  if (o.device && !(o.device->type == t.device().type)) return ops::to_copy(t, std::nullopt, o.device, std::nullopt);
  return t;
}

// A function mode hears of these, too; null and no exception when none answers.
PyObject* ask_mode(PyObject* module, const char* name, PyObject* args, PyObject* kwargs) {
  if (__builtin_expect(!(modes() & kFunctionMode), 1)) return nullptr;
  Owned function(need(PyObject_GetAttrString(module, name)));
  std::vector<PyObject*> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) values.push_back(PyTuple_GET_ITEM(args, i));
  Owned names(need(PyList_New(0)));
  PyObject *key, *value;
  for (Py_ssize_t p = 0; kwargs && PyDict_Next(kwargs, &p, &key, &value);) {
    need(PyList_Append(names.get(), key) == 0);
    values.push_back(value);
  }
  Owned keys(need(PyList_AsTuple(names.get())));
  PyObject* r = call_override(function.get(), values.data(), PyTuple_GET_SIZE(args), keys.get());
  if (!r && PyErr_Occurred()) throw PythonError();
  return r;
}

// tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)
PyObject* tensor_(PyObject* module, PyObject* args, PyObject* kwargs) {
  note_origin();
  return guarded([&]() -> PyObject* {
    if (PyObject* r = ask_mode(module, "tensor", args, kwargs)) return r;
    check(PyTuple_GET_SIZE(args) > 0 || (kwargs && PyDict_GetItemString(kwargs, "data")),
          ErrorKind::Type, "tensor() missing 1 required positional arguments: \"data\"");
    PyObject *data, *dtype = nullptr, *device = nullptr;
    int grad = 0, pin = 0;
    static const char* names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp:tensor", const_cast<char**>(names), &data,
                                     &dtype, &device, &grad, &pin));
    Options o;
    read_options(dtype, device, o);
    if (is_tensor(data)) {
      warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
           "or sourceTensor.detach().clone().requires_grad_(True), rather than "
           "torch.tensor(sourceTensor).");
    }
    NoGrad quiet;
    Told whole(data_op);
    Tensor t = whole.done(on_device(tensor_from(data, o.dtype), o));
    if (grad) set_requires_grad(t, true);
    return wrap(std::move(t));
  });
}

// as_tensor(data, dtype=None, device=None): shares memory where it can
PyObject* as_tensor(PyObject* module, PyObject* args, PyObject* kwargs) {
  note_origin();
  return guarded([&]() -> PyObject* {
    if (PyObject* r = ask_mode(module, "as_tensor", args, kwargs)) return r;
    PyObject *data, *dtype = nullptr, *device = nullptr;
    static const char* names[] = {"data", "dtype", "device", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:as_tensor", const_cast<char**>(names), &data,
                                     &dtype, &device));
    Options o;
    read_options(dtype, device, o);
    if (is_tensor(data)) {
      const Tensor& t = tensor_of(data);
      const bool same = (!o.dtype || *o.dtype == t.dtype()) &&
                        (!o.device || o.device->type == t.device().type);
      if (same) {
        Py_INCREF(data);
        return data;
      }
      return wrap(ops::to_copy(t, o.dtype, o.device, std::nullopt));
    }
    if (is_array(data)) {
      Told whole(data_op);
      Tensor t = tensor_over_ndarray(data);
      if (o.dtype && *o.dtype != t.dtype()) t = ops::to_dtype(t, *o.dtype);
      return wrap(whole.done(on_device(t, o)));
    }
    Told whole(data_op);
    return wrap(whole.done(on_device(tensor_from(data, o.dtype), o)));
  });
}

}  // namespace

Tensor tensor_from(PyObject* data, std::optional<DType> dtype) {
  if (is_tensor(data)) {
    const Tensor t = detached(tensor_of(data));
    return ops::to_copy(t, dtype ? dtype : std::optional<DType>(t.dtype()), std::nullopt, std::nullopt);
  }
  if (is_array(data)) {
    const Tensor t = tensor_over_ndarray(data);
    return ops::to_copy(t, dtype ? dtype : std::optional<DType>(t.dtype()), std::nullopt, std::nullopt);
  }
  if (PyUnicode_Check(data)) fail(ErrorKind::Type, "new(): invalid data type 'str'");
  const Dims sizes = sizes_of(data);
  const DType t = dtype ? *dtype : dtype_of_item(data);
  Tensor result = empty(sizes, t);
  if (result.numel() > 0) store_all(result.data(), t, data, sizes, 0);
  return result;
}

bool is_array(PyObject* o) {
  if (PyList_Check(o) || PyTuple_Check(o) || PyLong_Check(o) || PyFloat_Check(o)) return false;
  return is_ndarray(o);
}

// Tensor(...): the legacy constructor: sizes, a sequence, or another tensor.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  note_origin();
  return guarded([&]() -> PyObject* {
    NoGrad quiet;
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject* first = n ? PyTuple_GET_ITEM(args, 0) : nullptr;
    if (!first && kwargs) first = PyDict_GetItemString(kwargs, "data");
    Tensor t;
    if (!first) {
      t = empty({0}, default_dtype());
    } else if (n <= 1 && is_tensor(first)) {
      t = detached(tensor_of(first));
    } else if (n <= 1 && is_storage(first)) {
      const Ref<Storage> s = storage_of(first);
      const int64_t count = int64_t(s->nbytes()) / item_size(default_dtype());
      t = from_storage(s, {count}, {1}, 0, default_dtype());
    } else if (PyLong_Check(first) || Py_TYPE(first) == size_type) {
      Dims sizes;
      PyObject* list = Py_TYPE(first) == size_type ? first : args;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); ++i)
        sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(list, i)));
      need(!PyErr_Occurred());
      t = empty(sizes, default_dtype());
    } else {
      check(n <= 1, ErrorKind::Type, "new() received an invalid combination of arguments");
      check(is_sequence(first) || is_array(first), ErrorKind::Type, "new(): data must be a sequence (got ",
            Py_TYPE(first)->tp_name, ")");
      t = tensor_from(first, default_dtype());
    }
    return wrap_as(type == tensor_base_type ? tensor_type : type, t);
  });
}

namespace {
PyMethodDef functions[] = {
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(tensor_)),
     METH_VARARGS | METH_KEYWORDS, "A tensor with the data's values, copied."},
    {"as_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(as_tensor)),
     METH_VARARGS | METH_KEYWORDS, "A tensor that shares the data's memory where it can."},
    {}};
}

int add_construct(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace rl::bind
