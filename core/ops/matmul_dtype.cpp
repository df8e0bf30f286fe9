// Matrix products into a given dtype, which PyTorch has on GPUs only: on the CPU they refuse.
#include "ops/ops.h"

namespace rl::ops {

namespace {

[[noreturn]] Tensor refuse(const char* name) {
  fail(ErrorKind::NotImplemented, "Could not run 'aten::", name, "' with arguments from the 'CPU' "
       "backend. This could be because the operator doesn't exist for this backend.");
}

constexpr const char* kDoc = "Not on the CPU, as in PyTorch: convert the operands or the result.";

}  // namespace

const auto mm_dtype = define<Tensor(Tensor, Tensor, DType)>(
    "mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor")
  .doc(kDoc)
  .composite([](const Tensor&, const Tensor&, DType) { return refuse("mm.dtype"); });

const auto bmm_dtype = define<Tensor(Tensor, Tensor, DType)>(
    "bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor")
  .doc(kDoc)
  .composite([](const Tensor&, const Tensor&, DType) { return refuse("bmm.dtype"); });

const auto addmm_dtype = define<Tensor(Tensor, Tensor, Tensor, DType, Scalar, Scalar)>(
    "addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, "
    "Scalar alpha=1) -> Tensor")
  .doc(kDoc)
  .composite([](const Tensor&, const Tensor&, const Tensor&, DType, const Scalar&, const Scalar&) {
    return refuse("addmm.dtype");
  });

const auto baddbmm_dtype = define<Tensor(Tensor, Tensor, Tensor, DType, Scalar, Scalar)>(
    "baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, "
    "Scalar beta=1, Scalar alpha=1) -> Tensor")
  .doc(kDoc)
  .composite([](const Tensor&, const Tensor&, const Tensor&, DType, const Scalar&, const Scalar&) {
    return refuse("baddbmm.dtype");
  });

}  // namespace rl::ops
