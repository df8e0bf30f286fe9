// Which dtype operands meet in: PyTorch's rules for numbers, 0-d and dimensioned tensors.
#pragma once
#include "tensor/value.h"

namespace rl {

DType default_dtype();
void set_default_dtype(DType t);

// Gathers operands one by one; dtype() is what torch.result_type gives.
class Promotion {
 public:
  void add(const Tensor& t) {
    DType& place = t->is(kWrappedNumber) ? number_ : t.dim() == 0 ? scalar_ : tensor_;
    place = promote(place, t->is(kWrappedNumber) ? of_number(t.dtype()) : t.dtype());
  }
  void add(const Scalar& s) { number_ = promote(number_, of_number(s.dtype())); }
  void add(const Arg& a) { a.is_tensor() ? add(a.as_tensor()) : add(a.scalar()); }
  DType dtype() const { return combine(tensor_, combine(scalar_, number_)); }

 private:
  static DType of_number(DType t) {
    return is_complex(t) ? complex_of(default_dtype()) : is_floating(t) ? default_dtype() : t;
  }
  static DType combine(DType high, DType low);
  DType tensor_ = DType::Undefined, scalar_ = DType::Undefined, number_ = DType::Undefined;
};

inline DType result_type(const Arg& a, const Arg& b) {
  Promotion p;
  p.add(a);
  p.add(b);
  return p.dtype();
}

}  // namespace rl
