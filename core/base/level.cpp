// Finds the CPU's vector level once and lets RUSHLIGHT_CPU lower it.
#include "base/level.h"

#include <cstdlib>
#include <cstring>

namespace rl {
namespace {

Level detect() {
  Level level = Level::Baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    level = Level::Avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      level = Level::Avx512;
    }
  }
#endif
  const char* wanted = std::getenv("RUSHLIGHT_CPU");
  if (wanted && !std::strcmp(wanted, "baseline")) level = Level::Baseline;
  if (wanted && !std::strcmp(wanted, "avx2") && level > Level::Avx2) level = Level::Avx2;
  return level;
}

}  // namespace

Level cpu_level() {
  static const Level level = detect();
  return level;
}

bool cpu_has_bf16() {
#if defined(__x86_64__)
  static const bool has =
      cpu_level() == Level::Avx512 && __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

}  // namespace rl
