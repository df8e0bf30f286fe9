// Which vector instructions the CPU has; chosen once, lowered by RUSHLIGHT_CPU (baseline, avx2).
#pragma once

namespace rl {

enum class Level : int { Baseline = 0, Avx2 = 1, Avx512 = 2 };
// Where loops that the compiler widens by itself are worth a copy of their own.
#if defined(__x86_64__)
constexpr Level kWideLevel = Level::Avx2;
#else
constexpr Level kWideLevel = Level::Baseline;
#endif
Level cpu_level();       // the highest level that this CPU and the environment allow
bool cpu_has_bf16();     // AVX-512 BF16 dot products

}  // namespace rl
