// LAPACK's orthogonal factorizations: QR, singular values, eigenvalues, least squares.
#include <cmath>
#include <limits>

#include "kernels/lapack.h"
#include "kernels/lapack_call.h"

namespace rl::kernels {
namespace {

constexpr size_t kOne = 1;  // the length of a text of one letter

double cube(int64_t m, int64_t n) {
  return double(m) * double(n) * double(std::min(m, n));
}

// The room a routine asks for: its answer to a call with a work size of -1.
template <class T> int asked(T answer) { return std::max(1, int(std::real(answer))); }

// x - x is NaN for what is not finite.
template <class T> bool all_finite(const T* p, int64_t n) {
  T sum(0);
  for (int64_t i = 0; i < n; ++i) sum += p[i] - p[i];
  return sum == T(0);
}

}  // namespace

void qr_factor(DType t, int64_t count, int64_t m, int64_t n, void* a, void* tau) {
  const int64_t k = std::min(m, n);
  if (k == 0) return;
  const int rows = as_int(m), columns = as_int(n);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, 2 * cube(m, n), [&](int64_t begin, int64_t end) {
      T answer;
      int info = 0, room = -1;
      T* const first = static_cast<T*>(a);
      RL_LAPACK(T, "geqrf", &rows, &columns, first, &rows, static_cast<T*>(tau), &answer, &room,
                &info);
      std::vector<T> work(static_cast<size_t>(room = asked(answer)));
      for (int64_t i = begin; i < end; ++i) {
        RL_LAPACK(T, "geqrf", &rows, &columns, first + i * m * n, &rows,
                  static_cast<T*>(tau) + i * k, work.data(), &room, &info);
      }
    });
  });
}

namespace {

template <class T> void form_q(const int* m, const int* n, const int* k, T* a, const T* tau,
                               T* work, const int* room, int* info) {
  if constexpr (is_complex_v<T>) RL_LAPACK(T, "ungqr", m, n, k, a, m, tau, work, room, info);
  else RL_LAPACK(T, "orgqr", m, n, k, a, m, tau, work, room, info);
}

template <class T> void multiply_q(bool left, bool adjoint, const int* m, const int* n,
                                   const int* k, const T* a, const int* lda, const T* tau, T* c,
                                   T* work, const int* room, int* info) {
  const char side = left ? 'L' : 'R', op = !adjoint ? 'N' : is_complex_v<T> ? 'C' : 'T';
  if constexpr (is_complex_v<T>) {
    RL_LAPACK(T, "unmqr", &side, &op, m, n, k, a, lda, tau, c, m, work, room, info, kOne, kOne);
  } else {
    RL_LAPACK(T, "ormqr", &side, &op, m, n, k, a, lda, tau, c, m, work, room, info, kOne, kOne);
  }
}

}  // namespace

void qr_form(DType t, int64_t count, int64_t m, int64_t n, int64_t k, void* a, const void* tau) {
  if (m == 0 || n == 0) return;
  const int rows = as_int(m), columns = as_int(n), reflections = as_int(k);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, 2 * cube(m, n), [&](int64_t begin, int64_t end) {
      T answer, *const first = static_cast<T*>(a);
      const T* const scales = static_cast<const T*>(tau);
      int info = 0, room = -1;
      form_q(&rows, &columns, &reflections, first, scales, &answer, &room, &info);
      std::vector<T> work(static_cast<size_t>(room = asked(answer)));
      for (int64_t i = begin; i < end; ++i) {
        form_q(&rows, &columns, &reflections, first + i * m * n, scales + i * k, work.data(),
               &room, &info);
      }
    });
  });
}

void qr_multiply(DType t, int64_t count, int64_t m, int64_t n, int64_t k, const void* a,
                 const void* tau, void* c, bool left, bool adjoint) {
  if (m == 0 || n == 0 || k == 0) return;
  const int64_t length = left ? m : n;
  const int rows = as_int(m), columns = as_int(n), reflections = as_int(k), lda = as_int(length);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    over_matrices(count, 4 * double(m) * double(n) * double(k), [&](int64_t begin, int64_t end) {
      const T *const first = static_cast<const T*>(a), *const scales = static_cast<const T*>(tau);
      T answer, *const changed = static_cast<T*>(c);
      int info = 0, room = -1;
      multiply_q(left, adjoint, &rows, &columns, &reflections, first, &lda, scales, changed,
                 &answer, &room, &info);
      std::vector<T> work(static_cast<size_t>(room = asked(answer)));
      for (int64_t i = begin; i < end; ++i) {
        multiply_q(left, adjoint, &rows, &columns, &reflections, first + i * length * k, &lda,
                   scales + i * k, changed + i * m * n, work.data(), &room, &info);
      }
    });
  });
}

