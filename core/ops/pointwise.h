// Running pointwise records: dtype, sizes and strides of the result, and the loops.
#pragma once
#include "ops/record.h"

namespace rl {

// The result of the op on these arguments, allocated and filled; for the plain call.
Tensor pointwise_call(const Record& r, const Arg* args);
// The same into a given result (in-place, out=): its dtype may be cast to, its sizes must fit.
void pointwise_into(const Record& r, const Arg* args, const Tensor& out);
// What the result would be.
ResultMeta pointwise_infer(const Record& r, const Arg* args);
// One kernel by itself, inside other kernels: operands (tensors or numbers) broadcast to `out`.
void run_kernel(const kernels::Pointwise& k, const Tensor& out, DType compute,
                std::initializer_list<Arg> operands, std::initializer_list<Scalar> numbers = {});

}  // namespace rl
