// numpy arrays and buffers as tensors, tensors as numpy arrays, over the same memory.
#include "bind/interchange.h"
#include "bind/transform.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "autograd/meta.h"
#include "ops/ops.h"

namespace rl::bind {
namespace {

// The array interface's C struct (numpy's documentation, "The array interface protocol").
struct ArrayStruct {
  int two;
  int nd;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* descr;
};
constexpr int kAligned = 0x100, kNotSwapped = 0x200, kWriteable = 0x400;

DType dtype_from(char kind, int itemsize) {
  switch (kind) {
    case 'b': return itemsize == 1 ? DType::Bool : DType::Undefined;
    case 'u':
      return itemsize == 1   ? DType::UInt8
             : itemsize == 2 ? DType::UInt16
             : itemsize == 4 ? DType::UInt32
             : itemsize == 8 ? DType::UInt64
                             : DType::Undefined;
    case 'i':
      return itemsize == 1   ? DType::Int8
             : itemsize == 2 ? DType::Int16
             : itemsize == 4 ? DType::Int32
             : itemsize == 8 ? DType::Int64
                             : DType::Undefined;
    case 'f':
      return itemsize == 2   ? DType::Half
             : itemsize == 4 ? DType::Float
             : itemsize == 8 ? DType::Double
                             : DType::Undefined;
    case 'c':
      return itemsize == 8    ? DType::ComplexFloat
             : itemsize == 16 ? DType::ComplexDouble
                              : DType::Undefined;
    default: return DType::Undefined;
  }
}

char kind_of_elements(DType t) {
  if (is_bool(t)) return 'b';
  if (is_integral(t)) return is_unsigned(t) ? 'u' : 'i';
  return rl::is_complex(t) ? 'c' : 'f';
}

void warn_user(const char* message) { need(PyErr_WarnEx(PyExc_UserWarning, message, 1) == 0); }

// Storage callbacks: whoever owns the memory is let go, from whichever thread.
void drop_reference(void* object) {
  if (!Py_IsInitialized()) return;
  WithLock lock;
  Py_DECREF(static_cast<PyObject*>(object));
}

void drop_buffer(void* context) {
  auto* view = static_cast<Py_buffer*>(context);
  if (Py_IsInitialized()) {
    WithLock lock;
    PyBuffer_Release(view);
  }
  delete view;
}

[[noreturn]] void refuse_elements(PyObject* array) {
  Owned dtype(need(PyObject_GetAttrString(array, "dtype")));
  Owned type(need(PyObject_GetAttrString(dtype.get(), "type")));
  const char* name = PyType_Check(type.get())
                         ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name
                         : "unknown";
  fail(ErrorKind::Type, "can't convert np.ndarray of type ", name,
       ". The only supported types are: float64, float32, float16, complex64, complex128, int64, "
       "int32, int16, int8, uint8, and bool.");
}

// ---- An object that lends a storage to numpy, under the array interface.
struct LentMemory {
  PyObject_HEAD
  Storage* storage;  // a counted reference
  ArrayStruct array;
  Py_ssize_t* layout;  // sizes, then strides
};
PyTypeObject* lent_memory_type = nullptr;

void free_lent_memory(PyObject* object) {
  auto* self = reinterpret_cast<LentMemory*>(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->storage) Storage::release(self->storage);
  PyMem_Free(self->layout);
  type->tp_free(object);
  Py_DECREF(type);
}

// The struct lies in the object, which numpy keeps alive as the array's base.
PyObject* array_struct(PyObject* object, void*) {
  return PyCapsule_New(&reinterpret_cast<LentMemory*>(object)->array, nullptr, nullptr);
}

PyGetSetDef lent_memory_properties[] = {
    {"__array_struct__", array_struct, nullptr, nullptr, nullptr}, {}};
PyType_Slot lent_memory_slots[] = {
    {Py_tp_doc, const_cast<char*>("The memory of a tensor, lent to a numpy array.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_lent_memory)},
    {Py_tp_getset, lent_memory_properties},
    {0, nullptr}};
PyType_Spec lent_memory_spec = {"rushlight._C.LentMemory", sizeof(LentMemory), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                lent_memory_slots};

PyObject* lend(const Tensor& t) {
  Owned object(need(lent_memory_type->tp_alloc(lent_memory_type, 0)));
  auto* self = reinterpret_cast<LentMemory*>(object.get());
  const size_t dim = size_t(t.dim());
  self->layout = PyMem_New(Py_ssize_t, 2 * dim + 1);
  if (!self->layout) throw std::bad_alloc();
  for (size_t d = 0; d < dim; ++d) {
    self->layout[d] = t.sizes()[d];
    self->layout[dim + d] = t.strides()[d] * t.element_size();
  }
  self->array = {2, int(dim), kind_of_elements(t.dtype()), int(t.element_size()),
                 kAligned | kNotSwapped | kWriteable, self->layout, self->layout + dim, t.data(),
                 nullptr};
  self->storage = t.storage().leave();
  self->storage->pin();  // for good, as in PyTorch: the array may have lent its memory on
  return object.leave();
}

void refuse_numpy(const Tensor& t) {
  check(!t.is_meta(), ErrorKind::Type,
        "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
        "host memory first.");
  check(!(grad_enabled() && requires_grad(t)),
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  check(!t.is_conj(),
        "Can't call numpy() on Tensor that has conjugate bit set. Use "
        "tensor.resolve_conj().numpy() instead.");
  check(!t.is_negative(),
        "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() "
        "instead.");
}

Tensor plain_values(const Tensor& t) {
  check(!t.is_meta(), ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  return ops::resolve_neg(ops::resolve_conj(detached(t)));
}

}  // namespace

bool is_ndarray(PyObject* object) {
  for (PyTypeObject* type = Py_TYPE(object); type; type = type->tp_base) {
    if (std::strcmp(type->tp_name, "numpy.ndarray") == 0) return true;
  }
  return false;
}

Tensor tensor_over_ndarray(PyObject* array) {
  Owned capsule(need(PyObject_GetAttrString(array, "__array_struct__")));
  auto* a = static_cast<ArrayStruct*>(PyCapsule_GetPointer(capsule.get(), nullptr));
  need(a != nullptr);
  if (!(a->flags & kWriteable)) {
    static bool warned = false;
    if (!warned) {
      warned = true;
      warn_user("The given NumPy array is not writable, and PyTorch does not support non-writable "
                "tensors. This means writing to this tensor will result in undefined behavior. "
                "You may want to copy the array to protect its data or make it writable before "
                "converting it to a tensor. This type of warning will be suppressed for the rest "
                "of this program.");
    }
  }
  const DType dtype = dtype_from(a->kind, a->itemsize);
  if (dtype == DType::Undefined) refuse_elements(array);
  Dims sizes, strides;
  size_t extent = a->itemsize;  // bytes up to the last element
  for (int d = 0; d < a->nd; ++d) {
    check(a->strides[d] >= 0, ErrorKind::Value,
          "At least one stride in the given numpy array is negative, and tensors with negative "
          "strides are not currently supported. (You can probably work around this by making a "
          "copy of your array  with array.copy().) ");
    check(a->strides[d] % a->itemsize == 0, ErrorKind::Value,
          "given numpy array strides not a multiple of the element byte size. Copy the numpy "
          "array to reallocate the memory.");
    sizes.push_back(a->shape[d]);
    strides.push_back(a->strides[d] / a->itemsize);
    extent = a->shape[d] == 0 || extent == 0 ? 0
                                             : extent + size_t(a->shape[d] - 1) * a->strides[d];
  }
  check(a->flags & kNotSwapped, ErrorKind::Value,
        "given numpy array has byte order different from the native byte order. Conversion "
        "between byte orders is currently not supported.");
  return from_storage(Storage::wrap(a->data, extent, drop_reference, Py_NewRef(array)), sizes,
                      strides, 0, dtype);
}

PyObject* ndarray_over(const Tensor& tensor, bool force) {
  refuse_mapped(tensor);
  if (!force) refuse_numpy(tensor);
  const Tensor t = force ? plain_values(tensor) : tensor;
  check(t.dtype() != DType::BFloat16 && (!is_stored_only(t.dtype()) || is_integral(t.dtype())),
        ErrorKind::Type, "Got unsupported ScalarType ", type_name_of(t.dtype()));
  static PyObject* asarray = nullptr;  // kept: to import a loaded module takes a microsecond
  if (!asarray) {
    Owned numpy(need(PyImport_ImportModule("numpy")));
    asarray = need(PyObject_GetAttrString(numpy.get(), "asarray"));
  }
  Owned memory(lend(t));
  return need(PyObject_CallOneArg(asarray, memory.get()));
}

Tensor tensor_over_buffer(PyObject* object, DType dtype, int64_t count, int64_t offset) {
  check(PyObject_CheckBuffer(object), ErrorKind::Value,
        "object does not implement Python buffer protocol.");
  struct Release {
    void operator()(Py_buffer* view) const { drop_buffer(view); }
  };
  auto fresh = std::make_unique<Py_buffer>();
  bool writable = PyObject_GetBuffer(object, fresh.get(), PyBUF_WRITABLE) == 0;
  if (!writable) {
    PyErr_Clear();
    check(PyObject_GetBuffer(object, fresh.get(), PyBUF_SIMPLE) == 0, ErrorKind::Value,
          "could not retrieve buffer from object");
  }
  std::unique_ptr<Py_buffer, Release> view(fresh.release());
  const int64_t length = view->len, item = item_size(dtype);
  check(length > 0 && count != 0, ErrorKind::Value, "both buffer length (", length,
        ") and count (", count, ") must not be 0");
  check(offset >= 0 && offset < length, ErrorKind::Value, "offset (", offset,
        " bytes) must be non-negative and no greater than buffer length (", length,
        " bytes) minus 1");
  check(count > 0 || (length - offset) % item == 0, ErrorKind::Value, "buffer length (",
        length - offset, " bytes) after offset (", offset,
        " bytes) must be a multiple of element size (", item, ")");
  const int64_t elements = count < 0 ? (length - offset) / item : count;
  check(elements <= (length - offset) / item, ErrorKind::Value, "requested buffer length (",
        elements, " * ", item, " bytes) after offset (", offset,
        " bytes) must not be greater than actual buffer length (", length, " bytes)");
  static bool warned = false;
  if (!writable && !warned) {
    warned = true;
    warn_user("The given buffer is not writable, and PyTorch does not support non-writable "
              "tensors. This means you can write to the underlying (supposedly non-writable) "
              "buffer using the tensor. You may want to copy the buffer to protect its data or "
              "make it writable before converting it to a tensor. This type of warning will be "
              "suppressed for the rest of this program.");
  }
  char* data = static_cast<char*>(view->buf) + offset;
  Ref<Storage> storage = Storage::wrap(data, size_t(elements * item), drop_buffer, view.get());
  view.release();
  return from_storage(std::move(storage), {elements}, {1}, 0, dtype);
}

int add_lent_memory() {
  lent_memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&lent_memory_spec));
  return lent_memory_type ? 0 : -1;
}

}  // namespace rl::bind
