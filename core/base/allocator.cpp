// The caching allocator: size classes, per-thread lists for small blocks, shared bins for large.
#include "base/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/counted_blocks.h"
#include "base/error.h"

namespace rl {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kSmall = 4096;         // up to here a thread keeps its own lists
constexpr size_t kHuge = size_t(2) << 20;  // from here blocks are mapped, on huge pages if any
constexpr int kKeep = 64;               // blocks of one class that a thread keeps

// Under AddressSanitizer a block is as long as asked for and goes back to the system at once: what
// reads past its end, or after it was given back, is found.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kCached = false;
#else
constexpr bool kCached = true;
#endif

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

std::atomic<int64_t> reserved{0};
constinit std::mutex bins_lock;
Block* bins[kSizeClasses];
int64_t kept = 0;                 // bytes in bins of large classes; bins_lock guards both
int64_t most_kept = -1;           // not yet known

constexpr int kSmallClasses = 25;  // classes up to kSmall

int64_t quarter_of_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages / 4 * page : int64_t(1) << 30;
}

struct ThreadLists {
  Block* first[kSmallClasses];
  int32_t room[kSmallClasses];  // how many blocks may come before some go; 0 in a new thread
  bool registered;
};
constinit thread_local ThreadLists lists __attribute__((tls_model("initial-exec"))){};
pthread_key_t at_exit_key;

// Note [Statistics]
// A locked instruction costs as much as the rest of an allocation, so a thread counts for itself
// and settles with the sums once it is kUnsettled bytes apart, or ends. What is in use is the
// settled sum and what the tallies hold; `most` is the highest a tally stood since it settled.
constexpr int64_t kUnsettled = 1 << 16;
struct Tally {
  std::atomic<int64_t> bytes{0}, most{0}, allocations{0}, releases{0};  // one thread writes
  bool owned = false;                                                   // by a living thread
  Tally* next = nullptr;
};
std::atomic<int64_t> settled{0}, peak{0};
constinit std::mutex tallies_lock;
Tally* tallies = nullptr;
constinit thread_local Tally* own_tally __attribute__((tls_model("initial-exec"))) = nullptr;

void raise_peak(int64_t now) {
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
}

[[gnu::noinline]] void settle(Tally& t) {
  const int64_t bytes = t.bytes.load(std::memory_order_relaxed);
  const int64_t before = settled.fetch_add(bytes, std::memory_order_relaxed);
  raise_peak(before + t.most.load(std::memory_order_relaxed));
  t.bytes.store(0, std::memory_order_relaxed);
  t.most.store(0, std::memory_order_relaxed);
}

void register_thread();

[[gnu::noinline]] Tally& first_tally() {
  register_thread();
  std::lock_guard<std::mutex> hold(tallies_lock);
  Tally* t = tallies;
  while (t && t->owned) t = t->next;
  if (!t) {
    t = new Tally;
    t->next = tallies;
    tallies = t;
  }
  t->owned = true;
  own_tally = t;
  return *t;
}

inline Tally& tally() { return own_tally ? *own_tally : first_tally(); }

// Plain additions: nobody else writes.
inline int64_t add_to(std::atomic<int64_t>& count, int64_t by) {
  const int64_t now = count.load(std::memory_order_relaxed) + by;
  count.store(now, std::memory_order_relaxed);
  return now;
}

void give_tally_back() {
  if (!own_tally) return;
  std::lock_guard<std::mutex> hold(tallies_lock);
  settle(*own_tally);
  own_tally->owned = false;  // its counts of calls stay in the sums
  own_tally = nullptr;
}

void flush_lists(void*) {
  give_tally_back();
  std::lock_guard<std::mutex> hold(bins_lock);
  for (int c = 0; c < kSmallClasses; ++c) {
    while (Block* b = lists.first[c]) {
      lists.first[c] = b->next;
      b->next = bins[c];
      bins[c] = b;
    }
    lists.room[c] = 0;
  }
  lists.registered = false;
}

[[gnu::constructor]] void prepare() {
  pthread_key_create(&at_exit_key, flush_lists);
  const auto unlock = [] {
    tallies_lock.unlock();
    bins_lock.unlock();
  };
  pthread_atfork([] {
    bins_lock.lock();
    tallies_lock.lock();
  }, unlock, unlock);
}

