// TinyLock: one byte, for what is seldom waited for and held for a short time.
#pragma once
#include <atomic>
#include <mutex>
#include <thread>

#include "base/ref.h"

namespace rl {

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
