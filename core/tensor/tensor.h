// Tensor: a reference to sizes, strides and offset over a storage, with its place in the graph.
#pragma once
#include <string>

#include "base/dtype.h"
#include "base/scalar.h"
#include "base/small.h"
#include "tensor/storage.h"

namespace rl {

struct Autograd;  // autograd/meta.h: grad, grad_fn, hooks, view

enum TensorFlag : uint16_t {
  kNeedsGrad = 1 << 0,      // requires_grad, or made by a node
  kContiguous = 1 << 1,
  kConj = 1 << 2,
  kNegative = 1 << 3,
  kInferenceTensor = 1 << 4,
  kWrappedNumber = 1 << 5,  // a Python number that became a 0-d tensor
  kOwnsObject = 1 << 6,     // the body keeps its Python object alive, not the other way round
  kView = 1 << 8,           // a differentiable view: its base may come to need gradients
  kCut = 1 << 7,            // made from inputs that need gradients while recording was off
  kBatched = 1 << 9,        // wraps a tensor of which vmap maps one dimension (autograd/wrapper.h)
  kDual = 1 << 10,          // ... a tensor with its tangent
  kStoredOnly = 1 << 11,    // its dtype is one that few kernels compute in (is_stored_only)
  kWrapped = kBatched | kDual,
};

enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2,
                                   ChannelsLast3d = 3 };

class TensorBody : public Counted {
 public:
  static void release(TensorBody* t) { if (t->let_go()) destroy(t); }
  static TensorBody* make();     // rank 0, no storage yet

  DType dtype = DType::Float;
  Device device;
  uint16_t flags = 0;
  int32_t dim = 0;
  int64_t* sizes = room;         // dim sizes
  int64_t* strides = room;       // dim strides, behind the sizes
  int64_t offset = 0;            // in elements
  int64_t numel = 1;
  Storage* storage = nullptr;    // a counted reference
  Ref<OwnVersion> version;       // null: the storage's; `.data` has one of its own
  Autograd* autograd = nullptr;  // owned; null for most tensors
  void* owner = nullptr;         // the Python object; see bind/tensor.h
  uint64_t origin = 0;
  static constexpr int kInside = 5;
  int64_t room[2 * kInside];

  bool is(TensorFlag f) const { return flags & f; }
  void set(TensorFlag f, bool on) { flags = uint16_t(on ? flags | f : flags & ~f); }
  char* data() const { return storage->data() + offset * item_size(dtype); }
  void set_layout(Ints sizes, Ints strides);  // also numel and the contiguous bit
  void set_in_order(Ints sizes, int64_t numel);  // row-major, of at most kInside dimensions

 private:
  static void destroy(TensorBody* t);
};

class Tensor {
 public:
  Tensor() = default;
  static Tensor take(TensorBody* p) { Tensor t; t.p_ = Ref<TensorBody>::take(p); return t; }
  static Tensor share(TensorBody* p) { Tensor t; t.p_ = Ref<TensorBody>::share(p); return t; }
  bool defined() const { return bool(p_); }
  explicit operator bool() const { return bool(p_); }
  TensorBody* body() const { return p_.get(); }
  TensorBody* operator->() const { return p_.get(); }
  TensorBody* leave() { return p_.leave(); }
  bool same(const Tensor& o) const { return p_.get() == o.p_.get(); }