namespace {

template <class T> void gesdd(const char* job, const int* m, const int* n, T* a, real_t<T>* s, T* u,
                              const int* ldu, T* vh, const int* ldv, T* work, const int* room,
                              real_t<T>* real_work, int* whole, int* info) {
  if constexpr (is_complex_v<T>) {
    RL_LAPACK(T, "gesdd", job, m, n, a, m, s, u, ldu, vh, ldv, work, room, real_work, whole, info,
              kOne);
  } else {
    RL_LAPACK(T, "gesdd", job, m, n, a, m, s, u, ldu, vh, ldv, work, room, whole, info, kOne);
  }
}

}  // namespace

void svd(DType t, int64_t count, int64_t m, int64_t n, void* a, void* s, void* u, void* vh,
         char job, int32_t* infos) {
  const int64_t k = std::min(m, n), large = std::max(m, n);
  std::fill_n(infos, count, 0);
  if (k == 0) return;
  const int64_t u_columns = job == 'A' ? m : k, v_rows = job == 'A' ? n : k;
  const int rows = as_int(m), columns = as_int(n), ldv = as_int(v_rows);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    using R = real_t<T>;
    const int64_t real_room = !is_complex_v<T> ? 0 : job == 'N' ? 7 * k
        : std::max(5 * k * k + 7 * k, 2 * large * k + 2 * k * k + k);
    over_matrices(count, 20 * cube(m, n), [&](int64_t begin, int64_t end) {
      T answer, *const first = static_cast<T*>(a);
      std::vector<R> reals(size_t(real_room + 1));
      std::vector<int> whole(size_t(8 * k));
      int room = -1, info = 0;
      R* const values = static_cast<R*>(s);
      gesdd<T>(&job, &rows, &columns, first, values, static_cast<T*>(u), &rows,
               static_cast<T*>(vh), &ldv, &answer, &room, reals.data(), whole.data(), &info);
      std::vector<T> work(static_cast<size_t>(room = asked(answer)));
      for (int64_t i = begin; i < end; ++i) {
        if (!all_finite(first + i * m * n, m * n)) {
          infos[i] = -4;
          continue;
        }
        gesdd<T>(&job, &rows, &columns, first + i * m * n, values + i * k,
                 u ? static_cast<T*>(u) + i * m * u_columns : nullptr, &rows,
                 vh ? static_cast<T*>(vh) + i * v_rows * n : nullptr, &ldv, work.data(), &room,
                 reals.data(), whole.data(), infos + i);
      }
    });
  });
}

namespace {

template <class T> void syevd(const char* job, const char* uplo, const int* n, T* a, real_t<T>* w,
                              T* work, const int* room, real_t<T>* reals, const int* real_room,
                              int* whole, const int* whole_room, int* info) {
  if constexpr (is_complex_v<T>) {
    RL_LAPACK(T, "heevd", job, uplo, n, a, n, w, work, room, reals, real_room, whole, whole_room,
              info, kOne, kOne);
  } else {
    RL_LAPACK(T, "syevd", job, uplo, n, a, n, w, work, room, whole, whole_room, info, kOne, kOne);
  }
}

}  // namespace

