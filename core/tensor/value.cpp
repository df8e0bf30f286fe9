// Value: copying and freeing what an argument points to.
#include "tensor/value.h"

namespace rl {
namespace {

template <class T> const T* copy_list(const void* from, int64_t n) {
  T* to = static_cast<T*>(::operator new(size_t(n) * sizeof(T) + 1));
  for (int64_t i = 0; i < n; ++i) new (to + i) T(static_cast<const T*>(from)[i]);
  return to;
}

}  // namespace

Value::Value(const Arg& a) {
  arg_.tag = a.tag;
  arg_.integer = a.integer;
  if (a.tag > Tag::Float && a.tag != Tag::Tensor) arg_.count = a.count;  // see set()
  switch (a.tag) {
    case Tag::Tensor: a.tensor->keep(); break;
    case Tag::Tensors: arg_.list = copy_list<Tensor>(a.list, a.count); break;
    case Tag::Ints: arg_.list = copy_list<int64_t>(a.list, a.count); break;
    case Tag::Numbers: arg_.list = copy_list<Scalar>(a.list, a.count); break;
    case Tag::Bools: arg_.list = copy_list<bool>(a.list, a.count); break;
    case Tag::Text: arg_.list = copy_list<char>(a.list, a.count); break;
    default: break;
  }
}

Value::Value(Tensors list) : Value(Arg(TensorList(list))) {}
Value::Value(std::string v) : Value(Arg(std::string_view(v))) {}

void Value::drop() {
  switch (arg_.tag) {
    case Tag::Tensor: TensorBody::release(arg_.tensor); return;
    case Tag::Tensors:
      for (const Tensor& t : arg_.tensors()) t.~Tensor();
      break;
    default: break;
  }
  ::operator delete(const_cast<void*>(arg_.list));
}

}  // namespace rl
