// Intrusive reference counting.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace rl {

// Whether the process has one thread, which needs no locked instructions: they take longer than
// the rest of what counting does. Plain and locked counting of one count do not meet: glibc clears
// the flag before a second thread starts, and sets it only when there is none left.
inline bool single_threaded() {
#ifdef _SYS_SINGLE_THREADED_H
  return __libc_single_threaded;
#else
  return false;
#endif
}

class Counted {
 public:
  void keep() const {
    if (single_threaded()) set_refs(refs_.load(std::memory_order_relaxed) + 1);
    else refs_.fetch_add(1, std::memory_order_relaxed);
  }
  // True when this was the last reference: the caller destroys the object. A sole owner needs
  // no locked instruction, since nobody else can reach the count.
  bool let_go() const {
    const int32_t n = refs_.load(std::memory_order_acquire);
    if (n == 1) return true;
    if (!single_threaded()) return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    set_refs(n - 1);
    return false;
  }
  // For objects that weak pointers reach: every count is exact, and 0 is final.
  bool let_go_exactly() const {
    if (!single_threaded()) return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const int32_t n = refs_.load(std::memory_order_relaxed) - 1;
    set_refs(n);
    return n == 0;
  }
  bool keep_if_alive() const {
    if (single_threaded()) {
      const int32_t n = refs_.load(std::memory_order_relaxed);
      if (n > 0) set_refs(n + 1);
      return n > 0;
    }
    int32_t n = refs_.load(std::memory_order_acquire);
    while (n > 0 && !refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) {}
    return n > 0;
  }
  int32_t refs() const { return refs_.load(std::memory_order_acquire); }
  void set_refs(int32_t n) const { refs_.store(n, std::memory_order_relaxed); }

 private:
  mutable std::atomic<int32_t> refs_{1};
};

// T has keep() and static void release(T*), which gives one reference back.
template <class T> class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref take(T* p) { Ref r; r.p_ = p; return r; }             // adopts a reference
  static Ref share(T* p) { if (p) p->keep(); return take(p); }     // adds one
  Ref(const Ref& o) : p_(o.p_) { if (p_) p_->keep(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept { std::swap(p_, o.p_); return *this; }
  ~Ref() { if (p_) T::release(p_); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_; }
  T* leave() { return std::exchange(p_, nullptr); }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace rl
