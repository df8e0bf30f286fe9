// OpenBLAS, found at run time: LAPACK's routines for linear algebra.
#pragma once

namespace rl::kernels {

// The library's file; set once before first use (Python knows where the wheel keeps it).
void set_blas_path(const char* path);
// A routine by its plain name ("dgesv_", "cblas_sgemm"; the wheel's prefix is added here). Loads
// the library at the first call; its jobs run on our pool. Null if library or name are missing.
void* blas_symbol(const char* name);

}  // namespace rl::kernels
