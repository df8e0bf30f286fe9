// Calls of LAPACK's routines by name, and loops over batches of matrices.
#pragma once
#include <algorithm>
#include <complex>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/blas.h"

namespace rl::kernels {

template <class T> struct RealOf { using type = T; };
template <class T> struct RealOf<std::complex<T>> { using type = T; };
template <class T> using real_t = typename RealOf<T>::type;
template <class T> constexpr bool is_complex_v = !std::is_same_v<T, real_t<T>>;

template <class T> constexpr char letter_of() {
  if constexpr (std::is_same_v<T, float>) return 's';
  else if constexpr (std::is_same_v<T, double>) return 'd';
  else if constexpr (std::is_same_v<T, std::complex<float>>) return 'c';
  else return 'z';
}

template <class T> void* routine(const char* stem) {
  std::string name = stem;
  const size_t at = name.rfind("cblas_", 0) == 0 ? 6 : 0;
  name.insert(at, 1, letter_of<T>());
  if (!at) name += '_';
  void* const found = blas_symbol(name.c_str());
  check(found, "Linear algebra needs OpenBLAS, but ", name, " was not found. Install the package "
        "scipy-openblas32.");
  return found;
}

// Fortran takes pointers; the lengths of texts come after all arguments.
template <class... A> void call_routine(void* f, A... args) {
  reinterpret_cast<void (*)(A...)>(f)(args...);
}
// RL_LAPACK(T, "getrf", &m, &n, ...): the routine for T, looked up once.
#define RL_LAPACK(T, STEM, ...)                     \
  do {                                              \
    static void* const found = routine<T>(STEM);    \
    call_routine(found, __VA_ARGS__);               \
  } while (0)

inline int as_int(int64_t n) {
  check(n <= 0x7fffffff, "Matrix dimension ", n, " is too large for LAPACK");
  return int(n);
}

// A matrix of at least this many operations is worth all threads by itself.
constexpr double kLargeMatrix = 3e6;
constexpr double kOperationsPerPart = 4e4;

// Runs f(begin, end) on ranges of a batch whose matrices take about `operations` each.
template <class F> void over_matrices(int64_t count, double operations, F&& f) {
  if (count <= 0) return;
  const bool inside = in_parallel_region();
  if (operations >= kLargeMatrix && !inside && num_threads() > 1 && count < 4 * num_threads()) {
    BlasThreads threads(num_threads());
    return f(int64_t(0), count);
  }
  BlasThreads threads(1);
  const auto grain = int64_t(kOperationsPerPart / (operations + 300)) + 1;
  parallel_for(0, count, grain, f);
}

// Calls f with a null pointer of the dtype's C++ type; only the four that LAPACK knows.
template <class F> void with_type(DType t, F&& f) {
  switch (t) {
    case DType::Float: return f(static_cast<float*>(nullptr));
    case DType::Double: return f(static_cast<double*>(nullptr));
    case DType::ComplexFloat: return f(static_cast<std::complex<float>*>(nullptr));
    case DType::ComplexDouble: return f(static_cast<std::complex<double>*>(nullptr));
    default: fail(ErrorKind::NotImplemented, "LAPACK has no routines for '", type_name_of(t), "'");
  }
}

template <class T> T conj_value(T v) {
  if constexpr (is_complex_v<T>) return std::conj(v);
  else return v;
}

}  // namespace rl::kernels
