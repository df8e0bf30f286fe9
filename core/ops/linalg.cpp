// Checks and layouts of linear algebra.
#include "ops/linalg.h"
#include "autograd/transforms.h"

#include "base/linalg_error.h"

namespace rl::ops {

Dims column_strides(Ints sizes) {
  Dims strides = contiguous_strides(sizes);
  const size_t n = sizes.size();
  if (n >= 2) {
    strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
    strides[n - 2] = 1;
  }
  return strides;
}

void infer_columns(Infer& r, Ints sizes, DType dtype, Device device) {
  r.result(sizes, column_strides(sizes), dtype, device);
}

Tensor column_empty(Ints sizes, DType dtype) {
  return empty_strided(sizes, column_strides(sizes), dtype);
}

Tensor column_copy(const Tensor& t) {
  const Tensor copy = column_empty(t.sizes(), t.dtype());
  copy_data(copy, t);
  return copy;
}

bool is_column_major(const Tensor& t) {
  if (t.is_conj() || t.is_negative()) return false;
  const Dims wanted = column_strides(t.sizes());
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t->sizes[d] > 1 && t->strides[d] != wanted[size_t(d)]) return false;
  return true;
}

Tensor column_major(const Tensor& t) { return is_column_major(t) ? t : column_copy(t); }

void check_matrix_shape(const std::string& name, const Tensor& t, const char* arg) {
  check(t.dim() >= 2, name, ": The input tensor ", arg, " must have at least 2 dimensions.");
}

void check_square(const std::string& name, const Tensor& t, const char* arg) {
  check_matrix_shape(name, t, arg);
  check(rows(t) == columns(t), name, name.empty() ? "" : ": ", arg,
        " must be batches of square matrices, but they are ", rows(t), " by ", columns(t),
        " matrices");
}

void check_float(const std::string& name, const Tensor& t, bool low_precision) {
  check(is_differentiable(t.dtype()), name, ": Expected a floating point or complex tensor as "
        "input. Got ", type_name_of(t.dtype()));
  check(low_precision || !is_half(t.dtype()), name, ": Low precision dtypes not supported. Got ",
        type_name_of(t.dtype()));
}

void check_lapack(const char* kernel, const Tensor& t) {
  const bool known = t.dtype() == DType::Float || t.dtype() == DType::Double || t.is_complex();
  check(known || t.is_meta(), ErrorKind::NotImplemented, "\"", kernel, "\" not implemented for '",
        type_name_of(t.dtype()), "'");
}

void check_same_device(const char* name, const Tensor& a, const Tensor& b, const char* first,
                       const char* second) {
  check(a.device() == b.device(), name, ": Expected ", first, " and ", second, " to be on the same "
        "device, but found ", first, " on ", name_of(a.device().type), " and ", second, " on ",
        name_of(b.device().type), " instead");
}

void check_equation(const char* name, const Tensor& a, const Tensor& b, bool left) {
  check_square(name, a);
  check_matrix_shape(name, b, "B");
  check(left ? rows(a) == rows(b) : columns(a) == columns(b), name, ": Incompatible shapes of A "
        "and B for the equation ", left ? "AX = B" : "XA = B", " (", rows(a), "x", columns(a),
        " and ", rows(b), "x", columns(b), ")");
}

int32_t* ints_of(const Tensor& t) { return t.ptr<int32_t>(); }

namespace {

std::string reason(std::string_view name, int32_t info) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (info == -4 && has("svd"))
    return ": The algorithm failed to converge because the input matrix contained non-finite "
           "values.";
  if (info < 0) return text(": Argument ", -info, " has illegal value. Most certainly there is a "
                            "bug in the implementation calling the backend library.");
  if (has("svd")) {
    return text(": The algorithm failed to converge because the input matrix is ill-conditioned or "
                "has too many repeated singular values (error code: ", info, ").");
  }
  if (has("inv")) {
    return text(": The diagonal element ", info, " is zero, the inversion could not be completed "
                "because the input matrix is singular.");
  }
  if (has("solve")) return ": The solver failed because the input matrix is singular.";
  if (has("cholesky")) {
    return text(": The factorization could not be completed because the input is not "
                "positive-definite (the leading minor of order ", info, " is not "
                "positive-definite).");
  }
  if (has("eig")) {
    return text(": The algorithm failed to converge because the input matrix is ill-conditioned or "
                "has too many repeated eigenvalues (error code: ", info, ").");
  }
  if (has("lstsq")) {
    return text(": The least squares solution could not be computed because the input matrix does "
                "not have full rank (error code: ", info, ").");
  }
  if (has("ldl")) return text(": Unknown error code: ", info, ".");
  return text(": U[", info, ",", info, "] is zero and using it on lu_solve would result in a "
              "division by zero. If you still want to perform the factorization, consider calling "
              "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
}

}  // namespace

void check_infos(const char* name, const Tensor& given, bool single) {
  if (given.is_meta()) return;
  single = single && !differs_by_sample(given);
  Tensor info = given;      // of all samples, in a transform
  while (const Wrapper* w = wrapper_of(info)) info = Tensor(w->value);
  const int32_t* p = ints_of(info);
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (!p[i]) continue;
    const std::string message =
        text(name, single ? std::string() : text(": (Batch element ", i, ")"), reason(name, p[i]));
    const std::string_view asked = name;
    const bool plain = (p[i] < 0 && asked.find("svd") == asked.npos) ||
                       asked.find("lu_factor") != asked.npos ||
                       asked.find("ldl_factor") != asked.npos;
    check(!plain, message);
    throw LinAlgError(message);
  }
}

void warn_once(bool& said, const char* message) {
  if (said) return;
  said = true;
  warn(message);
}

}  // namespace rl::ops
