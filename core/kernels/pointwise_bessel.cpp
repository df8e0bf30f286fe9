// The kernels of Bessel, Airy and incomplete gamma functions, and of orthogonal polynomials.
#include "kernels/base_loop.h"
#include "kernels/functors/bessel.h"
#include "kernels/functors/polynomials.h"
#include "kernels/special_table.h"

namespace rl::kernels {
RL_BESSELS(RL_DEFINE_SCALAR_POINTWISE)
RL_POLYNOMIALS(RL_DEFINE_SCALAR_POINTWISE)
}  // namespace rl::kernels
