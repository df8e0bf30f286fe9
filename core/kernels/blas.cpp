// Loads OpenBLAS lazily and makes its threads ours.
#include "kernels/blas.h"

#include <dlfcn.h>

#include <mutex>
#include <string>

#include "base/parallel.h"

namespace rl::kernels {
namespace {

constexpr const char* kPrefix = "scipy_";  // of every symbol in the scipy-openblas32 wheel

std::mutex g_mutex;
std::string g_path;
void* g_library = nullptr;
bool g_tried = false;

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

void load() {
  g_tried = true;
  g_library = dlopen(g_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!g_library) return;
  using SetCallback = void (*)(decltype(&run_jobs));
  using SetThreads = void (*)(int);
  const auto set_callback =
      reinterpret_cast<SetCallback>(find("openblas_set_threads_callback_function"));
  const auto set_threads = reinterpret_cast<SetThreads>(find("openblas_set_num_threads"));
  if (set_callback) set_callback(run_jobs);
  if (set_threads) set_threads(set_callback ? num_threads() : 1);
}

}  // namespace

void set_blas_path(const char* path) {
  std::lock_guard<std::mutex> guard(g_mutex);
  if (g_library) return;
  g_path = path;
  g_tried = false;
}

void* blas_symbol(const char* name) {
  std::lock_guard<std::mutex> guard(g_mutex);
  if (!g_tried && !g_path.empty()) load();
  return g_library ? find(name) : nullptr;
}

}  // namespace rl::kernels
