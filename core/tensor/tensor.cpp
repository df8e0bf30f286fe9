// Tensor: making, aliasing and freeing tensors; one number out of them.
#include "tensor/tensor.h"

#include <algorithm>

#include "observe/events.h"

namespace rl {

OwnerHooks owner_hooks;
void (*free_autograd)(Autograd*) = nullptr;
void (*keep_wrapper)(const Tensor&, const Tensor&) = nullptr;
Scalar (*item_of_wrapped)(const Tensor&) = nullptr;

TensorBody* TensorBody::make() {
  TensorBody* b = new (allocate_object(sizeof(TensorBody))) TensorBody;
  b->origin = current_origin;
  return b;
}

void TensorBody::set_layout(Ints s, Ints st) {
  const int d = int(s.size());
  if (d > kInside && d > dim) {  // a rank that shrinks keeps its room
    int64_t* fresh = static_cast<int64_t*>(::operator new(2 * d * sizeof(int64_t)));
    for (int i = 0; i < d; ++i) {
      fresh[i] = s[i];
      fresh[d + i] = st[i];
    }
    if (sizes != room) ::operator delete(sizes);
    sizes = fresh;
  } else if (dim == 0) {
    for (int i = 0; i < d; ++i) {
      sizes[i] = s[i];
      sizes[d + i] = st[i];
    }
  } else {
    const Dims new_sizes(s), new_strides(st);  // they may be read from the old
    for (int i = 0; i < d; ++i) {
      sizes[i] = new_sizes[i];
      sizes[d + i] = new_strides[i];
    }
  }
  strides = sizes + d;
  dim = d;
  int64_t elements = 1;
  uint64_t step = 1;
  bool in_order = true, over = false, none = false;
  for (int i = d; i-- > 0;) {
    const int64_t size = sizes[i];
    none |= size == 0;
    over |= __builtin_mul_overflow(elements, size, &elements);
    if (size == 1) continue;
    in_order &= strides[i] == int64_t(step);
    step *= uint64_t(size);
  }
  if (over && !none) numel_of(Ints(sizes, size_t(d)));  // raises
  numel = none ? 0 : elements;
  set(kContiguous, in_order || none);
}

void TensorBody::set_in_order(Ints s, int64_t n) {
  const int d = int(s.size());
  dim = d;
  strides = sizes + d;
  uint64_t step = 1;
  for (int i = d; i-- > 0;) {
    sizes[i] = s[i];
    strides[i] = int64_t(step);
    step *= s[i] > 1 ? uint64_t(s[i]) : 1;
  }
  numel = n;
  flags |= kContiguous;
}

void TensorBody::destroy(TensorBody* t) {
  if (t->owner && t->is(kOwnsObject)) {
    void* owner = t->owner;
    t->owner = nullptr;
    owner_hooks.drop(owner);
  }
  if (t->autograd) free_autograd(t->autograd);
  if (t->storage) Storage::release(t->storage);
  if (t->sizes != t->room) ::operator delete(t->sizes);
  t->~TensorBody();
  release_object(t, sizeof(TensorBody));
}

int64_t Tensor::size(int64_t d) const { return p_->sizes[wrap_dim(d, p_->dim, false)]; }
int64_t Tensor::stride(int64_t d) const { return p_->strides[wrap_dim(d, p_->dim, false)]; }

bool Tensor::is_contiguous(MemoryFormat f) const {
  if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) return is_contiguous();
  if (dim() != (f == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  const Dims want = format_strides(sizes(), f);
  for (int64_t i = 0; i < dim(); ++i)
    if (sizes()[i] != 1 && strides()[i] != want[i]) return numel() == 0;
  return true;
}

void Tensor::bump_version() const {
  if (p_->is(kInferenceTensor) || !p_->storage) return;
  Version& v = version();
  v.count.fetch_add(1, std::memory_order_relaxed);
  v.writer = current_origin;
}

namespace {

Tensor over(Storage* counted, DType dtype, Device device) {
  TensorBody* b = TensorBody::make();
  b->dtype = dtype;
  b->device = device;
  b->storage = counted;
  if (__builtin_expect(modes() & kInference, 0)) b->flags |= kInferenceTensor;
  if (__builtin_expect(is_stored_only(dtype), 0)) b->flags |= kStoredOnly;
  return Tensor::take(b);
}

void refuse_negative(Ints sizes) {
  for (int64_t s : sizes)
    check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
}

// Where there are no elements, their number says nothing of the strides.
[[gnu::noinline]] void refuse_wide_strides(Ints sizes) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 1;)
    check(!__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step),
          "Stride calculation overflowed");
}

}  // namespace

