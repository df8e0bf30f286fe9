// Eigenvalues and eigenvectors.
#include <algorithm>

#include "ops/linalg.h"
#include "ops/transform.h"

namespace rl::ops {
namespace {

using Text = std::string_view;

bool read_triangle(Text uplo) {
  const char c = uplo.size() == 1 ? char(std::toupper(uplo[0])) : '?';
  check(c == 'L' || c == 'U', "Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  return c == 'U';
}

// b_j - a_i as a matrix with ones on its diagonal.
Tensor gaps(const Tensor& values) {
  const Tensor differences = unsqueeze(values, -2) - unsqueeze(values, -1);
  return differences + diag_embed(main_diagonal(differences) * Scalar(0) + Scalar(1), 0, -2, -1);
}

Tensor without_diagonal(const Tensor& t) {
  return t - diag_embed(main_diagonal(t), 0, -2, -1);
}

// Complex vectors are given up to a phase, on which a loss must not depend.
void check_phase(const char* name, const Tensor& inner, const Tensor& V, const Tensor& gv) {
  if (!V.is_complex() || V.is_meta()) return;
  NoGrad quiet;
  const Tensor turn = abs(imag(main_diagonal(inner)));
  if (turn.numel() == 0) return;
  const double most = item_of(amax(turn, Ints(), false)).to_double();
  const double size = item_of(amax(abs(gv), Ints(), false)).to_double();
  const double tolerance = real_of(V.dtype()) == DType::Double ? 1e-2 : 1e-2;
  check(!(most > tolerance * std::max(size, 1.0)), name, ": The eigenvectors in the complex case "
        "are specified up to multiplication by e^{i phi}. The specified loss function depends on "
        "this quantity, so it is ill-defined.");
}

// Giles 2008, section 3.1, for unitary V.
Tensor eigh_gradient(const Tensor& gl, const Tensor& gv, const Tensor& L, const Tensor& V) {
  if (!gl && !gv) return Tensor();
  const Tensor vh = adjoint_of(V);
  if (!gv) return matmul(V * unsqueeze(gl, -2), vh);
  const Tensor inner = matmul(vh, gv);
  check_phase("linalg_eigh_backward", inner, V, gv);
  Tensor middle = without_diagonal(inner) / gaps(L);
  if (gl) middle = middle + diag_embed(V.is_complex() ? to_dtype(gl, V.dtype()) : gl, 0, -2, -1);
  return matmul(matmul(V, middle), vh);
}

// The general case; the vectors have norm one, which takes out the part along them.
Tensor eig_gradient(const Tensor& gl, const Tensor& gv, const Tensor& L, const Tensor& V) {
  if (!gl && !gv) return Tensor();
  const Tensor vh = adjoint_of(V);
  Tensor middle;
  if (gv) {
    const Tensor inner = matmul(vh, gv);
    check_phase("linalg_eig_backward", inner, V, gv);
    const Tensor along = real(main_diagonal(inner));
    const Tensor across = inner - matmul(vh, V) * unsqueeze(to_dtype(along, V.dtype()), -2);
    middle = without_diagonal(across) / rl::conj(gaps(L));
  }
  if (gl) {
    const Tensor on = diag_embed(gl, 0, -2, -1);
    middle = middle ? Tensor(middle + on) : on;
  }
  return linalg_solve(vh, matmul(middle, vh));
}

void check_general(const char* name, const Tensor& A) {
  check_square(name, A);
  check(is_differentiable(A.dtype()), "Unknown Complex ScalarType for ", type_name_of(A.dtype()));
  check_lapack("linalg_eig_out_cpu", A);
}

void eig_into(const Tensor& values, const Tensor& vectors, const Tensor& A, const char* name) {
  const Tensor work = column_copy(A), info = empty(batch_sizes(A), DType::Int32);
  kernels::eig(A.dtype(), batch_count(A), rows(A), work.data(), values.data(),
               vectors ? vectors.data() : nullptr, ints_of(info));
  check_infos(name, info, A.dim() == 2);
}

}  // namespace

const auto eigh_any = define<Two(Tensor, Text, bool)>(
    "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True)"
    " -> (Tensor eigenvalues, Tensor eigenvectors)")
  .doc("Eigenvalues of Hermitian matrices, with or without vectors.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& A, Text uplo, bool vectors) {
    check_square("linalg.eigh", A);
    read_triangle(uplo);
    check_lapack("linalg_eigh_cpu", A);
    r.result({A->sizes, size_t(A.dim() - 1)}, real_of(A.dtype()), A.device());
    if (vectors) infer_columns(r, A.sizes(), A.dtype(), A.device());
    else r.result({0}, A.dtype(), A.device());
  })
  .kernel([](Tensor& values, Tensor& vectors, const Tensor& A, Text uplo, bool compute) {
    const Tensor work = compute ? vectors : column_empty(A.sizes(), A.dtype());
    const Tensor info = empty(batch_sizes(A), DType::Int32);
    copy_data(work, A);
    kernels::eigh(A.dtype(), batch_count(A), rows(A), work.data(), values.data(), compute,
                  read_triangle(uplo), ints_of(info));
    check_infos("linalg.eigh", info, A.dim() == 2);
  })
  .grad("A", "grad.eigenvalues, grad.eigenvectors, eigenvalues, eigenvectors",
        [](const Tensor& gl, const Tensor& gv, const Tensor& L, const Tensor& V) {
    return eigh_gradient(gl, gv, L, V);
  });

const Op<Two(Tensor, Text)> eigh = define<Two(Tensor, Text)>(
    "linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)")
  .doc(R"(
    Eigenvalues (..., n) in ascending order and orthonormal eigenvectors (columns of (..., n, n)) of
    Hermitian matrices, of which one triangle is read.

    >>> torch.linalg.eigh(torch.diag(torch.tensor([3., 1.]))).eigenvalues
    tensor([1., 3.])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, Text uplo) { return eigh_any(A, uplo, true); });

