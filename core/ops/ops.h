// The ops that C++ calls by name, and operators on tensors for gradient formulas.
#pragma once
#include "ops/record.h"

namespace rl::ops {

using Format = std::optional<MemoryFormat>;

// arithmetic.cpp
extern const Op<Tensor(Tensor, Tensor, Scalar)> add, sub, rsub;  // rsub: other - alpha * self
extern const Op<Tensor(Tensor, Tensor)> mul, div;
extern const Op<Tensor(Tensor, Tensor, MaybeText)> div_mode;
extern const Op<Tensor(Tensor)> neg;

// fused_arithmetic.cpp, powers.cpp
extern const Op<Tensor(Tensor, Tensor, Tensor, Scalar)> addcmul, addcdiv;
extern const Op<Tensor(Tensor, Tensor, Tensor)> lerp;
extern const Op<Tensor(Tensor, Tensor)> pow;
extern const Op<Tensor(Tensor, Scalar)> pow_number;        // x ** 2
extern const Op<Tensor(Scalar, Tensor)> pow_of_number;     // 2 ** x

// unary.cpp, trigonometry.cpp, special.cpp
extern const Op<Tensor(Tensor)> abs, sign, sgn, angle, square, reciprocal, exp, exp2, log, log1p,
    sqrt, rsqrt, sin, cos, sinh, cosh, tanh, sigmoid, digamma, lgamma, i0, i0e, i1, i1e, erfcx;
extern const Op<Tensor(Tensor, Tensor)> sigmoid_backward, tanh_backward, xlogy;

// comparison.cpp, bounds.cpp
extern const Op<Tensor(Tensor, Tensor)> eq, ne, lt, le, gt, ge, logical_and, logical_or, maximum,
    minimum;
extern const Op<Tensor(Tensor)> logical_not, isnan, isfinite;
extern const Op<Tensor(Tensor, Tensor, Tensor)> where;     // numbers may stand for the last two
extern const Op<Tensor(Tensor, MaybeScalar, MaybeScalar)> clamp;
extern const Op<Tensor(Tensor, Scalar)> clamp_min, clamp_max;

// copying.cpp
extern const Op<Tensor(Tensor, Format)> clone, contiguous;
extern const Op<Tensor(Tensor, Tensor, bool)> copy_;
extern const Op<Tensor(Tensor)> zero_;
void set_zero(const Tensor& t);                            // inside kernels
void set_value(const Tensor& t, const Scalar& value);
void check_fits(const Scalar& value, DType dtype);          // "value cannot be converted to type"
void copy_data(const Tensor& to, const Tensor& from);      // values only: no checks, no graph
Tensor to_copy(const Tensor& t, MaybeDType dtype, MaybeDevice device,
               Format format);
Tensor to_dtype(const Tensor& t, DType dtype);             // the same tensor if it has it already
void resize_output(const Tensor& out, Ints sizes);         // warns where PyTorch warns
void resize_in_place(const Tensor& t, Ints sizes);

// views.cpp
extern const Op<Tensor(Tensor, Ints, Ints, MaybeInt)> as_strided;
extern const Op<Tensor(Tensor, Ints, bool)> expand;
extern const Op<Tensor(Tensor, Ints)> view, reshape, permute, unsafe_view;
extern const Op<Tensor(Tensor, int64_t, int64_t)> transpose, select;
extern const Op<Tensor(Tensor, int64_t)> unsqueeze, squeeze_dim;
extern const Op<Tensor(Tensor)> detach, t, squeeze, alias_op;
extern const Op<Tensor(Tensor, int64_t, MaybeInt, MaybeInt, int64_t)>
    slice;
extern const Op<Tensors(Tensor, int64_t, int64_t)> split;
extern const Op<Tensor(Tensor, Ints, int64_t, int64_t)> select_backward;
extern const Op<Tensor(Tensor, Ints, int64_t, MaybeInt, MaybeInt,
                       int64_t)> slice_backward;
Tensor view_or_reshape(const Tensor& t, Ints sizes);
Tensor as_strided_backward(const Tensor& grad, const Tensor& input, Ints size, Ints stride,
                           int64_t offset);
// The gradient of what was split along `dim`; a missing part, `length(i)` long, is zero.
Tensor join_gradients(TensorList grads, Ints sizes, int64_t dim,
                      const std::function<int64_t(size_t)>& length);

// joining.cpp
extern const Op<Tensor(TensorList, int64_t)> cat, stack;

// shapes.cpp
extern const Op<Tensors(Tensor, Ints, int64_t)> split_with_sizes;
extern const Op<Tensors(Tensor, int64_t)> unbind;
extern const Op<Tensor(Tensor)> atleast_1d, atleast_2d, atleast_3d;
extern const Op<Tensor(Tensor, int64_t, int64_t, int64_t)> narrow, diagonal, diag_embed, unfold;
extern const Op<Tensor(Tensor, Ints, int64_t, int64_t, int64_t)> unfold_backward, diagonal_backward;
extern const Op<Tensor(Tensor, Ints)> flip;
extern const Op<Tensor(Tensor, int64_t)> tril, triu;

// complex.cpp
extern const Op<Tensor(Tensor)> conj, conj_view, resolve_conj, resolve_neg, real, imag,
    view_as_real, view_as_complex;

// reduction.cpp
extern const Op<Tensor(Tensor, MaybeDType)> sum, mean;
extern const Op<Tensor(Tensor, MaybeInts, bool, MaybeDType)> sum_dim, mean_dim;
extern const Op<Tensor(Tensor)> any, all;
Tensor sum_to_size(const Tensor& t, Ints sizes);           // undoes a broadcast

// extrema.cpp, statistics.cpp
extern const Op<Tensor(Tensor, Ints, bool)> amax, amin;
extern const Op<std::pair<Tensor, Tensor>(Tensor, int64_t, bool)> max_dim, min_dim;
extern const Op<Tensor(Tensor, MaybeInt, bool)> argmax, argmin;
extern const Op<Tensor(Tensor, MaybeInts, MaybeScalar, bool)> var, std_;
extern const Op<std::pair<Tensor, Tensor>(Tensor, MaybeInts, MaybeScalar, bool)>
    var_mean, std_mean;

// scan.cpp, sorting.cpp, norms.cpp
extern const Op<Tensor(Tensor, int64_t, MaybeDType)> cumsum, cumprod;
extern const Op<Tensor(Tensor, int64_t)> logcumsumexp;
extern const Op<std::pair<Tensor, Tensor>(Tensor, int64_t, bool)> sort;
extern const Op<std::pair<Tensor, Tensor>(Tensor, int64_t, int64_t, bool, bool)> topk;
extern const Op<Tensor(Tensor, MaybeDType)> prod;
extern const Op<Tensor(Tensor, Ints, bool)> logsumexp;
extern const Op<Tensor(Tensor, Scalar, MaybeInts, bool, MaybeDType)>
    vector_norm;

// indexing.cpp
extern const Op<Tensor(Tensor, TensorList)> index;
extern const Op<Tensor(Tensor, TensorList, Tensor, bool)> index_put;
extern const Op<Tensor(Tensor, int64_t, Tensor)> index_select;
extern const Op<Tensor(Tensor)> nonzero;
extern const Op<Tensor(Tensor, Tensor, Tensor, bool)> put;

// scatter.cpp
extern const Op<Tensor(Tensor, int64_t, Tensor, bool)> gather;
extern const Op<Tensor(Tensor, int64_t, Tensor, Tensor)> scatter, scatter_add;
extern const Op<Tensor(Tensor, int64_t, Tensor, Scalar)> scatter_value, index_fill;
extern const Op<Tensor(Tensor, int64_t, Tensor, Tensor, Scalar)> index_add;
void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);

