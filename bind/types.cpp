// dtype, device, layout, memory_format, Size and Generator as Python objects.
#include "bind/types.h"

#include <cstring>

#include "ops/promotion.h"

namespace rl::bind {

PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *size_type,
    *generator_type;

namespace {

PyObject* dtypes[kDTypes];
PyObject* layouts[1];
PyObject* formats[4];

PyTypeObject* make(PyObject* module, const char* name, size_t size, PyType_Slot* slots,
                   PyObject* bases = nullptr) {
  PyType_Spec spec = {name, int(size), 0, Py_TPFLAGS_DEFAULT, slots};
  auto* t = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases));
  if (!t) return nullptr;
  if (PyModule_AddObjectRef(module, std::strrchr(name, '.') + 1, reinterpret_cast<PyObject*>(t)))
    return nullptr;
  return t;
}

// ---- dtype

PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", name_of(dtype_of(o))); }
PyObject* dtype_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(name_of(dtype_of(o))); }
PyObject* dtype_itemsize(PyObject* o, void*) { return PyLong_FromLongLong(item_size(dtype_of(o))); }
PyObject* dtype_floating(PyObject* o, void*) { return py_bool(is_floating(dtype_of(o))); }
PyObject* dtype_complex(PyObject* o, void*) { return py_bool(is_complex(dtype_of(o))); }
PyObject* dtype_signed(PyObject* o, void*) {
  return py_bool(has_sign(dtype_of(o)));
}
PyObject* dtype_to_complex(PyObject* o, PyObject*) {
  return guarded([&] {
    const DType t = dtype_of(o);
    const bool known = !is_stored_only(t) && (is_floating(t) || rl::is_complex(t));
    check(known, "Unknown Complex ScalarType for ", type_name_of(t));
    return wrap_dtype(complex_of(t));
  });
}
PyObject* dtype_to_real(PyObject* o, PyObject*) {
  return guarded([&] { return wrap_dtype(real_of(dtype_of(o))); });
}
PyGetSetDef dtype_properties[] = {
    {"itemsize", dtype_itemsize, nullptr, "Bytes per element.", nullptr},
    {"is_floating_point", dtype_floating, nullptr, nullptr, nullptr},
    {"is_complex", dtype_complex, nullptr, nullptr, nullptr},
    {"is_signed", dtype_signed, nullptr, nullptr, nullptr},
    {}};
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_complex", dtype_to_complex, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, nullptr},
                               {}};

// ---- device

const Device& device_of(PyObject* o) { return reinterpret_cast<DeviceObject*>(o)->device; }

struct DeviceName { const char* name; int number; };
constexpr DeviceName kDeviceNames[] = {{"cpu", 0}, {"cuda", 1}, {"mkldnn", 2}, {"xla", 9},
                                       {"mps", 13}, {"meta", 14}, {"hpu", 15}, {"xpu", 12}};
const char* device_name(DeviceType t) {
  for (const DeviceName& d : kDeviceNames)
    if (d.number == int(t)) return d.name;
  return "privateuseone";
}

PyObject* device_str(PyObject* o) {
  const Device& d = device_of(o);
  if (d.index < 0) return PyUnicode_FromString(device_name(d.type));
  return PyUnicode_FromFormat("%s:%d", device_name(d.type), int(d.index));
}
PyObject* device_repr(PyObject* o) {
  const Device& d = device_of(o);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", device_name(d.type));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", device_name(d.type), int(d.index));
}
PyObject* device_kind(PyObject* o, void*) { return PyUnicode_FromString(device_name(device_of(o).type)); }
PyObject* device_index(PyObject* o, void*) {
  if (device_of(o).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(device_of(o).index);
}
Py_hash_t device_hash(PyObject* o) { return int(device_of(o).type) * 1000 + device_of(o).index + 1; }
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return py_bool((device_of(a) == device_of(b)) == (op == Py_EQ));
}
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *first = nullptr, *index = Py_None;
    static const char* names[] = {"type", "index", nullptr};
    need(PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &first,
                                     &index));
    Device d;
    if (!read_device(first, d)) {
      fail(ErrorKind::Type, "device(): argument 'type' must be str, not ", Py_TYPE(first)->tp_name);
    }
    if (index != Py_None) {
      check(d.index < 0, "type (string) must not include an index because index was passed "
            "explicitly: ", PyUnicode_Check(first) ? utf8_of(first) : "");
      const long i = PyLong_AsLong(index);
      need(!(i == -1 && PyErr_Occurred()));
      check(i >= 0, "Device index must not be negative");
      d.index = int8_t(i);
    }
    return wrap_device(d);
  });
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  const Device& d = device_of(o);
  if (d.index < 0) return Py_BuildValue("O(s)", Py_TYPE(o), device_name(d.type));
  return Py_BuildValue("O(si)", Py_TYPE(o), device_name(d.type), int(d.index));
}
PyGetSetDef device_properties[] = {{"type", device_kind, nullptr, nullptr, nullptr},
                                   {"index", device_index, nullptr, nullptr, nullptr},
                                   {}};
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {}};

