// Norms, distances and the logarithm of a sum of exponentials.
#include <cmath>
#include <memory>

#include "base/level.h"
#include "kernels/pointwise_table.h"
#include "ops/norm_gradients.h"
#include "ops/elementwise.h"
#include "ops/linalg.h"
#include "ops/promotion.h"
#include "ops/reduce.h"

namespace rl::ops {
namespace {

using Text = std::string_view;

std::string order_text(double p) {
  return std::isinf(p) ? p > 0 ? "inf" : "-inf" : text(p);
}

DType norm_dtype(const char* name, const Tensor& self, MaybeDType dtype) {
  check(is_differentiable(self.dtype()), name, ": Expected a floating point or complex tensor as "
        "input. Got ", type_name_of(self.dtype()));
  if (!dtype) return self.dtype();
  check(is_differentiable(*dtype), name, ": dtype should be floating point or complex, but got ",
        type_name_of(*dtype));
  check(is_complex(*dtype) == self.is_complex(), name, ": dtype should be ",
        self.is_complex() ? "complex" : "real", " for ", self.is_complex() ? "complex" : "real",
        " inputs, but got ", type_name_of(*dtype));
  check(promote(self.dtype(), *dtype) == *dtype, name, ": the dtype of the input (",
        type_name_of(self.dtype()), ") should be convertible without narrowing to the specified "
        "dtype (", type_name_of(*dtype), ")");
  return *dtype;
}

void infer_vector_norm(Infer& r, const Tensor& self, double p, const MaybeInts& dim, bool keepdim,
                       MaybeDType dtype) {
  const DType t = norm_dtype("linalg.vector_norm", self, dtype);
  const uint64_t mask = reduced_mask(dim, self.dim());
  if (self.numel() == 0 && (p < 0 || std::isinf(p))) {
    check(dim && !dim->empty(), "linalg.vector_norm cannot compute the ", order_text(p), " norm on "
          "an empty tensor because the operation does not have an identity");
    for (int64_t d : *dim) {
      const int64_t w = wrap_dim(d, self.dim());
      check(self.sizes()[w] != 0, "linalg.vector_norm cannot compute the ", order_text(p),
            " norm on the dimension ", w, "because this dimension is empty and the operation does "
            "not have an identity");
    }
  }
  r.result(reduced_sizes(self.sizes(), mask, keepdim), real_of(t), self.device());
}

Tensor magnitudes(const Tensor& self) {
  const Tensor r = empty(self.sizes(), real_of(self.dtype()));
  StridedLoop over(self.sizes());
  over.add(r);
  over.add(self);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (self.dtype() == DType::ComplexFloat) {
        *reinterpret_cast<float*>(p[0] + i * s[0]) =
            std::abs(*reinterpret_cast<const std::complex<float>*>(p[1] + i * s[1]));
      } else {
        *reinterpret_cast<double*>(p[0] + i * s[0]) =
            std::abs(*reinterpret_cast<const std::complex<double>*>(p[1] + i * s[1]));
      }
    }
  });
  return r;
}

void in_place(const kernels::Pointwise& k, DType t, void* data, int64_t n) {
  char* const operands[] = {static_cast<char*>(data), static_cast<char*>(data)};
  const int64_t item = item_size(t), strides[] = {item, item};
  k.loop(t, cpu_level())(operands, strides, n, nullptr);
}
void finish_root(DType accumulator, char* data, int64_t n, double p) {
  if (p == 2) return in_place(kernels::sqrt_, accumulator, data, n);
  const auto run = [&](auto* v) {
    using T = pointee<decltype(v)>;
    for (int64_t i = 0; i < n; ++i) v[i] = std::pow(v[i], T(1 / p));
  };
  if (accumulator == DType::Float) run(reinterpret_cast<float*>(data));
  else run(reinterpret_cast<double*>(data));
}

