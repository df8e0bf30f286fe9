// Every pointwise kernel: its object, functor, PyTorch's name for it, and the dtypes it takes.
#pragma once
#include "kernels/pointwise.h"

namespace rl::kernels {

constexpr uint64_t bit(DType t) { return dtype_bit(t); }
constexpr uint64_t kBools = bit(DType::Bool);
constexpr uint64_t kIntegers = bit(DType::UInt8) | bit(DType::Int8) | bit(DType::Int16) |
                               bit(DType::Int32) | bit(DType::Int64);
constexpr uint64_t kFloats = bit(DType::Float) | bit(DType::Double);
constexpr uint64_t kComplex = bit(DType::ComplexFloat) | bit(DType::ComplexDouble);
constexpr uint64_t kComplexHalf = bit(DType::ComplexHalf);
constexpr uint64_t kReals = kIntegers | kFloats;
constexpr uint64_t kNumbers = kReals | kComplex;
constexpr uint64_t kAny = kNumbers | kBools;
constexpr uint64_t kSigned8 = kFloat8 & ~bit(DType::Float8_e8m0fnu);

// Columns: object, functor, what PyTorch quotes when a dtype is not supported, arity, output,
// FLOPs per element, dtypes. An object is named as its op, with an underscore where C has that
// name. Operands and numbers come in the order of the op's signature; a functor whose are others
// says so.
// Compiled once per vector level for float and double:
#define RL_ARITHMETIC(_) \
  _(add, Add, "add_cpu", 2, Same, 2, kAny | kComplexHalf) \
  _(sub, Sub, "sub_cpu", 2, Same, 2, kNumbers | kComplexHalf) \
  _(rsub, Rsub, "rsub_cpu", 2, Same, 2, kNumbers | kComplexHalf) \
  _(mul, Mul, "mul_cpu", 2, Same, 1, kAny | kComplexHalf | kWideUnsigned | kFloat8) \
  _(div_, Div, "div_cpu", 2, Same, 1, kFloats | kComplex) \
  _(neg, Neg, "neg_cpu", 1, Same, 1, kNumbers | kComplexHalf) \
  _(abs_, Abs, "abs_cpu", 1, Real, 1, kNumbers | kComplexHalf | kSigned8) \
  _(sign, Sign, "sign_cpu", 1, Same, 1, kReals | kBools) \
  _(sgn, Sgn, "sgn_cpu", 1, Same, 1, kAny | kComplexHalf) \
  _(angle, Angle, "angle_cpu", 1, Real, 1, kFloats | kComplex) \
  _(conj_physical, ConjPhysical, "conj_cpu", 1, Same, 0, kAny | kComplexHalf) \
  _(square, Square, "square_cpu", 1, Same, 1, kNumbers) \
  _(cube, Cube, "pow", 1, Same, 2, kFloats) \
  _(inverse_square, InverseSquare, "pow", 1, Same, 2, kFloats) \
  _(cube_bfloat16, CubeBFloat16, "pow", 1, Same, 3, kFloats) \
  _(inverse_square_bfloat16, InverseSquareBFloat16, "pow", 1, Same, 3, kFloats) \
  _(reciprocal, Reciprocal, "reciprocal_cpu", 1, Same, 1, kFloats | kComplex) \
  _(maximum, Maximum, "maximum_cpu", 2, Same, 1, kReals | kBools) \
  _(minimum, Minimum, "minimum_cpu", 2, Same, 1, kReals | kBools) \
  _(fmax_, Fmax, "fmax_cpu", 2, Same, 1, kReals | kBools) \
  _(fmin_, Fmin, "fmin_cpu", 2, Same, 1, kReals | kBools) \
  _(clamp, Clamp, "clamp_scalar_cpu", 1, Same, 2, kReals) \
  _(clamp_min, ClampMin, "clamp_min_scalar_cpu", 1, Same, 1, kReals) \
  _(clamp_max, ClampMax, "clamp_max_scalar_cpu", 1, Same, 1, kReals) \
  _(clamp_tensor, ClampTensor, "clamp_cpu", 3, Same, 2, kReals) \
  _(addcmul, Addcmul, "addcmul_cpu_out", 3, Same, 3, kNumbers | kComplexHalf) \
  _(addcdiv, Addcdiv, "addcdiv_cpu_out", 3, Same, 3, kFloats | kComplex) \
  _(lerp, Lerp, "lerp_kernel_scalar", 2, Same, 4, kFloats | kComplex) \
  _(lerp_tensor, LerpTensor, "lerp_kernel_tensor", 3, Same, 4, kFloats | kComplex) \
  _(copysign_, Copysign, "copysign_cpu", 2, Same, 1, kFloats) \
  _(heaviside, Heaviside, "heaviside_cpu", 2, Same, 1, kReals | kBools)

#define RL_COMPARISONS(_) \
  _(eq, Eq, "eq_cpu", 2, Bool, 1, kAny | kComplexHalf | kWideUnsigned | kFloat8) \
  _(ne, Ne, "ne_cpu", 2, Bool, 1, kAny | kComplexHalf | kWideUnsigned | kFloat8) \
  _(lt, Lt, "lt_cpu", 2, Bool, 1, kReals | kBools) \
  _(le, Le, "le_cpu", 2, Bool, 1, kReals | kBools) \
  _(gt, Gt, "gt_cpu", 2, Bool, 1, kReals | kBools) \
  _(ge, Ge, "ge_cpu", 2, Bool, 1, kReals | kBools) \
  _(logical_and, LogicalAnd, "logical_and_cpu", 2, Bool, 1, kAny) \
  _(logical_or, LogicalOr, "logical_or_cpu", 2, Bool, 1, kAny) \
  _(logical_xor, LogicalXor, "logical_xor_cpu", 2, Bool, 1, kAny) \
  _(logical_not, LogicalNot, "logical_not_cpu", 1, Bool, 1, kAny) \
  _(signbit_, Signbit, "signbit_cpu", 1, Bool, 1, kReals | kBools | kWideUnsigned) \
  _(isnan_, Isnan, "isnan_cpu", 1, Bool, 1, kAny | kComplexHalf | kWideUnsigned | kFloat8) \
  _(isinf_, Isinf, "isinf_cpu", 1, Bool, 1, \
    kAny | kComplexHalf | kWideUnsigned | bit(DType::Float8_e5m2)) \
  _(isfinite_, Isfinite, "isfinite_cpu", 1, Bool, 1, \
    kAny | kComplexHalf | kWideUnsigned | bit(DType::Float8_e5m2) | bit(DType::Float8_e8m0fnu)) \
  _(isposinf, Isposinf, "isposinf_cpu", 1, Bool, 1, kReals | kBools | kWideUnsigned) \
  _(isneginf, Isneginf, "isneginf_cpu", 1, Bool, 1, kReals | kBools | kWideUnsigned) \
  _(nan_to_num, NanToNum, "nan_to_num", 1, Same, 3, kAny | kWideUnsigned)

#define RL_EXPONENTIALS(_) \
  _(exp_, Exp, "exp_vml_cpu", 1, Same, 10, kFloats | kComplex) \
  _(exp2_, Exp2, "exp2_vml_cpu", 1, Same, 10, kFloats | kComplex) \
  _(expm1_, Expm1, "expm1_vml_cpu", 1, Same, 14, kFloats | kComplex) \
  _(log_, Log, "log_vml_cpu", 1, Same, 10, kFloats | kComplex) \
  _(log2_, Log2, "log2_vml_cpu", 1, Same, 12, kFloats | kComplex) \
  _(log10_, Log10, "log10_vml_cpu", 1, Same, 12, kFloats | kComplex) \
  _(log1p_, Log1p, "log1p_vml_cpu", 1, Same, 16, kFloats | kComplex) \
  _(sqrt_, Sqrt, "sqrt_vml_cpu", 1, Same, 1, kFloats | kComplex) \
  _(rsqrt, Rsqrt, "rsqrt_cpu", 1, Same, 2, kFloats | kComplex) \
  _(sin_, Sin, "sin_vml_cpu", 1, Same, 14, kFloats | kComplex) \
  _(cos_, Cos, "cos_vml_cpu", 1, Same, 14, kFloats | kComplex) \
  _(tan_, Tan, "tan_vml_cpu", 1, Same, 18, kFloats | kComplex) \
  _(sinh_, Sinh, "sinh_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(cosh_, Cosh, "cosh_vml_cpu", 1, Same, 14, kFloats | kComplex) \
  _(tanh_, Tanh, "tanh_vml_cpu", 1, Same, 14, kFloats | kComplex) \
  _(sigmoid, Sigmoid, "sigmoid_cpu", 1, Same, 12, kFloats | kComplex) \
  _(erf_, Erf, "erf_vml_cpu", 1, Same, 24, kFloats) \
  _(sinc, Sinc, "sinc_cpu", 1, Same, 18, kFloats | kComplex) \
  _(floor_, Floor, "floor_vml_cpu", 1, Same, 1, kReals | kWideUnsigned) \
  _(ceil_, Ceil, "ceil_vml_cpu", 1, Same, 1, kReals | kWideUnsigned) \
  _(trunc_, Trunc, "trunc_vml_cpu", 1, Same, 1, kReals | kWideUnsigned) \
  _(round_, Round, "round_vml_cpu", 1, Same, 1, kReals | kWideUnsigned) \
  _(round_decimals, RoundDecimals, "round_vml_cpu", 1, Same, 3, kFloats) \
  _(frac, Frac, "frac_cpu", 1, Same, 2, kFloats) \
  _(deg2rad, Deg2rad, "deg2rad_cpu", 1, Same, 1, kFloats) \
  _(rad2deg, Rad2deg, "rad2deg_cpu", 1, Same, 1, kFloats) \
  _(xlogy, Xlogy, "xlogy_cpu", 2, Same, 12, kFloats) \
  _(xlog1py, Xlog1py, "xlog1py_cpu", 2, Same, 18, kFloats) \
  _(logaddexp, Logaddexp, "logaddexp_cpu", 2, Same, 30, kFloats | kComplex) \
  _(logaddexp2, Logaddexp2, "logaddexp2_cpu", 2, Same, 30, kFloats) \
  _(logit, Logit, "logit_cpu", 1, Same, 14, kFloats) \
  _(logit_backward, LogitBackward, "logit_backward_cpu", 2, Same, 4, kFloats)

#define RL_ACTIVATIONS(_) \
  _(relu, Relu, "relu_cpu", 1, Same, 1, kReals) \
  _(threshold, Threshold, "threshold_cpu", 1, Same, 1, kReals) \
  _(threshold_backward, ThresholdBackward, "threshold_cpu", 2, Same, 1, kReals) \
  _(hardtanh_backward, HardtanhBackward, "hardshrink_backward_cpu", 2, Same, 2, kFloats) \
  _(leaky_relu, LeakyRelu, "leaky_relu_cpu", 1, Same, 2, kFloats) \
  _(leaky_relu_backward, LeakyReluBackward, "leaky_relu_backward_cpu", 2, Same, 2, kFloats) \
  _(elu, Elu, "elu_cpu", 1, Same, 16, kFloats) \
  _(elu_backward, EluBackward, "elu_backward_cpu", 2, Same, 16, kFloats) \
  _(hardsigmoid, Hardsigmoid, "hardsigmoid_cpu", 1, Same, 4, kFloats) \
  _(hardsigmoid_backward, HardsigmoidBackward, "hardsigmoid_backward", 2, Same, 3, kFloats) \
  _(hardswish, Hardswish, "hardswish_cpu", 1, Same, 5, kFloats) \
  _(hardswish_backward, HardswishBackward, "hardswish_backward_cpu", 2, Same, 5, kFloats) \
  _(hardshrink, Hardshrink, "hardshrink_cpu", 1, Same, 2, kFloats) \
  _(softshrink, Softshrink, "softshrink_cpu", 1, Same, 4, kFloats) \
  _(shrink_backward, ShrinkBackward, "shrink_backward_cpu", 2, Same, 2, kFloats) \
  _(softplus, Softplus, "softplus_cpu", 1, Same, 28, kFloats) \
  _(softplus_backward, SoftplusBackward, "softplus_backward_cpu", 2, Same, 14, kFloats) \
  _(silu, Silu, "silu_cpu", 1, Same, 12, kFloats | kComplex) \
  _(silu_backward, SiluBackward, "silu_backward_cpu", 2, Same, 16, kFloats | kComplex) \
  _(mish, Mish, "mish_cpu", 1, Same, 16, kFloats) \
  _(mish_backward, MishBackward, "mish_backward_cpu", 2, Same, 22, kFloats) \
  _(gelu, Gelu, "GeluKernelImpl", 1, Same, 28, kFloats) \
  _(gelu_backward, GeluBackward, "GeluBackwardKernelImpl", 2, Same, 40, kFloats) \
  _(gelu_tanh, GeluTanh, "GeluKernelImpl", 1, Same, 22, kFloats) \
  _(gelu_tanh_backward, GeluTanhBackward, "GeluBackwardKernelImpl", 2, Same, 30, kFloats) \
  _(log_sigmoid, LogSigmoid, "log_sigmoid_cpu", 1, Same, 28, kFloats) \
  _(log_sigmoid_backward, LogSigmoidBackward, "log_sigmoid_backward_cpu", 2, Same, 16, kFloats) \
  _(sigmoid_backward, SigmoidBackward, "sigmoid_backward_cpu", 2, Same, 3, kFloats | kComplex) \
  _(tanh_backward, TanhBackward, "tanh_backward_cpu", 2, Same, 3, kFloats | kComplex) \
  _(prelu, Prelu, "prelu_cpu", 2, Same, 2, kFloats) \
  _(prelu_backward_input, PreluBackwardInput, "prelu_backward_cpu", 3, Same, 2, kFloats) \
  _(prelu_backward_weight, PreluBackwardWeight, "prelu_backward_cpu", 2, Same, 2, kFloats) \
  _(glu, Glu, "glu_cpu", 2, Same, 14, kFloats)

#define RL_LOSSES(_) \
  _(mse_loss, MseLoss, "mse_cpu", 2, Same, 2, kFloats) \
  _(mse_loss_backward, MseLossBackward, "mse_backward_cpu_out", 3, Same, 3, kReals) \
  _(smooth_l1_loss, SmoothL1Loss, "smooth_l1_cpu", 2, Same, 5, kFloats) \
  _(smooth_l1_loss_backward, SmoothL1LossBackward, "smooth_l1_backward_cpu_out", 3, \
    Same, 6, kFloats) \
  _(huber_loss, HuberLoss, "huber_cpu", 2, Same, 5, kFloats) \
  _(huber_loss_backward, HuberLossBackward, "huber_backward_cpu_out", 3, Same, 6, kFloats) \
  _(binary_cross_entropy, BinaryCrossEntropy, "binary_cross_entropy", 2, Same, 28, kFloats) \
  _(binary_cross_entropy_backward, BinaryCrossEntropyBackward, "binary_cross_entropy_backward", \
    3, Same, 6, kFloats) \
  _(bce_with_logits, BceWithLogits, "log_sigmoid_cpu", 2, Same, 32, kFloats) \
  _(bce_with_logits_weighted, BceWithLogitsWeighted, "log_sigmoid_cpu", 3, Same, 36, kFloats) \
  _(bce_with_logits_backward, BceWithLogitsBackward, "sigmoid_cpu", 3, Same, 14, kFloats) \
  _(kl_div, KlDiv, "xlogy_cpu", 2, Same, 14, kFloats) \
  _(kl_div_log_target, KlDivLogTarget, "exp_vml_cpu", 2, Same, 14, kFloats)

// Compiled once, at the baseline:
#define RL_INTEGERS(_) \
  _(div_trunc, DivTrunc, "div_trunc_cpu", 2, Same, 2, kReals) \
  _(div_floor, DivFloor, "div_floor_cpu", 2, Same, 6, kReals) \
  _(remainder_, Remainder, "remainder_cpu", 2, Same, 5, kReals) \
  _(fmod_, Fmod, "fmod_cpu", 2, Same, 4, kReals) \
  _(pow_, Pow, "pow", 2, Same, 20, kNumbers) \
  _(gcd, Gcd, "gcd_cpu", 2, Same, 20, kIntegers) \
  _(lcm, Lcm, "lcm_cpu", 2, Same, 24, kIntegers)

#define RL_BITS(_) \
  _(bitwise_and, BitwiseAnd, "bitwise_and_cpu", 2, Same, 1, kIntegers | kBools | kWideUnsigned) \
  _(bitwise_or, BitwiseOr, "bitwise_or_cpu", 2, Same, 1, kIntegers | kBools | kWideUnsigned) \
  _(bitwise_xor, BitwiseXor, "bitwise_xor_cpu", 2, Same, 1, kIntegers | kBools | kWideUnsigned) \
  _(bitwise_not, BitwiseNot, "bitwise_not_cpu", 1, Same, 1, kIntegers | kBools) \
  _(lshift, Lshift, "lshift_cpu", 2, Same, 1, kIntegers) \
  _(rshift, Rshift, "rshift_cpu", 2, Same, 1, kIntegers)

#define RL_SPECIALS(_) \
  _(asin_, Asin, "asin_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(acos_, Acos, "acos_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(atan_, Atan, "atan_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(asinh_, Asinh, "asinh_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(acosh_, Acosh, "acosh_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(atanh_, Atanh, "atanh_vml_cpu", 1, Same, 20, kFloats | kComplex) \
  _(erfc_, Erfc, "erfc_vml_cpu", 1, Same, 30, kFloats) \
  _(lgamma_, Lgamma, "lgamma_vml_cpu", 1, Same, 40, kFloats) \
  _(digamma, Digamma, "digamma", 1, Same, 40, kFloats) \
  _(polygamma, Polygamma, "polygamma", 1, Same, 100, kFloats) \
  _(zeta, Zeta, "zeta_cpu", 2, Same, 100, kFloats) \
  _(erfinv, Erfinv, "erfinv_vml_cpu", 1, Same, 80, kFloats) \
  _(erfcx, Erfcx, "erfcx_cpu", 1, Same, 40, kFloats) \
  _(ndtri, Ndtri, "ndtri_cpu", 1, Same, 80, kFloats) \
  _(log_ndtr, LogNdtr, "log_ndtr_cpu", 1, Same, 40, kFloats) \
  _(i0, I0, "i0_vml_cpu", 1, Same, 60, kFloats) \
  _(i0e, I0e, "i0e_cpu", 1, Same, 60, kFloats) \
  _(i1, I1, "i1_cpu", 1, Same, 60, kFloats) \
  _(i1e, I1e, "i1e_cpu", 1, Same, 60, kFloats) \
  _(entr, Entr, "entr_cpu", 1, Same, 12, kFloats) \
  _(nextafter_, Nextafter, "nextafter_cpu", 2, Same, 4, kFloats) \
  _(hypot_, Hypot, "hypot_cpu", 2, Same, 10, kFloats) \
  _(atan2_, Atan2, "atan2_cpu", 2, Same, 24, kFloats)

#define RL_DECLARE_POINTWISE(object, ...) extern const Pointwise object;
RL_ARITHMETIC(RL_DECLARE_POINTWISE)
RL_COMPARISONS(RL_DECLARE_POINTWISE)
RL_EXPONENTIALS(RL_DECLARE_POINTWISE)
RL_ACTIVATIONS(RL_DECLARE_POINTWISE)
RL_LOSSES(RL_DECLARE_POINTWISE)
RL_INTEGERS(RL_DECLARE_POINTWISE)
RL_BITS(RL_DECLARE_POINTWISE)
RL_SPECIALS(RL_DECLARE_POINTWISE)
extern const Pointwise where;  // where(bool condition, self, other); masked_fill, too

}  // namespace rl::kernels
