// The randomised leaky ReLU draws in the order of the elements.
#include "kernels/rrelu.h"

#include "kernels/random_draws.h"

namespace rl::kernels {
namespace {

template <class T>
void draw_slopes(Generator& g, const T* in, T* noise, T* out, int64_t n, double lower,
                 double upper) {
  for (int64_t i = 0; i < n; ++i) {
    const T v = in[i];
    noise[i] = v <= 0 ? T(draw_double(g) * (upper - lower) + lower) : T(1);
    out[i] = v * noise[i];
  }
}

}  // namespace

void rrelu(Generator& g, DType t, const void* in, void* noise, void* out, int64_t n, double lower,
           double upper) {
  if (t == DType::Double) {
    draw_slopes(g, static_cast<const double*>(in), static_cast<double*>(noise),
                static_cast<double*>(out), n, lower, upper);
  } else {
    draw_slopes(g, static_cast<const float*>(in), static_cast<float*>(noise),
                static_cast<float*>(out), n, lower, upper);
  }
}

}  // namespace rl::kernels
