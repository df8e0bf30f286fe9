// What an element-by-element kernel offers: inner loops by compute dtype and vector level.
#pragma once
#include <cstdint>

#include "base/dtype.h"
#include "base/level.h"
#include "base/scalar.h"

namespace rl::kernels {

// One inner loop over n elements. data[0] is the result, data[1..arity] the operands, strides in
// bytes. Operands have the compute dtype; the result has output(compute). A result may be the
// same memory as an operand with the same stride. `params` are the op's numbers, in record order.
using Loop = void (*)(char* const* data, const int64_t* strides, int64_t n, const Scalar* params);

// Where the loop of a dtype stands: numbers up to BFloat16's, then one for unsigned integers of
// more than a byte, which are computed in the widest.
constexpr int kLoops = 17;
constexpr int loop_place(DType t) { return t == DType::UInt64 ? 16 : int(t); }

// The dtypes of the wide loops: whole numbers of up to eight bytes, bool and complex numbers.
constexpr int kWideLoops = 8;
constexpr int wide_place(DType t) {
  if (t >= DType::UInt8 && t <= DType::Int64) return int(t);
  return t == DType::Bool ? 5 : t == DType::ComplexFloat ? 6 : t == DType::ComplexDouble ? 7 : -1;
}

enum class Output : uint8_t { Same, Bool, Real };  // the result's dtype, given the compute dtype

constexpr int kMaxArity = 4;

struct Pointwise {
  const char* name;       // "mul_cpu": PyTorch's '"mul_cpu" not implemented for 'Bool''
  int arity;              // operands
  Output output;
  bool bool_first;        // data[1] is bool whatever the compute dtype: where's condition
  float flops;            // per element, for the cost model
  uint64_t types;         // those it takes; of value for dtypes that are only stored
  // By compute dtype; null where unsupported. Half and BFloat16 are null: callers convert to
  // float in tiles. Vector levels fill Float and Double only; the rest come from the baseline.
  Loop baseline[kLoops];
  Loop avx2[2];           // Float, Double
  Loop avx512[2];
  Loop wide[kWideLoops];     // from kWideLevel; null where there is no more to gain

  Loop loop(DType compute, Level level) const {
    if (compute == DType::Float || compute == DType::Double) {
      const int k = compute == DType::Double;
      if (level == Level::Avx512 && avx512[k]) return avx512[k];
      if (level >= Level::Avx2 && avx2[k]) return avx2[k];
    } else if (const int k = wide_place(compute); k >= 0 && level >= kWideLevel && wide[k]) {
      return wide[k];
    }
    return baseline[loop_place(compute)];
  }
};

// Serves a call whose strides the contiguous loops do not take: strided operands are gathered
// into tiles, a strided result is scattered from one. sizes[k] is the item size of data[k].
void run_in_tiles(Loop loop, int arity, const uint8_t* sizes, char* const* data,
                  const int64_t* strides, int64_t n, const Scalar* params);

}  // namespace rl::kernels
