// Arg and Value: any argument or result of an op, borrowed and owned, in the same 24 bytes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace rl {

class Generator;

// Arguments that may be None, as signatures of ops name them.
using MaybeBool = std::optional<bool>;
using MaybeInt = std::optional<int64_t>;
using MaybeDouble = std::optional<double>;
using MaybeScalar = std::optional<Scalar>;
using MaybeInts = std::optional<Ints>;
using MaybeNumbers = std::optional<Span<Scalar>>;
using MaybeText = std::optional<std::string_view>;
using MaybeDType = std::optional<DType>;
using MaybeDevice = std::optional<Device>;

enum class Tag : uint8_t {
  None, Bool, Int, Float, Complex,  // the numbers keep their kind
  Tensor, Tensors, Ints, Numbers, Bools, DType, Device, Text, Generator, MemoryFormat, Object
};

// A borrowed argument: trivially copyable; what it points to outlives the call.
struct Arg {
  Tag tag = Tag::None;
  union {
    TensorBody* tensor;       // Tensor
    const void* list;         // of Tensor, int64_t, Scalar, bool or char, `count` of them
    int64_t integer;          // Bool, Int, DType, MemoryFormat
    double real;              // Float, Complex
    Generator* generator;      // borrowed always: its Python object keeps it
    Device device;
    void* object;             // Object: opaque to the core
  };
  union {
    double imag;              // Complex
    int64_t count;            // lists, Text
  };

  Arg() : integer(0), count(0) {}
  Arg(const Tensor& t) : tag(t.defined() ? Tag::Tensor : Tag::None), tensor(t.body()), count(0) {}
  Arg(TensorBody* t) : tag(t ? Tag::Tensor : Tag::None), tensor(t), count(0) {}
  Arg(TensorList l) : tag(Tag::Tensors), list(l.data()), count(int64_t(l.size())) {}
  Arg(const Tensors& l) : Arg(TensorList(l)) {}
  Arg(Ints l) : tag(Tag::Ints), list(l.data()), count(int64_t(l.size())) {}
  Arg(const Dims& l) : Arg(Ints(l)) {}
  Arg(Span<Scalar> l) : tag(Tag::Numbers), list(l.data()), count(int64_t(l.size())) {}
  Arg(bool v) : tag(Tag::Bool), integer(v), count(0) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Arg(T v) : tag(Tag::Int), integer(int64_t(v)), count(0) {}
  template <class T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  Arg(T v) : tag(Tag::Float), real(double(v)), count(0) {}
  Arg(const Scalar& s) {
    if (s.kind() <= Scalar::kInt) {
      tag = s.is_bool() ? Tag::Bool : Tag::Int;
      integer = s.to_int();
      count = 0;
    } else {
      tag = s.is_float() ? Tag::Float : Tag::Complex;
      real = s.to_double();
      imag = s.to_complex().imag();
    }
  }
  Arg(DType t)
      : tag(t == DType::Undefined ? Tag::None : Tag::DType), integer(int64_t(t)), count(0) {}
  Arg(Device d) : tag(Tag::Device), integer(0), count(0) { device = d; }
  Arg(std::string_view s) : tag(Tag::Text), list(s.data()), count(int64_t(s.size())) {}
  Arg(const char* s) : Arg(std::string_view(s)) {}
  Arg(Generator* g) : tag(g ? Tag::Generator : Tag::None), generator(g), count(0) {}
  Arg(MemoryFormat f) : tag(Tag::MemoryFormat), integer(int64_t(f)), count(0) {}
  Arg(std::nullopt_t) : Arg() {}
  template <class T> Arg(const std::optional<T>& v) : Arg() { if (v) *this = Arg(*v); }

  bool is_none() const { return tag == Tag::None; }
  bool is_tensor() const { return tag == Tag::Tensor; }
  bool is_number() const { return tag >= Tag::Bool && tag <= Tag::Complex; }
  const Tensor& as_tensor() const { return reinterpret_cast<const Tensor&>(tensor); }
  TensorList tensors() const { return {static_cast<const Tensor*>(list), size_t(count)}; }
  Ints ints() const { return {static_cast<const int64_t*>(list), size_t(count)}; }
  Span<Scalar> numbers() const {
    return Span<Scalar>(static_cast<const Scalar*>(list), size_t(count));
  }
  std::string_view chars() const { return {static_cast<const char*>(list), size_t(count)}; }
  Scalar scalar() const {
    switch (tag) {
      case Tag::Bool: return integer != 0;
      case Tag::Float: return real;
      case Tag::Complex: return std::complex<double>(real, imag);
      default: return integer;
    }
  }
};
static_assert(std::is_trivially_copyable_v<Arg> && sizeof(Arg) == 24);

// An owned argument or result.
class Value {
 public:
  Value() = default;
  Value(Tensor t) { arg_ = Arg(t); t.leave(); }
  explicit Value(const Arg& borrowed);          // copies what it points to
  Value(Tensors list);
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Value(T v) : arg_(v) {}
  Value(const Scalar& v) : arg_(v) {}
  Value(DType v) : arg_(v) {}
  Value(std::string v);
  Value(Value&& o) noexcept : arg_(o.arg_) { o.arg_ = Arg(); }
  Value& operator=(Value&& o) noexcept { std::swap(arg_, o.arg_); return *this; }
  Value(const Value& o) : Value(o.arg_) {}
  // In its place: reading 16 bytes right behind stores of their parts waits for these.
  void set(Tensor t) {
    if (owns()) drop();
    arg_.tag = t ? Tag::Tensor : Tag::None;
    arg_.tensor = t.leave();
  }
  Value& operator=(const Value& o) { return *this = Value(o); }
  ~Value() { if (owns()) drop(); }

  const Arg& arg() const { return arg_; }
  bool is_tensor() const { return arg_.is_tensor(); }
  bool is_none() const { return arg_.is_none(); }
  const Tensor& tensor() const { return arg_.as_tensor(); }
  TensorList tensors() const { return arg_.tensors(); }
  Tensor take_tensor() {                        // leaves None behind
    if (!arg_.is_tensor()) return {};
    Tensor t = Tensor::take(arg_.tensor);
    arg_ = Arg();
    return t;
  }

 private:
  bool owns() const {
    return (arg_.tag >= Tag::Tensor && arg_.tag <= Tag::Bools) || arg_.tag == Tag::Text;
  }
  void drop();
  Arg arg_;
};

}  // namespace rl
