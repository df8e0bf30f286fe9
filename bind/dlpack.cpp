// DLPack capsules out of tensors and tensors out of capsules, versioned and unversioned.
#include <memory>
#include <type_traits>

#include "autograd/meta.h"
#include "bind/interchange.h"
#include "bind/transform.h"

namespace rl::bind {
namespace {

// The binary interface of DLPack 1.0 (dmlc.github.io/dlpack, "DLPack C API").
struct DLDevice { int32_t type, id; };
struct DLDataType { uint8_t code, bits; uint16_t lanes; };
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  static constexpr const char *kName = "dltensor", *kUsed = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  static constexpr const char *kName = "dltensor_versioned", *kUsed = "used_dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
enum Code : uint8_t {
  kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6, kE4m3fn = 10,
  kE4m3fnuz = 11, kE5m2 = 12, kE5m2fnuz = 13, kE8m0fnu = 14, kE2m1fn = 17
};
constexpr int32_t kCpu = 1;

DLDataType element_type(DType t) {
  switch (t) {
    case DType::Float8_e4m3fn: return {kE4m3fn, 8, 1};
    case DType::Float8_e4m3fnuz: return {kE4m3fnuz, 8, 1};
    case DType::Float8_e5m2: return {kE5m2, 8, 1};
    case DType::Float8_e5m2fnuz: return {kE5m2fnuz, 8, 1};
    case DType::Float8_e8m0fnu: return {kE8m0fnu, 8, 1};
    case DType::Float4_e2m1fn_x2: return {kE2m1fn, 4, 2};
    default: break;
  }
  const auto bits = uint8_t(8 * item_size(t));
  const Code code = is_bool(t)                ? kBool
                    : is_unsigned(t)          ? kUInt
                    : is_integral(t)          ? kInt
                    : t == DType::BFloat16    ? kBfloat
                    : rl::is_complex(t)       ? kComplex
                                              : kFloat;
  return {code, bits, 1};
}

DType dtype_from(DLDataType t) {
  for (DType d : {DType::UInt8, DType::Int8, DType::Int16, DType::Int32, DType::Int64, DType::Half,
                  DType::Float, DType::Double, DType::ComplexFloat, DType::ComplexDouble,
                  DType::Bool, DType::BFloat16, DType::UInt16, DType::UInt32, DType::UInt64,
                  DType::Float8_e4m3fn, DType::Float8_e4m3fnuz, DType::Float8_e5m2,
                  DType::Float8_e5m2fnuz, DType::Float8_e8m0fnu, DType::Float4_e2m1fn_x2}) {
    const DLDataType own = element_type(d);
    if (own.code == t.code && own.bits == t.bits && own.lanes == t.lanes) return d;
  }
  fail(ErrorKind::Runtime, "Unsupported kind of DLPack element: code ", int(t.code), ", ",
       int(t.bits), " bits, ", int(t.lanes), " lanes");
}

// What an exported tensor needs while its capsule, or whoever took it, lives.
template <class Managed> struct Export {
  Managed managed;
  Tensor tensor;
  Dims strides;
};

template <class Managed> void free_export(Managed* managed) {
  delete static_cast<Export<Managed>*>(managed->context);
}

template <class Managed> void free_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, Managed::kName)) return;  // its taker deletes it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed> PyObject* make_capsule(const Tensor& t) {
  auto out = std::make_unique<Export<Managed>>();
  t->storage->pin();
  out->tensor = alias(t);  // sizes of its own, whatever becomes of t's
  out->strides = Dims(t.strides());
  // A dimension of size 1 or 0 is never stepped through: others ask for strides of 1 there.
  for (size_t d = 0; d < out->strides.size(); ++d) {
    if (t.sizes()[d] < 2) out->strides[d] = 1;
  }
  Managed& managed = out->managed;
  managed = {};
  managed.tensor = {t.numel() ? t.data() : nullptr, {kCpu, 0}, int32_t(t.dim()),
                    element_type(t.dtype()), out->tensor->sizes, out->strides.data(), 0};
  managed.context = out.get();
  managed.deleter = free_export<Managed>;
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.major = 1;
  PyObject* capsule = need(PyCapsule_New(&managed, Managed::kName, free_capsule<Managed>));
  out.release();
  return capsule;
}

template <class Managed> void free_import(void* context) {
  auto* managed = static_cast<Managed*>(context);
  if (!managed->deleter || !Py_IsInitialized()) return;
  WithLock lock;  // an exporter may hold Python objects
  managed->deleter(managed);
}

template <class Managed> Tensor take_capsule(PyObject* capsule) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  need(managed != nullptr);
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    check(managed->major <= 1, ErrorKind::Runtime, "Unsupported DLPack version ", managed->major,
          ".", managed->minor);
  }
  const DLTensor& t = managed->tensor;
  check(t.device.type == kCpu, "Unsupported device_type: ", t.device.type);
  const DType dtype = dtype_from(t.dtype);
  const Dims sizes(Ints(t.shape, size_t(t.ndim)));
  const Dims strides =
      t.strides ? Dims(Ints(t.strides, size_t(t.ndim))) : contiguous_strides(sizes);
  for (int64_t s : strides) {
    check(s >= 0, ErrorKind::Value, "DLPack tensors with negative strides are not supported");
  }
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  const size_t bytes = bytes_needed(sizes, strides, 0, item_size(dtype));
  need(PyCapsule_SetName(capsule, Managed::kUsed) == 0);
  return from_storage(Storage::wrap(data, bytes, free_import<Managed>, managed), sizes, strides, 0,
                      dtype);
}

void refuse_export(const Tensor& t) {
  refuse_mapped(t);
  const char* reason = t.is_meta()        ? "Cannot pack tensors on meta"
                       : requires_grad(t) ? "Can't export tensors that require gradient, use "
                                            "tensor.detach()"
                       : t.is_conj() ? "Can't export tensors with the conjugate bit set"
                       : t.is_negative() ? "Can't export tensors with the negative bit set"
                                         : nullptr;
  if (!reason) return;
  PyErr_SetString(PyExc_BufferError, reason);
  throw PythonError();
}

}  // namespace

Tensor tensor_over_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, DLManagedTensorVersioned::kName)) {
    return take_capsule<DLManagedTensorVersioned>(capsule);
  }
  check(PyCapsule_IsValid(capsule, DLManagedTensor::kName),
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
        "once, so you might have already constructed a tensor from it once.");
  return take_capsule<DLManagedTensor>(capsule);
}

PyObject* capsule_over(const Tensor& tensor, bool versioned) {
  refuse_export(tensor);
  return versioned ? make_capsule<DLManagedTensorVersioned>(tensor)
                   : make_capsule<DLManagedTensor>(tensor);
}

}  // namespace rl::bind
