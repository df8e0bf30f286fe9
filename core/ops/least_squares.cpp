// Least squares solutions of linear systems.
#include <limits>

#include "ops/dispatch.h"
#include "ops/linalg.h"

namespace rl::ops {
namespace {

using kernels::Least;
constexpr const char* kName = "torch.linalg.lstsq";

Least read_driver(MaybeText driver) {
  const std::string_view d = driver.value_or("gelsy");
  if (d == "gels") return Least::QR;
  if (d == "gelsy") return Least::PivotedQR;
  if (d == "gelsd") return Least::DivideSVD;
  check(d == "gelss", kName, ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return Least::SVD;
}

bool is_vector_case(const Tensor& A, const Tensor& b) {
  return A.dim() - 1 == b.dim() && b.sizes() == Ints(A->sizes, size_t(A.dim() - 1));
}

void check_lstsq(const Tensor& A, const Tensor& b) {
  check(A.dim() >= 2, kName, ": input must have at least 2 dimensions.");
  check(b.dim() >= 1, kName, ": other must have at least 1 dimension.");
  const int64_t apart = A.dim() - b.dim();
  check(apart >= 0 && apart <= 1, kName, ": input.dim() must be greater or equal to other.dim() "
        "and (input.dim() - other.dim()) <= 1");
  const bool vector = is_vector_case(A, b);
  check(vector || b.dim() >= 2, kName, ": input.size(-2) should match other.size(-1)");
  check(rows(A) == (vector ? b.size(-1) : rows(b)), kName,
        ": input.size(-2) should match other.size(", vector ? -1 : -2, ")");
  check(A.device() == b.device(), kName, ": input and other should be on the same device.");
  check(A.dtype() == b.dtype(), kName, ": Expected input and other to have the same dtype, but got "
        "input's dtype ", type_name_of(A.dtype()), " and other's dtype ", type_name_of(b.dtype()));
}

double default_rcond(const Tensor& A) {
  const bool wide = real_of(A.dtype()) == DType::Double;
  const double eps = wide ? std::numeric_limits<double>::epsilon()
                          : double(std::numeric_limits<float>::epsilon());
  return eps * double(std::max(rows(A), columns(A)));
}

// Sums of squared magnitudes of the rows of x (..., ldb, k) from n on.
Tensor residuals_of(const Tensor& x, int64_t n) {
  const Tensor rest = abs(narrow(x, -2, n, rows(x) - n));
  return sum_dim(rest * rest, Ints{-2}, false);
}

Four lstsq(const Tensor& A, const Tensor& b, MaybeDouble rcond, Least driver) {
  const int64_t m = rows(A), n = columns(A), ldb = std::max(m, n);
  const bool vector = is_vector_case(A, b);
  const Tensor right = vector ? Tensor(unsqueeze(b, -1)) : b;
  const Dims batch = broadcast(batch_sizes(A), batch_sizes(right));
  const int64_t k = columns(right), count = count_of(batch);
  const DType real = real_of(A.dtype());
  const bool has_rank = driver != Least::QR, meta = A.is_meta();
  const bool has_values = driver == Least::SVD || driver == Least::DivideSVD;
  const bool nothing = A.numel() == 0 || right.numel() == 0;
  const Tensor rank = empty(has_rank ? Ints(batch) : Ints({0}), DType::Int64, A.device());
  const Dims value_sizes = with_vector(batch, std::min(m, n));
  const bool batched_empty = nothing && !batch.empty();
  const bool has_room = has_values && (!nothing || batched_empty);
  const Tensor values = empty(has_room ? Ints(value_sizes) : Ints({0}), real, A.device());
  const Dims buffer_sizes = with_matrix(batch, ldb, k);
  const Tensor x = empty_strided(buffer_sizes, column_strides(buffer_sizes), A.dtype(), A.device());
  Tensor residuals = empty({0}, real, A.device());
  const Tensor head = narrow(x, -2, 0, n);
  if (!meta) {
    set_zero(x);
    if (m > 0) copy_data(narrow(x, -2, 0, m), expand(right, with_matrix(batch, m, k), false));
    if (has_rank) set_zero(rank);
    if (nothing) {
      set_zero(head);
    } else {
      const Tensor work = column_copy(expand(A, with_matrix(batch, m, n), false));
      const Tensor infos = empty({count}, DType::Int32);
      Unlocked guard(true);
      kernels::least_squares(A.dtype(), driver, count, m, n, k, work.data(), x.data(),
                             rcond.value_or(default_rcond(A)),
                             has_values ? values.data() : nullptr,
                             has_rank ? rank.ptr<int64_t>() : nullptr, ints_of(infos));
    }
  }
  bool wanted = m > n && driver != Least::PivotedQR;
  if (wanted && has_values && batch.empty() && !meta && !nothing)
    wanted = rank.ptr<int64_t>()[0] == n;
  if (wanted) residuals = residuals_of(x, n);
  return {vector ? Tensor(squeeze_dim(head, -1)) : head, residuals, rank, values};
}

}  // namespace

const auto linalg_lstsq = define<Four(Tensor, Tensor, MaybeDouble, MaybeText)>(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)")
  .doc(R"(
    Solutions X of least squares |A X - b| (A (..., m, n), b (..., m, k) or (..., m)), sums of
    squared residuals where m > n, ranks and singular values, as the driver (a routine of
    LAPACK: "gels", "gelsy", "gelsd", "gelss") finds them.

    >>> A = torch.tensor([[1.], [1.]])
    >>> torch.linalg.lstsq(A, torch.tensor([[1.], [3.]])).solution
    tensor([[2.0000]])
  )")
  .out({.text = "torch.linalg.lstsq: Expected solution to be safely castable from %W dtype, "
                "but got solution with dtype %G"})
  .forms(Linalg | Out)
  .produce([](const Tensor& A, const Tensor& b, MaybeDouble rcond, MaybeText driver) {
    refuse_meta("linalg_lstsq.out", A);
    check_lstsq(A, b);
    const Least how = read_driver(driver);
    check(A.dtype() == DType::Float || A.dtype() == DType::Double || A.is_complex(),
          "This function doesn't handle types other than float and double");
    NoGrad quiet;
    return lstsq(detached(A), detached(b), rcond, how);
  })
  .grad("self, b", "grad.solution, grad.residuals, self, b, solution, needs",
        [](const Tensor& gx, const Tensor& gr, const Tensor& A, const Tensor& b,
           const Tensor& solution, Needs needs) -> Two {
    const bool vector = is_vector_case(A, b);
    const auto matrix = [&](const Tensor& t) { return vector ? Tensor(unsqueeze(t, -1)) : t; };
    const Tensor right = matrix(b), x = matrix(solution);
    Tensor to_a, to_b;
    if (gx) {
      const Tensor pinv = pinv_tensors(A);
      if (needs[0]) to_a = pinv_gradient(matmul(matrix(gx), adjoint_of(right)), pinv, A);
      if (needs[1]) to_b = matmul(adjoint_of(pinv), matrix(gx));
    }
    if (gr && gr.numel()) {
      const Tensor rest = (matmul(A, x) - right) * unsqueeze(gr, -2) * Scalar(2);
      if (needs[0]) {
        const Tensor more = matmul(rest, adjoint_of(x));
        to_a = to_a ? Tensor(to_a + more) : more;
      }
      if (needs[1]) to_b = to_b ? Tensor(to_b - rest) : Tensor(-rest);
    }
    if (to_b && vector) to_b = squeeze_dim(to_b, -1);
    return {to_a, to_b};
  });

}  // namespace rl::ops
