// Products of linear algebra without factorizations: cross, Kronecker, traces, Vandermonde.
#include "kernels/functors/scalar.h"
#include "ops/dense.h"
#include "ops/linalg.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

template <class T> void cross_rows(StridedLoop& loop, const int64_t (&step)[3]) {
  using kernels::fn::minus, kernels::fn::times;
  loop.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const auto at = [&](int k, int64_t j) -> T& {
        return *reinterpret_cast<T*>(p[k] + i * s[k] + j * step[k]);
      };
      const T a0 = at(1, 0), a1 = at(1, 1), a2 = at(1, 2);
      const T b0 = at(2, 0), b1 = at(2, 1), b2 = at(2, 2);
      const auto area = [](T a, T b, T c, T d) { return minus(times(a, d), times(b, c)); };
      at(0, 0) = area(a1, a2, b1, b2);
      at(0, 1) = area(a2, a0, b2, b0);
      at(0, 2) = area(a0, a1, b0, b1);
    }
  }, 8192);
}

void cross_into(const Tensor& out, const Tensor& a, const Tensor& b, int64_t dim) {
  Dims sizes(out.sizes());
  const auto spread_out = [&](const Tensor& t) {
    return alias(t, out.sizes(),
                 broadcast_strides(t.sizes(), t.strides(), out.sizes()), t.offset());
  };
  const Tensor parts[3] = {out, spread_out(a), spread_out(b)};
  sizes[size_t(dim)] = 1;
  StridedLoop loop(sizes);
  int64_t step[3];
  for (int k = 0; k < 3; ++k) {
    loop.add(alias(parts[k], sizes, parts[k].strides(), parts[k].offset()));
    step[k] = parts[k].strides()[size_t(dim)] * out.element_size();
  }
  loop.prepare();
  dispatch(out.dtype(), [&](auto* null) {
    using T = pointee<decltype(null)>;
    if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16> &&
                  !std::is_same_v<T, bool>) {
      cross_rows<T>(loop, step);
    }
  });
}

}  // namespace

