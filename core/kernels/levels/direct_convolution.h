// What each vector level offers for direct convolutions; one serial call each.
#pragma once
#include <cstdint>

#include "kernels/convolution.h"
#include "kernels/levels/table.h"

namespace rl::kernels {

// Note [Direct convolution]
// Images are copied once, padding included, into planes: rows of `pitch` elements. What a tap
// reads for neighbouring outputs then lies side by side, at a distance that depends on the tap
// alone, in the next row too: a register of outputs takes a load and a multiplication per channel
// and tap, and no pixel is repeated for each tap. Of the `pitch` results of an output row those
// beyond its width are dropped. Padding on the right is the next row's on the left, padding below
// the next image's above. With a stride, rows and columns are sorted by phase: what tap x reads
// for outputs 0, 1, 2, ... lies side by side in the plane of phase x % stride.
struct DirectPlanes {
  int64_t images, pitch, rows;  // rows of one image in one phase
  int64_t phases[2];            // vertical, horizontal
  int64_t phase, channel;       // elements: of one phase of all images, of all phases
};

template <class T> struct DirectLevel {
  int lanes, channels;  // elements of a register, output channels of a block
  // Planes from which `rows` rows of output can be computed for each of `images` images.
  DirectPlanes (*planes)(const Convolution& conv, int64_t images, int64_t rows);
  // Copies one image's channels, as image `number`; output rows begin at `y`.
  void (*spread)(T* to, const Convolution& conv, const DirectPlanes& planes, const T* image,
                 int64_t channels, int64_t number, int64_t y);
  // `count` rows of the outputs of a group from row y on, of image 0. The weight is packed:
  // blocks of output channels (direct_block), each (channels, taps, channels of the block).
  void (*forward)(T* output, const Convolution& conv, const DirectPlanes& planes, const T* space,
                  const T* weight, const T* bias, bool relu, int64_t y, int64_t count);
  // Copies output gradients of one image to places as in `planes`, zeros between.
  void (*spread_grad)(T* to, const Convolution& conv, const DirectPlanes& planes, const T* grad,
                      int64_t channels, int64_t number);
  // Adds to the weight's gradient (out_channels x (channels x taps)) what all images give.
  void (*weight)(T* sums, const Convolution& conv, const DirectPlanes& planes, const T* space,
                 const T* grads, int64_t out_channels, int64_t channels);
};
RL_LEVEL_TABLES(DirectLevel, direct)

}  // namespace rl::kernels
