// Plain loops in functions marked so should use vectors; GCC's -O2 declines where lengths vary.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#define RL_VECTORISED __attribute__((optimize("O3")))
#else
#define RL_VECTORISED
#endif

// The same with AVX2 on x86, for callers that have asked the CPU (kWideLevel).
#if defined(__x86_64__)
#define RL_WIDE RL_VECTORISED __attribute__((target("avx2")))
#else
#define RL_WIDE RL_VECTORISED
#endif

// Before a loop whose rounds do not wait for one another, though pointers may say otherwise.
#if defined(__clang__)
#define RL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RL_INDEPENDENT _Pragma("GCC ivdep")
#endif