void norm_into(const Tensor& out, const Tensor& self, double p, uint64_t mask) {
  Tensor in = self.is_complex() ? magnitudes(self) : self;
  if (compute_of(in.dtype()) != compute_of(out.dtype())) {
    const Tensor wide = empty_strided(in.sizes(), dense_strides_like(in), out.dtype());
    copy_data(wide, in);
    in = wide;
  }
  if (p == 2) return fold_into(out, in, mask, Fold::SumSquares, 0, finish_root, 2);
  if (p == 1) return fold_into(out, in, mask, Fold::SumAbs);
  if (p == 0) return fold_into(out, in, mask, Fold::CountNonzero);
  if (std::isinf(p)) return fold_into(out, in, mask, p > 0 ? Fold::MaxAbs : Fold::MinAbs);
  fold_into(out, in, mask, Fold::SumPowers, p, finish_root, p);
}

// The gradient of a p-norm (the formulas of PyTorch's norm_backward); where the norm is zero, so
// is the gradient.
Tensor norm_backward(const Tensor& grad_out, const Tensor& self, double p, const Tensor& norm_out,
                     uint64_t mask, bool keepdim) {
  const Tensor norm = spread(norm_out, self.sizes(), mask, keepdim);
  const Tensor grad = spread(grad_out, self.sizes(), mask, keepdim);
  const auto unless_zero = [&](const Tensor& t) { return zero_where(eq(norm, Scalar(0)), t); };
  if (p == 0) return Tensor();
  if (p == 1) return sgn(self) * grad;
  if (p == 2) return grad * unless_zero(self / norm);
  if (std::isinf(p)) {
    const Tensor size = abs(self);
    const Tensor most = logical_or(eq(size, norm), isnan(size));
    Dims dims;
    for (int64_t d = 0; d < self.dim(); ++d)
      if (mask >> d & 1) dims.push_back(d);
    return sgn(self) * (grad / sum_dim(most, Ints(dims), true) * most);
  }
  if (p < 1) {
    const Tensor slope = sgn(self) * zero_where(eq(self, Scalar(0)), pow_number(abs(self), p - 1));
    return slope * grad * pow_number(norm, 1 - p);
  }
  const Tensor slope = p < 2 ? sgn(self) * pow_number(abs(self), p - 1)
                             : self * pow_number(abs(self), p - 2);
  return slope * unless_zero(grad / pow_number(norm, p - 1));
}

}  // namespace

