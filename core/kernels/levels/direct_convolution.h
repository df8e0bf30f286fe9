// What each vector level offers for direct convolutions; one serial call each.
#pragma once
#include <cstdint>

#include "kernels/convolution.h"
#include "kernels/levels/table.h"

namespace rl::kernels {

// Note [Direct convolution]
// Images are copied once, padding included, into planes: rows of `pitch` elements. What a tap
// reads for neighbouring outputs then lies side by side, at a distance that depends on the tap
// alone, in the next row too, and no pixel is repeated for each tap. A register holds neighbouring
// outputs of one channel, of which those beyond a row's width are dropped, or channels of one
// output. Padding on the right is the next row's on the left, padding below the next image's
// above. With a stride, rows and columns are sorted by phase: what tap x reads
// for outputs 0, 1, 2, ... lies side by side in the plane of phase x % stride.
struct DirectPlanes {
  int64_t images, pitch, rows;  // rows of one image in one phase
  int64_t phases[2];            // vertical, horizontal
  int64_t phase, channel;       // elements: of one phase of all images, of all phases
};

template <class T> struct DirectLevel {
  int lanes;     // elements of a register
  int channels;  // output channels of a block of forward()
  int vectors;   // registers of output channels of a block of channels_forward()
  // Planes from which `rows` rows of output can be computed for each of `images` images.
  DirectPlanes (*planes)(const Convolution& conv, int64_t images, int64_t rows);
  // Copies one image's channels, as image `number`; output rows begin at `y`.
  void (*spread)(T* to, const Convolution& conv, const DirectPlanes& planes, const T* image,
                 int64_t channels, int64_t number, int64_t y);
  // `count` rows of the outputs of a group from row y on, of one image; neighbouring outputs lie
  // side by side in registers. The weight is packed: blocks of output channels, as equal as can
  // be, each (channels, taps, channels of the block).
  void (*forward)(T* output, const Convolution& conv, const DirectPlanes& planes, const T* space,
                  const T* weight, const T* bias, bool relu, int64_t y, int64_t count);
  // The same for all images, `image_step` apart, with output channels side by side in registers:
  // short rows waste none. Blocks are of whole registers, zeros beyond the last channel. `sums`
  // has room for a block of all outputs.
  void (*channels_forward)(T* output, int64_t image_step, const Convolution& conv,
                           const DirectPlanes& planes, const T* space, const T* weight,
                           const T* bias, bool relu, int64_t y, int64_t count, T* sums);
  // Adds to the weight's gradient, (channels x taps, width), what all images give; the output's
  // gradients are (images, pixels, width), whole registers of channels.
  void (*channels_weight)(T* sums, int64_t width, const Convolution& conv,
                          const DirectPlanes& planes, const T* space, const T* grads,
                          int64_t channels);
  // to[j][i] = from[i][j], of rows x columns; zeros from to[j][rows] to to[j][padded].
  void (*turn)(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows,
               int64_t columns, int64_t padded);
};
RL_LEVEL_TABLES(DirectLevel, direct)

}  // namespace rl::kernels
