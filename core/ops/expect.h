// Checks of hidden ops: formulas call them with what fits, anybody else hears what does not.
#pragma once
#include "ops/ops.h"

namespace rl::ops {

inline void expect(bool fits, const char* op, const char* what) {
  check(fits, op, "(): ", what);
}

// A dense kernel reads `t` by these sizes and this dtype. Undefined passes: it is null to kernels.
inline void expect_like(const Tensor& t, Ints sizes, DType dtype, const char* op,
                        const char* name) {
  if (!t) return;
  check(t.sizes() == sizes && t.dtype() == dtype, op, "(): expected ", name, " of size ", sizes,
        " and type ", type_name_of(dtype), ", but got ", t.sizes(), " and ",
        type_name_of(t.dtype()));
}

// One element for each of `count`, in any shape and floating dtype.
inline void expect_each(const Tensor& t, int64_t count, const char* op, const char* name) {
  if (!t) return;
  check(t.numel() == count && t.is_floating(), op, "(): expected ", name, " of ", count,
        " numbers, but got ", t.sizes(), " of ", type_name_of(t.dtype()));
}

// Floats that go with an input: of its dtype, or float beside halves.
inline bool is_parameter_dtype(DType parameter, DType input) {
  return parameter == input || (is_half(input) && parameter == DType::Float);
}

}  // namespace rl::ops