const Op<Tensor(Tensor, Scalar, MaybeInts, bool, MaybeDType)> vector_norm =
    define<Tensor(Tensor, Scalar, MaybeInts, bool, MaybeDType)>(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *,"
    " ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The p-norm over the dimensions named, of order `ord`: 0 counts what is not zero, infinity takes
    the largest magnitude.

    >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
    tensor(5.)
  )")
  .out({.dtype = OutDType::Exact, .internal = true})
  .forms(Linalg | Out)
  .infer([](Infer& r, const Tensor& self, const Scalar& ord, MaybeInts dim, bool keepdim,
            MaybeDType dtype) {
    check(!ord.is_complex(), "linalg.vector_norm: Expected a non-complex scalar as the order of "
          "norm.");
    infer_vector_norm(r, self, ord.to_double(), dim, keepdim, dtype);
  })
  .kernel([](Tensor& result, const Tensor& self, const Scalar& ord, MaybeInts dim, bool,
             MaybeDType) {
    norm_into(result, self, ord.to_double(), reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self, ord, result, dim, keepdim",
        [](const Tensor& grad, const Tensor& self, const Scalar& ord, const Tensor& result,
           MaybeInts dim, bool keepdim) {
    return norm_backward(grad, self, ord.to_double(), result, reduced_mask(dim, self.dim()),
                         keepdim);
  });

// torch.norm of numbers over dimensions, as pairwise_distance calls it: another node's name.
const Op<Tensor(Tensor, MaybeScalar, Ints, bool)> norm_over =
    define<Tensor(Tensor, MaybeScalar, Ints, bool)>(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor")
  .doc("The p-norm over the dimensions named.")
  .node("NormBackward1")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& self, MaybeScalar p, Ints dim, bool keepdim) {
    infer_vector_norm(r, self, p.value_or(2).to_double(), dim, keepdim, {});
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeScalar p, Ints dim, bool) {
    norm_into(result, self, p.value_or(2).to_double(), reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self, p, dim, keepdim, result",
        [](const Tensor& grad, const Tensor& self, MaybeScalar p, Ints dim, bool keepdim,
           const Tensor& result) {
    return norm_backward(grad, self, p.value_or(2).to_double(), result,
                         reduced_mask(dim, self.dim()), keepdim);
  });

namespace {

void check_matrix(const char* name, const Tensor& self, Ints dim) {
  check(is_differentiable(self.dtype()), name, ": Expected a floating point or complex tensor as "
        "input. Got ", type_name_of(self.dtype()));
  check(self.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  std::string given;
  for (int64_t d : dim) given += text(given.empty() ? "" : " ", d);
  check(dim.size() == 2, name, ": dim must be a 2-tuple. Got ", given);
  const int64_t a = wrap_dim(dim[0], self.dim()), b = wrap_dim(dim[1], self.dim());
  check(a != b, name, ": dims must be different. Got (", dim[0], ", ", dim[1], ")");
}

// 1 and infinity: the largest sum of magnitudes along one dimension over the other.
Tensor sums_norm(const Tensor& self, double p, Ints dim, bool keepdim, MaybeDType dtype) {
  int64_t summed = wrap_dim(dim[0], self.dim()), picked = wrap_dim(dim[1], self.dim());
  if (std::isinf(p)) std::swap(summed, picked);
  const Tensor sums = vector_norm(self, 1, Ints{summed}, keepdim, dtype);
  const int64_t at = !keepdim && picked > summed ? picked - 1 : picked;
  return p > 0 ? amax(sums, Ints{at}, keepdim) : amin(sums, Ints{at}, keepdim);
}

// Two dimensions brought to the end, and back where they are kept.
Tensor matrices_of(const Tensor& self, Ints dim) {
  Dims order;
  const int64_t a = wrap_dim(dim[0], self.dim()), b = wrap_dim(dim[1], self.dim());
  for (int64_t d = 0; d < self.dim(); ++d)
    if (d != a && d != b) order.push_back(d);
  order.push_back(a);
  order.push_back(b);
  return permute(self, Ints(order));
}
Tensor kept_dims(const Tensor& result, int64_t rank, Ints dim) {
  const Tensor ones = unsqueeze(unsqueeze(result, -1), -1);
  Dims order;
  const int64_t a = wrap_dim(dim[0], rank), b = wrap_dim(dim[1], rank);
  for (int64_t d = 0, next = 0; d < rank; ++d)
    order.push_back(d == a ? rank - 2 : d == b ? rank - 1 : next++);
  return permute(ones, Ints(order));
}

// 2, -2 and "nuc": the largest, the smallest, the sum of the singular values.
Tensor spectral_norm(const Tensor& self, double p, bool nuclear, Ints dim, bool keepdim,
                     MaybeDType dtype) {
  check_float("linalg.matrix_norm", self, false);
  const DType t = norm_dtype("linalg.matrix_norm", self, dtype);
  const Tensor s = svdvals(matrices_of(t == self.dtype() ? self : to_dtype(self, t), dim));
  Tensor made;
  if (nuclear) made = sum_dim(s, Ints{-1}, false);
  else if (s.size(-1) == 0) made = zeros({s->sizes, size_t(s.dim() - 1)}, s.dtype(), s.device());
  else made = p > 0 ? amax(s, Ints{-1}, false) : amin(s, Ints{-1}, false);
  return keepdim ? kept_dims(made, self.dim(), dim) : made;
}

}  // namespace

Tensor matrix_norm_of(const Tensor& self, const Scalar& ord, Ints dim, bool keepdim,
                      MaybeDType dtype) {
  check_matrix("linalg.matrix_norm", self, dim);
  const double p = ord.to_double(), size = std::abs(p);
  check(size == 2 || size == 1 || std::isinf(size), "linalg.matrix_norm: Order ", ord.is_int() ?
        text(ord.to_int()) : text(p), " not supported.");
  if (size == 2) return spectral_norm(self, p, false, dim, keepdim, dtype);
  return sums_norm(self, p, dim, keepdim, dtype);
}
Tensor matrix_norm_of(const Tensor& self, Text ord, Ints dim, bool keepdim, MaybeDType dtype) {
  check_matrix("linalg.matrix_norm", self, dim);
  check(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", std::string(ord),
        " not supported.");
  if (ord == "nuc") return spectral_norm(self, 0, true, dim, keepdim, dtype);
  return vector_norm(self, 2, dim, keepdim, dtype);
}

const auto matrix_norm = define<Tensor(Tensor, Scalar, Ints, bool, MaybeDType)>(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2,-1], bool keepdim=False, *,"
    " ScalarType? dtype=None) -> Tensor")
  .out({.dtype = OutDType::Exact,
        .text = "linalg.matrix_norm expected out tensor dtype %W but got: %G"})
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& self, const Scalar& ord, Ints dim, bool keepdim, MaybeDType dtype) {
    return matrix_norm_of(self, ord, dim, keepdim, dtype);
  });

const auto matrix_norm_named = define<Tensor(Tensor, Text, Ints, bool, MaybeDType)>(
    "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2,-1], bool keepdim=False,"
    " *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The norm of matrices, by default Frobenius': the root of the sum of squares.

    >>> torch.linalg.matrix_norm(torch.ones(2, 2))
    tensor(2.)
  )")
  .out({.dtype = OutDType::Exact,
        .text = "linalg.matrix_norm expected out tensor dtype %W but got: %G"})
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& self, Text ord, Ints dim, bool keepdim, MaybeDType dtype) {
    return matrix_norm_of(self, ord, dim, keepdim, dtype);
  });

