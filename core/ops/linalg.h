// What the files of linear algebra share: checks, column-major matrices, adjoints.
#pragma once
#include "autograd/meta.h"
#include "kernels/lapack.h"
#include "ops/ops.h"

namespace rl::ops {

using Two = std::pair<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

inline int64_t rows(const Tensor& t) { return t->sizes[t.dim() - 2]; }
inline int64_t columns(const Tensor& t) { return t->sizes[t.dim() - 1]; }
inline Ints batch_sizes(const Tensor& t) { return {t->sizes, size_t(t.dim() - 2)}; }
inline int64_t count_of(Ints sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}
inline int64_t batch_count(const Tensor& t) { return count_of(batch_sizes(t)); }
inline Dims with_matrix(Ints batch, int64_t m, int64_t n) {
  Dims d(batch);
  d.push_back(m);
  d.push_back(n);
  return d;
}
inline Dims with_vector(Ints batch, int64_t n) {
  Dims d(batch);
  d.push_back(n);
  return d;
}

// ---- Column-major matrices, as LAPACK takes them (no graph).
Dims column_strides(Ints sizes);
void infer_columns(Infer& r, Ints sizes, DType dtype, Device device);
Tensor column_empty(Ints sizes, DType dtype);
Tensor column_copy(const Tensor& t);             // always a copy
bool is_column_major(const Tensor& t);
Tensor column_major(const Tensor& t);            // the tensor itself where it can be

// ---- Checks, with PyTorch's messages; `name` begins them.
void check_matrix_shape(const std::string& name, const Tensor& t, const char* arg = "A");
void check_square(const std::string& name, const Tensor& t, const char* arg = "A");
void check_float(const std::string& name, const Tensor& t, bool low_precision = true);
// For kernels: what LAPACK has no routine for.
void check_lapack(const char* kernel, const Tensor& t);
void check_same_device(const char* name, const Tensor& a, const Tensor& b, const char* first,
                       const char* second);
void check_equation(const char* name, const Tensor& a, const Tensor& b, bool left);
// Raises LinAlgError for the first info that is not zero, as api `name` words it.
void check_infos(const char* name, const Tensor& info, bool single);
int32_t* ints_of(const Tensor& t);
void warn_once(bool& said, const char* message);

// ---- Short forms for formulas.
inline Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }
inline Tensor adjoint_of(const Tensor& t) { return conj(turned(t)); }
inline Tensor main_diagonal(const Tensor& t) { return diagonal(t, 0, -2, -1); }
inline Tensor identity(int64_t n, DType dtype) {
  return diag_embed(full({n}, Scalar(1), dtype), 0, -2, -1);
}

// comparison.cpp
extern const Op<Tensor(Tensor, MaybeDouble, MaybeDouble, MaybeDouble)> nan_to_num;
// inverse.cpp, solve.cpp, cholesky.cpp, qr.cpp, svd.cpp, eigen.cpp
extern const Op<Tensor(Tensor)> linalg_inv;
extern const Op<Two(Tensor, bool)> inv_ex;                                 // linalg_inv_ex
extern const Op<Four(Tensor, Tensor, bool, bool)> linalg_solve_factored;  // _linalg_solve_ex
extern const Op<Tensor(Tensor, Tensor, bool)> linalg_solve;
extern const Op<Tensor(Tensor, Tensor, bool, bool, bool)> solve_triangular;
extern const Op<Three(Tensor, bool, bool)> lu_factor_ex;
extern const Op<Tensor(Tensor, Tensor, Tensor, bool, bool)> lu_solve_op;   // linalg_lu_solve
extern const Op<Three(Tensor, Tensor, bool, bool)> lu_unpack;
extern const Op<Tensor(Tensor, Tensor, bool)> cholesky_solve;
extern const Op<Tensor(Tensor, MaybeText)> svdvals;
extern const Op<Tensor(Tensor, std::string_view)> eigvalsh;
extern const Op<Two(Tensor, std::string_view)> eigh;
extern const Op<Three(Tensor, bool, MaybeText)> linalg_svd;
extern const Op<Tensor(Tensor, Tensor, Tensor, bool)> pinv_tensors;       // linalg_pinv
Tensor pinv_gradient(const Tensor& grad, const Tensor& pinv, const Tensor& A);

// norms.cpp
Tensor matrix_norm_of(const Tensor& self, const Scalar& ord, Ints dim, bool keepdim,
                      MaybeDType dtype);
Tensor matrix_norm_of(const Tensor& self, std::string_view ord, Ints dim, bool keepdim,
                      MaybeDType dtype);

}  // namespace rl::ops