// matmul.cpp, linear.cpp
extern const Op<Tensor(Tensor, Tensor)> mm, bmm, mv, dot, vdot, outer, matmul;
extern const Op<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)> addmm, addmv, addbmm, baddbmm;
extern const Op<Tensor(Tensor, Tensor, Tensor)> linear;

// softmax.cpp
extern const Op<Tensor(Tensor, int64_t, MaybeDType)> softmax, log_softmax;

// masking.cpp
extern const Op<Tensor(Tensor, Tensor, Scalar)> masked_fill;
extern const Op<Tensor(Tensor, Tensor)> masked_select;
extern const Op<Tensor(Tensor, Tensor, Tensor)> masked_scatter;

// creation.cpp
Tensor zeros(Ints sizes, DType dtype, Device device = {});
Device device_or_cpu(MaybeDevice d);  // refuses what is not there
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);
Tensor arange(int64_t end, DType dtype);
Tensor full(Ints sizes, const Scalar& value, DType dtype, Device device = {});
extern const Op<Tensor(Tensor, Ints, Ints, MaybeDType, MaybeDevice)>
    new_empty_strided;

}  // namespace rl::ops

namespace rl {

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Scalar& b);
Tensor operator-(const Tensor& a, const Scalar& b);
Tensor operator*(const Tensor& a, const Scalar& b);
Tensor operator/(const Tensor& a, const Scalar& b);
Tensor operator-(const Tensor& a);
inline Scalar conj_of(const Scalar& s) {
  return s.is_complex() ? Scalar(std::conj(s.to_complex())) : s;
}
inline Tensor conj(const Tensor& t) { return t.is_complex() ? ops::conj(t) : t; }

}  // namespace rl