void eigh(DType t, int64_t count, int64_t n, void* a, void* values, bool vectors, bool upper,
          int32_t* infos) {
  std::fill_n(infos, count, 0);
  if (n == 0) return;
  const char job = vectors ? 'V' : 'N', uplo = upper ? 'U' : 'L';
  const int order = as_int(n);
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    using R = real_t<T>;
    over_matrices(count, 10 * cube(n, n), [&](int64_t begin, int64_t end) {
      T answer, *const first = static_cast<T*>(a);
      R real_answer = 1, *const w = static_cast<R*>(values);
      int room = -1, real_room = -1, whole_room = -1, whole_answer = 1, info = 0;
      syevd<T>(&job, &uplo, &order, first, w, &answer, &room, &real_answer, &real_room,
               &whole_answer, &whole_room, &info);
      std::vector<T> work(static_cast<size_t>(room = asked(answer)));
      std::vector<R> reals(static_cast<size_t>(real_room = asked(real_answer)));
      std::vector<int> whole(static_cast<size_t>(whole_room = std::max(1, whole_answer)));
      for (int64_t i = begin; i < end; ++i) {
        T* const m = first + i * n * n;
        if (!all_finite(m, n * n)) {  // LAPACK might not come to an end
          std::fill_n(w + i * n, n, std::numeric_limits<R>::quiet_NaN());
          if (vectors) std::fill_n(m, n * n, T(std::numeric_limits<R>::quiet_NaN()));
          continue;
        }
        syevd<T>(&job, &uplo, &order, m, w + i * n, work.data(), &room, reals.data(), &real_room,
                 whole.data(), &whole_room, infos + i);
      }
    });
  });
}

namespace {

// Values and vectors of a real matrix: pairs of conjugates share two columns.
template <class R> struct RealEigen {
  std::vector<R> re, im, vectors, work;
  int room = -1;
  const int order;
  const char job;

  RealEigen(int n, bool wanted) : re(size_t(n)), im(size_t(n)),
      vectors(wanted ? size_t(n) * size_t(n) : 1), order(n), job(wanted ? 'V' : 'N') {
    R answer, none;
    int info = 0;
    call(&none, &answer, &info);
    work.resize(size_t(room = asked(answer)));
  }
  void call(R* a, R* room_at, int* info) {
    const char left = 'N';
    const int one = 1;
    R unused;
    RL_LAPACK(R, "geev", &left, &job, &order, a, &order, re.data(), im.data(), &unused, &one,
              vectors.data(), &order, room_at, &room, info, kOne, kOne);
  }
  void run(R* a, std::complex<R>* values, std::complex<R>* out, int* info) {
    call(a, work.data(), info);
    const size_t n = size_t(order);
    for (size_t j = 0; j < n; ++j) values[j] = {re[j], im[j]};
    if (!out) return;
    for (size_t j = 0; j < n; ++j) {
      const R* const x = vectors.data() + j * n;
      const bool pair = im[j] != 0 && j + 1 < n;
      for (size_t i = 0; i < n; ++i) {
        out[j * n + i] = pair ? std::complex<R>(x[i], x[i + n]) : std::complex<R>(x[i], 0);
        if (pair) out[(j + 1) * n + i] = std::conj(out[j * n + i]);
      }
      j += pair;
    }
  }
};

template <class T> struct ComplexEigen {
  using R = real_t<T>;
  std::vector<R> reals;
  std::vector<T> work;
  int room = -1;
  const int order;
  const char job;

  ComplexEigen(int n, bool wanted) : reals(size_t(2 * n)), order(n), job(wanted ? 'V' : 'N') {
    T answer, none;
    int info = 0;
    call(&none, &none, &none, &answer, &info);
    work.resize(size_t(room = asked(answer)));
  }
  void call(T* a, T* values, T* vectors, T* room_at, int* info) {
    const char left = 'N';
    const int one = 1;
    T unused;
    RL_LAPACK(T, "geev", &left, &job, &order, a, &order, values, &unused, &one, vectors, &order,
              room_at, &room, reals.data(), info, kOne, kOne);
  }
  void run(T* a, T* values, T* vectors, int* info) { call(a, values, vectors, work.data(), info); }
};

}  // namespace

void eig(DType t, int64_t count, int64_t n, void* a, void* values, void* vectors,
         int32_t* infos) {
  std::fill_n(infos, count, 0);
  if (n == 0) return;
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    using C = std::complex<real_t<T>>;
    over_matrices(count, 25 * cube(n, n), [&](int64_t begin, int64_t end) {
      std::conditional_t<is_complex_v<T>, ComplexEigen<C>, RealEigen<real_t<T>>> solver(
          as_int(n), vectors != nullptr);
      const C nan(std::numeric_limits<real_t<T>>::quiet_NaN(), 0);
      for (int64_t i = begin; i < end; ++i) {
        T* const m = static_cast<T*>(a) + i * n * n;
        C* const w = static_cast<C*>(values) + i * n;
        C* const v = vectors ? static_cast<C*>(vectors) + i * n * n : nullptr;
        if (all_finite(m, n * n)) {
          solver.run(m, w, v, infos + i);
        } else {
          std::fill_n(w, n, nan);
          if (v) std::fill_n(v, n * n, nan);
        }
      }
    });
  });
}

