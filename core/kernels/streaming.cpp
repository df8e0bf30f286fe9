// Stores past the caches, and from what size on.
#include "kernels/streaming.h"

#include <unistd.h>

#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace rl::kernels {
namespace {

#if defined(__x86_64__)
int64_t last_cache() {  // AMD's systems tell the sum over all clusters of cores: one has 32 MiB
  constexpr int64_t kMost = int64_t(32) << 20;
  const int64_t told = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return told > 0 ? std::min(told, kMost) : kMost;
}
#endif

}  // namespace

#if defined(__x86_64__)

bool worth_streaming(int64_t bytes) {
  static const int64_t least = last_cache() * 2;  // below, a good part is found again later
  return bytes >= least;
}

void stream_bytes(char* out, const char* in, int64_t n) {
  const int64_t before = std::min<int64_t>(n, -reinterpret_cast<intptr_t>(out) & 63);
  std::memcpy(out, in, size_t(before));
  int64_t i = before;
  for (; i + 64 <= n; i += 64) {  // whole lines, or the CPU writes parts of them
    for (int k = 0; k < 64; k += 16) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i + k));
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + i + k), v);
    }
  }
  std::memcpy(out + i, in + i, size_t(n - i));
}

void finish_streaming() { _mm_sfence(); }

#else

bool worth_streaming(int64_t) { return false; }
void stream_bytes(char* out, const char* in, int64_t n) { std::memcpy(out, in, size_t(n)); }
void finish_streaming() {}

#endif

}  // namespace rl::kernels