namespace {

// The two dimensions of a matrix that linalg.norm means.
Dims matrix_dims(const Tensor& self, const MaybeInts& dim, bool ordered) {
  if (dim) return Dims(*dim);
  check(!ordered || self.dim() <= 2, "linalg.norm: If dim is not specified but ord is, the input "
        "must be 1D or 2D. Got ", self.dim(), "D.");
  return self.dim() == 2 ? Dims{0, 1} : Dims{0};
}

}  // namespace

const auto linalg_norm = define<Tensor(Tensor, MaybeScalar, MaybeInts, bool, MaybeDType)>(
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *,"
    " ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The norm of a vector or a matrix, as `dim` names one dimension or two.

    >>> torch.linalg.norm(torch.tensor([3., 4.]))
    tensor(5.)
  )")
  .out({.dtype = OutDType::Exact, .text = "linalg.norm expected out tensor dtype %W but got: %G"})
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& self, const MaybeScalar& ord, MaybeInts dim, bool keepdim,
                MaybeDType dtype) {
    check(!dim || dim->size() == 1 || dim->size() == 2,
          "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", dim.value_or(Ints()));
    if (!ord) return Tensor(vector_norm(self, 2, dim, keepdim, dtype));
    const Dims dims = matrix_dims(self, dim, true);
    if (dims.size() == 2) return matrix_norm_of(self, *ord, dims, keepdim, dtype);
    return Tensor(vector_norm(self, *ord, dims, keepdim, dtype));
  });

const auto linalg_norm_named = define<Tensor(Tensor, Text, MaybeInts, bool, MaybeDType)>(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *,"
    " ScalarType? dtype=None) -> Tensor")
  .out({.dtype = OutDType::Exact, .text = "linalg.norm expected out tensor dtype %W but got: %G"})
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& self, Text ord, MaybeInts dim, bool keepdim, MaybeDType dtype) {
    check(!dim || dim->size() == 1 || dim->size() == 2,
          "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", dim.value_or(Ints()));
    return matrix_norm_of(self, ord, dim ? Dims(*dim) : Dims{0, 1}, keepdim, dtype);
  });

namespace {

void check_normed(const Tensor& self) {
  check(is_differentiable(self.dtype()), "norm(): input dtype should be either floating point or "
        "complex. Got ", type_name_of(self.dtype()), " instead.");
}

}  // namespace

