// Working memory of kernels: grows to the largest request and stays with its thread.
#include "kernels/scratch.h"

#include <cstdlib>
#include <new>

namespace rl::kernels {
namespace {

struct Buffers {
  void* data[int(Scratch::Count)] = {};
  size_t bytes[int(Scratch::Count)] = {};
  ~Buffers() {
    for (void* p : data) std::free(p);
  }
};
thread_local Buffers t_buffers;

}  // namespace

void* scratch(Scratch use, size_t bytes) {
  Buffers& b = t_buffers;
  const int i = int(use);
  if (bytes > b.bytes[i]) {
    const size_t rounded = (bytes + bytes / 8 + 4095) / 4096 * 4096;
    std::free(b.data[i]);
    b.bytes[i] = 0;
    b.data[i] = std::aligned_alloc(64, rounded);
    if (!b.data[i]) throw std::bad_alloc();
    b.bytes[i] = rounded;
  }
  return b.data[i];
}

}  // namespace rl::kernels
