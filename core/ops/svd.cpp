// Singular values, and what they give: pseudo-inverses, ranks, condition numbers.
#include <algorithm>

#include "ops/linalg.h"
#include "ops/transform.h"

namespace rl::ops {
namespace {

using Text = std::string_view;

Tensor as_dtype_of(const Tensor& t, const Tensor& like) {
  return t.dtype() == like.dtype() ? t : to_dtype(t, like.dtype());
}

Tensor skew(const Tensor& x) { return x - adjoint_of(x); }

void check_phase(const Tensor& u_part, const Tensor& v_part) {
  NoGrad quiet;
  Tensor turn = imag(main_diagonal(u_part));
  if (v_part) turn = turn + imag(main_diagonal(v_part));
  if (turn.numel() == 0) return;
  check(item_of(amax(abs(turn), Ints(), false)).to_double() < 1e-2, "svd_backward: The singular "
        "vectors in the complex case are specified up to multiplication by e^{i phi}. The "
        "specified loss function depends on this phase term, making it ill-defined.");
}

// Townsend 2016, "Differentiating the singular value decomposition"; for complex matrices
// Wan & Zhang 2019, "Automatic differentiation for complex valued SVD".
Tensor svd_gradient(Tensor gu, const Tensor& gs, Tensor gvh, Tensor U, const Tensor& S, Tensor Vh) {
  if (!gu && !gs && !gvh) return Tensor();
  const int64_t m = rows(U), n = columns(Vh), k = S.size(-1);
  if (!gu && !gvh) return matmul(narrow(U, -1, 0, k) * unsqueeze(as_dtype_of(gs, U), -2),
                                 narrow(Vh, -2, 0, k));
  const bool complex = U.is_complex();
  const auto part = [&](const Tensor& x, int64_t dim) {
    return x.size(dim) > k ? Tensor(narrow(x, dim, 0, k)) : x;
  };
  U = part(U, -1), Vh = part(Vh, -2);
  if (gu) gu = part(gu, -1);
  if (gvh) gvh = part(gvh, -2);
  const Tensor u_part = gu ? matmul(adjoint_of(U), gu) : Tensor();
  const Tensor v_part = gvh ? matmul(Vh, adjoint_of(gvh)) : Tensor();
  if (complex) check_phase(u_part ? u_part : v_part, u_part ? v_part : Tensor());
  const Tensor squares = S * S;
  const Tensor differences = unsqueeze(squares, -2) - unsqueeze(squares, -1);
  const Tensor gaps = differences +
      diag_embed(main_diagonal(differences) * Scalar(0) + Scalar(1), 0, -2, -1);
  Tensor middle;
  const auto add = [&](const Tensor& t) { middle = middle ? Tensor(middle + t) : t; };
  if (u_part) add(skew(u_part) / gaps * unsqueeze(S, -2));
  if (v_part) add(unsqueeze(S, -1) * (skew(v_part) / gaps));
  if (complex) middle = middle - diag_embed(main_diagonal(middle), 0, -2, -1);
  if (gs) add(diag_embed(as_dtype_of(gs, U), 0, -2, -1));
  if (complex && u_part)  // i Im(diagonal) / S
    add(diag_embed(main_diagonal(skew(u_part)) / (S * Scalar(2)), 0, -2, -1));
  const Tensor inverse_s = reciprocal(S);
  Tensor made;
  if (m > k && gu) {
    const Tensor left = gu - matmul(U, u_part);
    made = matmul(matmul(U, middle) + left * unsqueeze(inverse_s, -2), Vh);
  } else {
    made = matmul(matmul(U, middle), Vh);
  }
  if (n > k && gvh) {
    const Tensor right = gvh - matmul(adjoint_of(v_part), Vh);
    made = made + matmul(U, unsqueeze(inverse_s, -1) * right);
  }
  return made;
}

void svd_into(const Tensor& U, const Tensor& S, const Tensor& Vh, const Tensor& A, bool full,
              bool vectors) {
  const int64_t m = rows(A), n = columns(A), count = batch_count(A);
  const Tensor info = empty(batch_sizes(A), DType::Int32);
  const Tensor work = column_copy(A);
  if (S.numel() == 0) {
    NoGrad quiet;
    for (const Tensor& t : {U, Vh}) {
      if (!vectors || t.numel() == 0) continue;
      set_zero(t);
      set_value(main_diagonal(t), Scalar(1));
    }
    return;
  }
  kernels::svd(A.dtype(), count, m, n, work.data(), S.data(), vectors ? U.data() : nullptr,
               vectors ? Vh.data() : nullptr, !vectors ? 'N' : full ? 'A' : 'S', ints_of(info));
  check_infos("linalg.svd", info, A.dim() == 2);
}

}  // namespace

const Op<Three(Tensor, bool, bool, MaybeText)> svd_any =
    define<Three(Tensor, bool, bool, MaybeText)>(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)")
  .doc("Singular values, with or without vectors.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& A, bool full, bool vectors, MaybeText driver) {
    check_matrix_shape("linalg.svd", A);
    check_float("linalg.svd", A);
    check(!driver, "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs "
          "with cuSOLVER backend.");
    check_lapack("linalg_svd_cpu", A);
    const int64_t m = rows(A), n = columns(A), k = std::min(m, n);
    const Dims u = with_matrix(batch_sizes(A), m, full ? m : k);
    const Dims v = with_matrix(batch_sizes(A), full ? n : k, n);
    if (vectors) infer_columns(r, u, A.dtype(), A.device());
    else r.result({0}, A.dtype(), A.device());
    r.result(with_vector(batch_sizes(A), k), real_of(A.dtype()), A.device());
    if (vectors && A.is_meta()) r.result(v, A.dtype(), A.device());
    else if (vectors) infer_columns(r, v, A.dtype(), A.device());
    else r.result({0}, A.dtype(), A.device());
  })
  .kernel([](Tensor& U, Tensor& S, Tensor& Vh, const Tensor& A, bool full, bool vectors,
             MaybeText) { svd_into(U, S, Vh, A, full, vectors); })
  .grad("A", "grad.U, grad.S, grad.Vh, U, S, Vh, full_matrices",
        [](const Tensor& gu, const Tensor& gs, const Tensor& gvh, const Tensor& U, const Tensor& S,
           const Tensor& Vh, bool full) {
    check(!full || (!gu && !gvh) || rows(U) == columns(Vh), "svd_backward: The singular vectors "
          "beyond the first min(m, n) have no derivative; use full_matrices=False.");
    return svd_gradient(gu, gs, gvh, U, S, Vh);
  });