const auto frobenius_norm = define<Tensor(Tensor, Ints, bool)>(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
  .doc(R"(
    The root of the sum of squared magnitudes over the dimensions named.

    >>> torch.frobenius_norm(torch.tensor([[3., 4.]]), 1)
    tensor([5.])
  )")
  .out({.dtype = OutDType::Exact, .internal = true})
  .forms(Function | Out)
  .exact_out()
  .composite([](const Tensor& self, Ints dim, bool keepdim) {
    check(dim.size() <= 2, "Expected at most 2 dimensions, but got ", int64_t(dim.size()),
          " dimensions instead.");
    check_normed(self);
    return Tensor(norm_over(self, Scalar(2), dim, keepdim));
  });

const auto dist = define<Tensor(Tensor, Tensor, Scalar)>(
    "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")
  .doc(R"(
    The p-norm of the difference of two tensors.

    >>> torch.dist(torch.tensor([3., 0.]), torch.tensor([0., 4.]))
    tensor(5.)
  )")
  .forms(Function | Method)
  .produce([](const Tensor& self, const Tensor& other, const Scalar& p) {
    NoGrad quiet;
    const Tensor difference = self - other;
    check_normed(difference);
    return Tensor(vector_norm(difference, p));
  })
  .grad("self", "grad, self, other, p, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& other, const Scalar& p,
           const Tensor& result) {
    return norm_backward(grad, self - other, p.to_double(), result, kAllDims, false);
  })
  .grad("other", "grad, self, other, p, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& other, const Scalar& p,
           const Tensor& result) {
    const Tensor g = norm_backward(grad, self - other, p.to_double(), result, kAllDims, false);
    return g ? Tensor(-g) : g;  // a count of differences has no gradient
  });

namespace {

Dims all_but(int64_t dim, int64_t rank) {
  Dims r;
  for (int64_t d = 0; d < rank; ++d)
    if (d != wrap_dim(dim, rank)) r.push_back(d);
  return r;
}
constexpr double kRenormGuard = 1e-7;  // PyTorch's, against division by nothing

}  // namespace