namespace {

// One call of a least-squares routine; with a room of -1 it says how much it needs.
template <class T> struct LeastSquares {
  using R = real_t<T>;
  Least driver;
  int m, n, columns, ldb, room = -1;
  R rcond;
  std::vector<T> work = std::vector<T>(1);
  std::vector<R> reals = std::vector<R>(1), own_values = {};
  std::vector<int> whole = std::vector<int>(1);

  void call(T* a, T* b, R* values, int* rank, int* info) {
    if (driver == Least::QR) {
      const char op = 'N';
      RL_LAPACK(T, "gels", &op, &m, &n, &columns, a, &m, b, &ldb, work.data(), &room, info, kOne);
      return;
    }
    if (driver == Least::PivotedQR) {
      std::fill(whole.begin(), whole.end(), 0);
      if constexpr (is_complex_v<T>) {
        RL_LAPACK(T, "gelsy", &m, &n, &columns, a, &m, b, &ldb, whole.data(), &rcond, rank,
                  work.data(), &room, reals.data(), info);
      } else {
        RL_LAPACK(T, "gelsy", &m, &n, &columns, a, &m, b, &ldb, whole.data(), &rcond, rank,
                  work.data(), &room, info);
      }
      return;
    }
    if (driver == Least::SVD) {
      if constexpr (is_complex_v<T>) {
        RL_LAPACK(T, "gelss", &m, &n, &columns, a, &m, b, &ldb, values, &rcond, rank, work.data(),
                  &room, reals.data(), info);
      } else {
        RL_LAPACK(T, "gelss", &m, &n, &columns, a, &m, b, &ldb, values, &rcond, rank, work.data(),
                  &room, info);
      }
      return;
    }
    if constexpr (is_complex_v<T>) {
      RL_LAPACK(T, "gelsd", &m, &n, &columns, a, &m, b, &ldb, values, &rcond, rank, work.data(),
                &room, reals.data(), whole.data(), info);
    } else {
      RL_LAPACK(T, "gelsd", &m, &n, &columns, a, &m, b, &ldb, values, &rcond, rank, work.data(),
                &room, whole.data(), info);
    }
  }
  void prepare(T* a, T* b) {
    int rank = 0, info = 0;
    own_values.resize(size_t(std::min(m, n)));
    if (driver == Least::PivotedQR) whole.resize(size_t(n));
    call(a, b, own_values.data(), &rank, &info);
    room = asked(work[0]);
    const size_t reals_asked = size_t(std::max<R>(1, reals[0])), whole_asked = size_t(whole[0]);
    work.resize(size_t(room));
    if (driver == Least::PivotedQR) reals.resize(2 * size_t(n));
    else if (driver == Least::SVD) reals.resize(5 * size_t(std::min(m, n)));
    else if (driver == Least::DivideSVD) reals.resize(reals_asked), whole.resize(whole_asked + 1);
  }
};

}  // namespace

void least_squares(DType t, Least driver, int64_t count, int64_t m, int64_t n, int64_t columns,
                   void* a, void* b, double rcond, void* singular, int64_t* ranks,
                   int32_t* infos) {
  std::fill_n(infos, count, 0);
  const int64_t k = std::min(m, n), ldb = std::max(m, n);
  if (k == 0 || columns == 0) return;
  with_type(t, [&](auto* null) {
    using T = pointee<decltype(null)>;
    using R = real_t<T>;
    over_matrices(count, 10 * cube(m, n), [&](int64_t begin, int64_t end) {
      LeastSquares<T> solver{driver, as_int(m), as_int(n), as_int(columns), as_int(ldb), -1,
                             R(rcond)};
      T *const first = static_cast<T*>(a), *const right = static_cast<T*>(b);
      solver.prepare(first, right);
      for (int64_t i = begin; i < end; ++i) {
        int rank = 0;
        R* const values = singular ? static_cast<R*>(singular) + i * k : solver.own_values.data();
        solver.call(first + i * m * n, right + i * ldb * columns, values, &rank, infos + i);
        if (ranks) ranks[i] = rank;
      }
    });
  });
}

}  // namespace rl::kernels