// ---- layout, memory_format

PyObject* named_repr(PyObject* o) {
  return PyUnicode_FromFormat("torch.%s", reinterpret_cast<NamedObject*>(o)->name);
}
PyObject* named_reduce(PyObject* o, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<NamedObject*>(o)->name);
}
PyMethodDef named_methods[] = {{"__reduce__", named_reduce, METH_NOARGS, nullptr}, {}};

// As PyTorch writes layouts: files of weights only allow the function, and not the names.
PyObject* layout_reduce(PyObject* o, PyObject*) {
  const Owned home(PyImport_ImportModule("rushlight.serialization"));
  if (!home) return nullptr;
  const Owned named(PyObject_GetAttrString(home.get(), "_get_layout"));
  if (!named) return nullptr;
  return Py_BuildValue("O(N)", named.get(), named_repr(o));
}
PyMethodDef layout_methods[] = {{"__reduce__", layout_reduce, METH_NOARGS, nullptr}, {}};

PyObject* make_named(PyObject* module, PyTypeObject* type, int value, const char* name) {
  auto* o = PyObject_New(NamedObject, type);
  if (!o) return nullptr;
  o->value = value;
  o->name = name;
  if (PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(o)) < 0) return nullptr;
  return reinterpret_cast<PyObject*>(o);
}

// ---- Size: a tuple of ints

PyObject* size_repr(PyObject* o) {
  std::string s = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    Owned item(PyObject_Repr(PyTuple_GET_ITEM(o, i)));
    if (!item) return nullptr;
    const char* text = PyUnicode_AsUTF8(item.get());
    if (!text) return nullptr;
    if (i) s += ", ";
    s += text;
  }
  return PyUnicode_FromString((s + "])").c_str());
}
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Owned made(PyTuple_Type.tp_new(type, args, kwargs));
  if (!made) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(made.get(), i);
    if (PyLong_Check(item)) continue;
    Owned number(PyIndex_Check(item) ? PyNumber_Index(item) : nullptr);
    if (!number) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError,
                   "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   Py_TYPE(item)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(made.get(), i, number.leave());
    Py_DECREF(item);
  }
  return made.leave();
}
PyObject* size_from(PyObject* tuple) {  // keeps Size through slices and sums
  if (!tuple) return nullptr;
  Owned t(tuple);
  if (!PyTuple_Check(tuple)) return t.leave();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), tuple);
}
PyObject* size_concat(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return size_from(PySequence_Concat(Owned(PySequence_Tuple(a)).get(), Owned(PySequence_Tuple(b)).get()));
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) {
  return size_from(PyTuple_Type.tp_as_sequence->sq_repeat(a, n));
}
PyObject* size_subscript(PyObject* a, PyObject* key) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(a, key);
  return PySlice_Check(key) ? size_from(r) : r;
}
PyObject* size_numel(PyObject* o, PyObject*) {
  long long n = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) n *= PyLong_AsLongLong(PyTuple_GET_ITEM(o, i));
  return PyErr_Occurred() ? nullptr : PyLong_FromLongLong(n);
}
PyObject* size_reduce(PyObject* o, PyObject*) {
  Owned plain(PyTuple_GetSlice(o, 0, PyTuple_GET_SIZE(o)));
  Owned list(PySequence_Tuple(plain.get()));
  return Py_BuildValue("O(O)", Py_TYPE(o), list.get());
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The product of the sizes."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {}};

}  // namespace