const Op<Three(Tensor, bool, MaybeText)> linalg_svd = define<Three(Tensor, bool, MaybeText)>(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)")
  .doc(R"(
    A = U diag(S) Vh (..., m, n) with orthonormal columns in U and rows in Vh, S (..., k)
    descending. Without `full_matrices` U is (..., m, k) and Vh (..., k, n).

    >>> torch.linalg.svd(torch.diag(torch.tensor([1., 3.]))).S
    tensor([3., 1.])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, bool full, MaybeText driver) {
    return svd_any(A, full, true, driver);
  });

const Op<Tensor(Tensor, MaybeText)> svdvals = define<Tensor(Tensor, MaybeText)>(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor")
  .doc(R"(
    Singular values (..., min(m, n)) in descending order.

    >>> torch.linalg.svdvals(torch.diag(torch.tensor([1., 3.])))
    tensor([3., 1.])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, MaybeText driver) {
    return std::get<1>(svd_any(A, false, is_differentiated(A), driver));
  });

const auto svd_plain = define<Three(Tensor, bool, bool)>(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)")
  .doc("`linalg.svd` with V in place of its adjoint; with `some` the reduced form.")
  .forms(Function | Method | Out)
  .out({.dtype = OutDType::Exact, .check = [](const Arg* args, const Tensor* targets) {
    if (args[2].integer) return;
    const DType wanted = args[0].as_tensor().dtype();
    for (int i : {0, 2}) {
      check(targets[i].dtype() == wanted, "torch.svd: Expected out tensor to have dtype ",
            type_name_of(wanted), " but got ", type_name_of(targets[i].dtype()), " instead");
    }
  }})
  .composite([](const Tensor& self, bool some, bool vectors) -> Three {
    check(self.dim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ",
          self.dim(), " dimensions instead");
    if (!vectors) {
      const Tensor S = svdvals(self);
      const int64_t m = rows(self), n = columns(self);
      return {zeros(with_matrix(batch_sizes(self), m, m), self.dtype(), self.device()), S,
              turned(zeros(with_matrix(batch_sizes(self), n, n), self.dtype(), self.device()))};
    }
    const Three made = svd_any(self, !some);
    return {std::get<0>(made), std::get<1>(made), adjoint_of(std::get<2>(made))};
  });

}  // namespace rl::ops
