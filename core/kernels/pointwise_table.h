// Every pointwise kernel: its object, functor, PyTorch's name for it, and the dtypes it takes.
#pragma once
#include "kernels/pointwise.h"

namespace rl::kernels {

constexpr unsigned bit(DType t) { return 1u << int(t); }
constexpr unsigned kBools = bit(DType::Bool);
constexpr unsigned kIntegers = bit(DType::UInt8) | bit(DType::Int8) | bit(DType::Int16) |
                               bit(DType::Int32) | bit(DType::Int64);
constexpr unsigned kFloats = bit(DType::Float) | bit(DType::Double);
constexpr unsigned kComplex = bit(DType::ComplexFloat) | bit(DType::ComplexDouble);
constexpr unsigned kReals = kIntegers | kFloats;
constexpr unsigned kNumbers = kReals | kComplex;
constexpr unsigned kAny = kNumbers | kBools;

// Columns: object, functor, name, arity, output, FLOPs per element, dtypes. An object is named
// as its op, with an underscore where C has that name. Numbers an op takes come in the order of
// its signature: add and sub take alpha.
#define RL_ARITHMETIC(_)                                              \
  _(add, Add, "add_cpu", 2, Same, 2, kAny)                            \
  _(sub, Sub, "sub_cpu", 2, Same, 2, kNumbers)                        \
  _(rsub, Rsub, "rsub_cpu", 2, Same, 2, kNumbers)                     \
  _(mul, Mul, "mul_cpu", 2, Same, 1, kAny)                            \
  _(div_, Div, "div_cpu", 2, Same, 1, kFloats | kComplex)             \
  _(neg, Neg, "neg_cpu", 1, Same, 1, kNumbers)                        \
  _(abs_, Abs, "abs_cpu", 1, Real, 1, kNumbers)

#define RL_COMPARISONS(_)                                             \
  _(eq, Eq, "eq_cpu", 2, Bool, 1, kAny)                               \
  _(ne, Ne, "ne_cpu", 2, Bool, 1, kAny)                               \
  _(lt, Lt, "lt_cpu", 2, Bool, 1, kReals | kBools)                    \
  _(le, Le, "le_cpu", 2, Bool, 1, kReals | kBools)                    \
  _(gt, Gt, "gt_cpu", 2, Bool, 1, kReals | kBools)                    \
  _(ge, Ge, "ge_cpu", 2, Bool, 1, kReals | kBools)

#define RL_EXPONENTIALS(_)                                            \
  _(exp_, Exp, "exp_vml_cpu", 1, Same, 10, kFloats | kComplex)        \
  _(log_, Log, "log_vml_cpu", 1, Same, 10, kFloats | kComplex)        \
  _(sqrt_, Sqrt, "sqrt_vml_cpu", 1, Same, 1, kFloats | kComplex)      \
  _(tanh_, Tanh, "tanh_vml_cpu", 1, Same, 12, kFloats | kComplex)     \
  _(sigmoid, Sigmoid, "sigmoid_cpu", 1, Same, 12, kFloats | kComplex)

#define RL_ACTIVATIONS(_)                                             \
  _(relu, Relu, "relu_cpu", 1, Same, 1, kReals)

#define RL_DECLARE_POINTWISE(object, ...) extern const Pointwise object;
RL_ARITHMETIC(RL_DECLARE_POINTWISE)
RL_COMPARISONS(RL_DECLARE_POINTWISE)
RL_EXPONENTIALS(RL_DECLARE_POINTWISE)
RL_ACTIVATIONS(RL_DECLARE_POINTWISE)
extern const Pointwise where;  // where(bool condition, self, other); masked_fill, too

}  // namespace rl::kernels
