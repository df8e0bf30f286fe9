// OpenBLAS, found at run time: LAPACK's routines for linear algebra.
#pragma once

namespace rl::kernels {

// A routine by its plain name ("dgesv_", "cblas_sgemm"; the wheel's prefix is added here). Loads
// the library at the first call; its jobs run on our pool. Null if library or name are missing.
void* blas_symbol(const char* name);

// While one lives, OpenBLAS uses the number of threads asked for; if more than one, for this call
// alone. Calls from our own parallel loops ask for one, lest its jobs wait for threads that wait
// for them.
class BlasThreads {
 public:
  explicit BlasThreads(int wanted);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
};

}  // namespace rl::kernels
