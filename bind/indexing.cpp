// x[...] and x[...] = y: ints, slices, None, Ellipsis, masks, tensors and lists of indices.
#include "bind/construct.h"
#include "bind/hooks.h"
#include "bind/members.h"
#include "bind/op.h"
#include "bind/origin.h"
#include "ops/ops.h"

namespace rl::bind {
namespace {

// The basic part of an index is applied as views; tensors are gathered for index().
struct Indexed {
  Tensor view;
  Tensors tensors;      // undefined where a whole dimension is kept; a mask stands for all of its
  int64_t covered = 0;  // dimensions of the view that `tensors` speaks of
  bool advanced = false;
};

bool is_index_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || is_array(o); }

// How many dimensions an item uses up.
int64_t dims_used(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    return t.dtype() == DType::Bool || t.dtype() == DType::UInt8 ? t.dim() : 1;
  }
  return 1;
}

int64_t to_index(PyObject* o) {
  const long long v = PyLong_Check(o) ? PyLong_AsLongLong(o)
                                      : PyLong_AsLongLong(Owned(need(PyNumber_Index(o))).get());
  need(!(v == -1 && PyErr_Occurred()));
  return v;
}

bool is_integer(PyObject* o) {
  if (PyLong_Check(o)) return !PyBool_Check(o);
  if (is_tensor(o)) return false;
  return PyIndex_Check(o) && !PySequence_Check(o);
}

Tensor select_int(const Tensor& t, int64_t dim, int64_t i) {
  check(t.dim() > 0, ErrorKind::Index, "invalid index of a 0-dim tensor. Use `tensor.item()` in "
        "Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
  const int64_t n = t.sizes()[dim];
  check(i >= -n && i < n, ErrorKind::Index, "index ", i, " is out of bounds for dimension ", dim,
        " with size ", n);
  return ops::select(t, dim, i);
}

// A slice that takes all of a dimension gives a view, too, if `always`; else the tensor itself.
Tensor slice(const Tensor& t, int64_t dim, PyObject* s, bool always) {
  Py_ssize_t start, stop, step;
  need(PySlice_Unpack(s, &start, &stop, &step) == 0);
  check(step > 0, ErrorKind::Value, "step must be greater than zero");
  if (!always && start == 0 && step == 1 && stop >= t.sizes()[dim]) return t;
  return ops::slice(t, dim, int64_t(start), int64_t(stop), int64_t(step));
}

void apply(Indexed& x, PyObject* item, int64_t& dim) {
  if (is_integer(item)) {
    x.view = select_int(x.view, dim, to_index(item));
    return;
  }
  if (PySlice_Check(item)) {
    x.view = slice(x.view, dim++, item, false);
    return;
  }
  if (item == Py_None) {
    x.view = ops::unsqueeze(x.view, dim++);
    return;
  }
  Tensor index;
  if (PyBool_Check(item)) {
    x.view = ops::unsqueeze(x.view, dim);
    index = scalar_tensor(item == Py_True, DType::Bool);
    index = ops::unsqueeze(index, 0);
  } else if (is_tensor(item)) {
    const Tensor& t = tensor_of(item);
    if (t.dim() == 0 && !t->is(kBatched) &&
        (is_integral(t.dtype()) || t.dtype() == DType::Bool)) {
      if (t.dtype() != DType::Bool && t.dtype() != DType::UInt8) {
        check(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
        x.view = select_int(x.view, dim, item_of(t).to_int());
        return;
      }
      x.view = ops::unsqueeze(x.view, dim);
      index = ops::unsqueeze(ops::clone(t, std::nullopt), 0);  // a later change of t counts not
    } else {
      index = t;
    }
  } else if (is_index_sequence(item)) {
    index = tensor_from(item, std::nullopt);
    if (index.numel() == 0 && index.is_floating()) index = ops::to_dtype(index, DType::Int64);
  } else {
    check(!PyUnicode_Check(item), ErrorKind::Type, "new(): invalid data type 'str'");
    fail(ErrorKind::Index, "only integers, slices (`:`), ellipsis (`...`), None and long or byte "
         "Variables are valid indices (got ", Py_TYPE(item)->tp_name, ")");
  }
  check((is_integral(index.dtype()) && !is_wide_unsigned(index.dtype())) ||
            index.dtype() == DType::Bool, ErrorKind::Index,
        "tensors used as indices must be long, int, byte or bool tensors");
  const bool mask = index.dtype() == DType::Bool || index.dtype() == DType::UInt8;
  for (; x.covered < dim; ++x.covered) x.tensors.push_back(Tensor());
  x.tensors.push_back(index);
  x.advanced = true;
  dim += mask ? index.dim() : 1;
  x.covered = dim;
}

// A short sequence with a sequence, slice, tensor, None or Ellipsis in it: numpy's old rule.
bool stands_for_tuple(PyObject* key) {
  if (is_tensor(key) || is_array(key) || !PySequence_Check(key)) return false;
  const Py_ssize_t n = PySequence_Size(key);
  if (n < 0) PyErr_Clear();
  if (n < 0 || n >= 32) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    Owned item(PySequence_GetItem(key, i));
    need(item.get() != nullptr);
    PyObject* o = item.get();
    if (is_tensor(o) || PySequence_Check(o) || PySlice_Check(o)) return true;
    if (o == Py_Ellipsis || o == Py_None) return true;
  }
  return false;
}

Indexed read_index(const Tensor& self, PyObject* key) {
  Indexed x;
  x.view = self;
  if (is_integer(key)) {
    x.view = select_int(self, 0, to_index(key));
    return x;
  }
  if (PySlice_Check(key)) {
    check(self.dim() > 0, ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
    x.view = slice(self, 0, key, false);
    return x;
  }
  if (key == Py_Ellipsis) return x;
  Owned items;
  if (PyTuple_Check(key)) items = Owned::share(key);
  else if (stands_for_tuple(key)) items = Owned(need(PySequence_Tuple(key)));
  else items = Owned(need(PyTuple_Pack(1, key)));
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  int64_t used = 0;
  bool dots = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(items.get(), i);
    dots |= o == Py_Ellipsis;
    used += dims_used(o);
  }
  check(used <= self.dim() || (self.dim() == 0 && used == 0), ErrorKind::Index,
        "too many indices for tensor of dimension ", self.dim());
  int64_t dim = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(items.get(), i);
    if (o == Py_Ellipsis) {
      if (dots) dim += self.dim() - used;
      dots = false;
      continue;
    }
    apply(x, o, dim);
  }
  return x;
}