void register_thread() {
  if (lists.registered) return;
  lists.registered = true;
  for (int32_t& room : lists.room) room += kKeep;
  pthread_setspecific(at_exit_key, &lists);
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

void* exactly(size_t n) {
  void* p = nullptr;
  return posix_memalign(&p, kAlign, n) == 0 ? p : nullptr;
}

[[gnu::noinline]] void* allocate_from_bins(int c) {
  const size_t size = class_size(c);
  {
    std::lock_guard<std::mutex> hold(bins_lock);
    if (Block* b = bins[c]) {
      bins[c] = b->next;
      if (c >= kSmallClasses) kept -= int64_t(size);
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

// The thread's own list is empty: one block of the shared bins, or of the system.
[[gnu::noinline]] void* take_shared(int c) {
  register_thread();
  return allocate_from_bins(c);
}

[[gnu::noinline]] void spill(int c) {
  if (!lists.registered) {
    register_thread();
    return;
  }
  std::lock_guard<std::mutex> hold(bins_lock);
  for (int i = 0; i < kKeep / 2; ++i) {
    Block* b = lists.first[c];
    lists.first[c] = b->next;
    b->next = bins[c];
    bins[c] = b;
  }
  lists.room[c] += kKeep / 2;
}

inline void* take(int c) {
  if (Block* b = lists.first[c]) {
    lists.first[c] = b->next;
    ++lists.room[c];
    return b;
  }
  return take_shared(c);
}

inline void give(void* p, int c) {
  Block* b = static_cast<Block*>(p);
  b->next = lists.first[c];
  lists.first[c] = b;
  if (--lists.room[c] <= 0) spill(c);
}

// Bytes in use now; the caller holds tallies_lock.
int64_t in_use() {
  int64_t sum = settled.load(std::memory_order_relaxed);
  for (Tally* t = tallies; t; t = t->next) sum += t->bytes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace

void* allocate_block(size_t n) { return allocate_block(n, n); }
void release_block(void* p, size_t n) { release_block(p, n, n); }

void count_bytes(int64_t more) {
  Tally& t = tally();
  const int64_t now = add_to(t.bytes, more);
  if (now > t.most.load(std::memory_order_relaxed)) {
    t.most.store(now, std::memory_order_relaxed);
    if (now > kUnsettled) settle(t);
  } else if (now < -kUnsettled) {
    settle(t);
  }
}

[[noreturn]] void refuse(size_t bytes) {
  fail(ErrorKind::Runtime, "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: "
       "can't allocate memory: you tried to allocate ", bytes, " bytes. Error code 12 (Cannot "
       "allocate memory)");
}

void* allocate_block(size_t n, size_t counted) {
  if (n > (size_t(1) << 46)) refuse(counted);
  const int c = class_of(n);
  void* p = !kCached ? exactly(n) : c < kSmallClasses ? take(c) : allocate_from_bins(c);
  if (!p) refuse(counted);
  add_to(tally().allocations, 1);
  count_bytes(int64_t(counted));
  return p;
}

void release_block(void* p, size_t n, size_t counted) {
  add_to(tally().releases, 1);
  count_bytes(-int64_t(counted));
  if (!kCached) return free(p);
  const int c = class_of(n);
  if (c < kSmallClasses) {
    give(p, c);
    return;
  }
  const int64_t size = int64_t(class_size(c));
  {
    std::lock_guard<std::mutex> hold(bins_lock);
    if (most_kept < 0) most_kept = quarter_of_memory();
    if (kept + size <= most_kept) {
      Block* b = static_cast<Block*>(p);
      b->next = bins[c];
      bins[c] = b;
      kept += size;
      return;
    }
  }
  free(p);
  reserved.fetch_sub(size, std::memory_order_relaxed);
}

void* allocate_object(size_t n) {
  void* p = kCached ? take(class_of(n)) : exactly(n);
  if (!p) fail(ErrorKind::Memory, "out of memory");
  return p;
}

void release_object(void* p, size_t n) {
  if (kCached) give(p, class_of(n));
  else free(p);
}

MemoryStats memory_stats() {
  std::lock_guard<std::mutex> hold(tallies_lock);
  MemoryStats s{in_use(), peak.load(), reserved.load(), 0, 0};
  for (Tally* t = tallies; t; t = t->next) {
    const int64_t bytes = t->bytes.load(std::memory_order_relaxed);
    const int64_t most = s.allocated - bytes + t->most.load(std::memory_order_relaxed);
    if (most > s.peak) s.peak = most;
    s.allocations += t->allocations.load(std::memory_order_relaxed);
    s.releases += t->releases.load(std::memory_order_relaxed);
  }
  return s;
}

void reset_peak_memory() {
  std::lock_guard<std::mutex> hold(tallies_lock);
  for (Tally* t = tallies; t; t = t->next) {
    t->most.store(t->bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  peak.store(in_use());
}

void empty_cache() {
  std::lock_guard<std::mutex> hold(bins_lock);
  for (int c = 0; c < kSizeClasses; ++c) {
    while (Block* b = bins[c]) {
      bins[c] = b->next;
      free(b);
      reserved.fetch_sub(int64_t(class_size(c)), std::memory_order_relaxed);
    }
  }
  kept = 0;
}

int64_t cache_limit() {
  std::lock_guard<std::mutex> hold(bins_lock);
  return most_kept < 0 ? quarter_of_memory() : most_kept;
}

void set_cache_limit(int64_t bytes) {
  bool over;
  {
    std::lock_guard<std::mutex> hold(bins_lock);
    most_kept = std::max<int64_t>(bytes, 0);
    over = kept > most_kept;
  }
  if (over) empty_cache();
}

}  // namespace rl
