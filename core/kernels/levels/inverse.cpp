// Float loops of inverse circular and error functions, once per vector level.
#include "kernels/functors/special.h"
#include "kernels/functors/vector_inverse.h"
#include "kernels/level_loop.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
RL_LEVEL_LOOP(asin__float, Asin, float, 1, Same, false)
RL_LEVEL_LOOP(acos__float, Acos, float, 1, Same, false)
RL_LEVEL_LOOP(atan__float, Atan, float, 1, Same, false)
RL_LEVEL_LOOP(erfc__float, Erfc, float, 1, Same, false)
RL_LEVEL_LOOP(erfinv_float, Erfinv, float, 1, Same, false)
}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
