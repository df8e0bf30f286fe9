// The kernels of torch.special that are compiled once: objects, functors, and PyTorch's names.
#pragma once
#include "kernels/pointwise_table.h"

namespace rl::kernels {

// The columns are pointwise_table.h's.
#define RL_BESSELS(_) \
  _(bessel_j0, BesselJ0, "bessel_j0_cpu", 1, Same, 60, kFloats) \
  _(bessel_j1, BesselJ1, "bessel_j1_cpu", 1, Same, 60, kFloats) \
  _(bessel_y0, BesselY0, "bessel_y0_cpu", 1, Same, 80, kFloats) \
  _(bessel_y1, BesselY1, "bessel_y1_cpu", 1, Same, 80, kFloats) \
  _(modified_bessel_i0, ModifiedBesselI0, "modified_bessel_i0_cpu", 1, Same, 90, kFloats) \
  _(modified_bessel_i1, ModifiedBesselI1, "modified_bessel_i1_cpu", 1, Same, 90, kFloats) \
  _(modified_bessel_k0, ModifiedBesselK0, "modified_bessel_k0_cpu", 1, Same, 90, kFloats) \
  _(modified_bessel_k1, ModifiedBesselK1, "modified_bessel_k1_cpu", 1, Same, 90, kFloats) \
  _(scaled_modified_bessel_k0, ScaledModifiedBesselK0, "scaled_modified_bessel_k0_cpu", 1, \
    Same, 90, kFloats) \
  _(scaled_modified_bessel_k1, ScaledModifiedBesselK1, "scaled_modified_bessel_k1_cpu", 1, \
    Same, 90, kFloats) \
  _(spherical_bessel_j0, SphericalBesselJ0, "spherical_bessel_j0_cpu", 1, Same, 30, kFloats) \
  _(airy_ai, AiryAi, "airy_ai_cpu", 1, Same, 150, kFloats) \
  _(igamma, Igamma, "igamma_cpu", 2, Same, 200, kFloats) \
  _(igammac, Igammac, "igammac_cpu", 2, Same, 200, kFloats)

#define RL_POLYNOMIALS(_) \
  _(chebyshev_polynomial_t, ChebyshevT, "chebyshev_polynomial_t_cpu", 2, Same, 20, kFloats) \
  _(chebyshev_polynomial_u, ChebyshevU, "chebyshev_polynomial_u_cpu", 2, Same, 20, kFloats) \
  _(chebyshev_polynomial_v, ChebyshevV, "chebyshev_polynomial_v_cpu", 2, Same, 20, kFloats) \
  _(chebyshev_polynomial_w, ChebyshevW, "chebyshev_polynomial_w_cpu", 2, Same, 20, kFloats) \
  _(shifted_chebyshev_polynomial_t, ShiftedChebyshevT, "shifted_chebyshev_polynomial_t_cpu", 2, \
    Same, 20, kFloats) \
  _(shifted_chebyshev_polynomial_u, ShiftedChebyshevU, "shifted_chebyshev_polynomial_u_cpu", 2, \
    Same, 20, kFloats) \
  _(shifted_chebyshev_polynomial_v, ShiftedChebyshevV, "shifted_chebyshev_polynomial_v_cpu", 2, \
    Same, 20, kFloats) \
  _(shifted_chebyshev_polynomial_w, ShiftedChebyshevW, "shifted_chebyshev_polynomial_w_cpu", 2, \
    Same, 20, kFloats) \
  _(hermite_polynomial_h, HermiteH, "hermite_polynomial_h_cpu", 2, Same, 20, kFloats) \
  _(hermite_polynomial_he, HermiteHe, "hermite_polynomial_he_cpu", 2, Same, 20, kFloats) \
  _(laguerre_polynomial_l, LaguerreL, "laguerre_polynomial_l_cpu", 2, Same, 20, kFloats) \
  _(legendre_polynomial_p, LegendreP, "legendre_polynomial_p_cpu", 2, Same, 20, kFloats)

RL_BESSELS(RL_DECLARE_POINTWISE)
RL_POLYNOMIALS(RL_DECLARE_POINTWISE)

}  // namespace rl::kernels
