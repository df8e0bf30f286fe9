// Plain loops in functions marked so should use vectors; GCC's -O2 declines where lengths vary.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define RL_VECTORISED __attribute__((optimize("O3")))
#else
#define RL_VECTORISED
#endif