Tensor take(const Indexed& x) {
  return ops::index(x.view, TensorList(x.tensors));
}

void put(const Indexed& x, const Tensor& value) {
  ops::index_put.in_place(x.view, TensorList(x.tensors), value, false);
}

// A value to be assigned: a tensor, or a number that takes the target's dtype.
Tensor value_for(const Tensor& target, PyObject* value) {
  if (is_tensor(value)) return tensor_of(value);
  Scalar s;
  if (read_scalar(value, s)) {
    if (target.is_meta()) return ops::full({}, s, target.dtype(), target.device());
    return wrapped_number(s);
  }
  if (PyList_Check(value) || PyTuple_Check(value) || is_array(value)) {
    return tensor_from(value, target.dtype());
  }
  fail(ErrorKind::Type, "can't assign a ", Py_TYPE(value)->tp_name, " to a torch.",
       type_name_of(target.dtype()), "Tensor");
}

// A value may have leading dimensions of size one more than the place has.
Tensor without_leading_ones(const Tensor& v, const Tensor& place) {
  int64_t extra = 0;
  while (extra < v.dim() - place.dim() && v.sizes()[extra] == 1) ++extra;
  if (!extra) return v;
  return ops::view_or_reshape(v, Ints(v.sizes().data() + extra, v.sizes().size() - size_t(extra)));
}

PyObject* overridden(PyObject* self, PyObject* key, PyObject* value, const char* name) {
  Owned f(need(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_base_type), name)));
  PyObject* args[3] = {self, key, value};
  return call_override(f.get(), args, value ? 3 : 2, nullptr);
}

bool overrides(PyObject* self, PyObject* key, PyObject* value) {
  if (__builtin_expect(modes() & kFunctionMode, 0)) return true;
  if (is_plain(self) && is_plain(key) && (!value || is_plain(value))) return false;
  PyObject* args[3] = {self, key, value};
  return any_override(args, value ? 3 : 2);
}

}  // namespace

PyObject* tensor_get_item(PyObject* self, PyObject* key) {
  note_origin();
  return guarded([&]() -> PyObject* {
    if (overrides(self, key, nullptr)) {
      PyObject* r = overridden(self, key, nullptr, "__getitem__");
      if (r || PyErr_Occurred()) return r;
    }
    if (PyLong_CheckExact(key)) return wrap(select_int(tensor_of(self), 0, to_index(key)));
    if (PySlice_Check(key)) return wrap(slice(tensor_of(self), 0, key, true));
    const Indexed x = read_index(tensor_of(self), key);
    if (x.advanced) return wrap(take(x));
    if (x.view.same(tensor_of(self))) return wrap(ops::alias_op(x.view));
    return wrap(x.view);
  });
}

int tensor_set_item(PyObject* self, PyObject* key, PyObject* value) {
  note_origin();
  return guarded([&]() -> int {
    check(value, ErrorKind::Type, "Tensor does not support deleting items");
    if (overrides(self, key, value)) {
      Owned r(overridden(self, key, value, "__setitem__"));
      if (r) return 0;
      need(!PyErr_Occurred());
    }
    const Indexed x = read_index(tensor_of(self), key);
    const Tensor v = value_for(x.view, value);
    if (x.advanced) {
      put(x, v.dtype() == x.view.dtype() ? v : ops::to_dtype(v, x.view.dtype()));
      return 0;
    }
    Tensor placed = without_leading_ones(v, x.view);
    if (placed.sizes() != x.view.sizes()) placed = ops::expand(placed, x.view.sizes(), false);
    ops::copy_(x.view, placed);
    return 0;
  });
}

}  // namespace rl::bind
