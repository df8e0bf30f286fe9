// A clock that is cheap to read: the processor's own counter, and what a tick is worth.
#pragma once
#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rl {

inline int64_t nanoseconds_now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// The counters below run at one rate on all cores, asleep or not (constant_tsc; the Arm generic
// timer). Reading one costs a quarter of a call of steady_clock on virtual machines.
inline int64_t ticks() {
#if defined(__x86_64__)
  return int64_t(__rdtsc());
#elif defined(__aarch64__)
  int64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return nanoseconds_now();
#endif
}

// Ticks and nanoseconds read together: two such give the rate between them.
struct ClockReading {
  int64_t tick = ticks();
  int64_t nanosecond = nanoseconds_now();
};

}  // namespace rl
