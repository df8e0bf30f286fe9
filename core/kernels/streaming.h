// Results too large for the last cache: written past the caches, by way of a tile.
#pragma once
#include <algorithm>
#include <cstdint>

namespace rl::kernels {

// Note [Streaming]
// A store to a line that no cache holds reads the line from memory first. Where a loop's operands
// and result together overflow the last cache the result would not be found there later either,
// so the lines are written past the caches, which takes a third off an addition of 64 MB each.
// The loop fills a tile, which stays in the first cache, and the tile is moved. Meanwhile the
// operands of the next tile are called for, since the CPU foresees no loads while it moves.
bool worth_streaming(int64_t bytes);  // of the result and what is read for it

// Writes n bytes; other threads see them after finish_streaming().
void stream_bytes(char* out, const char* in, int64_t n);
void finish_streaming();

// body(data, strides, n) as in Loop, where data[0] is dense: in tiles that are streamed.
template <class Body>
void in_streamed_tiles(Body&& body, int operands, char* const* data, const int64_t* strides,
                       int64_t n) {
  constexpr int kTileBytes = 1024, kMost = 8;
  alignas(64) char tile[kTileBytes];
  char* at[kMost];
  for (int k = 1; k <= operands; ++k) at[k] = data[k];
  char* out = data[0];
  for (int64_t most = kTileBytes / strides[0]; n > 0;) {
    const int64_t count = std::min(n, most);
    at[0] = tile;
    body(static_cast<char* const*>(at), strides, count);
    for (int k = 1; k <= operands; ++k) {
      at[k] += count * strides[k];
      for (int64_t i = 0; i < count * strides[k]; i += 64) __builtin_prefetch(at[k] + i);
    }
    stream_bytes(out, tile, count * strides[0]);
    out += count * strides[0];
    n -= count;
  }
  finish_streaming();
}

}  // namespace rl::kernels