const Op<Tensor(Tensor, Tensor, int64_t)> linalg_cross = define<Tensor(Tensor, Tensor, int64_t)>(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor")
  .doc(R"(
    Vector products along a dimension of size 3; the others broadcast.

    >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
  )")
  .forms(Linalg | Out)
  .out({.dtype = OutDType::Exact, .inputs = true, .same = true})
  .infer([](Infer& r, const Tensor& self, const Tensor& other, int64_t dim) {
    check(self.dim() == other.dim(),
          "linalg.cross: inputs must have the same number of dimensions.");
    const int64_t d = wrap_dim(dim, self.dim());
    check(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs "
          "dimension ", dim, " must have length 3. Got ", self.dim() ? self.size(d) : 1, " and ",
          other.dim() ? other.size(d) : 1);
    const Dims sizes = broadcast(self.sizes(), other.sizes());
    check(self.dtype() == other.dtype(), "expected scalar type ", type_name_of(self.dtype()),
          " but found ", type_name_of(other.dtype()));
    check(self.is_meta() || self.dtype() != DType::Bool, ErrorKind::NotImplemented,
          "\"cross\" not implemented for 'Bool'");
    r.result(sizes, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& other, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.dim());
    if (!is_half(self.dtype())) return cross_into(result, self, other, d);
    const Tensor wide = empty(result.sizes(), DType::Float), a = empty(self.sizes(), DType::Float),
                 b = empty(other.sizes(), DType::Float);
    copy_data(a, self);
    copy_data(b, other);
    cross_into(wide, a, b, d);
    copy_data(result, wide);
  })
  .grad("self", "grad, other, dim", [](const Tensor& grad, const Tensor& other, int64_t dim) {
    return linalg_cross(rl::conj(other), grad, dim);
  })
  .grad("other", "grad, self, dim", [](const Tensor& grad, const Tensor& self, int64_t dim) {
    return linalg_cross(grad, rl::conj(self), dim);
  });

const auto cross = define<Tensor(Tensor, Tensor, MaybeInt)>(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor")
  .doc("`linalg.cross`, by default along the first dimension of size 3.")
  .forms(Function | Method | Out)
  .out({.dtype = OutDType::Exact, .inputs = true, .same = true})
  .composite([](const Tensor& self, const Tensor& other, MaybeInt dim) -> Tensor {
    if (dim) return linalg_cross(self, other, *dim);
    static bool said = false;
    warn_once(said, "Using torch.cross without specifying the dim arg is deprecated.\nPlease "
              "either pass the dim explicitly or simply use torch.linalg.cross.\nThe default "
              "value of dim will change to agree with that of linalg.cross in a future release.");
    for (int64_t d = 0; d < self.dim(); ++d)
      if (self.size(d) == 3) return linalg_cross(self, other, d);
    fail(ErrorKind::Runtime, "no dimension of size 3 in input");
  });

const auto vecdot = define<Tensor(Tensor, Tensor, int64_t)>(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor")
  .doc(R"(
    Inner products along a dimension, the first factor conjugated; the other dimensions broadcast.

    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
  )")
  .out({.text = "linalg.vecdot: Expected out of dtype%W but found %G"})
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& x, const Tensor& y, int64_t dim) -> Tensor {
    check_float("linalg.vecdot", x);
    check(x.dtype() == y.dtype(), "linalg.vecdot: Expected x and y to have the same dtype, but "
          "found x of type ", type_name_of(x.dtype()), " and y of type ", type_name_of(y.dtype()),
          " instead");
    if (x.dim() == 1 && y.dim() == 1) return vdot(x, y);
    return sum_dim(rl::conj(x) * y, Ints{dim}, false);
  });

// ---- Vandermonde's matrices

namespace {

Tensor powers_of(const Tensor& x, int64_t n) {
  Dims sizes(x.sizes());
  sizes.push_back(n);
  return cumprod(expand(unsqueeze(x, -1), sizes, false), -1);
}

}  // namespace

const auto linalg_vander = define<Tensor(Tensor, MaybeInt)>(
    "linalg_vander(Tensor x, *, int? N=None) -> Tensor")
  .doc(R"(
    Matrices (..., n, N) whose rows are the powers 0 to N - 1 of the elements of x (..., n).

    >>> torch.linalg.vander(torch.tensor([1., 2., 3.]))
    tensor([[1., 1., 1.],
            [1., 2., 4.],
            [1., 3., 9.]])
  )")
  .forms(Linalg)
  .composite([](const Tensor& x, MaybeInt N) -> Tensor {
    check(x.dtype() != DType::Bool && !is_half(x.dtype()), "linalg.vander supports floating "
          "point, complex, and integer tensors, but got ", type_name_of(x.dtype()));
    const int64_t n = N ? *N : x.dim() ? x.size(-1) : 1;
    check(n > 1, "N must be greater than 1.");
    const Tensor powers = powers_of(x, n - 1);
    Dims first(x.sizes());
    first.push_back(1);
    return cat(Tensors{full(first, Scalar(1), powers.dtype(), x.device()), powers}, -1);
  });

const auto vander = define<Tensor(Tensor, MaybeInt, bool)>(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
  .doc(R"(
    A matrix whose rows are powers of the elements of a vector, the highest first unless
    `increasing`.

    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
  )")
  .composite([](const Tensor& x, MaybeInt N, bool increasing) -> Tensor {
    check(x.dim() == 1, "x must be a one-dimensional tensor.");
    const int64_t n = N.value_or(x.size(0));
    check(n >= 0, "N must be non-negative.");
    const bool whole = !is_differentiable(x.dtype());
    const Tensor made = zeros({x.size(0), n}, whole ? DType::Int64 : x.dtype(), x.device());
    if (n > 0) copy_(select(made, 1, 0), full({x.size(0)}, Scalar(1), made.dtype(), x.device()),
                     false);
    if (n > 1) copy_(narrow(made, 1, 1, n - 1), powers_of(x, n - 1), false);
    return increasing ? made : Tensor(flip(made, Ints{1}));
  });

// ---- Kronecker's product, trace, adjoint

const auto kron = define<Tensor(Tensor, Tensor)>("kron(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    Kronecker's product: `other` in each element's place, times that element.

    >>> torch.kron(torch.tensor([[1, 2]]), torch.tensor([[1, 1]]))
    tensor([[1, 1, 2, 2]])
  )")
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& other) -> Tensor {
    const int64_t rank = std::max(self.dim(), other.dim());
    Dims a, b, sizes;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t i = d - (rank - self.dim()), j = d - (rank - other.dim());
      const int64_t m = i >= 0 ? self->sizes[i] : 1, n = j >= 0 ? other->sizes[j] : 1;
      a.push_back(m);
      a.push_back(1);
      b.push_back(1);
      b.push_back(n);
      sizes.push_back(kernels::fn::times(m, n));
    }
    return unsafe_view(reshape(self, Ints(a)) * reshape(other, Ints(b)), Ints(sizes));
  });

