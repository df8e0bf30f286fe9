// What each vector level offers for convolutions; one serial call each.
#pragma once
#include <cstdint>

#include "base/level.h"
#include "kernels/convolution.h"

namespace rl::kernels {

template <class T> struct ConvolutionLevel {
  // Panels as GemmLevel::packed wants B: `channels` x taps rows, columns the output pixels
  // [begin, end). `image` is the first of the channels.
  void (*gather)(T* to, const Convolution& conv, const T* image, int64_t channels, int64_t begin,
                 int64_t end);
  // The same values as dense rows of `end - begin` pixels.
  void (*columns)(T* to, const Convolution& conv, const T* image, int64_t channels,
                  int64_t begin, int64_t end);
  // Adds such rows back to the pixels they came from.
  void (*scatter)(T* image, const Convolution& conv, const T* from, int64_t channels,
                  int64_t begin, int64_t end);
  // Depthwise, one plane each; `space` holds plane_size(conv) elements.
  int64_t (*plane_size)(const Convolution& conv);
  void (*spread)(T* space, const Convolution& conv, const T* plane);   // pads a plane
  void (*collect)(T* plane, const Convolution& conv, const T* space);  // drops the padding
  void (*plane_forward)(T* output, const Convolution& conv, const T* space, const T* weight,
                        T bias, bool relu);
  void (*plane_backward)(T* space, const Convolution& conv, const T* grad, const T* weight);
  void (*plane_weight)(T* grad_weight, const Convolution& conv, const T* space, const T* grad);
};

#define RL_DECLARE_CONVOLUTION(level)                    \
  namespace level {                                      \
  extern const ConvolutionLevel<float> convolution_f32;  \
  extern const ConvolutionLevel<double> convolution_f64; \
  }
RL_DECLARE_CONVOLUTION(level0)
#if defined(__x86_64__)
RL_DECLARE_CONVOLUTION(level1)
RL_DECLARE_CONVOLUTION(level2)
#endif
#undef RL_DECLARE_CONVOLUTION

template <class T> const ConvolutionLevel<T>& convolution_level();
template <> inline const ConvolutionLevel<float>& convolution_level<float>() {
#if defined(__x86_64__)
  if (cpu_level() == Level::Avx512) return level2::convolution_f32;
  if (cpu_level() == Level::Avx2) return level1::convolution_f32;
#endif
  return level0::convolution_f32;
}
template <> inline const ConvolutionLevel<double>& convolution_level<double>() {
#if defined(__x86_64__)
  if (cpu_level() == Level::Avx512) return level2::convolution_f64;
  if (cpu_level() == Level::Avx2) return level1::convolution_f64;
#endif
  return level0::convolution_f64;
}

}  // namespace rl::kernels
