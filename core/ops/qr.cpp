// QR factors and products of Householder's reflections.
#include "ops/dispatch.h"
#include "ops/linalg.h"

namespace rl::ops {
namespace {

using Text = std::string_view;

struct Mode {
  bool q, reduced;
};
Mode read_mode(Text mode) {
  if (mode == "reduced") return {true, true};
  if (mode == "complete") return {true, false};
  check(mode == "r", "qr received unrecognized mode '", mode, "' but expected one of 'reduced' "
        "(default), 'r', or 'complete'");
  return {false, true};
}

// X + X^H with the diagonal counted once.
Tensor joined(const Tensor& x) {
  const Tensor both = x + adjoint_of(x);
  return both - diag_embed(main_diagonal(both), 0, -2, -1) * Scalar(0.5);
}

// Walter & Lehmann 2018, "Algorithmic differentiation of linear algebra functions", and for wide
// matrices A = [X Y], R = [R1 R2]: R2 = Q^H Y adds Y gR2^H to Q's gradient.
Tensor square_gradient(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  Tensor m;
  if (gr) m = matmul(gr, adjoint_of(r));
  if (gq) {
    const Tensor less = matmul(adjoint_of(q), gq);
    m = m ? Tensor(m - less) : -less;
  }
  Tensor inner = matmul(q, joined(triu(m, 0)));
  if (gq) inner = gq + inner;
  return solve_triangular(adjoint_of(r), inner, false, false, false);
}

Tensor qr_gradient(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r,
                   const Mode& mode) {
  check(mode.q, "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
        "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through "
        "linalg.qr.");
  const int64_t m = rows(q), n = columns(r);
  check(mode.reduced || m <= n, "The QR decomposition is not differentiable when mode='complete' "
        "and nrows > ncols.");
  if (!gq && !gr) return Tensor();
  if (m >= n) return square_gradient(gq, gr, q, r);
  const Tensor r1 = narrow(r, -1, 0, m), r2 = narrow(r, -1, m, n - m);
  Tensor to_q = gq, gr1, beside;
  if (gr) {
    const Tensor gr2 = narrow(gr, -1, m, n - m);
    gr1 = narrow(gr, -1, 0, m);
    beside = matmul(q, gr2);
    const Tensor more = matmul(matmul(q, r2), adjoint_of(gr2));
    to_q = gq ? Tensor(gq + more) : more;
  } else {
    beside = zeros_like(matmul(q, r2));
  }
  return cat(Tensors{square_gradient(to_q, gr1, q, r1), beside}, -1);
}

void qr_into(const Tensor& Q, const Tensor& R, const Tensor& A, const Mode& mode) {
  const int64_t m = rows(A), n = columns(A), k = std::min(m, n), count = batch_count(A);
  const int64_t wanted = mode.reduced ? k : m;
  NoGrad quiet;
  const Tensor tau = empty(with_vector(batch_sizes(A), k), A.dtype());
  // The reflections need m x max(n, wanted) where Q is wide, so they get their own matrix.
  const Tensor factors = column_copy(A);
  kernels::qr_factor(A.dtype(), count, m, n, factors.data(), tau.data());
  const int64_t r_rows = rows(R);
  copy_data(R, triu(narrow(factors, -2, 0, r_rows), 0));
  if (!mode.q || Q.numel() == 0) return;
  copy_data(narrow(Q, -1, 0, k), narrow(factors, -1, 0, k));
  if (wanted > k) set_zero(narrow(Q, -1, k, wanted - k));
  kernels::qr_form(A.dtype(), count, m, wanted, k, Q.data(), tau.data());
}

}  // namespace

const auto linalg_qr = define<Two(Tensor, Text)>(
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)")
  .doc(R"(
    A = Q R (..., m, n) with orthonormal columns in Q and an upper triangle R. Mode "reduced" gives
    min(m, n) columns of Q, "complete" m, "r" none.

    >>> torch.linalg.qr(torch.tensor([[2., 1.], [0., 3.]])).R.abs()
    tensor([[2., 1.],
            [0., 3.]])
  )")
  .forms(Linalg | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& A, Text mode) {
    check_matrix_shape("linalg.qr", A);
    check_float("linalg.qr", A);
    const Mode how = read_mode(mode);
    check_lapack("geqrf_cpu", A);
    const int64_t m = rows(A), n = columns(A), k = std::min(m, n);
    const int64_t wanted = how.reduced ? k : m;
    if (how.q) infer_columns(r, with_matrix(batch_sizes(A), m, wanted), A.dtype(), A.device());
    else r.result({0}, A.dtype(), A.device());
    infer_columns(r, with_matrix(batch_sizes(A), wanted, n), A.dtype(), A.device());
  })
  .kernel([](Tensor& Q, Tensor& R, const Tensor& A, Text mode) {
    qr_into(Q, R, A, read_mode(mode));
  })
  .grad("A", "grad.Q, grad.R, Q, R, mode",
        [](const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r, Text mode) {
    return qr_gradient(gq, gr, q, r, read_mode(mode));
  });

