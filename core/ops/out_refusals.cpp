// The messages of PyTorch's ops that check the dtype of out= themselves.
#include "ops/out_refusals.h"

namespace rl {
namespace {

struct Refusal {
  std::string_view record;   // its base name
  const char* prefix;
  const char* result;        // what the message calls it
};
// "PREFIX: Expected RESULT to be safely castable from FLOAT dtype, ..."
constexpr Refusal kCasts[] = {
    {"cholesky", "cholesky", "result"},
    {"cholesky_inverse", "cholesky_inverse", "result"},
    {"cholesky_solve", "cholesky_solve", "result"},
    {"geqrf", "torch.geqrf", "a"},
    {"linalg_cond", "linalg.cond", "result"},
    {"linalg_pinv", "linalg.pinv", "result"},
    {"linalg_tensorinv", "tensorinv", "result"},
    {"linalg_tensorsolve", "tensorsolve", "result"},
    {"linalg_eig", "torch.linalg.eig", "eigenvalues"},
    {"linalg_eigvals", "torch.linalg.eigvals", "eigenvalues"},
    {"linalg_householder_product", "torch.linalg.householder_product", "result"},
    {"orgqr", "torch.linalg.householder_product", "result"},
    {"linalg_lstsq", "torch.linalg.lstsq", "solution"},
    {"linalg_matrix_power", "matrix_power", "result"},
    {"linalg_matrix_rank", "torch.linalg.matrix_rank", "result"},
    {"matrix_power", "matrix_power", "result"},
};

}  // namespace

std::string out_refusal(const Record& r, DType made, DType given) {
  const char *from = type_name_of(made), *to = type_name_of(given);
  for (const Refusal& c : kCasts) {
    if (c.record != r.base || can_cast(made, given)) continue;
    return text(c.prefix, ": Expected ", c.result, " to be safely castable from ", from,
                " dtype, but got ", c.result, " with dtype ", to);
  }
  if (made == given) return {};
  if (r.base == "linalg_multi_dot" || r.base == "chain_matmul") {
    return text("multi_dot(): expected out tensor to have dtype ", c_name_of(made), " but got ",
                c_name_of(given));
  }
  if (r.base == "ormqr") {
    return text("torch.ormqr: Expected input and result to have the same dtype, but input has "
                "dtype", from, " and result has dtype ", to);
  }
  if (r.base == "linalg_vecdot")
    return text("linalg.vecdot: Expected out of dtype", from, " but found ", to);
  if (r.base == "linalg_solve_triangular")
    return text("expected scalar type ", from, " but found ", to);
  if (r.base == "linalg_matrix_norm" || r.base == "nuclear_norm")
    return text("linalg.matrix_norm expected out tensor dtype ", from, " but got: ", to);
  if (r.base == "linalg_norm")
    return text("linalg.norm expected out tensor dtype ", from, " but got: ", to);
  return {};
}

bool takes_columns(const Record& r, int place, const Tensor& out, const Tensor& made) {
  const bool when_empty = r.base == "cholesky_inverse" || r.base == "ormqr" || r.base == "geqrf" ||
                          r.base == "orgqr" || r.base == "linalg_householder_product" ||
                          r.base == "linalg_eig" || r.base == "linalg_lstsq";
  const bool structured = (r.forms & Linalg) || r.base == "triangular_solve" ||
                          r.base == "lu_solve" || (r.base == "svd" && place == 0);
  const bool takes = when_empty ? out.numel() == 0
                                : structured && out.sizes() != made.sizes();
  const size_t n = size_t(made.dim());
  if (!takes || n < 2) return false;
  Dims turned(made.sizes()), strides;
  std::swap(turned[n - 1], turned[n - 2]);
  strides = contiguous_strides(turned);
  std::swap(strides[n - 1], strides[n - 2]);
  return made.strides() == Ints(strides);
}

}  // namespace rl