const Op<Tensor(Tensor, Text)> eigvalsh = define<Tensor(Tensor, Text)>(
    "linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor")
  .doc(R"(
    Eigenvalues (..., n) of Hermitian matrices in ascending order.

    >>> torch.linalg.eigvalsh(torch.diag(torch.tensor([3., 1.])))
    tensor([1., 3.])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .composite([](const Tensor& A, Text uplo) {
    return eigh_any(A, uplo, is_differentiated(A)).first;
  });

const auto linalg_eig = define<Two(Tensor)>(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)")
  .doc(R"(
    Complex eigenvalues (..., n) and eigenvectors (columns of (..., n, n), of norm one) of square
    matrices.

    >>> torch.linalg.eig(torch.tensor([[0., 1.], [-1., 0.]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
  )")
  .out({.text = "torch.linalg.eig: Expected eigenvalues to be safely castable from %W dtype, "
                "but got eigenvalues with dtype %G"})
  .forms(Linalg | Out)
  .infer([](Infer& r, const Tensor& A) {
    check_general("linalg.eig", A);
    r.result({A->sizes, size_t(A.dim() - 1)}, complex_of(A.dtype()), A.device());
    if (A.is_meta()) r.result(A.sizes(), complex_of(A.dtype()), A.device());
    else infer_columns(r, A.sizes(), complex_of(A.dtype()), A.device());
  })
  .kernel([](Tensor& values, Tensor& vectors, const Tensor& A) {
    eig_into(values, vectors, A, "linalg.eig");
  })
  .grad("self", "grad.eigenvalues, grad.eigenvectors, eigenvalues, eigenvectors",
        [](const Tensor& gl, const Tensor& gv, const Tensor& L, const Tensor& V) {
    return eig_gradient(gl, gv, L, V);
  });

const auto eigvals_only = define<Tensor(Tensor)>("_linalg_eigvals(Tensor self) -> Tensor")
  .doc("Eigenvalues of square matrices, without a gradient.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& A) {
    check_general("linalg.eigvals", A);
    r.result({A->sizes, size_t(A.dim() - 1)}, complex_of(A.dtype()), A.device());
  })
  .kernel([](Tensor& values, const Tensor& A) {
    eig_into(values, Tensor(), A, "linalg.eigvals");
  });

const auto eigvals = define<Tensor(Tensor)>("linalg_eigvals(Tensor self) -> Tensor")
  .doc(R"(
    Complex eigenvalues (..., n) of square matrices.

    >>> torch.linalg.eigvals(torch.tensor([[0., 1.], [-1., 0.]]))
    tensor([0.+1.j, 0.-1.j])
  )")
  .out({.text = "torch.linalg.eigvals: Expected eigenvalues to be safely castable from %W "
                "dtype, but got eigenvalues with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& A) -> Tensor {
    if (is_differentiated(A)) return linalg_eig(A).first;
    return eigvals_only(A);
  });

}  // namespace rl::ops