const auto qr_plain = define<Two(Tensor, bool)>(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)")
  .doc("`linalg.qr`, reduced if `some`, else complete; deprecated.")
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& self, bool some) {
    static bool said = false;
    warn_once(said, "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a "
              "future PyTorch release.\nThe boolean parameter 'some' has been replaced with a "
              "string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\nQ, R = "
              "torch.linalg.qr(A, 'reduced' if some else 'complete')");
    return linalg_qr(self, Text(some ? "reduced" : "complete"));
  });

const auto geqrf = define<Two(Tensor)>("geqrf(Tensor self) -> (Tensor a, Tensor tau)")
  .doc(R"(
    LAPACK's form of QR (..., m, n): R on and above the diagonal, the vectors of Householder's
    reflections below it, their factors `tau` (..., min(m, n)).
  )")
  .out({.text = "torch.geqrf: Expected a to be safely castable from %W dtype, but got a with "
                "dtype %G"})
  .forms(Function | Method | Out)
  .no_derivative("derivative for aten::geqrf is not implemented")
  .infer([](Infer& r, const Tensor& A) {
    refuse_meta("geqrf", A);
    check(A.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
    check_lapack("geqrf_cpu", A);
    infer_columns(r, A.sizes(), A.dtype(), A.device());
    r.result(with_vector(batch_sizes(A), std::min(rows(A), columns(A))), A.dtype(), A.device());
  })
  .kernel([](Tensor& a, Tensor& tau, const Tensor& A) {
    copy_data(a, A);
    kernels::qr_factor(A.dtype(), batch_count(A), rows(A), columns(A), a.data(), tau.data());
  });

// ---- Products of reflections H_i = I - tau_i v_i v_i^H, v_i below the diagonal of column i

namespace {

void check_reflections(const std::string& name, const Tensor& input, const Tensor& tau) {
  check(tau.dim() == input.dim() - 1, name, ": Expected tau to have one dimension less than input, "
        "but got tau.ndim equal to ", tau.dim(), " and input.ndim is equal to ", input.dim());
  const Ints batch(tau->sizes, size_t(tau.dim() - 1));
  check(batch == batch_sizes(input), name, ": Expected batch dimensions of tau to be equal to "
        "input.shape[:-2], but got ", batch);
}

// v_i as a column (..., m, 1).
Tensor reflection_vector(const Tensor& input, int64_t i) {
  const int64_t m = rows(input);
  Dims head = with_matrix(batch_sizes(input), i + 1, 1);
  const Tensor top = zeros(head, input.dtype());
  set_value(select(top, -2, i), Scalar(1));
  return cat(Tensors{top, narrow(narrow(input, -1, i, 1), -2, i + 1, m - i - 1)}, -2);
}

Tensor scale_of(const Tensor& tau, int64_t i) {
  return unsqueeze(unsqueeze(select(tau, -1, i), -1), -1);
}

// x - t v (v^H x) and x - (x v) t v^H.
Tensor from_left(const Tensor& x, const Tensor& t, const Tensor& v) {
  return x - (t * v) * matmul(adjoint_of(v), x);
}
Tensor from_right(const Tensor& x, const Tensor& t, const Tensor& v) {
  return x - matmul(x, v) * (t * adjoint_of(v));
}

// Gradients of the vectors and of tau for a function whose gradient by the whole product Q is G:
// `k` is G Q^H (m x m). With Q = L H_i R, K_i = L^H G R^H follows from K_i-1 by the reflections:
// gtau = -v^H K v, gv = -(conj(tau) K + tau K^H) v.
Two reflection_gradients(Tensor k, const Tensor& input, const Tensor& tau) {
  const int64_t count = tau.size(-1), m = rows(input);
  Tensors vectors, scales;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor v = reflection_vector(input, i), t = scale_of(tau, i);
    // H^-1 = I - s v v^H with s = tau / (tau v^H v - 1); K is multiplied by its adjoint.
    const Tensor s = t / (t * matmul(adjoint_of(v), v) - Scalar(1));
    if (i > 0) {
      const Tensor before = reflection_vector(input, i - 1);
      k = from_left(k, rl::conj(scale_of(tau, i - 1)), before);
    }
    k = from_right(k, rl::conj(s), v);
    const Tensor kv = matmul(k, v);
    scales.push_back(squeeze_dim(squeeze_dim(-matmul(adjoint_of(v), kv), -1), -1));
    const Tensor g = -(rl::conj(t) * kv + t * matmul(adjoint_of(k), v));
    const Tensor top = zeros(with_matrix(batch_sizes(input), i + 1, 1), input.dtype());
    vectors.push_back(cat(Tensors{top, narrow(g, -2, i + 1, m - i - 1)}, -2));
  }
  const int64_t others = columns(input) - count;
  if (others > 0)
    vectors.push_back(zeros(with_matrix(batch_sizes(input), m, others), input.dtype()));
  if (vectors.empty()) return {zeros_like(input), zeros_like(tau)};
  return {cat(vectors, -1), count ? Tensor(stack(scales, -1)) : zeros_like(tau)};
}

void infer_householder(Infer& r, const Tensor& input, const Tensor& tau) {
  const std::string name = "torch.linalg.householder_product";
  check(input.dim() >= 2, name, ": input must have at least 2 dimensions.");
  check(rows(input) >= columns(input), name,
        ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  check(tau.dim() == 0 || columns(input) >= tau.size(-1), name,
        ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  check_reflections(name, input, tau);
  check(tau.dtype() == input.dtype(), name, ": tau dtype ", type_name_of(tau.dtype()),
        " does not match input dtype ", type_name_of(input.dtype()));
  check_lapack("orgqr_cpu", input);
  infer_columns(r, input.sizes(), input.dtype(), input.device());
}

Tensor dense_vector(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor copy = empty(t.sizes(), t.dtype());
  copy_data(copy, t);
  return copy;
}

}  // namespace

const auto householder_product = define<Tensor(Tensor, Tensor)>(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor")
  .doc("The first n columns of the product of the reflections (..., m, n) that `geqrf` gave.")
  .out({.text = "torch.linalg.householder_product: Expected result to be safely castable "
                "from %W dtype, but got result with dtype %G"})
  .forms(Linalg | Out)
  .infer([](Infer& r, const Tensor& input, const Tensor& tau) {
    infer_householder(r, input, tau);
  })
  .kernel([](Tensor& result, const Tensor& input, const Tensor& tau) {
    copy_data(result, input);
    kernels::qr_form(input.dtype(), batch_count(input), rows(input), columns(input), tau.size(-1),
                     result.data(), dense_vector(tau).data());
  })
  .grad("input, tau", "grad, result, input, tau",
        [](const Tensor& grad, const Tensor& result, const Tensor& input, const Tensor& tau) {
    return reflection_gradients(matmul(grad, adjoint_of(result)), input, tau);
  });

const auto orgqr = define<Tensor(Tensor, Tensor)>("orgqr(Tensor self, Tensor input2) -> Tensor")
  .doc("The same as `linalg.householder_product`.")
  .out({.text = "torch.linalg.householder_product: Expected result to be safely castable "
                "from %W dtype, but got result with dtype %G"})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& tau) { return householder_product(self, tau); });

const Op<Tensor(Tensor, Tensor, Tensor, bool, bool)> ormqr =
    define<Tensor(Tensor, Tensor, Tensor, bool, bool)>(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)"
    " -> Tensor")
  .doc("A matrix times the whole product of reflections that `geqrf` gave, or its adjoint.")
  .out({.text = "torch.ormqr: Expected input and result to have the same dtype, but input "
                "has dtype%W and result has dtype %G"})
  .forms(Function | Method | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& input, const Tensor& tau, const Tensor& other, bool left,
            bool) {
    const std::string name = "torch.ormqr";
    check(input.dim() >= 2, name, ": input must have at least 2 dimensions.");
    check(other.dim() >= 2, name, ": other must have at least 2 dimensions.");
    const int64_t side = left ? -2 : -1;
    check(other.size(side) == rows(input), name, ": other.shape[", side,
          "] must be equal to input.shape[-2]");
    const int64_t k = tau.dim() ? tau.size(-1) : -1;
    check(k == std::min(other.size(side), columns(input)), name, ": tau.shape[-1] must be equal to "
          "min(other.shape[", side, "], input.shape[-1])");
    check_reflections(name, input, tau);
    check(other.dim() == input.dim(), name, ": Expected other to have the same number of "
          "dimensions as input, but got other.ndim equal to ", other.dim(), " and input.ndim is "
          "equal to ", input.dim());
    check(batch_sizes(other) == batch_sizes(input), name, ": Expected batch dimensions of other to "
          "be equal to input.shape[:-2], but got ", batch_sizes(other));
    check(tau.dtype() == input.dtype(), name, ": Expected input and tau to have the same dtype, "
          "but input has dtype", type_name_of(input.dtype()), " and tau has dtype ",
          type_name_of(tau.dtype()));
    check(other.dtype() == input.dtype(), name, ": Expected input and other to have the same dtype,"
          " but input has dtype", type_name_of(input.dtype()), " and other has dtype ",
          type_name_of(other.dtype()));
    check_lapack("ormqr_cpu", input);
    infer_columns(r, other.sizes(), input.dtype(), input.device());
  })
  .kernel([](Tensor& result, const Tensor& input, const Tensor& tau, const Tensor& other, bool left,
             bool transpose) {
    NoGrad quiet;
    const int64_t k = tau.size(-1);
    copy_data(result, other);
    kernels::qr_multiply(input.dtype(), batch_count(input), rows(result), columns(result), k,
                         column_major(narrow(detached(input), -1, 0, k)).data(),
                         dense_vector(tau).data(), result.data(), left, transpose);
  })
  .grad("self, input2", "grad, self, input2, input3, result, left, transpose",
        [](const Tensor& grad, const Tensor& input, const Tensor& tau, const Tensor& other,
           const Tensor& result, bool left, bool transpose) {
    // The gradient by Q times Q^H, for each of Q C, Q^H C, C Q and C Q^H.
    Tensor k;
    if (left && !transpose) {
      k = matmul(grad, adjoint_of(result));
    } else if (left) {
      k = ormqr(input, tau, matmul(other, adjoint_of(grad)), false, true);
    } else if (!transpose) {
      k = ormqr(input, tau, matmul(adjoint_of(other), grad), false, true);
    } else {
      k = matmul(adjoint_of(grad), result);
    }
    return reflection_gradients(k, input, tau);
  })
  .grad("input3", "grad, self, input2, left, transpose",
        [](const Tensor& grad, const Tensor& input, const Tensor& tau, bool left, bool transpose) {
    return ormqr(input, tau, grad, left, !transpose);
  });

}  // namespace rl::ops
