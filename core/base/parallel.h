// The thread pool: one pool for kernels, BLAS and backward; idle threads block.
#pragma once
#include <cstdint>
#include <type_traits>

namespace rl {

int num_threads();             // threads that work on one call, the caller among them
void set_num_threads(int n);   // n >= 1
bool in_parallel_region();     // true inside parallel_for's body: nested calls run serially

using RangeBody = void (*)(void* context, int64_t begin, int64_t end, int thread);
void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context);

// Runs body(context, i, i + 1, i) for every i < n, all at once: for jobs that wait for each other.
void parallel_together(int n, RangeBody body, void* context);

// Splits [begin, end) into at most num_threads() contiguous ranges of at least `grain` and runs
// f(begin, end) on each. The split depends only on the range, the grain and the thread count, so
// results are reproducible. The first exception thrown by f is rethrown to the caller.
template <class F> inline void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (end - begin <= grain || in_parallel_region()) {
    f(begin, end);
    return;
  }
  using Body = std::remove_reference_t<F>;
  parallel_run(begin, end, grain,
               [](void* c, int64_t b, int64_t e, int) { (*static_cast<Body*>(c))(b, e); },
               const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace rl
