// The thread pool: workers take numbered chunks of one job at a time and block soon when idle.
#include "base/parallel.h"

#include "base/interrupt.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rl {

std::atomic<bool (*)()> interrupt_hook{nullptr};

namespace {

using Clock = std::chrono::steady_clock;
thread_local constinit bool t_inside = false, t_worker = false;
thread_local Clock::time_point t_asked{};
thread_local constinit const std::atomic<bool>* t_stop = nullptr;  // of a worker's job

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until word differs from `seen`: about 20 microseconds of spinning, then blocked.
void wait_change(const std::atomic<uint32_t>& word, uint32_t seen) {
  const auto limit = Clock::now() + std::chrono::microseconds(20);
  do {
    for (int i = 0; i < 32; ++i) {
      if (word.load(std::memory_order_acquire) != seen) return;
      relax();
    }
  } while (Clock::now() < limit);
  while (word.load(std::memory_order_acquire) == seen) word.wait(seen);
}

// Note [Pieces]
// A chunk is done in pieces, so that Ctrl-C is answered between them. A piece is a multiple of the
// grain, which the caller takes for about 20 microseconds of work: the borders do not depend on
// time, and results stay reproducible.
constexpr int64_t kGrainsInPiece = 256;
constexpr int64_t kHeavyItems = 16;  // with a grain of 1, an item may be much work

void in_pieces(int64_t begin, int64_t end, int64_t piece, RangeBody body, void* context, int thread,
               const std::atomic<bool>* stop) {
  if (piece <= 0) {
    body(context, begin, end, thread);
    return;
  }
  while (end - begin > piece) {
    body(context, begin, begin + piece, thread);
    begin += piece;
    if (stop && stop->load(std::memory_order_relaxed)) return;
    poll_interrupt();
  }
  body(context, begin, end, thread);
}

// Note [Taking chunks]
// `ticket_` holds the job's number in its upper half and the chunks not yet taken in its lower
// half. A thread takes a chunk by decrementing it with compare-exchange. A job's fields change
// only after all its chunks were taken and done, and the next job then has another number, so a
// thread that read stale fields cannot win the exchange. The chunk's borders depend on its number
// alone; which thread runs it does not matter, so a worker that wakes late costs nothing.
class Pool {
 public:
  // Returns false if another caller holds the pool and `wait` is false.
  bool run(int64_t begin, int64_t end, int chunks, int64_t piece, RangeBody body, void* context,
           bool wait) {
    std::unique_lock<std::mutex> lock(run_mutex_, std::defer_lock);
    if (wait) lock.lock();
    else if (!lock.try_lock()) return false;
    start_workers(chunks - 1);
    begin_.store(begin, std::memory_order_relaxed);
    end_.store(end, std::memory_order_relaxed);
    body_.store(body, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    chunks_.store(chunks, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    error_ = nullptr;
    stop_.store(false, std::memory_order_relaxed);
    piece_ = piece;
    const uint32_t number = number_.load(std::memory_order_relaxed) + 1;
    ticket_.store(uint64_t(number) << 32 | uint32_t(chunks), std::memory_order_release);
    number_.store(number, std::memory_order_release);
    number_.notify_all();
    work();
    for (uint32_t d; (d = done_.load(std::memory_order_acquire)) != uint32_t(chunks);) {
      wait_change(done_, d);
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

  static int64_t border(int64_t begin, int64_t end, int chunks, int i) {
    const int64_t n = end - begin, q = n / chunks, r = n % chunks;
    return begin + q * i + std::min<int64_t>(i, r);
  }

 private:
  void work() {
    t_inside = true;
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while (uint32_t(ticket) != 0) {
      const int64_t begin = begin_.load(std::memory_order_relaxed);
      const int64_t end = end_.load(std::memory_order_relaxed);
      const RangeBody body = body_.load(std::memory_order_relaxed);
      void* const context = context_.load(std::memory_order_relaxed);
      const int chunks = chunks_.load(std::memory_order_relaxed);
      if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
        continue;
      }
      const int i = chunks - int(uint32_t(ticket));
      try {
        in_pieces(border(begin, end, chunks, i), border(begin, end, chunks, i + 1), piece_,
                  body, context, i, &stop_);
      } catch (...) {
        stop_.store(true, std::memory_order_relaxed);
        std::lock_guard<std::mutex> guard(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == uint32_t(chunks)) {
        done_.notify_all();
      }
      ticket = ticket_.load(std::memory_order_acquire);
    }
    t_inside = false;
  }

  void start_workers(int wanted) {
    for (; workers_ < wanted; ++workers_) {
      std::thread([this, seen = number_.load()]() mutable {
        t_worker = true;
        t_stop = &stop_;
        for (;;) {
          wait_change(number_, seen);
          seen = number_.load(std::memory_order_acquire);
          work();
        }
      }).detach();
    }
  }

  std::mutex run_mutex_, error_mutex_;
  int workers_ = 0;
  std::exception_ptr error_;
  std::atomic<bool> stop_{false};      // a chunk failed: the others' results are not wanted
  int64_t piece_ = 0;
  std::atomic<int64_t> begin_{0}, end_{0};
  std::atomic<RangeBody> body_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int> chunks_{0};
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> number_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
};

// Never destroyed: detached workers may still wait on it when the process ends. After a fork the
// child has no workers and unknown lock states, so it starts with a pool of its own.
std::atomic<Pool*> g_pool{nullptr};

Pool& pool() {
  Pool* p = g_pool.load(std::memory_order_acquire);
  if (p) return *p;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      if (g_pool.load()) g_pool.store(new Pool);
      t_inside = false;
    });
  });
  Pool* fresh = new Pool;
  if (g_pool.compare_exchange_strong(p, fresh)) return *fresh;
  delete fresh;
  return *p;
}

// A quota of the control group, in CPUs; 0 when there is none.
int cgroup_cpus() {
  double quota = 0, period = 0;
  if (FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    if (std::fscanf(f, "%lf %lf", &quota, &period) != 2) quota = 0;
    std::fclose(f);
  } else if (FILE* g = std::fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r")) {
    if (std::fscanf(g, "%lf", &quota) != 1) quota = 0;
    std::fclose(g);
    period = 100000;
  }
  return quota > 0 && period > 0 ? std::max(1, int(std::ceil(quota / period))) : 0;
}

// CPUs that this process may use; two hardware threads of one core count once.
int usable_cores() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) {
    return std::max(1, int(std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &cpus)) continue;
    std::string core = std::to_string(i);
    char text[256];
    const std::string path =
        "/sys/devices/system/cpu/cpu" + core + "/topology/thread_siblings_list";
    if (FILE* f = std::fopen(path.c_str(), "r")) {
      if (std::fgets(text, sizeof text, f)) core = text;
      std::fclose(f);
    }
    cores.insert(core[core.size() - 1] == '\n' ? core : core + '\n');
  }
  return std::max(1, int(cores.size()));
}

