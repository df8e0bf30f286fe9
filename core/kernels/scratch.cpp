// Working memory of kernels: grows to the largest request and stays with its thread.
#include "kernels/scratch.h"

#include <cstdlib>
#include <new>

namespace rl::kernels {
namespace {

// Under AddressSanitizer a buffer is as long as asked for, and each call makes it anew.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kKept = false;
#else
constexpr bool kKept = true;
#endif

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
  if (!kKept || bytes > b.bytes[i]) {
    const size_t rounded = kKept ? (bytes + bytes / 8 + 4095) / 4096 * 4096 : bytes;
    std::free(b.data[i]);
    b.bytes[i] = 0;
    b.data[i] = nullptr;
    if (posix_memalign(&b.data[i], 64, rounded) != 0) throw std::bad_alloc();
    b.bytes[i] = rounded;
  }
  return b.data[i];
}

}  // namespace rl::kernels
