// Loads OpenBLAS lazily and makes its threads ours.
#include "kernels/blas.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>

#include "base/blas_path.h"
#include "base/parallel.h"

namespace rl {

std::string (*blas_path_hook)() = nullptr;

}  // namespace rl

namespace rl::kernels {

namespace {

constexpr const char* kPrefix = "scipy_";  // of every symbol in the scipy-openblas32 wheel

using SetThreads = void (*)(int);

// What is shared by all calls. After a fork the locks are made anew: their holders are gone.
struct State {
  std::mutex mutex;
  std::condition_variable idle;
  int users = 0, threads = 0;
};
alignas(State) unsigned char g_room[sizeof(State)];
State& state() {
  static State* const s = [] {
    State* made = new (g_room) State;
    pthread_atfork(nullptr, nullptr, [] { new (g_room) State; });
    return made;
  }();
  return *s;
}

std::once_flag g_asked;
std::atomic<bool> g_tried{false};
void* g_library = nullptr;
SetThreads g_set_threads = nullptr;

// OpenBLAS's callback (its openblas_set_threads_callback_function): runs numjobs jobs, which wait
// for each other, so all must run at once.
using Job = void (*)(int thread, void* data, int extra);
struct Jobs {
  Job job;
  char* data;
  size_t step;
  int extra;
};
void run_jobs(int, Job job, int count, size_t step, void* data, int extra) {
  Jobs jobs{job, static_cast<char*>(data), step, extra};
  parallel_together(
      count,
      [](void* context, int64_t i, int64_t, int) {
        const Jobs& j = *static_cast<Jobs*>(context);
        j.job(int(i), j.data + size_t(i) * j.step, j.extra);
      },
      &jobs);
}

void* find(const char* name) {
  return dlsym(g_library, (std::string(kPrefix) + name).c_str());
}

void load(const std::string& path) {
  if (path.empty()) return;
  g_library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!g_library) return;
  using SetCallback = void (*)(decltype(&run_jobs));
  const auto set_callback =
      reinterpret_cast<SetCallback>(find("openblas_set_threads_callback_function"));
  if (set_callback) set_callback(run_jobs);
  g_set_threads = reinterpret_cast<SetThreads>(find("openblas_set_num_threads"));
  if (g_set_threads && !set_callback) {
    g_set_threads(1);
    g_set_threads = nullptr;  // its own threads burn time after each call
  }
}

void load_once() {
  if (g_tried.load(std::memory_order_acquire)) return;
  // Outside the lock: the hook may wait for another lock, whose holder may wait here.
  const std::string path = blas_path_hook ? blas_path_hook() : std::string();
  std::call_once(g_asked, load, path);
  g_tried.store(true, std::memory_order_release);
}

}  // namespace

void* blas_symbol(const char* name) {
  load_once();
  return g_library ? find(name) : nullptr;
}

BlasThreads::BlasThreads(int wanted) {
  load_once();
  State& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  // Many threads belong to one call: two would wait for the pool and OpenBLAS's lock crosswise.
  s.idle.wait(lock, [&] { return s.users == 0 || (wanted == 1 && s.threads == 1); });
  if (s.threads != wanted) {
    if (g_set_threads) g_set_threads(wanted);
    s.threads = wanted;
  }
  ++s.users;
}

BlasThreads::~BlasThreads() {
  State& s = state();
  std::lock_guard<std::mutex> guard(s.mutex);
  if (--s.users == 0) s.idle.notify_all();
}

}  // namespace rl::kernels