int default_threads() {
  int n = usable_cores();
  if (const int quota = cgroup_cpus()) n = std::min(n, quota);
  for (const char* name : {"RUSHLIGHT_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const char* text = std::getenv(name);
    const int wanted = text ? std::atoi(text) : 0;
    if (wanted > 0) return std::min(n, wanted);
  }
  return n;
}

constinit std::atomic<int> g_threads{0};

}  // namespace

void poll_interrupt() {
  if (t_worker) {
    if (t_stop && t_stop->load(std::memory_order_relaxed)) throw Interrupted();
    return;
  }
  const auto now = Clock::now();
  if (now - t_asked < std::chrono::milliseconds(50)) return;
  t_asked = now;
  const auto hook = interrupt_hook.load(std::memory_order_relaxed);
  if (hook && hook()) throw Interrupted();
}

int num_threads() {
  const int n = g_threads.load(std::memory_order_relaxed);
  if (n > 0) return n;
  int none = 0;
  const int found = default_threads();
  return g_threads.compare_exchange_strong(none, found) ? found : none;
}

void set_num_threads(int n) { g_threads.store(std::max(1, n), std::memory_order_relaxed); }

bool in_parallel_region() { return t_inside; }

void parallel_run(int64_t begin, int64_t end, int64_t grain, RangeBody body, void* context) {
  if (begin >= end) return;
  const int64_t most = std::max<int64_t>(1, (end - begin) / std::max<int64_t>(grain, 1));
  const int chunks = int(std::min<int64_t>(num_threads(), most));
  const int64_t piece = grain <= 1 ? kHeavyItems : kGrainsInPiece * grain;
  if (chunks > 1 && !t_inside && pool().run(begin, end, chunks, piece, body, context, false))
    return;
  // Nested, or another caller has the pool: the same chunks, one after the other.
  for (int i = 0; i < chunks; ++i) {
    in_pieces(Pool::border(begin, end, chunks, i), Pool::border(begin, end, chunks, i + 1), piece,
              body, context, i, nullptr);
  }
}

void parallel_together(int n, RangeBody body, void* context) {
  if (!t_inside) {
    pool().run(0, n, n, 0, body, context, true);
    return;
  }
  std::vector<std::thread> threads;  // the pool is taken: rare, so plain threads do
  for (int i = 1; i < n; ++i) threads.emplace_back(body, context, i, i + 1, i);
  body(context, 0, 1, 0);
  for (auto& t : threads) t.join();
}

}  // namespace rl
