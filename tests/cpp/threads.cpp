// The thread pool and the allocator under many callers: sums are right, no data race. Build with
// g++ -std=c++20 -fsanitize=thread -Icore tests/cpp/threads.cpp core/base/*.cpp -ldl -pthread
#include <cstdio>
#include <thread>
#include <vector>

#include "base/allocator.h"
#include "base/parallel.h"

namespace {

int failures = 0;

void sum_in_parallel(int rounds) {
  for (int r = 0; r < rounds; ++r) {
    const int64_t n = 1000 + r;
    std::vector<int64_t> made(static_cast<size_t>(n), 0);
    rl::parallel_for(0, n, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) made[static_cast<size_t>(i)] = i;
    });
    int64_t sum = 0;
    for (const int64_t v : made) sum += v;
    if (sum != n * (n - 1) / 2) __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
  }
}

// Blocks are taken by one thread and given back by another.
void pass_blocks() {
  for (int r = 0; r < 200; ++r) {
    const size_t size = 64 + 4096 * static_cast<size_t>(r % 50);
    std::vector<void*> blocks(32);
    std::thread maker([&] {
      for (void*& b : blocks) *static_cast<int*>(b = rl::allocate_block(size)) = r;
    });
    maker.join();
    std::thread taker([&] {
      for (void* b : blocks) rl::release_block(b, size);
    });
    for (int i = 0; i < 32; ++i) rl::release_block(rl::allocate_block(size), size);
    taker.join();
  }
}

}  // namespace

int main() {
  for (const int threads : {1, 2, 4, 3}) {
    rl::set_num_threads(threads);
    sum_in_parallel(200);
  }
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) callers.emplace_back(pass_blocks);
  for (int i = 0; i < 4; ++i) callers.emplace_back(sum_in_parallel, 200);
  for (std::thread& t : callers) t.join();
  std::printf("%d failures\n", failures);
  return failures != 0;
}
