// The caching allocator: size classes, per-thread lists for small blocks, shared bins for large.
#include "base/allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/error.h"

namespace rl {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSmall = 4096;         // up to here a thread keeps its own lists
constexpr size_t kHuge = size_t(2) << 20;  // from here blocks are mapped, on huge pages if any
constexpr int kKeep = 64;               // blocks of one class that a thread keeps

struct Block { Block* next; };

// Four classes per power of two; class c holds blocks of class_size(c) bytes.
int class_of(size_t n) {
  if (n <= kAlign) return 0;
  const int top = 63 - __builtin_clzll(n - 1);  // 2^top <= n - 1
  const int step = int(((n - 1) >> (top - 2)) & 3);
  return (top - 6) * 4 + step + 1;
}
size_t class_size(int c) {
  if (c == 0) return kAlign;
  const int top = (c - 1) / 4 + 6, step = (c - 1) % 4;
  const size_t size = (size_t(1) << top) + (size_t(step + 1) << (top - 2));
  return (size + kAlign - 1) / kAlign * kAlign;
}

std::atomic<int64_t> allocated{0}, peak{0}, reserved{0}, allocations{0}, releases{0};
constinit std::mutex bins_lock;
Block* bins[kSizeClasses];

constexpr int kSmallClasses = 25;  // classes up to kSmall
struct ThreadLists {
  Block* first[kSmallClasses];
  int32_t count[kSmallClasses];
  bool registered;
};
constinit thread_local ThreadLists lists __attribute__((tls_model("initial-exec"))){};
pthread_key_t at_exit_key;

void flush_lists(void*) {
  std::lock_guard<std::mutex> hold(bins_lock);
  for (int c = 0; c < kSmallClasses; ++c) {
    while (Block* b = lists.first[c]) {
      lists.first[c] = b->next;
      b->next = bins[c];
      bins[c] = b;
    }
    lists.count[c] = 0;
  }
  lists.registered = false;
}

[[gnu::constructor]] void prepare() {
  pthread_key_create(&at_exit_key, flush_lists);
  pthread_atfork([] { bins_lock.lock(); }, [] { bins_lock.unlock(); }, [] { bins_lock.unlock(); });
}

void* from_system(size_t size) {
  void* p = nullptr;
  if (size >= kHuge) {
    p = aligned_alloc(kHuge, (size + kHuge - 1) / kHuge * kHuge);
    if (p) madvise(p, size, MADV_HUGEPAGE);
  } else {
    p = aligned_alloc(kAlign, size);
  }
  if (p) reserved.fetch_add(int64_t(size), std::memory_order_relaxed);
  return p;
}

[[gnu::noinline]] void* allocate_from_bins(int c) {
  const size_t size = class_size(c);
  {
    std::lock_guard<std::mutex> hold(bins_lock);
    if (Block* b = bins[c]) {
      bins[c] = b->next;
      return b;
    }
  }
  void* p = from_system(size);
  if (!p) {
    empty_cache();
    p = from_system(size);
  }
  return p;
}

// Small classes are carved in batches, so that a fresh list costs one trip to the system.
[[gnu::noinline]] void* refill(int c) {
  if (!lists.registered) {
    lists.registered = true;
    pthread_setspecific(at_exit_key, &lists);
  }
  return allocate_from_bins(c);
}

[[gnu::noinline]] void spill(int c) {
  std::lock_guard<std::mutex> hold(bins_lock);
  for (int i = 0; i < kKeep / 2; ++i) {
    Block* b = lists.first[c];
    lists.first[c] = b->next;
    b->next = bins[c];
    bins[c] = b;
  }
  lists.count[c] -= kKeep / 2;
}

inline void* take(int c) {
  if (Block* b = lists.first[c]) {
    lists.first[c] = b->next;
    --lists.count[c];
    return b;
  }
  return refill(c);
}

inline void give(void* p, int c) {
  Block* b = static_cast<Block*>(p);
  b->next = lists.first[c];
  lists.first[c] = b;
  if (++lists.count[c] >= kKeep) spill(c);
}

void raise_peak(int64_t now) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
}

}  // namespace

size_t size_of_block(size_t n) { return class_size(class_of(n)); }

void* allocate_block(size_t n) {
  if (n > (size_t(1) << 46)) {
    fail(ErrorKind::Runtime, "[enforce fail at alloc_cpu.cpp:127] data. DefaultCPUAllocator: not "
         "enough memory: you tried to allocate ", n, " bytes.");
  }
  const int c = class_of(n);
  void* p = c < kSmallClasses ? take(c) : allocate_from_bins(c);
  if (!p) {
    fail(ErrorKind::Runtime, "[enforce fail at alloc_cpu.cpp:127] data. DefaultCPUAllocator: not "
         "enough memory: you tried to allocate ", n, " bytes.");
  }
  const int64_t now = allocated.fetch_add(int64_t(n), std::memory_order_relaxed) + int64_t(n);
  if (now > peak.load(std::memory_order_relaxed)) raise_peak(now);
  allocations.store(allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return p;
}

void release_block(void* p, size_t n) {
  allocated.fetch_sub(int64_t(n), std::memory_order_relaxed);
  releases.store(releases.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const int c = class_of(n);
  if (c < kSmallClasses) {
    give(p, c);
    return;
  }
  std::lock_guard<std::mutex> hold(bins_lock);
  Block* b = static_cast<Block*>(p);
  b->next = bins[c];
  bins[c] = b;
}

void* allocate_object(size_t n) {
  void* p = take(class_of(n));
  if (!p) fail(ErrorKind::Memory, "out of memory");
  return p;
}

void release_object(void* p, size_t n) { give(p, class_of(n)); }

MemoryStats memory_stats() {
  return {allocated.load(), peak.load(), reserved.load(), allocations.load(), releases.load()};
}

void reset_peak_memory() { peak.store(allocated.load()); }

void empty_cache() {
  std::lock_guard<std::mutex> hold(bins_lock);
  for (int c = 0; c < kSizeClasses; ++c) {
    while (Block* b = bins[c]) {
      bins[c] = b->next;
      free(b);
      reserved.fetch_sub(int64_t(class_size(c)), std::memory_order_relaxed);
    }
  }
}

}  // namespace rl
