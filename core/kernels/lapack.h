// LAPACK over batches of matrices: factorizations, solvers, eigenvalues, singular values.
#pragma once
#include <cstdint>

#include "base/dtype.h"

namespace rl::kernels {

// Matrices are dense and column-major; entry i of a batch begins i matrices behind the first.
// dtype is float, double or their complex. Pivots count from one; infos are LAPACK's, one per
// entry: 0, or what failed. Small matrices are done in parallel, large ones one after the other.

// a (m x n) becomes its factors L and U
void lu_factor(DType t, int64_t count, int64_t m, int64_t n, void* a, int32_t* pivots,
               int32_t* infos);
// b (n x columns) becomes op(A)^-1 b; op is 'N', 'T' or 'C'.
void lu_solve(DType t, int64_t count, int64_t n, int64_t columns, const void* lu,
              const int32_t* pivots, void* b, char op = 'N');
// One triangle of a becomes its Cholesky factor; the other is left alone.
void cholesky(DType t, int64_t count, int64_t n, void* a, bool upper, int32_t* infos);
void cholesky_solve(DType t, int64_t count, int64_t n, int64_t columns, const void* factor,
                    bool upper, void* b);
// The factor becomes the inverse of what was factored, both triangles of it.
void cholesky_inverse(DType t, int64_t count, int64_t n, void* a, bool upper, int32_t* infos);
// b (m x n) becomes op(A)^-1 b (left) or b op(A)^-1.
void triangular_solve(DType t, int64_t count, int64_t m, int64_t n, const void* a, void* b,
                      bool left, bool upper, char op, bool unit);
// a (m x n) becomes R above Householder's vectors; tau has min(m, n) entries.
void qr_factor(DType t, int64_t count, int64_t m, int64_t n, void* a, void* tau);
// The first n columns of the product of k reflections; a is m x n.
void qr_form(DType t, int64_t count, int64_t m, int64_t n, int64_t k, void* a, const void* tau);
// c (m x n) becomes op(Q) c or c op(Q), Q of k reflections, a (m or n) x k.
void qr_multiply(DType t, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
                 const void* tau, void* c, bool left, bool adjoint);
// job: 'A' all of u (m x m) and vh (n x n), 'S' the first min(m, n) columns and rows, 'N' neither.
void svd(DType t, int64_t count, int64_t m, int64_t n, void* a, void* s, void* u, void* vh,
         char job, int32_t* infos);
// a becomes its eigenvectors if they are asked for.
void eigh(DType t, int64_t count, int64_t n, void* a, void* values, bool vectors, bool upper,
          int32_t* infos);
// Complex values and vectors (null: not asked for), also of real matrices; a is overwritten.
void eig(DType t, int64_t count, int64_t n, void* a, void* values, void* vectors,
         int32_t* infos);

enum class Least { QR, PivotedQR, DivideSVD, SVD };  // gels, gelsy, gelsd, gelss
// b (max(m, n) x columns) becomes the solution in its first n rows; a is overwritten.
void least_squares(DType t, Least driver, int64_t count, int64_t m, int64_t n, int64_t columns,
                   void* a, void* b, double rcond, void* singular, int64_t* ranks,
                   int32_t* infos);
// Bunch and Kaufman's factors of symmetric or Hermitian matrices, in the lower triangle.
void ldl_factor(DType t, int64_t count, int64_t n, void* a, bool hermitian, int32_t* pivots,
                int32_t* infos);
void ldl_solve(DType t, int64_t count, int64_t n, int64_t columns, const void* ld,
               const int32_t* pivots, void* b, bool hermitian);

}  // namespace rl::kernels