const auto renorm = define<Tensor(Tensor, Scalar, int64_t, Scalar)>(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor")
  .doc(R"(
    Slices along a dimension, those whose p-norm is above `maxnorm` scaled down to it.

    >>> torch.renorm(torch.tensor([[3., 4.], [0., 1.]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true})
  .forms(Function | Method | Inplace | Out)
  .produce([](const Tensor& self, const Scalar& p, int64_t dim, const Scalar& most) {
    check(!p.is_complex(), "renorm: p must be real-valued");
    check(p.to_double() > 0, "renorm: non-positive-norm not supported");
    check(!most.is_complex(), "renorm: maxnorm must be real-valued");
    check(most.to_double() >= 0, "renorm: expected maxnorm to be >= 0 but got ", most.to_double());
    check(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(),
          " dimensions");
    NoGrad quiet;
    const DType wide = compute_of(self.dtype());
    const Tensor norm = vector_norm(self, p, all_but(dim, self.dim()), true, wide);
    const Tensor bound = reciprocal(norm + Scalar(kRenormGuard)) * most;
    const Tensor in = contiguous(self, MemoryFormat::Contiguous);
    return to_dtype(in * where(gt(norm, most), bound, Scalar(1)), self.dtype());
  })
  .grad("self", "grad, self, p, dim, maxnorm",
        [](const Tensor& grad, const Tensor& self, const Scalar& p, int64_t dim,
           const Scalar& most) {
    const Dims dims = all_but(dim, self.dim());
    const Tensor norm = vector_norm(self, p, dims, true);
    Tensor reached = sum_dim(rl::conj(self) * grad, Ints(dims), true);
    if (reached.is_complex()) reached = real(reached);
    const Tensor slope = norm_backward(reached, self, p.to_double(), norm,
                                       reduced_mask(Ints(dims), self.dim()), true);
    const Tensor inverse = reciprocal(norm + Scalar(kRenormGuard));
    const Tensor scaled = inverse * most * (grad - inverse * slope);
    return Tensor(where(gt(norm, most), scaled, grad));
  });

namespace {

// By blocks of rows, so that short ones, too, fill the registers of each step.
template <class T> void logsumexp_rows(T* out, const Tensor& rows, int64_t begin, int64_t end) {
  constexpr int64_t kMost = 2048;
  const int64_t n = rows.sizes().back(), item = rows.element_size();
  const int64_t height = std::max<int64_t>(1, kMost / std::max<int64_t>(n, 1));
  const DType t = rows.dtype();
  const std::unique_ptr<T[]> tile(new T[size_t(height * n)]), shift(new T[size_t(height)]);
  for (int64_t i = begin; i < end; i += height) {
    const int64_t count = std::min(height, end - i);
    const T* const x = rows.ptr<T>() + i * n;
    T* const sums = out + i;
    kernels::fold_begin(Fold::Max, t, reinterpret_cast<char*>(shift.get()), count);
    kernels::fold_rows(Fold::Max, t, reinterpret_cast<char*>(shift.get()),
                       reinterpret_cast<const char*>(x), count, n * item, n, item);
    for (int64_t r = 0; r < count; ++r) {
      if (std::isinf(shift[r])) shift[r] = 0;
      for (int64_t k = 0; k < n; ++k) tile[r * n + k] = x[r * n + k] - shift[r];
    }
    in_place(kernels::exp_, t, tile.get(), count * n);
    std::fill_n(sums, count, T(0));
    kernels::fold_rows(Fold::Sum, t, reinterpret_cast<char*>(sums),
                       reinterpret_cast<const char*>(tile.get()), count, n * item, n, item);
    in_place(kernels::log_, t, sums, count);
    for (int64_t r = 0; r < count; ++r) sums[r] += shift[r];
  }
}
template <class T>
void logsumexp_rows(std::complex<T>* out, const Tensor& rows, int64_t begin, int64_t end) {
  const int64_t n = rows.sizes().back();
  for (int64_t i = begin; i < end; ++i) {
    const std::complex<T>* row = rows.ptr<std::complex<T>>() + i * n;
    T most = -std::numeric_limits<T>::infinity();
    for (int64_t k = 0; k < n; ++k) most = std::max(most, row[k].real());
    const T shift = std::isinf(most) ? 0 : most;
    std::complex<T> total = 0;
    for (int64_t k = 0; k < n; ++k) total += std::exp(row[k] - shift);
    out[i] = std::log(total) + shift;
  }
}
void logsumexp_into(const Tensor& out, const Tensor& self, uint64_t mask) {
  const DType t = compute_of(out.dtype());
  Tensor in = self;
  if (self.dtype() != t) {
    in = empty(self.sizes(), t);
    copy_data(in, self);
  }
  const Tensor rows = rows_of(in, mask), sums = out.dtype() == t ? out : empty(out.sizes(), t);
  const int64_t n = std::max<int64_t>(rows.sizes().back(), 1);
  dispatch(t, [&](auto* none) {
    using T = pointee<decltype(none)>;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      parallel_for(0, out.numel(), std::max<int64_t>(StridedLoop::kGrain / n / 4, 1),
                   [&](int64_t begin, int64_t end) {
        logsumexp_rows(sums.ptr<T>(), rows, begin, end);
      });
    }
  });
  if (!sums.same(out)) copy_data(out, sums);
}

}  // namespace

const Op<Tensor(Tensor, Ints, bool)> logsumexp = define<Tensor(Tensor, Ints, bool)>(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
  .doc(R"(
    The logarithm of the sum of exponentials over the dimensions named, without overflow.

    >>> torch.logsumexp(torch.zeros(2), 0)
    tensor(0.6931)
  )")
  .out({.dtype = OutDType::Computed,
        .text = "logsumexp(): Expected floating point type for result tensor, but "
                "got: %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, Ints dim, bool keepdim) {
    r.result(reduced_sizes(self.sizes(), reduced_mask(dim, self.dim()), keepdim),
             is_differentiable(self.dtype()) ? self.dtype() : default_dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim, bool) {
    logsumexp_into(result, self, reduced_mask(dim, self.dim()));
  })
  .grad("self", "grad, self, result, dim, keepdim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, Ints dim, bool keepdim) {
    const uint64_t mask = reduced_mask(dim, self.dim());
    const Tensor total = spread(result, self.sizes(), mask, keepdim);
    return spread(grad, self.sizes(), mask, keepdim) * rl::conj(exp(self - total));
  });

const auto special_logsumexp = define<Tensor(Tensor, Ints, bool)>(
    "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
  .doc("The logarithm of the sum of exponentials: torch.logsumexp.")
  .out({.dtype = OutDType::Computed,
        .text = "logsumexp(): Expected floating point type for result tensor, but got: %G"})
  .forms(Special | Out)
  .composite([](const Tensor& self, Ints dim, bool keepdim) {
    return Tensor(logsumexp(self, dim, keepdim));
  });

}  // namespace rl::ops
