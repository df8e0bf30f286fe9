// TinyLock: one byte, for what is seldom waited for and held for a short time.
#pragma once
#include <atomic>
#include <mutex>
#include <thread>

#include "base/ref.h"

namespace rl {

// While the process has one thread, nobody else can hold the lock, and taking it is a plain store:
// a thread that starts while it is held sees it held, as all that was written before it started.
// A child of fork has only the thread that forked, and would wait for ever for what another held:
// locks that outlive a call are let go there (autograd/meta.cpp).
class TinyLock {
 public:
  void lock() {
    if (single_threaded()) return held_.store(true, std::memory_order_relaxed);
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};
using Holding = std::lock_guard<TinyLock>;

}  // namespace rl
