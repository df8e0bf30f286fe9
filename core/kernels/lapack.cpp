// Triangular factors and solvers of LAPACK: LU, Cholesky, LDL, triangular systems.
#include "kernels/lapack.h"

#include <cmath>

#include "kernels/lapack_call.h"
#include "kernels/lapack_small.h"

namespace rl::kernels {
namespace {

constexpr size_t kOne = 1;  // the length of a text of one letter

}  // namespace

void lu_factor(DType t, int64_t count, int64_t m, int64_t n, void* a, int32_t* pivots,
               int32_t* infos) {
  const int64_t k = std::min(m, n);
  std::fill_n(infos, count, 0);
  if (k == 0) return;
  const int rows = as_int(m), columns = as_int(n);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(m) * double(n) * double(k), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const matrix = static_cast<T*>(a) + i * m * n;
        int32_t* const own = pivots + i * k;
        if (k <= kSmallMatrix && m <= 2 * kSmallMatrix) {
          infos[i] = small_lu(m, n, matrix, own);
        } else {
          RL_LAPACK(T, "getrf", &rows, &columns, matrix, &rows, own, infos + i);
        }
      }
    });
  });
}

void lu_solve(DType t, int64_t count, int64_t n, int64_t columns, const void* lu,
              const int32_t* pivots, void* b, char op) {
  if (n == 0 || columns == 0) return;
  const int order = as_int(n), width = as_int(columns);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(n) * double(n) * double(columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const factors = static_cast<const T*>(lu) + i * n * n;
        T* const right = static_cast<T*>(b) + i * n * columns;
        if (op == 'N' && n <= kSmallMatrix) {
          small_lu_solve(n, columns, factors, pivots + i * n, right);
          continue;
        }
        int info = 0;
        RL_LAPACK(T, "getrs", &op, &order, &width, factors, &order, pivots + i * n, right, &order,
                  &info, kOne);
      }
    });
  });
}

void cholesky(DType t, int64_t count, int64_t n, void* a, bool upper, int32_t* infos) {
  std::fill_n(infos, count, 0);
  if (n == 0) return;
  const int order = as_int(n);
  const char uplo = upper ? 'U' : 'L';
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(n) * double(n) * double(n) / 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const matrix = static_cast<T*>(a) + i * n * n;
        if (n <= kSmallMatrix) infos[i] = small_cholesky(n, matrix, upper);
        else RL_LAPACK(T, "potrf", &uplo, &order, matrix, &order, infos + i, kOne);
      }
    });
  });
}

void cholesky_solve(DType t, int64_t count, int64_t n, int64_t columns, const void* factor,
                    bool upper, void* b) {
  if (n == 0 || columns == 0) return;
  const int order = as_int(n), width = as_int(columns);
  const char uplo = upper ? 'U' : 'L';
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(n) * double(n) * double(columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int info = 0;
        RL_LAPACK(T, "potrs", &uplo, &order, &width, static_cast<const T*>(factor) + i * n * n,
                  &order, static_cast<T*>(b) + i * n * columns, &order, &info, kOne);
      }
    });
  });
}

void cholesky_inverse(DType t, int64_t count, int64_t n, void* a, bool upper, int32_t* infos) {
  std::fill_n(infos, count, 0);
  if (n == 0) return;
  const int order = as_int(n);
  const char uplo = upper ? 'U' : 'L';
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(n) * double(n) * double(n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* const m = static_cast<T*>(a) + i * n * n;
        RL_LAPACK(T, "potri", &uplo, &order, m, &order, infos + i, kOne);
        for (int64_t c = 0; c < n; ++c) {
          for (int64_t r = c + 1; r < n; ++r) {
            if (upper) m[r + c * n] = conj_value(m[c + r * n]);
            else m[c + r * n] = conj_value(m[r + c * n]);
          }
        }
      }
    });
  });
}

void triangular_solve(DType t, int64_t count, int64_t m, int64_t n, const void* a, void* b,
                      bool left, bool upper, char op, bool unit) {
  if (m == 0 || n == 0) return;
  const int64_t size = left ? m : n;
  const int rows = as_int(m), columns = as_int(n), order = as_int(size);
  const char side = left ? 'L' : 'R', uplo = upper ? 'U' : 'L', diagonal = unit ? 'U' : 'N';
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    const T one(1);
    over_matrices(count, double(m) * double(n) * double(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        RL_LAPACK(T, "trsm", &side, &uplo, &op, &diagonal, &rows, &columns, &one,
                  static_cast<const T*>(a) + i * size * size, &order,
                  static_cast<T*>(b) + i * m * n, &rows, kOne, kOne, kOne, kOne);
      }
    });
  });
}

void ldl_factor(DType t, int64_t count, int64_t n, void* a, bool hermitian, int32_t* pivots,
                int32_t* infos) {
  std::fill_n(infos, count, 0);
  if (n == 0) return;
  const int order = as_int(n);
  const char uplo = 'L';
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(n) * double(n) * double(n) / 2, [&](int64_t begin, int64_t end) {
      std::vector<T> work(size_t(n) * 64);
      const int room = as_int(n * 64);
      for (int64_t i = begin; i < end; ++i) {
        T* const m = static_cast<T*>(a) + i * n * n;
        int32_t* const own = pivots + i * n;
        if constexpr (is_complex_v<T>) {
          if (hermitian) {
            RL_LAPACK(T, "hetrf", &uplo, &order, m, &order, own, work.data(), &room, infos + i,
                      kOne);
            continue;
          }
        }
        RL_LAPACK(T, "sytrf", &uplo, &order, m, &order, own, work.data(), &room, infos + i, kOne);
      }
    });
  });
}

void ldl_solve(DType t, int64_t count, int64_t n, int64_t columns, const void* ld,
               const int32_t* pivots, void* b, bool hermitian) {
  if (n == 0 || columns == 0) return;
  const int order = as_int(n), width = as_int(columns);
  const char uplo = 'L';
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, double(n) * double(n) * double(columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const m = static_cast<const T*>(ld) + i * n * n;
        T* const right = static_cast<T*>(b) + i * n * columns;
        int info = 0;
        if constexpr (is_complex_v<T>) {
          if (hermitian) {
            RL_LAPACK(T, "hetrs", &uplo, &order, &width, m, &order, pivots + i * n, right, &order,
                      &info, kOne);
            continue;
          }
        }
        RL_LAPACK(T, "sytrs", &uplo, &order, &width, m, &order, pivots + i * n, right, &order,
                  &info, kOne);
      }
    });
  });
}

}  // namespace rl::kernels