Tensor empty_strided(Ints sizes, Ints strides, DType dtype, Device device) {
  refuse_negative(sizes);
  check(sizes.size() <= 64, "a tensor has at most 64 dimensions, but got ", int64_t(sizes.size()));
  numel_of(sizes);
  Storage* s = Storage::make(bytes_needed(sizes, strides, 0, item_size(dtype)), device).leave();
  Tensor t = over(s, dtype, device);
  t->set_layout(sizes, strides);
  return t;
}

Tensor empty(Ints sizes, DType dtype, Device device) {
  int64_t n = 1;
  bool over_size = false, negative = false;
  for (int64_t s : sizes) {
    negative |= s < 0;
    over_size |= __builtin_mul_overflow(n, s, &n);
  }
  if (negative) refuse_negative(sizes);
  int64_t bytes;
  over_size |= __builtin_mul_overflow(n, item_size(dtype), &bytes);
  if (over_size) {
    fail(ErrorKind::Runtime, "Storage size calculation overflowed with sizes=", sizes);
  }
  if (n == 0) refuse_wide_strides(sizes);
  if (sizes.size() > TensorBody::kInside) {
    return empty_strided(sizes, contiguous_strides(sizes), dtype, device);
  }
  Tensor t = over(Storage::make(size_t(bytes), device).leave(), dtype, device);
  t->set_in_order(sizes, n);
  return t;
}

Tensor from_storage(Ref<Storage> storage, Ints sizes, Ints strides, int64_t offset, DType dtype) {
  const Device device = storage->device();
  Tensor t = over(storage.leave(), dtype, device);
  t->offset = offset;
  t->set_layout(sizes, strides);
  return t;
}

namespace {

// Over the same storage and version, without sizes.
inline Tensor over_the_same(const Tensor& t, int64_t offset) {
  TensorBody* b = TensorBody::make();
  b->dtype = t.dtype();
  b->device = t.device();
  b->storage = t.storage().leave();
  b->flags = t->flags & (kConj | kNegative | kInferenceTensor | kStoredOnly);
  b->version = t->version;
  b->offset = offset;
  return Tensor::take(b);
}

}  // namespace

Tensor alias(const Tensor& t, Ints sizes, Ints strides, int64_t offset) {
  Tensor r = over_the_same(t, offset);
  r->set_layout(sizes, strides);
  return r;
}

Tensor alias_in_order(const Tensor& t, Ints sizes) {
  if (sizes.size() > TensorBody::kInside)
    return alias(t, sizes, contiguous_strides(sizes), t.offset());
  Tensor r = over_the_same(t, t.offset());
  r->set_in_order(sizes, t.numel());
  return r;
}

Tensor alias(const Tensor& t) {
  const Tensor r = alias(t, t.sizes(), t.strides(), t.offset());
  if (t->flags & kWrapped) keep_wrapper(r, t);
  return r;
}

Tensor scalar_tensor(const Scalar& value, DType dtype) {
  Tensor t = empty({}, dtype);
  dispatch_stored(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    *t.ptr<T>() = value.to<T>();
  });
  return t;
}

Tensor wrapped_number(const Scalar& value) {
  Tensor t = scalar_tensor(value, value.dtype());
  t->flags |= kWrappedNumber;
  return t;
}

Scalar item_of(const Tensor& t) {
  if (t->flags & kWrapped) return item_of_wrapped(t);
  check(!t.is_meta(), "Tensor.item() cannot be called on meta tensors");
  const char* p = t.data();
  switch (t.dtype()) {
    case DType::Bool: return *p != 0;
    case DType::Half: return to_float(*reinterpret_cast<const Half*>(p));
    case DType::BFloat16: return to_float(*reinterpret_cast<const BFloat16*>(p));
    case DType::ComplexHalf: case DType::ComplexFloat: case DType::ComplexDouble: {
      std::complex<double> v = t.dtype() == DType::ComplexDouble
                                   ? *reinterpret_cast<const std::complex<double>*>(p)
                                   : t.dtype() == DType::ComplexHalf
                                   ? std::complex<double>(to_complex(*reinterpret_cast<const ComplexHalf*>(p)))
                                   : std::complex<double>(*reinterpret_cast<const std::complex<float>*>(p));
      if (t.is_conj()) v = std::conj(v);
      return t.is_negative() ? -v : v;
    }
    default: break;
  }
  Scalar v;
  dispatch_stored(t.dtype(), [&](auto* q) {
    using T = pointee<decltype(q)>;
    if constexpr (is_float8_type<T>) v = Scalar(float_of(*reinterpret_cast<const T*>(p)));
    if constexpr (std::is_arithmetic_v<T>) v = Scalar(*reinterpret_cast<const T*>(p));
  });
  return t.is_negative() ? -v : v;
}

}  // namespace rl