PyObject* wrap_dtype(DType t) {
  Py_INCREF(dtypes[int(t)]);
  return dtypes[int(t)];
}

PyObject* wrap_device(Device d) {
  auto* o = PyObject_New(DeviceObject, device_type);
  if (o) o->device = d;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap_ints(Ints list) {
  Owned t(PyTuple_New(Py_ssize_t(list.size())));
  for (size_t i = 0; t && i < list.size(); ++i)
    PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), PyLong_FromLongLong(list[i]));
  return t.leave();
}

PyObject* wrap_size(Ints sizes) {
  PyObject* t = size_type->tp_alloc(size_type, Py_ssize_t(sizes.size()));
  for (size_t i = 0; t && i < sizes.size(); ++i)
    PyTuple_SET_ITEM(t, Py_ssize_t(i), PyLong_FromLongLong(sizes[i]));
  return t;
}

PyObject* wrap_scalar(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::kBool: return py_bool(s.to_bool());
    case Scalar::kInt: return PyLong_FromLongLong(s.to_int());
    case Scalar::kFloat: return PyFloat_FromDouble(s.to_double());
    default: return PyComplex_FromDoubles(s.to_complex().real(), s.to_complex().imag());
  }
}

PyObject* strided_layout() {
  Py_INCREF(layouts[0]);
  return layouts[0];
}

bool read_dtype(PyObject* o, DType& t) {
  if (Py_TYPE(o) == dtype_type) t = dtype_of(o);
  else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) t = DType::Double;
  else if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) t = DType::Bool;
  else if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) t = DType::Int64;
  else if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) t = DType::ComplexDouble;
  else return false;
  return true;
}

Device parse_device(std::string_view s) {
  const size_t colon = s.find(':');
  const std::string_view name = s.substr(0, colon);
  for (const DeviceName& d : kDeviceNames) {
    if (name != d.name) continue;
    Device r{DeviceType(d.number), -1};
    if (colon == std::string_view::npos) return r;
    const std::string digits(s.substr(colon + 1));
    check(!digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos &&
              digits.size() < 4 && (digits.size() == 1 || digits[0] != '0'),
          "Invalid device string: '", s, "'");
    r.index = int8_t(std::atoi(digits.c_str()));
    return r;
  }
  check(!name.empty() && s.find_first_of(" !") == std::string_view::npos,
        s.empty() ? "Device string must not be empty" : "Invalid device string: '", s.empty() ? "" : s,
        s.empty() ? "" : "'");
  fail(ErrorKind::Runtime, "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, "
       "ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start "
       "of device string: ", name);
}

bool read_device(PyObject* o, Device& d) {
  if (Py_TYPE(o) == device_type) {
    d = device_of(o);
    return true;
  }
  if (PyUnicode_Check(o)) {
    d = parse_device(utf8_of(o));
    return true;
  }
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    check(PyLong_AsLong(o) >= 0, "Device index must not be negative");
    fail(ErrorKind::Runtime, "Cannot access accelerator device when none is available.");
  }
  return false;
}

bool read_scalar(PyObject* o, Scalar& s) {
  if (PyFloat_Check(o)) s = PyFloat_AS_DOUBLE(o);
  else if (PyBool_Check(o)) s = o == Py_True;
  else if (PyLong_Check(o)) {
    int over = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &over);
    if (over) fail(ErrorKind::Runtime, "Overflow when unpacking long long");
    s = int64_t(v);
  } else if (PyComplex_Check(o)) {
    const Py_complex c = PyComplex_AsCComplex(o);
    s = std::complex<double>(c.real, c.imag);
  } else if (Py_TYPE(o)->tp_as_number && !is_tensor(o) &&
             std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0) {
    // numpy's scalars: by the protocol, so that numpy is not needed to recognise them.
    if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") == 0) return false;
    if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0) {
      const int v = PyObject_IsTrue(o);
      need(v >= 0);
      s = v != 0;
      return true;
    }
    Owned n;
    if (PyIndex_Check(o)) n = Owned(need(PyNumber_Index(o)));
    else if (std::strstr(Py_TYPE(o)->tp_name, "complex")) n = Owned(need(PyNumber_Positive(o))), n = Owned(need(PyObject_CallMethod(o, "item", nullptr)));
    else if (Py_TYPE(o)->tp_as_number->nb_float) n = Owned(need(PyNumber_Float(o)));
    else return false;
    return read_scalar(n.get(), s);
  } else {
    return false;
  }
  return true;
}