  DType dtype() const { return p_->dtype; }
  Device device() const { return p_->device; }
  int64_t dim() const { return p_->dim; }
  Ints sizes() const { return {p_->sizes, size_t(p_->dim)}; }
  Ints strides() const { return {p_->strides, size_t(p_->dim)}; }
  int64_t size(int64_t d) const;    // d may be negative
  int64_t stride(int64_t d) const;
  int64_t numel() const { return p_->numel; }
  int64_t offset() const { return p_->offset; }
  int64_t element_size() const { return item_size(p_->dtype); }
  bool is_contiguous() const { return p_->is(kContiguous); }
  bool is_contiguous(MemoryFormat f) const;
  bool is_meta() const { return p_->device.is_meta(); }
  bool is_floating() const { return rl::is_floating(p_->dtype); }
  bool is_complex() const { return rl::is_complex(p_->dtype); }
  bool is_conj() const { return p_->is(kConj); }
  bool is_negative() const { return p_->is(kNegative); }
  bool is_inference() const { return p_->is(kInferenceTensor); }
  bool needs_grad() const { return p_->is(kNeedsGrad); }
  char* data() const { return p_->data(); }
  template <class T> T* ptr() const { return reinterpret_cast<T*>(p_->data()); }
  Ref<Storage> storage() const { return Ref<Storage>::share(p_->storage); }
  Version& version() const { return p_->version ? *p_->version : p_->storage->version; }
  void bump_version() const;        // notes the current origin as the writer

 private:
  Ref<TensorBody> p_;
};
static_assert(sizeof(Tensor) == sizeof(void*));

using TensorList = Span<Tensor>;
using Tensors = Small<Tensor, 3>;

// ---- Making tensors without a graph. Sizes are checked: negative, overflow.
Tensor empty(Ints sizes, DType dtype, Device device = {});
Tensor empty_strided(Ints sizes, Ints strides, DType dtype, Device device = {});
Tensor from_storage(Ref<Storage> storage, Ints sizes, Ints strides, int64_t offset, DType dtype);
// Another tensor over the same storage and version, no graph: what views and detach are made of.
Tensor alias(const Tensor& t, Ints sizes, Ints strides, int64_t offset);
Tensor alias(const Tensor& t);
// ... the elements in row order; there are as many as these sizes say.
Tensor alias_in_order(const Tensor& t, Ints sizes);
Tensor scalar_tensor(const Scalar& value, DType dtype);  // 0-d
Tensor wrapped_number(const Scalar& value);              // 0-d, weak in promotion

// ---- Facts about layouts (tensor/layout.cpp).
Dims contiguous_strides(Ints sizes);
Dims format_strides(Ints sizes, MemoryFormat f);
int64_t numel_of(Ints sizes);                 // throws on overflow
bool is_contiguous(Ints sizes, Ints strides);
bool is_dense(Ints sizes, Ints strides);      // non-overlapping and dense in some order
Dims dense_strides_like(const Tensor& t);     // what empty_like(preserve_format) has
int64_t wrap_dim(int64_t dim, int64_t rank, bool wrap_scalar = true);  // PyTorch's IndexError
Dims wrap_dims(Ints dims, int64_t rank);      // also rejects duplicates
Dims broadcast(Ints a, Ints b);               // PyTorch's "The size of tensor a (3) must match"
Dims broadcast_strides(Ints sizes, Ints strides, Ints to);  // 0 where a dimension is repeated
size_t bytes_needed(Ints sizes, Ints strides, int64_t offset, int64_t item);
Dims infer_size(Ints shape, int64_t numel);   // fills in a -1; PyTorch's errors
// Strides under which `sizes`/`strides` is seen as `shape` without a copy; false if impossible.
bool view_strides(Ints sizes, Ints strides, Ints shape, Dims& result);

enum class Overlap { No, Yes, TooHard };
Overlap internal_overlap(const Tensor& t);
enum class Meets { No, Full, Part };          // Full: the same memory in the same layout
Meets memory_meets(const Tensor& out, const Tensor& in);
void refuse_internal_overlap(const Tensor& out);
void refuse_partial_overlap(const Tensor& out, const Tensor& in);

// ---- Numbers out of tensors.
Scalar item_of(const Tensor& t);              // the one element; conj and negative bits resolved

// Bind supplies what happens to Python objects; null without Python.
struct OwnerHooks {
  void (*drop)(void* owner) = nullptr;        // the body that kept this object alive is gone
};
extern OwnerHooks owner_hooks;
// Autograd supplies how a body's graph data is freed, and how an alias of a wrapper becomes one.
extern void (*free_autograd)(Autograd*);
extern void (*keep_wrapper)(const Tensor& alias, const Tensor& of);
extern Scalar (*item_of_wrapped)(const Tensor& t);

}  // namespace rl
