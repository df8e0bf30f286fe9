// What each vector level offers for pooling: one plane per call.
#pragma once
#include <cstdint>

#include "base/level.h"
#include "kernels/pooling.h"

namespace rl::kernels {

template <class T> struct PoolingLevel {
  void (*max)(T* output, int64_t* indices, const Pooling& pool, const T* input);
  void (*average)(T* output, const Pooling& pool, const T* input);
  void (*average_backward)(T* grad_input, const Pooling& pool, const T* grad_output);
};

#define RL_DECLARE_POOLING(level)               \
  namespace level {                             \
  extern const PoolingLevel<float> pooling_f32;  \
  extern const PoolingLevel<double> pooling_f64; \
  extern const PoolingLevel<int64_t> pooling_i64; \
  }
RL_DECLARE_POOLING(level0)
#if defined(__x86_64__)
RL_DECLARE_POOLING(level1)
RL_DECLARE_POOLING(level2)
#define RL_POOLING_LEVEL(name)                                   \
  (cpu_level() == Level::Avx512  ? level2::name                  \
   : cpu_level() == Level::Avx2  ? level1::name                  \
                                 : level0::name)
#else
#define RL_POOLING_LEVEL(name) level0::name
#endif
#undef RL_DECLARE_POOLING

template <class T> const PoolingLevel<T>& pooling_level();
template <> inline const PoolingLevel<float>& pooling_level<float>() {
  return RL_POOLING_LEVEL(pooling_f32);
}
template <> inline const PoolingLevel<double>& pooling_level<double>() {
  return RL_POOLING_LEVEL(pooling_f64);
}
template <> inline const PoolingLevel<int64_t>& pooling_level<int64_t>() {
  return RL_POOLING_LEVEL(pooling_i64);
}
#undef RL_POOLING_LEVEL

}  // namespace rl::kernels