const auto trace = define<Tensor(Tensor)>("trace(Tensor self) -> Tensor")
  .doc(R"(
    The sum of a matrix's diagonal.

    >>> torch.trace(torch.ones(2, 3))
    tensor(2.)
  )")
  .forms(Function | Method)
  .infer([](Infer& r, const Tensor& self) {
    check(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
    check(self.is_meta() || self.dtype() != DType::Bool, ErrorKind::NotImplemented,
          "\"trace\" not implemented for 'Bool'");
    const bool whole = !is_differentiable(self.dtype());
    r.result(Ints(), whole ? DType::Int64 : self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self) {
    NoGrad quiet;
    copy_data(result, sum(diagonal(detached(self), 0, 0, 1)));
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) {
    return expand(grad, sizes, false) *
           diagonal_backward(full({std::min(sizes[0], sizes[1])}, Scalar(1), grad.dtype()), sizes,
                             0, 0, 1);
  });

const auto adjoint = define<Tensor(Tensor)>("adjoint(Tensor self) -> Tensor")
  .doc(R"(
    The conjugate transpose of matrices, as a view.

    >>> torch.adjoint(torch.tensor([[1j, 2.]]))
    tensor([[0.-1.j],
            [2.-0.j]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) -> Tensor {
    if (self.dim() == 0) {
      warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().");
      return self.is_complex() ? Tensor(conj_view(self)) : self;
    }
    check(self.dim() >= 2, "tensor.adjoint() is only supported on matrices or batches of matrices. "
          "Got ", self.dim(), "-D tensor.");
    const Tensor t = transpose(self, -2, -1);
    return t.is_complex() ? Tensor(conj_view(t)) : t;
  });

const auto linalg_diagonal = define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
  .doc(R"(
    Diagonals of matrices, as a view.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
  )")
  .forms(Linalg)
  .composite([](const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal(A, offset, dim1, dim2);
  });

const auto linalg_matmul = define<Tensor(Tensor, Tensor)>(
    "linalg_matmul(Tensor self, Tensor other) -> Tensor")
  .doc("The same as `torch.matmul`.")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& self, const Tensor& other) { return matmul(self, other); });

// ---- Nuclear norms

namespace {

void say_deprecated() {
  static bool said = false;
  warn_once(said, "at::nuclear_norm is deprecated and it is just left for JIT compatibility. It "
            "will be removed in a future PyTorch release. Please use `linalg.matrix_norm(A, 'nuc', "
            "dim, keepdim)` instead");
}

}  // namespace

const auto nuclear_norm = define<Tensor(Tensor, bool)>(
    "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor")
  .doc("Sums of singular values; `linalg.matrix_norm` of order \"nuc\".")
  .out({.text = "linalg.matrix_norm expected out tensor dtype %W but got: %G"})
  .forms(Function | Out)
  .exact_out()
  .composite([](const Tensor& self, bool keepdim) {
    say_deprecated();
    return matrix_norm_of(self, std::string_view("nuc"), Ints{-2, -1}, keepdim, std::nullopt);
  });

const auto nuclear_norm_dims = define<Tensor(Tensor, Ints, bool)>(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor")
  .out({.text = "linalg.matrix_norm expected out tensor dtype %W but got: %G"})
  .forms(Function | Out)
  .exact_out()
  .composite([](const Tensor& self, Ints dim, bool keepdim) {
    say_deprecated();
    return matrix_norm_of(self, std::string_view("nuc"), dim, keepdim, std::nullopt);
  });

}  // namespace rl::ops
