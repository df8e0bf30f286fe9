// The kernels of the exponential family and their loops over integers, bool and complex numbers.
#include "kernels/base_loop.h"
#include "kernels/functors/exponential.h"

namespace rl::kernels {
void sin_items(float* x, int n);
void sin_items(double* x, int n);
void cos_items(float* x, int n);
void cos_items(double* x, int n);
void tan_items(float* x, int n);
void tan_items(double* x, int n);

RL_EXPONENTIALS(RL_DEFINE_POINTWISE)

#define RL_ITEMS(f)                            \
  void f##_items(float* x, int n) {            \
    for (int i = 0; i < n; ++i) x[i] = std::f(x[i]); \
  }                                            \
  void f##_items(double* x, int n) {           \
    for (int i = 0; i < n; ++i) x[i] = std::f(x[i]); \
  }
RL_ITEMS(sin) RL_ITEMS(cos) RL_ITEMS(tan)
#undef RL_ITEMS
}  // namespace rl::kernels
