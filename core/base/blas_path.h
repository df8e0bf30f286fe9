// Where the BLAS library is: those who know set the hook, kernels ask.
#pragma once
#include <string>

namespace rl {

// The library's file, asked for once, at the first use; empty: there is none.
extern std::string (*blas_path_hook)();

}  // namespace rl