int add_types(PyObject* module) {
#define SLOT(name, value) {Py_##name, reinterpret_cast<void*>(value)}
  PyType_Slot dtype_slots[] = {SLOT(tp_repr, dtype_repr), SLOT(tp_getset, dtype_properties),
                               SLOT(tp_methods, dtype_methods), {0, nullptr}};
  PyType_Slot device_slots[] = {SLOT(tp_repr, device_repr), SLOT(tp_str, device_str),
                                SLOT(tp_hash, device_hash), SLOT(tp_richcompare, device_compare),
                                SLOT(tp_new, device_new), SLOT(tp_getset, device_properties),
                                SLOT(tp_methods, device_methods), {0, nullptr}};
  PyType_Slot named_slots[] = {SLOT(tp_repr, named_repr), SLOT(tp_methods, named_methods),
                               {0, nullptr}};
  PyType_Slot layout_slots[] = {SLOT(tp_repr, named_repr), SLOT(tp_methods, layout_methods),
                                {0, nullptr}};
  PyType_Slot size_slots[] = {SLOT(tp_repr, size_repr), SLOT(tp_new, size_new),
                              SLOT(sq_concat, size_concat), SLOT(sq_repeat, size_repeat),
                              SLOT(mp_subscript, size_subscript), SLOT(tp_methods, size_methods),
                              {0, nullptr}};
#undef SLOT
  dtype_type = make(module, "torch.dtype", sizeof(DTypeObject), dtype_slots);
  device_type = make(module, "torch.device", sizeof(DeviceObject), device_slots);
  layout_type = make(module, "torch.layout", sizeof(NamedObject), layout_slots);
  memory_format_type = make(module, "torch.memory_format", sizeof(NamedObject), named_slots);
  Owned tuple(PyTuple_Pack(1, &PyTuple_Type));
  size_type = make(module, "torch.Size", 0, size_slots, tuple.get());
  if (!dtype_type || !device_type || !layout_type || !memory_format_type || !size_type) return -1;
  constexpr struct { DType t; const char* names[3]; } kNames[] = {
      {DType::UInt8, {"uint8"}}, {DType::Int8, {"int8"}}, {DType::Int16, {"int16", "short"}},
      {DType::Int32, {"int32", "int"}}, {DType::Int64, {"int64", "long"}},
      {DType::Half, {"float16", "half"}}, {DType::Float, {"float32", "float"}},
      {DType::Double, {"float64", "double"}}, {DType::ComplexFloat, {"complex64", "cfloat"}},
      {DType::ComplexDouble, {"complex128", "cdouble"}}, {DType::Bool, {"bool"}},
      {DType::BFloat16, {"bfloat16"}}, {DType::ComplexHalf, {"complex32", "chalf"}},
      {DType::UInt16, {"uint16"}}, {DType::UInt32, {"uint32"}}, {DType::UInt64, {"uint64"}},
      {DType::Float8_e5m2, {"float8_e5m2"}}, {DType::Float8_e4m3fn, {"float8_e4m3fn"}},
      {DType::Float8_e5m2fnuz, {"float8_e5m2fnuz"}}, {DType::Float8_e4m3fnuz, {"float8_e4m3fnuz"}},
      {DType::Float8_e8m0fnu, {"float8_e8m0fnu"}}, {DType::Float4_e2m1fn_x2, {"float4_e2m1fn_x2"}}};
  for (const auto& n : kNames) {
    auto* o = PyObject_New(DTypeObject, dtype_type);
    if (!o) return -1;
    o->dtype = n.t;
    dtypes[int(n.t)] = reinterpret_cast<PyObject*>(o);
    for (const char* name : n.names)
      if (name && PyModule_AddObjectRef(module, name, dtypes[int(n.t)]) < 0) return -1;
  }
  layouts[0] = make_named(module, layout_type, 0, "strided");
  if (!layouts[0] || !make_named(module, layout_type, 1, "sparse_coo")) return -1;
  const char* names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  for (int i = 0; i < 4; ++i)
    if (!(formats[i] = make_named(module, memory_format_type, i, names[i]))) return -1;
  return 0;
}

}  // namespace rl::bind
